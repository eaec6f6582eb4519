//! Limits: a short text must not expand to much work or memory while a pack is loaded, tested or evaluated.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use rules::{LoadError, LoadOptions, RuleSet, load_files, load_pack, read_tests};

const END: &str = "initial(\"A\");\nstate(\"B\").terminal().no_sla().wait(\"end\");\n";
const ONE: &str = "state(\"A\").no_sla().go(\"B\").when(|h| h.instance.present).wait(\"x\");";

fn load(rules: &str) -> Result<RuleSet, LoadError> {
    load_files([("rules.rhai".to_owned(), format!("{END}{rules}"))], &LoadOptions::default())
}

/// The failure of the first case of a file of tests, or of the file; empty if it passes.
fn failure(test: &str) -> Option<String> {
    let started = Instant::now();
    let result = load(ONE).ok()?.run_tests([("t.yaml", test)]);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let case = result.cases.into_iter().next()?;
    assert_eq!(case.file, "t.yaml");
    Some(case.failure.unwrap_or_default())
}

#[test]
fn a_test_over_a_limit_is_refused_with_place_and_limit() {
    let bomb = (1..10).fold("base:\n  a0: &a0 [x, x]\n".to_owned(), |text, n| {
        let of = format!("*a{}, ", n - 1).repeat(9);
        format!("{text}  a{n}: &a{n} [{of}]\n")
    });
    let wide = format!("base:\n  a: &a [{}]\n  b: [{}]\ncases: []\n", "x, ".repeat(4000), "*a, ".repeat(4000));
    let long = format!("base: {{ host.x: [{}] }}\ncases: []\n", "x, ".repeat(5001));
    let many = format!("cases: [{}]", "{ name: a }, ".repeat(5000));
    let fat = format!("dpu: {{ x: [{}] }}\ndpus: 60\ncases: [{{ name: a }}]", "x, ".repeat(4000));
    let cases = [
        ("dpus: 100000000\nbase: {state.path: A}\ncases: [{ name: a }]", "`dpus` is 100000000: a case has 64 DPUs"),
        ("cases: [{ name: a, dpus: 65, facts: {state.path: A} }]", "`dpus` is 65: a case has 64 DPUs"),
        (bomb.as_str(), "cannot be read"),
        (wide.as_str(), "more than 200000 values with its aliases expanded at line 2"),
        (long.as_str(), "a list has more than 5000 items at line 1"),
        (fat.as_str(), "its facts have more than 20000 values"),
        (&format!("base: {}", "[".repeat(500_000)), "brackets are nested more than 64 deep at line 1"),
        (&format!("dpus: 1\nbase: {}", "[{a: ".repeat(100_000)), "brackets are nested more than 64 deep at line 2"),
        (&format!("base:\n  {}x", "- ".repeat(250_000)), "cannot be read"),
        (&format!("base:\n  {}x", "? ".repeat(250_000)), "cannot be read"),
        (&format!("base:\n  x: {}x", "!a ".repeat(150_000)), "cannot be read"),
        (&format!("base:\n  x: {}x", "&a ".repeat(150_000)), "cannot be read"),
        (&format!("base: {{ x: {} }}", "\"\n".repeat(200_000)), "cannot be read"),
        (&"# x\n".repeat(200_000), "the file has more than 524288 bytes"),
    ];
    for (test, expected) in cases {
        let failure = failure(test).unwrap();
        assert!(failure.contains(expected), "{expected}: {failure}");
    }
    let twice = load(ONE).unwrap().run_tests([("one.yaml", many.as_str()), ("other.yaml", many.as_str())]);
    let last = twice.cases.last().unwrap();
    assert_eq!((twice.cases.len(), last.file.as_str()), (5001, "other.yaml"));
    assert!(last.failure.as_ref().unwrap().contains("more than 5000 cases"));
}

#[test]
fn ages_as_long_as_numbers_go_are_ages() {
    for facts in [
        "state.elapsed: 18446744073709551615",
        "state.elapsed: 9223372036854775807",
        "dpu0.elapsed: 18446744073709551615",
        "dpu0.observation_age: 18446744073709551615",
        "host.scout_age: 18446744073709551615",
        "dpu0.state_since: 18446744073709551615, dpu0.booted_since_state_change: true",
    ] {
        let test =
            format!("cases: [{{ name: a, dpus: 1, facts: {{ state.path: A, {facts} }}, expect: {{ wait: x }} }}]");
        assert_eq!(failure(&test).as_deref(), Some(""), "{facts}");
    }
}

/// `f7`, which calls `f6` as often as is said, which calls `f5` as often, and so on.
fn tower(calls: usize, operator: &str) -> String {
    (1..8).fold("fn f0(h) { h.instance.present }\n".to_owned(), |text, n| {
        let body = vec![format!("f{}(h)", n - 1); calls].join(operator);
        format!("{text}fn f{n}(h) {{ {body} }}\n")
    })
}

#[test]
fn functions_that_grow_exponentially_are_refused_at_their_use() {
    let doubled = (1..8).fold("fn f0(x) { x && x }\n".to_owned(), |text, n| {
        format!("{text}fn f{n}(x) {{ f{m}(x && x && x && x) && f{m}(x) }}\n", m = n - 1)
    });
    let arguments = format!("{doubled}state(\"A\").no_sla().go(\"B\").when(|h| f7(h.instance.present)).wait(\"x\");");
    let used = "state(\"A\").no_sla().go(\"B\").when(|h| f7(h)).wait(\"x\");";
    let loops = "state(\"A\").no_sla().go(\"B\").when(|h| { let x = f7(h); x && f7(h) }).wait(\"x\");";
    for rules in [
        format!("{}{used}", tower(20, " && ")),
        format!("{}{used}", tower(10, " || ")),
        format!("{}{used}", tower(25, " == ")),
        format!("{}{loops}", tower(20, " && ")),
        arguments,
    ] {
        let started = Instant::now();
        let faults = load(&rules).unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        let limits: Vec<_> = faults.diagnostics.iter().filter(|fault| fault.check == "limit").collect();
        assert!(!limits.is_empty(), "{faults}");
        assert!(faults.to_string().contains("has more than 10000 parts with its functions inlined"), "{faults}");
    }
    assert!(load(&format!("{}{used}", tower(2, " && "))).is_ok());
}

#[test]
fn arms_count_in_every_state_that_reads_them() {
    let mut steps = "steps(\"s\")".to_owned();
    for n in 0..300 {
        let _ = write!(steps, "\n.go(\"B\").when(|h| h.bmc.boss_job == \"{n}\")");
    }
    let states = |of: &dyn Fn(usize) -> String| {
        (0..1000).map(|n| format!("state(\"S{n}\").entry().no_sla(){}\n", of(n))).collect::<String>()
    };
    let taken = format!("{steps};\n{}", states(&|_| ".steps(\"s\").wait(\"x\");".to_owned()));
    let twice = format!(
        "{steps};\nsteps(\"t\"){};\nstate(\"A\").no_sla(){}.wait(\"x\");",
        ".steps(\"s\")".repeat(50),
        ".steps(\"t\")".repeat(50)
    );
    let any = steps.replacen("steps(\"s\")", "any_state(\"every\").within([\"S\"])", 1);
    let any =
        format!("{}\n{any};", states(&|_| ".wait(\"x\");".to_owned())).replace("within([\"S\"])", "except(\"A\")");
    for rules in [taken, twice, any] {
        let started = Instant::now();
        let faults = load(&rules).unwrap_err().to_string();
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        assert!(faults.contains("the pack: its arms and guards have more than 200000 parts"), "{faults}");
    }
}

#[test]
fn steps_in_closures_that_are_handed_to_functions_count() {
    let script = "let list = []; list.pad(4000, 1); list.map(|n| { let i = 0; while i < 20000 { i += 1; } i });";
    let started = Instant::now();
    let faults = load(&format!("{script}\n{ONE}")).unwrap_err().to_string();
    assert!(faults.contains("more than 100000 steps"), "{faults}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn let_bindings_that_grow_exponentially_are_refused_early() {
    let lets = (1..40).fold("let x0 = h.host.associated_dpus + 1;".to_owned(), |text, n| {
        format!("{text} let x{n} = x{m} + x{m};", m = n - 1)
    });
    let started = Instant::now();
    let rules = format!("state(\"A\").no_sla().go(\"B\").when(|h| {{ {lets} x39 > 1 }}).wait(\"x\");");
    let faults = load(&rules).unwrap_err().to_string();
    assert!(faults.contains("has more than 10000 parts"), "{faults}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[cfg(unix)]
#[test]
fn only_regular_files_of_a_pack_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = |name: &str| {
        let made = std::process::Command::new("mkfifo").arg(dir.path().join(name)).status().unwrap();
        assert!(made.success());
    };
    std::fs::create_dir(dir.path().join("tests")).unwrap();
    pipe("tests/t.yaml");
    let error = read_tests(dir.path()).unwrap_err().to_string();
    assert!(error.contains("t.yaml: it is no regular file"), "{error}");
    pipe("x.rhai");
    let faults = load_pack(dir.path()).unwrap_err().to_string();
    assert!(faults.contains("x.rhai: it is no regular file"), "{faults}");
    std::fs::remove_file(dir.path().join("x.rhai")).unwrap();
    std::fs::File::create(dir.path().join("x.rhai")).unwrap().set_len(1 << 40).unwrap();
    let faults = load_pack(dir.path()).unwrap_err().to_string();
    assert!(faults.contains("x.rhai: it has more than 524288 bytes"), "{faults}");
}

//! Errors of a pack are reported with place and hint, all at once.

use rules::{LoadOptions, load_files};

/// A valid pack, to which tests add errors.
const VALID: &str = r#"
initial("A");
timeout("pause", minutes(2));
limit("tries", 3);
classification("PreventHostStateChanges");
probe("BgpPeeringTor");
failure_cause("Broken");
action("redfish.force_restart");
action("health.put_report", #{ source: "text", urgent: "bool" });
counter("retries").kept_in("A");
note("mode", ["fast", "slow"]).kept_in("A");
report("health").replaced_by("host_replace").with("host_merge");
dpu_report("own").with("dpu_agent");
gate("healthy", |h| !h.health.has_class("PreventHostStateChanges")).waits("Waiting for health");
"#;

/// Errors of a pack of the valid declarations and `rules`, whose first line is line 1 of `rules.rhai`.
fn faults(rules: &str) -> Vec<String> {
    let files = [("names.rhai".to_owned(), VALID.to_owned()), ("rules.rhai".to_owned(), rules.to_owned())];
    match load_files(files, &LoadOptions::default()) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.diagnostics.iter().map(ToString::to_string).collect(),
    }
}

/// The rules without the mark `¶`, and the place that it marks: `rules.rhai:2:30`.
fn marked(rules: &str) -> (String, String) {
    let before = rules.split('¶').next().unwrap_or_default();
    let (line, column) = (before.lines().count().max(1), before.lines().last().map_or(0, |line| line.chars().count()));
    (rules.replace('¶', ""), format!("rules.rhai:{line}:{}", column + 1))
}

/// A state A with these arms, and the state B that they may lead to.
fn arms(arms: &str) -> Vec<String> {
    faults(&format!(
        "state(\"A\").sla(minutes(5)).pass(\"healthy\")\n{arms}\n.go(\"B\");\nstate(\"B\").terminal().no_sla().wait(\"end\");"
    ))
}

#[test]
fn a_valid_pack_has_no_errors() {
    assert_eq!(arms(""), [""; 0]);
}

#[test]
fn misspelt_names_are_named_with_the_nearest() {
    let cases = [
        (
            r#".go("B").when(|h| h.instance.¶deletion_requestd)"#,
            "fact `deletion_requestd` (did you mean `deletion_requested`?)",
        ),
        (r#".go("B").when(|h| h.¶instanc.present)"#, "fact `instanc` (did you mean `instance`?)"),
        (r#".go("B").when(|h| h.dpus.all(|d| d.¶primry))"#, "fact `primry` (did you mean `primary`?)"),
        (
            r#".go("B").when(|h| h.dpus.all(|d| h.bmc.¶reachabel && d.primary))"#,
            "fact `reachabel` (did you mean `reachable`?)",
        ),
        (r#".¶go("C").when(|h| h.instance.present)"#, "state `C` (did you mean `A`?)"),
        (r#".¶pass("helthy")"#, "gate `helthy` (did you mean `healthy`?)"),
        (
            r#".go("B").when(|h| h.health.¶has_class("PreventHostStateChange"))"#,
            "classification `PreventHostStateChange` (did you mean `PreventHostStateChanges`?)",
        ),
        (
            r#".go("B").when(|h| h.health.¶has_probe("BgpPeeringTOR"))"#,
            "probe `BgpPeeringTOR` (did you mean `BgpPeeringTor`?)",
        ),
        (r#".go("B").when(|h| h.¶helth.alerts > 0)"#, "fact `helth` (did you mean `health`?)"),
        (
            r#".wait("x").when(|h| h.¶done("redfish.force_restrat"))"#,
            "action `redfish.force_restrat` (did you mean `redfish.force_restart`?)",
        ),
        (
            r#".go("B").when(|h| h.instance.present).¶does("redfish.force_restrat")"#,
            "action `redfish.force_restrat` (did you mean `redfish.force_restart`?)",
        ),
        (r#".go("B").when(|h| h.¶counter("retrys") > 1)"#, "counter `retrys` (did you mean `retries`?)"),
        (r#".go("B").when(|h| h.instance.present).¶count("retrys")"#, "counter `retrys` (did you mean `retries`?)"),
        (r#".go("B").when(|h| h.note("mode") == ¶"fsat")"#, "value `fsat` (did you mean `fast`?)"),
        (r#".go("B").when(|h| h.instance.present).¶note("mode", "fsat")"#, "value `fsat` (did you mean `fast`?)"),
        (r#".go("B").when(|h| h.state.elapsed > timeout(¶"paus"))"#, "timeout `paus` (did you mean `pause`?)"),
        (r#".go("B").when(|h| h.counter("retries") > limit(¶"trys"))"#, "limit `trys` (did you mean `tries`?)"),
        (r#".go("B").when(|h| h.bmc.power == ¶"onn")"#, "value `onn` (did you mean `on`?)"),
        (r#".go("B").when(|h| h.bmc.power ¶in ["on", "of"])"#, "value `of` (did you mean `off`?)"),
        (r#".go("B").when(|h| h.failure.cause == ¶"Brokn")"#, "value `Brokn` (did you mean `Broken`?)"),
        (r#".go("B").when(|h| h.instance.present).¶cause("Brokn")"#, "failure cause `Brokn` (did you mean `Broken`?)"),
        (r#".go("B").when(|h| h.state.path.¶within("Q/R"))"#, "state `Q/R`"),
        (r#".go("B").when(|h| ¶hours_since(h) > 1)"#, "function `hours_since`"),
        (r#".go("B").¶whn(|h| h.instance.present)"#, "verb `whn` (did you mean `when`?)"),
        (r#".¶steps("recovery")"#, "steps `recovery`"),
    ];
    for (text, expected) in cases {
        let (text, place) = marked(&format!("\n{text}"));
        let found = arms(text.trim_start());
        let expected = format!("{place}: unknown {expected}");
        assert!(
            found.iter().any(|fault| fault.starts_with(&expected)),
            "{text}\nexpected {expected}\nfound {found:#?}"
        );
    }
}

#[test]
fn a_misspelt_name_causes_one_error() {
    assert_eq!(arms(".go(\"B\").when(|h| h.instance.presnt && h.bmc.power == \"on\")").len(), 1);
    assert_eq!(arms(".go(\"B\").whn(|h| h.instance.present)").len(), 1);
}

#[test]
fn values_of_different_types_do_not_compare() {
    let cases = [
        (r#".go("B").when(|h| ¶h.bmc.power > 3)"#, "expected a number, found a text"),
        (r#".go("B").when(|h| h.bmc.power ¶== 3)"#, "a text is never equal to a number (compare values of one type)"),
        (
            r#".go("B").when(|h| h.instance.present ¶== 1)"#,
            "true or false is never equal to a number (compare values of one type)",
        ),
        (
            r#".go("B").when(|h| h.instance.present == ¶())"#,
            "`()` is not a value of the rule language (use `.known` or `.or(…)`)",
        ),
        (
            r#".go("B").when(|h| ¶h.host.scout_age > 300)"#,
            "expected a number, found `scout_age`, which can be absent (say what absence means: `scout_age.or(…)` or `.known`)",
        ),
        (r#".go("B").when(|h| ¶h.state.elapsed)"#, "expected true or false, found a number"),
        (r#".go("B").when(|h| ¶1)"#, "expected true or false, found a number"),
        (r#".go("B").when(|h| ¶"true")"#, "expected true or false, found a text"),
        (r#".go("B").when(|h| h.instance.present && ¶h.bmc.power)"#, "expected true or false, found a text"),
        (r#".go("B").when(|h| !¶h.state.elapsed)"#, "expected true or false, found a number"),
        (r#".go("B").when(|h| h.dpus.¶all(|d| d.state))"#, "expected true or false, found a text"),
        (r#".go("B").when(|h| h.instance.present.¶known)"#, "this fact is always known (remove `.known`)"),
        (
            r#".go("B").when(|h| h.host.scout_age ¶== "x")"#,
            "`scout_age`, which can be absent is never equal to a text (compare values of one type)",
        ),
        (
            r#".go("B").when(|h| h.decommission.oob_macs ¶== 3)"#,
            "a list is never equal to a number (compare values of one type)",
        ),
        (
            r#".go("B").when(|h| h.dpus ¶== 2)"#,
            "the list of DPUs is never equal to a number (compare values of one type)",
        ),
        (r#".go("B").when(|h| ¶h.instance)"#, "expected true or false, found the area `instance`"),
        (r#".go("B").when(|h| ¶h)"#, "expected true or false, found the host"),
        (
            r#".go("B").¶when(|h, d| d.primary)"#,
            "this guard takes a DPU, and there is none here (write `|h| h.dpus.all(|d| …)`, or use it in a `dpu_state` that is no barrier)",
        ),
        (r#".go("B").¶when(|| true)"#, "a guard takes the host, or the host and a DPU (write `|h| …` or `|h, d| …`)"),
        (
            r#".go("B").when(|h| h.instance.present).¶does("health.put_report", #{ source: 3, urgent: true })"#,
            "argument `source` has another type than the action declares",
        ),
        (
            r#".go("B").when(|h| h.instance.present).¶does("health.put_report", #{ source: "x" })"#,
            "action `health.put_report` needs an argument `urgent`",
        ),
        (
            r#".go("B").when(|h| h.instance.present).¶does("redfish.force_restart", #{ sorce: "x" })"#,
            "unknown argument `sorce`",
        ),
    ];
    for (text, expected) in cases {
        let (text, place) = marked(&format!("\n{text}"));
        let found = arms(text.trim_start());
        let expected = format!("{place}: {expected}");
        assert!(found.len() == 1 && found[0].starts_with(&expected), "{text}\nexpected {expected}\nfound {found:#?}");
    }
}

#[test]
fn comparisons_of_different_types_by_rhai_are_refused() {
    // Left to itself rhai answers false, false, false, true to these, and no error.
    for text in [r#"() < 3"#, r#"() == 0"#, r#""3" == 3"#, r#""3" != 3"#] {
        let found = arms(&format!(".go(\"B\").when(|h| {text})"));
        assert!(
            found.iter().all(|fault| fault.starts_with("rules.rhai:2:")) && !found.is_empty(),
            "{text}: {found:#?}"
        );
    }
}

#[test]
fn a_variable_that_nobody_declared_is_named() {
    assert_eq!(
        arms(".go(\"B\").when(|h| x.present)"),
        ["rules.rhai:2:19: Undefined variable: x (a guard sees only its parameters)"]
    );
}

#[test]
fn names_are_checked_in_guards_that_have_other_faults() {
    let found = arms(".go(\"B\").when(|h| { let n = 0; for x in 0..2 { n += 1; } n > h.instance.generated_segmnts })");
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains("a guard has no loops (use `.any(|x| …)`"), "{found:#?}");
    assert!(found[1].contains("unknown fact `generated_segmnts` (did you mean `generated_segments`?)"), "{found:#?}");
    let found = arms(".go(\"B\").when(|h| { let area = h.instance; area.presnt })");
    assert!(found.iter().any(|fault| fault.contains("unknown fact `presnt` (did you mean `present`?)")), "{found:#?}");
}

#[test]
fn unsupported_syntax_is_refused_with_what_to_write_instead() {
    let mut wrong = Vec::new();
    for (guard, expected) in [
        ("|h| { ¶while h.instance.present { } true }", "a guard has no loops (use `.any(|x| …)`"),
        ("|h| { ¶for d in h.dpus { } true }", "a guard has no loops"),
        ("|h| { let n = 1; ¶n += 1; n > 1 }", "a guard assigns nothing (bind another name"),
        ("|h| { let n = 1; ¶n = 2; n > 1 }", "`=` assigns, and a guard assigns nothing (a name keeps its value"),
        ("|h| ¶h.bmc.power = \"on\"", "`=` assigns, and a guard assigns nothing (write `==` to compare)"),
        ("|h| { ¶throw \"no\" }", "a guard cannot throw (return `true` or `false`"),
        ("|h| { ¶try { 1 } catch { 2 }; true }", "a guard cannot catch errors"),
        ("|h| h.decommission.oob_macs¶[0] == \"x\"", "a list cannot be indexed (use `.first()`"),
        ("|h| { let list = [3, 1]; list.¶sort(|a, b| 1); true }", "`sort` is not supported in a guard"),
        ("|h| ¶keys(h.decommission.oob_macs) == 3", "`keys` is not supported in a guard"),
        ("|h| h.bmc.power ¶?? \"x\" == \"on\"", "facts are never `()` (say what absence means: `.or(…)` or `.known`)"),
        ("|h| ¶#{ a: 1 }.a == 1", "a guard has no maps (compare the values one by one"),
        ("|h| h.bmc.bios_job.contains(¶'x')", "a guard has no characters (write a text: `\"x\"`)"),
        ("|h| { ¶h.instance.present; true }", "only the last expression of a guard is its value (bind it with `let`"),
        (
            "|h| (¶if h.instance.present { return true } else { false }) && h.bmc.reachable",
            "`return` is not supported inside an expression",
        ),
        ("|h| ¶switch h.bmc.power { \"on\" => true }", "this `switch` has no default case (end with `_ => …`)"),
        (
            "|h| ¶switch h.bmc.bios_job { 'x' => true, _ => false }",
            "a case of this `switch` is not supported in a guard (write a text, a number",
        ),
        ("|h| ¶switch h.bmc.bios_job { [1] => true, _ => false }", "a case of this `switch` is not supported"),
        ("|h| { ¶let x = 1; }", "an empty block has no value"),
        (
            "|h| h.dpus.¶first(|d| d.primary)",
            "the list of DPUs has no `first(…)` with these arguments (it has any, all, count, is_empty, len)",
        ),
        (
            "|h| h.decommission.oob_macs.¶first() > 3",
            "expected a number, found the first of a list, which can be absent",
        ),
        ("|h| ¶(if h.instance.present { 1 } else { \"x\" }) == 1", "expected a number, found a text"),
    ] {
        let (text, place) = marked(&format!("\n.go(\"B\").when({guard})"));
        let found = arms(text.trim_start());
        let at = place.rsplit_once(':').map_or("", |(line, _)| line);
        let fits = |fault: &String| fault.starts_with(at) && fault.contains(expected);
        if found.len() != 1 || !found.iter().all(fits) {
            wrong.push(format!("{guard}\nexpected {expected}\nfound {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_graph_has_to_hold_together() {
    let end = "state(\"B\").terminal().no_sla().wait(\"end\");";
    let cases = [
        (
            format!("state(\"A\").sla(1).pass(\"healthy\").go(\"B\");\n{end}\nstate(\"Island\").sla(1).go(\"B\");"),
            "rules.rhai:3:1: no host can reach state `Island`",
        ),
        (
            "state(\"A\").sla(1).pass(\"healthy\").wait(\"x\");".to_owned(),
            "rules.rhai:1:1: no arm leaves state `A` (add one, or `.terminal()` or `.waits_for_operator()`)",
        ),
        (
            format!("state(\"A\").pass(\"healthy\").go(\"B\");\n{end}"),
            "rules.rhai:1:1: state `A` has no time limit (add `.sla(minutes(30))` or `.no_sla()`)",
        ),
        (format!("state(\"A\").sla(1).go(\"B\");\n{end}"), "names.rhai:14:1: no state passes gate `healthy`"),
        (
            format!("state(\"A\").sla(1).pass(\"healthy\").go(\"B\").wait(\"never\");\n{end}"),
            "rules.rhai:1:43: this arm is never reached: the one at rules.rhai:1:35 always applies",
        ),
        (
            format!("state(\"A\").sla(1).pass(\"healthy\").go(\"B\").when(|h| h.instance.present);\n{end}"),
            "in state `A` it is possible that no arm applies",
        ),
        (
            format!("state(\"A\").sla(1).pass(\"healthy\").go(\"B\");\n{end}\n{end}"),
            "rules.rhai:3:1: state `B` is declared twice (first at rules.rhai:2:1)",
        ),
        (
            format!("state(\"A\").sla(1).pass(\"healthy\").go(\"B\");\n{end}\nsteps(\"unused\").wait(\"x\");"),
            "no state uses the steps `unused`",
        ),
        (
            format!("state(\"A\").sla(1).pass(\"healthy\").go(\"B\");\n{end}\nany_state(\"always\").wait(\"x\");"),
            "an arm for any state that always applies would stop every host",
        ),
        (
            format!(
                "state(\"A\").sla(1).pass(\"healthy\").go(\"B\");\n{end}\nany_state(\"q\").within(\"Q\").wait(\"x\").when(|h| h.instance.present);"
            ),
            "unknown state `Q`",
        ),
        (
            format!(
                "state(\"A\").sla(1).go(\"C\");\nstate(\"C\").sla(1).go(\"A\");\n{end}\nstate(\"D\").entry().sla(1).pass(\"healthy\").go(\"B\");"
            ),
            "hosts loop forever: A -> C",
        ),
        (
            format!("state(\"A\").sla(1).pass(\"healthy\").go(\"B\");\n{end}\ninitial(\"B\");"),
            "hosts can start in one state only",
        ),
        (
            format!("state(\"A\").sla(1).when(|h| h.instance.present).pass(\"healthy\").go(\"B\");\n{end}"),
            "`when` is for an arm, and there is none before it",
        ),
        (
            format!("state(\"A\").sla(1).pass(\"healthy\").go(\"B\").ignoring_failure();\n{end}"),
            "`ignoring_failure` is for an action, and there is none before it",
        ),
    ];
    for (rules, expected) in cases {
        let found = faults(&rules);
        assert!(found.iter().any(|fault| fault.contains(expected)), "{rules}\nexpected {expected}\nfound {found:#?}");
    }
}

#[test]
fn a_report_does_not_depend_on_itself() {
    let end = "state(\"A\").sla(1).pass(\"healthy\").go(\"B\");\nstate(\"B\").terminal().no_sla().wait(\"end\");";
    for report in [
        "report(\"own\").with(\"host_merge\").when(|h| h.own.missing);",
        "report(\"own\").with(\"host_merge\").unclassified_when(|h| h.other.missing);\n\
         report(\"other\").with(\"host_merge\").when(|h| h.own.alerts > 1);",
    ] {
        let found = faults(&format!("{report}\n{end}").replace("own", "mine"));
        let expected = "rules.rhai:1:1: report `mine` depends on itself (use facts or other reports in its conditions)";
        assert!(found.len() == 1 && found[0] == expected, "{report}\n{found:#?}");
    }
}

#[test]
fn everything_is_reported_in_one_go() {
    let found = faults(concat!(
        "state(\"A\")\n",
        "    .pass(\"helthy\")\n",
        "    .pass(\"healthy\")\n",
        "    .go(\"Bee\").when(|h| h.instance.presnt)\n",
        "    .go(\"B\");\n",
        "state(\"B\").terminal().no_sla().wait(\"end\");\n",
        "state(\"Island\").sla(1).go(\"B\").does(\"redfish.explode\");\n",
    ));
    let expected = [
        "rules.rhai:1:1: state `A` has no time limit",
        "rules.rhai:2:6: unknown gate `helthy`",
        "rules.rhai:4:6: unknown state `Bee`",
        "rules.rhai:4:36: unknown fact `presnt`",
        "rules.rhai:7:1: no host can reach state `Island`",
        "rules.rhai:7:32: unknown action `redfish.explode`",
    ];
    for expected in expected {
        assert!(found.iter().any(|fault| fault.starts_with(expected)), "expected {expected}\nfound {found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn a_syntax_error_does_not_hide_errors_of_other_files() {
    let files = [
        ("broken.rhai".to_owned(), "state(\"A\")\n    .go(\"B\".when(|h| true);".to_owned()),
        ("other.rhai".to_owned(), "probe(\"P\");\nprobe(\"P\");".to_owned()),
    ];
    let found = load_files(files, &LoadOptions::default()).unwrap_err();
    let texts: Vec<String> = found.diagnostics.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.starts_with("broken.rhai:2:")), "{texts:#?}");
    assert!(texts.iter().any(|text| text.contains("probe `P` is declared twice")), "{texts:#?}");
    assert!(found.sources.contains_key("broken.rhai"));
}

#[test]
fn an_empty_pack_is_refused() {
    let found = load_files(Vec::new(), &LoadOptions::default()).unwrap_err();
    assert!(found.to_string().contains("the pack has no files"), "{found}");
}

#[test]
fn settings_and_actions_of_the_site_are_checked() {
    let rules =
        "state(\"A\").sla(minutes(5)).pass(\"healthy\").go(\"B\");\nstate(\"B\").terminal().no_sla().wait(\"end\");";
    let files = || [("names.rhai".to_owned(), VALID.to_owned()), ("rules.rhai".to_owned(), rules.to_owned())];
    let options = LoadOptions {
        timeouts: [("paus".to_owned(), 1)].into(),
        known_actions: Some(vec!["redfish.force_restart".to_owned()]),
        ..LoadOptions::default()
    };
    let found = load_files(files(), &options).unwrap_err().to_string();
    assert!(found.contains("the site's settings: unknown timeout `paus` (did you mean `pause`?)"), "{found}");
    assert!(found.contains("the controller has no action `health.put_report`"), "{found}");

    let options = LoadOptions { timeouts: [("pause".to_owned(), 7)].into(), ..LoadOptions::default() };
    let loaded = load_files(files(), &options).unwrap();
    assert_eq!(loaded.timeouts().collect::<Vec<_>>(), [("pause", 7)]);
}

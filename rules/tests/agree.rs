//! Lowered guards and rhai's interpreter give the same answers, errors included, for random guards and random hosts.

mod oracle;

use std::fmt::Write as _;

use oracle::Oracle;
use proptest::prelude::*;
use rules::{
    ActionRecord, ActionStatus, Answer, Decision, Dpu, HealthAlert, HealthReport, LoadOptions, PowerState, RuleSet,
    SecureBoot, Snapshot, Vendor, load_files,
};

const NAMES: &str = r#"
initial("S0");
timeout("pause", minutes(2));
limit("tries", 3);
classification("Stop");
classification("Mild");
probe("Link");
probe("Fan");
source("noise*");
source("mon*");
failure_cause("Broken");
action("act");
counter("tries").kept_in("S0");
note("mode", ["fast", "slow"]).kept_in("S0");
dpu_report("dpu_health")
    .replaced_by("dpu_replace")
    .with("dpu_agent").or_alert("Fan", ["Stop"], "silent").unclassified_when(|h, d| d.reachable)
    .alert("Link", ["Mild"], "x").when(|h, d| d.config_error != "")
    .with("dpu_merge").except("noise*");
report("health")
    .replaced_by("host_replace")
    .with_dpus("dpu_health")
    .with("host_merge").only("mon*").when(|h| h.instance.present);
any_state("records").except("End")
    .wait("never").when(|h| h.dpus.len() < 0).count("tries").does("act")
    .go("End").when(|h| h.dpus.len() < 0).note("mode", "fast");
"#;

/// Functions that guards call.
const FUNCTIONS: &str = r#"
fn later(h, n) { h.state.elapsed > n }
fn pick(c, a, b) { if c { a } else { b } }
fn same(d, e) { d.observed_network_version == e.desired_network_version }
fn early(h, n) { if n > 3 { return h.instance.present; } let twice = n * 2; twice == 4 }
fn like_another(h, p) { h.dpus.any(|e| e.primary != p) }
"#;

/// A guard over the host `h`, and over as many DPUs as are bound: `d0`, `d1`.
fn truth(depth: u32, dpus: u32) -> BoxedStrategy<String> {
    let mut leaves = vec![
        "true",
        "false",
        "h.instance.present",
        "h.instance.deletion_requested",
        "h.host.rebooted_since_state_change",
        "h.bmc.power == \"on\"",
        "h.bmc.power != \"off\"",
        "h.bmc.vendor in [\"dell\", \"lenovo\"]",
        "h.failure.cause == \"\"",
        "h.failure.cause != \"Broken\"",
        "h.bmc.bios_setup == \"yes\"",
        "h.host.scout_age.known",
        "h.host.scout_age == 5",
        "h.host.scout_age != 5",
        "h.instance.network_version.known",
        "h.dpus.is_empty()",
        "h.decommission.oob_macs.is_empty()",
        "\"a\" in h.decommission.oob_macs",
        "h.decommission.oob_macs.contains(\"b\")",
        "h.state.path.within(\"S0\")",
        "h.bmc.bios_job.starts_with(\"j\")",
        "h.bmc.bios_job.is_empty()",
        "h.done(\"act\")",
        "h.failed(\"act\")",
        "h.running(\"act\")",
        "h.note(\"mode\") == \"fast\"",
        "h.health.has_class(\"Stop\")",
        "h.health.has_alert(\"Link\", \"Mild\")",
        "h.health.has_probe(\"Fan\")",
        "h.health.missing",
        "h.dpus.all(|d| d.observed_network_version == d.desired_network_version)",
        "h.dpus.any(|d| d.observed_instance_version == h.instance.network_version)",
        "version_at_least(h.bmc.bios_job, \"24.10\")",
        "h.action_age(\"act\").known",
        "2 in [1, 2]",
        "later(h, 30)",
        "h.decommission.oob_macs.any(|m| m == \"b\")",
        "h.decommission.oob_macs.all(|m| m.contains(\"a\") || h.instance.present)",
        "h.decommission.oob_macs.first().or(\"z\") == \"a\"",
        "h.decommission.oob_macs.first() == \"a\"",
        "[\"j\", \"24\"].any(|part| h.bmc.bios_job.starts_with(part))",
        "[1, 2].all(|n| n < h.dpus.len())",
        "h.dpus.all(|d| like_another(h, d.primary))",
        "h.action_age(\"act\") == 9",
    ]
    .into_iter()
    .map(str::to_owned)
    .collect::<Vec<_>>();
    for n in 0..dpus {
        for leaf in [
            "primary",
            "config_error == \"\"",
            "observed_network_version == D.desired_network_version",
            "seen_since_state_change",
            "dpu_health.has_class(\"Stop\")",
            "dpu_health.has_alert(\"Link\", \"Mild\")",
            "secure_boot == \"enabled\"",
            "observed_network_version != D.observed_instance_version",
            "agent_version == \"1\"",
            "agent_version.or(\"x\") == \"x\"",
            "instance_observed == D.required_by_instance",
            "dpu_health.missing",
            "state == \"S0\"",
            "done(\"act\")",
        ] {
            leaves.push(format!("d{n}.{}", leaf.replace('D', &format!("d{n}"))));
        }
    }
    if dpus == 2 {
        leaves.push("same(d0, d1)".to_owned());
        leaves.push("d0.name == d1.name".to_owned());
    }
    let leaf = prop::sample::select(leaves);
    if depth == 0 {
        return leaf.boxed();
    }
    let inner = truth(depth - 1, dpus);
    let numbers = number(depth - 1);
    let compare = prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]);
    let mut choices = vec![
        leaf.boxed(),
        (numbers.clone(), compare, numbers).prop_map(|(a, op, b)| format!("({a}) {op} ({b})")).boxed(),
        (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) && ({b})")).boxed(),
        (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a}) || ({b}) || ({c})")).boxed(),
        inner.clone().prop_map(|a| format!("!({a})")).boxed(),
        (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) == ({b})")).boxed(),
        (inner.clone(), inner.clone(), inner.clone())
            .prop_map(|(a, b, c)| format!("if ({a}) {{ {b} }} else {{ {c} }}"))
            .boxed(),
        (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("pick({a}, {b}, {c})")).boxed(),
    ];
    let bound = format!("x{depth}_{dpus}");
    let texts = text(depth - 1);
    choices.extend([
        {
            let bound = bound.clone();
            (numbers_of(depth), inner_of(depth, dpus), inner_of(depth, dpus))
                .prop_map(move |(n, a, b)| format!("({{ let {bound} = {n}; if ({a}) {{ {bound} > 2 }} else {{ {b} }} }})"))
                .boxed()
        },
        {
            let bound = bound.clone();
            (inner_of(depth, dpus), inner_of(depth, dpus))
                .prop_map(move |(a, b)| format!("({{ let {bound} = {a}; ({b}) || {bound} }})"))
                .boxed()
        },
        (numbers_of(depth), numbers_of(depth))
            .prop_map(move |(n, m)| format!("({{ let {bound} = |n| n > ({n}); {bound}.call({m}) }})"))
            .boxed(),
        (numbers_of(depth), inner_of(depth, dpus), inner_of(depth, dpus), inner_of(depth, dpus))
            .prop_map(|(n, a, b, c)| {
                format!("(switch ({n}) {{ 1 | 2 => {a}, 3 if ({b}) => {c}, 4..=60 if ({c}) => {b}, 0..9 => {{ ({a}) && ({c}) }}, _ => {c} }})")
            })
            .boxed(),
        (texts.clone(), inner_of(depth, dpus), inner_of(depth, dpus))
            .prop_map(|(t, a, b)| format!("(switch ({t}) {{ \"job\" => {a}, \"\" | \"24.11\" => {b}, _ => false }})"))
            .boxed(),
        (texts.clone(), prop::sample::select(vec!["==", "!="]), texts.clone())
            .prop_map(|(a, op, b)| format!("({a}) {op} ({b})"))
            .boxed(),
        (texts.clone(), prop::sample::select(vec!["contains", "starts_with", "ends_with"]), texts)
            .prop_map(|(a, op, b)| format!("({a}).{op}({b})"))
            .boxed(),
        numbers_of(depth).prop_map(|n| format!("later(h, {n})")).boxed(),
        numbers_of(depth).prop_map(|n| format!("early(h, {n})")).boxed(),
    ]);
    if dpus == 1 {
        choices.push(
            inner_of(depth, 1)
                .prop_map(move |a| {
                    format!("({{ let p{depth} = d0.primary; h.dpus.any(|d1| d1.primary == p{depth}) || ({a}) }})")
                })
                .boxed(),
        );
    }
    if dpus < 2 {
        let quantifier = prop::sample::select(vec!["all", "any"]);
        let body = truth(depth - 1, dpus + 1);
        choices.push((quantifier, body).prop_map(move |(q, body)| format!("h.dpus.{q}(|d{dpus}| {body})")).boxed());
    }
    prop::strategy::Union::new(choices).boxed()
}

fn inner_of(depth: u32, dpus: u32) -> BoxedStrategy<String> {
    truth(depth - 1, dpus)
}

fn numbers_of(depth: u32) -> BoxedStrategy<String> {
    number(depth - 1)
}

fn text(depth: u32) -> BoxedStrategy<String> {
    let leaf = prop::sample::select(vec![
        "h.bmc.bios_job",
        "\"job\"",
        "\"J\"",
        "\"\"",
        "h.bmc.bios_job.to_upper()",
        "h.bmc.power.to_upper().to_lower()",
        "(h.failure.cause + \"\")",
        "h.decommission.oob_macs.first().or(\"job\")",
    ])
    .prop_map(str::to_owned);
    if depth == 0 {
        return leaf.boxed();
    }
    let inner = text(depth - 1);
    prop_oneof![
        leaf,
        (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) + ({b})")),
        (inner.clone(), number(depth - 1)).prop_map(|(a, n)| format!("({a}) + ({n})")),
        (inner.clone(), number(depth - 1)).prop_map(|(a, n)| format!("(`${{{a}}}.${{{n}}}${{h.instance.present}}`)")),
        (truth(depth - 1, 0), inner.clone(), inner)
            .prop_map(|(c, a, b)| format!("(if ({c}) {{ {a} }} else {{ {b} }})")),
    ]
    .boxed()
}

fn number(depth: u32) -> BoxedStrategy<String> {
    let leaf = prop::sample::select(vec![
        "0",
        "1",
        "60",
        "9223372036854775807",
        "h.state.elapsed",
        "h.host.associated_dpus",
        "h.instance.generated_segments",
        "h.instance.extension_services",
        "h.host.scout_age.or(7)",
        "h.host.reboot_age.or(h.state.elapsed)",
        "timeout(\"pause\")",
        "limit(\"tries\")",
        "minutes(1)",
        "hours(h.host.associated_dpus)",
        "h.counter(\"tries\")",
        "h.tries(\"act\")",
        "h.action_age(\"act\").or(3)",
        "h.dpus.len()",
        "h.decommission.oob_macs.len()",
        "h.health.alerts",
        "h.dpus.count(|d| d.primary)",
        "pick(h.instance.present, 2, 3)",
        "h.bmc.bios_job.len()",
        "h.decommission.oob_macs.count(|m| m != \"b\")",
        "[1, 2].count(|n| n == h.host.associated_dpus)",
    ])
    .prop_map(str::to_owned);
    if depth == 0 {
        return leaf.boxed();
    }
    let inner = number(depth - 1);
    let operator = prop::sample::select(vec!["+", "-", "*", "/", "%"]);
    prop_oneof![
        leaf,
        (inner.clone(), operator, inner.clone()).prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
        inner.clone().prop_map(|a| format!("-({a})")),
        (prop::sample::select(vec!["min", "max"]), inner.clone(), inner.clone())
            .prop_map(|(f, a, b)| format!("{f}({a}, {b})")),
        inner.prop_map(|a| format!("abs({a})")),
    ]
    .boxed()
}

fn version() -> impl Strategy<Value = Option<String>> {
    prop::option::of(prop::sample::select(vec!["V1-T1", "V2-T2"]).prop_map(str::to_owned))
}

fn report() -> impl Strategy<Value = HealthReport> {
    let alert = (prop::sample::select(vec!["Link", "Fan"]), prop::sample::subsequence(vec!["Stop", "Mild"], 0..=2));
    prop::collection::vec(alert, 0..3).prop_map(|alerts| HealthReport {
        alerts: alerts
            .into_iter()
            .map(|(id, classes)| HealthAlert {
                id: id.to_owned(),
                classifications: classes.into_iter().map(str::to_owned).collect(),
                ..HealthAlert::default()
            })
            .collect(),
        ..HealthReport::default()
    })
}

fn dpu() -> impl Strategy<Value = Dpu> {
    let flags = any::<[bool; 5]>();
    let reports = (prop::option::of(report()), prop::option::weighted(0.2, report()), prop::option::of(report()));
    (flags, version(), version(), version(), reports, any::<bool>()).prop_map(
        |(flags, desired, observed, instance, (agent, replace, merge), text)| {
            let mut dpu = Dpu {
                primary: flags[0],
                instance_observed: flags[1],
                required_by_instance: flags[2],
                reachable: flags[3].into(),
                secure_boot: [SecureBoot::Enabled, SecureBoot::Disabled][usize::from(text)].into(),
                desired_network_version: desired.and_then(|text| text.parse().ok()),
                observed_network_version: observed.and_then(|text| text.parse().ok()),
                observed_instance_version: instance.and_then(|text| text.parse().ok()),
                config_error: if text { "x".into() } else { String::new() },
                agent_version: text.then(|| "1".to_owned()),
                observed_at: flags[4].then_some(900_000_000_000),
                ..Dpu::default()
            };
            dpu.health.agent = agent;
            dpu.health.replace = replace;
            dpu.health.merges.extend(merge.map(|report| (if text { "noise1" } else { "operator" }.to_owned(), report)));
            dpu
        },
    )
}

fn host() -> impl Strategy<Value = Snapshot> {
    let numbers = (-2_i64..4, prop::sample::select(vec![-1, 0, 2, i64::MAX]), 0_u64..200, prop::option::of(0_u64..300));
    let words = (0_usize..3, any::<[bool; 5]>(), version(), prop::option::of(0_usize..3));
    (
        numbers,
        words,
        prop::collection::vec(dpu(), 0..3),
        prop::option::of(report()),
        prop::option::weighted(0.2, report()),
    )
        .prop_map(
            |((dpus_known, segments, elapsed, age), (word, flags, version, status), dpus, merge, replace)| {
                let mut host = Snapshot { id: "host".into(), now: 1_000_000_000_000, dpus, ..Snapshot::default() };
                host.state.path = "S0".into();
                host.state.since = host.now - elapsed * 1_000_000;
                host.host.associated_dpus = dpus_known;
                host.instance.generated_segments = segments;
                host.instance.extension_services = dpus_known;
                host.instance.present = flags[0];
                host.instance.deletion_requested = flags[1];
                host.instance.network_version = version.and_then(|text| text.parse().ok());
                host.host.scout_seen_at = age.map(|age| host.now - age * 1_000_000);
                host.host.reboot_requested_at = flags[2].then_some(host.now - 5_000_000);
                host.host.rebooted_at = flags[3].then_some(host.now);
                host.bmc.power = [PowerState::On, PowerState::Off, PowerState::Paused][word].into();
                host.bmc.vendor = [Vendor::Dell, Vendor::Other, Vendor::Lenovo][word].into();
                host.bmc.bios_setup = [Answer::Yes, Answer::No, Answer::No][word].into();
                host.bmc.bios_job = ["", "job", "24.11"][word].to_owned().into();
                host.failure.cause = if flags[4] { "Broken".into() } else { String::new() };
                host.decommission.oob_macs = ["a", "b"][..word.min(2)].iter().map(|mac| (*mac).to_owned()).collect();
                if flags[0] {
                    host.state.counters.insert("tries".into(), 4);
                    host.state.notes.insert("mode".into(), "fast".into());
                }
                if let Some(status) = status {
                    let status = [ActionStatus::Done, ActionStatus::Failed, ActionStatus::Running][status];
                    let record = ActionRecord { status, tries: 2, at: host.now - 9_000_000, error: String::new() };
                    host.state.actions.insert("act".into(), record.clone());
                    host.dpus.iter_mut().for_each(|dpu| drop(dpu.actions.insert("act".into(), record.clone())));
                }
                host.health.replace = replace;
                host.health.merges.extend(merge.map(|report| ("monitor".to_owned(), report)));
                host
            },
        )
}

/// One state a guard: whether the guard holds shows in where the host goes.
fn text_of(guards: &[String]) -> String {
    let mut text = format!("{NAMES}{FUNCTIONS}");
    for (n, guard) in guards.iter().enumerate() {
        let _ = writeln!(text, "state(\"S{n}\").entry().no_sla().go(\"End\").when(|h| {guard}).wait(\"no\");");
    }
    text + "state(\"End\").terminal().no_sla().wait(\"end\");\n"
}

fn pack(guards: &[String]) -> Result<RuleSet, TestCaseError> {
    load_files([("rules.rhai".to_owned(), text_of(guards))], &LoadOptions::default())
        .map_err(|faults| TestCaseError::fail(faults.to_string()))
}

/// The guards as a pack can have them: one whose answer is written in it is a fault, and is compared with a fact instead.
fn varied(guards: Vec<String>) -> Vec<String> {
    let first = format!("{NAMES}{FUNCTIONS}").lines().count() + 1;
    let loaded = load_files([("rules.rhai".to_owned(), text_of(&guards))], &LoadOptions::default());
    let faults = loaded.map_or_else(|faults| faults.diagnostics, |_| Vec::new());
    let constant = |n: usize| faults.iter().any(|fault| fault.check == "constant" && fault.place.line == first + n);
    let vary = |(n, guard)| if constant(n) { format!("({guard}) == h.instance.present") } else { guard };
    guards.into_iter().enumerate().map(vary).collect()
}

fn answer(rules: &RuleSet, host: &Snapshot) -> String {
    match rules.decide(host).decision {
        Decision::Go(_) => "yes".to_owned(),
        Decision::Wait(_) => "no".to_owned(),
        Decision::Error(fault) => fault.reason.rsplit(": ").next().unwrap_or_default().to_owned(),
        Decision::Delete(_) => "delete".to_owned(),
    }
}

#[test]
fn a_remainder_that_has_no_value_fails_alike() {
    let guards = ["h.instance.extension_services % h.host.associated_dpus == 0".to_owned()];
    let (rules, oracle) = (pack(&guards).unwrap(), Oracle::new(FUNCTIONS, &guards));
    for (number, divisor, told) in [(7, 0, "division by zero"), (i64::MIN, -1, "integer overflow")] {
        let mut host = Snapshot::default();
        host.state.path = "S0".into();
        (host.instance.extension_services, host.host.associated_dpus) = (number, divisor);
        assert_eq!(answer(&rules, &host), told, "{number} % {divisor}");
        assert_eq!(oracle.answer(0, &host), told, "{number} % {divisor}");
    }
}

#[test]
fn switch_cases_are_found_whatever_their_literals() {
    let guards = [
        r##"switch h.bmc.bios_job { "a\"#b" => true, "\n" | "1" => h.instance.present, "" => false, _ => true }"##,
        r#"switch h.instance.generated_segments { -1 => true, 0 | 1 => h.instance.present, -9..=-7 => false, _ => true }"#,
        r#"switch h.instance.generated_segments { 3..3 => true, -9..-7 if h.instance.present => true, _ => false }"#,
        r#"switch h.instance.present { true => false, _ => true }"#,
    ]
    .map(str::to_owned);
    let (rules, oracle) = (pack(&guards).unwrap(), Oracle::new(FUNCTIONS, &guards));
    for (text, number) in [("a\"#b", -1), ("\n", 0), ("1", 1), ("", 3), ("x", -7), ("x", -8), ("x", -9)] {
        for present in [true, false] {
            let mut host = Snapshot::default();
            host.bmc.bios_job = text.to_owned().into();
            (host.instance.generated_segments, host.instance.present) = (number, present);
            for (n, guard) in guards.iter().enumerate() {
                host.state.path = format!("S{n}").as_str().into();
                assert_eq!(answer(&rules, &host), oracle.answer(n, &host), "{guard} of {text:?}, {number}, {present}");
            }
        }
    }
}

#[test]
fn a_dpus_health_is_read_of_that_dpu_beside_other_reads() {
    let of_others = "h.dpus.any(|d| d.observed_instance_version == h.instance.network_version)";
    let guard = format!("h.dpus.any(|d| pick({of_others}, h.instance.present, d.dpu_health.has_class(\"Stop\")))");
    let mut host = Snapshot::default();
    host.state.path = "S0".into();
    // A DPU that is not reachable would be in alert.
    host.dpus = vec![Dpu { reachable: true.into(), ..Dpu::default() }];
    let guards = [guard];
    assert_eq!(answer(&pack(&guards).unwrap(), &host), "no");
    assert_eq!(Oracle::new(FUNCTIONS, &guards).answer(0, &host), "no");
}

#[test]
fn a_dpu_bound_outside_a_function_is_not_the_one_inside() {
    let guards = [
        "h.dpus.all(|d| like_another(h, d.primary))".to_owned(),
        "h.dpus.all(|d| { let own = d.primary; h.dpus.any(|e| e.primary != own) })".to_owned(),
    ];
    let (rules, oracle) = (pack(&guards).unwrap(), Oracle::new(FUNCTIONS, &guards));
    for (primary, expected) in [([true, false], "yes"), ([true, true], "no")] {
        let dpus = primary.map(|primary| Dpu { primary, ..Dpu::default() });
        let mut host = Snapshot { dpus: dpus.into(), ..Snapshot::default() };
        for (number, guard) in guards.iter().enumerate() {
            host.state.path = format!("S{number}").as_str().into();
            assert_eq!(answer(&rules, &host), expected, "{guard} {primary:?}");
            assert_eq!(oracle.answer(number, &host), expected, "{guard} {primary:?}");
        }
    }
}

#[test]
fn the_report_of_an_inner_dpu_is_not_asked_of_the_outer_one() {
    let guards = ["h.dpus.any(|d0| h.dpus.all(|d1| d0.reachable == d1.dpu_health.has_probe(\"Link\")))".to_owned()];
    let (rules, oracle) = (pack(&guards).unwrap(), Oracle::new(FUNCTIONS, &guards));
    let dpu = |n: u32, alert: bool| Dpu {
        id: format!("dpu{n}"),
        config_error: if alert { "x".into() } else { String::new() },
        reachable: false.into(),
        ..Dpu::default()
    };
    for (alerts, expected) in [([true, false], "no"), ([false, true], "no"), ([false, false], "yes")] {
        let mut host = Snapshot { dpus: vec![dpu(0, alerts[0]), dpu(1, alerts[1])], ..Snapshot::default() };
        host.state.path = "S0".into();
        assert_eq!(answer(&rules, &host), expected, "{alerts:?}");
        assert_eq!(oracle.answer(0, &host), expected, "{alerts:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn lowered_and_interpreted_guards_agree(
        guards in prop::collection::vec(truth(3, 0), 12),
        hosts in prop::collection::vec(host(), 8),
    ) {
        let guards = varied(guards);
        let (rules, oracle) = (pack(&guards)?, Oracle::new(FUNCTIONS, &guards));
        for (n, guard) in guards.iter().enumerate() {
            for host in &hosts {
                let mut host = host.clone();
                host.state.path = format!("S{n}").as_str().into();
                let (a, b) = (answer(&rules, &host), oracle.answer(n, &host));
                prop_assert_eq!(a, b, "{} over {:?}", guard, host);
            }
        }
    }

    #[test]
    fn an_answer_does_not_change_before_it_is_due(
        guards in prop::collection::vec(truth(3, 0), 12),
        hosts in prop::collection::vec(host(), 4),
        later in 1_u64..400,
    ) {
        let guards = varied(guards);
        let rules = pack(&guards)?;
        for (n, guard) in guards.iter().enumerate() {
            for host in &hosts {
                let mut host = host.clone();
                host.state.path = format!("S{n}").as_str().into();
                let due = match rules.decide(&host).decision {
                    Decision::Wait(wait) => wait.recheck_after,
                    _ => continue,
                };
                let mut then = host.clone();
                then.now += later * 1_000_000;
                if due.is_none_or(|due| u64::try_from(due).is_ok_and(|due| later < due)) {
                    prop_assert_eq!(answer(&rules, &then), "no", "{} after {} s, due {:?}", guard, later, due);
                }
            }
        }
    }

    #[test]
    fn what_the_rules_do_not_see_changes_no_answer(
        guards in prop::collection::vec(truth(3, 0), 6),
        before in host(),
        after in host(),
    ) {
        let guards = varied(guards);
        let rules = pack(&guards)?;
        for (n, guard) in guards.iter().enumerate() {
            let (mut before, mut after) = (before.clone(), after.clone());
            before.state.path = format!("S{n}").as_str().into();
            after.state = before.state.clone();
            if rules.sees_no_change(&before, &after) {
                prop_assert_eq!(answer(&rules, &before), answer(&rules, &after), "{}", guard);
            }
        }
    }
}

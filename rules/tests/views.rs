//! What a pack says beside decisions: what tenants see, and what alerts prevent.

#![allow(clippy::unwrap_used, reason = "helpers are called by tests alone")]

use rules::{
    ChangeKind, HealthAlert, HealthReport, LoadError, LoadOptions, Prevented, RuleSet, Snapshot, TenantState,
    load_files,
};

const PACK: &str = r#"
initial("Ready");
state("Ready").terminal().no_sla().wait("ready");

report("health").with("host_merge");
judged_by("health");
classification("NoTenant").prevents("allocation");
classification("Broken").prevents("allocation").prevents("readiness");
classification("Noted");

tenant_sees("Terminating", |h| h.instance.deletion_requested);
tenant_sees("Provisioning", |h| !h.instance.phone_home_seen).detail("has not called home");
tenant_sees("Ready", |h| h.instance.present);
"#;

fn try_load(rules: &str) -> Result<RuleSet, LoadError> {
    load_files([("rules.rhai".to_owned(), rules.to_owned())], &LoadOptions::default())
}

fn load(rules: &str) -> RuleSet {
    try_load(rules).map_err(|faults| faults.to_string()).unwrap()
}

fn host() -> Snapshot {
    let mut host = Snapshot::default();
    host.state.path = "Ready".into();
    host
}

#[test]
fn a_tenant_sees_the_first_line_that_holds() {
    let rules = load(PACK);
    let mut host = host();
    host.instance.phone_home_seen = true;
    assert_eq!(rules.tenant_sees(&host), (TenantState::Invalid, ""));
    host.instance.present = true;
    assert_eq!(rules.tenant_sees(&host), (TenantState::Ready, ""));
    host.instance.phone_home_seen = false;
    assert_eq!(rules.tenant_sees(&host), (TenantState::Provisioning, "has not called home"));
    host.instance.deletion_requested = true;
    assert_eq!(rules.tenant_sees(&host), (TenantState::Terminating, ""));
}

#[test]
fn an_alert_prevents_only_what_its_classification_says() {
    let rules = load(PACK);
    for (class, allocation, readiness) in
        [("NoTenant", true, false), ("Broken", true, true), ("Noted", false, false), ("Unheard", false, false)]
    {
        let mut host = host();
        let alert = HealthAlert { id: "Probe".into(), classifications: vec![class.into()], ..HealthAlert::default() };
        let report = HealthReport { source: "s".into(), alerts: vec![alert], ..HealthReport::default() };
        host.health.merges.insert("s".into(), report);
        let by = |what| rules.prevented_by(what, &host).map(|(alert, class)| (alert.id, class.to_owned()));
        let named = |prevents: bool| prevents.then(|| ("Probe".to_owned(), class.to_owned()));
        assert_eq!(by(Prevented::Allocation), named(allocation), "{class}");
        assert_eq!(by(Prevented::Readiness), named(readiness), "{class}");
        assert_eq!(by(Prevented::Release), None, "{class}");
    }
}

#[test]
fn words_that_do_not_exist_are_refused_with_the_nearest() {
    for (from, to, fault) in [
        ("tenant_sees(\"Ready\"", "tenant_sees(\"Raedy\"", "unknown state of an instance `Raedy`"),
        (".prevents(\"readiness\")", ".prevents(\"readyness\")", "unknown thing to prevent `readyness`"),
        ("judged_by(\"health\")", "judged_by(\"helth\")", "unknown report `helth`"),
        ("judged_by(\"health\");", "", "the pack does not say in which report alerts prevent this"),
        ("report(\"health\").with(\"host_merge\")", "dpu_report(\"health\").with(\"dpu_agent\")", "not of a DPU"),
    ] {
        let faults = try_load(&PACK.replacen(from, to, 1)).unwrap_err();
        let found = faults.diagnostics.iter().map(|fault| fault.message.clone()).collect::<Vec<_>>();
        assert!(found.iter().any(|found| found.contains(fault)), "{to}: {found:?}");
        assert!(faults.diagnostics.iter().all(|found| !found.hint.is_empty()), "{faults}");
    }
}

#[test]
fn a_change_of_either_shows_between_packs() {
    let changed =
        PACK.replace(".prevents(\"readiness\")", "").replace("!h.instance.phone_home_seen", "h.site.attestation");
    let changes = rules::diff(&load(PACK), &load(&changed));
    let said = changes.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        said,
        [
            "what tenants see as Provisioning: no longer when |h| !h.instance.phone_home_seen; now when |h| h.site.attestation",
            "what alerts prevent: readiness is gone",
        ]
    );
    assert_eq!(changes[1].kind, ChangeKind::Removed);
}

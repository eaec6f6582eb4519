//! What stored health reports add up to, and how alerts are explained.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers are called by tests alone")]

mod small;

use rules::{HealthAlert, HealthReport};
use small::{host, load, outcome};
use types::Timestamp;

const REPORTS: &str = r#"
initial("A");
classification("Stop");
classification("Mild");
probe("Link");
probe("Heartbeat");
source("noise.*");
source("monitor.*");
dpu_report("dpu_health")
    .replaced_by("dpu_replace")
    .with("dpu_agent").or_alert("Heartbeat", ["Stop"], "no report")
        .unclassified_when(|h, d| d.reprovision_requested)
    .alert("Link", ["Mild"], "made up").when(|h, d| d.config_error != "")
    .with("dpu_merge").except("noise.*");
report("health")
    .replaced_by("host_replace")
    .with_dpus("dpu_health").when(|h, d| d.primary)
    .with("host_merge").only("monitor.*")
    .with("rack_merge");
state("A").no_sla()
    .wait("stop").when(|h| h.health.has_class("Stop"))
    .wait("link").when(|h| h.health.has_alert("Link", "Mild"))
    .wait("missing").when(|h| h.health.missing)
    .wait("alerts").when(|h| h.health.alerts > 1)
    .wait("second").when(|h| h.dpus.any(|d| !d.primary && d.dpu_health.has_probe("Link")))
    .go("B");
state("B").terminal().no_sla().wait("end");
"#;

fn report(alerts: &[(&str, &[&str])]) -> HealthReport {
    let alerts = alerts.iter().map(|(id, classes)| HealthAlert {
        id: (*id).to_owned(),
        message: format!("{id} is bad"),
        classifications: classes.iter().map(|class| (*class).to_owned()).collect(),
        ..HealthAlert::default()
    });
    HealthReport { alerts: alerts.collect(), ..HealthReport::default() }
}

#[test]
fn reports_are_put_together_as_the_pack_says() {
    let rules = load(REPORTS);
    let mut h = host("A", 2);
    h.dpus[0].primary = true;
    assert_eq!(outcome(&rules, &h), "wait: stop", "a missing agent report stands for an alert");
    h.dpus[0].reprovision_requested = true;
    assert_eq!(outcome(&rules, &h), "wait: missing", "its classification does not count, and nothing is stored");
    h.dpus[0].reprovision_requested = false;
    h.dpus[0].health.agent = Some(report(&[]));
    assert_eq!(outcome(&rules, &h), "go B", "the other DPU is not looked at");
    h.dpus[0].config_error = "x".into();
    assert_eq!(outcome(&rules, &h), "wait: link");
    h.dpus[0].health.replace = Some(report(&[]));
    assert_eq!(outcome(&rules, &h), "go B", "a DPU's replacing report hides its others");
    h.dpus[0].health.replace = None;
    h.dpus[0].config_error.clear();
    h.dpus[0].health.merges.insert("noise.fan".into(), report(&[("Link", &["Stop"])]));
    assert_eq!(outcome(&rules, &h), "go B", "an excepted source is not looked at");
    h.dpus[0].health.merges.insert("operator".into(), report(&[("Link", &[]), ("Heartbeat", &[])]));
    assert_eq!(outcome(&rules, &h), "wait: alerts");
    h.health.merges.insert("other".into(), report(&[("Link", &["Stop"])]));
    assert_eq!(outcome(&rules, &h), "wait: alerts", "only monitors are merged");
    h.health.merges.insert("monitor.fan".into(), report(&[("Link", &["Stop"])]));
    assert_eq!(outcome(&rules, &h), "wait: stop");
    h.health.replace = Some(report(&[("Link", &["Mild"])]));
    assert_eq!(outcome(&rules, &h), "wait: link", "the host's replacing report is the whole report");
    h.health.replace = Some(report(&[]));
    h.dpus[1].health.agent = Some(report(&[("Link", &[])]));
    assert_eq!(outcome(&rules, &h), "wait: second");
}

#[test]
fn two_alerts_of_one_probe_and_target_become_one() {
    let rules = load(REPORTS);
    let mut h = host("A", 1);
    h.dpus[0].primary = true;
    let mut agent = report(&[("Link", &["Stop"])]);
    agent.observed_at = Some(Timestamp::from_micros(20));
    agent.alerts[0].target = Some("p0".into());
    agent.alerts[0].in_alert_since = Some(Timestamp::from_micros(7));
    agent.successes = vec![
        rules::HealthSuccess { id: "Heartbeat".into(), target: None },
        rules::HealthSuccess { id: "Link".into(), target: Some("p0".into()) },
    ];
    let mut operator = report(&[("Link", &["Mild", "Stop"]), ("Link", &[])]);
    operator.observed_at = Some(Timestamp::from_micros(10));
    operator.alerts[0].target = Some("p0".into());
    operator.alerts[0].message = "seen".into();
    operator.alerts[0].in_alert_since = Some(Timestamp::from_micros(5));
    h.dpus[0].health.agent = Some(agent);
    h.dpus[0].health.merges.insert("operator".into(), operator);
    let merged = rules.health_report("health", &h, None).unwrap();
    assert_eq!((merged.source.as_str(), merged.observed_at), ("health", Some(Timestamp::from_micros(10))));
    assert_eq!(merged.successes, [rules::HealthSuccess { id: "Heartbeat".into(), target: None }]);
    assert_eq!(merged.alerts.len(), 2, "two targets of one probe stay two alerts");
    let p0 = &merged.alerts[1];
    assert_eq!((p0.message.as_str(), p0.in_alert_since), ("Link is bad\nseen", Some(Timestamp::from_micros(5))));
    assert_eq!(p0.classifications, ["Mild", "Stop"]);
    assert_eq!(rules.health_report("dpu_health", &h, Some(0)).unwrap().alerts.len(), 2);
    assert!(rules.health_report("none", &h, None).is_none());
}

#[test]
fn an_explanation_names_alerts_with_their_dpu_source_and_time() {
    let rules = load(REPORTS);
    let mut h = host("A", 2);
    h.dpus[0].primary = true;
    let mut agent = report(&[("Link", &["Stop"])]);
    agent.source = "agent".into();
    agent.alerts[0].in_alert_since = Some(Timestamp::from_micros(5));
    h.dpus[0].health.agent = Some(agent);
    let explained = rules.explain(&h);
    assert_eq!(explained.alerts.len(), 1);
    let alert = &explained.alerts[0];
    assert_eq!(
        (alert.probe.as_str(), alert.dpu.as_deref(), alert.source.as_str(), alert.since),
        ("Link", Some("dpu0"), "agent", Some(5))
    );
    assert_eq!(explained.facts[0].name, "health(Stop)");
    assert_eq!(explained.facts[0].value, "Link of dpu0");
    assert_eq!(explained.arms[0].at, "rules.rhai:21");
}

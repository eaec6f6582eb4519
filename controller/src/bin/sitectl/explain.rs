//! `sitectl host explain`: an explanation as an operator reads it.

use std::time::{Duration, SystemTime};

use proto::site::{Alert, ArmTrace, Explanation, FactSeen};

use types::one_line;

use crate::output::{ago, clock, fields, span};

/// The verdict first, then what it rests on, then every arm that was tried.
pub(crate) fn text(answer: &Explanation, now: SystemTime) -> String {
    let since = since(&answer.state_since, answer.sla_seconds, answer.above_sla, now);
    let mut parts = vec![fields(&[
        ("host", format!("{}  {}", answer.host, answer.machine_id)),
        ("state", answer.state.clone()),
        ("since", since),
        ("verdict", verdict(answer)),
        ("gate", answer.gate.clone()),
        ("withheld", answer.withheld.clone()),
        ("action", answer.action_error.clone()),
        ("rules", answer.pack_hash.get(..12).unwrap_or(&answer.pack_hash).to_owned()),
    ])];
    if !answer.facts.is_empty() {
        parts.push(format!("because\n{}", facts(&answer.facts)));
    }
    if !answer.alerts.is_empty() {
        parts.push(alerts(&answer.alerts, now));
    }
    if !answer.undeclared.is_empty() {
        parts.push(undeclared(&answer.undeclared));
    }
    if !answer.arms.is_empty() {
        parts.push(arms(&answer.arms));
    }
    parts.join("\n\n")
}

/// Since when a host is in its state, and the state's time limit if it has one.
pub(crate) fn since(at: &str, limit_seconds: u64, exceeded: bool, now: SystemTime) -> String {
    let limit = match limit_seconds {
        _ if exceeded && limit_seconds == 0 => ", no time is allowed here".to_owned(),
        0 => String::new(),
        seconds => format!(", limit {}", span(Duration::from_secs(seconds))),
    };
    let late = if exceeded { " EXCEEDED" } else { "" };
    format!("{}  ({}{limit}{late})", clock(at), ago(at, now))
}

/// Names that count for nothing, one a line.
pub(crate) fn undeclared(names: &[String]) -> String {
    let lines: Vec<String> = names.iter().map(|name| one_line(name)).collect();
    format!("not declared by the rules\n  {}", lines.join("\n  "))
}

fn verdict(answer: &Explanation) -> String {
    match answer.outcome.as_str() {
        "go" => format!("goes to {}", answer.next_state),
        "wait" => format!("waits: {}", answer.reason),
        "error" => format!("stays with an error: {}", answer.reason),
        other => other.to_owned(),
    }
}

fn fact(fact: &FactSeen) -> String {
    let dpu = if fact.dpu.is_empty() { String::new() } else { format!("  [{}]", fact.dpu) };
    format!("{} = {}{dpu}", fact.name, fact.value)
}

fn facts(seen: &[FactSeen]) -> String {
    seen.iter().map(|seen| format!("  {}", fact(seen))).collect::<Vec<_>>().join("\n")
}

/// One alert in two lines: what and where, then what it says and does.
pub(crate) fn alerts(alerts: &[Alert], now: SystemTime) -> String {
    let line = |alert: &Alert| {
        let target = if alert.target.is_empty() { String::new() } else { format!(" {}", alert.target) };
        let place = if alert.dpu.is_empty() { "the host".to_owned() } else { format!("DPU {}", alert.dpu) };
        let since = match alert.since.as_str() {
            "" => String::new(),
            since => format!(" since {} ({})", clock(since), ago(since, now)),
        };
        let message =
            if alert.message.is_empty() { String::new() } else { format!("\n    {}", one_line(&alert.message)) };
        let does = match alert.classifications.join(", ") {
            none if none.is_empty() => String::new(),
            some => format!("\n    {some}"),
        };
        format!("  {}{target} on {place}{since}, reported by {}{message}{does}", alert.probe, alert.source)
    };
    format!("alerts\n{}", alerts.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn arms(arms: &[ArmTrace]) -> String {
    let width = arms.iter().map(|arm| arm.at.len()).max().unwrap_or_default();
    let line = |arm: &ArmTrace| {
        let read = arm.facts.iter().map(fact).collect::<Vec<_>>().join(", ");
        let read = if read.is_empty() { read } else { format!("  ({read})") };
        format!("  {:width$}  {:8}{}{read}", arm.at, arm.result, arm.arm)
    };
    format!("rules tried\n{}", arms.iter().map(line).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_whose_p0_is_down_is_explained() {
        let fact =
            |name: &str, value: &str, dpu: &str| FactSeen { name: name.into(), value: value.into(), dpu: dpu.into() };
        let answer = Explanation {
            host: "host-1".into(),
            machine_id: "fm100ht".into(),
            state: "Assigned/WaitingForNetworkConfig".into(),
            state_since: "2024-12-11T20:55:00Z".into(),
            outcome: "wait".into(),
            reason: "Waiting for the primary DPU p0 BGP session to be established".into(),
            gate: "primary_p0_ready".into(),
            arms: vec![ArmTrace {
                at: "assigned.rhai:7".into(),
                arm: "go Assigned/WaitingForRebootToReady".into(),
                result: "skipped".into(),
                facts: vec![fact("instance.deletion_requested", "false", "")],
            }],
            facts: vec![fact("pxe_report.has_alert(\"BgpPeeringTor\", \"PreventAllocations\")", "true", "host-1-dpu0")],
            alerts: vec![Alert {
                probe: "BgpPeeringTor".into(),
                target: "p0_if".into(),
                message: "session is Idle".into(),
                classifications: vec!["PreventAllocations".into()],
                since: "2024-12-11T20:56:23.707475Z".into(),
                source: "forge-dpu-agent".into(),
                dpu: "host-1-dpu0".into(),
                ..Alert::default()
            }],
            pack_hash: "0123456789abcdef".into(),
            sla_seconds: 1800,
            ..Explanation::default()
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_733_950_583 + 61);
        assert_eq!(
            text(&answer, now),
            "\
host     host-1  fm100ht
state    Assigned/WaitingForNetworkConfig
since    2024-12-11 20:55:00Z  (2 min 24 s ago, limit 30 min 0 s)
verdict  waits: Waiting for the primary DPU p0 BGP session to be established
gate     primary_p0_ready
rules    0123456789ab

because
  pxe_report.has_alert(\"BgpPeeringTor\", \"PreventAllocations\") = true  [host-1-dpu0]

alerts
  BgpPeeringTor p0_if on DPU host-1-dpu0 since 2024-12-11 20:56:23Z (1 min 0 s ago), reported by forge-dpu-agent
    session is Idle
    PreventAllocations

rules tried
  assigned.rhai:7  skipped go Assigned/WaitingForRebootToReady  (instance.deletion_requested = false)"
        );
    }
}

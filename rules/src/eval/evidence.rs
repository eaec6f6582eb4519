//! Why a guard has its value: the deciding facts, with their values and DPUs.
//!
//! If a guard over all DPUs does not hold, every DPU that fails it is named, not only the first one.

use crate::{
    eval::{
        env::Env,
        evaluate::Observer,
        health::{Content, Contribution},
    },
    ir::{
        expr::{FactRef, Owner, Query, Record, ReportRef},
        guard::Guard,
        operand::Operand,
        snapshot::{Dpu, HealthAlert},
        trace::{AlertSeen, FactSeen},
    },
};

/// The facts and alerts behind the value of a guard.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) facts: Vec<FactSeen>,
    pub(crate) alerts: Vec<AlertSeen>,
}

impl Guard {
    /// The facts behind the guard's value.
    pub(crate) fn explain(&self, env: &Env<'_>) -> Evidence {
        let mut evidence = Evidence::default();
        // The decision reports an error; the evidence for it is kept here.
        let _ = self.expr.eval(env, &mut evidence);
        evidence
    }
}

/// Name of a DPU for operators.
pub(crate) fn dpu_name(dpu: &Dpu) -> String {
    if dpu.name.is_empty() { dpu.id.clone() } else { dpu.name.clone() }
}

impl Observer for Evidence {
    const EXPLAINS: bool = true;

    fn fact(&mut self, at: &FactRef, env: &Env<'_>) {
        self.push(FactSeen {
            name: format!("{}.{}", at.fact.area, at.fact.name),
            value: (at.fact.get)(env.host, env.dpu(at.depth)).to_string(),
            dpu: at.dpu().map(|depth| dpu_name(env.dpu(depth))),
        });
    }

    fn record(&mut self, owner: Owner, record: Record, name: &str, env: &Env<'_>) {
        let what = match record {
            Record::Counter => "counter",
            Record::Note => "note",
            Record::Tries => "tries",
            Record::Age => "action_age",
            Record::Done | Record::Failed | Record::Running => "action",
        };
        let value = match env.record(owner, record, name) {
            Operand::Absent => "absent".to_owned(),
            Operand::Text(text) => format!("\"{text}\""),
            Operand::Bool(_) => env.action(owner, name).map_or("not tried", |action| action.status.as_str()).to_owned(),
            other => other.shown(),
        };
        let dpu = owner.dpu().map(|depth| dpu_name(env.dpu(depth)));
        self.push(FactSeen { name: format!("{what}({name})"), value, dpu });
    }

    fn dpus(&mut self, env: &Env<'_>) {
        self.push(FactSeen { name: "dpus.len".to_owned(), value: env.host.dpus.len().to_string(), dpu: None });
    }

    fn report(&mut self, at: ReportRef, query: &Query, env: &Env<'_>) {
        let Some(report) = env.reports.reports.get(at.report) else { return };
        let before = self.alerts.len();
        let mut parts = 0;
        let visited = env.reports.visit(at, env, &mut |part| {
            parts += 1;
            for alert in part.alerts().iter().filter(|alert| query.finds(alert, part.classified)) {
                let seen = seen(alert, &part);
                if !self.alerts.contains(&seen) {
                    self.alerts.push(seen);
                }
            }
            true
        });
        let asked = match query {
            Query::Missing | Query::Alerts => String::new(),
            Query::Has { probe, class } => {
                [probe, class].into_iter().flatten().map(|word| &**word).collect::<Vec<_>>().join("+")
            }
        };
        let value = match (&visited, query) {
            (Err(error), _) => error.to_string(),
            (Ok(()), Query::Missing) => format!("{parts} reports"),
            (Ok(()), _) if self.alerts.len() == before => "no such alert".to_owned(),
            (Ok(()), _) => self.alerts[before..]
                .iter()
                .map(|alert| match &alert.dpu {
                    Some(dpu) => format!("{} of {dpu}", alert.probe),
                    None => alert.probe.clone(),
                })
                .collect::<Vec<_>>()
                .join(", "),
        };
        let name = if asked.is_empty() { report.name.clone() } else { format!("{}({asked})", report.name) };
        let dpu = at.dpu.map(|depth| dpu_name(env.dpu(depth)));
        self.push(FactSeen { name, value, dpu });
    }
}

impl Evidence {
    fn push(&mut self, seen: FactSeen) {
        if !self.facts.contains(&seen) {
            self.facts.push(seen);
        }
    }
}

fn seen(alert: &HealthAlert, part: &Contribution<'_>) -> AlertSeen {
    AlertSeen {
        probe: alert.id.clone(),
        target: alert.target.clone(),
        message: alert.message.clone(),
        classifications: if part.classified { alert.classifications.clone() } else { Vec::new() },
        since: alert.in_alert_since.map(|since| since.micros()),
        source: match part.content {
            Content::Stored(report) => report.source.clone(),
            Content::Made(_) => "rules".to_owned(),
        },
        dpu: part.dpu.map(dpu_name),
    }
}

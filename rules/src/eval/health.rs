//! Combines stored health reports as the pack declares.
//!
//! The engine knows how to combine and merge. The pack declares which reports exist, what replaces what, and which probes
//! and classifications matter.

use std::collections::BTreeMap;

use types::Timestamp;

use crate::{
    eval::env::Env,
    ir::{
        expr::{Evaluated, Query, ReportRef},
        guard::Guard,
        health::{Part, Report, Reports, Source, StoredReports},
        operand::Operand,
        snapshot::{Dpu, HealthAlert, HealthReport, HealthSuccess},
    },
};

/// One contribution to a report of a given host.
pub(crate) struct Contribution<'a> {
    pub(crate) content: Content<'a>,
    pub(crate) classified: bool,
    pub(crate) dpu: Option<&'a Dpu>,
}

pub(crate) enum Content<'a> {
    Stored(&'a HealthReport),
    Made(&'a HealthAlert),
}

impl<'a> Contribution<'a> {
    pub(crate) fn alerts(&self) -> &'a [HealthAlert] {
        match self.content {
            Content::Stored(report) => &report.alerts,
            Content::Made(alert) => std::slice::from_ref(alert),
        }
    }
}

/// Returns whether to continue with the next contribution.
type Visit<'v, 'a> = &'v mut dyn FnMut(Contribution<'a>) -> bool;

impl Reports {
    pub(crate) fn ask(&self, report: ReportRef, query: &Query, env: &Env<'_>) -> Evaluated<Operand<'static>> {
        let (mut found, mut alerts) = (false, 0);
        self.visit(report, env, &mut |part| {
            match query {
                Query::Missing => found |= matches!(part.content, Content::Stored(_)),
                Query::Has { .. } => found |= part.alerts().iter().any(|alert| query.finds(alert, part.classified)),
                Query::Alerts => alerts += part.alerts().len(),
            }
            !found
        })?;
        Ok(match query {
            Query::Missing => (!found).into(),
            Query::Has { .. } => found.into(),
            Query::Alerts => Operand::Int(i64::try_from(alerts).unwrap_or(i64::MAX)),
        })
    }

    /// Visits the contributions to a report, in order.
    pub(crate) fn visit<'a>(&'a self, at: ReportRef, env: &Env<'a>, visit: Visit<'_, 'a>) -> Evaluated<()> {
        let Some(report) = self.reports.get(at.report) else { return Ok(()) };
        // Guards of a DPU's report read that DPU.
        let bound = if report.of_dpu { env.with(0, env.dpu(at.dpu.unwrap_or(0))) } else { *env };
        for part in &report.parts {
            let own_guard = !matches!(part.source, Source::Dpus(_));
            if own_guard && !holds(part.when.as_ref(), &bound, true)? {
                continue;
            }
            let classified = !holds(part.unclassified.as_ref(), &bound, false)?;
            let (present, more) = self.visit_part(report, part, &bound, classified, visit)?;
            if !more || (present && part.instead) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns whether the part is present, and whether to continue.
    fn visit_part<'a>(
        &'a self,
        report: &Report,
        part: &'a Part,
        env: &Env<'a>,
        classified: bool,
        visit: Visit<'_, 'a>,
    ) -> Evaluated<(bool, bool)> {
        let (host, dpu) = (&env.host.health, env.dpu(0));
        let of = report.of_dpu.then_some(dpu);
        let (present, more) = match &part.source {
            Source::Stored(stored) => match stored.reports(host, &dpu.health) {
                StoredReports::One(stored) => {
                    let report = |stored| visit(Contribution { content: Content::Stored(stored), classified, dpu: of });
                    (stored.is_some(), stored.is_none_or(report))
                }
                StoredReports::Many(stored) => many(part, stored, classified, of, visit),
            },
            Source::Alert(alert) => (true, visit(Contribution { content: Content::Made(alert), classified, dpu: of })),
            Source::Dpus(of_each) => {
                let mut more = true;
                for dpu in &env.host.dpus {
                    let bound = env.with(0, dpu);
                    if more && holds(part.when.as_ref(), &bound, true)? {
                        let at = ReportRef { report: *of_each, dpu: Some(0) };
                        self.visit(at, &bound, &mut |contribution| {
                            more = visit(contribution);
                            more
                        })?;
                    }
                }
                (!env.host.dpus.is_empty(), more)
            }
        };
        match &part.or_alert {
            Some(alert) if !present && more => {
                let more = visit(Contribution { content: Content::Made(alert), classified, dpu: of });
                Ok((false, more))
            }
            _ => Ok((present, more)),
        }
    }

    /// The whole report, merged.
    pub(crate) fn merged(&self, at: ReportRef, env: &Env<'_>) -> Evaluated<HealthReport> {
        let mut merge = Merge::default();
        self.visit(at, env, &mut |part| {
            merge.add(&part);
            true
        })?;
        let source = self.reports.get(at.report).map_or_else(String::new, |report| report.name.clone());
        Ok(merge.into_report(source))
    }
}

impl Query {
    /// Whether an alert matches; unclassified ones match no classification.
    pub(crate) fn finds(&self, alert: &HealthAlert, classified: bool) -> bool {
        match self {
            Self::Missing => false,
            Self::Alerts => true,
            Self::Has { probe, class } => {
                probe.as_ref().is_none_or(|probe| **probe == *alert.id)
                    && class
                        .as_ref()
                        .is_none_or(|class| classified && alert.classifications.iter().any(|known| **class == **known))
            }
        }
    }
}

fn holds(guard: Option<&Guard>, env: &Env<'_>, without: bool) -> Evaluated<bool> {
    guard.map_or(Ok(without), |guard| guard.holds(env))
}

fn many<'a>(
    part: &Part,
    stored: &'a BTreeMap<String, HealthReport>,
    classified: bool,
    dpu: Option<&'a Dpu>,
    visit: Visit<'_, 'a>,
) -> (bool, bool) {
    let mut present = false;
    for (source, report) in stored {
        if part.takes(source) {
            present = true;
            if !visit(Contribution { content: Content::Stored(report), classified, dpu }) {
                return (true, false);
            }
        }
    }
    (present, true)
}

/// The state of a merge. An alert wins over a success of the same probe and target; two alerts become one.
#[derive(Default)]
struct Merge {
    observed_at: Option<Timestamp>,
    alerts: BTreeMap<(String, Option<String>), HealthAlert>,
    successes: BTreeMap<(String, Option<String>), HealthSuccess>,
}

impl Merge {
    fn add(&mut self, part: &Contribution<'_>) {
        if let Content::Stored(report) = part.content {
            self.observed_at = earlier(self.observed_at, report.observed_at);
            for success in &report.successes {
                self.successes.insert((success.id.clone(), success.target.clone()), success.clone());
            }
        }
        for alert in part.alerts() {
            let classifications = if part.classified { alert.classifications.as_slice() } else { &[] };
            let merged = self.alerts.entry((alert.id.clone(), alert.target.clone())).or_insert_with(|| HealthAlert {
                id: alert.id.clone(),
                target: alert.target.clone(),
                ..HealthAlert::default()
            });
            merged.in_alert_since = earlier(merged.in_alert_since, alert.in_alert_since);
            append(&mut merged.message, &alert.message);
            if let Some(message) = &alert.tenant_message {
                append(merged.tenant_message.get_or_insert_default(), message);
            }
            merged.classifications.extend(classifications.iter().cloned());
            merged.classifications.sort();
            merged.classifications.dedup();
        }
    }

    fn into_report(mut self, source: String) -> HealthReport {
        self.successes.retain(|key, _| !self.alerts.contains_key(key));
        HealthReport {
            source,
            observed_at: self.observed_at,
            successes: self.successes.into_values().collect(),
            alerts: self.alerts.into_values().collect(),
            triggered_by: None,
        }
    }
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

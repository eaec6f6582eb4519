//! The health reports that a pack declares, and the parts of each. Built by `lang`, evaluated by `eval`.

use crate::ir::{guard::Guard, snapshot::HealthAlert};

/// The reports that a pack declares.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub(crate) reports: Vec<Report>,
}

/// A report that rules can read, composed of stored reports.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) name: String,
    pub(crate) of_dpu: bool,
    pub(crate) parts: Vec<Part>,
}

/// One part of a report.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) source: Source,
    /// If it is present it replaces all other parts.
    pub(crate) instead: bool,
    /// Source names it is limited to; a trailing `*` stands for any ending.
    pub(crate) only: Option<String>,
    pub(crate) except: Vec<String>,
    pub(crate) when: Option<Guard>,
    /// While this holds, alerts count without their classifications.
    pub(crate) unclassified: Option<Guard>,
    /// Used if the source has no report.
    pub(crate) or_alert: Option<HealthAlert>,
}

/// Where a part comes from.
#[derive(Debug)]
pub(crate) enum Source {
    HostReplace,
    HostMerge,
    RackReplace,
    RackMerge,
    DpuReplace,
    DpuAgent,
    DpuMerge,
    /// A report of DPUs, once for each DPU.
    Dpus(usize),
    Alert(HealthAlert),
}

impl Reports {
    /// Whether evaluating a guard of the report's parts can fail.
    pub(crate) fn can_fail(&self, report: usize) -> bool {
        self.reports.get(report).is_some_and(|report| {
            report.parts.iter().any(|part| {
                let inner = matches!(part.source, Source::Dpus(inner) if self.can_fail(inner));
                let fails = |guard: &Guard| guard.expr.can_fail(&|report| self.can_fail(report));
                inner || part.when.iter().chain(&part.unclassified).any(fails)
            })
        })
    }
}

impl Part {
    /// The part as a rule writes it.
    pub(crate) fn describe(&self, reports: &Reports) -> String {
        let alert = |alert: &HealthAlert| format!("{} [{}]", alert.id, alert.classifications.join(", "));
        let mut words = if self.instead { "replaced by ".to_owned() } else { "with ".to_owned() };
        words += &match &self.source {
            Source::HostReplace => "host_replace".to_owned(),
            Source::HostMerge => "host_merge".to_owned(),
            Source::RackReplace => "rack_replace".to_owned(),
            Source::RackMerge => "rack_merge".to_owned(),
            Source::DpuReplace => "dpu_replace".to_owned(),
            Source::DpuAgent => "dpu_agent".to_owned(),
            Source::DpuMerge => "dpu_merge".to_owned(),
            Source::Dpus(report) => {
                reports.reports.get(*report).map_or_else(String::new, |report| format!("{} of DPUs", report.name))
            }
            Source::Alert(made) => format!("alert {}", alert(made)),
        };
        words.extend(self.only.iter().map(|only| format!(" only {only}")));
        words.extend(self.except.iter().map(|except| format!(" except {except}")));
        words.extend(self.when.iter().map(|guard| format!(" when {}", guard.text)));
        words.extend(self.unclassified.iter().map(|guard| format!(" unclassified when {}", guard.text)));
        words.extend(self.or_alert.iter().map(|made| format!(" or alert {}", alert(made))));
        words
    }

    pub(crate) fn takes(&self, source: &str) -> bool {
        self.only.as_ref().is_none_or(|only| names_match(only, source))
            && !self.except.iter().any(|except| names_match(except, source))
    }
}

pub(crate) fn names_match(pattern: &str, source: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => source.starts_with(start),
        None => pattern == source,
    }
}

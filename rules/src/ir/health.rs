//! The health reports that a pack declares, and the parts of each. Built by `lang`, evaluated by `eval`.

use std::collections::BTreeMap;

use crate::ir::{
    guard::Guard,
    snapshot::{DpuHealth, HealthAlert, HealthReport, HostHealth},
};

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
    Stored(StoredSource),
    /// A report of DPUs, once for each DPU.
    Dpus(usize),
    Alert(HealthAlert),
}

/// Where the controller stores reports, of a host and its rack or of a DPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoredSource {
    HostReplace,
    HostMerge,
    RackReplace,
    RackMerge,
    DpuReplace,
    DpuAgent,
    DpuMerge,
}

/// The reports stored at one place.
pub(crate) enum StoredReports<'a> {
    One(Option<&'a HealthReport>),
    /// To be merged, by source.
    Many(&'a BTreeMap<String, HealthReport>),
}

impl StoredSource {
    const ALL: [Self; 7] = [
        Self::HostReplace,
        Self::HostMerge,
        Self::RackReplace,
        Self::RackMerge,
        Self::DpuReplace,
        Self::DpuAgent,
        Self::DpuMerge,
    ];

    /// Those of DPUs, or of the host.
    pub(crate) fn all(of_dpu: bool) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |source| source.is_of_dpu() == of_dpu)
    }

    /// As rules write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HostReplace => "host_replace",
            Self::HostMerge => "host_merge",
            Self::RackReplace => "rack_replace",
            Self::RackMerge => "rack_merge",
            Self::DpuReplace => "dpu_replace",
            Self::DpuAgent => "dpu_agent",
            Self::DpuMerge => "dpu_merge",
        }
    }

    pub(crate) fn is_of_dpu(self) -> bool {
        matches!(self, Self::DpuReplace | Self::DpuAgent | Self::DpuMerge)
    }

    #[inline(always)]
    pub(crate) fn reports<'a>(self, host: &'a HostHealth, dpu: &'a DpuHealth) -> StoredReports<'a> {
        match self {
            Self::HostReplace => StoredReports::One(host.replace.as_ref()),
            Self::HostMerge => StoredReports::Many(&host.merges),
            Self::RackReplace => StoredReports::One(host.rack_replace.as_ref()),
            Self::RackMerge => StoredReports::Many(&host.rack_merges),
            Self::DpuReplace => StoredReports::One(dpu.replace.as_ref()),
            Self::DpuAgent => StoredReports::One(dpu.agent.as_ref()),
            Self::DpuMerge => StoredReports::Many(&dpu.merges),
        }
    }
}

impl Reports {
    /// Whether evaluating a guard of the report's parts can fail.
    pub(crate) fn can_be_unknown(&self, report: usize) -> bool {
        self.reports.get(report).is_some_and(|report| {
            report.parts.iter().any(|part| {
                let inner = matches!(part.source, Source::Dpus(inner) if self.can_be_unknown(inner));
                let unknown = |guard: &Guard| guard.expr.can_be_unknown(&|report| self.can_be_unknown(report));
                inner || part.when.iter().chain(&part.unclassified).any(unknown)
            })
        })
    }

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
            Source::Stored(stored) => stored.name().to_owned(),
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

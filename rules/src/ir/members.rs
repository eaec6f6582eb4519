//! Members of hosts, DPUs and health reports beside facts: tables that lowering and name checks read.

use std::sync::Arc;

use crate::ir::{
    expr::{Query, Record},
    operators::Kind,
};

/// Methods of hosts and DPUs for counters, notes and actions, with the kinds of their results.
pub(crate) const RECORDS: [(&str, Record, Kind); 7] = [
    ("counter", Record::Counter, Kind::Int),
    ("note", Record::Note, Kind::Text),
    ("done", Record::Done, Kind::Bool),
    ("failed", Record::Failed, Kind::Bool),
    ("running", Record::Running, Kind::Bool),
    ("tries", Record::Tries, Kind::Int),
    ("action_age", Record::Age, Kind::MaybeInt),
];

/// Functions for durations, in seconds.
pub(crate) const UNITS: [(&str, i64); 4] = [("seconds", 1), ("minutes", 60), ("hours", 3600), ("days", 86_400)];

/// Methods of lists that take a closure.
pub(crate) const QUANTIFIERS: [&str; 3] = ["any", "all", "count"];

/// An argument of a report's method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    Probe,
    Classification,
}

/// A method or property of a health report.
pub(crate) struct ReportMember {
    pub(crate) name: &'static str,
    pub(crate) takes: &'static [NameKind],
    pub(crate) gives: Kind,
    /// Builds the query from a probe and a classification.
    pub(crate) query: fn(Option<Arc<str>>, Option<Arc<str>>) -> Query,
}

pub(crate) const OF_REPORTS: [ReportMember; 5] = [
    ReportMember {
        name: "has_alert",
        takes: &[NameKind::Probe, NameKind::Classification],
        gives: Kind::Bool,
        query: has,
    },
    ReportMember { name: "has_class", takes: &[NameKind::Classification], gives: Kind::Bool, query: has },
    ReportMember { name: "has_probe", takes: &[NameKind::Probe], gives: Kind::Bool, query: has },
    ReportMember { name: "missing", takes: &[], gives: Kind::Bool, query: |_, _| Query::Missing },
    ReportMember { name: "alerts", takes: &[], gives: Kind::Int, query: |_, _| Query::Alerts },
];

fn has(probe: Option<Arc<str>>, class: Option<Arc<str>>) -> Query {
    Query::Has { probe, class }
}

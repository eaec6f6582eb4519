//! What hosts, DPUs and health reports answer beside facts: the table that lowering reads.

use std::sync::Arc;

use crate::ir::{
    expr::{Query, Record},
    operators::Kind,
};

/// What hosts and DPUs have on record: how rules ask for it, and the kind of the answer.
pub(crate) const RECORDS: [(&str, Record, Kind); 7] = [
    ("counter", Record::Counter, Kind::Int),
    ("note", Record::Note, Kind::Text),
    ("done", Record::Done, Kind::Bool),
    ("failed", Record::Failed, Kind::Bool),
    ("running", Record::Running, Kind::Bool),
    ("tries", Record::Tries, Kind::Int),
    ("action_age", Record::Age, Kind::MaybeInt),
];

/// Words for times, in seconds.
pub(crate) const UNITS: [(&str, i64); 4] = [("seconds", 1), ("minutes", 60), ("hours", 3600), ("days", 86_400)];

/// Lists are asked by these, with a closure.
pub(crate) const QUANTIFIERS: [&str; 3] = ["any", "all", "count"];

/// An argument of a question to a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    Probe,
    Classification,
}

/// A question to a health report.
pub(crate) struct ReportMember {
    pub(crate) name: &'static str,
    pub(crate) takes: &'static [NameKind],
    pub(crate) gives: Kind,
    /// Of a probe and a classification.
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

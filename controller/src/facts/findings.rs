//! Reported facts of one machine as areas of the snapshot, and the check of one that an observer reports.

use std::collections::BTreeMap;

use proto::MachineId;
use rules::{Area, FactType, Supplier, fact_dictionary};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Timestamp, act,
    store::{Finding, FindingId, HostRecord},
};

/// Findings about one machine, by area and fact.
pub(super) struct Findings<'a> {
    by_area: BTreeMap<&'a str, Vec<(&'a str, &'a Finding)>>,
}

impl<'a> Findings<'a> {
    /// Those of a machine that still count: what an action has made stale since is unknown.
    pub(super) fn of(record: &'a HostRecord, machine: &MachineId) -> Self {
        Self::since(record.findings.get(machine), &act::stale_before(record, machine))
    }

    fn since(findings: Option<&'a Vec<Finding>>, stale_before: &BTreeMap<&str, Timestamp>) -> Self {
        let mut by_area: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        let counts = |finding: &&Finding| stale_before.get(&*finding.name).is_none_or(|since| finding.at >= *since);
        for finding in findings.into_iter().flatten().filter(counts) {
            if let Some((area, fact)) = finding.name.split_once('.') {
                by_area.entry(area).or_default().push((fact, finding));
            }
        }
        Self { by_area }
    }

    /// An area's facts as found; all others are unknown. A finding that no longer fits the area is left out: it may be from
    /// another release.
    pub(super) fn area<A: Area + Default>(&self) -> A {
        let mut area = A::default();
        for (fact, finding) in self.by_area.get(A::NAME).into_iter().flatten() {
            area.set(fact, &finding.value);
        }
        area
    }

    /// When something was found.
    pub(super) fn at(&self, id: impl Into<FindingId>) -> Option<Timestamp> {
        self.one(id.into()).map(|finding| finding.at)
    }

    /// A yes that was found.
    pub(super) fn is_true(&self, id: impl Into<FindingId>) -> bool {
        self.one(id.into()).is_some_and(|finding| finding.value == Value::Bool(true))
    }

    /// What was found, if it is of this shape.
    pub(super) fn value<T: DeserializeOwned + Default>(&self, id: impl Into<FindingId>) -> T {
        self.one(id.into()).and_then(|finding| serde_json::from_value(finding.value.clone()).ok()).unwrap_or_default()
    }

    fn one(&self, id: FindingId) -> Option<&'a Finding> {
        let (area, fact) = id.name().split_once('.')?;
        self.by_area.get(area)?.iter().find(|(name, _)| *name == fact).map(|(_, finding)| *finding)
    }
}

/// Why a reported fact is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FindingFault {
    /// The dictionary has no such fact.
    #[error("there is no fact `{name}`; `sitectl rules facts` lists them")]
    Unknown {
        /// As reported.
        name: String,
    },
    /// The controller supplies it from its own rows.
    #[error("fact `{name}` is supplied by {supplier} and cannot be reported")]
    Own {
        /// As reported.
        name: String,
        /// Who supplies it.
        supplier: Supplier,
    },
    /// The value is of another type.
    #[error("fact `{name}` is {expected}, not `{value}`")]
    Type {
        /// As reported.
        name: String,
        /// What it has to be.
        expected: String,
        /// What was reported.
        value: String,
    },
}

/// A fact as an observer reports it in text, e.g. `bmc.lockdown` `enabled`, as a finding made at `at`.
///
/// # Errors
/// If there is no such fact, it is not for observers to report, or the text is no value of its type.
pub(crate) fn finding_of(name: &str, text: &str, at: Timestamp) -> Result<Finding, FindingFault> {
    let short = |text: &str| text.chars().take(80).collect::<String>();
    let fact = fact_dictionary()
        .into_iter()
        .find(|fact| name.split_once('.').is_some_and(|(area, rest)| fact.area == area && fact.name == rest));
    let fact = fact.ok_or_else(|| FindingFault::Unknown { name: short(name) })?;
    if fact.derived || fact.supplier.is_own() {
        return Err(FindingFault::Own { name: name.to_owned(), supplier: fact.supplier });
    }
    let value = match fact.kind {
        FactType::Bool => text.parse().ok().map(Value::Bool),
        FactType::Int | FactType::Seconds | FactType::Age => text.parse::<i64>().ok().map(Value::from),
        FactType::Text | FactType::Version => Some(Value::from(text)),
        FactType::Word(words) => words.contains(&text).then(|| Value::from(text)),
        FactType::Texts => Some(text.split(',').filter(|part| !part.is_empty()).collect::<Vec<_>>().into()),
    };
    let wrong = || FindingFault::Type { name: name.to_owned(), expected: fact.kind.to_string(), value: short(text) };
    Ok(Finding { name: name.to_owned(), value: value.ok_or_else(wrong)?, at })
}

#[cfg(test)]
mod tests {
    use rules::Reported;
    use serde_json::json;

    use super::*;

    fn finding(name: &str, value: Value) -> Finding {
        Finding { name: name.into(), value, at: Timestamp::from_micros(7) }
    }

    #[test]
    fn what_was_not_found_is_unknown_and_misfits_are_left_out() {
        let rows = vec![
            finding("bmc.power", json!("off")),
            finding("bmc.gone_in_this_release", json!(1)),
            finding("bmc.reachable", json!("maybe")),
            finding("instance.nvlink_synced", json!(false)),
        ];
        let found = Findings::since(Some(&rows), &BTreeMap::new());
        let bmc: rules::Bmc = found.area();
        assert_eq!(
            (bmc.power, bmc.lockdown, bmc.reachable.known()),
            (rules::PowerState::Off.into(), None.into(), None)
        );
        assert_eq!(found.area::<rules::Instance>().nvlink_synced, false.into());
        let stale = Findings::since(Some(&rows), &BTreeMap::from([("bmc.power", Timestamp::from_micros(8))]));
        assert_eq!(stale.area::<rules::Bmc>().power, Reported::Unknown, "it was told before it was changed");
        let counts = Findings::since(Some(&rows), &BTreeMap::from([("bmc.power", Timestamp::from_micros(7))]));
        assert_eq!(counts.area::<rules::Bmc>().power, rules::PowerState::Off.into());
        assert_eq!(found.at(rules::Bmc::power), Some(Timestamp::from_micros(7)));
        assert_eq!(found.at(rules::Bmc::vendor), None);
    }

    #[test]
    fn a_reported_fact_is_typed_by_the_dictionary() {
        let at = Timestamp::from_micros(1);
        for (name, text, value) in [
            ("bmc.lockdown", "enabled", json!("enabled")),
            ("bmc.reachable", "true", json!(true)),
            ("validation.sku_differences", "3", json!(3)),
            ("dpu.secure_boot", "disabled", json!("disabled")),
        ] {
            assert_eq!(finding_of(name, text, at).unwrap(), Finding { name: name.into(), value, at }, "{name}");
        }
        for (name, text, words) in [
            ("bmc.lockdwn", "enabled", "no fact `bmc.lockdwn`"),
            ("lockdown", "enabled", "no fact"),
            ("bmc.lockdown", "ajar", "not `ajar`"),
            ("bmc.reachable", "yes", "is bool"),
            ("instance.present", "true", "supplied by the controller's records"),
            ("state.elapsed", "5", "cannot be reported"),
            ("decommission.bmc_macs_pending", "a,b", "supplied by the controller's records"),
            ("dpu.observed_network_version", "V1-T1", "supplied by the DPU's agent"),
        ] {
            let error = finding_of(name, text, at).unwrap_err().to_string();
            assert!(error.contains(words), "{name}: {error}");
        }
    }
}

//! Reported facts of one machine laid over the defaults, and the check of one that an observer reports.

use std::collections::BTreeMap;

use rules::{Area, FactType, fact_dictionary};
use serde_json::Value;

use crate::{
    Timestamp,
    store::{Finding, FindingId},
};

/// Findings about one machine, by area and fact.
pub(super) struct Findings<'a> {
    by_area: BTreeMap<&'a str, Vec<(&'a str, &'a Finding)>>,
}

impl<'a> Findings<'a> {
    pub(super) fn of(findings: Option<&'a Vec<Finding>>) -> Self {
        let mut by_area: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for finding in findings.into_iter().flatten() {
            if let Some((area, fact)) = finding.name.split_once('.') {
                by_area.entry(area).or_default().push((fact, finding));
            }
        }
        Self { by_area }
    }

    /// An area's facts as found, over what is taken for granted. A finding that no longer fits the area is left out:
    /// it may be from another release.
    pub(super) fn over<A: Area>(&self, mut granted: A) -> A {
        for (fact, finding) in self.by_area.get(A::NAME).into_iter().flatten() {
            granted.set(fact, &finding.value);
        }
        granted
    }

    /// When something was found.
    pub(super) fn at(&self, id: impl Into<FindingId>) -> Option<Timestamp> {
        self.one(id.into()).map(|finding| finding.at)
    }

    /// A yes that was found.
    pub(super) fn is_true(&self, id: impl Into<FindingId>) -> bool {
        self.one(id.into()).is_some_and(|finding| finding.value == Value::Bool(true))
    }

    /// Texts that were found.
    pub(super) fn texts(&self, id: impl Into<FindingId>) -> Vec<String> {
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
        supplier: String,
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

/// Rows of the controller are the only source of these.
const OWN: [&str; 7] = [
    "host record",
    "DPU record",
    "desired configuration",
    "agent report",
    "allocation",
    "operator",
    "site configuration",
];

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
    if fact.derived || OWN.contains(&fact.supplier) {
        return Err(FindingFault::Own { name: name.to_owned(), supplier: fact.supplier.to_owned() });
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
    use serde_json::json;

    use super::*;

    fn finding(name: &str, value: Value) -> Finding {
        Finding { name: name.into(), value, at: Timestamp::from_micros(7) }
    }

    #[test]
    fn findings_lie_over_what_is_granted_and_misfits_are_left_out() {
        let rows = vec![
            finding("bmc.power", json!("off")),
            finding("bmc.gone_in_this_release", json!(1)),
            finding("bmc.reachable", json!("maybe")),
            finding("instance.nvlink_synced", json!(false)),
        ];
        let found = Findings::of(Some(&rows));
        let bmc = found.over(rules::Bmc { bios_job: "job-1".into(), ..Default::default() });
        assert_eq!((bmc.power, bmc.bios_job.as_str(), bmc.reachable), (rules::PowerState::Off, "job-1", false));
        let instance = found.over(rules::Instance { nvlink_synced: true, ..Default::default() });
        assert!(!instance.nvlink_synced);
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
            ("decommission.bmc_macs_pending", "a,b", json!(["a", "b"])),
            ("dpu.secure_boot", "disabled", json!("disabled")),
        ] {
            assert_eq!(finding_of(name, text, at).unwrap(), Finding { name: name.into(), value, at }, "{name}");
        }
        for (name, text, words) in [
            ("bmc.lockdwn", "enabled", "no fact `bmc.lockdwn`"),
            ("lockdown", "enabled", "no fact"),
            ("bmc.lockdown", "ajar", "not `ajar`"),
            ("bmc.reachable", "yes", "is bool"),
            ("instance.present", "true", "supplied by allocation"),
            ("state.elapsed", "5", "cannot be reported"),
            ("dpu.observed_network_version", "V1-T1", "supplied by agent report"),
        ] {
            let error = finding_of(name, text, at).unwrap_err().to_string();
            assert!(error.contains(words), "{name}: {error}");
        }
    }
}

//! Health reports as they are stored. The pack says how they combine, the snapshot does not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use types::HealthReport;

/// Reports stored for the host, and for its rack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostHealth {
    /// The report that replaces all others.
    pub replace: Option<HealthReport>,
    /// Reports to be merged, by source.
    pub merges: BTreeMap<String, HealthReport>,
    /// The rack's report that replaces its others.
    pub rack_replace: Option<HealthReport>,
    /// The rack's reports to be merged, by source.
    pub rack_merges: BTreeMap<String, HealthReport>,
}

impl HostHealth {
    /// Nothing is stored for the host or its rack.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.replace.is_none() && self.merges.is_empty() && self.rack_replace.is_none() && self.rack_merges.is_empty()
    }
}

/// Reports stored for one DPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DpuHealth {
    /// The agent's report, which is stored as one of the reports to be merged.
    pub agent: Option<HealthReport>,
    /// The report that replaces all others.
    pub replace: Option<HealthReport>,
    /// Reports to be merged, by source, without the agent's.
    pub merges: BTreeMap<String, HealthReport>,
}

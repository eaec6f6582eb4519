//! What rules can see of one host at one time: plain data, one file for each area.
//!
//! The controller fills it from its rows, tests from YAML. It stores timestamps, and rules see them as ages and
//! orders, so two snapshots of an unchanged host differ in `now` alone.

mod bmc;
mod checks;
mod credentials;
pub(crate) mod dictionary;
mod dpu;
mod health;
mod host;
mod instance;
pub(crate) mod predicate;
mod reported;
mod requests;
mod state;
mod values;

use serde::{Deserialize, Serialize};

pub use bmc::{Bmc, JobState, Lockdown, PowerRequest, PowerState, Vendor};
pub use checks::{
    Attestation, CauseNow, Decommission, Firmware, InstallMethod, Measurement, ScriptStatus, TaskState, UploadStatus,
    Validation,
};
pub use credentials::{Credentials, Rotation};
pub use dictionary::{Area, Fact, FactId, FactType, Supplier, Value};
pub(crate) use dictionary::{FieldGetter, NO_DPU};
pub use dpu::{DpfPhase, Dpu, InstallTask, SecureBoot};
pub use health::{DpuHealth, HostHealth};
pub use host::{Answer, Host};
pub use instance::Instance;
pub use reported::Reported;
pub use requests::{Failure, HardwareHealth, MaintenanceOperation, Requests, Site};
pub use state::{ActionRecord, ActionStatus, State};
pub use types::{HealthAlert, HealthReport, HealthSuccess};
pub use values::Micros;

/// Everything that rules can see of one host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Snapshot {
    /// Machine id of the host, for messages. Rules do not see it.
    pub id: String,
    /// When the snapshot was taken.
    pub now: Micros,
    /// Present state.
    pub state: State,
    /// The host as a machine.
    pub host: Host,
    /// Its BMC.
    pub bmc: Bmc,
    /// DPUs whose rows loaded, primary first.
    pub dpus: Vec<Dpu>,
    /// The tenant's instance.
    pub instance: Instance,
    /// Requests of operators.
    pub requests: Requests,
    /// The failure on record.
    pub failure: Failure,
    /// Bill of materials and machine validation.
    pub validation: Validation,
    /// Measured boot and device attestation.
    pub attestation: Attestation,
    /// Host firmware updates.
    pub firmware: Firmware,
    /// Taking the host out of management.
    pub decommission: Decommission,
    /// Credentials of the host's devices.
    pub credentials: Credentials,
    /// Stored health reports.
    pub health: HostHealth,
    /// Switches of the site.
    pub site: Site,
}

/// All facts that rules can read, area by area. Facts of area `dpu` exist once a DPU.
#[must_use]
pub fn fact_dictionary() -> Vec<&'static Fact> {
    AREAS.iter().flat_map(|facts| facts.iter()).collect()
}

pub(crate) const AREAS: [&[Fact]; 13] = [
    State::FACTS,
    Host::FACTS,
    Bmc::FACTS,
    Dpu::FACTS,
    Instance::FACTS,
    Requests::FACTS,
    Failure::FACTS,
    Validation::FACTS,
    Attestation::FACTS,
    Firmware::FACTS,
    Decommission::FACTS,
    Credentials::FACTS,
    Site::FACTS,
];

/// Areas of the host, in the order of the dictionary.
pub(crate) fn areas() -> impl Iterator<Item = &'static str> {
    AREAS.iter().filter_map(|facts| facts.first()).map(|fact| fact.area).filter(|area| *area != "dpu")
}

/// Facts of one area.
pub(crate) fn facts(area: &str) -> impl Iterator<Item = &'static Fact> {
    AREAS.iter().flat_map(|facts| facts.iter()).filter(move |fact| fact.area == area)
}

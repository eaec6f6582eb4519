//! The site controller: what hosts, DPUs, VPCs and instances there are and are meant to be, and who may change them.
//!
//! Requests and reports enter through the gRPC handlers, are kept by the store, and mark their host dirty. The
//! reconciler alone moves hosts from state to state, as the rules decide.

mod access;
mod act;
mod api;
mod ask;
mod config;
mod database_health;
mod dirty;
mod facts;
mod host_spec;
mod ids;
mod inventory;
mod judge;
mod listen;
mod machine_addresses;
mod metrics;
pub mod network;
mod new_site;
mod reconcile;
mod rule_packs;
mod serve;
mod site_file;
pub mod store;

pub use access::{Access, AccessFault, IssuerFault, IssuerFiles};
pub use act::{
    ActionError, Bmc, BmcError, JournalEntry, PowerState, Redfish, RedfishSettings, RedfishSetupError, ResetType,
    SecureBoot, System, Task, TaskState, action_names,
};
pub use api::{
    forge::ForgeService,
    site::{SiteService, told},
};
pub use config::{BmcAccess, Config, ConfigError, Log, LogFormat, Timing, Tls, has_password};
pub use dirty::DirtyHosts;
pub use host_spec::{SpecFault, check_hosts};
pub use ids::{InstanceId, VpcId, VpcPrefixId};
pub use inventory::{AddedHosts, add_hosts};
pub use judge::Judge;
pub use listen::TlsFault;
pub use new_site::NewSiteError;
pub use reconcile::{Offers, ReconcileCounters, ReconcileFigures, ReconcileSettings, Reconciler, RulesInForce};
pub use rule_packs::{
    Changed, PackReadError, Proposal, RulePackError, RulePacks, RuleSettings, Verdict, draw_faults, load_pack_dir,
    read_pack_dir,
};
pub use serve::{ServeError, serve};
pub use site_file::{SiteFile, SiteFileError};
pub use types::Timestamp;

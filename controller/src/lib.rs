//! The site controller: what hosts, DPUs, VPCs and instances there are and are meant to be, and who may change them.
//!
//! Requests and reports enter through the gRPC handlers, are kept by the store, and mark their host dirty. The
//! reconciler alone moves hosts from state to state, as the rules decide.

mod access;
mod act;
mod api;
mod config;
mod facts;
mod ids;
mod inventory;
mod listen;
mod metrics;
pub mod network;
mod reconcile;
mod rule_packs;
mod serve;
mod site_file;
pub mod store;

pub use access::{Access, AccessFault, IssuerFault, IssuerFiles};
pub use act::{
    ActionError, BmcClient, BmcError, JournalEntry, PowerState, Redfish, RedfishSettings, RedfishSetupError, ResetType,
    SecureBoot, System, Task, TaskState, action_names,
};
pub use api::{
    forge::ForgeService,
    site::{SiteService, told},
};
pub use config::{BmcAccess, Config, ConfigError, Log, LogFormat, Timing, Tls, has_password};
pub use ids::{InstanceId, VpcId, VpcPrefixId};
pub use inventory::{AddedHosts, add_hosts};
pub use listen::TlsFault;
pub use reconcile::{DirtyHosts, ReconcileCounters, ReconcileFigures, ReconcileSettings, Reconciler};
pub use rule_packs::{
    ActiveRules, Changed, Judge, Offers, PackReadError, Proposal, RulePackError, RulePacks, RuleSettings, Verdict,
    draw_faults, load_pack_dir, read_pack_dir,
};
pub use serve::{NewSiteError, ServeError, serve};
pub use site_file::{SiteFile, SiteFileError, SpecFault, check_hosts};
pub use types::Timestamp;

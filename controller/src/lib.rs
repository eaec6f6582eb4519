//! The site controller: what hosts, DPUs, VPCs and instances there are and are meant to be, and who may change them.
//!
//! Requests and reports enter through the gRPC handlers, are kept by the store, and mark their host dirty. The
//! reconciler alone moves hosts from state to state, as the rules decide.
//!
//! A room imports only rooms below it, which a test checks:
//!
//! ```text
//! serve                      the daemon: opens, starts tasks, serves, stops
//! metrics                    what Prometheus reads
//! api                        gRPC: `forge` for agents and tenants, `site` for operators
//! access, listen             who calls; connections
//! reconcile                  host by host: read, decide, act, commit
//! rule_packs                 which rules are active, and questions to them
//! facts                      rows as rules see them
//! act                        actions: rows, BMCs, the journal
//! site_file, inventory       hosts and networks as they are described, taken into the site
//! network                    addresses, VPCs, and what a DPU is to run
//! store                      the database
//! config, ids                the configuration file; ids that the site gives
//! ```

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

pub use access::{AccessFault, IssuerFault};
pub use act::{ActionError, JournalEntry, action_names};
pub use api::{
    forge::ForgeService,
    site::{SiteService, told},
};
pub use bmc::{BmcClient, BmcError, Redfish, RedfishSettings, RedfishSetupError};
pub use config::{
    Access, BmcAccess, Config, ConfigError, Firmware, IssuerFiles, Log, LogFormat, Timing, Tls, has_password,
};
pub use ids::{InstanceId, VpcId, VpcPrefixId};
pub use inventory::{AddedHosts, add_hosts};
pub use listen::TlsFault;
pub use reconcile::{ReconcileCounters, ReconcileFigures, ReconcileSettings, Reconciler};
pub use rule_packs::{
    ActiveRules, Changed, Judge, Offers, PackReadError, Proposal, RulePackError, RulePacks, RuleSettings, Verdict,
    draw_faults, load_pack_dir, read_pack_dir,
};
pub use serve::{NewSiteError, ServeError, serve};
pub use site_file::{SiteFile, SiteFileError, SpecFault, check_hosts};
pub use store::DirtyHosts;
pub use types::Timestamp;

#[cfg(test)]
mod tests {
    /// From the lowest to the highest.
    const ROOMS: [testbed::Room<'static>; 15] = [
        ("ids", &["InstanceId", "VpcId", "VpcPrefixId"]),
        ("config", &["Config", "ConfigError", "Access", "BmcAccess", "IssuerFiles", "Tls"]),
        ("store", &["DirtyHosts", "Timestamp"]),
        ("network", &[]),
        ("inventory", &["add_hosts"]),
        ("site_file", &["SiteFile", "SiteFileError", "SpecFault", "check_hosts"]),
        ("act", &["JournalEntry", "Redfish", "RedfishSettings", "RedfishSetupError", "action_names"]),
        ("facts", &[]),
        ("rule_packs", &["ActiveRules", "Judge", "RulePackError", "RulePacks", "RuleSettings"]),
        ("reconcile", &["ReconcileCounters", "ReconcileSettings", "Reconciler"]),
        ("listen", &["TlsFault"]),
        ("access", &["AccessFault", "IssuerFault"]),
        ("api", &["ForgeService", "SiteService"]),
        ("metrics", &[]),
        ("serve", &["ServeError"]),
    ];

    #[test]
    fn a_room_imports_only_rooms_below_it() {
        testbed::check_rooms(env!("CARGO_MANIFEST_DIR"), &ROOMS);
    }
}

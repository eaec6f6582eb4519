//! Readers of what commands print: one a file, `&str` in, plain data out. Any room may call them; they call none.
//!
//! They never panic, say where they stopped and what they expected there, and never guess: output that is not
//! understood is a fault, not an empty result.

mod bgp;
mod bgp_json;
mod bgp_text;
mod crictl;
mod df;
mod dhcp_requests;
mod fault;
mod ip;
mod kinds;
mod mlxprivhost;
mod nv_bgp;
mod nv_config;
mod nv_document;
mod nv_objects;
mod nv_revision;
mod nv_show;
mod supervisorctl;
mod uptime;

pub use bgp::{BgpPeer, BgpSummary, BgpTable, FailedSession, Family, PeerState};
pub use bgp_json::bgp_json;
pub use bgp_text::bgp_text;
pub use crictl::{Container, Image, containers, image_tags, images, running};
pub use df::{FileSystem, df};
pub use dhcp_requests::{LeaseRequest, dhcp_timestamps, kea_leases};
pub(crate) use fault::excerpt;
pub use fault::{EXCERPT_BYTES, ParseFault};
pub use ip::{FdbEntry, Link, fdb, links};
pub use kinds::{KINDS, Kind};
pub use mlxprivhost::privilege_level;
pub use nv_bgp::{NvFamily, NvNeighbor, nv_bgp};
pub use nv_config::{ApplyAnswer, Diff, RevisionId, apply_answer, diff, is_unknown_option, json_diff};
pub use nv_document::{NvDocument, nv_document};
pub use nv_objects::{LinkState, MacEntry, SystemVersion, link_states, mac_table, system_version};
pub use nv_revision::{Revision, RevisionState, is_applied, nv_revisions, revision_state};
pub use nv_show::{NvAnswer, NvProperty, NvRow, NvTable, nv_answer, nv_tables};
pub use supervisorctl::{Program, supervisorctl};

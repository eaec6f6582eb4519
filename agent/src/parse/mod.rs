//! Readers of what commands print: one a file, `&str` in, plain data out.
//!
//! They never panic, say where they stopped and what they expected there, and never guess: output that is not
//! understood is a fault, not an empty result.

mod bgp;
mod bgp_json;
mod fault;
mod nv_config;

pub use bgp::{BgpPeer, BgpSummary, BgpTable, Family, PeerState};
pub use bgp_json::bgp_json;
pub use fault::ParseFault;
pub(crate) use fault::excerpt;
pub use nv_config::{ApplyAnswer, Diff, RevisionId, apply_answer, diff, revision_named};

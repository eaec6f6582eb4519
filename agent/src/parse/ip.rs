//! Readers of `ip` and `bridge`, which print JSON.

use serde::{Deserialize, Serialize};

use super::{fault::ParseFault, nv_objects::json};

/// A link as `ip -j link show` or `ip -j address show` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Name of the interface.
    #[serde(rename = "ifname")]
    pub name: String,
    /// MAC address.
    pub address: Option<String>,
    /// `UP`, `DOWN`, `UNKNOWN`, …
    #[serde(rename = "operstate")]
    pub state: Option<String>,
    /// Largest packet, in bytes.
    pub mtu: Option<u32>,
    /// `ether`, `loopback`, …
    pub link_type: Option<String>,
    /// `UP`, `LOWER_UP`, …
    #[serde(default)]
    pub flags: Vec<String>,
    /// How often the carrier came up, with `ip -s`.
    pub carrier_up_count: Option<u32>,
    /// How often the carrier went down.
    pub carrier_down_count: Option<u32>,
}

/// Reads `ip -j link show` or `ip -j address show`.
///
/// # Errors
/// [`ParseFault`] where the text is no list of links.
pub fn links(text: &str) -> Result<Vec<Link>, ParseFault> {
    json("ip -j link show", text, "a JSON list of links")
}

/// An entry of `bridge -j fdb show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FdbEntry {
    /// MAC address.
    pub mac: String,
    /// Interface behind which it is.
    pub ifname: String,
    /// VLAN, where it has one.
    pub vlan: Option<u16>,
    /// `permanent` for our own; empty for one that was learned.
    #[serde(default)]
    pub state: String,
}

impl FdbEntry {
    /// Heard from the wire, not ours.
    #[must_use]
    pub fn is_learned(&self) -> bool {
        self.state != "permanent"
    }
}

/// Reads `bridge -j fdb show`.
///
/// # Errors
/// [`ParseFault`] where the text is no list of entries.
pub fn fdb(text: &str) -> Result<Vec<FdbEntry>, ParseFault> {
    json("bridge -j fdb show", text, "a JSON list of forwarding entries")
}

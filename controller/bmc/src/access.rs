//! How one BMC is reached. For everybody who names a BMC.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A machine's BMC: where it is, and as whom to speak to it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Redfish root, `https://address[:port]`; empty if the machine has none that is known.
    pub url: String,
    /// User.
    pub username: String,
    /// Never printed.
    pub password: String,
    /// MAC of its port.
    pub mac: String,
    /// Redfish system id; empty takes the one that the maker's BMCs have.
    pub system_id: String,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("url", &self.url).field("mac", &self.mac).finish_non_exhaustive()
    }
}

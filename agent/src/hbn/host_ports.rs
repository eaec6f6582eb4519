//! The host's ports as HBN sees them: MAC addresses for the report.

use super::command::ask;
use crate::{
    Settings,
    parse::{FdbEntry, Link, fdb, links},
};

/// What HBN's bridge and links say about the host's ports; empty where the commands for that are not configured.
#[derive(Default)]
pub(crate) struct HostPorts {
    fdb: Vec<FdbEntry>,
    links: Vec<Link>,
}

impl HostPorts {
    /// Asks HBN with the commands `bridge` and `ip`.
    pub(crate) async fn observe(settings: &Settings) -> Self {
        if settings.hbn.bridge.is_empty() || settings.hbn.ip.is_empty() {
            return Self::default();
        }
        let limit = settings.hbn.command_timeout;
        Self {
            fdb: known(ask(&settings.hbn.bridge, &["-j", "fdb", "show"], limit, fdb).await),
            links: known(ask(&settings.hbn.ip, &["-j", "address", "show"], limit, links).await),
        }
    }

    /// The host's MAC address on a VLAN.
    ///
    /// On the port of a VLAN two addresses are learned: the host's, and that of the port's other end on the DPU, which is
    /// the link `<port>_r`. If there is anything else, the host's address is unknown.
    pub(crate) fn host_mac(&self, vlan: u32) -> Option<&str> {
        let learned = |entry: &&FdbEntry| entry.is_learned() && entry.vlan.map(u32::from) == Some(vlan);
        let learned: Vec<&FdbEntry> = self.fdb.iter().filter(learned).collect();
        let [one, other] = learned.as_slice() else { return None };
        if one.ifname != other.ifname {
            return None;
        }
        let own =
            self.links.iter().find(|link| link.name.strip_suffix("_r") == Some(&one.ifname))?.address.as_deref()?;
        match (one.mac == own, other.mac == own) {
            (true, false) => Some(&other.mac),
            (false, true) => Some(&one.mac),
            _ => None,
        }
    }
}

/// What is not known is not reported; why is logged for whoever looks for it.
fn known<T>(read: Result<Vec<T>, String>) -> Vec<T> {
    read.unwrap_or_else(|why| {
        tracing::debug!("MAC addresses of the host are not known: {why}");
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> String {
        std::fs::read_to_string(format!("{}/../tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn the_host_is_the_other_of_two() {
        let mut ports = HostPorts {
            fdb: fdb(&fixture("bgp/hbn_bridge_fdb.json")).unwrap(),
            links: links(&fixture("commands/ip_j_address_show_pf0vf0_if_r.json")).unwrap(),
        };
        assert_eq!(ports.host_mac(21), Some("7e:f6:b2:b2:f0:97"));
        // The other end of this port is not known, so either address could be the host's.
        assert_eq!(ports.host_mac(49), None);
        assert_eq!(ports.host_mac(4000), None);
        // A third address on the port, or on another port, makes it a guess.
        for ifname in ["pf0vf0_if", "pf0vf1_if"] {
            let (mac, state) = ("02:00:5e:10:00:01".to_owned(), String::new());
            ports.fdb.push(FdbEntry { mac, ifname: ifname.into(), vlan: Some(21), state });
            assert_eq!(ports.host_mac(21), None);
            ports.fdb.pop();
        }
        ports.links.clear();
        assert_eq!(ports.host_mac(21), None);
    }
}

use crate::{
    Settings,
    apply::ask,
    parse::{FdbEntry, Link, fdb, links},
};

/// What the bridge and the links of HBN tell about the host's ports; empty where their commands are not configured.
#[derive(Default)]
pub(crate) struct Ports {
    fdb: Vec<FdbEntry>,
    links: Vec<Link>,
}

impl Ports {
    /// Asks HBN.
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
    /// On the port of a VLAN two addresses are heard: the host's, and the one of the port's other end on the DPU, which is
    /// the link `<port>_r`. Whatever else is there, nothing is claimed.
    pub(crate) fn host_mac(&self, vlan: u32) -> Option<&str> {
        let heard = |entry: &&FdbEntry| entry.is_learned() && entry.vlan.map(u32::from) == Some(vlan);
        let heard: Vec<&FdbEntry> = self.fdb.iter().filter(heard).collect();
        let [one, other] = heard.as_slice() else { return None };
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

/// Why something is not known matters to who looks for it only.
fn known<T>(said: Result<Vec<T>, String>) -> Vec<T> {
    said.unwrap_or_else(|why| {
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
        let mut ports = Ports {
            fdb: fdb(&fixture("bgp/hbn_bridge_fdb.json")).unwrap(),
            links: links(&fixture("commands/ip_j_address_show_pf0vf0_if_r.json")).unwrap(),
        };
        assert_eq!(ports.host_mac(21), Some("7e:f6:b2:b2:f0:97"));
        // The other end of this port is not known, so neither address can be told for the host's.
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

use super::Tree;

/// What a configuration lets the host behind a DPU do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSide {
    /// Host-facing ports that are up and have a bridge, a VRF or an address.
    pub open_ports: Vec<String>,
    /// VLAN interfaces with an address, gateways of the host.
    pub gateways: Vec<String>,
    /// Prefixes that BGP announces, without the DPU's own loopback.
    pub announced: Vec<String>,
    /// BGP neighbours on the host.
    pub host_peers: Vec<String>,
    /// VRFs of tenants.
    pub tenant_vrfs: Vec<String>,
}

impl HostSide {
    /// Reads it out of a configuration.
    #[must_use]
    pub fn of(config: &Tree) -> Self {
        let interfaces = || config.entries(&["interface"]);
        let names = |found: &mut dyn Iterator<Item = (&str, &Tree)>| found.map(|(name, _)| name.to_owned()).collect();
        let loopbacks: Vec<_> =
            config.entries(&["interface", "lo", "ip", "address"]).map(|(address, _)| address).collect();
        let unicast = ["vrf", "default", "router", "bgp", "address-family", "ipv4-unicast"];
        let mut announced: Vec<String> = names(
            &mut config
                .entries(&[&unicast[..], &["network"]].concat())
                .filter(|(prefix, _)| !loopbacks.contains(prefix)),
        );
        // Connected networks are announced whole, host side included.
        if config.at(&unicast).is_some_and(|family| family.is_on(&["redistribute", "connected", "enable"], false)) {
            announced.extend(interfaces().filter(|(name, _)| name.starts_with("vlan")).flat_map(|(_, body)| {
                body.entries(&["ip", "address"]).map(|(address, _)| format!("{address} (connected)"))
            }));
        }
        Self {
            open_ports: names(&mut interfaces().filter(|(name, body)| is_host_port(name) && is_open(body))),
            gateways: names(
                &mut interfaces().filter(|(name, body)| {
                    name.starts_with("vlan") && body.entries(&["ip", "address"]).next().is_some()
                }),
            ),
            announced,
            host_peers: names(
                &mut config
                    .entries(&["vrf", "default", "router", "bgp", "neighbor"])
                    .filter(|(_, peer)| peer.is_on(&["passive-mode"], false)),
            ),
            tenant_vrfs: names(&mut config.entries(&["vrf"]).filter(|(name, _)| !matches!(*name, "default" | "mgmt"))),
        }
    }

    /// Whether the host is cut off.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        *self == Self::default()
    }
}

/// Ports to the host: its physical functions and its virtual ones, but not the service interface of the DPU itself.
fn is_host_port(name: &str) -> bool {
    name.strip_prefix("pf")
        .is_some_and(|rest| rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).starts_with(['h', 'v']))
}

fn is_open(port: &Tree) -> bool {
    let down = port.text(&["link", "state"]) == Some("down") || port.at(&["link", "state", "down"]).is_some();
    let used = [["bridge", "domain"], ["ip", "vrf"], ["ip", "address"]].iter().any(|path| port.at(path).is_some());
    used && !down
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADMIN: &str = include_str!("../../../fixtures/nvue/admin_etv_primary.expected.yaml");

    #[test]
    fn an_admin_network_lets_the_host_out() {
        let side = HostSide::of(&Tree::parse(ADMIN).unwrap());
        assert_eq!(side.open_ports, ["pf0hpf_if"]);
        assert_eq!(side.gateways.len(), 1);
        assert!(!side.announced.is_empty() && !side.is_closed(), "{side:?}");
    }

    #[test]
    fn a_port_that_is_down_or_without_use_is_closed() {
        let closed = "- set: {interface: {pf0hpf_if: {type: swp, link: {state: {down: {}}}, ip: {vrf: v}}, pf0vf3_if: {type: swp},
            pf0dpu1_if: {ip: {address: {169.254.169.253/30: {}}}}, lo: {ip: {address: {10.1.0.1/32: {}}}}},
            vrf: {default: {router: {bgp: {address-family: {ipv4-unicast: {network: {10.1.0.1/32: {}}}}}}}}}";
        assert_eq!(HostSide::of(&Tree::parse(closed).unwrap()), HostSide::default());
        let open = closed.replace("link: {state: {down: {}}}, ", "");
        assert_eq!(HostSide::of(&Tree::parse(&open).unwrap()).open_ports, ["pf0hpf_if"]);
    }
}

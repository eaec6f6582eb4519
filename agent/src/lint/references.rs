//! Names that are used must be defined: NVUE takes most of them on trust, and FRR then does nothing.

use std::collections::BTreeSet;

use super::{Fault, Node};

/// VRFs that are always there.
const BUILT_IN_VRFS: [&str; 2] = ["default", "mgmt"];
/// Words that stand where a name could.
const NO_NAME: [&str; 3] = ["none", "auto", "unchanged"];

/// What a value names, by the last name of its path.
fn policy_named_by(key: &str) -> Option<&'static str> {
    match key {
        "route-map" | "unsuppress-map" | "advertise-map" | "exist-map" | "non-exist-map" => Some("route-map"),
        "prefix-list" | "ip-prefix-list" | "ssm-prefix-list" | "ip-nexthop-list" => Some("prefix-list"),
        "aspath-list" | "as-path-list" => Some("as-path-list"),
        "community-list" => Some("community-list"),
        "large-community-list" => Some("large-community-list"),
        "ext-community-list" => Some("ext-community-list"),
        _ => None,
    }
}

/// Finds names that are not defined.
pub(super) fn check(root: &Node, faults: &mut Vec<Fault>) {
    let mut defined = Defined { root, vrfs: names(root, &["vrf"]), vnis: BTreeSet::new(), bridged: BTreeSet::new() };
    defined.vrfs.extend(BUILT_IN_VRFS);
    defined.bridged_vnis(faults);
    defined.routed_vnis(faults);
    let mut path = Vec::new();
    defined.walk(root, &mut path, faults);
}

/// The names below a path. NVUE lets several share an entry: `vlan11,vlan12`.
fn names<'a>(root: &'a Node, path: &[&str]) -> BTreeSet<&'a str> {
    let entries = root.get(path.iter().copied()).into_iter().flat_map(Node::entries);
    entries.flat_map(|(name, _)| name.split(',')).collect()
}

struct Defined<'a> {
    root: &'a Node,
    vrfs: BTreeSet<&'a str>,
    /// VNIs of bridges and of VRFs.
    vnis: BTreeSet<&'a str>,
    bridged: BTreeSet<&'a str>,
}

impl<'a> Defined<'a> {
    /// A VNI of a bridge belongs to one VLAN, and a VLAN to one VNI.
    fn bridged_vnis(&mut self, faults: &mut Vec<Fault>) {
        for (domain, node) in self.root.get(["bridge", "domain"]).into_iter().flat_map(Node::entries) {
            for (vlan, node) in node.get(["vlan"]).into_iter().flat_map(Node::entries) {
                let vnis = || node.get(["vni"]).into_iter().flat_map(Node::entries);
                if vnis().nth(1).is_some() {
                    let path = format!("/bridge/domain/{domain}/vlan/{vlan}/vni");
                    faults.push(Fault { path, fault: "a VLAN can have one VNI only".into() });
                }
                for (vni, _) in vnis() {
                    if !self.bridged.insert(vni) && vni != "auto" {
                        let path = format!("/bridge/domain/{domain}/vlan/{vlan}/vni/{vni}");
                        faults.push(Fault { path, fault: "another VLAN has this VNI too".into() });
                    }
                }
            }
        }
        self.vnis.extend(&self.bridged);
    }

    /// A VNI of a VRF must not be one of a bridge.
    fn routed_vnis(&mut self, faults: &mut Vec<Fault>) {
        for (vrf, node) in self.root.get(["vrf"]).into_iter().flat_map(Node::entries) {
            for (vni, _) in node.get(["evpn", "vni"]).into_iter().flat_map(Node::entries) {
                if self.bridged.contains(vni) {
                    let path = format!("/vrf/{vrf}/evpn/vni/{vni}");
                    faults.push(Fault { path, fault: "a VLAN of a bridge has this VNI too".into() });
                }
                self.vnis.insert(vni);
            }
        }
    }

    fn walk(&self, node: &'a Node, path: &mut Vec<&'a str>, faults: &mut Vec<Fault>) {
        for (name, below) in node.entries() {
            path.push(name);
            let shown = |path: &[&str]| path.iter().flat_map(|name| ["/", name]).collect();
            if let Some(fault) = self.undefined(path, below.value()) {
                faults.push(Fault { path: shown(path), fault });
            }
            self.walk(below, path, faults);
            path.pop();
        }
    }

    /// What a path refers to that is not defined.
    fn undefined(&self, path: &[&'a str], value: Option<&str>) -> Option<String> {
        let missing = |there: bool, what: &str, name: &str| (!there).then(|| format!("no {what} `{name}` is defined"));
        match (path, value) {
            (["interface", _, "acl", acl] | ["system", "control-plane", "acl", acl], _) => {
                missing(self.root.get(["acl", acl]).is_some(), "access list", acl)
            }
            (["vrf", _, .., "route-import", "from-vrf", "list", vrf], _) => {
                missing(self.vrfs.contains(vrf), "VRF", vrf)
            }
            (["evpn", "vni", vni], _) => missing(self.bridged.contains(vni), "VNI of a bridge", vni),
            ([.., "match", "evpn-vni"], Some(vni)) => missing(self.vnis.contains(vni), "VNI", vni),
            (_, Some(name)) if NO_NAME.contains(&name) => None,
            (["vrf", vrf, .., "peer-group"], Some(group)) => missing(
                self.root.get(["vrf", vrf, "router", "bgp", "peer-group", group]).is_some(),
                "peer group",
                group,
            ),
            ([.., "vrf" | "source-vrf"], Some(vrf)) => missing(self.vrfs.contains(vrf), "VRF", vrf),
            ([.., key], Some(name)) => {
                let kind = policy_named_by(key)?;
                missing(self.root.get(["router", "policy", kind, name]).is_some(), &kind.replace('-', " "), name)
            }
            _ => None,
        }
    }
}

//! What NVUE refuses although every key is known: names that nobody defines, values that do not fit together.

use std::net::IpAddr;

use ipnet::IpNet;

use super::Tree;

/// NVUE has these without being told.
const BUILT_IN_VRFS: [&str; 2] = ["default", "mgmt"];
const VNIS: std::ops::RangeInclusive<u32> = 1..=16_777_215;
const VLANS: std::ops::RangeInclusive<u32> = 1..=4094;

/// Every reason to refuse the configuration, as `Config invalid at PATH: WHY`.
pub(super) fn faults(config: &Tree) -> Vec<String> {
    let mut found = Faults(Vec::new());
    interfaces(config, &mut found);
    vnis(config, &mut found);
    policies(config, &mut found);
    for (vrf, body) in config.entries(&["vrf"]) {
        bgp(config, vrf, body, &mut found);
    }
    found.0
}

struct Faults(Vec<String>);

impl Faults {
    fn at(&mut self, path: &str, why: impl std::fmt::Display) {
        self.0.push(format!("Config invalid at {path}: {why}"));
    }

    /// Complains if the leaf at `path` below `body` names something that is not below `known`.
    fn reference(&mut self, at: &str, body: &Tree, path: &[&str], config: &Tree, known: &[&str]) {
        if let Some(name) = body.text(path) {
            let defined = config.entries(known).any(|(key, _)| key == name);
            if !(defined || known == ["vrf"] && BUILT_IN_VRFS.contains(&name)) {
                self.at(&format!("{at}.{}", path.join(".")), format!("'{name}' is not defined in {}", known.join(".")));
            }
        }
    }
}

fn interfaces(config: &Tree, found: &mut Faults) {
    for (name, body) in config.entries(&["interface"]) {
        let at = format!("interface.{name}");
        for (acl, _) in body.entries(&["acl"]) {
            if config.at(&["acl", acl]).is_none() {
                found.at(&format!("{at}.acl"), format!("'{acl}' is not defined in acl"));
            }
        }
        found.reference(&at, body, &["ip", "vrf"], config, &["vrf"]);
        for (address, _) in body.entries(&["ip", "address"]) {
            if address != "dhcp" && address.parse::<IpNet>().is_err() {
                found.at(&format!("{at}.ip.address"), format!("'{address}' is not an address with prefix length"));
            }
        }
        let named_after_vlan = name.strip_prefix("vlan").is_some_and(|vlan| vlan.parse::<u16>().is_ok());
        if body.text(&["type"]) == Some("svi") && body.at(&["vlan"]).is_none() && !named_after_vlan {
            found.at(&at, "an interface of type 'svi' needs 'vlan'");
        }
        let access = body.entries(&["bridge", "domain"]).filter_map(|(_, domain)| domain.text(&["access"]));
        for vlan in access.chain(body.text(&["vlan"])) {
            if !vlan.parse().is_ok_and(|vlan| VLANS.contains(&vlan)) {
                found.at(&at, format!("'{vlan}' is not a VLAN"));
            }
        }
    }
    if let Some(source) = config.text(&["nve", "vxlan", "source", "address"])
        && source.parse::<IpAddr>().is_err()
    {
        found.at("nve.vxlan.source.address", format!("'{source}' is not an address"));
    }
}

/// A VNI belongs to one VLAN. VRFs may share one, as sites with a common VNI for all VPCs do.
fn vnis(config: &Tree, found: &mut Faults) {
    let of_vlans = config.entries(&["bridge", "domain"]).flat_map(|(domain, body)| {
        body.entries(&["vlan"]).flat_map(move |(vlan, body)| {
            body.entries(&["vni"]).map(move |(vni, _)| (vni, format!("bridge.domain.{domain}.vlan.{vlan}.vni")))
        })
    });
    let of_vrfs = config.entries(&["vrf"]).flat_map(|(vrf, body)| {
        body.entries(&["evpn", "vni"]).map(move |(vni, _)| (vni, format!("vrf.{vrf}.evpn.vni")))
    });
    let mut seen: Vec<(&str, String)> = Vec::new();
    for (vni, at) in of_vlans {
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == vni) {
            found.at(&at, format!("VNI '{vni}' is in use at {first}"));
        }
        seen.push((vni, at));
    }
    for (vni, at) in seen.into_iter().chain(of_vrfs) {
        if !vni.parse().is_ok_and(|vni| VNIS.contains(&vni)) {
            found.at(&at, format!("'{vni}' is not a VNI"));
        }
    }
}

fn policies(config: &Tree, found: &mut Faults) {
    let policy = ["router", "policy"];
    // The action of a list's rule is a word, that of a route-map or ACL rule is a map.
    for list in ["prefix-list", "community-list", "as-path-list"] {
        for (name, body) in config.entries(&[policy[0], policy[1], list]) {
            for (rule, body) in body.entries(&["rule"]) {
                let at = format!("router.policy.{list}.{name}.rule.{rule}");
                if !matches!(body.text(&["action"]), Some("permit" | "deny")) {
                    found.at(&format!("{at}.action"), "expected 'permit' or 'deny'");
                }
                if list == "prefix-list" && body.entries(&["match"]).next().is_none() {
                    found.at(&at, "'match' is a required property");
                }
            }
        }
    }
    for (name, body) in config.entries(&[policy[0], policy[1], "route-map"]) {
        for (rule, body) in body.entries(&["rule"]) {
            let at = format!("router.policy.route-map.{name}.rule.{rule}");
            needs_action_map(&at, body, found);
            for (key, list) in [
                ("ip-prefix-list", "prefix-list"),
                ("community-list", "community-list"),
                ("as-path-list", "as-path-list"),
            ] {
                found.reference(&at, body, &["match", key], config, &[policy[0], policy[1], list]);
            }
        }
    }
    for (name, body) in config.entries(&["acl"]) {
        if !matches!(body.text(&["type"]), Some("ipv4" | "ipv6" | "mac")) {
            found.at(&format!("acl.{name}.type"), "expected 'ipv4', 'ipv6' or 'mac'");
        }
        for (rule, body) in body.entries(&["rule"]) {
            needs_action_map(&format!("acl.{name}.rule.{rule}"), body, found);
        }
    }
}

fn needs_action_map(at: &str, rule: &Tree, found: &mut Faults) {
    let words: Vec<_> = rule.entries(&["action"]).map(|(word, _)| word).collect();
    if words.is_empty() {
        found.at(&format!("{at}.action"), "expected an object such as 'permit: {}'");
    }
}

fn bgp(config: &Tree, vrf: &str, body: &Tree, found: &mut Faults) {
    let bgp = ["router", "bgp"];
    let at = format!("vrf.{vrf}.router.bgp");
    if body.is_on(&["router", "bgp", "enable"], false)
        && config.at(&["router", "bgp", "autonomous-system"]).is_none()
        && body.at(&["router", "bgp", "autonomous-system"]).is_none()
    {
        found.at(&at, "'autonomous-system' is a required property");
    }
    for (peer, neighbor) in body.entries(&[bgp[0], bgp[1], "neighbor"]) {
        let at = format!("{at}.neighbor.{peer}");
        found.reference(&at, neighbor, &["peer-group"], body, &[bgp[0], bgp[1], "peer-group"]);
        if neighbor.text(&["type"]) == Some("unnumbered") && config.at(&["interface", peer]).is_none() {
            found.at(&at, format!("'{peer}' is not defined in interface"));
        }
        families(config, &at, neighbor, found);
    }
    for (name, group) in body.entries(&[bgp[0], bgp[1], "peer-group"]) {
        let at = format!("{at}.peer-group.{name}");
        found.reference(&at, group, &["update-source"], config, &["interface"]);
        families(config, &at, group, found);
    }
    families(config, &at, body.at(&bgp).unwrap_or(body), found);
}

fn families(config: &Tree, at: &str, body: &Tree, found: &mut Faults) {
    for (family, body) in body.entries(&["address-family"]) {
        let at = format!("{at}.address-family.{family}");
        for direction in ["inbound", "outbound"] {
            for list in ["prefix-list", "route-map"] {
                found.reference(&at, body, &["policy", direction, list], config, &["router", "policy", list]);
            }
        }
        let import = ["route-import", "from-vrf"];
        found.reference(&at, body, &[import[0], import[1], "route-map"], config, &["router", "policy", "route-map"]);
        let listed = match body.at(&[import[0], import[1], "list"]) {
            Some(Tree::Map(map)) => map.keys().cloned().collect(),
            Some(Tree::List(items)) => items.iter().filter_map(|item| item.text(&[]).map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
        for vrf in listed {
            if !BUILT_IN_VRFS.contains(&vrf.as_str()) && config.at(&["vrf", &vrf]).is_none() {
                found.at(&format!("{at}.route-import.from-vrf.list"), format!("'{vrf}' is not defined in vrf"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(set: &str) -> Vec<String> {
        let body: String = set.lines().map(|line| format!("    {line}\n")).collect();
        faults(&Tree::parse(&format!("- set:\n{body}")).unwrap())
    }

    #[test]
    fn names_what_nobody_defines() {
        for (set, fault) in [
            ("interface: {p0_if: {acl: {a1: {inbound: {}}}}}", "interface.p0_if.acl: 'a1' is not defined in acl"),
            ("interface: {p0_if: {ip: {vrf: vpc_7}}}", "interface.p0_if.ip.vrf: 'vpc_7' is not defined in vrf"),
            (
                "vrf: {default: {router: {bgp: {neighbor: {10.0.0.1: {peer-group: rs, type: numbered}}}}}}",
                "vrf.default.router.bgp.neighbor.10.0.0.1.peer-group: 'rs' is not defined in router.bgp.peer-group",
            ),
            (
                "router: {policy: {route-map: {m: {rule: {'10': {action: {permit: {}}, match: {ip-prefix-list: l}}}}}}}",
                "rule.10.match.ip-prefix-list: 'l' is not defined in router.policy.prefix-list",
            ),
            (
                "vrf: {default: {router: {bgp: {address-family: {ipv4-unicast: {route-import: {from-vrf: {list: {blue: {}}}}}}}}}}",
                "'blue' is not defined in vrf",
            ),
        ] {
            let found = faults_of(set);
            assert!(found.len() == 1 && found[0].contains(fault), "{set}: {found:?}");
        }
    }

    #[test]
    fn refuses_wrong_shapes_and_values() {
        for (set, fault) in [
            ("acl: {a: {type: ipv4, rule: {'10': {action: permit}}}}", "acl.a.rule.10.action"),
            (
                "router: {policy: {prefix-list: {l: {rule: {'10': {action: {deny: {}}, match: {any: {}}}}}}}}",
                "prefix-list.l.rule.10.action: expected 'permit' or 'deny'",
            ),
            ("router: {policy: {prefix-list: {l: {rule: {'10': {action: deny}}}}}}", "'match' is a required property"),
            ("interface: {gateway: {type: svi}}", "needs 'vlan'"),
            ("interface: {x: {vlan: 4095}}", "'4095' is not a VLAN"),
            ("interface: {x: {ip: {address: {10.0.0.300/24: {}}}}}", "'10.0.0.300/24' is not an address"),
            ("bridge: {domain: {br_default: {vlan: {'10': {vni: {'16777216': {}}}}}}}", "'16777216' is not a VNI"),
            (
                "bridge: {domain: {br_default: {vlan: {'10': {vni: {'7': {}}}, '11': {vni: {'7': {}}}}}}}",
                "VNI '7' is in use at bridge.domain.br_default.vlan.10.vni",
            ),
            ("vrf: {default: {router: {bgp: {enable: on}}}}", "'autonomous-system' is a required property"),
        ] {
            let found = faults_of(set);
            assert!(found.len() == 1 && found[0].contains(fault), "{set}: {found:?}");
        }
    }
}

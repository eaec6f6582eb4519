//! Keys and types of values, by the public schema of Cumulus Linux up to the release that HBN is built from, and what
//! HBN adds.

use std::{collections::BTreeMap, net::IpAddr};

use ipnet::IpNet;

use super::Tree;

const MATRIX: &str = include_str!("../../../../fixtures/nvue_schema/nvue_keys_matrix.tsv");
/// Later releases renamed much of what HBN still calls by its old name.
const NEWEST: u32 = 14;
/// What HBN has and Cumulus Linux has not, in the matrix's notation.
const HBN: [(&str, &str); 5] = [
    ("/acl/{acl-id}/rule/{rule-id}/hw-offload", "enum(on|off)"),
    ("/acl/{acl-id}/rule/{rule-id}/match/conntrack", "map"),
    ("/acl/{acl-id}/rule/{rule-id}/match/conntrack/{}", "string"),
    ("/system/reflexive-acl", "object"),
    ("/system/reflexive-acl/enable", "enum(on|off)"),
];

/// Every key that NVUE does not know and every value of the wrong type.
pub(super) fn faults(config: &Tree) -> Vec<String> {
    let mut root = Node::default();
    for row in MATRIX.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = row.split('\t');
        if let (Some(path), Some(first), Some(kind)) = (columns.next(), columns.next(), columns.nth(2))
            && first.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor <= NEWEST)
        {
            root.add(path, kind);
        }
    }
    HBN.iter().for_each(|(path, kind)| root.add(path, kind));
    let mut found = Vec::new();
    root.check(config, "", &mut found);
    found
}

#[derive(Default)]
struct Node<'a> {
    kind: &'a str,
    children: BTreeMap<&'a str, Node<'a>>,
    /// What stands under a key that the user chooses.
    any: Option<Box<Node<'a>>>,
}

impl<'a> Node<'a> {
    fn add(&mut self, path: &'a str, kind: &'a str) {
        let node = path.split('/').skip(1).fold(self, |node, key| {
            if key.starts_with('{') { node.any.get_or_insert_default() } else { node.children.entry(key).or_default() }
        });
        node.kind = kind;
    }

    fn check(&self, tree: &Tree, at: &str, found: &mut Vec<String>) {
        let mut step = |key: &str, below: Option<&Tree>| match self.children.get(key).or(self.any.as_deref()) {
            None => found.push(format!(
                "Config invalid at {}: Additional properties are not allowed ('{key}' was unexpected)",
                at.trim_start_matches('.')
            )),
            Some(node) => {
                if let Some(below) = below {
                    node.check(below, &format!("{at}.{key}"), found);
                }
            }
        };
        match tree {
            Tree::Map(map) => map.iter().for_each(|(key, below)| step(key, Some(below))),
            Tree::List(items) => items.iter().filter_map(|item| item.text(&[])).for_each(|key| step(key, None)),
            Tree::Text(text) if !accepts(self.kind, text) => {
                let at = at.trim_start_matches('.');
                found.push(format!("Config invalid at {at}: '{text}' is not of type '{}'", self.kind));
            }
            Tree::Text(_) => {}
        }
    }
}

/// Whether a leaf fits one of the types that `kinds` names.
fn accepts(kinds: &str, text: &str) -> bool {
    alternatives(kinds).any(|kind| {
        let (name, limits) = match kind.find(['[', '(']) {
            Some(place) => (&kind[..place], kind[place + 1..].trim_end_matches([']', ')'])),
            None => (kind, ""),
        };
        match name {
            "object" | "map" | "entry" => false,
            // The matrix has the newest type of a switch; releases before called it on and off.
            "enum" if limits == "enabled|disabled" => matches!(text, "enabled" | "disabled" | "on" | "off"),
            "enum" => limits.split('|').any(|word| word == text),
            "integer" => text.parse().is_ok_and(|number: i64| within(limits, "ge", "le", number)),
            "string" => within(limits, "min_length", "max_length", i64::try_from(text.len()).unwrap_or(i64::MAX)),
            "IPv4Address" | "IPv6Address" => text.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4() == name.contains('4')),
            "IPv4Network" | "IPv6Network" => {
                text.parse::<IpNet>().is_ok_and(|net| net.addr().is_ipv4() == name.contains('4'))
            }
            // A type that is not told apart here.
            _ => true,
        }
    })
}

/// The parts of `a|b(c|d)|e` at its top level.
fn alternatives(kinds: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    kinds.split(move |letter| {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        letter == '|' && depth == 0
    })
}

fn within(limits: &str, least: &str, most: &str, number: i64) -> bool {
    let limit = |name: &str| {
        let value = limits.split(',').find_map(|limit| limit.strip_prefix(name)?.strip_prefix('='));
        value.and_then(|value| value.parse::<i64>().ok())
    };
    limit(least).is_none_or(|least| number >= least) && limit(most).is_none_or(|most| number <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_fits_one_of_its_types() {
        for (kinds, text, fits) in [
            ("integer[ge=1,le=4094]", "4094", true),
            ("integer[ge=1,le=4094]", "4095", false),
            ("integer[ge=1,le=4094]", "on", false),
            ("enum(on|off)", "on", true),
            ("enum(on|off)", "enabled", false),
            ("enum(enabled|disabled)", "off", true),
            ("enum(none)|integer[ge=1,le=9]", "none", true),
            ("enum(none)|integer[ge=1,le=9]", "9", true),
            ("IPv4Address|enum(auto)", "10.0.0.1", true),
            ("IPv4Address|enum(auto)", "2001:db8::1", false),
            ("string[min_length=1,max_length=3]", "abcd", false),
            ("object", "4x10G", false),
        ] {
            assert_eq!(accepts(kinds, text), fits, "{kinds} {text}");
        }
    }

    #[test]
    fn names_the_key_and_the_place() {
        let config = Tree::parse(
            "- set: {interface: {pf0hpf_if: {link: {breakout: 4x10G, colour: red}}}, nve: {vxlan: {enable: maybe}}}",
        );
        let found = faults(&config.unwrap());
        assert_eq!(
            found,
            [
                "Config invalid at interface.pf0hpf_if.link.breakout: '4x10G' is not of type 'map'",
                "Config invalid at interface.pf0hpf_if.link: Additional properties are not allowed ('colour' was unexpected)",
                "Config invalid at nve.vxlan.enable: 'maybe' is not of type 'enum(on|off)'",
            ]
        );
    }
}

//! Keys and types of NVUE's settings, from Cumulus Linux 5.0 to 5.18, and what HBN has beside them.
//!
//! `schema.txt` holds the published keys in a compact form: a line a node, its type, then its children as
//! `name:line:first-last` (releases 5.first to 5.last, left out if it is all of them). Equal parts of the tree are one
//! line, so lines refer to earlier ones only; the last line is the root. A name `{}` stands for any the user chooses.

use super::{Fault, Node, kinds};

const SCHEMA: &str = include_str!("schema.txt");
const NEWEST: u32 = 18;
/// The releases whose names HBN uses: from 5.15 on, `enable: on` is `state: enabled`, and more.
const HBN_NEWEST: u32 = 14;

/// What HBN has and no release of Cumulus Linux: path, in the schema's notation, and type.
const HBN: &[(&[&str], &str)] = &[
    (&["acl", "{}", "rule", "{}", "hw-offload"], "enum(on|off)"),
    (&["acl", "{}", "rule", "{}", "match", "conntrack"], "map"),
    (&["acl", "{}", "rule", "{}", "match", "conntrack", "{}"], "entry"),
    (&["system", "reflexive-acl"], "object"),
    (&["system", "reflexive-acl", "enable"], "enum(on|off)"),
];

/// Releases as bits: bit n is 5.n.
type Releases = u32;

fn releases(first: u32, last: u32) -> Releases {
    (first..=last.min(NEWEST)).fold(0, |set, release| set | 1 << release)
}

/// The schema, in lines that refer to each other.
struct Schema {
    nodes: Vec<SchemaNode>,
}

struct SchemaNode {
    kind: &'static str,
    children: Vec<Child>,
}

#[derive(Clone, Copy)]
struct Child {
    name: &'static str,
    node: usize,
    releases: Releases,
}

impl Schema {
    fn load() -> Self {
        let nodes = SCHEMA.lines().map(|line| {
            let mut parts = line.split('\t');
            let kind = parts.next().unwrap_or_default();
            let children = parts.filter_map(|part| {
                let mut fields = part.split(':');
                let (name, node) = (fields.next()?, fields.next()?.parse().ok()?);
                let releases = match fields.next().and_then(|range| range.split_once('-')) {
                    Some((first, last)) => releases(first.parse().ok()?, last.parse().ok()?),
                    None => releases(0, NEWEST),
                };
                Some(Child { name, node, releases })
            });
            SchemaNode { kind, children: children.collect() }
        });
        Self { nodes: nodes.collect() }
    }

    fn node(&self, index: usize) -> Option<&SchemaNode> {
        self.nodes.get(index)
    }
}

/// Finds keys that NVUE does not know, values of the wrong type, and keys of which no release has all.
pub(super) fn check(root: &Node, faults: &mut Vec<Fault>) {
    let schema = Schema::load();
    let mut walk = Walk { schema: &schema, common: releases(0, HBN_NEWEST), path: Vec::new(), faults };
    walk.entries(root, &[schema.nodes.len().saturating_sub(1)]);
}

struct Walk<'a> {
    schema: &'a Schema,
    /// The releases that have every key so far.
    common: Releases,
    path: Vec<&'a str>,
    faults: &'a mut Vec<Fault>,
}

impl<'a> Walk<'a> {
    fn fault(&mut self, fault: String) {
        let path = self.path.iter().flat_map(|name| ["/", name]).collect();
        self.faults.push(Fault { path, fault });
    }

    /// Checks what is below a node, which the schema may describe in several ways at once.
    fn entries(&mut self, node: &'a Node, described: &[usize]) {
        for (name, below) in node.entries() {
            self.path.push(name);
            let schema = self.schema;
            let children = described.iter().filter_map(|index| schema.node(*index)).flat_map(|node| &node.children);
            let named: Vec<Child> = children.clone().filter(|child| child.name == name).copied().collect();
            let found =
                if named.is_empty() { children.filter(|child| child.name == "{}").copied().collect() } else { named };
            match hbn_kind(&self.path) {
                Some(kind) => {
                    self.value(below, &[kind]);
                    self.entries(below, &[]);
                }
                None if found.is_empty() => self.fault("no release of NVUE knows this key".into()),
                None => self.known(below, &found),
            }
            self.path.pop();
        }
    }

    fn known(&mut self, node: &'a Node, found: &[Child]) {
        let here = found.iter().fold(0, |releases, child| releases | child.releases);
        if here & releases(0, HBN_NEWEST) == 0 {
            self.fault(format!(
                "only releases from 5.{} on know this key, and HBN is built on older ones",
                here.trailing_zeros()
            ));
        } else if self.common & here == 0 {
            self.fault("no release of NVUE knows this key together with those before it".into());
        } else {
            self.common &= here;
        }
        let described: Vec<usize> = found.iter().map(|child| child.node).collect();
        let kinds: Vec<&'static str> =
            described.iter().filter_map(|index| self.schema.node(*index)).map(|node| node.kind).collect();
        self.value(node, &kinds);
        self.entries(node, &described);
    }

    fn value(&mut self, node: &Node, kinds: &[&str]) {
        let expected = || kinds.join(" or ");
        match node.value() {
            Some(value) if !kinds.iter().any(|kind| kinds::fits(kind, value)) => {
                // What is secret must not be in an error.
                let secret = self.path.last().is_some_and(|name| name.contains("password") || name.contains("secret"))
                    || kinds.iter().any(|kind| kind.contains("SecretStr"));
                let shown: String = if secret { "***".into() } else { value.chars().take(60).collect() };
                self.fault(format!("`{shown}` is not of type {}", expected()));
            }
            None if kinds.iter().all(|kind| kinds::is_scalar(kind)) => {
                self.fault(format!("has names below it where a value of type {} is", expected()));
            }
            _ => {}
        }
    }
}

/// The type of a key that only HBN has.
fn hbn_kind(path: &[&str]) -> Option<&'static str> {
    let fits = |pattern: &[&str]| {
        pattern.len() == path.len() && pattern.iter().zip(path).all(|(known, name)| *known == "{}" || known == name)
    };
    HBN.iter().find(|(pattern, _)| fits(pattern)).map(|(_, kind)| *kind)
}

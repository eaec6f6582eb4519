use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_yaml::Value;

/// A configuration as NVUE sees it: what stands under `set`. Scalars are text, lists keep their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree {
    /// A leaf.
    Text(String),
    /// A list of leaves, such as the VRFs of an import.
    List(Vec<Tree>),
    /// Everything else.
    Map(BTreeMap<String, Tree>),
}

impl Default for Tree {
    fn default() -> Self {
        Self::Map(BTreeMap::new())
    }
}

/// Why a text is no configuration, in NVUE's words where it has some.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Not YAML, or a key twice in one map.
    #[error("Error: Unable to parse the configuration: {0}")]
    Yaml(String),
    /// Not a list of `header`, `set` and `unset`.
    #[error("Error: The configuration must be a list of 'header', 'set' and 'unset' operations: {0}")]
    Shape(String),
    /// A key without value.
    #[error("Error: 'set' operation values must not be 'null'.")]
    Null,
}

impl Tree {
    /// Reads a configuration file: a list with one optional `header` and any number of `set`.
    ///
    /// # Errors
    /// If the text is no YAML, has a key twice, a null, or another shape.
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        let document: Value = serde_yaml::from_str(text).map_err(|error| DocumentError::Yaml(error.to_string()))?;
        let Value::Sequence(operations) = document else {
            return Err(DocumentError::Shape("the document is no list".into()));
        };
        let mut tree = Self::default();
        for operation in operations {
            let Value::Mapping(operation) = operation else {
                return Err(DocumentError::Shape("an entry is no map".into()));
            };
            for (verb, body) in operation {
                match verb.as_str() {
                    Some("header") => {}
                    Some("set") => tree.merge(Self::from_yaml(body)?),
                    _ => return Err(DocumentError::Shape(format!("unknown operation {verb:?}"))),
                }
            }
        }
        Ok(tree)
    }

    fn from_yaml(value: Value) -> Result<Self, DocumentError> {
        Ok(match value {
            Value::Null => return Err(DocumentError::Null),
            Value::Sequence(items) => Self::List(items.into_iter().map(Self::from_yaml).collect::<Result<_, _>>()?),
            Value::Mapping(entries) => {
                let mut map = BTreeMap::new();
                for (keys, value) in entries {
                    let value = Self::from_yaml(value)?;
                    for key in each_key(&scalar(&keys)?) {
                        map.insert(key, value.clone());
                    }
                }
                Self::Map(map)
            }
            scalar_value => Self::Text(scalar(&scalar_value)?),
        })
    }

    /// Puts `other` over this tree.
    pub fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Map(mine), Self::Map(theirs)) => {
                for (key, value) in theirs {
                    match mine.get_mut(&key) {
                        Some(present) => present.merge(value),
                        None => drop(mine.insert(key, value)),
                    }
                }
            }
            (mine, theirs) => *mine = theirs,
        }
    }

    /// What stands at `path`.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |tree, key| match tree {
            Self::Map(map) => map.get(*key),
            _ => None,
        })
    }

    /// The leaf at `path`.
    #[must_use]
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        match self.at(path) {
            Some(Self::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Whether the switch at `path` is on; `default`, if it is not there.
    #[must_use]
    pub fn is_on(&self, path: &[&str], default: bool) -> bool {
        self.text(path).map_or(default, |text| matches!(text, "on" | "true" | "enabled" | "yes"))
    }

    /// The entries of the map at `path`, none if there is no map.
    pub fn entries(&self, path: &[&str]) -> impl Iterator<Item = (&str, &Self)> {
        let map = match self.at(path) {
            Some(Self::Map(map)) => Some(map),
            _ => None,
        };
        map.into_iter().flatten().map(|(key, value)| (key.as_str(), value))
    }

    /// What `to` has and this has not, and what this has and `to` has not. `None` where there is nothing.
    #[must_use]
    pub fn diff(&self, to: &Self) -> (Option<Self>, Option<Self>) {
        (to.without(self), self.without_keys_of(to))
    }

    /// The parts of this tree that differ from `other`.
    fn without(&self, other: &Self) -> Option<Self> {
        let (Self::Map(mine), Self::Map(theirs)) = (self, other) else {
            return (self != other).then(|| self.clone());
        };
        let differs = |(key, value): (&String, &Self)| match theirs.get(key) {
            Some(present) => value.without(present).map(|rest| (key.clone(), rest)),
            None => Some((key.clone(), value.clone())),
        };
        let rest: BTreeMap<_, _> = mine.iter().filter_map(differs).collect();
        (!rest.is_empty()).then_some(Self::Map(rest))
    }

    /// The parts of this tree whose keys `other` lacks.
    fn without_keys_of(&self, other: &Self) -> Option<Self> {
        let (Self::Map(mine), Self::Map(theirs)) = (self, other) else { return None };
        let gone = |(key, value): (&String, &Self)| match theirs.get(key) {
            Some(present) => value.without_keys_of(present).map(|rest| (key.clone(), rest)),
            None => Some((key.clone(), value.clone())),
        };
        let rest: BTreeMap<_, _> = mine.iter().filter_map(gone).collect();
        (!rest.is_empty()).then_some(Self::Map(rest))
    }

    /// The first half of the tree's branches over `before`: what runs after an apply that broke off.
    #[must_use]
    pub(super) fn half_over(&self, before: &Self) -> Self {
        let (Self::Map(mine), Self::Map(theirs)) = (self, before) else { return before.clone() };
        let mut half = theirs.clone();
        half.extend(mine.iter().take(mine.len().div_ceil(2)).map(|(key, value)| (key.clone(), value.clone())));
        Self::Map(half)
    }
}

/// The keys that one key stands for: `p0_if,p1_if` is two interfaces, and so is `vlan11,21`.
fn each_key(keys: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for key in keys.split(',').map(str::trim) {
        let stem = all.first().map_or("", |first| first.trim_end_matches(|letter: char| letter.is_ascii_digit()));
        let short = !key.is_empty() && key.bytes().all(|letter| letter.is_ascii_digit());
        all.push(if short { format!("{stem}{key}") } else { key.to_owned() });
    }
    all
}

fn scalar(value: &Value) -> Result<String, DocumentError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Null => Err(DocumentError::Null),
        other => Err(DocumentError::Shape(format!("{other:?} where a word or number belongs"))),
    }
}

/// Whole numbers are written as numbers, all else as text.
impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => match text.parse::<u64>() {
                Ok(number) if number.to_string() == *text => serializer.serialize_u64(number),
                _ => serializer.serialize_str(text),
            },
            Self::List(items) => serializer.collect_seq(items),
            Self::Map(map) => serializer.collect_map(map),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(set: &str) -> Tree {
        let body: String = set.lines().map(|line| format!("    {line}\n")).collect();
        Tree::parse(&format!("- header:\n    model: VX\n- set:\n{body}")).unwrap()
    }

    #[test]
    fn refuses_what_is_no_configuration() {
        for (text, complaint) in [
            ("- set:\n    a: 1\n    a: 2\n", "duplicate"),
            ("- set:\n    vrf:\n      list:\n", "must not be 'null'"),
            ("set:\n  a: 1\n", "must be a list"),
            ("- put:\n    a: 1\n", "unknown operation"),
            ("- set: [\n", "Unable to parse"),
        ] {
            let error = Tree::parse(text).unwrap_err().to_string();
            assert!(error.contains(complaint), "{text:?}: {error}");
        }
    }

    #[test]
    fn number_keys_and_shared_keys_are_names() {
        let read =
            tree("interface:\n  p0_if,p1_if: {type: swp}\n  vlan11,21: {type: svi}\nvlan: {10: {vni: {'10010': {}}}}");
        assert_eq!(read.text(&["interface", "vlan21", "type"]), Some("svi"));
        assert_eq!(read.text(&["interface", "p1_if", "type"]), Some("swp"));
        assert!(read.at(&["vlan", "10", "vni", "10010"]).is_some());
    }

    #[test]
    fn a_diff_is_empty_only_between_equals() {
        let (old, new) = (tree("a: {x: 1, y: {z: on}}\nb: {}"), tree("a: {x: 2, y: {}}\nc: {}"));
        assert_eq!(old.diff(&old), (None, None));
        let (set, unset) = old.diff(&new);
        assert_eq!(set, Some(tree("a: {x: 2}\nc: {}")));
        assert_eq!(unset, Some(tree("a: {y: {z: on}}\nb: {}")));
    }

    #[test]
    fn order_of_keys_does_not_matter() {
        assert_eq!(tree("a: 1\nb: {c: x, d: y}").diff(&tree("b: {d: y, c: x}\na: 1")), (None, None));
    }
}

//! From text to a tree, strictly.

use std::collections::BTreeMap;

use serde_yaml::Value;

use super::{
    Fault,
    tree::{Key, Node},
};

/// What is below `set`. Scalars are texts: NVUE reads `on` and 16 by what a key asks for.
pub(super) fn settings(text: &str, faults: &mut Vec<Fault>) -> Node {
    let whole = |fault: String| Fault { path: String::new(), fault };
    let document: Value = match serde_yaml::from_str(text) {
        Ok(document) => document,
        Err(error) => {
            faults.push(whole(format!("does not load: {error}")));
            return Node::default();
        }
    };
    let parts = match document {
        Value::Sequence(parts) => parts,
        map @ Value::Mapping(_) => vec![map],
        _ => Vec::new(),
    };
    let mut settings = None;
    for (name, value) in parts.into_iter().flat_map(named) {
        match name.as_deref() {
            Some("header") => {}
            Some("set") if settings.is_none() => settings = Some(value),
            Some("set") => faults.push(whole("has more than one `set`".into())),
            Some(other) => faults.push(whole(format!("has `{other}` where only `header` and `set` can be"))),
            None => faults.push(whole("is not a list of maps with `header` and `set`".into())),
        }
    }
    match settings {
        Some(value) => node("", value, faults).unwrap_or_default(),
        None => {
            faults.push(whole("has no `set`".into()));
            Node::default()
        }
    }
}

/// The entries of a map; anything else is an entry without a name.
fn named(value: Value) -> Vec<(Option<String>, Value)> {
    match value {
        Value::Mapping(map) => map.into_iter().map(|(key, value)| (scalar(&key), value)).collect(),
        other => vec![(None, other)],
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

fn node(path: &str, value: Value, faults: &mut Vec<Fault>) -> Option<Node> {
    let mut fault = |fault: &str| faults.push(Fault { path: path.into(), fault: fault.into() });
    match value {
        Value::Mapping(map) => {
            let mut entries = BTreeMap::new();
            for (key, value) in map {
                let Some(name) = scalar(&key) else {
                    faults.push(Fault { path: path.into(), fault: "has a key that is not a text".into() });
                    continue;
                };
                let below = format!("{path}/{name}");
                if let Some(node) = node(&below, value, faults)
                    && entries.insert(Key::from(name.as_str()), node).is_some()
                {
                    faults.push(Fault { path: below, fault: "is there twice".into() });
                }
            }
            return Some(Node::Map(entries));
        }
        Value::Null => fault("is null: NVUE takes a value, or `{}` for a name alone"),
        Value::Sequence(_) => fault("is a list, which NVUE has nowhere"),
        Value::Tagged(_) => fault("has a YAML tag"),
        ref text => return scalar(text).map(Node::Leaf),
    }
    None
}

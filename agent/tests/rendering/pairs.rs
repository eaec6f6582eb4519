//! Rendered NVUE trees against known pairs of response and tree.

use std::{collections::BTreeMap, fs, path::PathBuf};

use agent::render::{self, DhcpServer, DhcpSettings, Environment, MetadataInterface, NetworkConfig, Templates};
use proto::forge::ManagedHostNetworkConfigResponse;
use serde::Deserialize;
use serde_yaml::Value;

/// Path to a leaf, `/` between names, and its scalar as a string; `{}` for an empty map.
type Leaves = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Pair {
    name: String,
    environment: Dpu,
}

#[derive(Deserialize)]
struct Dpu {
    uplinks: Vec<String>,
    metadata_interface: Option<String>,
}

/// One entry of the list of deliberate differences.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    what: String,
    why: String,
    #[serde(default)]
    pairs: BTreeMap<String, Edit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    #[serde(default)]
    ours: Vec<String>,
    #[serde(default)]
    theirs: Vec<String>,
}

fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/nvue").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn differences() -> Vec<Difference> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../templates/DIFFERENCES.yaml");
    serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn leaves(text: &str) -> Leaves {
    let document: Value = serde_yaml::from_str(text).unwrap();
    let mut leaves = Leaves::new();
    for (index, item) in document.as_sequence().unwrap().iter().enumerate() {
        flatten(&index.to_string(), item, &mut leaves);
    }
    leaves
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        other => panic!("no scalar: {other:?}"),
    }
}

fn flatten(path: &str, value: &Value, leaves: &mut Leaves) {
    match value {
        Value::Mapping(map) if map.is_empty() => {
            leaves.insert(path.into(), "{}".into());
        }
        Value::Mapping(map) => {
            for (key, value) in map {
                flatten(&format!("{path} {}", scalar(key)), value, leaves);
            }
        }
        other => {
            leaves.insert(path.into(), scalar(other));
        }
    }
}

fn response(name: &str) -> ManagedHostNetworkConfigResponse {
    serde_json::from_str(&fixture(&format!("{name}.input.json"))).unwrap()
}

fn rendered(name: &str, dpu: Dpu) -> String {
    let config = NetworkConfig::try_from(&response(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let environment = Environment {
        uplinks: Some(dpu.uplinks),
        metadata_interface: dpu.metadata_interface.map_or(MetadataInterface::Absent, MetadataInterface::Named),
        dhcp: DhcpSettings { server: DhcpServer::None, ..Default::default() },
        ..Default::default()
    };
    let templates = Templates::embedded().unwrap();
    render::files(&config, &environment, &templates).unwrap_or_else(|error| panic!("{name}: {error}")).nvue
}

#[test]
fn every_pair_renders_as_expected_but_for_listed_differences() {
    let pairs: Vec<Pair> = serde_yaml::from_str(&fixture("index.yaml")).unwrap();
    assert_eq!(pairs.len(), 19);
    let differences = differences();
    assert!(differences.iter().all(|difference| !difference.what.is_empty() && !difference.why.is_empty()));
    let mut faults = Vec::new();
    for Pair { name, environment } in pairs {
        let ours = leaves(&rendered(&name, environment));
        let theirs = leaves(&fixture(&format!("{name}.expected.yaml")));
        let line = |(path, value): (&String, &String)| format!("{path} = {value}");
        let (ours, theirs): (Vec<_>, Vec<_>) = (ours.iter().map(line).collect(), theirs.iter().map(line).collect());
        let edits = || differences.iter().filter_map(|difference| difference.pairs.get(&name));
        let allowed_ours: Vec<_> = edits().flat_map(|edit| &edit.ours).collect();
        let allowed_theirs: Vec<_> = edits().flat_map(|edit| &edit.theirs).collect();
        for only in ours.iter().filter(|line| !theirs.contains(line) && !allowed_ours.contains(line)) {
            faults.push(format!("{name} + {only}"));
        }
        for only in theirs.iter().filter(|line| !ours.contains(line) && !allowed_theirs.contains(line)) {
            faults.push(format!("{name} - {only}"));
        }
        // A difference that is none any more must leave the list.
        let stale = allowed_ours.iter().filter(|line| !ours.contains(line) || theirs.contains(line));
        faults.extend(stale.map(|line| format!("{name}: not ours alone: {line}")));
        let stale = allowed_theirs.iter().filter(|line| !theirs.contains(line) || ours.contains(line));
        faults.extend(stale.map(|line| format!("{name}: not theirs alone: {line}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

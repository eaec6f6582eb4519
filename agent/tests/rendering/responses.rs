//! Responses of the fixtures, and what they are rendered to.

use std::{fs, path::Path, sync::LazyLock};

use agent::render::{self, DhcpServer, DhcpSettings, Environment, NetworkConfig, RenderedFiles, Templates};
use proto::forge::ManagedHostNetworkConfigResponse;
use serde_yaml::Value;

pub(crate) static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::embedded().unwrap());

pub(crate) fn response(name: &str) -> ManagedHostNetworkConfigResponse {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/nvue").join(format!("{name}.input.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

pub(crate) fn environment() -> Environment {
    Environment { dhcp: DhcpSettings { server: DhcpServer::None, ..Default::default() }, ..Default::default() }
}

pub(crate) fn files(response: &ManagedHostNetworkConfigResponse) -> RenderedFiles {
    let config = NetworkConfig::try_from(response).unwrap_or_else(|error| panic!("{error}"));
    render::files(&config, &environment(), &TEMPLATES).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn settings(response: &ManagedHostNetworkConfigResponse) -> Value {
    let document: Value = serde_yaml::from_str(&files(response).nvue).unwrap();
    document[1]["set"].clone()
}

pub(crate) fn names(value: &Value) -> Vec<&str> {
    value.as_mapping().map(|map| map.keys().filter_map(Value::as_str).collect()).unwrap_or_default()
}

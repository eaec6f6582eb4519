//! How long rendering takes: NVUE's file with lint and read-back, and Kea's, for hosts with 16 virtual functions.
//!
//! `cargo bench -p agent --bench render`

#![allow(missing_docs, clippy::unwrap_used, reason = "a bench stops where a test would")]

use std::{fs, path::Path};

use agent::render::{self, Environment, NetworkConfig, Templates};
use divan::{Bencher, counter::BytesCount};
use proto::forge::ManagedHostNetworkConfigResponse;

fn main() {
    divan::main();
}

const ETV: i32 = 0;
const FNN: i32 = 5;

/// A known response with 16 virtual functions, each with so many prefixes of its VPC.
fn response(kind: i32, prefixes: u32) -> ManagedHostNetworkConfigResponse {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/nvue/nvue_startup_fnn_with_leaks.input.json");
    let mut response: ManagedHostNetworkConfigResponse =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let port = response.tenant_interfaces[0].clone();
    let ports = (0..16).map(|number| {
        let mut port = port.clone();
        port.virtual_function_id = Some(number);
        (port.vlan_id, port.vni, port.vpc_vni) = (100 + number, 1000 + number, 5000);
        port.gateway = format!("10.{number}.0.1/24");
        port.svi_ip = Some(format!("10.{number}.0.2/24"));
        port.ip = format!("10.{number}.0.5");
        port.prefix = format!("10.{number}.0.0/24");
        port.interface_prefix = format!("10.{number}.0.5/32");
        port.vpc_prefixes = (0..prefixes).map(|prefix| format!("11.{}.{}.0/24", prefix / 250, prefix % 250)).collect();
        port
    });
    response.tenant_interfaces = ports.collect();
    response.network_virtualization_type = Some(kind);
    response
}

#[divan::bench(args = [(ETV, 4), (FNN, 4), (ETV, 1000), (FNN, 1000)])]
fn sixteen_functions_with_prefixes(bencher: Bencher<'_, '_>, (kind, prefixes): (i32, u32)) {
    let response = response(kind, prefixes);
    let (environment, templates) = (Environment::default(), Templates::embedded().unwrap());
    let render = || {
        let config = NetworkConfig::try_from(&response).unwrap();
        render::files(&config, &environment, &templates).unwrap()
    };
    let bytes = render().nvue.len();
    bencher.counter(BytesCount::new(bytes)).bench(render);
}

#[divan::bench]
fn templates_from_the_program() -> Templates {
    Templates::embedded().unwrap()
}

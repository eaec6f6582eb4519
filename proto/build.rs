//! Compiles the .proto files with a compiler in Rust, so that a fresh machine needs no protoc.
use std::{env, error::Error, fs, path::PathBuf};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=.");
    let enabled = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    if !enabled("MESSAGES") {
        return Ok(());
    }
    let files = protox::compile(["forge.proto", "site.proto"], ["."])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), files.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_client(enabled("CLIENT"))
        .build_server(enabled("SERVER"))
        .build_transport(false)
        // A stand-in for one side need not know every call.
        .generate_default_stubs(true)
        .skip_debug(["forge.MachineCertificate"])
        .field_attribute("forge.InstancePhoneHomeLastContactResponse.timestamp", "#[serde(skip)]")
        .compile_well_known_types(false)
        // JSON with the names of the .proto: what support files and fixtures are written in.
        .message_attribute(".", "#[derive(serde::Serialize, serde::Deserialize)] #[serde(default)]")
        .enum_attribute(".", "#[derive(serde::Serialize, serde::Deserialize)] #[serde(rename_all = \"snake_case\")]")
        .field_attribute("forge.NetworkSecurityGroupRuleAttributes.source_net", "#[serde(flatten)]")
        .field_attribute("forge.NetworkSecurityGroupRuleAttributes.destination_net", "#[serde(flatten)]")
        .field_attribute("forge.InstanceInterfaceConfig.network_details", "#[serde(flatten)]")
        .field_attribute("forge.InstanceOperatingSystemConfig.variant", "#[serde(flatten)]")
        .field_attribute("forge.DpuNetworkStatus.observed_at", "#[serde(skip)]")
        .field_attribute("health.HealthReport.observed_at", "#[serde(skip)]")
        .field_attribute("health.HealthProbeAlert.in_alert_since", "#[serde(skip)]")
        .compile_fds(files)?;
    Ok(())
}

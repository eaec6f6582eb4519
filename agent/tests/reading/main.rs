//! Outputs of real commands and of known troubles, held against what they say.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

mod apply;
mod bgp_json;
mod bgp_text;
mod captures;
mod dhcp_requests;
mod hbn;
mod nv;
mod robust;

use std::{fs, path::PathBuf};

fn fixtures() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../tests/fixtures"].iter().collect()
}

/// A file under `tests/fixtures`.
fn fixture(name: &str) -> String {
    fs::read_to_string(fixtures().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The file of a case.
fn case(name: &str) -> String {
    fixture(&format!("cases/{name}"))
}

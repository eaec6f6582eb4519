//! The `hosts` part of the site file.

use proto::{
    common,
    site::{BmcSpec, DpuSpec, HostSpec},
};

use super::section::Section;

/// Reads `hosts`, whose shape is that of the operator protocol's host description.
pub(super) fn read(root: &Section<'_>) -> Vec<HostSpec> {
    root.sections("hosts").iter().map(host).collect()
}

fn host(section: &Section<'_>) -> HostSpec {
    section.only(&["name", "machine_id", "bmc", "dpus", "initial_state", "mac"]);
    HostSpec {
        name: section.value("name").unwrap_or_default(),
        machine_id: machine_id(section),
        bmc: section.section("bmc").as_ref().map(bmc),
        dpus: section.sections("dpus").iter().map(dpu).collect(),
        initial_state: section.value("initial_state").unwrap_or_default(),
        mac: section.value("mac").unwrap_or_default(),
    }
}

fn dpu(section: &Section<'_>) -> DpuSpec {
    section.only(&["name", "machine_id", "bmc", "oob_mac"]);
    DpuSpec {
        machine_id: machine_id(section),
        name: section.value("name").unwrap_or_default(),
        bmc: section.section("bmc").as_ref().map(bmc),
        oob_mac: section.value("oob_mac").unwrap_or_default(),
    }
}

fn bmc(section: &Section<'_>) -> BmcSpec {
    section.only(&["url", "username", "password", "mac", "system_id"]);
    BmcSpec {
        url: section.secret("url").unwrap_or_default(),
        username: section.value("username").unwrap_or_default(),
        password: section.secret("password").unwrap_or_default(),
        mac: section.value("mac").unwrap_or_default(),
        system_id: section.value("system_id").unwrap_or_default(),
    }
}

fn machine_id(section: &Section<'_>) -> Option<common::MachineId> {
    section.value_or_in("machine_id", "id").map(|id| common::MachineId { id })
}

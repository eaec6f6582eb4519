//! All readers by name, for `dpu-agent parse` and for tests that feed each of them.

use serde::Serialize;
use serde_json::Value;

use super::{
    ParseFault, apply_answer, bgp_json, bgp_text, containers, df, dhcp_timestamps, diff, fdb, images, kea_leases,
    link_states, links, mac_table, nv_answer, nv_bgp, nv_document, nv_revisions, nv_tables, privilege_level,
    supervisorctl, system_version,
};

/// A kind of output that can be read by name.
pub struct Kind {
    /// The name that `dpu-agent parse` takes.
    pub name: &'static str,
    /// The command that prints it.
    pub command: &'static str,
    read: fn(&str) -> Result<Value, ParseFault>,
}

impl Kind {
    /// The kind of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Reads `text` and gives what was read as JSON.
    ///
    /// # Errors
    /// [`ParseFault`] where and why the text is not of this kind.
    pub fn read(&self, text: &str) -> Result<Value, ParseFault> {
        (self.read)(text)
    }
}

fn value(read: impl Serialize) -> Value {
    // Only a map whose keys are no text could fail here, and there is none.
    serde_json::to_value(read).unwrap_or_default()
}

/// All kinds, by name.
pub const KINDS: &[Kind] = &[
    Kind { name: "bgp-json", command: "vtysh -c 'show bgp summary json'", read: |text| bgp_json(text).map(value) },
    Kind { name: "bgp-text", command: "vtysh -c 'show bgp summary'", read: |text| bgp_text(text).map(value) },
    Kind { name: "bridge-fdb", command: "bridge -j fdb show", read: |text| fdb(text).map(value) },
    Kind { name: "crictl-images", command: "crictl images -o json", read: |text| images(text).map(value) },
    Kind { name: "crictl-ps", command: "crictl ps -o json", read: |text| containers(text).map(value) },
    Kind { name: "df", command: "df -HP", read: |text| df(text).map(value) },
    Kind {
        name: "dhcp-timestamps",
        command: "cat dhcp_timestamps.json",
        read: |text| dhcp_timestamps(text).map(value),
    },
    Kind { name: "ip-link", command: "ip -j link show", read: |text| links(text).map(value) },
    Kind { name: "kea-leases", command: "cat kea-leases4.csv", read: |text| Ok(value(kea_leases(text))) },
    Kind { name: "mlxprivhost", command: "mlxprivhost -d DEVICE query", read: |text| privilege_level(text).map(value) },
    Kind { name: "nv-answer", command: "nv show …", read: |text| Ok(value(nv_answer(text))) },
    Kind { name: "nv-apply", command: "nv config apply -y", read: |text| Ok(value(apply_answer(text))) },
    Kind { name: "nv-bgp", command: "nv show vrf default router bgp neighbor", read: |text| nv_bgp(text).map(value) },
    Kind { name: "nv-config", command: "nv config show", read: |text| nv_document(text).map(value) },
    Kind { name: "nv-diff", command: "nv config diff", read: |text| Ok(value(diff(text))) },
    Kind { name: "nv-interface", command: "nv show interface -o json", read: |text| link_states(text).map(value) },
    Kind {
        name: "nv-mac-table",
        command: "nv show bridge domain br_default mac-table -o json",
        read: |text| mac_table(text).map(value),
    },
    Kind { name: "nv-revision", command: "nv config revision", read: |text| nv_revisions(text).map(value) },
    Kind { name: "nv-show", command: "nv show …", read: |text| nv_tables(text).map(value) },
    Kind { name: "nv-system", command: "nv show system -o json", read: |text| system_version(text).map(value) },
    Kind { name: "supervisorctl", command: "supervisorctl status", read: |text| supervisorctl(text).map(value) },
];

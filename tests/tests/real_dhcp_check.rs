//! Real DHCP servers judge what the agent renders for them: the files of every recorded response, and of strange ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use testbed::{
    Binaries,
    real::{Lab, Part, ServerKind, missing},
};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
const OPTIONS: &[&str] = &[
    "--nameserver=192.168.126.2",
    "--nameserver=192.168.126.3",
    "--ntp-server=192.168.126.9",
    "--provisioning-server=192.168.126.20",
];

struct Judge {
    kind: ServerKind,
    agent: PathBuf,
    lab: Lab,
    interfaces: BTreeSet<String>,
}

impl Judge {
    fn new(kind: ServerKind) -> Self {
        let agent = Binaries::ready(false).unwrap().path("dpu-agent");
        Self { kind, agent, lab: Lab::new(&["dpu"]), interfaces: BTreeSet::new() }
    }

    /// The file that the agent renders, or what it says against the response.
    fn render(&self, kind: &str, response: Option<&Value>, options: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.agent);
        command.args(["render", "--only", "dhcp", "--dhcp-server", kind]).args(options).stdin(Stdio::null());
        let file = self.lab.path().join("response.json");
        match response {
            Some(response) => {
                std::fs::write(&file, response.to_string()).unwrap();
                command.arg(&file);
            }
            None => {
                command.arg("--isolated");
            }
        }
        let done = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if done.status.success() { Ok(text(done.stdout)) } else { Err(text(done.stderr)) }
    }

    /// Fails unless the server takes what is rendered for a response, or says why nothing is rendered.
    fn takes(&mut self, what: &str, response: Option<&Value>, options: &[&str]) -> Result<(), String> {
        let config = self.render(self.kind.name(), response, options)?;
        // Kea's check looks for the interfaces; its file is the one that is easily read for their names.
        let named: Value = serde_json::from_str(&self.render("kea", response, options)?).unwrap();
        for interface in named["Dhcp4"]["interfaces-config"]["interfaces"].as_array().unwrap() {
            let interface = interface.as_str().unwrap();
            if self.interfaces.insert(interface.to_owned()) {
                self.lab.ip("dpu", &format!("link add {interface} type bridge"));
            }
        }
        let file = self.lab.path().join("config");
        std::fs::write(&file, &config).unwrap();
        if let Err(said) = self.kind.refuses(&self.lab, "dpu", &file) {
            panic!("{what} {options:?}: {} refuses\n{config}\n{said}", self.kind.name());
        }
        Ok(())
    }
}

/// Every recorded response, by file name.
fn responses() -> Vec<(String, Value)> {
    let files = std::fs::read_dir(Path::new(FIXTURES).join("nvue")).unwrap();
    let mut responses: Vec<_> = files
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name()?.to_str()?.strip_suffix(".input.json")?.to_owned();
            Some((name, serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()))
        })
        .collect();
    responses.sort_by(|(one, _), (other, _)| one.cmp(other));
    assert!(responses.len() >= 19, "{} responses", responses.len());
    responses
}

fn the_server_takes_what_is_rendered(kind: ServerKind) {
    let mut judge = Judge::new(kind);
    let hooks = kind.hooks().map(|directory| format!("--kea-hooks={directory}"));
    let hooks: Vec<&str> = hooks.iter().map(String::as_str).collect();
    for (name, response) in responses() {
        for options in [&[], OPTIONS, &[OPTIONS, &hooks].concat()] {
            judge
                .takes(&name, Some(&response), options)
                .unwrap_or_else(|said| panic!("{name} is not rendered: {said}"));
        }
    }
    judge.takes("isolated", None, &[]).unwrap();
    judge.takes("isolated", None, OPTIONS).unwrap();
}

/// Names and URLs come from tenants. Whatever of them the agent lets through must leave the file one that the server takes.
fn strange_values_break_no_file(kind: ServerKind) {
    let mut judge = Judge::new(kind);
    let text = std::fs::read_to_string(Path::new(FIXTURES).join("nvue/docs_example_etv.input.json")).unwrap();
    let response: Value = serde_json::from_str(&text).unwrap();
    let mut taken = Vec::new();
    for value in [
        "plain.example.com",
        "quote\"quote",
        "back\\slash",
        "semi;colon}",
        "{{ jinja }}",
        "{% raw %}",
        "comma,comma",
        "hash # hash",
        "new\nline",
        "tab\ttab",
        "'single'",
        "$(reboot)",
        "größe.example.com",
        "null",
        "0x41",
        " leading and trailing ",
        "",
    ] {
        for field in ["fqdn", "booturl"] {
            let mut response = response.clone();
            response["tenant_interfaces"][0][field] = json!(value);
            if judge.takes(&format!("{field} {value:?}"), Some(&response), OPTIONS).is_ok() {
                taken.push((field, value));
            }
        }
    }
    assert!(taken.contains(&("fqdn", "plain.example.com")), "{taken:?}");
    assert!(!taken.contains(&("fqdn", "new\nline")), "{taken:?}");
}

#[test]
fn needs_kea_it_takes_what_is_rendered() {
    if !missing(&[Part::Namespaces, Part::Kea]) {
        the_server_takes_what_is_rendered(ServerKind::Kea);
    }
}

#[test]
fn needs_dhcpd_it_takes_what_is_rendered() {
    if !missing(&[Part::Namespaces, Part::Dhcpd]) {
        the_server_takes_what_is_rendered(ServerKind::Dhcpd);
    }
}

#[test]
fn needs_kea_strange_values_break_no_file() {
    if !missing(&[Part::Namespaces, Part::Kea]) {
        strange_values_break_no_file(ServerKind::Kea);
    }
}

#[test]
fn needs_dhcpd_strange_values_break_no_file() {
    if !missing(&[Part::Namespaces, Part::Dhcpd]) {
        strange_values_break_no_file(ServerKind::Dhcpd);
    }
}

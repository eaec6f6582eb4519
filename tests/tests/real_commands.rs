//! What the agent reads in the output of this machine's own tools: iproute2 and df.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::process::Command;

use serde_json::Value;
use testbed::{
    Binaries,
    real::{Lab, Part, missing, parsed},
};

fn find<'v>(list: &'v Value, key: &str, value: &str) -> &'v Value {
    let found = list.as_array().unwrap().iter().find(|it| it[key] == value);
    found.unwrap_or_else(|| panic!("no {key} {value} in {list:#}"))
}

#[test]
fn needs_iproute2_links_and_learnt_addresses_are_read() {
    if missing(&[Part::Namespaces]) {
        return;
    }
    let programs = Binaries::ready(false).unwrap();
    let lab = Lab::new(&["dpu", "host"]);
    lab.link(("dpu", "pf0vf0_if"), ("host", "pf0vf0_if_r"));
    for line in [
        "link add br_default type bridge",
        "link set br_default up",
        "link set pf0vf0_if master br_default mtu 9000",
        "link add p0_if type veth peer name unplugged",
        "link set p0_if up",
    ] {
        lab.ip("dpu", line);
    }
    lab.run("dpu", "bridge", ["fdb", "add", "02:00:00:00:00:77", "dev", "pf0vf0_if", "master", "static"]);

    let links = parsed(&programs, "ip-link", &lab.ip("dpu", "-j link show"));
    let port = find(&links, "ifname", "pf0vf0_if");
    assert_eq!((&port["operstate"], &port["mtu"]), (&"UP".into(), &9000.into()), "{port}");
    // Its other end is down, as with a cable that nobody plugged in.
    let uplink = find(&links, "ifname", "p0_if");
    assert_ne!(uplink["operstate"], "UP", "{uplink}");

    let entries = parsed(&programs, "bridge-fdb", &lab.run("dpu", "bridge", ["-j", "fdb", "show"]));
    let host = find(&entries, "mac", "02:00:00:00:00:77");
    assert_eq!((&host["ifname"], &host["state"]), (&"pf0vf0_if".into(), &"static".into()), "{host}");
}

#[test]
fn the_root_file_system_is_found_in_what_df_prints() {
    let done = Command::new("df").arg("-HP").output().unwrap();
    let disks = parsed(&Binaries::ready(false).unwrap(), "df", &String::from_utf8(done.stdout).unwrap());
    let used = find(&disks, "mount", "/")["used_percent"].as_u64().unwrap();
    assert!(used <= 100, "{used}");
}

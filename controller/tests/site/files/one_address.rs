//! No two machines have one MAC address or one BMC, in a site file or beside what the site knows.

use controller::{SiteFile, add_hosts, check_hosts, store::Store};

use crate::support::{dpu, host};

/// A host with a DPU; MAC addresses of the host, of its BMC, of the DPU and of the DPU's BMC, and the addresses of both
/// BMCs.
fn with_addresses(n: usize, macs: [&str; 4], bmcs: [&str; 2]) -> String {
    let ids = (host(n), dpu(n, 0));
    let [host_mac, bmc_mac, dpu_mac, dpu_bmc_mac] = macs;
    format!(
        "- name: host-{n}\n  machine_id: {}\n  mac: '{host_mac}'\n  bmc:\n    url: '{}'\n    mac: '{bmc_mac}'\n  dpus:\n  \
         - machine_id: {}\n    oob_mac: '{dpu_mac}'\n    bmc:\n      url: '{}'\n      mac: '{dpu_bmc_mac}'\n",
        ids.0, bmcs[0], ids.1, bmcs[1]
    )
}

#[test]
fn an_address_of_two_machines_is_refused_with_both_lines() {
    const FREE: [&str; 4] = ["02:00:00:00:01:01", "02:00:00:00:01:02", "02:00:00:00:01:03", "02:00:00:00:01:04"];
    const BMCS: [&str; 2] = ["https://192.0.2.11", "https://192.0.2.12"];
    let second = |macs: [&str; 4], bmcs: [&str; 2]| {
        let own = ["02:00:00:00:02:01", "02:00:00:00:02:02", "02:00:00:00:02:03", "02:00:00:00:02:04"];
        let macs = [0, 1, 2, 3].map(|place| if macs[place].is_empty() { own[place] } else { macs[place] });
        let own = ["https://192.0.2.21", "https://192.0.2.22"];
        let bmcs = [0, 1].map(|place| if bmcs[place].is_empty() { own[place] } else { bmcs[place] });
        format!("hosts:\n{}{}", with_addresses(1, FREE, BMCS), with_addresses(2, macs, bmcs))
    };
    const NONE: [&str; 4] = [""; 4];
    for (text, fault) in [
        (
            second([FREE[0], "", "", ""], ["", ""]),
            "16: hosts[1].mac: MAC address `02:00:00:00:01:01` is that of hosts[0].mac (line 4), too",
        ),
        (
            second(["02-00-00-00-01-03", "", "", ""], ["", ""]),
            "16: hosts[1].mac: MAC address `02:00:00:00:01:03` is that of hosts[0].dpus[0].oob_mac (line 10), too",
        ),
        (
            second(["", "", "", FREE[1]], ["", ""]),
            "25: hosts[1].dpus[0].bmc.mac: MAC address `02:00:00:00:01:02` is that of hosts[0].bmc.mac (line 7), too",
        ),
        (
            second(["", "", "02:00:00:00:02:01", ""], ["", ""]),
            "22: hosts[1].dpus[0].oob_mac: MAC address `02:00:00:00:02:01` is that of hosts[1].mac (line 16), too",
        ),
        (
            second(NONE, [BMCS[0], ""]),
            "18: hosts[1].bmc.url: BMC address `192.0.2.11` is that of hosts[0].bmc.url (line 6), too",
        ),
    ] {
        let error = SiteFile::parse("s", &text).expect_err(fault).to_string();
        assert_eq!(error, format!("s:{fault}"));
    }
    SiteFile::parse("s", &second(NONE, ["https://192.0.2.11:8443", ""])).unwrap();
    let bare = format!("hosts:\n{}{}", with_addresses(1, NONE, ["", ""]), with_addresses(2, NONE, ["", ""]));
    SiteFile::parse("s", &bare).unwrap();
}

#[tokio::test]
async fn an_address_of_a_machine_that_the_site_knows_is_refused_too() {
    let store = Store::open("sqlite::memory:").await.unwrap();
    let parse = |n: usize, macs, bmcs| {
        let text = format!("hosts:\n{}", with_addresses(n, macs, bmcs));
        check_hosts(&SiteFile::parse("s", &text).unwrap().hosts, &"Ready".into()).unwrap()
    };
    let now = controller::Timestamp::now();
    let (macs, bmcs) =
        (["02:00:00:00:01:01", "", "02:00:00:00:01:03", ""], ["https://192.0.2.11", "https://192.0.2.12"]);
    add_hosts(&store, None, &parse(1, macs, bmcs), now).await.unwrap();
    for (macs, bmcs, fault) in [
        (
            ["02:00:00:00:01:03", "", "", ""],
            ["", ""],
            "MAC address `02:00:00:00:01:03` of host-2 (mac) is that of host-1-dpu0 (oob_mac), too",
        ),
        (
            ["", "", "", "02:00:00:00:01:01"],
            ["", ""],
            "MAC address `02:00:00:00:01:01` of host-2-dpu0 (bmc.mac) is that of host-1 (mac), too",
        ),
        (
            [""; 4],
            ["", "https://192.0.2.11:443"],
            "BMC address `192.0.2.11` of host-2-dpu0 (bmc.url) is that of host-1 (bmc.url), too",
        ),
    ] {
        let refusal = add_hosts(&store, None, &parse(2, macs, bmcs), now).await.expect_err(fault);
        assert!(refusal.to_string().starts_with(fault), "{refusal}");
    }
    // Two that change places with each other are no two with one address.
    let (second, other) = (["02:00:00:00:02:01", "", "", ""], ["https://192.0.2.21", ""]);
    add_hosts(&store, None, &parse(2, second, other), now).await.unwrap();
    let swapped = [parse(1, second, other), parse(2, macs, bmcs)].concat();
    assert_eq!(add_hosts(&store, None, &swapped, now).await.unwrap().changed, 2);
}

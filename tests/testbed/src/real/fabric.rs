//! A DPU between two top-of-rack switches and a route server, all of them real routers in a lab.

use std::time::Duration;

use super::{Lab, Router};
use crate::block_until;

/// Loopback of the fabric's DPU.
pub const DPU_LOOPBACK: &str = "10.180.62.1";
/// The fabric's route server.
pub const ROUTE_SERVER: &str = "10.217.0.1";

const DPU_AS: u32 = 4_259_912_557;
const ROUTE_SERVER_AS: u32 = 11_415;
/// Of the first ToR; the second has the next one.
const TOR_AS: u32 = 65_001;
/// Sessions come up in two to three seconds here; a busy machine takes longer.
const CONVERGENCE: Duration = Duration::from_secs(40);

/// A DPU with uplinks `p0_if` and `p1_if` to two ToRs, and a route server behind them: real FRR on all four.
///
/// The uplinks carry unnumbered BGP for IPv4, the session to the route server EVPN. Timers are short.
#[derive(Debug)]
pub struct Fabric {
    /// The DPU's router.
    pub dpu: Router,
    /// The ToR switches behind `p0_if` and `p1_if`.
    pub tors: [Router; 2],
    /// The route server.
    pub route_server: Router,
    /// Where all of them live.
    pub lab: Lab,
}

impl Fabric {
    /// Builds the fabric and waits for all three sessions of the DPU.
    ///
    /// # Panics
    /// If they do not come up.
    #[must_use]
    pub fn up() -> Self {
        let lab = Lab::new(&["dpu", "tor0", "tor1", "rs"]);
        lab.link(("dpu", "p0_if"), ("tor0", "swp1"));
        lab.link(("dpu", "p1_if"), ("tor1", "swp1"));
        lab.link(("tor0", "swp31"), ("rs", "eth0"));
        lab.link(("tor1", "swp31"), ("rs", "eth1"));
        for (node, address) in [
            ("dpu", format!("{DPU_LOOPBACK}/32 dev lo")),
            ("rs", format!("{ROUTE_SERVER}/32 dev lo")),
            ("tor0", "192.0.2.0/31 dev swp31".into()),
            ("rs", "192.0.2.1/31 dev eth0".into()),
            ("tor1", "192.0.2.2/31 dev swp31".into()),
            ("rs", "192.0.2.3/31 dev eth1".into()),
        ] {
            lab.ip(node, &format!("addr add {address}"));
        }
        let route_server = Router::start(&lab, "rs", &[], &route_server());
        let tors = [0, 1].map(|index| Router::start(&lab, &format!("tor{index}"), &["swp1"], &tor(index)));
        let dpu = Router::start(&lab, "dpu", &["p0_if", "p1_if"], &dpu());
        let fabric = Self { dpu, tors, route_server, lab };
        fabric.settle();
        fabric
    }

    /// Waits until all three sessions of the DPU are up.
    ///
    /// # Panics
    /// If they do not come up.
    pub fn settle(&self) {
        self.wait_for("ipv4Unicast", "p0_if", |state| state == "Established");
        self.wait_for("ipv4Unicast", "p1_if", |state| state == "Established");
        self.wait_for("l2VpnEvpn", ROUTE_SERVER, |state| state == "Established");
    }

    /// Waits until the DPU's session with `peer` is as wanted; `family` is spelt as in FRR's JSON.
    ///
    /// # Panics
    /// If that does not happen.
    pub fn wait_for(&self, family: &str, peer: &str, wanted: impl Fn(&str) -> bool) {
        block_until(&format!("the DPU's {family} session with {peer}"), CONVERGENCE, || {
            let state = self.dpu.session(family, peer);
            if wanted(&state) { Ok(()) } else { Err(state) }
        });
    }

    /// Takes ToR `index` down, and waits until the DPU has noticed.
    ///
    /// # Panics
    /// If it does not notice.
    pub fn lose_tor(&mut self, index: usize) {
        self.tors[index].stop();
        self.wait_for("ipv4Unicast", &format!("p{index}_if"), |state| state != "Established");
    }

    /// Brings ToR `index` back, and waits for its session with the DPU.
    ///
    /// # Panics
    /// If it does not come up.
    pub fn return_tor(&mut self, index: usize) {
        self.tors[index].resume(&self.lab);
        self.wait_for("ipv4Unicast", &format!("p{index}_if"), |state| state == "Established");
    }

    /// Lines of configuration for the DPU's `router bgp`.
    ///
    /// # Panics
    /// If FRR refuses one.
    pub fn configure_dpu(&self, lines: &[&str]) {
        self.dpu.configure(DPU_AS, lines);
    }

    /// Lines of configuration for the `router bgp` of ToR `index`.
    ///
    /// # Panics
    /// If FRR refuses one.
    pub fn configure_tor(&self, index: usize, lines: &[&str]) {
        self.tors[index].configure(if index == 0 { TOR_AS } else { TOR_AS + 1 }, lines);
    }
}

fn router(number: u32, id: &str) -> String {
    format!("router bgp {number}\n bgp router-id {id}\n no bgp default ipv4-unicast\n timers bgp 1 3\n")
}

fn neighbor(peer: &str, lines: &[&str]) -> String {
    let all = lines.iter().chain(&["timers connect 1"]);
    all.map(|line| format!(" neighbor {peer} {line}\n")).collect()
}

fn family(name: &str, lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!(" address-family {name}\n{lines} exit-address-family\n")
}

fn multihop(number: u32, source: &str) -> [String; 3] {
    [format!("remote-as {number}"), "ebgp-multihop 4".into(), format!("update-source {source}")]
}

fn dpu() -> String {
    let peers = multihop(ROUTE_SERVER_AS, DPU_LOOPBACK);
    [
        router(DPU_AS, DPU_LOOPBACK),
        neighbor("p0_if", &["interface remote-as external"]),
        neighbor("p1_if", &["interface remote-as external"]),
        neighbor(ROUTE_SERVER, &peers.each_ref().map(String::as_str)),
        family(
            "ipv4 unicast",
            &[format!("network {DPU_LOOPBACK}/32"), "neighbor p0_if activate".into(), "neighbor p1_if activate".into()],
        ),
        family("l2vpn evpn", &[format!("neighbor {ROUTE_SERVER} activate"), "advertise-all-vni".into()]),
    ]
    .concat()
}

fn tor(index: u32) -> String {
    let server = format!("192.0.2.{}", index * 2 + 1);
    [
        router(TOR_AS + index, &format!("10.0.0.{}", 10 + index)),
        neighbor("swp1", &["interface remote-as external"]),
        neighbor(&server, &[&format!("remote-as {ROUTE_SERVER_AS}")]),
        family(
            "ipv4 unicast",
            &["redistribute connected".into(), "neighbor swp1 activate".into(), format!("neighbor {server} activate")],
        ),
    ]
    .concat()
}

fn route_server() -> String {
    let clients = multihop(DPU_AS, ROUTE_SERVER);
    [
        router(ROUTE_SERVER_AS, ROUTE_SERVER),
        neighbor("192.0.2.0", &["remote-as 65001"]),
        neighbor("192.0.2.2", &["remote-as 65002"]),
        neighbor(DPU_LOOPBACK, &clients.each_ref().map(String::as_str)),
        family(
            "ipv4 unicast",
            &[
                format!("network {ROUTE_SERVER}/32"),
                "neighbor 192.0.2.0 activate".into(),
                "neighbor 192.0.2.2 activate".into(),
            ],
        ),
        family(
            "l2vpn evpn",
            &[
                format!("neighbor {DPU_LOOPBACK} activate"),
                format!("neighbor {DPU_LOOPBACK} attribute-unchanged next-hop"),
            ],
        ),
    ]
    .concat()
}

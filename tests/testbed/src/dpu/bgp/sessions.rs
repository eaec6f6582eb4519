use std::{collections::BTreeMap, net::IpAddr};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::dpu::{BgpScenario, DpuDir, Revisions, Tree, dir::millis_now};

/// FRR's address families and NVUE's names of them, in FRR's order. NVUE switches the first on by itself.
pub(super) const FAMILIES: [(&str, &str, bool); 3] =
    [("ipv4Unicast", "ipv4-unicast", true), ("ipv6Unicast", "ipv6-unicast", false), ("l2VpnEvpn", "l2vpn-evpn", false)];
const MEMORY: &str = "bgp.json";
const UP: &str = "Established";

/// A BGP session of a simulated DPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// VRF of the session.
    pub vrf: String,
    /// Address or interface of the peer.
    pub peer: String,
    /// FRR's names of the address families that are enabled.
    pub families: Vec<&'static str>,
    /// State in FRR's words.
    pub state: String,
    /// When it came into this state, in milliseconds since the epoch; `None` for a peer that was never up.
    pub since: Option<u64>,
    /// How often it came up.
    pub established: u32,
    /// How often it went down.
    pub dropped: u32,
    /// The peer's AS number, 0 if it was never heard of.
    pub remote_as: u32,
    /// The peer's name, if it was heard of.
    pub hostname: Option<String>,
}

impl Session {
    /// Whether the session is established.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.state == UP
    }

    /// FRR's word for how the peer is named.
    pub(super) fn id_type(&self) -> &'static str {
        match self.peer.parse() {
            Ok(IpAddr::V4(_)) => "ipv4",
            Ok(IpAddr::V6(_)) => "ipv6",
            Err(_) => "interface",
        }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Memory {
    state: String,
    since: Option<u64>,
    established: u32,
    dropped: u32,
}

/// The sessions that the running configuration asks for, in the state that the scenario gives them.
///
/// # Errors
/// If the DPU's files cannot be read or written.
pub fn sessions(dir: &DpuDir) -> Result<Vec<Session>> {
    let revisions = Revisions::open(dir)?;
    let (running, scenario) = (revisions.running()?, dir.scenario()?.bgp);
    let mut memory: BTreeMap<String, Memory> = dir.load(MEMORY)?;
    let mut next = BTreeMap::new();
    let mut found = Vec::new();
    for (vrf, peer, families) in peers(&running, &scenario) {
        let key = format!("{vrf} {peer}");
        let mut session = memory.remove(&key).unwrap_or_default();
        let settled = millis_now() >= revisions.applied_at() + (scenario.settle_secs * 1000.0) as u64;
        let wanted = match wanted_state(&running, &scenario, &vrf, &peer) {
            UP if session.state != UP && !settled => "Connect",
            wanted => wanted,
        };
        if session.state != wanted {
            match (session.state.as_str(), wanted) {
                (_, UP) => (session.since, session.established) = (Some(millis_now()), session.established + 1),
                (UP, _) => (session.since, session.dropped) = (Some(millis_now()), session.dropped + 1),
                _ => {}
            }
            wanted.clone_into(&mut session.state);
        }
        let known = session.established > 0;
        found.push(Session {
            families,
            state: session.state.clone(),
            since: session.since,
            established: session.established,
            dropped: session.dropped,
            remote_as: remote_as(&running, &vrf, &peer)
                .filter(|_| known || peer.parse::<IpAddr>().is_ok())
                .unwrap_or(0),
            hostname: known.then(|| hostname(&peer)),
            vrf,
            peer,
        });
        next.insert(key, session);
    }
    dir.store(MEMORY, &next)?;
    Ok(found)
}

/// Peers of every VRF that speaks BGP, with the address families they are asked to speak.
fn peers(running: &Tree, scenario: &BgpScenario) -> Vec<(String, String, Vec<&'static str>)> {
    let mut found = Vec::new();
    for (vrf, body) in running.entries(&["vrf"]) {
        if !body.is_on(&["router", "bgp", "enable"], false) {
            continue;
        }
        for (peer, neighbor) in body.entries(&["router", "bgp", "neighbor"]) {
            let group = neighbor.text(&["peer-group"]).unwrap_or_default();
            let enabled = |(_, family, default): &(_, &str, bool)| {
                let switch = ["address-family", family, "enable"];
                let group = body.at(&["router", "bgp", "peer-group", group]);
                neighbor.is_on(&switch, group.map_or(*default, |group| group.is_on(&switch, *default)))
            };
            let families = FAMILIES.iter().filter(|family| enabled(family)).map(|(name, ..)| *name).collect();
            found.push((vrf.to_owned(), peer.to_owned(), families));
        }
        if vrf == "default" {
            let stranger = |peer: &String| (vrf.to_owned(), peer.clone(), vec!["ipv4Unicast"]);
            found.extend(scenario.unexpected.iter().map(stranger));
        }
    }
    found
}

fn wanted_state<'a>(running: &Tree, scenario: &'a BgpScenario, vrf: &str, peer: &str) -> &'a str {
    let neighbor = ["vrf", vrf, "router", "bgp", "neighbor", peer];
    let of_host = running.at(&neighbor).is_some_and(|neighbor| neighbor.is_on(&["passive-mode"], false));
    let shut = running.at(&["interface", peer]).is_some_and(|port| {
        port.text(&["link", "state"]) == Some("down") || port.at(&["link", "state", "down"]).is_some()
    });
    let cut = scenario.cut_while.as_ref().is_some_and(|path| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        running.at(&path).is_some() && peer.parse::<IpAddr>().is_err()
    });
    match scenario.peers.get(peer) {
        _ if cut => "Active",
        Some(state) => state,
        // A host that is not asked to speaks no BGP.
        None if of_host => "Active",
        None if shut => "Idle",
        None => UP,
    }
}

/// A number that is the peer's own: from the configuration, or made up from its name.
fn remote_as(running: &Tree, vrf: &str, peer: &str) -> Option<u32> {
    let bgp = running.at(&["vrf", vrf, "router", "bgp"])?;
    let group = bgp.text(&["neighbor", peer, "peer-group"]).unwrap_or_default();
    let said = bgp.text(&["neighbor", peer, "remote-as"]).or(bgp.text(&["peer-group", group, "remote-as"]));
    said.and_then(|text| text.parse().ok()).or_else(|| {
        let digits: String = peer.chars().filter(char::is_ascii_digit).collect();
        digits.get(digits.len().saturating_sub(2)..).and_then(|tail| tail.parse::<u32>().ok()).map(|tail| 65_001 + tail)
    })
}

fn hostname(peer: &str) -> String {
    match peer.strip_prefix('p').and_then(|rest| rest.split_once('_')) {
        Some((port, _)) => format!("tor-{port}"),
        None => format!("rs-{}", peer.rsplit(['.', ':']).next().unwrap_or(peer)),
    }
}

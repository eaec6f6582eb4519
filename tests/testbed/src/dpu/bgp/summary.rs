use std::fmt::Write as _;

use serde::Serialize;

use super::{Session, sessions::FAMILIES};
use crate::dpu::{Tree, dir::millis_now};

/// A BGP instance: one VRF that speaks BGP.
pub(super) struct Speaker<'a> {
    pub(super) vrf: &'a str,
    id: i32,
    router_id: &'a str,
    asn: u32,
    dynamic_peers: u32,
    sessions: Vec<&'a Session>,
}

impl<'a> Speaker<'a> {
    pub(super) fn all(running: &'a Tree, sessions: &'a [Session], dynamic_peers: u32) -> Vec<Self> {
        let speaks = |(_, body): &(&str, &Tree)| body.is_on(&["router", "bgp", "enable"], false);
        let mut all: Vec<Self> = running
            .entries(&["vrf"])
            .filter(speaks)
            .map(|(vrf, _)| Self {
                vrf,
                id: 0,
                router_id: running.text(&["router", "bgp", "router-id"]).unwrap_or("0.0.0.0"),
                asn: running.text(&["router", "bgp", "autonomous-system"]).and_then(|n| n.parse().ok()).unwrap_or(0),
                dynamic_peers: if vrf == "default" { dynamic_peers } else { 0 },
                sessions: sessions.iter().filter(|session| session.vrf == vrf).collect(),
            })
            .collect();
        // FRR shows the default VRF first, with id 0.
        all.sort_by_key(|speaker| (speaker.vrf != "default", speaker.vrf));
        for (id, speaker) in all.iter_mut().filter(|speaker| speaker.vrf != "default").enumerate() {
            speaker.id = i32::try_from(id).unwrap_or(0) + 1;
        }
        all
    }

    fn in_family(&self, family: &str) -> Vec<&'a Session> {
        self.sessions.iter().copied().filter(|session| session.families.contains(&family)).collect()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary<'a> {
    router_id: &'a str,
    #[serde(rename = "as")]
    asn: u32,
    vrf_id: i32,
    vrf_name: &'a str,
    table_version: u32,
    rib_count: usize,
    rib_memory: usize,
    peer_count: usize,
    peer_memory: usize,
    peer_group_count: u32,
    peer_group_memory: u32,
    #[serde(serialize_with = "as_map")]
    peers: Vec<(&'a str, Peer<'a>)>,
    failed_peers: usize,
    displayed_peers: usize,
    total_peers: usize,
    dynamic_peers: u32,
    best_path: BestPath,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BestPath {
    multi_path_relax: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Peer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<&'a str>,
    remote_as: u32,
    local_as: u32,
    version: u8,
    msg_rcvd: u64,
    msg_sent: u64,
    table_version: u32,
    outq: u32,
    inq: u32,
    peer_uptime: String,
    peer_uptime_msec: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_uptime_established_epoch: Option<u64>,
    pfx_rcd: u32,
    pfx_snt: u32,
    state: &'a str,
    peer_state: &'static str,
    connections_established: u32,
    connections_dropped: u32,
    id_type: &'static str,
}

fn as_map<S: serde::Serializer>(peers: &[(&str, Peer<'_>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(peers.iter().map(|(name, peer)| (name, peer)))
}

/// The JSON of `show bgp … summary json`: by VRF if asked for all, by address family unless one was named.
pub(super) fn json(speakers: &[Speaker<'_>], by_vrf: bool, only: Option<&str>) -> String {
    let of = |speaker: &Speaker<'_>| {
        let members: Vec<String> = FAMILIES
            .iter()
            .filter(|(family, ..)| only.is_none_or(|only| only == *family))
            .map(|(family, ..)| (*family, speaker.in_family(family)))
            .filter(|(_, sessions)| !sessions.is_empty())
            .map(|(family, sessions)| {
                let body = serde_json::to_string_pretty(&summary(speaker, &sessions)).unwrap_or_default();
                if only.is_some() { body } else { format!("\"{family}\":{body}\n") }
            })
            .collect();
        match (only, members.is_empty()) {
            (Some(_), false) => members.concat(),
            // FRR prints a new line between the braces of an instance without neighbours.
            _ => format!("{{\n{}}}", members.join(",\n")),
        }
    };
    let text = match speakers {
        [] => "{}".to_owned(),
        speakers if by_vrf => {
            let members: Vec<_> =
                speakers.iter().map(|speaker| format!("\"{}\":{}\n", speaker.vrf, of(speaker))).collect();
            format!("{{\n{}}}", members.join(",\n"))
        }
        [speaker, ..] => of(speaker),
    };
    text + "\n"
}

fn summary<'a>(speaker: &Speaker<'a>, sessions: &[&'a Session]) -> Summary<'a> {
    let up = sessions.iter().filter(|session| session.is_up()).count();
    Summary {
        router_id: speaker.router_id,
        asn: speaker.asn,
        vrf_id: speaker.id,
        vrf_name: speaker.vrf,
        table_version: 8,
        rib_count: routes(up),
        rib_memory: routes(up) * 192,
        peer_count: sessions.len(),
        peer_memory: sessions.len() * 741_464,
        peer_group_count: 1,
        peer_group_memory: 64,
        peers: sessions.iter().map(|session| (session.peer.as_str(), peer(speaker, session))).collect(),
        failed_peers: sessions.len() - up,
        displayed_peers: sessions.len(),
        total_peers: sessions.len(),
        dynamic_peers: speaker.dynamic_peers,
        best_path: BestPath { multi_path_relax: "false" },
    }
}

fn peer<'a>(speaker: &Speaker<'_>, session: &'a Session) -> Peer<'a> {
    let age = session.since.map(|since| millis_now().saturating_sub(since));
    let messages = messages(session);
    Peer {
        hostname: session.hostname.as_deref(),
        remote_as: session.remote_as,
        local_as: speaker.asn,
        version: 4,
        msg_rcvd: messages,
        msg_sent: messages,
        table_version: 0,
        outq: 0,
        inq: 0,
        peer_uptime: uptime(age),
        peer_uptime_msec: age.map_or(0, |age| age / 1000 * 1000),
        peer_uptime_established_epoch: session.since.map(|since| since / 1000),
        pfx_rcd: if session.is_up() { 5 } else { 0 },
        pfx_snt: if session.is_up() { 6 } else { 0 },
        state: &session.state,
        peer_state: "OK",
        connections_established: session.established,
        connections_dropped: session.dropped,
        id_type: session.id_type(),
    }
}

fn routes(peers_up: usize) -> usize {
    1 + 5 * peers_up
}

fn messages(session: &Session) -> u64 {
    match session.since {
        Some(since) if session.is_up() => 5 + millis_now().saturating_sub(since) / 1000,
        _ => u64::from(session.established) * 5,
    }
}

/// The tables of `show bgp … summary`.
pub(super) fn text(speakers: &[Speaker<'_>], vrf: &str, only: Option<&str>) -> String {
    if speakers.is_empty() {
        return "% BGP instance not found\n".to_owned();
    }
    let mut said = String::new();
    for speaker in speakers {
        for (family, ..) in FAMILIES.iter().filter(|(family, ..)| only.is_none_or(|only| only == *family)) {
            let sessions = speaker.in_family(family);
            if !sessions.is_empty() {
                table(&mut said, speaker, family, &sessions, only.is_none());
            }
        }
    }
    if said.is_empty() { format!("% No BGP neighbors found in VRF {vrf}\n") } else { said }
}

fn table(said: &mut String, speaker: &Speaker<'_>, family: &str, sessions: &[&Session], titled: bool) {
    let title = match family {
        "ipv4Unicast" => "IPv4 Unicast",
        "ipv6Unicast" => "IPv6 Unicast",
        _ => "L2VPN EVPN",
    };
    let up = sessions.iter().filter(|session| session.is_up()).count();
    let name = |session: &Session| match &session.hostname {
        Some(hostname) => format!("{hostname}({})", session.peer),
        None => session.peer.clone(),
    };
    let width = sessions.iter().map(|session| name(session).len()).max().unwrap_or(0).max(15);
    if titled {
        line(said, format_args!("\n{title} Summary (VRF {}):", speaker.vrf));
    }
    let (router_id, asn, id) = (speaker.router_id, speaker.asn, speaker.id);
    line(said, format_args!("BGP router identifier {router_id}, local AS number {asn} vrf-id {id}"));
    line(said, format_args!("BGP table version 8"));
    line(said, format_args!("RIB entries {}, using {} bytes of memory", routes(up), routes(up) * 192));
    line(said, format_args!("Peers {}, using {} KiB of memory", sessions.len(), sessions.len() * 724));
    line(said, format_args!("Peer groups 1, using 64 bytes of memory\n"));
    line(
        said,
        format_args!(
            "{:<width$} V         AS   MsgRcvd   MsgSent   TblVer  InQ OutQ  Up/Down State/PfxRcd   PfxSnt Desc",
            "Neighbor"
        ),
    );
    for session in sessions {
        let age = session.since.map(|since| millis_now().saturating_sub(since));
        let (state, sent) = if session.is_up() { ("5", 6) } else { (session.state.as_str(), 0) };
        let (name, asn, messages, uptime) = (name(session), session.remote_as, messages(session), uptime(age));
        line(
            said,
            format_args!(
                "{name:<width$} 4 {asn:>10} {messages:>9} {messages:>9}        0    0    0 {uptime:>8} {state:>12} {sent:>8} N/A"
            ),
        );
    }
    line(said, format_args!("\nTotal number of neighbors {}", sessions.len()));
}

fn line(said: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(said, "{text}");
}

/// Time in a state as FRR writes it, from milliseconds.
fn uptime(age: Option<u64>) -> String {
    let Some(seconds) = age.map(|age| age / 1000) else { return "never".into() };
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match days {
        0 => format!("{hours:02}:{:02}:{:02}", minutes % 60, seconds % 60),
        1..=6 => format!("{days}d{:02}h{:02}m", hours % 24, minutes % 60),
        _ => format!("{:02}w{}d{:02}h", days / 7, days % 7, hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptime_is_written_as_frr_writes_it() {
        for (seconds, text) in [
            (None, "never"),
            (Some(3), "00:00:03"),
            (Some(86_399), "23:59:59"),
            (Some(95_340), "1d02h29m"),
            (Some(788_580), "01w2d03h"),
        ] {
            assert_eq!(uptime(seconds.map(|seconds: u64| seconds * 1000)), text);
        }
    }
}

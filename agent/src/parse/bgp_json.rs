use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{
    bgp::{BgpPeer, BgpSummary, BgpTable, DEFAULT_VRF, FailedSession, Family, PeerState, as_number},
    fault::{ParseFault, excerpt},
};

const OUTPUT: &str = "show bgp summary json";

/// Reads `show bgp summary json` of FRR 7 to 10.
///
/// Takes the form with address families on top, with VRFs on top (`vrf all`), and one family alone (then `ipv4Unicast`
/// unless a key says otherwise). Text before the first `{` is kept as a note. Several objects one after the other are
/// all read. `{}` is an empty summary: it does not tell a healthy DPU from one without BGP, so callers must look for
/// the peers they expect.
///
/// # Errors
/// [`ParseFault`] where the output holds no JSON object, is cut, or a peer has no state.
pub fn bgp_json(text: &str) -> Result<BgpSummary, ParseFault> {
    let mut summary = BgpSummary::default();
    let Some(start) = text.find('{') else {
        return Err(ParseFault::at(OUTPUT, text, text.trim_start(), "a JSON object"));
    };
    let noise = text.get(..start).unwrap_or_default().trim();
    if !noise.is_empty() {
        summary.notes.push(format!("text before the JSON: {}", excerpt(noise)));
    }
    let json = text.get(start..).unwrap_or_default();
    let mut stream = serde_json::Deserializer::from_str(json).into_iter::<BTreeMap<String, Value>>();
    loop {
        let offset = stream.byte_offset();
        match stream.next() {
            None => return Ok(summary),
            Some(Ok(object)) => top(object, &mut summary).map_err(|expected| {
                let rest = json.get(offset..).unwrap_or_default();
                ParseFault::at(OUTPUT, text, rest.trim_start(), expected)
            })?,
            Some(Err(error)) => {
                let line = json.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
                let skipped = text.get(..start).unwrap_or_default().matches('\n').count();
                return Err(ParseFault {
                    output: OUTPUT,
                    line: error.line() + skipped,
                    column: error.column(),
                    expected: excerpt(&format!("valid JSON ({error})")),
                    found: excerpt(line),
                });
            }
        }
    }
}

#[derive(Deserialize)]
struct RawTable {
    #[serde(rename = "vrfName")]
    vrf: Option<String>,
    #[serde(rename = "as")]
    local_as: Option<Value>,
    peers: Option<BTreeMap<String, RawPeer>>,
    #[serde(rename = "failedPeers")]
    failed_peers: Option<u32>,
    #[serde(rename = "failedPeersCount")]
    failed_peers_count: Option<u32>,
    #[serde(rename = "dynamicPeers")]
    dynamic_peers: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPeer {
    state: Option<String>,
    last_reset_due_to: Option<String>,
    connections_established: Option<u32>,
    connections_dropped: Option<u32>,
    hostname: Option<String>,
    desc: Option<String>,
    remote_as: Option<Value>,
    local_as: Option<Value>,
    pfx_rcd: Option<u64>,
    /// The name of `pfx_rcd` before FRR 7; some releases have both.
    prefix_received_count: Option<u64>,
    pfx_snt: Option<u64>,
    peer_uptime: Option<String>,
    peer_uptime_msec: Option<u64>,
    #[serde(default)]
    dynamic_peer: bool,
    scope_if_name: Option<String>,
}

/// Takes in one object of the output: an address family alone, families by name, or VRFs by name that hold either.
fn top(object: BTreeMap<String, Value>, summary: &mut BgpSummary) -> Result<(), &'static str> {
    const WANTED: &str = "address families, or VRFs that hold them";
    if object.contains_key("peers") {
        return table(DEFAULT_VRF, Family::Ipv4Unicast, Value::Object(object.into_iter().collect()), summary);
    }
    for (key, value) in object {
        let Value::Object(inner) = value else { continue };
        if let Some(family) = family(&key) {
            table(DEFAULT_VRF, family, Value::Object(inner), summary)?;
        } else if inner.contains_key("peers") {
            // `vrf all ipv4 unicast summary json`: a VRF that holds one family directly.
            table(&key, Family::Ipv4Unicast, Value::Object(inner), summary)?;
        } else {
            let mut families = 0_usize;
            let empty = inner.is_empty();
            for (name, value) in inner {
                if let (Some(family), Value::Object(_)) = (family(&name), &value) {
                    table(&key, family, value, summary)?;
                    families += 1;
                }
            }
            if families == 0 && !empty {
                return Err(WANTED);
            }
        }
    }
    Ok(())
}

fn family(key: &str) -> Option<Family> {
    Some(match key {
        "ipv4Unicast" => Family::Ipv4Unicast,
        "ipv6Unicast" => Family::Ipv6Unicast,
        "l2VpnEvpn" => Family::L2VpnEvpn,
        "ipv4Vpn" | "ipv6Vpn" | "ipv4Multicast" | "ipv6Multicast" | "ipv4LabeledUnicast" | "ipv6LabeledUnicast"
        | "ipv4Encap" | "ipv6Encap" | "ipv4Flowspec" | "ipv6Flowspec" => Family::Other(key.to_owned()),
        _ => return None,
    })
}

fn table(vrf: &str, family: Family, value: Value, summary: &mut BgpSummary) -> Result<(), &'static str> {
    let raw: RawTable =
        serde_json::from_value(value).map_err(|_| "a table of BGP peers, with numbers and texts as FRR has them")?;
    let vrf = raw.vrf.unwrap_or_else(|| vrf.to_owned());
    let mut peers = Vec::new();
    for (name, raw) in raw.peers.unwrap_or_default() {
        // A session over an unnumbered interface may be listed by the peer's link-local address.
        let name = match &raw.scope_if_name {
            Some(interface) if name.starts_with("fe80:") => interface.clone(),
            _ => name,
        };
        match (&raw.state, &raw.last_reset_due_to) {
            (Some(state), _) => {
                let state = state.clone();
                peers.push(peer(name, state, raw));
            }
            (None, Some(reason)) => summary.failed.push(FailedSession {
                vrf: vrf.clone(),
                family: family.clone(),
                name,
                established_count: raw.connections_established.unwrap_or_default(),
                dropped_count: raw.connections_dropped.unwrap_or_default(),
                reset: raw.peer_uptime.clone().unwrap_or_default(),
                reason: reason.clone(),
            }),
            (None, None) => return Err("a state for every BGP peer"),
        }
    }
    summary.tables.push(BgpTable {
        vrf,
        family,
        local_as: raw.local_as.as_ref().and_then(as_value),
        peers,
        failed_peers: raw.failed_peers.or(raw.failed_peers_count),
        dynamic_peers: raw.dynamic_peers,
    });
    Ok(())
}

fn peer(name: String, state: String, raw: RawPeer) -> BgpPeer {
    let uptime = raw.peer_uptime.unwrap_or_default();
    BgpPeer {
        name,
        hostname: raw.hostname,
        dynamic: raw.dynamic_peer,
        remote_as: raw.remote_as.as_ref().and_then(as_value),
        local_as: raw.local_as.as_ref().and_then(as_value),
        // Only the bare word counts: a reason behind it is a fault of its own.
        state: if state == "Established" { PeerState::Established } else { PeerState::Down(state) },
        received: raw.pfx_rcd.or(raw.prefix_received_count),
        sent: raw.pfx_snt,
        uptime_secs: raw.peer_uptime_msec.filter(|_| uptime != "never").map(|msec| msec / 1000),
        uptime,
        description: raw.desc,
    }
}

fn as_value(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
        Value::String(text) => as_number(text),
        _ => None,
    }
}

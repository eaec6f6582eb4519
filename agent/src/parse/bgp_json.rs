use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{
    bgp::{BgpPeer, BgpSummary, BgpTable, DEFAULT_VRF, Family, PeerState, as_number},
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
                    expected: format!("valid JSON ({error})"),
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
    #[serde(rename = "dynamicPeers")]
    dynamic_peers: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPeer {
    state: String,
    hostname: Option<String>,
    desc: Option<String>,
    remote_as: Option<Value>,
    local_as: Option<Value>,
    #[serde(alias = "prefixReceivedCount")]
    pfx_rcd: Option<u64>,
    pfx_snt: Option<u64>,
    peer_uptime: Option<String>,
    peer_uptime_msec: Option<u64>,
    #[serde(default)]
    dynamic_peer: bool,
    scope_if_name: Option<String>,
}

fn top(object: BTreeMap<String, Value>, summary: &mut BgpSummary) -> Result<(), String> {
    if object.contains_key("peers") {
        let table = table(DEFAULT_VRF, Family::Ipv4Unicast, Value::Object(object.into_iter().collect()))?;
        summary.tables.push(table);
        return Ok(());
    }
    for (key, value) in object {
        let Value::Object(inner) = value else { continue };
        if let Some(family) = family(&key) {
            summary.tables.push(table(DEFAULT_VRF, family, Value::Object(inner))?);
        } else if inner.contains_key("peers") {
            // `vrf all ipv4 unicast summary json`: a VRF that holds one family directly.
            summary.tables.push(table(&key, Family::Ipv4Unicast, Value::Object(inner))?);
        } else {
            for (name, value) in inner {
                if let (Some(family), Value::Object(_)) = (family(&name), &value) {
                    summary.tables.push(table(&key, family, value)?);
                }
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

fn table(vrf: &str, family: Family, value: Value) -> Result<BgpTable, String> {
    let raw: RawTable =
        serde_json::from_value(value).map_err(|error| format!("a table of {} peers ({error})", family.name()))?;
    let peers = raw.peers.unwrap_or_default();
    Ok(BgpTable {
        vrf: raw.vrf.unwrap_or_else(|| vrf.to_owned()),
        family,
        local_as: raw.local_as.as_ref().and_then(as_value),
        peers: peers.into_iter().map(|(name, raw)| peer(name, raw)).collect(),
        failed_peers: raw.failed_peers,
        dynamic_peers: raw.dynamic_peers,
    })
}

fn peer(name: String, raw: RawPeer) -> BgpPeer {
    // A session over an unnumbered interface may be listed by the peer's link-local address.
    let name = match raw.scope_if_name {
        Some(interface) if name.starts_with("fe80:") => interface,
        _ => name,
    };
    let state = if raw.state == "Established" { PeerState::Established } else { PeerState::Down(raw.state) };
    let uptime = raw.peer_uptime.unwrap_or_default();
    BgpPeer {
        name,
        hostname: raw.hostname,
        dynamic: raw.dynamic_peer,
        remote_as: raw.remote_as.as_ref().and_then(as_value),
        local_as: raw.local_as.as_ref().and_then(as_value),
        state,
        received: raw.pfx_rcd,
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

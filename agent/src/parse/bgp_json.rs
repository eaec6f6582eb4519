use std::borrow::Cow;

use super::{
    bgp::{BgpPeer, BgpSummary, BgpTable, DEFAULT_VRF, FailedSession, PeerState, vrf_named},
    fault::{ParseFault, excerpt},
};

mod fields;
mod levels;

use fields::{AsNumber, Peers, RawPeer, Text};
use levels::{Found, Output};

const OUTPUT: &str = "show bgp summary json";

/// Reads `show bgp summary json` of FRR 7 to 10, and `… failed json`.
///
/// Takes the form with address families on top, with VRFs on top (`vrf all`), and one family alone (then `ipv4Unicast`
/// unless a key says otherwise). Text before the first `{` and warnings are kept as notes. Several objects one after the
/// other are all read. `{}` is an empty summary: it does not tell a healthy DPU from one without BGP, so callers must look
/// for the peers they expect.
///
/// # Errors
/// [`ParseFault`] where the output holds no JSON object, is cut, is another answer, a peer has no state, or it is not told
/// which VRF a peer belongs to.
pub fn bgp_json(text: &str) -> Result<BgpSummary, ParseFault> {
    let mut summary = BgpSummary::default();
    let Some(start) = text.find('{') else {
        return Err(ParseFault::at(OUTPUT, text, text.trim_start(), "a JSON object"));
    };
    let (noise, json) = text.split_at(start);
    if !noise.trim().is_empty() {
        summary.notes.push(format!("text before the JSON: {}", excerpt(noise.trim())));
    }
    for output in serde_json::Deserializer::from_str(json).into_iter::<Output<'_>>() {
        let output = output.map_err(|error| ParseFault::json(OUTPUT, text, json, "BGP sessions as JSON", &error))?;
        let fault = |(place, expected): Misfit<'_>| ParseFault::at(OUTPUT, text, place, expected);
        summary.notes.extend(output.notes.iter().map(|Text(note)| excerpt(note)));
        for found in output.tables().map_err(fault)? {
            take_in(found, &mut summary).map_err(fault)?;
        }
    }
    Ok(summary)
}

/// A place in the output, and what was expected there.
type Misfit<'t> = (&'t str, Cow<'static, str>);

fn take_in<'t>(found: Found<'t>, summary: &mut BgpSummary) -> Result<(), Misfit<'t>> {
    let Found { vrf, family, table } = found;
    let vrf = table.vrf_name.or(vrf);
    let vrf = vrf.as_ref().map_or(DEFAULT_VRF, |Text(name)| vrf_named(name)).to_owned();
    let Peers(raw_peers) = table.peers.unwrap_or(Peers(Vec::new()));
    let mut peers = Vec::with_capacity(raw_peers.len());
    for (key, mut raw) in raw_peers {
        let place = key.place();
        // A session over an unnumbered interface may be listed by the peer's link-local address.
        let Text(name) = match raw.scope_if_name.take() {
            Some(interface) if key.0.starts_with("fe80:") => interface,
            _ => key,
        };
        match (raw.state.take(), raw.last_reset_due_to.take()) {
            (Some(Text(state)), _) => peers.push(peer(name.into_owned(), &state, raw)),
            (None, Some(Text(reason))) => summary.failed.push(FailedSession {
                vrf: vrf.clone(),
                family: family.clone(),
                name: name.into_owned(),
                established_count: raw.connections_established.unwrap_or_default(),
                dropped_count: raw.connections_dropped.unwrap_or_default(),
                reset: owned(raw.peer_uptime).unwrap_or_default(),
                reason: reason.into_owned(),
            }),
            (None, None) => return Err((place, format!("a state of the BGP peer {name}").into())),
        }
    }
    summary.tables.push(BgpTable {
        vrf,
        family,
        local_as: table.local_as.and_then(|AsNumber(number)| number),
        peers,
        failed_peers: table.failed_peers,
        dynamic_peers: table.dynamic_peers,
    });
    Ok(())
}

fn owned(text: Option<Text<'_>>) -> Option<String> {
    text.map(|Text(text)| text.into_owned())
}

fn peer(name: String, state: &str, raw: RawPeer<'_>) -> BgpPeer {
    let uptime = owned(raw.peer_uptime).unwrap_or_default();
    BgpPeer {
        name,
        hostname: owned(raw.hostname),
        dynamic: raw.dynamic_peer,
        remote_as: raw.remote_as.and_then(|AsNumber(number)| number),
        local_as: raw.local_as.and_then(|AsNumber(number)| number),
        // Only the bare word counts: a reason behind it is a fault of its own.
        state: if state == "Established" { PeerState::Established } else { PeerState::Down(state.to_owned()) },
        received: raw.pfx_rcd.or(raw.prefix_received_count),
        sent: raw.pfx_snt,
        uptime_secs: raw.peer_uptime_msec.filter(|_| uptime != "never").map(|msec| msec / 1000),
        uptime,
        description: owned(raw.desc),
    }
}

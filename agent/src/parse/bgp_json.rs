//! Reader of `show bgp summary json`.

use std::borrow::Cow;

use super::{
    bgp::{BgpSummary, BgpTable, DEFAULT_VRF, FailedSession, vrf_named},
    fault::{ParseFault, excerpt},
};

mod fields;
mod levels;

use fields::{AsNumber, Text, owned};
use levels::{Found, JsonOutput};

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
    for output in serde_json::Deserializer::from_str(json).into_iter::<JsonOutput<'_>>() {
        let output = output.map_err(|error| ParseFault::json(OUTPUT, text, json, "BGP sessions as JSON", &error))?;
        let fault = |(place, expected): JsonFault<'_>| ParseFault::at(OUTPUT, text, place, expected);
        summary.notes.extend(output.notes.iter().map(|Text(note)| excerpt(note)));
        for found in output.tables().map_err(fault)? {
            add(found, &mut summary).map_err(fault)?;
        }
    }
    Ok(summary)
}

/// A place in the output, and what was expected there.
type JsonFault<'t> = (&'t str, Cow<'static, str>);

fn add<'t>(found: Found<'t>, summary: &mut BgpSummary) -> Result<(), JsonFault<'t>> {
    let Found { vrf, family, table } = found;
    let vrf = table.vrf_name.or(vrf);
    let vrf = vrf.as_ref().map_or(DEFAULT_VRF, |Text(name)| vrf_named(name)).to_owned();
    let peers = table.peers.unwrap_or_default();
    if let Some(name) = peers.stateless {
        return Err((name.place(), format!("a state of the BGP peer {}", name.0).into()));
    }
    let failed = peers.failed.into_iter().map(|(Text(name), raw)| FailedSession {
        vrf: vrf.clone(),
        family: family.clone(),
        name: name.into_owned(),
        established_count: raw.connections_established.unwrap_or_default(),
        dropped_count: raw.connections_dropped.unwrap_or_default(),
        reset: owned(raw.peer_uptime).unwrap_or_default(),
        reason: owned(raw.last_reset_due_to).unwrap_or_default(),
    });
    summary.failed.extend(failed);
    summary.tables.push(BgpTable {
        vrf,
        family,
        local_as: table.local_as.and_then(|AsNumber(number)| number),
        peers: peers.listed,
        failed_peers: table.failed_peers,
        dynamic_peers: table.dynamic_peers,
    });
    Ok(())
}

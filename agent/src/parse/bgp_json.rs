use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{
    bgp::{BgpPeer, BgpSummary, BgpTable, DEFAULT_VRF, FailedSession, Family, PeerState, as_number, vrf_named},
    fault::{ParseFault, excerpt},
};

const OUTPUT: &str = "show bgp summary json";

/// Reads `show bgp summary json` of FRR 7 to 10, and `… failed json`.
///
/// Takes the form with address families on top, with VRFs on top (`vrf all`), and one family alone (then `ipv4Unicast`
/// unless a key says otherwise). Text before the first `{` is kept as a note. Several objects one after the other are
/// all read. `{}` is an empty summary: it does not tell a healthy DPU from one without BGP, so callers must look for
/// the peers they expect.
///
/// # Errors
/// [`ParseFault`] where the output holds no JSON object, is cut, is another answer, or a peer has no state.
pub fn bgp_json(text: &str) -> Result<BgpSummary, ParseFault> {
    let mut summary = BgpSummary::default();
    let Some(start) = text.find('{') else {
        return Err(ParseFault::at(OUTPUT, text, text.trim_start(), "a JSON object"));
    };
    let (noise, json) = text.split_at(start);
    if !noise.trim().is_empty() {
        summary.notes.push(format!("text before the JSON: {}", excerpt(noise.trim())));
    }
    for object in serde_json::Deserializer::from_str(json).into_iter::<Object>() {
        let Object(part) = object.map_err(|error| {
            let skipped = noise.matches('\n').count();
            let line = json.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
            let (line_number, column) = (error.line() + skipped, error.column());
            let expected = match error.is_data() {
                // The place is told by line and column; the library appends it once more.
                true => error.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
                false => format!("valid JSON ({error})"),
            };
            ParseFault { output: OUTPUT, line: line_number, column, expected: excerpt(&expected), found: excerpt(line) }
        })?;
        summary.tables.extend(part.tables);
        summary.failed.extend(part.failed);
    }
    Ok(summary)
}

/// One object of the output.
struct Object(BgpSummary);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let level = deserializer.deserialize_map(LevelVisitor { inner: false })?;
        if level.unknown {
            return Err(D::Error::custom(WANTED));
        }
        let mut summary = BgpSummary::default();
        for (vrf, family, raw) in level.tables {
            take_in(vrf, family, raw, &mut summary).map_err(D::Error::custom)?;
        }
        Ok(Self(summary))
    }
}

const WANTED: &str = "address families, or VRFs that hold them";

/// The tables in an object that holds families, VRFs with families, or is a table itself.
#[derive(Default)]
struct Level<'de> {
    tables: Vec<(Option<Cow<'de, str>>, Family, RawTable<'de>)>,
    /// There is something in it, and no table.
    unknown: bool,
}

struct LevelVisitor {
    /// Where a VRF may be.
    inner: bool,
}

struct Inner<'de>(Level<'de>);

impl<'de> Deserialize<'de> for Inner<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LevelVisitor { inner: true }).map(Self)
    }
}

impl<'de> Visitor<'de> for LevelVisitor {
    type Value = Level<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WANTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut level = Level::default();
        let mut own = RawTable::default();
        let (mut is_table, mut empty) = (false, true);
        while let Some(Text(key)) = map.next_key()? {
            empty = false;
            match key.as_ref() {
                "peers" => {
                    is_table = true;
                    own.peers = map.next_value()?;
                }
                "vrfName" => own.vrf_name = map.next_value()?,
                "as" => own.local_as = map.next_value()?,
                "failedPeers" | "failedPeersCount" => own.failed_peers = map.next_value()?,
                "dynamicPeers" => own.dynamic_peers = map.next_value()?,
                name => match family(name) {
                    Some(family) => level.tables.push((None, family, map.next_value()?)),
                    None if self.inner => drop(map.next_value::<IgnoredAny>()?),
                    None => {
                        let Inner(inner) = map.next_value()?;
                        level.unknown |= inner.unknown;
                        let vrf = |(_, family, raw)| (Some(key.clone()), family, raw);
                        level.tables.extend(inner.tables.into_iter().map(vrf));
                    }
                },
            }
        }
        if is_table {
            level = Level { tables: vec![(None, Family::Ipv4Unicast, own)], unknown: false };
        } else if self.inner {
            level.unknown = !empty && level.tables.is_empty();
        }
        Ok(level)
    }

    // Beside tables there are counters and flags, which say nothing about peers.
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Level::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Level::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Level::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Level::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Level::default())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Level::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Level::default())
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawTable<'t> {
    #[serde(borrow)]
    vrf_name: Option<Text<'t>>,
    #[serde(rename = "as")]
    local_as: Option<AsNumber>,
    #[serde(borrow)]
    peers: Option<Peers<'t>>,
    #[serde(alias = "failedPeersCount")]
    failed_peers: Option<u32>,
    dynamic_peers: Option<u32>,
}

/// A text that is borrowed from the output where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPeer<'t> {
    #[serde(borrow)]
    state: Option<Text<'t>>,
    #[serde(borrow)]
    hostname: Option<Text<'t>>,
    #[serde(borrow)]
    desc: Option<Text<'t>>,
    remote_as: Option<AsNumber>,
    local_as: Option<AsNumber>,
    pfx_rcd: Option<u64>,
    /// The name of `pfx_rcd` before FRR 7; some releases have both.
    prefix_received_count: Option<u64>,
    pfx_snt: Option<u64>,
    #[serde(borrow)]
    peer_uptime: Option<Text<'t>>,
    peer_uptime_msec: Option<u64>,
    #[serde(default)]
    dynamic_peer: bool,
    #[serde(borrow)]
    scope_if_name: Option<Text<'t>>,
    #[serde(borrow)]
    last_reset_due_to: Option<Text<'t>>,
    connections_established: Option<u32>,
    connections_dropped: Option<u32>,
}

/// Peers by name, in the order printed.
struct Peers<'de>(Vec<(Text<'de>, RawPeer<'de>)>);

impl<'de: 't, 't> Deserialize<'de> for Peers<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PeersVisitor;
        impl<'de> Visitor<'de> for PeersVisitor {
            type Value = Peers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("BGP peers by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut peers = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    peers.push(entry);
                }
                Ok(Peers(peers))
            }
        }
        deserializer.deserialize_map(PeersVisitor)
    }
}

/// An AS number, which FRR prints as a number or as a text; none if it is neither.
struct AsNumber(Option<u32>);

impl<'de> Deserialize<'de> for AsNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsNumberVisitor;
        impl Visitor<'_> for AsNumberVisitor {
            type Value = AsNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an AS number")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(AsNumber(u32::try_from(number).ok()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(AsNumber(as_number(text)))
            }
        }
        deserializer.deserialize_any(AsNumberVisitor)
    }
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

fn take_in(
    vrf: Option<Cow<'_, str>>,
    family: Family,
    raw: RawTable<'_>,
    summary: &mut BgpSummary,
) -> Result<(), &'static str> {
    let vrf = raw.vrf_name.map(|Text(name)| name).or(vrf);
    let vrf = vrf.as_deref().map_or(DEFAULT_VRF, vrf_named).to_owned();
    let Peers(raw_peers) = raw.peers.unwrap_or(Peers(Vec::new()));
    let mut peers = Vec::with_capacity(raw_peers.len());
    for (Text(name), mut raw) in raw_peers {
        // A session over an unnumbered interface may be listed by the peer's link-local address.
        let name = match raw.scope_if_name.take() {
            Some(Text(interface)) if name.starts_with("fe80:") => interface,
            _ => name,
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
            (None, None) => return Err("a state for every BGP peer"),
        }
    }
    summary.tables.push(BgpTable {
        vrf,
        family,
        local_as: raw.local_as.and_then(|AsNumber(number)| number),
        peers,
        failed_peers: raw.failed_peers,
        dynamic_peers: raw.dynamic_peers,
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

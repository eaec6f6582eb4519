//! Tables and sessions as FRR writes them.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

use crate::parse::bgp::{BgpPeer, PeerState, as_number};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "the table of an address family")]
pub(super) struct RawTable<'t> {
    #[serde(borrow)]
    pub(super) vrf_name: Option<Text<'t>>,
    #[serde(rename = "as")]
    pub(super) local_as: Option<AsNumber>,
    #[serde(borrow)]
    pub(super) peers: Option<Peers<'t>>,
    #[serde(alias = "failedPeersCount")]
    pub(super) failed_peers: Option<u32>,
    pub(super) dynamic_peers: Option<u32>,
}

/// A text that is borrowed from the output where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'t>(#[serde(borrow)] pub(super) Cow<'t, str>);

impl<'t> Text<'t> {
    /// Where it stands in the output; none where it has escapes.
    pub(super) fn place(&self) -> &'t str {
        match self.0 {
            Cow::Borrowed(text) => text,
            Cow::Owned(_) => "",
        }
    }
}

pub(super) fn owned(text: Option<Text<'_>>) -> Option<String> {
    text.map(|Text(text)| text.into_owned())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a BGP session")]
pub(super) struct RawPeer<'t> {
    #[serde(borrow)]
    pub(super) state: Option<Text<'t>>,
    #[serde(borrow)]
    pub(super) hostname: Option<Text<'t>>,
    #[serde(borrow)]
    pub(super) desc: Option<Text<'t>>,
    pub(super) remote_as: Option<AsNumber>,
    pub(super) local_as: Option<AsNumber>,
    pub(super) pfx_rcd: Option<u64>,
    /// The name of `pfx_rcd` before FRR 7; some releases have both.
    pub(super) prefix_received_count: Option<u64>,
    pub(super) pfx_snt: Option<u64>,
    #[serde(borrow)]
    pub(super) peer_uptime: Option<Text<'t>>,
    pub(super) peer_uptime_msec: Option<u64>,
    #[serde(default)]
    pub(super) dynamic_peer: bool,
    #[serde(borrow)]
    pub(super) scope_if_name: Option<Text<'t>>,
    #[serde(borrow)]
    pub(super) last_reset_due_to: Option<Text<'t>>,
    pub(super) connections_established: Option<u32>,
    pub(super) connections_dropped: Option<u32>,
}

impl RawPeer<'_> {
    fn into_peer(self, name: Text<'_>, state: &str) -> BgpPeer {
        let uptime = owned(self.peer_uptime).unwrap_or_default();
        BgpPeer {
            name: name.0.into_owned(),
            hostname: owned(self.hostname),
            dynamic: self.dynamic_peer,
            remote_as: self.remote_as.and_then(|AsNumber(number)| number),
            local_as: self.local_as.and_then(|AsNumber(number)| number),
            // Only the bare word counts: a reason behind it is a fault of its own.
            state: if state == "Established" { PeerState::Established } else { PeerState::Down(state.to_owned()) },
            received: self.pfx_rcd.or(self.prefix_received_count),
            sent: self.pfx_snt,
            uptime_secs: self.peer_uptime_msec.filter(|_| uptime != "never").map(|msec| msec / 1000),
            uptime,
            description: owned(self.desc),
        }
    }
}

/// Peers, in the order printed.
#[derive(Default)]
pub(super) struct Peers<'t> {
    pub(super) listed: Vec<BgpPeer>,
    /// Those of `summary failed`, which have a reason instead of a state.
    pub(super) failed: Vec<(Text<'t>, RawPeer<'t>)>,
    /// The first one with neither.
    pub(super) stateless: Option<Text<'t>>,
}

impl<'t> Peers<'t> {
    fn take_in(&mut self, key: Text<'t>, mut raw: RawPeer<'t>) {
        if raw.state.is_none() && raw.last_reset_due_to.is_none() {
            self.stateless.get_or_insert(key);
            return;
        }
        // A session over an unnumbered interface may be listed by the peer's link-local address.
        let name = match raw.scope_if_name.take() {
            Some(interface) if key.0.starts_with("fe80:") => interface,
            _ => key,
        };
        match raw.state.take() {
            Some(Text(state)) => self.listed.push(raw.into_peer(name, &state)),
            None => self.failed.push((name, raw)),
        }
    }
}

impl<'de: 't, 't> Deserialize<'de> for Peers<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PeersVisitor;
        impl<'de> Visitor<'de> for PeersVisitor {
            type Value = Peers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("BGP peers by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                // Room for the peers of most DPUs.
                let mut peers = Peers { listed: Vec::with_capacity(16), ..Peers::default() };
                while let Some((key, raw)) = map.next_entry()? {
                    peers.take_in(key, raw);
                }
                Ok(peers)
            }
        }
        deserializer.deserialize_map(PeersVisitor)
    }
}

/// An AS number, which FRR prints as a number or as a text; none if it is neither.
pub(super) struct AsNumber(pub(super) Option<u32>);

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

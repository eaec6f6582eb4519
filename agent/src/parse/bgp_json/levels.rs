//! Where the tables are in the output: it holds families, VRFs with families, or is a table itself.
//!
//! A key is an address family if it is a known one. Any other key that leads to a table is a VRF where the table says that
//! it belongs to that VRF, else a family that is not known yet.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{
    JsonFault,
    fields::{RawTable, Text},
};
use crate::parse::bgp::{DEFAULT_VRF, Family, vrf_named};

/// A table and what the keys above it say.
pub(super) struct Found<'t> {
    pub(super) vrf: Option<Text<'t>>,
    pub(super) family: Family,
    pub(super) table: RawTable<'t>,
}

/// The output as a whole.
pub(super) struct JsonOutput<'t> {
    /// Warnings that FRR printed.
    pub(super) notes: Vec<Text<'t>>,
    tables: Vec<Found<'t>>,
    stray: Option<Stray<'t>>,
}

/// A key that leads to something else than was expected there.
type Stray<'t> = (Text<'t>, &'static str);

const EXPECTED: &str = "address families, or VRFs that hold them";

impl<'t> JsonOutput<'t> {
    /// The tables, or the key that leads to none.
    pub(super) fn tables(self) -> Result<Vec<Found<'t>>, JsonFault<'t>> {
        match self.stray {
            Some((key, expected)) => Err((key.place(), expected.into())),
            None => Ok(self.tables),
        }
    }
}

impl<'de: 't, 't> Deserialize<'de> for JsonOutput<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut level = deserializer.deserialize_map(Depth(0))?.unwrap_or_default();
        let found = |table| Found { vrf: None, family: Family::Ipv4Unicast, table };
        level.tables.extend(level.own.map(found));
        Ok(Self { notes: level.notes, tables: level.tables, stray: level.stray })
    }
}

/// What an object holds.
#[derive(Default)]
struct Level<'t> {
    /// It is a table itself.
    own: Option<RawTable<'t>>,
    tables: Vec<Found<'t>>,
    notes: Vec<Text<'t>>,
    stray: Option<Stray<'t>>,
}

impl<'t> Level<'t> {
    /// Takes in what is in a VRF, or in a table under a key that is no known family.
    fn take_in(&mut self, key: Text<'t>, inner: Self, depth: Depth) {
        self.notes.extend(inner.notes);
        // The key is to blame, unless it leads to tables too.
        let stray =
            inner.stray.map(|stray| if inner.tables.is_empty() { (Text(key.0.clone()), stray.1) } else { stray });
        self.stray = self.stray.take().or(stray);
        let vrf = |found: Found<'t>| match found.vrf {
            Some(_) => found,
            None => Found { vrf: Some(Text(key.0.clone())), ..found },
        };
        self.tables.extend(inner.tables.into_iter().map(vrf));
        let Some(table) = inner.own else { return };
        let told = table.vrf_name.as_ref().map(|Text(name)| vrf_named(name) == vrf_named(&key.0));
        let is_vrf = match told {
            _ if depth.0 > 0 => false,
            Some(told) => told,
            None => vrf_named(&key.0) == DEFAULT_VRF || table.peers.is_none(),
        };
        if is_vrf {
            self.tables.push(Found { vrf: Some(key), family: Family::Ipv4Unicast, table });
        } else if told.is_some() || depth.0 > 0 {
            self.tables.push(Found { vrf: None, family: Family::Other(key.0.into_owned()), table });
        } else {
            self.stray.get_or_insert((key, "a known address family, or the vrfName of these sessions"));
        }
    }
}

/// How many keys are above.
#[derive(Clone, Copy)]
struct Depth(u8);

impl<'de> DeserializeSeed<'de> for Depth {
    type Value = Option<Level<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Depth {
    /// None for what is no object: beside tables there are counters and flags, which say nothing about peers.
    type Value = Option<Level<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut level = Level::default();
        let mut own = RawTable::default();
        let (mut is_table, mut understood, mut first) = (false, false, None);
        while let Some(key) = map.next_key::<Text<'_>>()? {
            match key.0.as_ref() {
                "peers" => (is_table, own.peers) = (true, map.next_value()?),
                "failedPeers" | "failedPeersCount" => (is_table, own.failed_peers) = (true, map.next_value()?),
                "vrfName" => own.vrf_name = map.next_value()?,
                "as" => own.local_as = map.next_value()?,
                "dynamicPeers" => own.dynamic_peers = map.next_value()?,
                "warning" | "error" => level.notes.push(map.next_value()?),
                _ if self.0 > 1 => drop(map.next_value::<IgnoredAny>()?),
                name => match family(name) {
                    Some(family) => level.tables.push(Found { vrf: None, family, table: map.next_value()? }),
                    None => {
                        let inner = map.next_value_seed(Self(self.0 + 1))?;
                        understood |= inner.is_some();
                        if let Some(inner) = inner {
                            level.take_in(Text(key.0.clone()), inner, self);
                        }
                    }
                },
            }
            first.get_or_insert(key);
        }
        if is_table {
            // What is beside the peers of a table describes it further.
            (level.own, level.stray) = (Some(own), None);
        } else if !understood && level.tables.is_empty() && level.notes.is_empty() {
            level.stray = first.map(|key| (key, EXPECTED));
        }
        Ok(Some(level))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
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

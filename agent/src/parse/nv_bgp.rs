//! Reader of NVUE's table of BGP neighbors.

use nom::{IResult, Parser, bytes::complete::take_until, character::complete::u64, combinator::all_consuming};
use serde::Serialize;

use super::{
    fault::ParseFault,
    nv_show::{NvTable, nv_tables},
    uptime,
};

const OUTPUT: &str = "nv show vrf default router bgp neighbor";

/// A neighbor in `nv show … router bgp neighbor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NvNeighbor {
    /// Interface or address.
    pub name: String,
    /// Host name, where printed.
    pub hostname: Option<String>,
    /// AS number of the peer.
    pub remote_as: Option<u32>,
    /// State in lower case: NVUE and FRR differ in that.
    pub state: String,
    /// Seconds since it came up.
    pub uptime_secs: Option<u64>,
    /// Prefixes by address family.
    pub families: Vec<NvFamily>,
}

/// Prefixes of one neighbor in one address family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NvFamily {
    /// `ipv4-unicast`, `l2vpn-evpn`, …
    pub name: String,
    /// Prefixes sent.
    pub sent: Option<u64>,
    /// Prefixes received.
    pub received: Option<u64>,
}

/// Reads the table of neighbors of Cumulus Linux 5.0 to 5.18. A row with an address family alone belongs to the neighbor
/// above. Times are milliseconds where the legend says so.
///
/// # Errors
/// [`ParseFault`] where there is no such table, or a family stands above all neighbors.
pub fn nv_bgp(text: &str) -> Result<Vec<NvNeighbor>, ParseFault> {
    let tables = nv_tables(text)?;
    let fault = |expected: &str| ParseFault::at(OUTPUT, text, text.trim_start(), expected);
    let has_neighbors = |table: &&NvTable<'_>| table.column("Neighbor").is_some() && table.column("State").is_some();
    let table =
        tables.iter().find(has_neighbors).ok_or_else(|| fault("a table with the columns Neighbor and State"))?;
    let milliseconds = time_is_in_milliseconds(&table.legend);
    let [name, hostname, remote_as, state, uptime, family, sent, received] =
        ["Neighbor", "Hostname", "AS", "State", "Uptime", "Afi-Safi", "PfxSent", "PfxRcvd"]
            .map(|name| table.column(name));
    let mut neighbors: Vec<NvNeighbor> = Vec::new();
    for row in &table.rows {
        let cell = |column: Option<usize>| row.cells.get(column?).copied().flatten();
        let number = |column| cell(column).and_then(|text| text.parse().ok());
        if let Some(name) = cell(name) {
            let uptime = cell(uptime).and_then(|text| {
                let clock = uptime::seconds(text);
                clock.or_else(|| whole(text).map(|number| if milliseconds { number / 1000 } else { number }))
            });
            neighbors.push(NvNeighbor {
                name: name.to_owned(),
                hostname: cell(hostname).map(str::to_owned),
                remote_as: cell(remote_as).and_then(|text| text.parse().ok()),
                state: cell(state).unwrap_or_default().to_ascii_lowercase(),
                uptime_secs: uptime,
                families: Vec::new(),
            });
        }
        if let Some(family) = cell(family) {
            let neighbor = neighbors.last_mut().ok_or_else(|| fault("a neighbor before its address families"))?;
            let (sent, received) = (number(sent), number(received));
            neighbor.families.push(NvFamily { name: family.to_owned(), sent, received });
        }
    }
    Ok(neighbors)
}

fn whole(text: &str) -> Option<u64> {
    let read: IResult<&str, u64> = all_consuming(u64).parse(text);
    read.ok().map(|(_, number)| number)
}

/// `UpTime - Uptime in milliseconds` among the explanations of columns.
fn time_is_in_milliseconds(legend: &str) -> bool {
    let words: IResult<&str, &str> = take_until("in milliseconds").parse(legend);
    words.is_ok_and(|(_, before)| before.trim_end().to_ascii_lowercase().ends_with("uptime"))
}

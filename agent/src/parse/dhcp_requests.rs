//! Readers of the files in which DHCP servers record requests.

use std::{collections::BTreeMap, net::Ipv4Addr};

use nom::{
    IResult, Parser,
    bytes::complete::take_till,
    character::complete::{char, u64 as number64},
    combinator::map_res,
    sequence::terminated,
};
use prost_types::Timestamp;
use serde::{Deserialize, Serialize};

use super::{fault::ParseFault, nv_objects::json};

/// An address that a host was given, and when it last asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseRequest {
    /// The address that the host was given.
    pub address: Ipv4Addr,
    /// Seconds since the epoch.
    pub asked_at: u64,
}

/// Reads a lease file of Kea, which may be written to at the same time: lines that are not whole leases are skipped. An address
/// may have several lines, of which the last one counts; all are returned.
#[must_use]
pub fn kea_leases(text: &str) -> Vec<LeaseRequest> {
    text.lines().filter_map(|line| kea_lease(line).ok()).map(|(_, lease)| lease).collect()
}

/// `198.51.100.49,02:00:5e:10:00:21,,604800,1917607200,1,…`: address, MAC address, client, seconds of the lease, its end.
fn kea_lease(line: &str) -> IResult<&str, LeaseRequest> {
    let cell = || terminated(take_till(|c| c == ','), char(','));
    let address = map_res(cell(), str::parse);
    // A comma behind it shows that the number is complete.
    let number = || terminated(number64, char(','));
    let asked = map_res((number(), number()), |(length, end): (u64, u64)| end.checked_sub(length).ok_or("a time"));
    let (rest, (address, _, _, asked_at)) = (address, cell(), cell(), asked).parse(line)?;
    Ok((rest, LeaseRequest { address, asked_at }))
}

/// Reads `dhcp_timestamps.json` of NICo's DHCP server: when it last answered a host, in seconds since the epoch, by the id
/// of the host's interface. What is not a time is left out.
///
/// # Errors
/// [`ParseFault`] where the text is no such JSON.
pub fn dhcp_timestamps(text: &str) -> Result<BTreeMap<String, i64>, ParseFault> {
    #[derive(Deserialize)]
    struct RawTimestamps {
        timestamps: BTreeMap<String, String>,
    }
    let raw: RawTimestamps = json("dhcp_timestamps.json", text, "a JSON object with timestamps")?;
    let time = |(id, text): (String, String)| Some((id, text.parse::<Timestamp>().ok()?.seconds));
    Ok(raw.timestamps.into_iter().filter_map(time).collect())
}

//! `vtysh`: BGP sessions as FRR 8.4.4 shows them. Sessions follow from the configuration that runs, so a configuration
//! that was never applied has none.

mod sessions;
mod summary;

pub use sessions::{Session, sessions};

use anyhow::Result;

use super::{Answer, Daemon, DpuDir, Revisions};
use summary::{Speaker, json, text};

/// Runs `vtysh -c COMMAND` on a DPU.
///
/// # Errors
/// If the DPU's files cannot be read or written: a fault of the simulation, not a simulated one.
pub fn run_vtysh(dir: &DpuDir, command: &str) -> Result<Answer> {
    match dir.scenario()?.bgp.daemon {
        Daemon::Running => {}
        Daemon::BgpdDown => return Ok(Answer::fails("bgpd is not running\n")),
        Daemon::AllDown => return Ok(Answer::fails("Exiting: failed to connect to any daemons.\n")),
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    let (query, as_json) = match words.as_slice() {
        [query @ .., "json"] => (query, true),
        query => (query, false),
    };
    let unknown = || Answer::complains(format!("% Unknown command: {command}\n"));
    let ["show", "bgp", query @ .., "summary"] = query else { return Ok(unknown()) };
    let (vrf, family) = match query {
        ["vrf", vrf, rest @ ..] => (*vrf, rest),
        rest => ("default", rest),
    };
    let only = match family {
        [] => None,
        ["ipv4"] | ["ipv4", "unicast"] => Some("ipv4Unicast"),
        ["ipv6"] | ["ipv6", "unicast"] => Some("ipv6Unicast"),
        ["l2vpn", "evpn"] => Some("l2VpnEvpn"),
        _ => return Ok(unknown()),
    };
    let running = Revisions::open(dir)?.running()?;
    let all = sessions(dir)?;
    let mut speakers = Speaker::all(&running, &all, dir.scenario()?.bgp.dynamic_peers);
    speakers.retain(|speaker| vrf == "all" || speaker.vrf == vrf);
    Ok(Answer::says(if as_json { json(&speakers, vrf == "all", only) } else { text(&speakers, vrf, only) }))
}

//! Reader of `show bgp summary` as text, for FRR without JSON and for what its JSON leaves out.

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, take, take_till, take_till1, take_until, take_while1},
    character::complete::{char, space1, u32 as number32, u64 as number64},
    combinator::{all_consuming, fail, opt, rest, value, verify},
    sequence::{delimited, preceded, terminated},
};

use super::{
    bgp::{BgpPeer, BgpSummary, BgpTable, DEFAULT_VRF, FailedSession, Family, PeerState, as_number, vrf_named},
    fault::{ParseFault, excerpt},
    uptime,
};

const OUTPUT: &str = "show bgp summary";

/// Reads `show bgp summary` as text, of FRR 7 to 10 and of Quagga, with all their columns, `wide`, `failed`, `vrf all`.
///
/// Columns are found by the header of each table. A table without a title is taken as IPv4 unicast; one whose VRF is not
/// named goes by its number, for example `vrf-id 14`. Lines outside tables are skipped; those that begin with `%`, and all of
/// them where there is no table, are kept as notes: an empty summary does not tell a healthy DPU from one without BGP, so
/// callers must look for the peers they expect.
///
/// # Errors
/// [`ParseFault`] at a row that does not fit its header or is cut, and at a header that is not known.
pub fn bgp_text(text: &str) -> Result<BgpSummary, ParseFault> {
    let mut summary = BgpSummary::default();
    let mut place = TableContext::default();
    let mut loose: Vec<String> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Ok((columns, layout)) = header(line) {
            let fault = |rest: &str, expected: &str| ParseFault::at(OUTPUT, text, rest, expected);
            let layout = layout.ok_or_else(|| fault(columns, "the columns of a BGP summary"))?;
            table(text, &mut lines, layout, &mut place, &mut summary)?;
        } else if !place.read(line) && !line.trim().is_empty() {
            let line = line.trim();
            if line.starts_with('%') {
                summary.notes.push(excerpt(line));
            } else if loose.len() < 4 {
                loose.push(excerpt(line));
            }
        }
    }
    if summary.tables.is_empty() && summary.notes.is_empty() {
        summary.notes = loose;
    }
    Ok(summary)
}

/// What is known about the next table from the lines before it.
#[derive(Default)]
struct TableContext<'t> {
    /// VRF that an instance line names, for all tables up to the next such line.
    instance: Option<&'t str>,
    /// VRF that the title or the router line names, and its number.
    vrf: Option<&'t str>,
    vrf_id: Option<&'t str>,
    family: Option<Family>,
    local_as: Option<u32>,
    /// Families whose table of the default VRF is over, where it is not named.
    default_over: Vec<Family>,
}

impl<'t> TableContext<'t> {
    /// Takes in a title, an instance line or a router line; false for any other line.
    fn read(&mut self, line: &'t str) -> bool {
        let line = line.trim();
        if let Ok((_, name)) = instance(line) {
            *self = Self { instance: Some(name), ..Self::default() };
        } else if let Ok((_, (family, vrf))) = title(line) {
            (self.family, self.vrf) = (Some(family_of(family)), vrf);
        } else if let Ok((_, (local_as, vrf, vrf_id))) = router(line) {
            self.local_as = as_number(local_as);
            (self.vrf, self.vrf_id) = (vrf.or(self.vrf), vrf_id);
        } else {
            return false;
        }
        true
    }

    /// VRF, family and AS number of the table that begins here; what was read of it holds for no other one.
    ///
    /// Where no line names the VRF it goes by its number. That of the default one is 0, but views have it too: they come
    /// after the table of the default one.
    fn take(&mut self) -> (String, Family, Option<u32>) {
        let family = self.family.take().unwrap_or(Family::Ipv4Unicast);
        let (vrf, vrf_id) = (self.vrf.take(), self.vrf_id.take());
        let vrf = match (vrf.or(self.instance), vrf_id) {
            (Some(name), _) => vrf_named(name).to_owned(),
            (None, Some(id)) if id != "0" || self.default_over.contains(&family) => format!("vrf-id {id}"),
            (None, _) => {
                self.default_over.push(family.clone());
                DEFAULT_VRF.to_owned()
            }
        };
        (vrf, family, self.local_as.take())
    }
}

/// `Instance vrf_blue:`
fn instance(line: &str) -> IResult<&str, &str> {
    delimited(tag("Instance "), take_till1(|c| c == ':'), char(':')).parse(line)
}

/// `IPv4 Unicast Summary:`, `IPv4 Unicast Summary (VRF default):` or `IPv4 Unicast Summary (VIEW lab):`
fn title(line: &str) -> IResult<&str, (&str, Option<&str>)> {
    let kind = alt((tag(" (VRF "), tag(" (VIEW ")));
    let vrf = delimited(kind, take_till1(|c| c == ')'), char(')'));
    terminated((take_until(" Summary"), preceded(tag(" Summary"), opt(vrf))), rest).parse(line)
}

/// `BGP router identifier 192.0.2.1, local AS number 64500 VRF default vrf-id 0`
fn router(line: &str) -> IResult<&str, (&str, Option<&str>, Option<&str>)> {
    let word = || take_till1(char::is_whitespace);
    let vrf = preceded((space1, alt((tag("VRF"), tag("VIEW"))), space1), word());
    let start = (tag("BGP router identifier "), take_until(", local AS number "), tag(", local AS number "));
    preceded(start, (word(), opt(vrf), opt(preceded((space1, tag("vrf-id"), space1), word())))).parse(line)
}

fn family_of(title: &str) -> Family {
    match title {
        "IPv4 Unicast" => Family::Ipv4Unicast,
        "IPv6 Unicast" => Family::Ipv6Unicast,
        "L2VPN EVPN" => Family::L2VpnEvpn,
        other => Family::Other(other.to_owned()),
    }
}

/// The columns of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Sessions {
        /// Numbers from behind the version to before the time, `AS` first.
        numbers: usize,
        local_as: bool,
        sent: bool,
        description: bool,
    },
    Failed,
}

/// A header line, with its layout if its columns are known.
fn header(line: &str) -> IResult<&str, Option<Layout>> {
    let start = line.trim_start();
    let (_, _) = (tag("Neighbor"), space1).parse(start)?;
    let columns: Vec<&str> = start.split_whitespace().skip(1).collect();
    Ok((start, layout(&columns)))
}

fn layout(columns: &[&str]) -> Option<Layout> {
    if columns == ["EstdCnt", "DropCnt", "ResetTime", "Reason"] {
        return Some(Layout::Failed);
    }
    let time = columns.iter().position(|&column| column == "Up/Down")?;
    let numbers = columns.get(1..time)?;
    let known = |column: &&str| matches!(*column, "AS" | "LocalAS" | "MsgRcvd" | "MsgSent" | "TblVer" | "InQ" | "OutQ");
    let tail = columns.get(time + 1..)?;
    let (sent, description) = match tail {
        ["State/PfxRcd"] => (false, false),
        ["State/PfxRcd", "PfxSnt"] => (true, false),
        ["State/PfxRcd", "Desc"] => (false, true),
        ["State/PfxRcd", "PfxSnt", "Desc"] => (true, true),
        _ => return None,
    };
    let fits = columns.first() == Some(&"V") && numbers.first() == Some(&"AS") && numbers.iter().all(known);
    let local_as = numbers.get(1) == Some(&"LocalAS");
    fits.then_some(Layout::Sessions { numbers: numbers.len(), local_as, sent, description })
}

/// The rows under a header, up to a line that is none.
fn table<'t>(
    text: &'t str,
    lines: &mut std::str::Lines<'t>,
    layout: Layout,
    place: &mut TableContext<'t>,
    summary: &mut BgpSummary,
) -> Result<(), ParseFault> {
    let (vrf, family, local_as) = place.take();
    let mut peers = Vec::new();
    let mut failed = Vec::new();
    let mut wrapped: Option<&str> = None;
    let fault = |rest: &str, expected: &str| Err(ParseFault::at(OUTPUT, text, rest, expected));
    for line in lines.by_ref() {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            break;
        }
        // A name that is too long for its column stands alone, and its row follows on the next line.
        if wrapped.is_none() && !trimmed.contains(' ') {
            wrapped = Some(trimmed);
            continue;
        }
        // Most lines are rows, so that is tried first.
        let (rest, expected) = match layout {
            Layout::Sessions { .. } => match session(line, wrapped, layout) {
                Ok(peer) => {
                    wrapped = None;
                    peers.push(peer);
                    continue;
                }
                Err(fault) => fault,
            },
            Layout::Failed => match failed_row(line) {
                Ok((_, (name, (established_count, dropped_count), reset, reason))) => {
                    failed.push(FailedSession {
                        vrf: vrf.clone(),
                        family: family.clone(),
                        name: named(name).0.to_owned(),
                        established_count,
                        dropped_count,
                        reset: reset.to_owned(),
                        reason: reason.trim().to_owned(),
                    });
                    continue;
                }
                Err(_) => (line, "a neighbor, two counts, a time and a reason"),
            },
        };
        if !ends_table(trimmed) {
            return fault(rest, expected);
        }
        place.read(line);
        break;
    }
    if let Some(name) = wrapped {
        return fault(name, "a neighbor and the rest of its row");
    }
    match layout {
        Layout::Failed => summary.failed.append(&mut failed),
        Layout::Sessions { .. } => {
            summary.tables.push(BgpTable { vrf, family, local_as, peers, failed_peers: None, dynamic_peers: None });
        }
    }
    Ok(())
}

/// Lines that may follow the last row without a blank line.
fn ends_table(line: &str) -> bool {
    let starts = ["Total number", "Displayed neighbors", "Instance ", "BGP router identifier", "%", "* - ", "* = "];
    starts.iter().any(|start| line.starts_with(start)) || title(line).is_ok() || line.contains(" dynamic neighbor(s)")
}

/// The next cell of a row. Most of a row is looked at by this and by `blanks` only, so both look at bytes.
fn word(input: &str) -> IResult<&str, &str> {
    let start = blanks(input);
    let length = start.bytes().position(|byte| byte == b' ').unwrap_or(start.len());
    match start.split_at_checked(length) {
        Some((word, rest)) if !word.is_empty() => Ok((rest, word)),
        _ => fail().parse(start),
    }
}

/// What is behind the blanks.
fn blanks(input: &str) -> &str {
    let count = input.bytes().take_while(u8::is_ascii_whitespace).count();
    input.get(count..).unwrap_or_default()
}

/// Where a row stops to be one, and what was expected there.
type RowFault<'l> = (&'l str, &'static str);

/// One session.
fn session<'l>(line: &'l str, wrapped: Option<&'l str>, layout: Layout) -> Result<BgpPeer, RowFault<'l>> {
    let Layout::Sessions { numbers, local_as, sent, description } = layout else {
        return Err((line, "a row of sessions"));
    };
    let (input, name) = match wrapped {
        Some(name) => (line, name),
        None => word(line).map_err(|_| (line, "a neighbor"))?,
    };
    let mut version = verify(take(1_usize), |version: &str| version.bytes().all(|byte| byte.is_ascii_digit()));
    let (input, _version) = version
        .parse(blanks(input))
        .map_err(|_: nom::Err<nom::error::Error<&str>>| (input, "the BGP version, one digit"))?;
    let (input, (count, [first, second])) = values(input, numbers)?;
    // The AS number of a neighbor that was never heard may be left out.
    let (remote_as, own_as) = if count == numbers { (Some(first), second) } else { (None, first) };
    let remote_as = remote_as.and_then(as_number);
    let own_as = Some(own_as).filter(|_| local_as).and_then(as_number);
    let (input, uptime) = word(input).map_err(|_| (input, "the time since the last change"))?;
    let (input, received) = state(input).map_err(|_| (input, "a state or a number of prefixes"))?;
    let (input, sent) = match sent {
        true => match prefixes_sent(input) {
            Ok(sent) => sent,
            // FRR 7.5 says once for both columns that the family was not negotiated.
            Err(_) if received.is_not_negotiated() => (input, None),
            Err(_) => return Err((input, "a number of prefixes sent")),
        },
        false => (input, None),
    };
    let text = input.trim();
    if !description && !text.is_empty() {
        return Err((blanks(input), "the end of the row"));
    }
    let (name, hostname, dynamic) = named(name);
    let (state, received) = match received {
        Received::Prefixes(count) => (PeerState::Established, Some(count)),
        Received::State(state) => (state, None),
    };
    Ok(BgpPeer {
        name: name.to_owned(),
        hostname: hostname.map(str::to_owned),
        dynamic,
        remote_as,
        local_as: own_as,
        state,
        received,
        sent,
        uptime_secs: uptime::seconds(uptime),
        uptime: uptime.to_owned(),
        description: Some(text).filter(|text| !text.is_empty() && *text != "N/A").map(str::to_owned),
    })
}

/// The numbers up to the time, which is the first word that is no number: how many there are, and the first two.
fn values(input: &str, most: usize) -> Result<(&str, (usize, [&str; 2])), RowFault<'_>> {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let (mut left, mut count, mut first) = (input, 0, [""; 2]);
    while count < most
        && let Ok((rest, text)) = word(left)
        && number(text)
        && rest.starts_with(' ')
    {
        if let Some(place) = first.get_mut(count) {
            *place = text;
        }
        (left, count) = (rest, count + 1);
    }
    if count + 1 < most { Err((blanks(left), "the next counter of the session")) } else { Ok((left, (count, first))) }
}

/// `*host(name)`: the name, the host name, and whether the session is dynamic.
fn named(cell: &str) -> (&str, Option<&str>, bool) {
    let (cell, dynamic) = cell.strip_prefix('*').map_or((cell, false), |cell| (cell, true));
    let parts: IResult<&str, (&str, &str)> =
        all_consuming((take_till1(|c| c == '('), delimited(char('('), take_till1(|c| c == ')'), char(')'))))
            .parse(cell);
    match parts {
        Ok((_, (host, name))) => (name, Some(host), dynamic),
        Err(_) => (cell, None, dynamic),
    }
}

#[derive(Clone)]
enum Received {
    Prefixes(u64),
    State(PeerState),
}

impl Received {
    fn is_not_negotiated(&self) -> bool {
        matches!(self, Self::State(PeerState::NotNegotiated))
    }
}

/// A number of prefixes, or a state, which may hold a blank: `Idle (Admin)`.
fn state(input: &str) -> IResult<&str, Received> {
    let ends = |input| {
        verify(nom::combinator::peek(take_till(char::is_whitespace)), |tail: &str| tail.is_empty()).parse(input)
    };
    let up = alt((value(PeerState::NotNegotiated, tag("NoNeg")), value(PeerState::NoPolicy, tag("(Policy)"))));
    let reason = preceded(char(' '), delimited(char('('), take_till1(|c| c == ')'), char(')')));
    let input = blanks(input);
    if let Ok((rest, count)) = terminated(number64, ends).parse(input) {
        return Ok((rest, Received::Prefixes(count)));
    }
    if let Ok((rest, state)) = terminated(up, ends).parse(input) {
        return Ok((rest, Received::State(state)));
    }
    let letters = take_while1(|c: char| c.is_ascii_alphabetic());
    let (rest, (word, reason)) = (terminated(letters, ends), opt(reason)).parse(input)?;
    let text = match reason {
        Some(reason) => format!("{word} ({reason})"),
        None => word.to_owned(),
    };
    Ok((rest, Received::State(PeerState::Down(text))))
}

/// A number of prefixes; none where the family is not in use.
fn prefixes_sent(input: &str) -> IResult<&str, Option<u64>> {
    let none = alt((tag("NoNeg"), tag("(Policy)")));
    alt((number64.map(Some), value(None, none))).parse(blanks(input))
}

type FailedRow<'l> = (&'l str, (u32, u32), &'l str, &'l str);

/// `p0_if  1  0  00:05:00 Waiting for peer OPEN`
fn failed_row(line: &str) -> IResult<&str, FailedRow<'_>> {
    let count = || preceded(space1, number32);
    (word, (count(), count()), word, rest).parse(line)
}

//! Reader of times as FRR and NVUE print them.

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::tag,
    character::complete::{char, one_of, space0, u64},
    combinator::{all_consuming, opt},
    multi::fold_many1,
    sequence::{preceded, terminated},
};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Seconds of a time as FRR or NVUE prints it: `23:59:59`, `6d22h55m`, `02w3d04h`, `01y12w3d`, `1 day, 5:08:26`.
///
/// None for `never` and for forms that are not known.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let (_, seconds) = all_consuming(alt((units, days_and_clock))).parse(text.trim()).ok()?;
    seconds
}

/// `01y12w3d`: numbers with the unit behind. None where the sum is no time that a counter holds.
fn units(text: &str) -> IResult<&str, Option<u64>> {
    let part = (u64, one_of("ywdhms"));
    fold_many1(
        part,
        || Some(0_u64),
        |sum, (count, unit)| {
            let unit = match unit {
                'y' => 365 * DAY,
                'w' => 7 * DAY,
                'd' => DAY,
                'h' => HOUR,
                'm' => MINUTE,
                _ => 1,
            };
            sum?.checked_add(count.checked_mul(unit)?)
        },
    )
    .parse(text)
}

/// `5:08:26`, with `1 day, ` or `12 days, ` in front of it.
fn days_and_clock(text: &str) -> IResult<&str, Option<u64>> {
    let days = terminated(u64, (space0, alt((tag("days"), tag("day"))), opt(char(',')), space0));
    let clock = (u64, preceded(char(':'), u64), preceded(char(':'), u64));
    let (rest, (days, (hours, minutes, seconds))) = (opt(days), clock).parse(text)?;
    let sum = || {
        let days = days.unwrap_or(0).checked_mul(DAY)?;
        let clock = hours.checked_mul(HOUR)?.checked_add(minutes.checked_mul(MINUTE)?)?.checked_add(seconds)?;
        days.checked_add(clock)
    };
    Ok((rest, sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        for (text, expected) in [
            ("never", None),
            ("00:00:03", Some(3)),
            ("23:59:59", Some(86_399)),
            ("6d22h55m", Some(600_900)),
            ("1d02h29m", Some(95_340)),
            ("02w3d04h", Some(1_483_200)),
            ("01y12w3d", Some((365 + 84 + 3) * 86_400)),
            ("1 day, 5:08:26", Some(104_906)),
            ("12 days, 7:02:33", Some(12 * 86_400 + 25_353)),
            ("3:51:07", Some(13_867)),
            ("", None),
            ("soon", None),
            ("5x", None),
            ("99999999999999999999d", None),
            ("18446744073709551615y", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}

//! Readers of `nv config apply`, `replace` and `diff`. Exit statuses prove little, so words are sorted by what they prove.

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, tag_no_case, take_till1},
    character::complete::{char, space0},
    combinator::opt,
    sequence::{delimited, preceded},
};
use serde::Serialize;
use types::{MOST_LEVELS, nesting};

use super::fault::excerpt;

/// Id of an NVUE revision: a number, or `changeset/<user>/<time>_<letters>` in old releases.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct RevisionId(String);

impl RevisionId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for RevisionId {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// What `nv config apply` or `nv config replace` said, apart from its exit status, which alone means little: NVUE is
/// known to print errors and exit with 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum ApplyAnswer {
    /// `applied [rev_id: N]` or `applied_and_saved [rev_id: N]`.
    Applied(RevisionId),
    /// `confirm [rev_id: N]`: it runs, and is rolled back unless it is confirmed in time.
    OnTrial(RevisionId),
    /// `confirm_fail [rev_id: N]`: it was on trial, and is rolled back.
    TakenBack(RevisionId),
    /// Only a revision was named (`created`, `attached`, …): nothing is applied.
    Named(RevisionId),
    /// NVUE looked at the configuration and said no before anything moved; its words.
    Refused(String),
    /// The command does not know how it was called, so it did nothing; its words.
    UnknownOption(String),
    /// There is no configuration on trial that could be kept or taken back; its words.
    NothingOnTrial(String),
    /// NVUE broke off while it applied: a part of the configuration may run; its words.
    BrokeOff(String),
    /// It failed in another way, which does not say how far it came; its words.
    Failed(String),
    /// NVUE asked a question that nobody answers; its words.
    Prompt(String),
    /// The NVUE daemon went away: nobody knows how far it came.
    DaemonGone(String),
    /// Nothing was printed.
    Silent,
    /// Words that are not known.
    Unclear(String),
}

impl ApplyAnswer {
    /// The revision that is named.
    #[must_use]
    pub fn revision(&self) -> Option<&RevisionId> {
        match self {
            Self::Applied(id) | Self::OnTrial(id) | Self::TakenBack(id) | Self::Named(id) => Some(id),
            _ => None,
        }
    }
}

/// Reads the answer of `nv config apply`, `replace`, or `detach` from standard output and standard error together.
#[must_use]
pub fn apply_answer(text: &str) -> ApplyAnswer {
    let mut named: Vec<ApplyAnswer> = Vec::new();
    let mut complaints: Vec<ApplyAnswer> = Vec::new();
    let mut question = false;
    // What is indented under a complaint is its reason.
    let mut under_complaint = false;
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        let reason = || reason(lines.get(number..).unwrap_or_default());
        if line.contains("Could not connect to nvued") || line.contains("nvued is not running") {
            return ApplyAnswer::DaemonGone(reason());
        }
        question |= asks(line);
        if under_complaint && line.starts_with(char::is_whitespace) {
            continue;
        }
        under_complaint = complaint(line).is_ok();
        if under_complaint {
            complaints.push(complained(reason()));
        } else if let Ok((_, (word, id))) = revision_line(line) {
            let id = RevisionId::from(id);
            named.push(match word {
                "applied" | "applied_and_saved" => ApplyAnswer::Applied(id),
                "confirm" => ApplyAnswer::OnTrial(id),
                "confirm_fail" | "confirm_no" => ApplyAnswer::TakenBack(id),
                _ => ApplyAnswer::Named(id),
            });
        }
    }
    let all = || excerpt(&lines.join(" "));
    let moved = named.iter().any(|answer| !matches!(answer, ApplyAnswer::Named(_)));
    let broken = complaints.iter().position(|answer| matches!(answer, ApplyAnswer::BrokeOff(_)));
    if let Some(place) = broken {
        return complaints.swap_remove(place);
    }
    match (complaints.first(), question) {
        // Both that it was done and that it was not: neither is proved.
        (Some(_), true) => ApplyAnswer::Failed(all()),
        (None, true) if moved => ApplyAnswer::Failed(all()),
        (None, true) => ApplyAnswer::Prompt(all()),
        (Some(first), false) => match moved || complaints.iter().any(|other| !same_kind(first, other)) {
            true => ApplyAnswer::Failed(all()),
            false => complaints.swap_remove(0),
        },
        (None, false) => match named.pop() {
            Some(last) => last,
            None if text.trim().is_empty() => ApplyAnswer::Silent,
            None => ApplyAnswer::Unclear(excerpt(text.trim())),
        },
    }
}

fn same_kind(one: &ApplyAnswer, other: &ApplyAnswer) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

fn asks(line: &str) -> bool {
    ["[y/N]", "[Y/n]"].iter().any(|choice| line.trim_end().ends_with(choice))
}

/// Sorts a complaint by what it proves.
fn complained(reason: String) -> ApplyAnswer {
    if broken_off(&reason).is_ok() {
        ApplyAnswer::BrokeOff(reason)
    } else if before_anything(&reason).is_ok() {
        ApplyAnswer::Refused(reason)
    } else if is_unknown_option(&reason) {
        ApplyAnswer::UnknownOption(reason)
    } else if contains(&reason, "no configuration to confirm") {
        ApplyAnswer::NothingOnTrial(reason)
    } else {
        ApplyAnswer::Failed(reason)
    }
}

/// `Failed to apply` or `Failure during apply`, but not `Failed to prepare to apply`, which comes before anything moves.
fn broken_off(reason: &str) -> IResult<&str, &str> {
    let verb = alt((tag_no_case("apply"), tag_no_case("reload"), tag_no_case("save")));
    preceded(alt((tag_no_case("failed to "), tag_no_case("failure during "))), verb).parse(reason)
}

/// What NVUE says when it looked at a configuration and left it at that.
fn before_anything(reason: &str) -> IResult<&str, &str> {
    alt((tag_no_case("invalid config"), tag_no_case("failed to prepare to apply"))).parse(reason)
}

/// Whether NVUE says that it does not know the option, or in its REST interface the key, for a change on trial.
#[must_use]
pub fn is_unknown_option(reason: &str) -> bool {
    const WORDS: [&str; 7] = [
        "invalid option",
        "unknown option",
        "no such option",
        "unrecognized argument",
        "unexpected argument",
        "unexpected key",
        "was unexpected",
    ];
    let names_it = contains(reason, "confirm") || contains(reason, "state-controls");
    contains(reason, "usage:") || names_it && WORDS.iter().any(|words| contains(reason, words))
}

fn contains(text: &str, words: &str) -> bool {
    text.to_ascii_lowercase().contains(words)
}

/// `word [rev_id: id]`: both.
fn revision_line(line: &str) -> IResult<&str, (&str, &str)> {
    let word = take_till1(|c: char| c == '[' || c.is_whitespace());
    let id = delimited(tag("[rev_id:"), preceded(space0, take_till1(|c: char| c == ']')), char(']'));
    let (rest, (word, id)) = (preceded(space0, word), preceded(space0, id)).parse(line)?;
    Ok((rest, (word, id.trim())))
}

/// A line that begins a complaint. The word for how far NVUE came may stand before it without a blank.
fn complaint(line: &str) -> IResult<&str, &str> {
    let progress = alt((tag("checking"), tag("verifying"), tag("reloading"), tag("applying"), tag("saving")));
    preceded(
        (space0, opt(progress)),
        alt((
            tag_no_case("invalid config"),
            tag_no_case("error"),
            tag_no_case("failed to"),
            tag_no_case("failure"),
            tag_no_case("unrecoverable internal error"),
            tag_no_case("traceback"),
            tag_no_case("usage:"),
        )),
    )
    .parse(line)
}

/// A complaint's line and the indented lines under it, joined.
fn reason(lines: &[&str]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if number > 0 && !line.starts_with(char::is_whitespace) {
            break;
        }
        if !line.trim().is_empty() {
            words.push(line.trim());
        }
    }
    let text = words.join(" ");
    excerpt_long(&text)
}

fn excerpt_long(text: &str) -> String {
    const LONGEST: usize = 480;
    if text.chars().count() <= LONGEST { text.to_owned() } else { text.chars().take(LONGEST).chain(['…']).collect() }
}

/// What `nv config diff` said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Diff {
    /// Nothing differs.
    Empty,
    /// Only masked secrets differ: NVUE shows them as `*` and cannot compare them.
    MaskedOnly,
    /// Something differs.
    Changes,
}

/// Reads `nv config diff`: a YAML list of `set` and `unset`.
///
/// # Errors
/// The complaint, if NVUE printed one instead of a diff.
pub fn diff(text: &str) -> Result<Diff, String> {
    if let Some(line) = text.lines().find(|line| complaint(line).is_ok()) {
        return Err(excerpt(line.trim()));
    }
    if text.trim().is_empty() {
        return Ok(Diff::Empty);
    }
    if nesting(text) > MOST_LEVELS {
        return Err(format!("a diff of more than {MOST_LEVELS} levels"));
    }
    let entries: Vec<serde_yaml::Value> =
        serde_yaml::from_str(text).map_err(|error| format!("a diff that is no YAML list ({error})"))?;
    let mut leaves = Leaves::default();
    for entry in entries.iter().filter_map(serde_yaml::Value::as_mapping) {
        // The header tells the model and the release; it is no configuration.
        entry.iter().filter(|(key, _)| key.as_str() != Some("header")).for_each(|(_, value)| leaves.walk(value));
    }
    Ok(leaves.diff())
}

/// Reads the difference of two revisions as NVUE's REST interface gives it: what is only in one, and only in the other.
#[must_use]
pub fn json_diff(directions: &[&serde_json::Value]) -> Diff {
    let mut leaves = Leaves::default();
    for direction in directions.iter().filter(|direction| direction.as_object().is_some_and(|map| !map.is_empty())) {
        leaves.walk_json(direction);
    }
    leaves.diff()
}

#[derive(Default)]
struct Leaves {
    masked: usize,
    plain: usize,
}

impl Leaves {
    fn walk(&mut self, value: &serde_yaml::Value) {
        match value {
            serde_yaml::Value::Mapping(map) if !map.is_empty() => map.iter().for_each(|(_, value)| self.walk(value)),
            serde_yaml::Value::Sequence(list) if !list.is_empty() => list.iter().for_each(|value| self.walk(value)),
            serde_yaml::Value::String(text) if !text.is_empty() && text.bytes().all(|byte| byte == b'*') => {
                self.masked += 1;
            }
            _ => self.plain += 1,
        }
    }

    fn walk_json(&mut self, value: &serde_json::Value) {
        match value {
            serde_json::Value::Object(map) if !map.is_empty() => map.values().for_each(|value| self.walk_json(value)),
            serde_json::Value::Array(list) if !list.is_empty() => list.iter().for_each(|value| self.walk_json(value)),
            serde_json::Value::String(text) if !text.is_empty() && text.bytes().all(|byte| byte == b'*') => {
                self.masked += 1;
            }
            _ => self.plain += 1,
        }
    }

    fn diff(&self) -> Diff {
        match self {
            Self { masked: 0, plain: 0 } => Diff::Empty,
            Self { plain: 0, .. } => Diff::MaskedOnly,
            _ => Diff::Changes,
        }
    }
}

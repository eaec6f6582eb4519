use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, tag_no_case, take_till1},
    character::complete::{char, space0},
    sequence::{delimited, preceded},
};
use serde::Serialize;

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
    /// Only a revision was named (`created`, `attached`, …): nothing is applied.
    Named(RevisionId),
    /// NVUE looked at the configuration and said no; its words.
    Refused(String),
    /// NVUE broke off while it applied: a part of the configuration may run; its words.
    BrokeOff(String),
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
            Self::Applied(id) | Self::OnTrial(id) | Self::Named(id) => Some(id),
            _ => None,
        }
    }
}

/// Reads the answer of `nv config apply`, `replace`, or `detach` from standard output and standard error together.
#[must_use]
pub fn apply_answer(text: &str) -> ApplyAnswer {
    let mut named = None;
    let mut refused = None;
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        let reason = || reason(lines.get(number..).unwrap_or_default());
        if line.contains("Could not connect to nvued") || line.contains("nvued is not running") {
            return ApplyAnswer::DaemonGone(reason());
        }
        if line.trim_end().ends_with("[y/N]") || line.trim_end().ends_with("[Y/n]") {
            return ApplyAnswer::Prompt(excerpt(&lines.join(" ")));
        }
        if refused.is_none() && complaint(line).is_ok() {
            refused = Some(reason());
        } else if let Ok((_, (word, id))) = revision_line(line) {
            let id = RevisionId::from(id);
            named = Some(match word {
                "applied" | "applied_and_saved" => ApplyAnswer::Applied(id),
                "confirm" => ApplyAnswer::OnTrial(id),
                _ => ApplyAnswer::Named(id),
            });
        }
    }
    match (refused, named) {
        (Some(reason), _) if broken_off(&reason).is_ok() => ApplyAnswer::BrokeOff(reason),
        (Some(reason), _) => ApplyAnswer::Refused(reason),
        (None, Some(answer)) => answer,
        (None, None) if text.trim().is_empty() => ApplyAnswer::Silent,
        (None, None) => ApplyAnswer::Unclear(excerpt(text.trim())),
    }
}

/// `Failed to apply` or `Failure during apply`, but not `Failed to prepare to apply`, which comes before anything moves.
fn broken_off(reason: &str) -> IResult<&str, &str> {
    let verb = alt((tag_no_case("apply"), tag_no_case("reload"), tag_no_case("save")));
    preceded(alt((tag_no_case("failed to "), tag_no_case("failure during "))), verb).parse(reason)
}

/// `word [rev_id: id]`: both.
fn revision_line(line: &str) -> IResult<&str, (&str, &str)> {
    let word = take_till1(|c: char| c == '[' || c.is_whitespace());
    let id = delimited(tag("[rev_id:"), preceded(space0, take_till1(|c: char| c == ']')), char(']'));
    let (rest, (word, id)) = (preceded(space0, word), preceded(space0, id)).parse(line)?;
    Ok((rest, (word, id.trim())))
}

/// A line that begins a complaint.
fn complaint(line: &str) -> IResult<&str, &str> {
    preceded(
        space0,
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

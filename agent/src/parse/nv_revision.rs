//! Readers of NVUE's revisions, from the command and from the REST interface.

use std::collections::BTreeMap;

use nom::{IResult, Parser, character::complete::u64, combinator::all_consuming};
use serde::{Deserialize, Serialize};

use super::{
    fault::{ParseFault, excerpt},
    nv_objects::json,
    nv_show::nv_tables,
};

const OUTPUT: &str = "nv config revision";

/// A revision in `nv config revision`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Revision {
    /// Its number, or `changeset/<user>/<time>_<letters>` in old releases; names such as `applied` or `startup` are no
    /// revisions of their own.
    pub id: String,
    /// `applied_and_saved`, `pending`, `invalid`, `confirm`, …
    pub state: String,
    /// When it was applied, as printed.
    pub applied_at: Option<String>,
    /// Text given with it.
    pub message: Option<String>,
}

impl Revision {
    /// It was applied, saved or not.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        is_applied(&self.state)
    }

    /// NVUE is at work with it.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        is_under_way(&self.state)
    }

    /// It runs until it is confirmed or rolled back.
    #[must_use]
    pub fn is_on_trial(&self) -> bool {
        self.state == "confirm"
    }
}

/// Whether a revision's state says that NVUE is at work with it.
fn is_under_way(state: &str) -> bool {
    const STATES: [&str; 8] = ["apply", "ays", "ays_yes", "verify", "reload", "save", "confirm_yes", "ignore_fail_yes"];
    STATES.contains(&state)
}

/// Whether a revision's state says that it runs. A missing state says nothing yet.
#[must_use]
pub fn is_applied(state: &str) -> bool {
    matches!(state, "applied" | "applied_and_saved")
}

/// How applying a revision goes, as NVUE's REST interface tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum RevisionState {
    /// Nobody ordered anything, or what is said of it is not known.
    Idle,
    /// Not at an end yet.
    UnderWay,
    /// NVUE asks whether one is sure, or reads the answer that came with the order: because of warnings, before anything is
    /// applied, or of a change on trial. The state alone does not say which.
    Asks,
    /// It runs.
    Applied,
    /// It runs until it is confirmed or rolled back.
    OnTrial,
    /// It was on trial and is rolled back; why.
    TakenBack(String),
    /// NVUE does not take it, and nothing has changed; why.
    Refused(String),
    /// NVUE broke off on the way: a part of it may run; why.
    BrokeOff(String),
}

/// NVUE names an error among the issues of a transition, not only warnings.
fn has_error(transition: Option<&serde_json::Value>) -> bool {
    let issues = transition.and_then(|it| it.get("issue")?.as_object());
    let is_error = |issue: &serde_json::Value| issue.get("severity").and_then(|it| it.as_str()) == Some("error");
    issues.is_some_and(|issues| issues.values().any(is_error))
}

/// Reads the answer to `GET /nvue_v1/revision/<id>`.
#[must_use]
pub fn revision_state(answer: &serde_json::Value) -> RevisionState {
    let transition = answer.get("transition");
    let progress = transition.and_then(|it| it.get("progress")?.as_str()).unwrap_or_default();
    let issues = transition.and_then(|it| it.get("issue")?.as_object()).into_iter().flat_map(|issues| issues.values());
    let messages = issues.filter_map(|issue| issue.get("message")?.as_str());
    let words: Vec<&str> = std::iter::once(progress).chain(messages).filter(|text| !text.is_empty()).collect();
    let state = answer.get("state").and_then(serde_json::Value::as_str).unwrap_or_default();
    let reason = || excerpt(&if words.is_empty() { format!("state {state}") } else { words.join(": ") });
    match state {
        // Whatever the state says, a part of it does not run.
        state if (is_applied(state) || state == "apply") && has_error(transition) => RevisionState::BrokeOff(reason()),
        state if is_applied(state) => RevisionState::Applied,
        "confirm" => RevisionState::OnTrial,
        "confirm_fail" | "confirm_no" => RevisionState::TakenBack(reason()),
        // Services did not come back, and NVUE asks whether that matters.
        "ignore_fail" | "apply_fail" | "reload_fail" | "save_fail" => RevisionState::BrokeOff(reason()),
        // Are you sure? Answered with no, or not at all.
        "invalid" | "verify_error" | "verify_fail" | "ays_fail" | "ays_no" => RevisionState::Refused(reason()),
        "ays" => RevisionState::Asks,
        state if is_under_way(state) => RevisionState::UnderWay,
        _ => RevisionState::Idle,
    }
}

/// Reads `nv config revision`, as a table or as JSON, by number.
///
/// # Errors
/// [`ParseFault`] where there is neither.
pub fn nv_revisions(text: &str) -> Result<Vec<Revision>, ParseFault> {
    if text.trim_start().starts_with('{') { from_json(text) } else { from_table(text) }
}

fn from_table(text: &str) -> Result<Vec<Revision>, ParseFault> {
    let tables = nv_tables(text)?;
    let fault = |rest: &str, expected: &str| ParseFault::at(OUTPUT, text, rest, expected);
    let table = (tables.iter().find(|table| table.column("Rev ID").is_some()))
        .ok_or_else(|| fault(text.trim_start(), "a table with the column Rev ID"))?;
    let mut revisions = Vec::new();
    for row in &table.rows {
        let cell = |name: &str| table.column(name).and_then(|column| *row.cells.get(column)?);
        let Some(id) = cell("Rev ID").filter(|id| is_id(id)).map(str::to_owned) else { continue };
        revisions.push(Revision {
            id,
            state: cell("State").unwrap_or_default().to_owned(),
            applied_at: cell("Apply Date").map(str::to_owned),
            message: cell("Message").map(str::to_owned),
        });
    }
    revisions.sort_by_cached_key(|revision| order(&revision.id));
    Ok(revisions)
}

#[derive(Deserialize)]
struct RawRevision {
    #[serde(default)]
    state: String,
}

fn from_json(text: &str) -> Result<Vec<Revision>, ParseFault> {
    let raw: BTreeMap<String, RawRevision> = json(OUTPUT, text, "revisions by number, each with a state")?;
    let revision = |(id, raw): (String, RawRevision)| {
        is_id(&id).then_some(Revision { id, state: raw.state, applied_at: None, message: None })
    };
    let mut revisions: Vec<Revision> = raw.into_iter().filter_map(revision).collect();
    revisions.sort_by_cached_key(|revision| order(&revision.id));
    Ok(revisions)
}

/// A revision of its own, not another name for one.
fn is_id(text: &str) -> bool {
    number(text).is_some() || text.starts_with("changeset/")
}

/// Numbers by size; old ids by the time that they hold.
fn order(id: &str) -> (Option<u64>, String) {
    (number(id), id.rsplit('/').next().unwrap_or_default().to_owned())
}

fn number(text: &str) -> Option<u64> {
    let read: IResult<&str, u64> = all_consuming(u64).parse(text);
    read.ok().map(|(_, number)| number)
}

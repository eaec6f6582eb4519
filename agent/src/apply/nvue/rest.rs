use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    APPLY, Attempt, Journal, NvueDone, NvueFault,
    http::{HttpFault, Reply, send},
};
use crate::{
    config::NvueRest,
    parse::{Diff, RevisionState, is_unknown_option, json_diff, revision_state},
};

/// NVUE by its REST interface: a revision is made, filled, compared and put in force. An answer to the last step only says
/// that NVUE took the order, so the revision is looked at until it says how that ended.
pub(super) struct NvRest<'a> {
    rest: &'a NvueRest,
    /// For one request, and for a revision to come into force.
    limit: Duration,
    /// The revision on trial.
    trial: RefCell<Option<String>>,
}

/// Time between two looks at a revision.
const PAUSE: Duration = Duration::from_millis(500);

/// Of a revision's id, what may stand in a path: old ids have slashes.
const ID: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Whether NVUE answers at all.
pub(crate) async fn answers(rest: &NvueRest, limit: Duration) -> Result<(), String> {
    system(rest, limit).await.map(drop)
}

/// What `nv show system -o json` would print.
pub(super) async fn system(rest: &NvueRest, limit: Duration) -> Result<String, String> {
    match send(rest, Method::GET, "/nvue_v1/system", None, limit).await {
        Ok(Reply { status: 200..=299, body }) => Ok(body.to_string()),
        Ok(Reply { status, .. }) => Err(format!("NVUE at {} answers with status {status}", rest.url)),
        Err(fault) => Err(fault.to_string()),
    }
}

impl<'a> NvRest<'a> {
    pub(super) fn new(rest: &'a NvueRest, limit: Duration) -> Self {
        Self { rest, limit, trial: RefCell::new(None) }
    }

    /// Makes NVUE run `text`.
    pub(super) async fn replace(&self, text: &str, attempt: &Attempt<'_>) -> Result<NvueDone, NvueFault> {
        let tree = set_of(text).map_err(|reason| NvueFault::Refused { step: "replace", reason })?;
        attempt.first(self.settle(attempt.journal)).await?;
        let revision = self.new_revision().await?;
        let done = self.fill_and_apply(&revision, &tree, attempt).await;
        match &done {
            Ok(NvueDone::Applied) => (),
            Ok(NvueDone::OnTrial) => *self.trial.borrow_mut() = Some(revision),
            Ok(NvueDone::Unchanged) => self.forget(&revision).await,
            // What may yet come into force is left alone.
            Err(fault) if fault.outcome_unknown() => (),
            Err(_) => self.forget(&revision).await,
        }
        done
    }

    async fn fill_and_apply(&self, revision: &str, tree: &Value, attempt: &Attempt<'_>) -> Result<NvueDone, NvueFault> {
        let root = format!("/nvue_v1/?rev={}", encoded(revision));
        // A new revision is a copy of what runs. That it was emptied and filled is looked at: good answers do not show it.
        let copy = self.look(revision).await?;
        self.ask("replace", Method::DELETE, &root, None).await?;
        let bare = self.look(revision).await?;
        self.ask("replace", Method::PATCH, &root, Some(tree)).await?;
        let unmoved =
            |what: &str| NvueFault::Unclear { step: "replace", answer: format!("revision {revision} was not {what}") };
        if bare == copy && copy.as_object().is_some_and(|tree| !tree.is_empty()) {
            return Err(unmoved("emptied"));
        }
        if self.look(revision).await? == bare {
            return Err(unmoved("filled"));
        }
        let differs = match self.diff(revision).await? {
            Diff::Empty => !self.runs(revision).await?,
            Diff::MaskedOnly => !attempt.how.same,
            Diff::Changes => true,
        };
        if !differs && !attempt.journal.is_half() {
            return Ok(NvueDone::Unchanged);
        }
        if let Some(time) = attempt.how.trial.filter(|_| differs) {
            let order = json!({
                "state": "apply",
                "auto-prompt": { "ays": "ays_yes", "confirm": "confirm_yes" },
                "state-controls": { "confirm": time.as_secs().max(1) },
            });
            attempt.journal.begins(true)?;
            match self.ask(APPLY, Method::PATCH, &path_of(revision), Some(&order)).await {
                Err(NvueFault::UnknownOption { reason, .. }) => {
                    tracing::warn!("NVUE takes no changes on trial, so this one is applied at once: {reason}");
                    attempt.journal.trial_is_over();
                }
                taken => {
                    taken?;
                    return self.applied(revision, true).await;
                }
            }
        }
        attempt.journal.begins(false)?;
        self.ask(APPLY, Method::PATCH, &path_of(revision), Some(&yes())).await?;
        self.applied(revision, false).await
    }

    /// What the revision would change, in both directions.
    async fn diff(&self, revision: &str) -> Result<Diff, NvueFault> {
        let id = encoded(revision);
        let added = format!("/nvue_v1/?rev={id}&diff=applied&filled=false");
        let removed = format!("/nvue_v1/?rev=applied&diff={id}&filled=false");
        let added = self.ask("diff", Method::GET, &added, None).await?;
        let removed = self.ask("diff", Method::GET, &removed, None).await?;
        match [&added, &removed].into_iter().find(|part| !part.is_object() && !part.is_null()) {
            Some(part) => Err(NvueFault::Unclear { step: "diff", answer: part.to_string() }),
            None => Ok(json_diff(&[&added, &removed])),
        }
    }

    /// Whether NVUE runs what a revision holds, by what it shows of both: an answer without a difference may be none.
    async fn runs(&self, revision: &str) -> Result<bool, NvueFault> {
        let meant = self.shown(revision).await?;
        Ok(meant == self.shown("applied").await?)
    }

    /// What a revision holds, whatever that is.
    async fn look(&self, revision: &str) -> Result<Value, NvueFault> {
        let path = format!("/nvue_v1/?rev={}&filled=false", encoded(revision));
        self.ask("show", Method::GET, &path, None).await
    }

    async fn shown(&self, revision: &str) -> Result<Value, NvueFault> {
        let tree = self.look(revision).await?;
        match tree.as_object().is_some_and(|tree| !tree.is_empty()) {
            true => Ok(tree),
            false => Err(NvueFault::Unclear { step: "show", answer: format!("revision {revision} holds {tree}") }),
        }
    }

    /// How applying a revision ended.
    async fn applied(&self, revision: &str, on_trial: bool) -> Result<NvueDone, NvueFault> {
        match self.end_of(revision, on_trial).await? {
            RevisionState::Applied => Ok(NvueDone::Applied),
            RevisionState::OnTrial => Ok(NvueDone::OnTrial),
            RevisionState::Refused(reason) => Err(NvueFault::Refused { step: APPLY, reason }),
            RevisionState::BrokeOff(reason) => Err(NvueFault::BrokeOff { reason }),
            state => Err(not_so(&state)),
        }
    }

    /// Looks at a revision until it says how that which was ordered ended; to be on trial is an end only if that is what
    /// was ordered.
    async fn end_of(&self, revision: &str, on_trial: bool) -> Result<RevisionState, NvueFault> {
        let deadline = Instant::now() + self.limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let fault = HttpFault::TimedOut { url: self.rest.url.clone(), limit: self.limit };
                return Err(NvueFault::Http { step: APPLY, fault });
            }
            match self.state_of(revision, left).await {
                RevisionState::OnTrial if on_trial => return Ok(RevisionState::OnTrial),
                RevisionState::Asks if on_trial && self.is_in_force(revision).await => {
                    return Ok(RevisionState::OnTrial);
                }
                RevisionState::Idle | RevisionState::UnderWay | RevisionState::Asks | RevisionState::OnTrial => {
                    tokio::time::sleep(PAUSE.min(left)).await;
                }
                end => return Ok(end),
            }
        }
    }

    /// NVUE calls applied what the revision holds.
    async fn is_in_force(&self, revision: &str) -> bool {
        match self.diff(revision).await {
            Ok(Diff::MaskedOnly) => true,
            Ok(Diff::Empty) => self.runs(revision).await.unwrap_or(false),
            Ok(Diff::Changes) | Err(_) => false,
        }
    }

    async fn state_of(&self, revision: &str, limit: Duration) -> RevisionState {
        match send(self.rest, Method::GET, &path_of(revision), None, limit).await {
            Ok(Reply { status: 200..=299, body }) => revision_state(&body),
            // While services are restarted, NVUE's own web server may be away too.
            _ => RevisionState::Idle,
        }
    }

    /// Keeps a text that is on trial.
    pub(super) async fn confirm(&self) -> Result<(), NvueFault> {
        let revision = self.on_trial()?;
        let ordered = self.ask(APPLY, Method::PATCH, &path_of(&revision), Some(&yes())).await;
        let state = match ordered {
            Ok(_) => self.end_of(&revision, false).await?,
            // The answer may be lost, but not the order.
            Err(fault) => match self.state_of(&revision, self.limit).await {
                RevisionState::Applied => RevisionState::Applied,
                _ => return Err(fault),
            },
        };
        match state {
            RevisionState::Applied => {
                *self.trial.borrow_mut() = None;
                Ok(())
            }
            state => Err(not_so(&state)),
        }
    }

    /// Goes back from a text that is on trial: NVUE is told so, and does it by itself if it does not listen.
    pub(super) async fn roll_back(&self) -> Result<(), NvueFault> {
        self.take_back(&self.on_trial()?).await?;
        *self.trial.borrow_mut() = None;
        Ok(())
    }

    fn on_trial(&self) -> Result<String, NvueFault> {
        let unclear = || NvueFault::Unclear { step: APPLY, answer: "which revision is on trial is not known".into() };
        self.trial.borrow().clone().ok_or_else(unclear)
    }

    async fn take_back(&self, revision: &str) -> Result<(), NvueFault> {
        // An order to one that is on trial no more could apply it anew.
        if let RevisionState::OnTrial | RevisionState::Asks = self.state_of(revision, self.limit).await {
            let order = json!({ "state": "apply", "auto-prompt": { "ays": "ays_no" } });
            self.ask(APPLY, Method::PATCH, &path_of(revision), Some(&order)).await?;
        }
        match self.end_of(revision, false).await? {
            RevisionState::TakenBack(_) | RevisionState::Refused(_) => Ok(()),
            state => Err(not_so(&state)),
        }
    }

    /// A revision may have outlived the agent that ordered it, or the time for an answer. Until it is at its end, nothing
    /// can be compared; and what is on trial is taken back.
    async fn settle(&self, journal: &Journal<'_>) -> Result<(), NvueFault> {
        let revisions = self.ask(APPLY, Method::GET, "/nvue_v1/revision", None).await?;
        let Some(revisions) = revisions.as_object() else {
            return Err(NvueFault::Unclear { step: APPLY, answer: revisions.to_string() });
        };
        // Other names for one of them.
        let own = |id: &str| !["applied", "startup", "pending", "empty"].contains(&id);
        for (id, revision) in revisions.iter().filter(|(id, _)| own(id)) {
            let state = match revision_state(revision) {
                RevisionState::UnderWay | RevisionState::Asks if journal.may_be_under_way() => {
                    self.end_of(id, true).await?
                }
                state => state,
            };
            if state == RevisionState::OnTrial {
                tracing::info!("revision {id}, which was on trial, is taken back");
                self.take_back(id).await?;
            }
        }
        journal.trial_is_over();
        Ok(())
    }

    async fn new_revision(&self) -> Result<String, NvueFault> {
        let answer = self.ask("replace", Method::POST, "/nvue_v1/revision", None).await?;
        let id = answer.as_object().and_then(|revisions| revisions.keys().next());
        id.cloned().ok_or_else(|| NvueFault::Unclear { step: "replace", answer: "no revision is named".into() })
    }

    async fn forget(&self, revision: &str) {
        if let Err(fault) = self.ask("detach", Method::DELETE, &path_of(revision), None).await {
            tracing::debug!("revision {revision} is left behind: {fault}");
        }
    }

    /// Sends a request whose answer must be good.
    async fn ask(
        &self,
        step: &'static str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, NvueFault> {
        let reply = send(self.rest, method, path, body, self.limit).await;
        match reply.map_err(|fault| NvueFault::Http { step, fault })? {
            Reply { status: 200..=299, body } => Ok(body),
            Reply { status: 401 | 403, .. } => {
                let reason = format!("user {} may not do that", self.rest.user);
                Err(NvueFault::Refused { step, reason })
            }
            Reply { status, body } => {
                let text = ["detail", "title", "message"].into_iter().find_map(|name| body.get(name)?.as_str());
                let reason = format!("{} (status {status})", text.unwrap_or("no reason is given"));
                Err(match status {
                    400 | 422 if step == APPLY && is_unknown_option(&reason) => {
                        NvueFault::UnknownOption { step, reason }
                    }
                    // Somebody on the way lost patience.
                    408 => NvueFault::Failed { step, reason },
                    400..=499 => NvueFault::Refused { step, reason },
                    502..=504 => NvueFault::DaemonGone { step, reason },
                    _ => NvueFault::Failed { step, reason },
                })
            }
        }
    }
}

/// What is ordered to put a revision in force, or to keep one that is on trial.
fn yes() -> Value {
    json!({ "state": "apply", "auto-prompt": { "ays": "ays_yes" } })
}

/// A revision came to another end than the one that was ordered.
fn not_so(state: &RevisionState) -> NvueFault {
    let answer = match state {
        RevisionState::TakenBack(reason) => format!("it went back by itself ({reason})"),
        RevisionState::Refused(reason) | RevisionState::BrokeOff(reason) => reason.clone(),
        RevisionState::Applied => "it is applied, and on trial no more".to_owned(),
        RevisionState::Idle | RevisionState::UnderWay | RevisionState::Asks | RevisionState::OnTrial => {
            "it did not come to an end".to_owned()
        }
    };
    NvueFault::Unclear { step: APPLY, answer }
}

fn path_of(revision: &str) -> String {
    format!("/nvue_v1/revision/{}", encoded(revision))
}

fn encoded(revision: &str) -> String {
    utf8_percent_encode(revision, ID).to_string()
}

/// The `set` part of NVUE's file, as JSON: neither the header nor the wrapper belongs into a revision.
fn set_of(text: &str) -> Result<Value, String> {
    let entries: Vec<Value> = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    let set = entries.into_iter().find_map(|mut entry| entry.get_mut("set").map(Value::take));
    set.ok_or_else(|| "the file sets nothing".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_both_kinds_go_into_a_path() {
        assert_eq!(path_of("12"), "/nvue_v1/revision/12");
        assert_eq!(
            path_of("changeset/agent/2031-04-06_20.22.44_T2XP"),
            "/nvue_v1/revision/changeset%2Fagent%2F2031-04-06_20.22.44_T2XP"
        );
    }

    #[test]
    fn only_what_is_set_goes_into_a_revision() {
        let text = "- header:\n    version: x\n- set:\n    evpn:\n      enable: on\n    vlan:\n      '10': {}\n";
        assert_eq!(set_of(text), Ok(json!({ "evpn": { "enable": "on" }, "vlan": { "10": {} } })));
        assert!(set_of("- header: {}\n").is_err());
        assert!(set_of("{").is_err());
    }
}

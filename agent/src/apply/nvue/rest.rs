//! NVUE by its REST interface: a revision is created, filled, compared and applied, and polled until it says how that ended.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{APPLY, Attempt, Journal, NvueDone, NvueFault};
use crate::{
    config::NvueRest,
    hbn::{HttpFault, Reply, send},
    parse::{Diff, RevisionState, is_unknown_option, json_diff, revision_state},
};

/// NVUE by its REST interface. A good answer to the last step only says that NVUE accepted the order, so the revision is
/// polled until it says how that ended.
pub(super) struct NvRest<'a> {
    rest: &'a NvueRest,
    /// For one request, and for a revision to become active.
    limit: Duration,
    /// The revision on trial.
    trial: RefCell<Option<String>>,
}

/// Time between two polls of a revision.
const PAUSE: Duration = Duration::from_millis(500);

/// Characters of a revision's id that must be encoded in a path: old ids have slashes.
const ID: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl<'a> NvRest<'a> {
    pub(super) fn new(rest: &'a NvueRest, limit: Duration) -> Self {
        Self { rest, limit, trial: RefCell::new(None) }
    }

    /// Makes NVUE run `text`.
    pub(super) async fn replace(&self, text: &str, attempt: &Attempt<'_>) -> Result<NvueDone, NvueFault> {
        let tree = set_of(text).map_err(|reason| NvueFault::Refused { step: "replace", reason })?;
        attempt.after_earlier(self.resolve_earlier(attempt.journal)).await?;
        let revision = self.new_revision().await?;
        let done = self.fill_and_apply(&revision, &tree, attempt).await;
        match &done {
            Ok(NvueDone::Applied) => (),
            Ok(NvueDone::OnTrial) => *self.trial.borrow_mut() = Some(revision),
            Ok(NvueDone::Unchanged) => self.delete(&revision).await,
            // What may still become active is left alone.
            Err(fault) if fault.outcome_unknown() => (),
            Err(_) => self.delete(&revision).await,
        }
        done
    }

    async fn fill_and_apply(&self, revision: &str, tree: &Value, attempt: &Attempt<'_>) -> Result<NvueDone, NvueFault> {
        let root = format!("/nvue_v1/?rev={}", encoded(revision));
        // A new revision is a copy of what runs. That it was emptied and filled is checked: good answers do not prove it.
        let copy = self.contents(revision).await?;
        self.ask("replace", Method::DELETE, &root, None).await?;
        let bare = self.contents(revision).await?;
        self.ask("replace", Method::PATCH, &root, Some(tree)).await?;
        let unchanged =
            |what: &str| NvueFault::Unclear { step: "replace", answer: format!("revision {revision} was not {what}") };
        if bare == copy && copy.as_object().is_some_and(|tree| !tree.is_empty()) {
            return Err(unchanged("emptied"));
        }
        if self.contents(revision).await? == bare {
            return Err(unchanged("filled"));
        }
        let differs = match self.diff(revision).await? {
            Diff::Empty => !self.runs(revision).await?,
            Diff::MaskedOnly => !attempt.options.believed_running,
            Diff::Changes => true,
        };
        if !differs && !attempt.journal.is_half() {
            return Ok(NvueDone::Unchanged);
        }
        if let Some(time) = attempt.options.trial.filter(|_| differs) {
            let order = json!({
                "state": "apply",
                "auto-prompt": { "ays": "ays_yes", "confirm": "confirm_yes" },
                "state-controls": { "confirm": time.as_secs().max(1) },
            });
            attempt.journal.begin_apply(true)?;
            match self.ask(APPLY, Method::PATCH, &path_of(revision), Some(&order)).await {
                Err(NvueFault::UnknownOption { reason, .. }) => {
                    tracing::warn!("NVUE takes no changes on trial, so this one is applied at once: {reason}");
                    attempt.journal.end_trial();
                }
                accepted => {
                    accepted?;
                    return self.applied(revision, true).await;
                }
            }
        }
        attempt.journal.begin_apply(false)?;
        self.ask(APPLY, Method::PATCH, &path_of(revision), Some(&apply_order())).await?;
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

    /// Whether NVUE runs what a revision holds, according to what it shows of both: an empty diff may be a lost one.
    async fn runs(&self, revision: &str) -> Result<bool, NvueFault> {
        let expected = self.shown(revision).await?;
        Ok(expected == self.shown("applied").await?)
    }

    /// What a revision holds, even if that is nothing.
    async fn contents(&self, revision: &str) -> Result<Value, NvueFault> {
        let path = format!("/nvue_v1/?rev={}&filled=false", encoded(revision));
        self.ask("show", Method::GET, &path, None).await
    }

    /// What a revision holds, which must be something.
    async fn shown(&self, revision: &str) -> Result<Value, NvueFault> {
        let tree = self.contents(revision).await?;
        match tree.as_object().is_some_and(|tree| !tree.is_empty()) {
            true => Ok(tree),
            false => Err(NvueFault::Unclear { step: "show", answer: format!("revision {revision} holds {tree}") }),
        }
    }

    /// How applying a revision ended.
    async fn applied(&self, revision: &str, on_trial: bool) -> Result<NvueDone, NvueFault> {
        match self.outcome(revision, on_trial).await? {
            RevisionState::Applied => Ok(NvueDone::Applied),
            RevisionState::OnTrial => Ok(NvueDone::OnTrial),
            RevisionState::Refused(reason) => Err(NvueFault::Refused { step: APPLY, reason }),
            RevisionState::BrokeOff(reason) => Err(NvueFault::BrokeOff { reason }),
            state => Err(unexpected_end(&state)),
        }
    }

    /// Polls a revision until it says how the order ended. Being on trial is an end only if a trial was ordered.
    async fn outcome(&self, revision: &str, on_trial: bool) -> Result<RevisionState, NvueFault> {
        let deadline = Instant::now() + self.limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let fault = HttpFault::TimedOut { url: self.rest.url.clone(), limit: self.limit };
                return Err(NvueFault::Http { step: APPLY, fault });
            }
            match self.state_of(revision, left).await {
                RevisionState::OnTrial if on_trial => return Ok(RevisionState::OnTrial),
                RevisionState::Asks if on_trial && self.is_active(revision).await => {
                    return Ok(RevisionState::OnTrial);
                }
                RevisionState::Idle | RevisionState::UnderWay | RevisionState::Asks | RevisionState::OnTrial => {
                    tokio::time::sleep(PAUSE.min(left)).await;
                }
                end => return Ok(end),
            }
        }
    }

    /// What NVUE calls applied is what the revision holds.
    async fn is_active(&self, revision: &str) -> bool {
        match self.diff(revision).await {
            Ok(Diff::MaskedOnly) => true,
            Ok(Diff::Empty) => self.runs(revision).await.unwrap_or(false),
            Ok(Diff::Changes) | Err(_) => false,
        }
    }

    async fn state_of(&self, revision: &str, limit: Duration) -> RevisionState {
        match send(self.rest, Method::GET, &path_of(revision), None, limit).await {
            Ok(Reply { status: 200..=299, body }) => revision_state(&body),
            // While services restart, NVUE's own web server may be down, too.
            _ => RevisionState::Idle,
        }
    }

    /// Keeps a text that is on trial.
    pub(super) async fn confirm(&self) -> Result<(), NvueFault> {
        let revision = self.on_trial()?;
        let ordered = self.ask(APPLY, Method::PATCH, &path_of(&revision), Some(&apply_order())).await;
        let state = match ordered {
            Ok(_) => self.outcome(&revision, false).await?,
            // The answer may be lost although the order arrived.
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
            state => Err(unexpected_end(&state)),
        }
    }

    /// Rolls back a text that is on trial. NVUE is told to; if it does not listen, it does so by itself later.
    pub(super) async fn roll_back(&self) -> Result<(), NvueFault> {
        self.roll_back_revision(&self.on_trial()?).await?;
        *self.trial.borrow_mut() = None;
        Ok(())
    }

    fn on_trial(&self) -> Result<String, NvueFault> {
        let unclear = || NvueFault::Unclear { step: APPLY, answer: "which revision is on trial is not known".into() };
        self.trial.borrow().clone().ok_or_else(unclear)
    }

    async fn roll_back_revision(&self, revision: &str) -> Result<(), NvueFault> {
        // An order to a revision that is no longer on trial could apply it again.
        if let RevisionState::OnTrial | RevisionState::Asks = self.state_of(revision, self.limit).await {
            let order = json!({ "state": "apply", "auto-prompt": { "ays": "ays_no" } });
            self.ask(APPLY, Method::PATCH, &path_of(revision), Some(&order)).await?;
        }
        match self.outcome(revision, false).await? {
            RevisionState::TakenBack(_) | RevisionState::Refused(_) => Ok(()),
            state => Err(unexpected_end(&state)),
        }
    }

    /// A revision may have outlived the agent that ordered it, or the time for an answer. Until it has ended, nothing can be
    /// compared. What is on trial is rolled back.
    async fn resolve_earlier(&self, journal: &Journal<'_>) -> Result<(), NvueFault> {
        let revisions = self.ask(APPLY, Method::GET, "/nvue_v1/revision", None).await?;
        let Some(revisions) = revisions.as_object() else {
            return Err(NvueFault::Unclear { step: APPLY, answer: revisions.to_string() });
        };
        // These are names of one of the others.
        let own = |id: &str| !["applied", "startup", "pending", "empty"].contains(&id);
        for (id, revision) in revisions.iter().filter(|(id, _)| own(id)) {
            let state = match revision_state(revision) {
                RevisionState::UnderWay | RevisionState::Asks if journal.may_be_under_way() => {
                    self.outcome(id, true).await?
                }
                state => state,
            };
            if state == RevisionState::OnTrial {
                tracing::info!("revision {id}, which was on trial, is rolled back");
                self.roll_back_revision(id).await?;
            }
        }
        journal.end_trial();
        Ok(())
    }

    async fn new_revision(&self) -> Result<String, NvueFault> {
        let answer = self.ask("replace", Method::POST, "/nvue_v1/revision", None).await?;
        let id = answer.as_object().and_then(|revisions| revisions.keys().next());
        id.cloned().ok_or_else(|| NvueFault::Unclear { step: "replace", answer: "no revision is named".into() })
    }

    async fn delete(&self, revision: &str) {
        if let Err(fault) = self.ask("detach", Method::DELETE, &path_of(revision), None).await {
            tracing::debug!("revision {revision} is left behind: {fault}");
        }
    }

    /// Sends a request that must succeed.
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
                    // A proxy on the way timed out.
                    408 => NvueFault::Failed { step, reason },
                    400..=499 => NvueFault::Refused { step, reason },
                    502..=504 => NvueFault::DaemonGone { step, reason },
                    _ => NvueFault::Failed { step, reason },
                })
            }
        }
    }
}

/// The order to activate a revision, or to keep one that is on trial.
fn apply_order() -> Value {
    json!({ "state": "apply", "auto-prompt": { "ays": "ays_yes" } })
}

/// A revision ended in another way than ordered.
fn unexpected_end(state: &RevisionState) -> NvueFault {
    let answer = match state {
        RevisionState::TakenBack(reason) => format!("it was rolled back ({reason})"),
        RevisionState::Refused(reason) | RevisionState::BrokeOff(reason) => reason.clone(),
        RevisionState::Applied => "it is applied, and no longer on trial".to_owned(),
        RevisionState::Idle | RevisionState::UnderWay | RevisionState::Asks | RevisionState::OnTrial => {
            "it did not end".to_owned()
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

/// The `set` part of NVUE's file, as JSON: neither the header nor the wrapper belongs in a revision.
fn set_of(text: &str) -> Result<Value, String> {
    let entries: Vec<Value> = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    let set = entries.into_iter().find_map(|mut entry| entry.get_mut("set").map(Value::take));
    set.ok_or_else(|| "the file sets nothing".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_both_kinds_fit_into_a_path() {
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

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    APPLY, Attempt, NvueDone, NvueFault,
    http::{HttpFault, Reply, send},
};
use crate::{
    config::NvueRest,
    parse::{Diff, RevisionState, json_diff, revision_state},
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
    pub(super) async fn replace(&self, text: &str, attempt: &Attempt) -> Result<NvueDone, NvueFault> {
        let tree = set_of(text).map_err(|reason| NvueFault::Refused { step: "replace", reason })?;
        if attempt.trial_open {
            self.take_back_what_was_on_trial().await?;
        }
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

    async fn fill_and_apply(&self, revision: &str, tree: &Value, attempt: &Attempt) -> Result<NvueDone, NvueFault> {
        let root = format!("/nvue_v1/?rev={}", encoded(revision));
        self.ask("replace", Method::DELETE, &root, None).await?;
        self.ask("replace", Method::PATCH, &root, Some(tree)).await?;
        let differs = match self.diff(revision).await? {
            Diff::Empty => false,
            Diff::MaskedOnly => !attempt.same,
            Diff::Changes => true,
        };
        if !differs && !attempt.half {
            return Ok(NvueDone::Unchanged);
        }
        if let Some(time) = attempt.trial.filter(|_| differs) {
            let order = json!({
                "state": "apply",
                "auto-prompt": { "ays": "ays_yes", "confirm": "confirm_yes" },
                "state-controls": { "confirm": time.as_secs().max(1) },
            });
            match self.ask(APPLY, Method::PATCH, &path_of(revision), Some(&order)).await {
                Err(fault) if fault.may_be_the_trial() => {
                    tracing::warn!("NVUE takes no changes on trial, so this one is applied at once: {fault}");
                }
                taken => {
                    taken?;
                    return self.await_end(revision, true).await;
                }
            }
        }
        let order = json!({ "state": "apply", "auto-prompt": { "ays": "ays_yes" } });
        self.ask(APPLY, Method::PATCH, &path_of(revision), Some(&order)).await?;
        self.await_end(revision, false).await
    }

    /// What the revision would change, in both directions.
    async fn diff(&self, revision: &str) -> Result<Diff, NvueFault> {
        let id = encoded(revision);
        let added = format!("/nvue_v1/?rev={id}&diff=applied&filled=false");
        let removed = format!("/nvue_v1/?rev=applied&diff={id}&filled=false");
        let added = self.ask("diff", Method::GET, &added, None).await?;
        let removed = self.ask("diff", Method::GET, &removed, None).await?;
        Ok(json_diff(&[&added, &removed]))
    }

    /// Looks at a revision until it says how applying it ended.
    async fn await_end(&self, revision: &str, trial: bool) -> Result<NvueDone, NvueFault> {
        let deadline = Instant::now() + self.limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let fault = HttpFault::TimedOut { url: self.rest.url.clone(), limit: self.limit };
                return Err(NvueFault::Http { step: APPLY, fault });
            }
            let reply = send(self.rest, Method::GET, &path_of(revision), None, left).await;
            // While services are restarted, NVUE's own web server may be away too.
            let state = match reply {
                Ok(Reply { status: 200..=299, body }) => revision_state(&body),
                _ => RevisionState::Pending,
            };
            match state {
                RevisionState::Pending => tokio::time::sleep(PAUSE.min(left)).await,
                RevisionState::Applied => return Ok(NvueDone::Applied),
                RevisionState::OnTrial if trial => return Ok(NvueDone::OnTrial),
                RevisionState::OnTrial => {
                    let question = "it waits for a confirmation that nobody asked for".to_owned();
                    return Err(NvueFault::Prompt { step: APPLY, question });
                }
                RevisionState::Refused(reason) => return Err(NvueFault::Refused { step: APPLY, reason }),
                RevisionState::BrokeOff(reason) => return Err(NvueFault::BrokeOff { reason }),
            }
        }
    }

    /// Keeps a text that is on trial.
    pub(super) async fn confirm(&self) -> Result<(), NvueFault> {
        let Some(revision) = self.trial.borrow_mut().take() else { return Ok(()) };
        let order = json!({ "state": "apply", "auto-prompt": { "ays": "ays_yes" } });
        self.ask(APPLY, Method::PATCH, &path_of(&revision), Some(&order)).await?;
        self.await_end(&revision, false).await.map(drop)
    }

    /// Goes back from a text that is on trial: NVUE is told so, and does it by itself if it does not listen.
    pub(super) async fn roll_back(&self) -> Result<(), NvueFault> {
        let Some(revision) = self.trial.borrow_mut().take() else { return Ok(()) };
        let order = json!({ "state": "apply", "auto-prompt": { "ays": "ays_no" } });
        self.ask(APPLY, Method::PATCH, &path_of(&revision), Some(&order)).await?;
        match self.await_end(&revision, false).await {
            Ok(_) => Err(NvueFault::Unclear { step: APPLY, answer: "it was kept though it was taken back".into() }),
            Err(NvueFault::Refused { .. }) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// A trial may have outlived the agent that began it. If NVUE went back from it by itself meanwhile, there is none.
    async fn take_back_what_was_on_trial(&self) -> Result<(), NvueFault> {
        let revisions = self.ask(APPLY, Method::GET, "/nvue_v1/revision", None).await?;
        let waits = |state: &Value| state.get("state").and_then(Value::as_str) == Some("confirm");
        let open = revisions.as_object().into_iter().flatten().find(|(_, state)| waits(state));
        if let Some((id, _)) = open {
            tracing::info!("revision {id}, which was on trial, is taken back");
            *self.trial.borrow_mut() = Some(id.clone());
            self.roll_back().await?;
        }
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
            Reply { status: 502..=504, .. } => {
                Err(NvueFault::DaemonGone { step, reason: "its web server cannot reach it".into() })
            }
            Reply { status, body } => {
                let text = ["detail", "title", "message"].into_iter().find_map(|name| body.get(name)?.as_str());
                let reason = format!("{} (status {status})", text.unwrap_or("no reason is given"));
                Err(NvueFault::Refused { step, reason })
            }
        }
    }
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

//! `sitectl rules diff` and `sitectl rules replay`.

use std::path::PathBuf;

use proto::site::{HostHistory, Transition};
use rules::{Change, ChangeKind, Decision, RuleSet, Snapshot, diff};
use serde::Serialize;

use super::Pack;
use crate::{
    failure::Failure,
    output::{Format, clock, colours, table},
};

#[derive(clap::Args)]
pub(crate) struct Diff {
    /// Directory of the old pack
    old: PathBuf,
    /// Directory of the new pack
    new: PathBuf,
}

impl Diff {
    pub(super) fn run(&self, format: Format) -> Result<String, Failure> {
        let load = |dir: &PathBuf| {
            controller::load_pack_dir(dir, colours())
                .map_err(|faults| Failure::Refused(format!("{} has faults\n\n{}", dir.display(), faults.join("\n\n"))))
        };
        let (old, new) = (load(&self.old)?, load(&self.new)?);
        format.answer(&diff(&old, &new), |changes| match changes.as_slice() {
            [] if old.hash() == new.hash() => "the packs are the same".to_owned(),
            [] => "the packs decide alike: comments or layout differ".to_owned(),
            changes => changes.iter().map(line).collect::<Vec<_>>().join("\n"),
        })
    }
}

fn line(change: &Change) -> String {
    let sign = match change.kind {
        ChangeKind::Added => '+',
        ChangeKind::Removed => '-',
        ChangeKind::Changed => '~',
    };
    let mut text = format!("{sign} {}", change.what);
    for how in &change.how {
        text.push_str("\n    ");
        text.push_str(how);
    }
    text
}

#[derive(clap::Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pack: Pack,
    /// History as JSON: `sitectl host history HOST --snapshots --output json`
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
}

/// A transition that these rules would not have made so.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Otherwise {
    at: String,
    state: String,
    was: String,
    would_be: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Replayed {
    replayed: usize,
    without_snapshot: usize,
    otherwise: Vec<Otherwise>,
}

impl Replay {
    pub(super) fn run(&self, format: Format) -> Result<String, Failure> {
        let rules = self.pack.load()?;
        let path = self.from.display();
        let text = types::read_text(&self.from, 256 << 20)
            .map_err(|error| Failure::Usage(format!("cannot read {path}: {error}")))?;
        let history: HostHistory =
            serde_json::from_str(&text).map_err(|error| Failure::Usage(format!("{path} is no history: {error}")))?;
        format.answer(&replay(&rules, &history.transitions)?, |done| {
            let rows = done
                .otherwise
                .iter()
                .map(|one| [clock(&one.at), one.state.clone(), one.was.clone(), one.would_be.clone()]);
            let rows = table(["AT", "STATE", "WAS", "WOULD BE"], rows.collect(), "");
            let (all, otherwise) = (done.replayed, done.otherwise.len());
            let without = match done.without_snapshot {
                0 => String::new(),
                without => format!("; {without} have no snapshot"),
            };
            format!("{rows}\n{otherwise} of {all} transitions would be otherwise{without}").trim_start().to_owned()
        })
    }
}

fn replay(rules: &RuleSet, transitions: &[Transition]) -> Result<Replayed, Failure> {
    let mut done = Replayed { replayed: 0, without_snapshot: 0, otherwise: Vec::new() };
    // Newest first in the history, oldest first for people.
    for step in transitions.iter().rev() {
        if step.snapshot.is_empty() {
            done.without_snapshot += 1;
            continue;
        }
        let snapshot: Snapshot = serde_json::from_str(&step.snapshot)
            .map_err(|error| Failure::Refused(format!("the snapshot of {} cannot be read: {error}", step.at)))?;
        done.replayed += 1;
        let would_be = match rules.decision(&snapshot) {
            Decision::Go(go) if go.to.as_str() == step.to => continue,
            Decision::Go(go) => format!("go {}", go.to),
            Decision::Wait(wait) => format!("wait: {}", wait.reason),
            Decision::Error(fault) => format!("error: {}", fault.reason),
            Decision::Delete(_) => "delete".to_owned(),
        };
        let was = format!("go {}", step.to);
        done.otherwise.push(Otherwise { at: step.at.clone(), state: step.from.clone(), was, would_be });
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const PACK: &str = r#"
        initial("Ready");
        state("Ready").no_sla().go("Taken").when(|h| h.instance.present).wait("Nobody wants it");
        state("Taken").no_sla().go("Ready").unless(|h| h.instance.present).wait("Somebody has it");
    "#;

    fn rules(text: &str) -> RuleSet {
        rules::load_files([("a.rhai".to_owned(), text.to_owned())], &rules::LoadOptions::default()).unwrap()
    }

    fn step(from: &str, to: &str, present: bool) -> Transition {
        let facts =
            BTreeMap::from([("state.path".to_owned(), from.into()), ("instance.present".to_owned(), present.into())]);
        let snapshot = serde_json::to_string(&Snapshot::from_facts(&facts, 0).unwrap()).unwrap();
        Transition { from: from.into(), to: to.into(), snapshot, ..Transition::default() }
    }

    #[test]
    fn replays_agree_or_show_where_rules_differ() {
        let history = [step("Taken", "Ready", false), step("Ready", "Taken", true), Transition::default()];
        let same = replay(&rules(PACK), &history).unwrap();
        assert_eq!(same, Replayed { replayed: 2, without_snapshot: 1, otherwise: vec![] });
        let other = rules(
            &PACK.replace(r#".unless(|h| h.instance.present).wait("S"#, r#".when(|h| h.host.never_locked).wait("S"#),
        );
        let done = replay(&other, &history).unwrap();
        let expected = Otherwise {
            at: String::new(),
            state: "Taken".into(),
            was: "go Ready".into(),
            would_be: "wait: Somebody has it".into(),
        };
        assert_eq!(done.otherwise, [expected]);
    }
}

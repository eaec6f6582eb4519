//! What is said of an arm that has no use for it. Accepted and dropped it would mislead whoever reads the rule.

use crate::{
    ir::{
        diagnostic::Place,
        pack::{Arm, Verb},
    },
    lang::{
        declare::{ArmDecl, Block, BlockKind, VerbDecl},
        resolve::Resolver,
    },
};

/// What arms of one verb make use of.
struct Effects {
    actions: bool,
    /// Counters.
    counts: bool,
    /// Notes and the failure on record.
    records: bool,
    hint: &'static str,
}

impl Effects {
    fn of(verb: &VerbDecl) -> (&'static str, Self) {
        let none = Self { actions: false, counts: false, records: false, hint: "" };
        match verb {
            VerbDecl::Go(_) => ("go", Self { actions: true, counts: true, records: true, ..none }),
            VerbDecl::HostGo(_) => ("host_go", Self { actions: true, counts: true, records: true, ..none }),
            VerbDecl::Wait(_) => {
                let hint = "a host that stays keeps its notes and its failure: say it of the arm that moves it";
                ("wait", Self { actions: true, counts: true, hint, ..none })
            }
            VerbDecl::Delete => ("delete", Self { actions: true, hint: "the host's records go: leave it out", ..none }),
            VerbDecl::Fail(_) => {
                let hint = "an error changes nothing: use `wait`, or say it of the arm that moves the host";
                ("fail", Self { hint, ..none })
            }
            VerbDecl::Pass(_) => {
                ("pass", Self { hint: "a gate only holds hosts up: say it of an arm after it", ..none })
            }
            VerbDecl::Steps(_) => {
                ("steps", Self { hint: "say it of the arms in the block of steps; here stands only `when`", ..none })
            }
        }
    }
}

impl Resolver<'_> {
    /// What is said of an arm as it was written.
    pub(super) fn check_modifiers(&mut self, decl: &ArmDecl) {
        let (verb, uses) = Effects::of(&decl.verb);
        let mut dropped: Vec<(&str, &Place)> = Vec::new();
        if !uses.actions {
            dropped.extend(decl.actions.iter().map(|action| ("does", &action.name.place)));
        }
        if !uses.counts {
            dropped.extend(decl.counts.iter().map(|counter| ("count", &counter.place)));
            dropped.extend(decl.resets.iter().map(|counter| ("reset", &counter.place)));
        }
        if !uses.records {
            dropped.extend(decl.notes.iter().map(|note| ("note", &note.place)));
            dropped.extend(decl.cause.iter().map(|cause| ("cause", &cause.place)));
            dropped.extend(decl.clears_failure.iter().map(|place| ("clears_failure", place)));
        }
        if matches!(decl.verb, VerbDecl::Steps(_)) {
            dropped.extend(decl.select.iter().map(|(guard, _)| ("each_dpu` or `first_dpu", &guard.place)));
        }
        for (said, place) in dropped {
            self.diagnostics.error("misplaced-verb", place, format!("`{said}` does nothing after `{verb}`"), uses.hint);
        }
        if let Some((guard, _)) = &decl.split
            && !matches!(decl.verb, VerbDecl::Go(_) | VerbDecl::HostGo(_))
        {
            let message = format!("`for_dpus` does nothing after `{verb}`");
            self.diagnostics.error(
                "misplaced-verb",
                &guard.place,
                message,
                "it says which DPUs enter the state of a `go`",
            );
        }
    }

    /// What depends on where an arm stands and leads.
    pub(super) fn check_move(&mut self, arm: &Arm, block: &Block, blocks: &[Block]) {
        let own = match &block.kind {
            BlockKind::State(state) => Some(state),
            _ => None,
        };
        if matches!(arm.verb, Verb::HostGo(_)) && !own.is_some_and(|state| state.of_dpu) {
            let message = "`host_go` is for `dpu_state`: here every move is one of the host";
            self.diagnostics.error("misplaced-verb", &arm.place, message, "write `go`");
        }
        let alone = matches!(arm.verb, Verb::Go(_)) && own.is_some_and(|state| state.of_dpu && !state.barrier);
        if alone && (arm.cause.is_some() || arm.clears_failure) {
            let message = "a DPU that moves on its own leaves the failure on record alone";
            self.diagnostics.error(
                "misplaced-verb",
                &arm.place,
                message,
                "use `host_go`: the host fails or recovers as a whole",
            );
        }
        let (Some((guard, _)), Verb::Go(to) | Verb::HostGo(to)) = (&arm.split, &arm.verb) else { return };
        let mut states = blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::State(state) => Some(state),
            _ => None,
        });
        if states.nth(*to).is_some_and(|state| !state.of_dpu) {
            let message = "`for_dpus` says which DPUs enter a state, and this one is of the host";
            self.diagnostics.error("misplaced-verb", &guard.place, message, "leave it out, or go to a `dpu_state`");
        } else if alone {
            let message = "`for_dpus` does nothing here: each DPU moves on its own";
            self.diagnostics.error(
                "misplaced-verb",
                &guard.place,
                message,
                "use `when`, or `host_go` to move the host",
            );
        }
    }
}

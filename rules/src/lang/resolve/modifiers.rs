//! Modifiers that have no effect on their arm. Accepting and ignoring them would mislead readers of the rule.

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

/// Which modifiers have an effect on the arms of one verb.
struct Effects {
    actions: bool,
    /// `count` and `reset`.
    counts: bool,
    /// `note`, `cause` and `clears_failure`.
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
                let hint = "a host that stays keeps its notes and its failure: put it on the arm that moves the host";
                ("wait", Self { actions: true, counts: true, hint, ..none })
            }
            VerbDecl::Delete => {
                ("delete", Self { actions: true, hint: "the host's records are deleted: remove it", ..none })
            }
            VerbDecl::Fail(_) => {
                let hint = "an error changes nothing: use `wait`, or put it on the arm that moves the host";
                ("fail", Self { hint, ..none })
            }
            VerbDecl::Pass(_) => {
                ("pass", Self { hint: "a gate only holds hosts back: put it on an arm after the gate", ..none })
            }
            VerbDecl::Steps(_) => (
                "steps",
                Self { hint: "put it on the arms in the block of steps: only `when` can follow here", ..none },
            ),
        }
    }
}

impl Resolver<'_> {
    /// Modifiers that the arm's verb ignores.
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
                "it selects the DPUs that enter the state of a `go`",
            );
        }
    }

    /// Modifiers that depend on the arm's state and target.
    pub(super) fn check_move(&mut self, arm: &Arm, block: &Block, blocks: &[Block]) {
        let own = match &block.kind {
            BlockKind::State(state) => Some(state),
            _ => None,
        };
        if matches!(arm.verb, Verb::HostGo(_)) && !own.is_some_and(|state| state.of_dpu) {
            let message = "`host_go` is for `dpu_state`: here every arm moves the host";
            self.diagnostics.error("misplaced-verb", &arm.place, message, "write `go`");
        }
        let alone = matches!(arm.verb, Verb::Go(_)) && own.is_some_and(|state| state.of_dpu && !state.barrier);
        if alone && (arm.cause.is_some() || arm.clears_failure) {
            let message = "a DPU that moves on its own does not change the recorded failure";
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
            let message = "`for_dpus` selects the DPUs that enter a state, and this is a state of the host";
            self.diagnostics.error("misplaced-verb", &guard.place, message, "remove it, or go to a `dpu_state`");
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

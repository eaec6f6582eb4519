//! Change tracking: which changes of a host can change its decision. The controller skips hosts without any.

use crate::{
    eval::RuleSet,
    ir::{
        health::Source,
        read_set::ReadSet,
        snapshot::{Dpu, Fact, FactType, NO_DPU, Snapshot},
    },
};

impl RuleSet {
    /// The read set of a state, by names of facts and reports; rules for any state included.
    #[must_use]
    pub fn reads(&self, state: &crate::ir::state_path::StatePath) -> Vec<String> {
        let Some(state) = self.state(state) else { return Vec::new() };
        let mut names = Vec::new();
        for fact in &state.reads.facts {
            names.push(format!("{}.{}", fact.area, fact.name));
        }
        names.extend(state.reads.reports.iter().filter_map(|n| self.reports.reports.get(*n)).map(|r| r.name.clone()));
        names.sort_unstable();
        names
    }

    /// Nothing that the rules of the host's state can read differs between two snapshots, so the decision is the
    /// same as long as no guard flips by time alone.
    #[must_use]
    pub fn sees_no_change(&self, before: &Snapshot, after: &Snapshot) -> bool {
        let own_states = || before.dpus.iter().zip(&after.dpus).all(|(a, b)| a.state == b.state);
        if before.state != after.state || before.dpus.len() != after.dpus.len() || !own_states() {
            return false;
        }
        let of_dpus = after.dpus.iter().filter_map(|dpu| dpu.state.as_ref());
        let mut states = std::iter::once(&after.state.path).chain(of_dpus);
        states.all(|path| self.state(path).is_some_and(|state| self.same(&state.reads, before, after)))
            && self.no_sla_while.as_ref().is_none_or(|guard| self.same(&guard.reads, before, after))
    }

    fn same(&self, reads: &ReadSet, before: &Snapshot, after: &Snapshot) -> bool {
        let pairs = || before.dpus.iter().zip(&after.dpus);
        let same = reads.facts.iter().all(|fact| match fact.area {
            "dpu" => pairs().all(|(a, b)| same_fact(fact, (before, a), (after, b))),
            _ => same_fact(fact, (before, &NO_DPU), (after, &NO_DPU)),
        });
        if !same {
            return false;
        }
        if !reads.records.is_empty()
            && !pairs().all(|(a, b)| (&a.counters, &a.notes, &a.actions) == (&b.counters, &b.notes, &b.actions))
        {
            return false;
        }
        let reports = reads.reports.iter().filter_map(|number| self.reports.reports.get(*number));
        let of_dpu = |source: &Source| match source {
            Source::Stored(stored) => Some(stored.is_of_dpu()),
            Source::Dpus(_) | Source::Alert(_) => None,
        };
        let mut sources = reports.flat_map(|report| &report.parts).filter_map(|part| of_dpu(&part.source));
        sources.all(|of_dpu| match of_dpu {
            true => pairs().all(|(a, b)| a.health == b.health),
            false => before.health == after.health,
        })
    }
}

/// Same value; an age is the same if its timestamp is.
fn same_fact(fact: &Fact, before: (&Snapshot, &Dpu), after: (&Snapshot, &Dpu)) -> bool {
    let (old, new) = ((fact.get)(before.0, before.1), (fact.get)(after.0, after.1));
    if fact.kind != FactType::Age {
        return old == new;
    }
    match (old, new) {
        (crate::ir::snapshot::Value::Int(old), crate::ir::snapshot::Value::Int(new)) => {
            let passed = i64::try_from(after.0.now.abs_diff(before.0.now) / 1_000_000).unwrap_or(i64::MAX);
            let passed = if after.0.now >= before.0.now { passed } else { -passed };
            // Both ages are truncated to whole seconds.
            (new - old - passed).abs() <= 1
        }
        (old, new) => old == new,
    }
}

//! Which changes of a host can change what the rules say about it.

use crate::{
    RuleSet,
    guard::reads::Reads,
    health::Source,
    snapshot::{Dpu, Fact, FactType, Snapshot},
};

impl RuleSet {
    /// The facts that the rules of a state can read, by their names; those of any state included.
    #[must_use]
    pub fn reads(&self, state: &crate::StatePath) -> Vec<String> {
        let Some(state) = self.state(state) else { return Vec::new() };
        let mut names = Vec::new();
        for fact in &state.reads.facts {
            names.push(format!("{}.{}", fact.area, fact.name));
        }
        names.extend(state.reads.reports.iter().filter_map(|n| self.reports.reports.get(*n)).map(|r| r.name.clone()));
        names.sort_unstable();
        names
    }

    /// Nothing differs between two snapshots of a host that the rules of its state can read, so the decision is the
    /// same as long as no guard flips by time alone.
    #[must_use]
    pub fn sees_no_change(&self, before: &Snapshot, after: &Snapshot) -> bool {
        if before.state != after.state || before.dpus.len() != after.dpus.len() {
            return false;
        }
        let own_states = |host: &Snapshot| host.dpus.iter().filter_map(|dpu| dpu.state.clone()).collect::<Vec<_>>();
        if own_states(before) != own_states(after) {
            return false;
        }
        let states = std::iter::once(after.state.path.clone()).chain(own_states(after));
        let mut reads = Reads::default();
        for path in states {
            match self.state(&path) {
                Some(state) => reads.add(&state.reads),
                None => return false,
            }
        }
        if let Some(guard) = &self.no_sla_while {
            reads.add(&guard.reads);
        }
        self.same(&reads, before, after)
    }

    fn same(&self, reads: &Reads, before: &Snapshot, after: &Snapshot) -> bool {
        let none = Dpu::default();
        let pairs = || before.dpus.iter().zip(&after.dpus);
        let of_host = reads.facts.iter().filter(|fact| fact.area != "dpu");
        let mut of_dpu = reads.facts.iter().filter(|fact| fact.area == "dpu");
        if !of_host.into_iter().all(|fact| same_fact(fact, (before, &none), (after, &none)))
            || !of_dpu.all(|fact| pairs().all(|(a, b)| same_fact(fact, (before, a), (after, b))))
        {
            return false;
        }
        if reads.records
            && !pairs().all(|(a, b)| (&a.counters, &a.notes, &a.actions) == (&b.counters, &b.notes, &b.actions))
        {
            return false;
        }
        let reports = reads.reports.iter().filter_map(|number| self.reports.reports.get(*number));
        let of_host = |source: &Source| {
            matches!(source, Source::HostMerge | Source::HostReplace | Source::RackMerge | Source::RackReplace)
        };
        let of_dpu = |source: &Source| matches!(source, Source::DpuMerge | Source::DpuReplace | Source::DpuAgent);
        let mut sources = reports.flat_map(|report| &report.parts).map(|part| &part.source);
        sources.all(|source| {
            (!of_host(source) || before.health == after.health)
                && (!of_dpu(source) || pairs().all(|(a, b)| a.health == b.health))
        })
    }
}

/// Same value; an age is the same if the moment it is counted from is.
fn same_fact(fact: &Fact, before: (&Snapshot, &Dpu), after: (&Snapshot, &Dpu)) -> bool {
    let (old, new) = ((fact.get)(before.0, before.1), (fact.get)(after.0, after.1));
    if fact.kind != FactType::Age {
        return old == new;
    }
    match (old, new) {
        (crate::Value::Int(old), crate::Value::Int(new)) => {
            let passed = i64::try_from(after.0.now.abs_diff(before.0.now) / 1_000_000).unwrap_or(i64::MAX);
            let passed = if after.0.now >= before.0.now { passed } else { -passed };
            // Both ages are cut to whole seconds.
            (new - old - passed).abs() <= 1
        }
        (old, new) => old == new,
    }
}

//! From declarations to a pack: resolves names, lowers guards, checks everything. Called by `lang::load`.

mod arms;
mod functions;
mod guards;
mod modifiers;
mod reports;
mod tables;
mod views;

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use crate::{
    ir::{
        diagnostic::{Diagnostics, Place},
        guard::TimeLimit,
        health::Reports,
        pack::{DeclaredState, Gate, Pack, arm_guards},
        read_set::ReadSet,
        state_path::StatePath,
    },
    lang::{
        check,
        declare::{Block, BlockKind, Declarations, SlaDecl, StateDecl, Use, VerbDecl},
        load::LoadOptions,
        lower::{
            SizeBudget,
            names::{Functions, Names},
        },
    },
};

/// What the scripts declared.
pub(crate) struct Input {
    pub(crate) declarations: Declarations,
    pub(crate) functions: Functions,
    pub(crate) builtins: HashSet<String>,
    /// Verbs of declarations.
    pub(crate) verbs: HashSet<String>,
    pub(crate) sources: BTreeMap<Arc<str>, Arc<str>>,
    pub(crate) hash: String,
    /// Some file did not run to its end, so some declarations are unknown.
    pub(crate) incomplete: bool,
}

/// State of the resolution.
pub(crate) struct Resolver<'a> {
    names: Names,
    functions: &'a Functions,
    builtins: &'a HashSet<String>,
    sources: &'a BTreeMap<Arc<str>, Arc<str>>,
    /// The reports, once they are built.
    reports: Option<Arc<Reports>>,
    diagnostics: &'a mut Diagnostics,
    budget: SizeBudget,
}

/// Builds the pack and adds errors to `diagnostics`. None if it is too broken to be checked as a whole.
pub(crate) fn resolve(input: Input, options: &LoadOptions, diagnostics: &mut Diagnostics) -> Option<Pack> {
    let Input { declarations, functions, builtins, verbs, sources, hash, incomplete } = input;
    let mut found = Diagnostics::default();
    let names = tables::names(&declarations, options, &mut found);
    let mut resolver = Resolver {
        names,
        functions: &functions,
        builtins: &builtins,
        sources: &sources,
        reports: None,
        diagnostics: &mut found,
        budget: SizeBudget::default(),
    };

    let reports = Arc::new(resolver.build_reports(&declarations.reports));
    resolver.reports = Some(reports.clone());
    let gates = resolver.gates(&declarations);
    let no_sla_while = declarations.no_sla_while.as_ref().and_then(|decl| resolver.host_guard(decl));
    let counters = resolver.kept(declarations.counters.iter().map(|c| (&c.name, &c.value)));
    let notes = resolver.kept(declarations.notes.iter().map(|n| (&n.name, &n.value.1)));
    let initial = resolver.initial(&declarations.initial);
    let views = resolver.views(&declarations);

    let mut rules = Pack {
        hash,
        initial: initial.unwrap_or_default(),
        sources: sources.clone(),
        states: Vec::new(),
        by_path: resolver.names.states.iter().map(|(path, number)| (path.clone(), *number)).collect(),
        arms: Vec::new(),
        gates,
        reports,
        counters,
        notes,
        no_sla_while,
        views,
        probes: resolver.names.probes.keys().cloned().collect(),
        classifications: resolver.names.classifications.keys().cloned().collect(),
        actions: declarations.actions.iter().map(|a| (a.name.clone(), a.value.clone())).collect(),
        timeouts: resolver.names.timeouts.clone(),
        limits: resolver.names.limits.clone(),
    };
    resolver.unused_steps(&declarations.blocks);
    resolver.check_functions(verbs);
    let any = resolver.any_rules(&declarations.blocks, &mut rules);
    resolver.states(&declarations.blocks, &any, &mut rules);
    if resolver.budget.is_spent() {
        // Everything that was skipped after that would be reported as missing.
        found.0.retain(|diagnostic| diagnostic.check == "limit");
        diagnostics.0.append(&mut found.0);
        return None;
    }
    collect_reads(&mut rules);
    if !incomplete {
        check::check(&rules, &any, &mut found);
    } else {
        // Names of a broken file are missing everywhere: only its own errors are worth reading.
        found.0.retain(|diagnostic| match diagnostic.check {
            "unknown-fact" => true,
            // The file stopped in the middle of this state or gate.
            "no-sla" | "no-reason" => diagnostics.0.iter().all(|known| known.place.file != diagnostic.place.file),
            check => check != "initial" && !check.starts_with("unknown-"),
        });
    }
    diagnostics.0.append(&mut found.0);
    Some(rules)
}

/// A rule for any state with its arms resolved.
pub(crate) struct AnyRule {
    pub(crate) place: Place,
    pub(crate) within: Vec<Arc<str>>,
    pub(crate) except: Vec<Arc<str>>,
    pub(crate) arms: Vec<usize>,
}

impl AnyRule {
    pub(crate) fn applies(&self, path: &StatePath) -> bool {
        (self.within.is_empty() || self.within.iter().any(|prefix| path.is_within(prefix)))
            && !self.except.iter().any(|prefix| path.is_within(prefix))
    }
}

impl Resolver<'_> {
    fn gates(&mut self, declarations: &Declarations) -> Vec<Gate> {
        let mut gates = Vec::new();
        for decl in &declarations.gates {
            let Some(guard) = self.guard(&decl.value.guard) else { continue };
            let reason = match &decl.value.waits {
                Some(reason) if !reason.trim().is_empty() => reason.as_str().into(),
                _ => {
                    let message = format!("gate `{}` does not say what it waits for", decl.name);
                    self.diagnostics.error("no-reason", &decl.place, message, "add `.waits(\"Waiting for …\")`");
                    Arc::from("")
                }
            };
            gates.push(Gate { name: decl.name.clone(), place: decl.place.clone(), guard, reason });
        }
        // Gates with errors are skipped, so numbers are assigned to the others only.
        self.names.gates = gates.iter().enumerate().map(|(at, gate)| (gate.name.clone(), at)).collect();
        gates
    }

    fn initial(&mut self, initial: &[Use]) -> Option<StatePath> {
        match initial {
            [one] => self.state_number(one).map(|_| StatePath::from(&*one.name)),
            [] => {
                let whole = Place { file: "".into(), line: 0, column: 0 };
                let hint = "add `initial(\"State/Path\")` to one file";
                self.diagnostics.error("initial", &whole, "the pack does not say where hosts start", hint);
                None
            }
            [_, second, ..] => {
                let message = "hosts can start in one state only";
                self.diagnostics.error("initial", &second.place, message, "keep one `initial(…)` in the whole pack");
                None
            }
        }
    }

    fn any_rules(&mut self, blocks: &[Block], rules: &mut Pack) -> Vec<AnyRule> {
        let mut any = Vec::new();
        for block in blocks {
            let BlockKind::Any(decl) = &block.kind else { continue };
            let within = self.prefixes(&decl.within);
            let except = self.prefixes(&decl.except);
            let arms = self.arms(block, blocks, rules);
            any.push(AnyRule { place: block.place.clone(), within, except, arms });
        }
        any
    }

    fn unused_steps(&mut self, blocks: &[Block]) {
        let used = |name: &Arc<str>| {
            let arms = blocks.iter().flat_map(|block| &block.arms);
            arms.into_iter().any(|arm| matches!(&arm.verb, VerbDecl::Steps(steps) if steps.name == *name))
        };
        for block in blocks {
            if matches!(block.kind, BlockKind::Steps) && !used(&block.name) {
                let message = format!("no state uses the steps `{}`", block.name);
                self.diagnostics.error(
                    "unused-steps",
                    &block.place,
                    message,
                    "remove them, or add `.steps(…)` where they belong",
                );
            }
        }
    }

    fn prefixes(&mut self, uses: &[Use]) -> Vec<Arc<str>> {
        for used in uses {
            let known = self.names.states.keys().any(|state| StatePath::from(&**state).is_within(&used.name));
            if !known {
                let states = self.names.states.keys().map(|state| &**state).collect::<Vec<_>>();
                self.diagnostics.unknown("unknown-state", &used.place, "state", &used.name, states);
            }
        }
        uses.iter().map(|used| used.name.clone()).collect()
    }

    fn states(&mut self, blocks: &[Block], any: &[AnyRule], rules: &mut Pack) {
        for block in blocks {
            let BlockKind::State(decl) = &block.kind else { continue };
            let path = StatePath::from(&*block.name);
            if !path.is_well_formed() {
                let message = format!("`{path}` is not a path of a state");
                let hint = "write words of letters, digits, `_`, `-` and `.`, with `/` between them";
                self.diagnostics.error("state-path", &block.place, message, hint);
            }
            let arms = self.arms(block, blocks, rules);
            let sla = self.sla(decl, block);
            let any_arms = any.iter().filter(|rule| rule.applies(&path)).flat_map(|rule| &rule.arms).copied();
            let any_arms: Vec<usize> = any_arms.collect();
            let read_here = any_arms.iter().chain(&arms).filter_map(|arm| rules.arms.get(*arm));
            let parts = read_here
                .map(|arm| arm_guards(arm, &rules.gates).map(|guard| guard.expr.size()).sum::<usize>() + 1)
                .sum();
            if !self.budget.take(parts, self.diagnostics) {
                return;
            }
            rules.states.push(DeclaredState {
                path,
                place: block.place.clone(),
                kind: decl.kind,
                of_dpu: decl.of_dpu,
                barrier: decl.barrier,
                aside: decl.aside,
                entry: decl.entry,
                sla,
                any_arms,
                arms,
                reads: ReadSet::default(),
            });
        }
    }

    fn sla(&mut self, decl: &StateDecl, block: &Block) -> Option<TimeLimit> {
        match &decl.sla {
            Some(SlaDecl::None) => None,
            Some(SlaDecl::Seconds(seconds)) => {
                if *seconds < 0 {
                    let message = format!("the time limit of state `{}` is below zero", block.name);
                    self.diagnostics.error("negative", &block.place, message, "add `.sla(minutes(30))` or `.no_sla()`");
                }
                Some(TimeLimit::from(*seconds))
            }
            Some(SlaDecl::Computed(number)) => self.time_limit(number),
            None => {
                let message = format!("state `{}` has no time limit", block.name);
                self.diagnostics.error("no-sla", &block.place, message, "add `.sla(minutes(30))` or `.no_sla()`");
                None
            }
        }
    }
}

/// Computes the read set of each state.
fn collect_reads(rules: &mut Pack) {
    let Pack { states, arms, gates, reports, .. } = rules;
    for state in states {
        for arm_number in state.any_arms.iter().chain(&state.arms) {
            let Some(arm) = arms.get(*arm_number) else { continue };
            let mut of_arm = ReadSet::default();
            for guard in arm_guards(arm, gates) {
                of_arm.add(&guard.reads);
            }
            add_reports(&mut of_arm, reports);
            state.reads.add(&of_arm);
        }
        if let Some(sla) = &state.sla {
            state.reads.add(&sla.reads);
        }
    }
}

fn add_reports(reads: &mut ReadSet, reports: &Reports) {
    let mut next = 0;
    while let Some(number) = reads.reports.get(next).copied() {
        next += 1;
        let Some(report) = reports.reports.get(number) else { continue };
        for part in &report.parts {
            for guard in part.when.iter().chain(&part.unclassified) {
                let of_guard = guard.reads.clone();
                reads.add(&of_guard);
            }
            if let crate::ir::health::Source::Dpus(inner) = part.source {
                reads.report(inner);
            }
        }
    }
}

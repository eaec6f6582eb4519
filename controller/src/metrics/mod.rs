//! Prometheus metrics. Everything is read at the moment of the scrape, so there is nothing to keep up to date.

mod calls;
mod task_runs;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::ConstCounter, family::Family, gauge::Gauge, info::Info},
    registry::Registry,
};

use crate::{
    ActiveRules, ReconcileCounters, Timestamp,
    store::{Result, SiteStats, Store},
};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InState {
    state: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPool {
    pool: String,
}

pub(crate) use calls::Calls;
pub(crate) use task_runs::{Heartbeat, TaskRuns};

/// What metrics are read from.
pub(crate) struct Sources {
    pub(crate) store: Store,
    pub(crate) rules: Arc<ActiveRules>,
    pub(crate) counters: Arc<ReconcileCounters>,
    pub(crate) calls: Calls,
    pub(crate) runs: TaskRuns,
}

/// A DPU counts as up if it reported within this time.
const UP: Duration = Duration::from_secs(300);

/// What the site looks like now, in the text format of Prometheus.
pub(crate) async fn render(sources: &Sources) -> Result<String> {
    let Sources { store, rules, counters, calls, runs } = sources;
    let now = Timestamp::now();
    let stats = store.read().await?.stats(now.before(UP)).await?;
    let mut registry = Registry::default();
    certificates(&mut registry, &stats, now);
    site(&mut registry, stats);
    active_rules(&mut registry, rules);
    reconciler(&mut registry, counters);
    database(&mut registry, store);
    calls.register(&mut registry);
    runs.register(&mut registry);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    Ok(text)
}

/// Goes on below 0 for a DPU whose certificate has expired: it cannot report any more.
fn certificates(registry: &mut Registry, stats: &SiteStats, now: Timestamp) {
    let Some(end) = stats.first_certificate_end else { return };
    let left = Gauge::<i64>::default();
    left.set(end.saturating_sub(i64::try_from(now.micros() / 1_000_000).unwrap_or(i64::MAX)));
    let help = "Seconds until the first of the DPUs' certificates ends, below 0 once it has expired";
    registry.register("dpu_certificate_expires_in_seconds", help, left);
}

fn site(registry: &mut Registry, stats: SiteStats) {
    for (name, help, value) in [
        ("hosts_waiting", "Hosts whose last decision was to wait", stats.waiting),
        ("hosts_failing", "Hosts whose last decision was an error", stats.failing),
        ("dpus", "DPUs that the site knows", stats.dpus),
        ("dpus_up", "DPUs that reported within five minutes", stats.dpus_heard),
        ("dpus_alerting", "DPUs with at least one alert", stats.dpus_alerting),
        ("dpus_held", "DPUs that run what the site never gave, and are told nothing", stats.dpus_held),
        ("instances", "Instances", stats.instances),
    ] {
        registry.register(name, help, gauge(value));
    }
    let hosts = family(stats.hosts_by_state, |state| InState { state });
    registry.register("hosts_per_state", "Hosts by state", hosts);
    let held = family(stats.addresses_by_pool, |pool| OfPool { pool });
    registry.register("addresses_held", "Addresses given out, by what they are for", held);
}

fn database(registry: &mut Registry, store: &Store) {
    let writing = store.writing();
    let writable = gauge(u64::from(writing.works()));
    registry.register("database_writable", "1 if the last write to the database worked", writable);
    let failures = ConstCounter::new(writing.failures());
    registry.register("database_write_failures", "Writes to the database that did not work", failures);
}

fn active_rules(registry: &mut Registry, rules: &ActiveRules) {
    let current = rules.current();
    let pack = Info::new([("hash".to_owned(), current.hash().to_owned())]);
    registry.register("rule_pack", "Active rules", pack);
    let offers = rules.offers();
    let stale = gauge(u64::from(offers.refusal.is_some()));
    registry.register("rules_stale", "1 if the last rules that were offered were refused", stale);
    registry.register("rules_taken", "Times that rules were activated", ConstCounter::new(offers.taken));
    registry.register("rules_refused", "Times that rules were refused", ConstCounter::new(offers.refused));
}

fn reconciler(registry: &mut Registry, counters: &ReconcileCounters) {
    let figures = counters.figures();
    for (name, help, value) in [
        ("reconcile_decisions", "Hosts decided", figures.decisions),
        ("reconcile_unchanged", "Hosts looked at of which nothing had changed", figures.unchanged),
        ("reconcile_transitions", "Moves committed", figures.transitions),
        ("reconcile_waits", "Decisions to wait", figures.waits),
        ("reconcile_errors", "Decisions that were errors, and actions that failed", figures.errors),
        ("reconcile_conflicts", "Moves that lost against another change", figures.conflicts),
        ("reconcile_actions_done", "Actions that worked", figures.actions_done),
        ("reconcile_actions_failed", "Actions that did not work", figures.actions_failed),
        ("reconcile_late", "Hosts whose handling was cut off by its time limit", figures.late),
    ] {
        registry.register(name, help, ConstCounter::new(value));
    }
    let overdue = family(counters.overdue_by_state(), |state| InState { state });
    registry.register("hosts_above_sla", "Hosts that are longer in their state than its time limit, by state", overdue);
    let help = "Hosts that are free, but that no tenant can have";
    registry.register("hosts_withheld", help, gauge(counters.hosts_withheld()));
    let help = "Probes and classifications in health reports that the rules do not declare";
    registry.register("health_names_undeclared", help, gauge(counters.names_undeclared()));
    registry.register("reconcile_queued", "Hosts that wait for their turn", gauge(figures.queued));
    registry.register("reconcile_running", "Hosts that are worked on", gauge(figures.running));
}

fn gauge(value: u64) -> Gauge {
    let gauge = Gauge::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    gauge
}

fn family<L>(values: BTreeMap<String, u64>, label: fn(String) -> L) -> Family<L, Gauge>
where
    L: Clone + std::hash::Hash + Eq,
{
    let family = Family::<L, Gauge>::default();
    for (name, value) in values {
        family.get_or_create_owned(&label(name)).set(i64::try_from(value).unwrap_or(i64::MAX));
    }
    family
}

//! Prometheus metrics. Everything is read at the moment of the scrape, so there is nothing to keep up to date.

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::ConstCounter, family::Family, gauge::Gauge},
    registry::Registry,
};

use crate::{
    Moment, ReconcileFigures,
    store::{OutcomeKind, Result, Store},
};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InState {
    state: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: String,
}

/// A DPU counts as up if it reported within this time.
const UP_MICROS: u64 = 5 * 60 * 1_000_000;

/// What the site looks like now, in the text format of Prometheus.
pub(crate) async fn render(store: &Store, figures: ReconcileFigures) -> Result<String> {
    let mut registry = Registry::default();
    site(&mut registry, store).await?;
    reconciler(&mut registry, figures);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    Ok(text)
}

async fn site(registry: &mut Registry, store: &Store) -> Result<()> {
    let mut tx = store.read().await?;
    let (hosts, waiting, failing) =
        (Family::<InState, Gauge>::default(), Gauge::<i64>::default(), Gauge::<i64>::default());
    for host in tx.host_ids().await? {
        let life = tx.life(&host).await?;
        hosts.get_or_create(&InState { state: life.state.to_string() }).inc();
        match life.outcome.kind {
            OutcomeKind::Wait => waiting.inc(),
            OutcomeKind::Error => failing.inc(),
            OutcomeKind::None | OutcomeKind::Go => 0,
        };
    }
    registry.register("hosts_per_state", "Hosts by state", hosts);
    registry.register("hosts_waiting", "Hosts whose last decision was to wait", waiting);
    registry.register("hosts_failing", "Hosts whose last decision was an error", failing);
    let (dpus, up, alerting) = (Gauge::<i64>::default(), Gauge::<i64>::default(), Gauge::<i64>::default());
    let now = Moment::now();
    for dpu in tx.dpus().await? {
        dpus.inc();
        let seen = tx.observation(&dpu.id).await?;
        if seen.is_some_and(|seen| now.micros().saturating_sub(seen.observed_at.micros()) < UP_MICROS) {
            up.inc();
        }
        if tx.health_reports(&dpu.id).await?.iter().any(|entry| !entry.report.alerts.is_empty()) {
            alerting.inc();
        }
    }
    registry.register("dpus", "DPUs that the site knows", dpus);
    registry.register("dpus_up", "DPUs that reported within five minutes", up);
    registry.register("dpus_alerting", "DPUs with at least one alert", alerting);
    let instances = Gauge::<i64>::default();
    instances.set(i64::try_from(tx.instances().await?.len()).unwrap_or(i64::MAX));
    registry.register("instances", "Instances", instances);
    let held = Family::<OfKind, Gauge>::default();
    for address in tx.addresses().await? {
        held.get_or_create(&OfKind { kind: address.pool.to_string() }).inc();
    }
    registry.register("addresses_held", "Addresses given out, by what they are for", held);
    Ok(())
}

fn reconciler(registry: &mut Registry, figures: ReconcileFigures) {
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
    for (name, help, value) in [
        ("reconcile_queued", "Hosts that wait for their turn", figures.queued),
        ("reconcile_running", "Hosts that are worked on", figures.running),
    ] {
        let gauge = Gauge::<i64>::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    }
}

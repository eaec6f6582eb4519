//! The reconciler: the only one who changes a host's state.
//!
//! Events mark hosts; each marked host is evaluated once, by one worker at a time, several hosts at once. An evaluation
//! reads the host, asks the rules, carries out the actions and commits. A host that moved is evaluated again at once. A
//! host that waits comes back when something about it changes, when a time guard of its state is due, and with the sweep
//! over all hosts, so that a lost event costs a delay and never a stuck host. What waits for a BMC gives its turn to
//! others meanwhile, so that hosts with dead BMCs hold up nobody.

mod commit;
mod context;
mod counters;
mod evaluation;
mod observe;
mod permits;
mod preconditions;
mod queue;
mod timers;
mod worker;

use std::{
    collections::HashMap,
    future::Future,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use proto::MachineId;
use tokio::{
    sync::OwnedSemaphorePermit,
    task::{Id, JoinError, JoinSet},
    time::MissedTickBehavior,
};
use tracing::{error, warn};

pub use counters::{ReconcileCounters, ReconcileFigures};

use bmc::BmcClient;

use crate::{
    DirtyHosts,
    rule_packs::ActiveRules,
    store::{Store, StoreError},
};
use context::{Context, Evaluated};
use permits::{Permit, Permits};
use queue::Queue;
use timers::Timers;
use worker::Worker;

/// How the reconciler works.
#[derive(Debug, Clone)]
pub struct ReconcileSettings {
    /// Time between two sweeps over all hosts.
    pub sweep: Duration,
    /// Hosts decided at the same time. One that waits for a BMC is none of them.
    pub concurrency: usize,
    /// Hosts whose BMCs are spoken to at the same time.
    pub bmc_concurrency: usize,
    /// Limit for one evaluation of a host.
    pub step_limit: Duration,
    /// Limit for one action.
    pub action_limit: Duration,
    /// Switches of the site, which rules see.
    pub site: rules::Site,
    /// Firmware version that the BMCs of DPUs should have; none if the site has not said.
    pub dpu_bmc_firmware: Option<String>,
}

impl Default for ReconcileSettings {
    fn default() -> Self {
        Self {
            sweep: Duration::from_secs(30),
            concurrency: 10,
            // A dead BMC is waited for as long as the limits below say: enough that none has to wait for the others.
            bmc_concurrency: 500,
            step_limit: Duration::from_secs(180),
            action_limit: Duration::from_secs(60),
            site: rules::Site::default(),
            dpu_bmc_firmware: None,
        }
    }
}

/// Moves hosts as the rules decide. Clones are the same one: only one of them may run at a time.
#[derive(Clone)]
pub struct Reconciler {
    worker: Arc<Worker>,
    dirty: DirtyHosts,
    swept: Arc<dyn Fn() + Send + Sync>,
}

// Rules that send a host in circles must not keep a core and the database busy.
const MOVES_AT_ONCE: u32 = 100;
const REST_AFTER_MOVES: Duration = Duration::from_secs(10);

impl Reconciler {
    /// A reconciler for the hosts of `store`, which takes marks from `dirty`.
    #[must_use]
    pub fn new(
        store: Store,
        dirty: DirtyHosts,
        rules: Arc<ActiveRules>,
        bmc: Arc<dyn BmcClient>,
        settings: ReconcileSettings,
    ) -> Self {
        let permits = Arc::new(Permits::new(settings.concurrency, settings.bmc_concurrency));
        let context = Context { store, rules, bmc, settings, permits, counters: Arc::default() };
        Self { worker: Arc::new(Worker::new(context)), dirty, swept: Arc::new(|| ()) }
    }

    /// Calls `swept` after every sweep.
    #[must_use]
    pub fn on_sweep(self, swept: impl Fn() + Send + Sync + 'static) -> Self {
        Self { swept: Arc::new(swept), ..self }
    }

    /// What has been done so far, kept up to date.
    #[must_use]
    pub fn counters(&self) -> Arc<ReconcileCounters> {
        Arc::clone(&self.worker.context.counters)
    }

    /// Works until `stop` is ready; then takes no more hosts and ends when those under way are done.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) {
        let mut shift = Shift::new(self.worker);
        let mut sweep = tokio::time::interval(shift.worker.context.settings.sweep.max(Duration::from_millis(10)));
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stop = pin!(stop);
        let permits = Arc::clone(&shift.worker.context.permits);
        // Kept from one event to the next, so that those who come back from a BMC do not overtake it for ever.
        let mut permit = pin!(permits.next());
        loop {
            let timer = shift.timers.next();
            tokio::select! {
                () = &mut stop => break,
                marked = self.dirty.take() => marked.into_iter().for_each(|host| shift.queue.push(host)),
                Some(ended) = shift.tasks.join_next_with_id() => shift.ended(ended),
                () = until(timer) => shift.due(),
                _ = sweep.tick() => {
                    shift.sweep().await;
                    (self.swept)();
                }
                Some(taken) = &mut permit, if shift.queue.waiting() > 0 => {
                    permit.set(permits.next());
                    shift.start(taken);
                }
            }
            shift.worker.context.counters.queue(shift.queue.waiting(), shift.queue.running());
        }
        // It must not keep a turn from those who come back.
        permit.set(permits.next());
        while let Some(ended) = shift.tasks.join_next_with_id().await {
            shift.ended(ended);
        }
    }
}

/// What the loop holds between two events.
struct Shift {
    worker: Arc<Worker>,
    queue: Queue,
    timers: Timers,
    tasks: JoinSet<Result<Evaluated, StoreError>>,
    hosts: HashMap<Id, MachineId>,
    moves: HashMap<MachineId, (Instant, u32)>,
    /// When each host was last evaluated.
    evaluated: HashMap<MachineId, Instant>,
}

impl Shift {
    fn new(worker: Arc<Worker>) -> Self {
        Self {
            worker,
            queue: Queue::default(),
            timers: Timers::default(),
            tasks: JoinSet::new(),
            hosts: HashMap::new(),
            moves: HashMap::new(),
            evaluated: HashMap::new(),
        }
    }

    /// Starts the host that waited longest.
    fn start(&mut self, taken: OwnedSemaphorePermit) {
        let Some(host) = self.queue.start() else { return };
        let worker = Arc::clone(&self.worker);
        let id = host.clone();
        let task = self.tasks.spawn(async move {
            let permit = Permit::new(Arc::clone(&worker.context.permits), taken);
            match tokio::time::timeout(worker.context.settings.step_limit, worker.evaluate(&id, &permit)).await {
                Ok(done) => done,
                Err(_) => worker.cut_off(&id).await.map(|()| Evaluated::Stays(None)),
            }
        });
        self.hosts.insert(task.id(), host);
    }

    fn ended(&mut self, ended: Result<(Id, Result<Evaluated, StoreError>), JoinError>) {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let Some(host) = self.hosts.remove(&id) else { return };
        let done = match ended {
            Ok((_, Ok(done))) => done,
            Ok((_, Err(error))) => {
                error!(%host, %error, "host not evaluated, the next sweep tries again");
                Evaluated::Stays(None)
            }
            Err(error) => {
                error!(%host, %error, "evaluating the host broke off, the next sweep tries again");
                Evaluated::Stays(None)
            }
        };
        let again = match done {
            Evaluated::Moved => self.may_go_on(&host),
            Evaluated::Conflict => true,
            Evaluated::Stays(_) | Evaluated::Gone => false,
        };
        self.evaluated.insert(host.clone(), Instant::now());
        match done {
            Evaluated::Stays(recheck) => self.timers.set(&host, recheck.map(|rest| Instant::now() + rest)),
            Evaluated::Gone => {
                self.timers.set(&host, None);
                self.moves.remove(&host);
                self.evaluated.remove(&host);
            }
            Evaluated::Moved if !again => self.timers.set(&host, Some(Instant::now() + REST_AFTER_MOVES)),
            Evaluated::Moved | Evaluated::Conflict => self.timers.set(&host, None),
        }
        self.queue.finish(&host, again);
    }

    /// A host that moved goes on at once, unless it has moved very often in a short time.
    fn may_go_on(&mut self, host: &MachineId) -> bool {
        let now = Instant::now();
        let (since, moves) = self.moves.entry(host.clone()).or_insert((now, 0));
        if now.duration_since(*since) > REST_AFTER_MOVES {
            (*since, *moves) = (now, 0);
        }
        *moves += 1;
        if *moves % MOVES_AT_ONCE == 0 {
            warn!(%host, moves, "host moves in circles, it has to rest");
            return false;
        }
        true
    }

    fn due(&mut self) {
        let now = Instant::now();
        while let Some(host) = self.timers.take_due(now) {
            self.queue.push(host);
        }
    }

    /// Marks all hosts that nothing has marked for a while: a host that reports keep busy needs no sweep.
    async fn sweep(&mut self) {
        let hosts = async {
            let mut tx = self.worker.context.store.read().await?;
            tx.host_ids().await
        };
        match hosts.await {
            Ok(hosts) => {
                let lately = self.worker.context.settings.sweep / 2;
                let idle = |host: &MachineId| self.evaluated.get(host).is_none_or(|at| at.elapsed() >= lately);
                hosts.into_iter().filter(idle).collect::<Vec<_>>().into_iter().for_each(|host| self.queue.push(host));
            }
            Err(error) => error!(%error, "cannot list hosts, the next sweep tries again"),
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

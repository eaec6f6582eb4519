//! The reconciler: the only one who changes a host's state.
//!
//! Events mark hosts; each marked host is evaluated once, by one worker at a time, several hosts at once. An evaluation
//! reads the host, asks the rules, carries out the actions and commits. A host that moved is evaluated again at once. A
//! host that waits comes back when something about it changes, when a time guard of its state is due, and with the sweep
//! over all hosts, so that a lost event costs a delay and never a stuck host. What waits for a BMC gives its turn to
//! others meanwhile, so that hosts with dead BMCs hold up nobody.

mod commit;
mod counters;
mod evaluation;
mod grounds;
mod in_force;
mod observe;
mod queue;
mod timers;
mod turns;
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
pub use in_force::{Offers, RulesInForce};

use crate::{
    DirtyHosts,
    act::Bmc,
    store::{Store, StoreError},
};
use queue::Queue;
use timers::Timers;
use turns::{Turn, Turns};
use worker::{Done, Worker};

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
        }
    }
}

/// Moves hosts as the rules decide. Clones are the same one: only one of them may run at a time.
#[derive(Clone)]
pub struct Reconciler {
    worker: Arc<Worker>,
    dirty: DirtyHosts,
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
        rules: Arc<RulesInForce>,
        bmc: Arc<dyn Bmc>,
        settings: ReconcileSettings,
    ) -> Self {
        let turns = Arc::new(Turns::new(settings.concurrency, settings.bmc_concurrency));
        let (counters, seen) = (Arc::default(), std::sync::Mutex::default());
        let worker = Worker { store, rules, bmc, settings, turns, counters, seen };
        Self { worker: Arc::new(worker), dirty }
    }

    /// What has been done so far, kept up to date.
    #[must_use]
    pub fn counters(&self) -> Arc<ReconcileCounters> {
        Arc::clone(&self.worker.counters)
    }

    /// Works until `stop` is ready; then takes no more hosts and ends when those under way are done.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) {
        let mut shift = Shift::new(self.worker);
        let mut sweep = tokio::time::interval(shift.worker.settings.sweep.max(Duration::from_millis(10)));
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stop = pin!(stop);
        let turns = Arc::clone(&shift.worker.turns);
        // Kept from one event to the next, so that those who come back from a BMC do not overtake it for ever.
        let mut turn = pin!(turns.next());
        loop {
            let timer = shift.timers.next();
            tokio::select! {
                () = &mut stop => break,
                marked = self.dirty.take() => marked.into_iter().for_each(|host| shift.queue.push(host)),
                Some(ended) = shift.tasks.join_next_with_id() => shift.ended(ended),
                () = until(timer) => shift.due(),
                _ = sweep.tick() => shift.sweep().await,
                Some(taken) = &mut turn, if shift.queue.waiting() > 0 => {
                    turn.set(turns.next());
                    shift.start(taken);
                }
            }
            shift.worker.counters.queue(shift.queue.waiting(), shift.queue.running());
        }
        // It must not keep a turn from those who come back.
        turn.set(turns.next());
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
    tasks: JoinSet<Result<Done, StoreError>>,
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
            let turn = Turn::new(Arc::clone(&worker.turns), taken);
            match tokio::time::timeout(worker.settings.step_limit, worker.evaluate(&id, &turn)).await {
                Ok(done) => done,
                Err(_) => worker.cut_off(&id).await.map(|()| Done::Stays(None)),
            }
        });
        self.hosts.insert(task.id(), host);
    }

    fn ended(&mut self, ended: Result<(Id, Result<Done, StoreError>), JoinError>) {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let Some(host) = self.hosts.remove(&id) else { return };
        let done = match ended {
            Ok((_, Ok(done))) => done,
            Ok((_, Err(error))) => {
                error!(%host, %error, "host not evaluated, the next sweep tries again");
                Done::Stays(None)
            }
            Err(error) => {
                error!(%host, %error, "evaluating the host broke off, the next sweep tries again");
                Done::Stays(None)
            }
        };
        let again = match done {
            Done::Moved => self.may_go_on(&host),
            Done::Conflict => true,
            Done::Stays(_) | Done::Gone => false,
        };
        self.evaluated.insert(host.clone(), Instant::now());
        match done {
            Done::Stays(recheck) => self.timers.set(&host, recheck.map(|rest| Instant::now() + rest)),
            Done::Gone => {
                self.timers.set(&host, None);
                self.moves.remove(&host);
                self.evaluated.remove(&host);
            }
            Done::Moved if !again => self.timers.set(&host, Some(Instant::now() + REST_AFTER_MOVES)),
            Done::Moved | Done::Conflict => self.timers.set(&host, None),
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
            let mut tx = self.worker.store.read().await?;
            tx.host_ids().await
        };
        match hosts.await {
            Ok(hosts) => {
                let lately = self.worker.settings.sweep / 2;
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

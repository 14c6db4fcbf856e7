//! The store: many replicas, few threads.
//!
//! ```text
//!   messages, writes, reads, ticks ─▶ a region's mailbox ─▶ queue of regions with mail
//!                                                                │ a poller takes many at once
//!      placement ◀─ reports                                       ▼
//!      transport ◀─ messages ─────────────── round: step all, one log batch, one sync, then tell
//!                                                                │ committed entries
//!      jobs ◀─ snapshots, log cuts, sizes                         ▼
//!        └──────────────▶ mailbox             apply pool: engine batch, callers told ─▶ mailbox
//! ```
//!
//! | file | what |
//! |---|---|
//! | `cell` | a region's mailboxes, its replica, what others may see of it |
//! | `queue` | regions with mail, waiting for a thread |
//! | `poller` | rounds |
//! | `appliers` | committed entries, snapshots put in place, removals |
//! | `routing` | messages of other stores: to a replica, or to one that is created for them |
//! | `merge` | regions that become parts of others, and replicas that have not heard of it |
//! | `recovery` | what a store finds on disk when it starts |
//! | `jobs` | snapshots made, logs cut, sizes measured |
//! | `size` | how much a region holds |
//! | `handle` | what `kv` calls |
//!
//! Nothing here needs the threads: [`RaftStore::poll`], [`RaftStore::apply`], [`RaftStore::run_job`] and [`RaftStore::tick`] each do a piece of
//! work, which a simulation calls in an order of its own. [`RaftStore::start`] starts threads that call them.
//!
//! Invariants:
//! - A region is with one poller, and with one applier, at a time.
//! - Locks of two regions' replicas are never held by somebody who waits for a third: a round takes those it has, and takes no more.
//! - A failed write of log or engine is told to `on_fatal` and nothing is told to anybody after it.

mod appliers;
mod cell;
mod handle;
mod jobs;
mod measure;
mod merge;
mod poller;
mod queue;
mod recovery;
mod routing;
mod size;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use bytes::Bytes;
use engine::{DiskGuard, Engine};
use env::Env;
use parking_lot::{Condvar, Mutex, RwLock};
use proto::{
    metapb::{self, Region},
    raft_serverpb::RaftMessage,
};
use rustc_hash::FxHashMap;

pub use self::handle::{ReadPermit, RegionWrites, SplitIds};
use self::{cell::Cell, jobs::Job, queue::WorkQueue};
use crate::{Config, Error, PeerReport, Result, SnapshotDirectory, log::RaftLog};

/// Regions an applier takes at a time.
const APPLY_AT_ONCE: usize = 16;
/// Ticks between two reports of a region to the placement driver when nothing happens: a minute at the default tick.
const REPORT_TICKS: u64 = 240;

/// Carries messages to other stores.
pub trait Transport: Send + Sync + 'static {
    /// Sends a message; it may be lost. Never waits.
    fn send(&self, message: RaftMessage);

    /// Sends a snapshot message and its file; `done` is told whether both arrived.
    fn send_snapshot(&self, message: RaftMessage, file: PathBuf, done: Box<dyn FnOnce(bool) + Send>);
}

/// What the placement driver hears of a region from its leader.
#[derive(Clone, Debug)]
pub struct RegionReport {
    /// The region.
    pub region: Region,
    /// Its leader.
    pub leader: metapb::Peer,
    /// The leader's term.
    pub term: u64,
    /// Bytes of keys and values, about.
    pub size_bytes: u64,
    /// Number of keys; `None` while nobody has read the region through, and its size is only what the engine says.
    pub keys: Option<u64>,
    /// Members that do not answer or are behind; what was written.
    pub peer: PeerReport,
}

/// The placement driver, as a store needs it. Calls never wait.
pub trait Placement: Send + Sync + 'static {
    /// A region led from here, from time to time and when something has changed.
    fn report_region(&self, report: RegionReport);

    /// A region has grown: it is to be split at these keys. Ids are needed; with them [`RaftStore::split`] is called.
    fn ask_split(&self, region: Region, keys: Vec<Bytes>);

    /// A region was split into these.
    fn report_split(&self, regions: Vec<Region>);
}

/// What a store is opened with.
pub struct StoreOptions<E: Engine> {
    /// The store's id.
    pub store_id: u64,
    /// Settings of replication.
    pub config: Config,
    /// Time and randomness.
    pub env: Env,
    /// Where applied entries go.
    pub engine: E,
    /// Where entries go.
    pub log: Arc<dyn RaftLog>,
    /// Directory of snapshot files.
    pub snapshots: PathBuf,
    /// Refuses writes in time when the disk fills up.
    pub disk_guard: Option<Arc<DiskGuard>>,
    /// To other stores.
    pub transport: Arc<dyn Transport>,
    /// To the placement driver.
    pub placement: Arc<dyn Placement>,
    /// Told once when log or engine cannot be written; the process has to stop.
    pub on_fatal: Box<dyn Fn(&Error) + Send + Sync>,
}

/// A store of replicas; cheap to clone.
pub struct RaftStore<E: Engine> {
    inner: Arc<Inner<E>>,
}

impl<E: Engine> Clone for RaftStore<E> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

struct Inner<E: Engine> {
    store_id: u64,
    config: Arc<Config>,
    env: Env,
    engine: E,
    log: Arc<dyn RaftLog>,
    snapshots: SnapshotDirectory,
    disk_guard: Option<Arc<DiskGuard>>,
    transport: Arc<dyn Transport>,
    placement: Arc<dyn Placement>,
    on_fatal: Box<dyn Fn(&Error) + Send + Sync>,
    failed: AtomicBool,
    ticks: AtomicU64,
    cells: RwLock<FxHashMap<u64, Arc<Cell>>>,
    polls: WorkQueue<Arc<Cell>>,
    applies: WorkQueue<Arc<Cell>>,
    jobs: WorkQueue<Job<E::Snapshot>>,
    /// Bytes of snapshots written and the time from when they count; see `jobs`.
    throttle: Mutex<jobs::Throttle>,
    stop: Mutex<bool>,
    stopped: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl<E: Engine> RaftStore<E> {
    /// Opens a store and the replicas it has. Reads the disk; starts nothing.
    pub fn open(options: StoreOptions<E>) -> Result<Self> {
        options.config.validate()?;
        let inner = Inner {
            store_id: options.store_id,
            config: Arc::new(options.config),
            env: options.env,
            engine: options.engine,
            log: options.log,
            snapshots: SnapshotDirectory::open(options.snapshots)?,
            disk_guard: options.disk_guard,
            transport: options.transport,
            placement: options.placement,
            on_fatal: options.on_fatal,
            failed: AtomicBool::new(false),
            ticks: AtomicU64::new(0),
            cells: RwLock::default(),
            polls: WorkQueue::default(),
            applies: WorkQueue::default(),
            jobs: WorkQueue::default(),
            throttle: Mutex::default(),
            stop: Mutex::new(false),
            stopped: Condvar::new(),
            threads: Mutex::default(),
        };
        let store = Self { inner: Arc::new(inner) };
        store.recover()?;
        Ok(store)
    }

    /// Starts the threads.
    pub fn start(&self) -> Result<()> {
        let config = self.inner.config.clone();
        for n in 0..config.store_pool_size {
            self.spawn(format!("raft-{n}"), |store| while store.poll(true) {})?;
        }
        for n in 0..config.apply_pool_size {
            self.spawn(format!("apply-{n}"), |store| while store.apply(true) {})?;
        }
        self.spawn("raft-jobs".to_owned(), |store| while store.run_job(true) {})?;
        self.spawn("raft-tick".to_owned(), |store| {
            while store.wait_for_tick() {
                store.tick();
            }
        })
    }

    fn spawn(&self, name: String, run: impl FnOnce(&Self) + Send + 'static) -> Result<()> {
        let store = self.clone();
        let failed = |source| Error::Snapshot { what: "cannot start a thread", path: PathBuf::from("raftstore"), source: Arc::new(source) };
        let guarded = move || {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&store)));
            if ended.is_err() {
                // A broken invariant: the region's state in memory cannot be trusted, and others wait for it.
                store.inner.fatal(&Error::Corrupted { what: "state (a thread of the store panicked; see the log)", region_id: 0 });
            }
        };
        let thread = std::thread::Builder::new().name(name).spawn(guarded).map_err(failed)?;
        self.inner.threads.lock().push(thread);
        Ok(())
    }

    /// Waits for the next tick; false when the store stops.
    fn wait_for_tick(&self) -> bool {
        let mut stop = self.inner.stop.lock();
        let until = std::time::Instant::now() + self.inner.config.tick;
        while !*stop {
            if self.inner.stopped.wait_until(&mut stop, until).timed_out() {
                break;
            }
        }
        !*stop
    }

    /// A tick passes for every replica that is not at rest; one at rest costs a look.
    pub fn tick(&self) {
        let ticks = self.inner.ticks.fetch_add(1, Ordering::Relaxed);
        let cells = self.inner.cells.read();
        for cell in cells.values() {
            if cell.resting.load(Ordering::Acquire) {
                // The placement driver acts on reports: one that rests is reported too, and goes on resting.
                if (ticks + cell.region_id).is_multiple_of(REPORT_TICKS) {
                    self.inner.post(cell, cell::PeerMessage::Report);
                }
                continue;
            }
            if cell.stalled.load(Ordering::Acquire) {
                self.inner.post_tasks(cell, vec![crate::ApplyTask::Resume]);
            }
            // A replica that is late gets one tick, not all it has missed: its election timer must not run faster than time.
            if !cell.tick_waits.swap(true, Ordering::AcqRel) {
                self.inner.post(cell, cell::PeerMessage::Tick);
            }
        }
    }

    /// Stops the threads; what waits is refused.
    pub fn stop(&self) {
        *self.inner.stop.lock() = true;
        self.inner.stopped.notify_all();
        self.inner.polls.close();
        self.inner.applies.close();
        self.inner.jobs.close();
        let threads = std::mem::take(&mut *self.inner.threads.lock());
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // A panic was told to on_fatal.
            let _ = thread.join();
        }
        let cells = std::mem::take(&mut *self.inner.cells.write());
        for cell in cells.into_values() {
            self.inner.retire(&cell, &Error::Stopped);
        }
    }
}

impl<E: Engine> Inner<E> {
    /// Log or engine cannot be trusted any more.
    fn fatal(&self, error: &Error) {
        if !self.failed.swap(true, Ordering::AcqRel) {
            (self.on_fatal)(error);
        }
        self.polls.close();
        self.applies.close();
        self.jobs.close();
    }

    fn cell(&self, region_id: u64) -> Option<Arc<Cell>> {
        self.cells.read().get(&region_id).cloned()
    }

    /// How long a member has been silent, in time.
    fn ticks_to_time(&self, ticks: u64) -> Duration {
        self.config.tick * u32::try_from(ticks).unwrap_or(u32::MAX)
    }
}

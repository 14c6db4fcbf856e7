//! The handle everything starts from.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use base::{ClusterId, KeyRange, ReadableSize, TimeStamp};
use env::Env;
use parking_lot::Mutex;
use proto::kvrpcpb::UnsafeDestroyRangeRequest;
use rustc_hash::FxHashSet;

use crate::{
    active::{ActiveGuard, ActiveSet},
    cluster::{ClusterStore, PdClient},
    error::Result,
    options::{SnapshotOptions, TxnOptions},
    placement::PlacementDriver,
    snapshot::Snapshot,
    store::Store,
    transaction::Transaction,
};

/// Limits and times of a client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Largest entry (key and value) a transaction may write; `txn-entry-size-limit`.
    pub entry_size_limit: ReadableSize,
    /// Largest transaction (sum of its entries); `txn-total-size-limit`. Zero for no limit.
    pub total_size_limit: ReadableSize,
    /// A transaction up to this size is committed in one phase, by one write; a larger one in two phases, by many.
    pub one_phase_size: ReadableSize,
    /// Time to live of locks; renewed at a third of it while the transaction lives.
    pub lock_ttl: Duration,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            entry_size_limit: ReadableSize::mib(6),
            total_size_limit: ReadableSize(0),
            one_phase_size: ReadableSize::mib(16),
            lock_ttl: Duration::from_secs(7),
        }
    }
}

/// Handle to a cluster; cheap to clone, one for each process.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    pd: PlacementDriver,
    env: Env,
    active: Arc<ActiveSet>,
    options: ClientOptions,
    /// No transaction may commit above it; zero for no bound.
    commit_bound: AtomicU64,
    /// No transaction that began at or below it may commit.
    commit_floor: AtomicU64,
    /// Transactions whose locks are being resolved in the background: many readers meet them, one resolves.
    resolving: Mutex<FxHashSet<u64>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("cluster", &self.inner.pd.cluster_id()).finish()
    }
}

impl Client {
    /// A client of a store in this process.
    pub fn embedded(store: impl Into<Store>, pd: pd::EmbeddedPd, env: Env) -> Self {
        Self::with_options(store, pd, env, ClientOptions::default())
    }

    /// A client of a store in this process, with limits other than the default ones.
    pub fn with_options(store: impl Into<Store>, pd: pd::EmbeddedPd, env: Env, options: ClientOptions) -> Self {
        Self::new(store.into(), PlacementDriver::Embedded(pd), env, options)
    }

    /// A client of a cluster: its stores and its placement driver are other processes.
    pub fn cluster(pd: PdClient, env: Env, options: ClientOptions) -> Self {
        let store = Store::Cluster(ClusterStore::new(pd.clone(), env.clone()));
        Self::new(store, PlacementDriver::Cluster(pd), env, options)
    }

    fn new(store: Store, pd: PlacementDriver, env: Env, options: ClientOptions) -> Self {
        let inner = Inner {
            store,
            pd,
            env,
            active: Arc::default(),
            options,
            commit_bound: AtomicU64::new(0),
            commit_floor: AtomicU64::new(0),
            resolving: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// A timestamp greater than all handed out before, in this process or any other, before or after a restart.
    pub async fn timestamp(&self) -> Result<TimeStamp> {
        self.inner.pd.timestamp().await
    }

    /// A timestamp, if one can be had without waiting.
    pub fn try_timestamp(&self) -> Option<TimeStamp> {
        self.inner.pd.try_timestamp()
    }

    /// The database at `ts`; [`TimeStamp::MAX`] for "the newest", where only single keys can be read.
    pub fn snapshot(&self, ts: TimeStamp, options: SnapshotOptions) -> Snapshot {
        let active = (!ts.is_max()).then(|| Arc::new(self.register(ts)));
        Snapshot::new(self.clone(), ts, options, active)
    }

    /// Begins a transaction. Nothing is asked of the cluster until it reads or writes.
    pub fn begin(&self, options: TxnOptions) -> Transaction {
        Transaction::new(self.clone(), options)
    }

    /// The cluster this client belongs to.
    pub fn cluster_id(&self) -> ClusterId {
        self.inner.pd.cluster_id()
    }

    /// An id that was never handed out before; for objects that are not SQL's (SQL counts its own).
    pub async fn allocate_id(&self) -> Result<u64> {
        self.inner.pd.allocate_id().await
    }

    /// The oldest timestamp that can be read.
    pub fn safe_point(&self) -> TimeStamp {
        self.inner.store.safe_point()
    }

    /// The oldest timestamp that a transaction or snapshot of this process uses.
    pub fn oldest_active(&self) -> Option<TimeStamp> {
        self.inner.active.oldest()
    }

    /// Removes all versions of the keys of a range that nobody reads or writes any more (a dropped table or index).
    pub async fn destroy_range(&self, range: KeyRange) -> Result<()> {
        let request = UnsafeDestroyRangeRequest { context: None, start_key: range.start, end_key: range.end };
        self.inner.store.unsafe_destroy_range(request).await?;
        Ok(())
    }

    /// Whether the store is in this process.
    pub fn is_embedded(&self) -> bool {
        self.inner.store.is_embedded()
    }

    /// From now on no transaction commits above `bound` (the end of a lease), until the bound is moved.
    pub fn set_commit_bound(&self, bound: TimeStamp) {
        self.inner.commit_bound.store(bound.0, Ordering::Release);
    }

    /// From now on no transaction that began at or below `floor` commits: it may have been planned by something that is not so any more.
    pub fn set_commit_floor(&self, floor: TimeStamp) {
        self.inner.commit_floor.fetch_max(floor.0, Ordering::AcqRel);
    }

    pub(crate) fn commit_bound(&self) -> TimeStamp {
        TimeStamp(self.inner.commit_bound.load(Ordering::Acquire))
    }

    pub(crate) fn commit_floor(&self) -> TimeStamp {
        TimeStamp(self.inner.commit_floor.load(Ordering::Acquire))
    }

    /// Time, randomness and tasks.
    pub fn env(&self) -> &Env {
        &self.inner.env
    }

    /// Limits and times.
    pub fn options(&self) -> &ClientOptions {
        &self.inner.options
    }

    /// The placement driver.
    pub fn pd(&self) -> &PlacementDriver {
        &self.inner.pd
    }

    /// The way to the store.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    pub(crate) fn register(&self, ts: TimeStamp) -> ActiveGuard {
        self.inner.active.register(ts)
    }

    /// Whether the caller is the one to resolve the locks of a transaction in the background.
    pub(crate) fn begin_resolving(&self, start_ts: u64) -> bool {
        self.inner.resolving.lock().insert(start_ts)
    }

    pub(crate) fn end_resolving(&self, start_ts: u64) {
        self.inner.resolving.lock().remove(&start_ts);
    }

    pub(crate) fn active(&self) -> &ActiveSet {
        &self.inner.active
    }
}

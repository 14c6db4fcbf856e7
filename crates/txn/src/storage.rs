//! One store: the engine, and everything about transactions that lives in memory.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
};

use base::{KeyRange, TimeStamp};
use engine::{Cf, Engine, SpaceUse, WriteBatch, WriteQueue};
use env::Env;
use mvcc::{LockPolicy, MvccReader, TxnStatus};

use crate::{
    deadlock::WaitEdge,
    error::{Error, Result},
    garbage::GarbageCounters,
    in_flight::InFlightCommits,
    latch::Latches,
    lock_wait::LockWaitQueues,
    max_ts::MaxTs,
    pessimistic_locks::PessimisticLocks,
    recent::RecentRecords,
    record_floor::TxnRecordFloor,
    safe_point::SafePoints,
    store_wide::{SAFE_POINT_KEY, StoreWide},
};

/// Ranges up to this size are compacted when they were overwritten often: of larger ones only a small part can lie in write buffers and
/// young files.
const SETTLED_RANGE_BYTES: u64 = 512 << 20;
/// A store up to this size is compacted as a whole for the garbage in it when its disk is short of space.
const SWEPT_STORE_BYTES: u64 = 1 << 30;

/// What a store needs to know when it is opened.
pub struct StorageOptions {
    /// Time, randomness, tasks.
    pub env: Env,
    /// A timestamp above everything handed out before; from the placement driver.
    pub max_ts: TimeStamp,
    /// The safe point of the engine's compaction filter ([`engine::GcFilter::safe_point`]).
    pub filter_safe_point: Arc<AtomicU64>,
    /// How long a lock request waits that does not say so itself, in milliseconds.
    pub default_lock_wait_ms: u64,
    /// What it shares with other storages of the process; `None` when it is the only one.
    pub store_wide: Option<StoreWide>,
}

impl StorageOptions {
    /// Options for a store whose engine has no filter, or the given one.
    pub fn new(env: Env, max_ts: TimeStamp, filter_safe_point: Arc<AtomicU64>) -> Self {
        Self { env, max_ts, filter_safe_point, default_lock_wait_ms: 1000, store_wide: None }
    }
}

/// A store of transactional data; cheap to clone.
pub struct Storage<E: Engine> {
    pub(crate) inner: Arc<Inner<E>>,
}

impl<E: Engine> Clone for Storage<E> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<E: Engine> std::fmt::Debug for Storage<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Storage").field("max_ts", &self.inner.max_ts).field("safe_points", &self.inner.safe_points).finish_non_exhaustive()
    }
}

pub(crate) struct Inner<E: Engine> {
    pub(crate) engine: E,
    /// What makes writes durable: the engine's commit queue, or the Raft log of a region.
    pub(crate) writes: Arc<dyn WriteQueue>,
    pub(crate) env: Env,
    pub(crate) default_lock_wait_ms: u64,
    pub(crate) latches: Latches,
    pub(crate) max_ts: MaxTs,
    pub(crate) in_flight: InFlightCommits,
    pub(crate) pessimistic: PessimisticLocks,
    /// No more locks are taken; see [`Storage::store_locks`].
    pub(crate) sealed: AtomicBool,
    pub(crate) recent: RecentRecords,
    pub(crate) waits: LockWaitQueues,
    /// Locks in the engine; see [`Inner::no_stored_locks`].
    stored_locks: AtomicI64,
    pub(crate) safe_points: Arc<SafePoints>,
    pub(crate) record_floor: TxnRecordFloor,
    pub(crate) garbage: GarbageCounters,
    /// When the whole store may be compacted again for want of space, in milliseconds of wall time.
    next_sweep_ms: AtomicU64,
}

impl<E: Engine> Inner<E> {
    /// Whether no lock is in the engine. The count is raised before locks are written and lowered after their removal was applied, so
    /// who reads zero and then the data misses only locks that came after the read had begun.
    #[inline]
    pub(crate) fn no_stored_locks(&self) -> bool {
        self.stored_locks.load(Ordering::SeqCst) == 0
    }

    pub(crate) fn add_stored_locks(&self, delta: i64) {
        let before = self.stored_locks.fetch_add(delta, Ordering::SeqCst);
        assert!(before + delta >= 0, "number of stored locks went below zero: {before} {delta:+}");
    }

    /// Rule 2: asked before and after every read.
    #[inline]
    pub(crate) fn check_readable(&self, ts: TimeStamp) -> Result<()> {
        Ok(mvcc::guards::readable_at(ts, self.safe_points.readable_floor())?)
    }
}

impl<E: Engine> Storage<E> {
    /// Opens a store over an engine, and over what makes its writes durable. Waits for the disk: called once, at start-up.
    pub fn open(engine: E, writes: impl WriteQueue, options: StorageOptions) -> Result<Self> {
        // Under regions records are replaced by what other stores propose, too.
        let recent = if options.store_wide.is_none() { RecentRecords::new() } else { RecentRecords::off() };
        let store_wide = match options.store_wide {
            Some(shared) => shared,
            None => StoreWide::open(&engine, options.filter_safe_point)?,
        };
        // Nobody below it lives on: readers of the future are above, transactions of the past are dead or resolved by their locks.
        let stored_locks = MvccReader::new(&engine).scan_locks(b"", b"", usize::MAX, |_| true)?.len();
        let inner = Inner {
            writes: Arc::new(writes),
            env: options.env,
            default_lock_wait_ms: options.default_lock_wait_ms,
            latches: Latches::new(),
            max_ts: MaxTs::new(options.max_ts),
            in_flight: InFlightCommits::default(),
            pessimistic: PessimisticLocks::default(),
            sealed: AtomicBool::new(false),
            recent,
            waits: store_wide.waits,
            stored_locks: AtomicI64::new(stored_locks as i64),
            safe_points: store_wide.safe_points,
            record_floor: TxnRecordFloor::new(options.max_ts),
            garbage: GarbageCounters::default(),
            next_sweep_ms: AtomicU64::new(0),
            engine,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The engine under the store.
    pub fn engine(&self) -> &E {
        &self.inner.engine
    }

    /// The oldest timestamp that can be read.
    pub fn safe_point(&self) -> TimeStamp {
        self.inner.safe_points.readable_floor()
    }

    /// The greatest timestamp read at.
    pub fn max_ts(&self) -> TimeStamp {
        self.inner.max_ts.get()
    }

    /// Takes over the pessimistic locks on `keys` of a storage that was here before, because the borders of its range have changed. Whatever it
    /// has proposed has been applied or refused: a transaction that has left a trace in the engine since does not need its lock. Called before
    /// the first request; waits for the disk. Answers how many were taken over.
    ///
    /// Nobody else may have written these keys since the other storage was opened, or a lock would hide a conflict.
    pub fn inherit_locks(&self, from: &Self, keys: impl Fn(&[u8]) -> bool) -> Result<usize> {
        let mut taken = 0;
        for (key, lock) in from.inner.pessimistic.list(|key, _| keys(key)) {
            if matches!(MvccReader::new(&self.inner.engine).txn_status(&key, lock.start_ts)?, TxnStatus::Unknown) {
                taken += usize::from(self.inner.pessimistic.put(key, lock));
            }
        }
        Ok(taken)
    }

    /// Transactions that wait for locks, for the table of lock waits.
    pub fn lock_waits(&self) -> Vec<WaitEdge> {
        self.inner.waits.edges()
    }

    /// Pessimistic locks in memory and locks in the engine.
    pub fn lock_counts(&self) -> (usize, usize) {
        let stored = self.inner.stored_locks.load(Ordering::SeqCst);
        (self.inner.pessimistic.len(), usize::try_from(stored).unwrap_or(0))
    }

    /// About how many bytes the current versions of a range take on disk.
    pub fn approximate_size(&self, range: &KeyRange) -> Result<u64> {
        let (start, end) = engine_bounds(range);
        Ok(self.inner.engine.approximate_size(Cf::Data, &start, &end)?)
    }

    /// Refuses writes of transactions that began at or before `safe_point` from now on. When this returns, none that was let through
    /// before is still at work, so all their locks can be found.
    pub async fn raise_write_floor(&self, safe_point: TimeStamp) {
        self.inner.safe_points.raise_write_floor(safe_point);
        // Commands look at the floor while they hold their latches.
        self.inner.latches.wait_for_running().await;
    }

    /// Publishes a safe point: reads below it are refused, and compaction may collect what nobody at or above it can see.
    ///
    /// [`Storage::raise_write_floor`] was called before, and all locks at or below `safe_point` have been resolved; if one is left, nothing
    /// is published and the answer is [`Error::KeyIsLocked`].
    pub async fn publish_safe_point(&self, safe_point: TimeStamp) -> Result<()> {
        let inner = self.inner.clone();
        let check = move || inner.check_no_locks_up_to(safe_point);
        self.inner.env.run_blocking(check).await.unwrap_or(Err(Error::Stopped))?;
        let mut batch = WriteBatch::new();
        batch.put(Cf::Meta, SAFE_POINT_KEY, &safe_point.0.max(self.safe_point().0).to_be_bytes());
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let on_done = move |result| {
            // The receiver may have been dropped with its task.
            let _ = sender.send(result);
        };
        self.inner.writes.submit(batch, SpaceUse::Essential, Box::new(on_done));
        receiver.await.map_err(|_| Error::Stopped)??;
        self.inner.safe_points.publish(safe_point);
        Ok(())
    }

    /// Compacts ranges in which much garbage can be collected, and ranges whose rows were overwritten many times by writers that rest now;
    /// answers how many. Called once in a while: whether writers rest is seen from one call to the next. Where space is short, a store
    /// that is not large is compacted as a whole: the garbage of a few rows may be what is missing, and counters do not survive a restart.
    pub async fn compact_garbage(&self) -> Result<usize> {
        let collectable = self.inner.garbage.take_collectable(self.safe_point());
        let settled = self.inner.garbage.take_settled();
        let mut count = 0;
        count += usize::from(self.sweep_when_short_of_space().await?);
        for (prefix, records) in collectable {
            tracing::info!(prefix = %prefix.escape_ascii(), records, "compacting a range with much garbage");
            count += usize::from(self.compact(&prefix, &[Cf::History, Cf::Data, Cf::Txn], u64::MAX).await?);
        }
        for (prefix, records) in settled {
            tracing::info!(prefix = %prefix.escape_ascii(), records, "compacting a range that was overwritten often");
            count += usize::from(self.compact(&prefix, &[Cf::Data], SETTLED_RANGE_BYTES).await?);
        }
        Ok(count)
    }

    /// Compacts everything where it may be what frees the space that is missing, at most a third of the time; answers whether it did.
    async fn sweep_when_short_of_space(&self) -> Result<bool> {
        let (engine, env) = (&self.inner.engine, &self.inner.env);
        let began_ms = env.wall_ms();
        let due = began_ms >= self.inner.next_sweep_ms.load(Ordering::Relaxed);
        if !due || !engine.is_short_of_space() || engine.disk_stats().live_bytes > SWEPT_STORE_BYTES {
            return Ok(false);
        }
        let swept = self.compact(b"", &[Cf::History, Cf::Data, Cf::Txn], u64::MAX).await;
        let ended_ms = env.wall_ms();
        self.inner.next_sweep_ms.store(ended_ms + 2 * ended_ms.saturating_sub(began_ms), Ordering::Relaxed);
        swept
    }

    /// Compacts a range of some column families unless its current versions take more than `limit_bytes`; answers whether it did.
    async fn compact(&self, prefix: &[u8], families: &'static [Cf], limit_bytes: u64) -> Result<bool> {
        let engine = self.inner.engine.clone();
        let (start, end) = engine_bounds(&KeyRange::prefix(prefix));
        let job = move || {
            if engine.approximate_size(Cf::Data, &start, &end)? > limit_bytes {
                return Ok(false);
            }
            families.iter().try_for_each(|cf| engine.compact_range(*cf, Some(&start), Some(&end)))?;
            Ok(true)
        };
        Ok(self.inner.env.run_blocking(job).await.unwrap_or(Err(engine::Error::ShutDown))?)
    }
}

impl<E: Engine> Inner<E> {
    /// Rule 1, just before a safe point is published.
    fn check_no_locks_up_to(&self, safe_point: TimeStamp) -> Result<()> {
        let mut locks = self.pessimistic.list(|_, lock| lock.start_ts <= safe_point);
        if !self.no_stored_locks() {
            locks.extend(MvccReader::new(&self.engine).scan_locks(b"", b"", 1, |lock| lock.start_ts <= safe_point)?);
        }
        Ok(mvcc::guards::safe_point_is_free_of_locks(safe_point, locks.iter().map(|(key, lock)| (key, lock)))?)
    }
}

/// The engine keys a range of user keys lies between.
pub(crate) fn engine_bounds(range: &KeyRange) -> (Vec<u8>, Vec<u8>) {
    let end = if range.end.is_empty() { vec![codec::engine_key::DATA_PREFIX + 1] } else { mvcc::encode_key(&range.end) };
    (mvcc::encode_key(&range.start), end)
}

/// What a request's context says about locks.
pub(crate) fn lock_policy(context: Option<&proto::kvrpcpb::Context>, no_stored_locks: bool) -> LockPolicy {
    let Some(context) = context else { return LockPolicy { ignore_locks: no_stored_locks, ..LockPolicy::default() } };
    let timestamps = |list: &[u64]| list.iter().map(|ts| TimeStamp(*ts)).collect();
    LockPolicy {
        bypass: timestamps(&context.resolved_locks),
        access: timestamps(&context.committed_locks),
        ignore_locks: no_stored_locks || context.isolation_level == proto::kvrpcpb::IsolationLevel::Rc as i32,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use base::TimeStamp;
    use bytes::Bytes;
    use engine::{CommitOptions, CommitQueue, MemEngine, ReadTier};
    use proto::kvrpcpb::{CommitRequest, Context, DiskFullOpt, GetRequest, Mutation, Op, PrewriteRequest, ScanRequest};

    use super::*;

    /// A store over an empty engine in memory.
    pub(crate) fn in_memory() -> Storage<MemEngine> {
        let engine = MemEngine::new();
        let queue = CommitQueue::start(engine.clone(), CommitOptions::default()).unwrap();
        Storage::open(engine, queue, StorageOptions::new(Env::production(), TimeStamp(1), Arc::default())).unwrap()
    }

    async fn commit(storage: &Storage<MemEngine>, key: &'static str, start_ts: u64) -> u64 {
        let key = Bytes::from_static(key.as_bytes());
        let mutation = Mutation { key: key.clone(), value: Bytes::from_static(b"v"), ..Default::default() };
        let request = PrewriteRequest {
            mutations: vec![mutation],
            primary_lock: key,
            start_version: start_ts,
            try_one_pc: true,
            ..Default::default()
        };
        storage.prewrite(&request).await.unwrap().one_pc_commit_ts
    }

    /// A store on a disk of which `quarters` times a quarter of what is available is needed.
    fn on_a_full_disk(directory: &tempfile::TempDir, quarters: u64) -> Storage<MemEngine> {
        let probe = engine::DiskGuardOptions { reserve_bytes: 0, needed_bytes: 1 };
        let available = engine::DiskGuard::open(directory.path(), Some(probe)).unwrap().available_bytes();
        let scarce = engine::DiskGuardOptions { reserve_bytes: 0, needed_bytes: available / 4 * quarters };
        let guard = Arc::new(engine::DiskGuard::open(directory.path(), Some(scarce)).unwrap());
        let engine = MemEngine::new();
        let queue = CommitQueue::start(engine.clone(), CommitOptions { disk_guard: Some(guard), ..CommitOptions::default() }).unwrap();
        Storage::open(engine, queue, StorageOptions::new(Env::production(), TimeStamp(1), Arc::default())).unwrap()
    }

    async fn prewrite_as(storage: &Storage<MemEngine>, op: Op, key: &'static str, start_version: u64, opt: DiskFullOpt) -> Result<()> {
        let key = Bytes::from_static(key.as_bytes());
        let value = if op == Op::Put { Bytes::from_static(b"v") } else { Bytes::new() };
        let mutations = vec![Mutation { op: op as i32, key: key.clone(), value, ..Default::default() }];
        let context = Some(Box::new(Context { disk_full_opt: opt as i32, ..Default::default() }));
        storage.prewrite(&PrewriteRequest { context, mutations, primary_lock: key, start_version, ..Default::default() }).await.map(|_| ())
    }

    /// On a nearly full disk what writes values is refused; deletions, and what ends transactions or lets garbage be collected, go on.
    #[tokio::test]
    async fn a_nearly_full_disk_lets_through_what_frees_space() {
        let directory = tempfile::tempdir().unwrap();
        let storage = on_a_full_disk(&directory, 5);
        let refused = |answer| matches!(answer, Err(Error::Engine(engine::Error::DiskFull { .. })));
        assert!(refused(prewrite_as(&storage, Op::Put, "a", 10, DiskFullOpt::NotAllowedOnFull).await));
        assert_eq!(storage.lock_counts(), (0, 0), "what was refused left nothing behind");
        prewrite_as(&storage, Op::Del, "a", 10, DiskFullOpt::NotAllowedOnFull).await.unwrap();
        prewrite_as(&storage, Op::Put, "b", 20, DiskFullOpt::AllowedOnAlmostFull).await.unwrap();
        assert_eq!(storage.lock_counts(), (0, 2));
        let commit = |start_version, key: &'static str| {
            let keys = vec![Bytes::from_static(key.as_bytes())];
            storage.commit(CommitRequest { start_version, keys, commit_version: start_version + 5, ..Default::default() })
        };
        assert!(commit(10, "a").await.unwrap().error.is_none() && commit(20, "b").await.unwrap().error.is_none());
        storage.raise_write_floor(TimeStamp(30)).await;
        storage.publish_safe_point(TimeStamp(30)).await.unwrap();
        assert_eq!(storage.lock_counts(), (0, 0));
    }

    /// On a disk that is fuller still deletions are refused too: their markers would take what compactions need. A step of DROP is not.
    #[tokio::test]
    async fn a_full_disk_lets_through_what_gives_whole_tables_back() {
        let directory = tempfile::tempdir().unwrap();
        let storage = on_a_full_disk(&directory, 40);
        let refused = |answer| matches!(answer, Err(Error::Engine(engine::Error::DiskFull { .. })));
        assert!(refused(prewrite_as(&storage, Op::Del, "a", 10, DiskFullOpt::NotAllowedOnFull).await));
        assert!(refused(prewrite_as(&storage, Op::Put, "b", 20, DiskFullOpt::AllowedOnAlmostFull).await));
        prewrite_as(&storage, Op::Put, "c", 30, DiskFullOpt::AllowedOnAlreadyFull).await.unwrap();
        assert_eq!(storage.lock_counts(), (0, 1));
    }

    /// Rule 2, the second look: a read that ends below a safe point published meanwhile is refused, whatever it has found.
    #[tokio::test]
    async fn rule_2_a_read_is_checked_again_when_it_ends() {
        let storage = in_memory();
        commit(&storage, "a", 5).await;
        let policy = LockPolicy::ignoring_locks();
        assert!(storage.inner.read_key(b"a", TimeStamp(10), &policy, ReadTier::Any).unwrap().is_some());
        storage.raise_write_floor(TimeStamp(20)).await;
        storage.publish_safe_point(TimeStamp(20)).await.unwrap();
        let too_late = storage.inner.read_key(b"a", TimeStamp(10), &policy, ReadTier::Any);
        assert!(matches!(too_late, Err(mvcc::Error::BelowSafePoint { .. })));
    }

    /// Rule 8: a reader waits for a commit in flight that it must see, and for no other.
    #[tokio::test]
    async fn rule_8_readers_wait_for_commits_in_flight() {
        let storage = in_memory();
        let mut publication = storage.inner.in_flight.begin(TimeStamp(5));
        let min_commit_ts = publication.show(Bytes::from_static(b"a"), TimeStamp(50), &storage.inner.max_ts);
        assert_eq!(min_commit_ts, TimeStamp(50));
        let get = async |storage: Storage<MemEngine>, version| {
            storage.get(GetRequest { key: Bytes::from_static(b"a"), version, ..Default::default() }).await.unwrap()
        };
        let scan = async |storage: Storage<MemEngine>, version| {
            storage.scan(ScanRequest { version, limit: 9, ..Default::default() }).await.unwrap()
        };
        assert!(get(storage.clone(), 49).await.not_found);
        assert!(get(storage.clone(), u64::MAX).await.not_found);
        assert!(scan(storage.clone(), 49).await.pairs.is_empty());
        let (first, second) = (storage.clone(), storage.clone());
        let waiting = [tokio::spawn(async move { drop(get(first, 50).await) }), tokio::spawn(async move { drop(scan(second, 60).await) })];
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(waiting.iter().all(|task| !task.is_finished()), "a reader passed by a commit it must see");
        drop(publication);
        for task in waiting {
            task.await.unwrap();
        }
    }

    /// The count that lets readers skip the locks follows what is stored, also over a restart.
    #[tokio::test]
    async fn stored_locks_are_counted() {
        let storage = in_memory();
        let lock = |key: &'static str, start_ts: u64| PrewriteRequest {
            mutations: vec![Mutation { key: Bytes::from_static(key.as_bytes()), ..Default::default() }],
            primary_lock: Bytes::from_static(key.as_bytes()),
            start_version: start_ts,
            lock_ttl: 1000,
            ..Default::default()
        };
        storage.prewrite(&lock("a", 5)).await.unwrap();
        storage.prewrite(&lock("a", 5)).await.unwrap();
        storage.prewrite(&lock("b", 6)).await.unwrap();
        assert_eq!(storage.lock_counts(), (0, 2));
        let engine = storage.engine().clone();
        let queue = CommitQueue::start(engine.clone(), CommitOptions::default()).unwrap();
        let reopened = Storage::open(engine, queue, StorageOptions::new(Env::production(), TimeStamp(9), Arc::default())).unwrap();
        assert_eq!(reopened.lock_counts(), (0, 2));
    }

    /// A command whose caller goes away after it has submitted its write is completed all the same.
    #[tokio::test]
    async fn a_write_is_completed_when_its_caller_has_gone() {
        let storage = in_memory();
        for round in 0..50 {
            let task = tokio::spawn({
                let storage = storage.clone();
                async move { commit(&storage, "a", 10 + round * 10).await }
            });
            for _ in 0..round % 3 {
                tokio::task::yield_now().await;
            }
            task.abort();
            let _ = task.await;
        }
        // Nothing is held by those who have gone.
        assert!(commit(&storage, "a", 10_000).await > 0);
        storage.inner.latches.wait_for_running().await;
        assert!(storage.inner.in_flight.blocking_key(b"a", TimeStamp(u64::MAX - 1)).is_none());
    }
}

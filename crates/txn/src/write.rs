//! How a command writes: latches, the step, the commit queue, and what happens in memory once the write is applied.
//!
//! ```text
//!   caller's task                                     commit thread
//!   latches → read (cache only; else read pool)
//!   → floors, lock count up → submit ───────────────▶ one write and sync for all that wait
//!                                                      locks in memory, lock count down
//!                                                      waiters of released keys get their turn
//!                                                      commits in flight withdrawn, latches released
//!   answer ◀────────────────────────────────────────── told
//! ```
//!
//! Invariants:
//! - Effects in memory are made in the order above, all of them while the latches are held.
//! - A write that failed makes none of them; what was announced for it (lock count, publication) is taken back.
//! - The caller may go away after submitting: the write is completed by the commit thread alone.

use std::sync::Arc;

use base::TimeStamp;
use bytes::Bytes;
use engine::{Cf, Engine, ReadTier, SpaceUse, WriteOp};
use mvcc::{KnownEmpty, MemoryLocks, MvccReader, MvccTxn, TxnRecord};
use smallvec::SmallVec;

use crate::{
    error::{Error, Result},
    garbage,
    in_flight::Publication,
    latch::LatchGuard,
    recent::Places,
    storage::{Inner, Storage},
};

/// A command that reads and writes keys under latches.
pub(crate) trait Command: Clone + Send + Sync + 'static {
    /// What the caller is told once the write is applied.
    type Answer: Send + 'static;

    /// The user keys to latch.
    fn keys(&self) -> impl Iterator<Item = &[u8]>;

    /// The transaction's start, where it has one: records older than it need not be looked for. `None` looks for all.
    fn start_ts(&self) -> Option<TimeStamp>;

    /// Reads, and collects what is to be written. May be run again from the beginning where it may wait for the disk.
    fn process<E: Engine>(&self, context: &mut ProcessContext<'_, E>) -> Result<Self::Answer>;

    /// What the write does to the space on disk: decides whether it is let through when the disk is nearly full. Those that end a
    /// transaction are essential, for garbage cannot be collected before its locks are gone.
    fn space(&self) -> SpaceUse {
        SpaceUse::Grows
    }
}

/// What a step works with.
pub(crate) struct ProcessContext<'a, E: Engine> {
    pub inner: &'a Inner<E>,
    pub reader: MvccReader<'a, E>,
    pub txn: MvccTxn,
    /// Keys shown to readers while their commit is under way.
    pub publication: Option<Publication>,
}

/// What a step came to.
struct Processed<A> {
    answer: A,
    txn: MvccTxn,
    publication: Option<Publication>,
}

impl<E: Engine> MemoryLocks for Inner<E> {
    fn pessimistic_lock(&self, key: &[u8]) -> Option<mvcc::Lock> {
        self.pessimistic.pessimistic_lock(key)
    }

    fn known_record(&self, key: &[u8]) -> Option<Option<Bytes>> {
        self.pessimistic.known_record(key).or_else(|| self.recent.known(key).map(Some))
    }
}

impl<E: Engine> Inner<E> {
    fn process<C: Command>(&self, command: &C, tier: ReadTier) -> Result<Processed<C::Answer>> {
        let floor_passed =
            command.start_ts().is_some_and(|start_ts| command.keys().all(|key| !self.record_floor.may_concern(key, start_ts)));
        let known_empty = KnownEmpty { lock: self.no_stored_locks(), txn: floor_passed };
        let reader = MvccReader::new(&self.engine).with_tier(tier).with_memory_locks(self).with_known_empty(known_empty);
        let mut context = ProcessContext { inner: self, reader, txn: MvccTxn::new(), publication: None };
        let answer = command.process(&mut context)?;
        let ProcessContext { txn, publication, .. } = context;
        Ok(Processed { answer, txn, publication })
    }
}

impl<E: Engine> Storage<E> {
    /// Runs a command from its latches to its applied write.
    pub(crate) async fn execute<C: Command>(&self, command: &C) -> Result<C::Answer> {
        let latches = self.inner.latches.acquire(command.keys()).await;
        let processed = match self.inner.process(command, ReadTier::CacheOnly) {
            Err(error) if error.is_would_block() => {
                let (inner, command) = (self.inner.clone(), command.clone());
                let job = move || inner.process(&command, ReadTier::Any);
                self.inner.env.run_blocking(job).await.unwrap_or(Err(Error::Stopped))?
            }
            processed => processed?,
        };
        self.write(command, processed, latches).await
    }

    async fn write<C: Command>(&self, command: &C, processed: Processed<C::Answer>, latches: LatchGuard) -> Result<C::Answer> {
        let Processed { answer, mut txn, publication } = processed;
        let garbage = GarbageByPrefix::of(command, &txn);
        let batch = std::mem::take(&mut txn.batch);
        let places = if batch.is_empty() { Places::new() } else { self.inner.recent.places(command.keys()) };
        if txn.garbage.txn_records > 0 {
            self.raise_record_floor(&batch)?;
        }
        let completion = Completion { inner: self.inner.clone(), txn, publication, garbage, places, latches };
        if batch.is_empty() {
            completion.complete();
            return Ok(answer);
        }
        let added = completion.txn.stored_locks_delta.max(0);
        if added > 0 {
            self.inner.add_stored_locks(added);
        }
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let on_done = move |result: engine::Result<()>| {
            match &result {
                Ok(()) => completion.complete(),
                Err(_) => completion.abandon(added),
            }
            // The caller may have gone away.
            let _ = sender.send(result);
        };
        self.inner.writes.submit(batch, command.space(), Box::new(on_done));
        receiver.await.map_err(|_| Error::Stopped)??;
        Ok(answer)
    }

    /// Transaction records about to be written must be found by those who began before them.
    fn raise_record_floor(&self, batch: &engine::WriteBatch) -> Result<()> {
        for op in batch.iter() {
            let WriteOp::Put { cf: Cf::Txn, key, value } = op else { continue };
            let damaged = |_| Error::InvalidRequest("a transaction record without a timestamp");
            let (engine_key, start_ts) = codec::engine_key::split_ts_desc(key).map_err(damaged)?;
            let user_key = codec::engine_key::decode_engine_key(engine_key).map_err(damaged)?;
            let ts = match TxnRecord::decode(key, value)? {
                TxnRecord::RolledBack { .. } => TimeStamp(start_ts),
                TxnRecord::LockOnly { commit_ts } | TxnRecord::NewestLockOnly { commit_ts, .. } => commit_ts,
            };
            self.inner.record_floor.raise(&user_key, ts);
        }
        Ok(())
    }
}

/// What is left to do when the write is through.
struct Completion<E: Engine> {
    inner: Arc<Inner<E>>,
    /// Without its batch.
    txn: MvccTxn,
    publication: Option<Publication>,
    garbage: GarbageByPrefix,
    /// Of records that are no longer current.
    places: Places,
    latches: LatchGuard,
}

/// How many records that will be garbage a command makes, by prefix of its keys. A command's keys stand in few tables, so equal prefixes
/// are joined only where they follow each other.
#[derive(Default)]
struct GarbageByPrefix {
    /// Prefix, its length, keys.
    runs: SmallVec<[([u8; garbage::PREFIX_LEN], usize, u64); 2]>,
    records_per_key: u64,
}

impl GarbageByPrefix {
    fn of<C: Command>(command: &C, txn: &MvccTxn) -> Self {
        let records = txn.garbage.superseded + txn.garbage.deletions + txn.garbage.txn_records;
        let mut by_prefix = Self::default();
        if records == 0 {
            return by_prefix;
        }
        let mut keys = 0;
        for key in command.keys() {
            keys += 1;
            let prefix = garbage::prefix_of(key);
            match by_prefix.runs.last_mut() {
                Some((last, len, count)) if last[..*len] == *prefix => *count += 1,
                _ => {
                    let mut padded = [0; garbage::PREFIX_LEN];
                    padded[..prefix.len()].copy_from_slice(prefix);
                    by_prefix.runs.push((padded, prefix.len(), 1));
                }
            }
        }
        // Rounded up: the counters are a hint, and a command that makes any garbage shall not count as making none.
        by_prefix.records_per_key = records.div_ceil(keys.max(1));
        by_prefix
    }

    fn count<E: Engine>(&self, inner: &Inner<E>) {
        if !self.runs.is_empty() {
            let now = TimeStamp::compose(inner.env.wall_ms(), 0);
            for (prefix, len, keys) in &self.runs {
                inner.garbage.add(&prefix[..*len], now, keys * self.records_per_key);
            }
        }
    }
}

impl<E: Engine> Completion<E> {
    /// The write is applied.
    fn complete(self) {
        let Self { inner, txn, publication, garbage, places, latches } = self;
        inner.recent.forget(&places);
        for (key, lock) in txn.memory_locks {
            inner.pessimistic.put(key, lock);
        }
        for released in &txn.released {
            if released.in_memory {
                inner.pessimistic.remove(&released.key, released.start_ts);
            }
        }
        if txn.stored_locks_delta < 0 {
            inner.add_stored_locks(txn.stored_locks_delta);
        }
        // Readers may look at the engine now.
        drop(publication);
        garbage.count(&inner);
        for released in txn.released.iter().filter(|released| !released.still_locked) {
            inner.waits.wake(&released.key);
        }
        drop(latches);
    }

    /// The write failed: nothing has changed.
    fn abandon(self, added_locks: i64) {
        if added_locks > 0 {
            self.inner.add_stored_locks(-added_locks);
        }
    }
}

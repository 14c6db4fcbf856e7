//! A transaction: its writes in memory, its pessimistic locks in the store, and how it ends.
//!
//! ```text
//!   begin ──▶ active ──commit──▶ ended          reads: own writes, then the snapshot at start_ts
//!               │  ▲                            locks: taken statement by statement (pessimistic mode)
//!               │  └ lock_keys, set, delete, stage/release/revert
//!               └────rollback / drop──▶ ended   (locks are released in the background when dropped)
//! ```
//!
//! Invariants:
//! - `for_update_ts` ≥ `start_ts`, and never goes backwards.
//! - Every key in `locked` holds a pessimistic lock of this transaction, unless the store was told to take it away.
//! - After commit or rollback every call but `rollback` answers [`Error::TransactionEnded`] or does nothing.

use std::collections::VecDeque;

use base::{KeyRange, TimeStamp};
use bytes::Bytes;
use env::Instant;
use proto::kvrpcpb::{
    Assertion, Mutation, Op, PessimisticLockKeyResultType, PessimisticLockRequest, PessimisticLockResponse, PessimisticLockWakeUpMode,
    PessimisticRollbackRequest,
};
use rustc_hash::FxHashSet;

use crate::{
    active::ActiveGuard,
    client::Client,
    committer::Committer,
    error::{Error, Result},
    membuffer::{MemBuffer, Stage},
    options::{
        CommitOptions, CommitOutcome, Isolation, LocalValue, LockOutcome, LockRequest, LockWait, ScanOptions, SnapshotOptions, TxnOptions,
        WriteFlags,
    },
    scanner::TxnScanner,
    snapshot::{Snapshot, take_turns},
};

/// Keys of one lock request: a larger statement takes its locks in several.
const LOCK_BATCH_KEYS: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    Ended,
}

/// One call of [`Transaction::lock_keys`].
struct LockCall<'a> {
    keys: &'a [Bytes],
    request: &'a LockRequest,
    /// Indexes of keys that must not exist.
    must_not_exist: FxHashSet<usize>,
    wait_until: Option<Instant>,
}

/// A transaction; owned by one session.
#[derive(Debug)]
pub struct Transaction {
    client: Client,
    options: TxnOptions,
    /// Zero until known.
    start_ts: TimeStamp,
    for_update_ts: TimeStamp,
    buffer: MemBuffer,
    locked: FxHashSet<Bytes>,
    /// The key whose lock decides the transaction's fate; the first one locked, or chosen at commit.
    primary: Option<Bytes>,
    active: Option<ActiveGuard>,
    state: State,
}

impl Transaction {
    pub(crate) fn new(client: Client, options: TxnOptions) -> Self {
        let mut txn = Self {
            client,
            start_ts: TimeStamp::ZERO,
            for_update_ts: TimeStamp::ZERO,
            buffer: MemBuffer::default(),
            locked: FxHashSet::default(),
            primary: None,
            active: None,
            state: State::Active,
            options,
        };
        if let Some(ts) = txn.options.start_ts {
            txn.set_start_ts(ts);
        }
        txn
    }

    fn set_start_ts(&mut self, ts: TimeStamp) {
        self.active = Some(self.client.register(ts));
        self.start_ts = ts;
        self.for_update_ts = ts;
    }

    /// The client it goes through.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// How it was begun.
    pub fn options(&self) -> &TxnOptions {
        &self.options
    }

    /// Sets [`TxnOptions::on_nearly_full_disk`].
    pub fn allow_on_nearly_full_disk(&mut self) {
        self.options.on_nearly_full_disk = true;
    }

    /// Isolation level.
    pub fn isolation(&self) -> Isolation {
        self.options.isolation
    }

    /// Whether statements lock what they are about to write.
    pub fn is_pessimistic(&self) -> bool {
        self.options.pessimistic
    }

    /// The start timestamp; [`TimeStamp::ZERO`] before it is known (see [`Transaction::ensure_start_ts`]).
    pub fn start_ts(&self) -> TimeStamp {
        self.start_ts
    }

    /// Fetches the start timestamp if it is not known yet.
    pub async fn ensure_start_ts(&mut self) -> Result<TimeStamp> {
        if self.start_ts.is_zero() {
            let ts = self.client.timestamp().await?;
            self.set_start_ts(ts);
        }
        Ok(self.start_ts)
    }

    /// The timestamp that locking statements read at; equals `start_ts` until refreshed.
    pub fn for_update_ts(&self) -> TimeStamp {
        self.for_update_ts
    }

    /// Takes a new `for_update_ts`: at the start of a locking statement, and after a [`Error::WriteConflict`].
    pub async fn refresh_for_update_ts(&mut self) -> Result<TimeStamp> {
        self.ensure_start_ts().await?;
        let ts = self.client.timestamp().await?;
        self.for_update_ts = self.for_update_ts.max(ts);
        Ok(self.for_update_ts)
    }

    /// The database at `start_ts`, without the transaction's own writes. `start_ts` must be known.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_at(self.start_ts)
    }

    /// The database at another timestamp, for a statement of a READ COMMITTED transaction or a locking read.
    pub fn snapshot_at(&self, ts: TimeStamp) -> Snapshot {
        assert!(!ts.is_zero(), "the timestamp must be fetched before it is read at");
        self.client.snapshot(ts, SnapshotOptions::default())
    }

    /// Buffers a write of `value` under `key`.
    pub fn set(&mut self, key: Bytes, value: Bytes, flags: WriteFlags) -> Result<()> {
        self.check_size(key.len() + value.len())?;
        self.buffer.write(key, Some(value), flags);
        Ok(())
    }

    /// Buffers a deletion.
    pub fn delete(&mut self, key: Bytes) {
        self.delete_with(key, WriteFlags::default());
    }

    /// Buffers a deletion with flags ([`WriteFlags::INDEX_ENTRY`] for a key that needs no lock of its own).
    pub fn delete_with(&mut self, key: Bytes, flags: WriteFlags) {
        assert!(self.state == State::Active, "transaction {} has ended", self.start_ts);
        self.buffer.write(key, None, flags);
    }

    fn check_size(&self, entry: usize) -> Result<()> {
        if self.state == State::Ended {
            return Err(Error::TransactionEnded { start_ts: self.start_ts });
        }
        let limits = self.client.options();
        let limit = limits.entry_size_limit.0 as usize;
        if entry > limit {
            return Err(Error::EntryTooLarge { size: entry, limit });
        }
        let size = self.buffer.size_bytes() + entry;
        match limits.total_size_limit.0 as usize {
            limit if limit > 0 && size > limit => Err(Error::TxnTooLarge { size, limit }),
            _ => Ok(()),
        }
    }

    /// What the transaction itself wrote under `key`.
    pub fn get_local(&self, key: &[u8]) -> Option<LocalValue<'_>> {
        self.buffer.get(key)
    }

    /// What the transaction itself wrote into `range`, in key order.
    pub fn local_range(&self, range: &KeyRange) -> impl DoubleEndedIterator<Item = (&Bytes, LocalValue<'_>)> + use<'_> {
        self.buffer.range(range)
    }

    /// Whether the transaction wrote into `range`.
    pub fn is_dirty(&self, range: &KeyRange) -> bool {
        self.buffer.len() > 0 && self.buffer.range(range).next().is_some()
    }

    /// The value of `key` as the transaction sees it: its own write, else the version at `start_ts`.
    pub async fn get(&mut self, key: &[u8]) -> Result<Option<Bytes>> {
        let ts = self.ensure_start_ts().await?;
        self.get_at(key, ts).await
    }

    /// The value of `key`: the transaction's own write, else the version at `ts`.
    pub async fn get_at(&self, key: &[u8], ts: TimeStamp) -> Result<Option<Bytes>> {
        if let Some(local) = self.buffer.get(key) {
            return Ok(local.value().cloned());
        }
        self.snapshot_at(ts).get(key).await
    }

    /// Scans `range` at `start_ts` (which must be known) with the transaction's writes, as they are now, merged in.
    pub fn scan(&self, range: KeyRange, options: ScanOptions) -> TxnScanner {
        self.scan_over(self.snapshot(), range, options)
    }

    /// Scans `range` in a snapshot with the transaction's writes, as they are now, merged in.
    pub fn scan_over(&self, snapshot: Snapshot, range: KeyRange, options: ScanOptions) -> TxnScanner {
        let local = self.buffer.range(&range).map(|(key, value)| (key.clone(), value.value().cloned()));
        let local: VecDeque<_> = if options.reverse { local.rev().collect() } else { local.collect() };
        TxnScanner::new(snapshot, range, options, local)
    }

    /// Marks a point to which writes can be taken back: the start of a statement, a savepoint.
    pub fn stage(&mut self) -> Stage {
        self.buffer.stage()
    }

    /// Keeps what was written since `stage`, and forgets the mark.
    pub fn release(&mut self, stage: Stage) {
        self.buffer.release(stage);
    }

    /// Takes back what was written since `stage`, and forgets the mark and those after it. Locks stay, as in InnoDB.
    pub fn revert(&mut self, stage: Stage) {
        self.buffer.revert(stage);
    }

    /// Whether the transaction holds a pessimistic lock on `key`.
    pub fn is_locked(&self, key: &[u8]) -> bool {
        self.locked.contains(key)
    }

    /// Sum of the lengths of written keys and values.
    pub fn size_bytes(&self) -> usize {
        self.buffer.size_bytes()
    }

    /// Number of written keys.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.buffer.len() == 0
    }

    /// Whether nothing was written: committing it needs no timestamp.
    pub fn is_read_only(&self) -> bool {
        self.is_empty()
    }

    /// Whether it was committed or rolled back.
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Takes pessimistic locks on `keys` at `for_update_ts`. Either all of a call's keys are locked (but for skipped ones), or,
    /// with an error, those of earlier internal batches at most; locks taken before the call stay in any case.
    pub async fn lock_keys(&mut self, keys: &[Bytes], request: LockRequest) -> Result<LockOutcome> {
        if self.state == State::Ended {
            return Err(Error::TransactionEnded { start_ts: self.start_ts });
        }
        take_turns().await;
        self.ensure_start_ts().await?;
        let wait_until = match request.wait {
            LockWait::Timeout(duration) => Some(self.client.env().now() + duration),
            LockWait::NoWait | LockWait::SkipLocked => None,
        };
        let mut outcome = LockOutcome::default();
        if request.return_values {
            outcome.values = vec![None; keys.len()];
        }
        let must_not_exist = request.check_not_exists.iter().copied().collect::<FxHashSet<usize>>();
        // A key already locked is asked for again only if something about it is to be learnt.
        let must_ask = |index: &usize| request.return_values || must_not_exist.contains(index) || !self.locked.contains(&keys[*index]);
        let wanted = (0..keys.len()).filter(must_ask).collect::<Vec<usize>>();
        let mut wanted = &wanted[..];
        let call = LockCall { keys, request: &request, must_not_exist, wait_until };
        while !wanted.is_empty() {
            // Every lock names its primary, so the first lock must be the primary's: where it is not certain that a key will be locked, keys
            // are tried one by one until one is.
            let one_by_one = request.wait == LockWait::SkipLocked || (request.only_if_exists && self.locked.is_empty());
            let (indexes, rest) = wanted.split_at(if one_by_one { 1 } else { wanted.len().min(LOCK_BATCH_KEYS) });
            wanted = rest;
            match self.lock_batch(&call, indexes, &mut outcome).await {
                Err(Error::LockNotAvailable { .. }) if request.wait == LockWait::SkipLocked => outcome.skipped.extend_from_slice(indexes),
                result => result?,
            }
        }
        if let Some(ts) = outcome.conflict_ts {
            self.for_update_ts = self.for_update_ts.max(ts);
        }
        Ok(outcome)
    }

    /// Locks the keys at `indexes` of the call by one request.
    async fn lock_batch(&mut self, call: &LockCall<'_>, indexes: &[usize], outcome: &mut LockOutcome) -> Result<()> {
        let LockCall { keys, request, must_not_exist, wait_until } = call;
        let primary = self.primary.get_or_insert_with(|| keys[indexes[0]].clone()).clone();
        if self.locked.is_empty()
            && let Some(active) = &self.active
        {
            active.set_primary(primary.clone());
        }
        let mutations = indexes.iter().map(|&index| Mutation {
            op: Op::PessimisticLock as i32,
            key: keys[index].clone(),
            value: Bytes::new(),
            assertion: if must_not_exist.contains(&index) { Assertion::NotExist } else { Assertion::None } as i32,
        });
        let wake_up = match request.lock_newest {
            true => PessimisticLockWakeUpMode::WakeUpModeForceLock,
            false => PessimisticLockWakeUpMode::WakeUpModeNormal,
        };
        let wire = PessimisticLockRequest {
            mutations: mutations.collect(),
            primary_lock: primary,
            start_version: self.start_ts.0,
            lock_ttl: self.lock_ttl_ms(),
            for_update_ts: self.for_update_ts.0,
            is_first_lock: self.locked.is_empty(),
            return_values: request.return_values,
            check_existence: request.only_if_exists,
            lock_only_if_exists: request.only_if_exists,
            wake_up_mode: wake_up as i32,
            ..Default::default()
        };
        let result = match self.client.lock(wire, request, *wait_until).await {
            Ok(response) => self.absorb(call, indexes, response, outcome),
            Err(error) => {
                if !self.client.is_embedded() {
                    // Some regions may have given their locks.
                    let keys: Vec<Bytes> =
                        indexes.iter().map(|&index| &keys[index]).filter(|key| !self.locked.contains(*key)).cloned().collect();
                    let release = LockRelease { client: self.client.clone(), start_ts: self.start_ts, keys };
                    self.client.env().spawn(release.run());
                }
                Err(error)
            }
        };
        if self.locked.is_empty() {
            // The primary was not locked: the next lock chooses another one.
            self.primary = None;
        }
        result
    }

    /// Notes the locks and values of a successful answer.
    fn absorb(
        &mut self,
        call: &LockCall<'_>,
        indexes: &[usize],
        response: PessimisticLockResponse,
        outcome: &mut LockOutcome,
    ) -> Result<()> {
        let LockCall { keys, request, .. } = call;
        let wrong = || Error::Corrupted { reason: "the store answered another number of keys than were to be locked".to_owned() };
        let PessimisticLockResponse { values, not_founds, results, .. } = response;
        let forced = request.lock_newest;
        if (forced && results.len() != indexes.len())
            || (!forced && request.return_values && (values.len() != indexes.len() || not_founds.len() != indexes.len()))
        {
            return Err(wrong());
        }
        for (position, &index) in indexes.iter().enumerate() {
            let (value, exists) = if forced {
                let result = &results[position];
                if result.r#type == PessimisticLockKeyResultType::LockResultLockedWithConflict as i32 {
                    let ts = TimeStamp(result.locked_with_conflict_ts);
                    outcome.conflict_ts = Some(outcome.conflict_ts.map_or(ts, |known| known.max(ts)));
                }
                (result.value.clone(), result.existence)
            } else {
                let exists = !not_founds.get(position).copied().unwrap_or(false);
                (values.get(position).cloned().unwrap_or_default(), exists)
            };
            if request.return_values {
                outcome.values[index] = Some(exists.then_some(value));
            }
            if exists || !request.only_if_exists {
                self.locked.insert(keys[index].clone());
            }
        }
        Ok(())
    }

    fn lock_ttl_ms(&self) -> u64 {
        // The time to live counts from start_ts, so a transaction that has lived long must ask for more.
        let age = self.client.env().wall_ms().saturating_sub(self.start_ts.physical_ms());
        age + self.client.options().lock_ttl.as_millis() as u64
    }

    /// Commits. On [`Error::Undetermined`] it is not known whether the transaction was committed; on any other error it was not.
    pub async fn commit(&mut self) -> Result<CommitOutcome> {
        self.commit_with(CommitOptions::default()).await
    }

    /// Commits as [`Transaction::commit`] does, with a limit of one's own for waiting behind the locks of others.
    pub async fn commit_with(&mut self, options: CommitOptions) -> Result<CommitOutcome> {
        if self.state == State::Ended {
            return Err(Error::TransactionEnded { start_ts: self.start_ts });
        }
        if self.buffer.len() == 0 {
            self.rollback().await;
            return Ok(CommitOutcome { commit_ts: TimeStamp::ZERO });
        }
        self.ensure_start_ts().await?;
        self.state = State::Ended;
        let buffer = std::mem::take(&mut self.buffer);
        let locked = std::mem::take(&mut self.locked);
        let active = self.active.take();
        let committer = Committer {
            client: self.client.clone(),
            start_ts: self.start_ts,
            for_update_ts: self.for_update_ts,
            pessimistic: self.options.pessimistic,
            force_two_phase: self.options.force_two_phase,
            prefer_async_commit: self.options.prefer_async_commit,
            above_bound: self.options.above_bound,
            on_nearly_full_disk: self.options.on_nearly_full_disk,
            lock_ttl_ms: self.lock_ttl_ms(),
            primary: self.primary.take(),
            active,
            options,
        };
        let commit_ts = committer.commit(buffer, locked).await?;
        Ok(CommitOutcome { commit_ts })
    }

    /// Rolls back: forgets the writes, releases the locks. Does nothing if the transaction has ended.
    pub async fn rollback(&mut self) {
        self.state = State::Ended;
        self.buffer.clear();
        if let Some(release) = self.take_locks() {
            release.run().await;
        }
        self.active = None;
    }

    fn take_locks(&mut self) -> Option<LockRelease> {
        if self.locked.is_empty() {
            return None;
        }
        let keys = std::mem::take(&mut self.locked).into_iter().collect();
        Some(LockRelease { client: self.client.clone(), start_ts: self.start_ts, keys })
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(release) = self.take_locks() {
            self.client.env().spawn(release.run());
        }
    }
}

/// Gives pessimistic locks back.
pub(crate) struct LockRelease {
    pub client: Client,
    pub start_ts: TimeStamp,
    pub keys: Vec<Bytes>,
}

impl LockRelease {
    pub(crate) async fn run(self) {
        let request = PessimisticRollbackRequest {
            context: None,
            start_version: self.start_ts.0,
            // Whatever they were locked at.
            for_update_ts: u64::MAX,
            keys: self.keys,
        };
        if let Err(error) = self.client.store().pessimistic_rollback(request).await {
            // Nobody can be told; the locks go when their time to live is over.
            tracing::warn!(start_ts = %self.start_ts, %error, "could not release pessimistic locks");
        }
    }
}

//! Reading one key: what a transaction sees, and what the steps need to know before they write.
//!
//! ```text
//! lock ──► data ──► history        without a snapshot of the engine
//! ```
//!
//! That order is right for one key although nothing is frozen. A commit removes the lock, puts the new version in place and the old one
//! aside in one batch. Whoever finds no lock either reads the version of a commit that was already applied, or finds in `data` one that
//! is too new for it, and then what it needs is already in `history`.
//!
//! The reader keeps one buffer for engine keys; a read of the current version allocates nothing else.

use std::ops::Deref;

use base::TimeStamp;
use bytes::Bytes;
use codec::engine_key::{append_ts_desc, decode_engine_key, encode_engine_key, split_ts_desc};
use engine::{Cf, EngineIter, EngineRead, IterOptions, ReadTier};

use crate::{
    CommitKind, DataRecord, Error, HistoryRecord, Lock, LockPolicy, LockVerdict, Result, TxnRecord, TxnStatus, VersionKind, guards,
    record::{BEFORE_HEADER_LEN, RECORD_HEADER_LEN, corrupted},
};

/// Pessimistic locks that live in the memory of the caller.
pub trait MemoryLocks: Sync {
    /// The lock on a user key.
    fn pessimistic_lock(&self, key: &[u8]) -> Option<Lock>;

    /// The record in `data` of a user key (`Some(None)`: there is none), where the caller remembers it and knows that nobody has replaced it
    /// since, or can while the step runs. Saves a lookup.
    fn known_record(&self, _key: &[u8]) -> Option<Option<Bytes>> {
        None
    }
}

/// A record, in the engine or remembered by the caller.
#[derive(Debug)]
pub enum RecordBytes<V> {
    /// Where the engine holds it.
    Stored(V),
    /// What the caller read before.
    Known(Bytes),
}

impl<V: Deref<Target = [u8]>> Deref for RecordBytes<V> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Stored(record) => record,
            Self::Known(record) => record,
        }
    }
}

/// For callers that keep no locks in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMemoryLocks;

impl MemoryLocks for NoMemoryLocks {
    fn pessimistic_lock(&self, _key: &[u8]) -> Option<Lock> {
        None
    }
}

/// A lock and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedLock {
    /// The lock.
    pub lock: Lock,
    /// Whether it lies in the caller's memory rather than in the engine.
    pub in_memory: bool,
}

/// A commit of some transaction on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The transaction.
    pub start_ts: TimeStamp,
    /// When it committed.
    pub commit_ts: TimeStamp,
    /// What it did to the key.
    pub kind: CommitKind,
}

/// The record in `data`, taken apart.
pub struct CurrentVersion<V> {
    record: V,
    /// When it committed.
    pub commit_ts: TimeStamp,
    /// The transaction that wrote it.
    pub start_ts: TimeStamp,
    /// Put or deleted.
    pub kind: VersionKind,
    /// The commit of the version in the mark of its deletion.
    before: Option<Commit>,
}

impl<V: Deref<Target = [u8]>> CurrentVersion<V> {
    /// The whole record.
    pub fn record(&self) -> &[u8] {
        &self.record
    }

    /// The value; empty when deleted.
    pub fn value(&self) -> &[u8] {
        match self.kind {
            VersionKind::Put => &self.record[RECORD_HEADER_LEN..],
            VersionKind::Delete => &[],
        }
    }

    /// The commit that made it.
    pub fn commit(&self) -> Commit {
        Commit { start_ts: self.start_ts, commit_ts: self.commit_ts, kind: self.kind.into() }
    }
}

/// What a step has to know about a key beside its lock.
pub(crate) struct KeyState<V> {
    /// The record in `data`.
    pub(crate) current: Option<CurrentVersion<V>>,
    /// The newest commit: the current version, or a transaction that only locked the key later (rule 4).
    pub(crate) newest: Option<Commit>,
}

impl<V: Deref<Target = [u8]>> KeyState<V> {
    /// The current version, if the key exists.
    pub(crate) fn existing(&self) -> Option<&CurrentVersion<V>> {
        self.current.as_ref().filter(|current| current.kind == VersionKind::Put)
    }
}

/// A value a transaction sees.
#[derive(Debug)]
pub enum VersionValue<V> {
    /// The current version: behind the header of its record, where the engine holds it.
    Current(V),
    /// The version before, in the mark of its deletion.
    Before(V),
    /// An older version: behind the header of its record.
    History(V),
    /// From the lock of a transaction known to be committed.
    Lock(Bytes),
}

impl<V: Deref<Target = [u8]>> Deref for VersionValue<V> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Current(record) | Self::History(record) => &record[RECORD_HEADER_LEN..],
            Self::Before(record) => &record[BEFORE_HEADER_LEN..],
            Self::Lock(value) => value,
        }
    }
}

/// Column families the caller knows to hold nothing for the keys it asks about, because it counts what it writes. Saves the lookups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownEmpty {
    /// No lock is stored.
    pub lock: bool,
    /// No transaction record is stored.
    pub txn: bool,
}

/// Reads single keys of an engine or of a snapshot. All keys it takes and gives are user keys.
pub struct MvccReader<'r, R: EngineRead> {
    source: &'r R,
    memory_locks: Option<&'r dyn MemoryLocks>,
    tier: ReadTier,
    known_empty: KnownEmpty,
    /// The engine key of the user key in work.
    key: Vec<u8>,
}

impl<'r, R: EngineRead> MvccReader<'r, R> {
    /// A reader that may wait for the disk.
    pub fn new(source: &'r R) -> Self {
        Self { source, memory_locks: None, tier: ReadTier::Any, known_empty: KnownEmpty::default(), key: Vec::new() }
    }

    /// How far reads may go for a block.
    pub fn with_tier(mut self, tier: ReadTier) -> Self {
        self.tier = tier;
        self
    }

    /// Lets the steps see pessimistic locks that are not in the engine. Reads of values never care for pessimistic locks.
    pub fn with_memory_locks(mut self, locks: &'r dyn MemoryLocks) -> Self {
        self.memory_locks = Some(locks);
        self
    }

    /// Skips lookups that cannot find anything.
    pub fn with_known_empty(mut self, known_empty: KnownEmpty) -> Self {
        self.known_empty = known_empty;
        self
    }

    #[inline]
    fn set_key(&mut self, user_key: &[u8]) {
        self.key.clear();
        encode_engine_key(user_key, &mut self.key);
    }

    /// The value of `key` a transaction at `ts` sees; [`TimeStamp::MAX`] reads the newest.
    pub fn get(&mut self, key: &[u8], ts: TimeStamp, policy: &LockPolicy) -> Result<Option<VersionValue<R::Value<'r>>>> {
        self.set_key(key);
        if !policy.ignore_locks
            && let Some(lock) = self.stored_lock()?
        {
            match policy.judge(key, &lock, ts) {
                LockVerdict::Pass => {}
                LockVerdict::Access => return Ok((lock.kind == crate::LockKind::Put).then_some(VersionValue::Lock(lock.value))),
                LockVerdict::Blocked => return Err(Error::KeyIsLocked { key: Bytes::copy_from_slice(key), lock: Box::new(lock) }),
            }
        }
        let Some(record) = self.source.get(Cf::Data, &self.key, self.tier)? else { return Ok(None) };
        let current = DataRecord::decode(&self.key, &record)?;
        if current.commit_ts <= ts {
            let is_put = current.kind == VersionKind::Put;
            return Ok(is_put.then_some(VersionValue::Current(record)));
        }
        if current.before.is_some_and(|before| before.commit_ts <= ts) {
            return Ok(Some(VersionValue::Before(record)));
        }
        self.history_version(ts)
    }

    /// The newest committed value of `key`.
    pub fn get_newest(&mut self, key: &[u8], policy: &LockPolicy) -> Result<Option<VersionValue<R::Value<'r>>>> {
        self.get(key, TimeStamp::MAX, policy)
    }

    /// The version in `history` of the key in work that is visible at `ts`. The cursor only finds it: its value is read again by its exact
    /// key, so that it can be given out pinned. A row that was collected in between was not visible at any readable timestamp.
    fn history_version(&mut self, ts: TimeStamp) -> Result<Option<VersionValue<R::Value<'r>>>> {
        let mut rows = self.history_rows(ts)?;
        let Some(row) = rows.row()? else { return Ok(None) };
        if !guards::history_row_is_visible(row.commit_ts, row.record.superseded_ts, ts) || row.record.kind == VersionKind::Delete {
            return Ok(None);
        }
        Ok(self.source.get(Cf::History, rows.cursor.key(), self.tier)?.map(VersionValue::History))
    }

    /// The rows in `history` of the key in work with commit_ts ≤ `ts`, newest first.
    fn history_rows(&self, ts: TimeStamp) -> Result<HistoryRows<R::Iter>> {
        let mut from = self.key.clone();
        let engine_key_len = from.len();
        append_ts_desc(&mut from, ts.0);
        // The successor of the oldest row there can be.
        let mut upper = self.key.clone();
        append_ts_desc(&mut upper, 0);
        upper.push(0);
        let options = IterOptions { lower: None, upper: Some(upper), tier: self.tier, skip_cache: false };
        let mut cursor = self.source.iter(Cf::History, options)?;
        cursor.seek(&from);
        Ok(HistoryRows { cursor, engine_key_len })
    }

    /// The lock in the engine on the key in work.
    #[inline]
    fn stored_lock(&self) -> Result<Option<Lock>> {
        if self.known_empty.lock {
            return Ok(None);
        }
        match self.source.get(Cf::Lock, &self.key, self.tier)? {
            Some(bytes) => Lock::decode(&self.key, &bytes).map(Some),
            None => Ok(None),
        }
    }

    /// The lock on a key, in memory or in the engine.
    pub fn load_lock(&mut self, key: &[u8]) -> Result<Option<LoadedLock>> {
        if let Some(lock) = self.memory_locks.and_then(|locks| locks.pessimistic_lock(key)) {
            return Ok(Some(LoadedLock { lock, in_memory: true }));
        }
        self.set_key(key);
        Ok(self.stored_lock()?.map(|lock| LoadedLock { lock, in_memory: false }))
    }

    /// The lock of one transaction on a key; a lock of somebody else is none.
    pub(crate) fn load_own_lock(&mut self, key: &[u8], start_ts: TimeStamp) -> Result<Option<LoadedLock>> {
        Ok(self.load_lock(key)?.filter(|loaded| loaded.lock.start_ts == start_ts))
    }

    /// The current version of a key, whatever its age, put or deleted.
    pub fn load_current(&mut self, key: &[u8]) -> Result<Option<CurrentVersion<RecordBytes<R::Value<'r>>>>> {
        self.set_key(key);
        let record = match self.memory_locks.and_then(|locks| locks.known_record(key)) {
            Some(known) => known.map(RecordBytes::Known),
            None => self.source.get(Cf::Data, &self.key, self.tier)?.map(RecordBytes::Stored),
        };
        let Some(record) = record else { return Ok(None) };
        let DataRecord { commit_ts, start_ts, kind, before, .. } = DataRecord::decode(&self.key, &record)?;
        let before = before.map(|before| Commit { start_ts: before.start_ts, commit_ts: before.commit_ts, kind: CommitKind::Put });
        Ok(Some(CurrentVersion { record, commit_ts, start_ts, kind, before }))
    }

    /// The current version of a key and its newest commit.
    pub(crate) fn load_state(&mut self, key: &[u8]) -> Result<KeyState<RecordBytes<R::Value<'r>>>> {
        let current = self.load_current(key)?;
        let written = current.as_ref().map(CurrentVersion::commit);
        let locked = match self.txn_record(key, TimeStamp::MAX)? {
            Some(TxnRecord::NewestLockOnly { commit_ts, start_ts }) => Some(Commit { start_ts, commit_ts, kind: CommitKind::Lock }),
            Some(_) => return Err(corrupted(Cf::Txn, key, "not the newest lock-only commit")),
            None => None,
        };
        let newest = written.into_iter().chain(locked).max_by_key(|commit| commit.commit_ts);
        Ok(KeyState { current, newest })
    }

    fn txn_record(&mut self, key: &[u8], start_ts: TimeStamp) -> Result<Option<TxnRecord>> {
        if self.known_empty.txn {
            return Ok(None);
        }
        self.set_key(key);
        append_ts_desc(&mut self.key, start_ts.0);
        match self.source.get(Cf::Txn, &self.key, self.tier)? {
            Some(bytes) => TxnRecord::decode(&self.key, &bytes).map(Some),
            None => Ok(None),
        }
    }

    /// What became of the transaction `start_ts` on a key (rule 7), asked in the order in which records move, so that none is missed:
    /// lock → data → history from the newest down to commit_ts ≤ start_ts → txn.
    pub fn txn_status(&mut self, key: &[u8], start_ts: TimeStamp) -> Result<TxnStatus> {
        if let Some(loaded) = self.load_own_lock(key, start_ts)? {
            return Ok(TxnStatus::Locked(loaded));
        }
        self.txn_status_without_lock(key, start_ts)
    }

    /// [`MvccReader::txn_status`] for a caller that has looked for the lock already, under a latch.
    pub(crate) fn txn_status_without_lock(&mut self, key: &[u8], start_ts: TimeStamp) -> Result<TxnStatus> {
        let current = self.load_current(key)?;
        self.txn_status_behind(key, start_ts, current.as_ref())
    }

    /// The end of [`MvccReader::txn_status`]: the lock was looked for, and `current` is what lies in `data`.
    pub(crate) fn txn_status_behind<V: Deref<Target = [u8]>>(
        &mut self,
        key: &[u8],
        start_ts: TimeStamp,
        current: Option<&CurrentVersion<V>>,
    ) -> Result<TxnStatus> {
        if let Some(current) = current {
            if current.start_ts == start_ts {
                return Ok(TxnStatus::Committed { commit_ts: current.commit_ts, kind: current.kind.into() });
            }
            if let Some(before) = current.before.filter(|before| before.start_ts == start_ts) {
                return Ok(TxnStatus::Committed { commit_ts: before.commit_ts, kind: before.kind });
            }
            // Every row of history is older than the current version: none can be a commit behind start_ts when that one is not.
            if current.commit_ts > start_ts
                && let Some(status) = self.committed_in_history(key, start_ts)?
            {
                return Ok(status);
            }
        }
        match self.txn_record(key, start_ts)? {
            Some(TxnRecord::RolledBack { protected }) => Ok(TxnStatus::RolledBack { protected }),
            Some(TxnRecord::LockOnly { commit_ts }) => Ok(TxnStatus::Committed { commit_ts, kind: CommitKind::Lock }),
            Some(TxnRecord::NewestLockOnly { .. }) => Err(corrupted(Cf::Txn, key, "a transaction with the maximal timestamp")),
            None => Ok(TxnStatus::Unknown),
        }
    }

    fn committed_in_history(&mut self, key: &[u8], start_ts: TimeStamp) -> Result<Option<TxnStatus>> {
        self.set_key(key);
        let mut rows = self.history_rows(TimeStamp::MAX)?;
        while let Some(row) = rows.row()? {
            if row.commit_ts <= start_ts {
                break;
            }
            if row.record.start_ts == start_ts {
                return Ok(Some(TxnStatus::Committed { commit_ts: row.commit_ts, kind: row.record.kind.into() }));
            }
            rows.cursor.next();
        }
        Ok(None)
    }

    /// Stored locks of `[start, end)` (an empty `end` is no bound) that `wanted` accepts, in key order, at most `limit`.
    pub fn scan_locks(&self, start: &[u8], end: &[u8], limit: usize, mut wanted: impl FnMut(&Lock) -> bool) -> Result<Vec<(Bytes, Lock)>> {
        let upper = if end.is_empty() { vec![codec::engine_key::DATA_PREFIX + 1] } else { crate::encode_key(end) };
        let options = IterOptions { lower: Some(crate::encode_key(start)), upper: Some(upper), tier: self.tier, skip_cache: false };
        let mut cursor = self.source.iter(Cf::Lock, options)?;
        cursor.seek_to_first();
        let mut found = Vec::new();
        while cursor.valid() && found.len() < limit {
            let lock = Lock::decode(cursor.key(), cursor.value())?;
            if wanted(&lock) {
                let key = decode_engine_key(cursor.key()).map_err(|_| corrupted(Cf::Lock, cursor.key(), "not an engine key"))?;
                found.push((key.into(), lock));
            }
            cursor.next();
        }
        cursor.status()?;
        Ok(found)
    }
}

struct HistoryRows<I> {
    cursor: I,
    engine_key_len: usize,
}

struct HistoryRow<'a> {
    commit_ts: TimeStamp,
    record: HistoryRecord<'a>,
}

impl<I: EngineIter> HistoryRows<I> {
    /// The row the cursor stands on, if it is still one of the key.
    fn row(&mut self) -> Result<Option<HistoryRow<'_>>> {
        if !self.cursor.valid() {
            self.cursor.status()?;
            return Ok(None);
        }
        let (engine_key, commit_ts) =
            split_ts_desc(self.cursor.key()).map_err(|_| corrupted(Cf::History, self.cursor.key(), "no timestamp"))?;
        // The bounds of the cursor hold exactly the rows of one key, because no memcomparable key is a prefix of another.
        debug_assert_eq!(engine_key.len(), self.engine_key_len);
        let record = HistoryRecord::decode(self.cursor.key(), self.cursor.value())?;
        Ok(Some(HistoryRow { commit_ts: commit_ts.into(), record }))
    }
}

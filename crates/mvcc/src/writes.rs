//! What steps want to have written: a batch for the engine, and what the caller must do to its locks in memory.
//!
//! All layout knowledge of writing is here: where a lock, a version, its predecessor and a transaction record go.

use base::TimeStamp;
use bytes::Bytes;
use codec::engine_key::{append_ts_desc, encode_engine_key};
use engine::{Cf, WriteBatch};

use crate::{
    Before, DataRecord, HistoryRecord, Lock, LockKind, Result, TxnRecord, VersionKind, guards,
    reader::{Commit, LoadedLock},
};

/// A lock that is gone once the batch is applied; those who wait for it may be woken then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleasedLock {
    /// The user key.
    pub key: Bytes,
    /// The transaction that held it.
    pub start_ts: TimeStamp,
    /// When it committed; zero when it was rolled back.
    pub commit_ts: TimeStamp,
    /// Whether it was a pessimistic lock.
    pub pessimistic: bool,
    /// Whether it lay in the caller's memory, which has to remove it there.
    pub in_memory: bool,
    /// Whether the transaction holds the key on, with a stored lock: only the one in memory goes, and nobody is woken.
    pub still_locked: bool,
}

/// Where a pessimistic lock is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPlace {
    /// In the caller's memory.
    Memory,
    /// In the engine.
    Stored,
}

/// Records a batch makes that will be garbage one day, for counters that trigger compaction of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Versions moved to history; those in the mark of their deletion are counted with it.
    pub superseded: u64,
    /// Deletion marks left in place.
    pub deletions: u64,
    /// Transaction records.
    pub txn_records: u64,
}

/// A one-phase commit that waits for its commit timestamp.
#[derive(Clone, Debug)]
pub(crate) struct OnePhaseWrite {
    pub(crate) key: Bytes,
    pub(crate) lock: Lock,
    pub(crate) replaced: Option<LoadedLock>,
    /// The record in `data` when the key was checked.
    pub(crate) current: Option<Vec<u8>>,
    pub(crate) newest: Option<Commit>,
}

/// The writes of one command, collected over its keys.
#[derive(Debug, Default)]
pub struct MvccTxn {
    /// For the engine.
    pub batch: WriteBatch,
    /// Locks that are gone once the batch is applied.
    pub released: Vec<ReleasedLock>,
    /// Pessimistic locks the caller has to put (or replace) in its memory.
    pub memory_locks: Vec<(Bytes, Lock)>,
    /// By how much the number of locks in the engine changes.
    pub stored_locks_delta: i64,
    /// What will be garbage one day.
    pub garbage: Garbage,
    pub(crate) one_phase: Vec<OnePhaseWrite>,
    key: Vec<u8>,
}

impl MvccTxn {
    /// Nothing to write yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether neither the engine nor the caller's memory has to change.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty() && self.released.is_empty() && self.memory_locks.is_empty() && self.one_phase.is_empty()
    }

    fn set_key(&mut self, user_key: &[u8]) {
        self.key.clear();
        encode_engine_key(user_key, &mut self.key);
    }

    /// Writes a lock in the place of `replaced`, the one this transaction has on the key already.
    pub fn put_lock(&mut self, key: &[u8], lock: &Lock, place: LockPlace, replaced: Option<&LoadedLock>) {
        let replaces_stored = replaced.is_some_and(|replaced| !replaced.in_memory);
        match place {
            LockPlace::Memory if !replaces_stored => self.memory_locks.push((Bytes::copy_from_slice(key), lock.clone())),
            _ => {
                self.set_key(key);
                self.batch.put(Cf::Lock, &self.key, &lock.encode());
                self.stored_locks_delta += i64::from(!replaces_stored);
                if let Some(replaced) = replaced.filter(|replaced| replaced.in_memory) {
                    self.note_released(key, replaced, TimeStamp::ZERO, true);
                }
            }
        }
    }

    /// Removes a lock; `commit_ts` is zero when it is not committed.
    pub fn remove_lock(&mut self, key: &[u8], loaded: &LoadedLock, commit_ts: TimeStamp) {
        if !loaded.in_memory {
            self.set_key(key);
            self.batch.delete(Cf::Lock, &self.key);
            self.stored_locks_delta -= 1;
        }
        self.note_released(key, loaded, commit_ts, false);
    }

    fn note_released(&mut self, key: &[u8], loaded: &LoadedLock, commit_ts: TimeStamp, still_locked: bool) {
        self.released.push(ReleasedLock {
            key: Bytes::copy_from_slice(key),
            start_ts: loaded.lock.start_ts,
            commit_ts,
            pessimistic: loaded.lock.kind == LockKind::Pessimistic,
            in_memory: loaded.in_memory,
            still_locked,
        });
    }

    /// Remembers that a transaction was rolled back on a key.
    pub fn put_rollback(&mut self, key: &[u8], start_ts: TimeStamp, protected: bool) {
        self.put_txn_record(key, start_ts, TxnRecord::RolledBack { protected });
    }

    fn put_txn_record(&mut self, key: &[u8], start_ts: TimeStamp, record: TxnRecord) {
        self.set_key(key);
        append_ts_desc(&mut self.key, start_ts.0);
        self.batch.put(Cf::Txn, &self.key, &record.encode());
        self.garbage.txn_records += 1;
    }

    /// Writes what `lock` becomes at `commit_ts`. `current` is the record in `data`, `newest` the newest commit of the key.
    ///
    /// The lock itself is not removed here: a one-phase commit has none.
    pub(crate) fn promote(
        &mut self,
        key: &[u8],
        lock: &Lock,
        commit_ts: TimeStamp,
        current: Option<&[u8]>,
        newest: Option<Commit>,
    ) -> Result<()> {
        if lock.kind == LockKind::Pessimistic || newest.is_some_and(|newest| newest.start_ts == lock.start_ts) {
            // Nothing was prewritten on this key; or it was applied before, and a replay must not move the version onto itself.
            return Ok(());
        }
        guards::commit_order_holds(key, commit_ts, newest.map_or(TimeStamp::ZERO, |newest| newest.commit_ts))?;
        let kind = match lock.kind {
            LockKind::Put => VersionKind::Put,
            LockKind::Delete => VersionKind::Delete,
            LockKind::Lock | LockKind::Pessimistic => {
                self.put_lock_only_commit(key, lock.start_ts, commit_ts);
                return Ok(());
            }
        };
        self.set_key(key);
        let current = current.map(|bytes| DataRecord::decode(&self.key, bytes)).transpose()?;
        let (value, before) = match (kind, current) {
            (VersionKind::Delete, Some(DataRecord { commit_ts, start_ts, kind: VersionKind::Put, value, .. })) => {
                (&[][..], Some(Before { commit_ts, start_ts, value }))
            }
            (_, current) => {
                current.into_iter().for_each(|current| self.move_to_history(&current, commit_ts));
                (if kind == VersionKind::Put { &lock.value[..] } else { &[] }, None)
            }
        };
        DataRecord { commit_ts, start_ts: lock.start_ts, kind, value, before }.put(&mut self.batch, &self.key);
        self.garbage.deletions += u64::from(kind == VersionKind::Delete);
        Ok(())
    }

    /// Puts the current version aside, and the one it holds; `self.key` is its engine key, before and after.
    fn move_to_history(&mut self, current: &DataRecord<'_>, superseded_ts: TimeStamp) {
        let DataRecord { commit_ts, start_ts, kind, value, before } = *current;
        self.put_history(commit_ts, &HistoryRecord { start_ts, superseded_ts, kind, value });
        if let Some(Before { commit_ts: before_commit_ts, start_ts, value }) = before {
            let record = HistoryRecord { start_ts, superseded_ts: commit_ts, kind: VersionKind::Put, value };
            self.put_history(before_commit_ts, &record);
        }
    }

    fn put_history(&mut self, commit_ts: TimeStamp, record: &HistoryRecord<'_>) {
        let engine_key_len = self.key.len();
        append_ts_desc(&mut self.key, commit_ts.0);
        self.batch.put_parts(Cf::History, &self.key, &[&record.header(), record.value]);
        self.key.truncate(engine_key_len);
        self.garbage.superseded += 1;
    }

    /// Rule 4: a commit that only locked leaves a trace, for its own fate and for conflict checks.
    fn put_lock_only_commit(&mut self, key: &[u8], start_ts: TimeStamp, commit_ts: TimeStamp) {
        self.put_txn_record(key, start_ts, TxnRecord::LockOnly { commit_ts });
        self.put_txn_record(key, TimeStamp::MAX, TxnRecord::NewestLockOnly { commit_ts, start_ts });
    }
}

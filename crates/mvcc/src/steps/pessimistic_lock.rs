//! Locking a key for a statement of a pessimistic transaction.
//!
//! The statement reads at `for_update_ts`; a commit behind it means that what the statement saw is not what is there, so it must be run
//! again with a newer timestamp (or, with `lock_with_conflict`, the key is locked nevertheless and its newest value returned).

use base::TimeStamp;
use bytes::Bytes;
use engine::EngineRead;

use crate::{
    Commit, CurrentVersion, Error, LoadedLock, Lock, LockKind, LockPlace, MvccReader, MvccTxn, RecordBytes, Result, TxnStatus,
    WriteConflictReason, guards, reader::KeyState, record::RECORD_HEADER_LEN,
};

/// What all keys of a request have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PessimisticLockProps {
    /// The transaction.
    pub start_ts: TimeStamp,
    /// Its primary.
    pub primary: Bytes,
    /// The timestamp the statement reads at.
    pub for_update_ts: TimeStamp,
    /// For how long the lock protects the transaction, in milliseconds.
    pub ttl_ms: u64,
    /// A min_commit_ts the client asks for; zero for none.
    pub min_commit_ts: TimeStamp,
    /// The safe point of garbage collection.
    pub safe_point: TimeStamp,
    /// Where the lock goes.
    pub place: LockPlace,
    /// Whether the value is wanted.
    pub return_value: bool,
    /// Locks the key only when it exists.
    pub lock_only_if_exists: bool,
    /// Locks the key even when it was committed behind for_update_ts.
    pub lock_with_conflict: bool,
    /// Answers the whole record too, for a caller that remembers it ([`MemoryLocks::known_record`](crate::MemoryLocks::known_record)).
    pub return_record: bool,
}

/// A key that was locked, or was not because it does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedKey {
    /// Whether the key exists.
    pub exists: bool,
    /// Its value, when it was asked for and exists.
    pub value: Option<Bytes>,
    /// With `lock_with_conflict`: the commit behind for_update_ts.
    pub conflict_ts: Option<TimeStamp>,
    /// Whether there is a lock now; false only with `lock_only_if_exists`.
    pub locked: bool,
    /// With `return_record`: the record in `data`, `Some(None)` when there is none.
    pub record: Option<Option<Bytes>>,
}

/// Locks one key; with `should_not_exist` the key must not exist.
pub fn pessimistic_lock<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    txn: &mut MvccTxn,
    props: &PessimisticLockProps,
    key: &[u8],
    should_not_exist: bool,
) -> Result<LockedKey> {
    guards::starts_above_safe_point(props.start_ts, props.safe_point)?;
    let own = own_lock(reader.load_lock(key)?, props, key)?;
    let state = reader.load_state(key)?;
    let mut conflict_ts = None;
    if own.is_none() {
        refuse_after_the_end(reader, props, key, &state)?;
        conflict_ts = check_conflict(props, key, state.newest)?;
    }
    let existing = state.existing();
    if should_not_exist && let Some(existing) = existing {
        return Err(already_exists(key, existing));
    }
    let record = props.return_record.then(|| state.current.as_ref().map(|current| Bytes::copy_from_slice(current.record())));
    let value_of = |existing: &CurrentVersion<RecordBytes<R::Value<'_>>>| match &record {
        // One copy serves both.
        Some(Some(record)) => record.slice(RECORD_HEADER_LEN..),
        _ => Bytes::copy_from_slice(existing.value()),
    };
    let value = existing.filter(|_| props.return_value || conflict_ts.is_some()).map(value_of);
    let exists = existing.is_some();
    let answer = |locked| LockedKey { exists, value, conflict_ts, locked, record };
    if !exists && props.lock_only_if_exists && own.is_none() {
        return Ok(answer(false));
    }
    put_lock(txn, props, key, own.as_ref(), conflict_ts);
    Ok(answer(true))
}

fn own_lock(loaded: Option<LoadedLock>, props: &PessimisticLockProps, key: &[u8]) -> Result<Option<LoadedLock>> {
    let Some(loaded) = loaded else { return Ok(None) };
    let key = Bytes::copy_from_slice(key);
    if loaded.lock.start_ts != props.start_ts {
        return Err(Error::KeyIsLocked { key, lock: Box::new(loaded.lock) });
    }
    if loaded.lock.kind != LockKind::Pessimistic {
        return Err(Error::LockKindMismatch { key, start_ts: props.start_ts, found: loaded.lock.kind });
    }
    Ok(Some(loaded))
}

/// A request that arrives after the transaction ended must not leave a lock behind.
fn refuse_after_the_end<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    props: &PessimisticLockProps,
    key: &[u8],
    state: &KeyState<RecordBytes<R::Value<'_>>>,
) -> Result<()> {
    let start_ts = props.start_ts;
    match reader.txn_status_behind(key, start_ts, state.current.as_ref())? {
        TxnStatus::Committed { commit_ts, .. } => Err(Error::Committed { key: Bytes::copy_from_slice(key), start_ts, commit_ts }),
        TxnStatus::RolledBack { .. } => Err(Error::PessimisticLockRolledBack { key: Bytes::copy_from_slice(key), start_ts }),
        TxnStatus::Locked(_) | TxnStatus::Unknown => Ok(()),
    }
}

fn check_conflict(props: &PessimisticLockProps, key: &[u8], newest: Option<Commit>) -> Result<Option<TimeStamp>> {
    let Some(newest) = newest.filter(|newest| newest.commit_ts > props.for_update_ts) else { return Ok(None) };
    if props.lock_with_conflict {
        return Ok(Some(newest.commit_ts));
    }
    Err(Error::WriteConflict {
        key: Bytes::copy_from_slice(key),
        primary: props.primary.clone(),
        start_ts: props.start_ts,
        conflict_start_ts: newest.start_ts,
        conflict_commit_ts: newest.commit_ts,
        reason: WriteConflictReason::PessimisticRetry,
    })
}

fn already_exists<V: std::ops::Deref<Target = [u8]>>(key: &[u8], existing: &CurrentVersion<V>) -> Error {
    let value = Bytes::copy_from_slice(existing.value());
    Error::AlreadyExists { key: Bytes::copy_from_slice(key), existing_start_ts: existing.start_ts, value }
}

fn put_lock(txn: &mut MvccTxn, props: &PessimisticLockProps, key: &[u8], own: Option<&LoadedLock>, conflict_ts: Option<TimeStamp>) {
    let for_update_ts = conflict_ts.unwrap_or(TimeStamp::ZERO).max(props.for_update_ts);
    let lock = Lock {
        kind: LockKind::Pessimistic,
        primary: props.primary.clone(),
        start_ts: props.start_ts,
        ttl_ms: own.map_or(0, |own| own.lock.ttl_ms).max(props.ttl_ms),
        for_update_ts: own.map_or(TimeStamp::ZERO, |own| own.lock.for_update_ts).max(for_update_ts),
        min_commit_ts: own.map_or(TimeStamp::ZERO, |own| own.lock.min_commit_ts).max(props.min_commit_ts),
        txn_size: 0,
        value: Bytes::new(),
        use_async_commit: false,
        secondaries: Vec::new(),
    };
    if own.is_none_or(|own| own.lock != lock) {
        let place = own.map_or(props.place, |own| if own.in_memory { LockPlace::Memory } else { LockPlace::Stored });
        txn.put_lock(key, &lock, place, own);
    }
}

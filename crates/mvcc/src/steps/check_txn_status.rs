//! Asking a primary what became of its transaction, by somebody who met one of its locks.
//!
//! | the primary's lock | answer | written |
//! |---|---|---|
//! | lives | uncommitted | min_commit_ts is pushed above the caller, who may then pass the lock by |
//! | commits asynchronously | uncommitted, with its secondaries: they have to be asked | nothing |
//! | outlived its time | rolled back | lock removed, protected rollback |
//! | pessimistic, outlived, met on its way | pessimistic lock rolled back | lock removed |
//! | gone | committed, rolled back, or unknown | a protected rollback when asked for |

use base::TimeStamp;
use bytes::Bytes;
use engine::EngineRead;

use super::rollback::rollback_lock;
use crate::{Error, Lock, LockKind, LockPlace, MvccReader, MvccTxn, Result, TxnStatus, reader::LoadedLock};

/// The question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckTxnStatus {
    /// The user key that is the transaction's primary.
    pub primary: Bytes,
    /// The transaction.
    pub start_ts: TimeStamp,
    /// The timestamp of the caller, which its reads want to get past the lock at; zero when it does not read.
    pub caller_start_ts: TimeStamp,
    /// Now, by the oracle.
    pub current_ts: TimeStamp,
    /// Rolls the transaction back when nothing is known about it.
    pub rollback_if_not_exist: bool,
    /// Treats an asynchronous commit as a common one: its secondaries showed that it fell back.
    pub force_sync_commit: bool,
    /// The lock that was met is pessimistic: the transaction may still be running its statements.
    pub resolving_pessimistic_lock: bool,
    /// Checks that the lock found names this key as its primary.
    pub verify_is_primary: bool,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckedTxnStatus {
    /// It is running.
    Uncommitted {
        /// The primary's lock, as it is after this.
        lock: Lock,
        /// Whether its min_commit_ts is above the caller.
        min_commit_ts_pushed: bool,
    },
    /// It is committed.
    Committed {
        /// When.
        commit_ts: TimeStamp,
    },
    /// It was rolled back before.
    RolledBack,
    /// It was rolled back now, because its lock outlived its time.
    TtlExpired,
    /// Its pessimistic lock on the primary was removed now; nothing is decided about the transaction.
    PessimisticLockExpired,
    /// Nothing was known; it is rolled back now.
    NotExistRolledBack,
    /// Nothing is known and nothing was done: the pessimistic lock that was met can simply be removed.
    NotExistDoNothing,
}

/// Asks the primary.
pub fn check_txn_status<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    txn: &mut MvccTxn,
    ask: &CheckTxnStatus,
) -> Result<CheckedTxnStatus> {
    match reader.txn_status(&ask.primary, ask.start_ts)? {
        TxnStatus::Locked(loaded) => check_lock(txn, ask, loaded),
        TxnStatus::Committed { commit_ts, .. } => Ok(CheckedTxnStatus::Committed { commit_ts }),
        TxnStatus::RolledBack { .. } => Ok(CheckedTxnStatus::RolledBack),
        TxnStatus::Unknown if !ask.rollback_if_not_exist => Err(Error::TxnNotFound { key: ask.primary.clone(), start_ts: ask.start_ts }),
        TxnStatus::Unknown if ask.resolving_pessimistic_lock => Ok(CheckedTxnStatus::NotExistDoNothing),
        TxnStatus::Unknown => {
            txn.put_rollback(&ask.primary, ask.start_ts, true);
            Ok(CheckedTxnStatus::NotExistRolledBack)
        }
    }
}

fn check_lock(txn: &mut MvccTxn, ask: &CheckTxnStatus, mut loaded: LoadedLock) -> Result<CheckedTxnStatus> {
    if ask.verify_is_primary && loaded.lock.primary != ask.primary {
        return Err(Error::PrimaryMismatch { key: ask.primary.clone(), lock: Box::new(loaded.lock) });
    }
    if loaded.lock.use_async_commit && !ask.force_sync_commit {
        return Ok(CheckedTxnStatus::Uncommitted { lock: loaded.lock, min_commit_ts_pushed: false });
    }
    if loaded.lock.is_expired(ask.current_ts) {
        if loaded.lock.kind == LockKind::Pessimistic && ask.resolving_pessimistic_lock {
            txn.remove_lock(&ask.primary, &loaded, TimeStamp::ZERO);
            return Ok(CheckedTxnStatus::PessimisticLockExpired);
        }
        rollback_lock(txn, &ask.primary, &loaded, true);
        return Ok(CheckedTxnStatus::TtlExpired);
    }
    let min_commit_ts_pushed = push_min_commit_ts(txn, ask, &mut loaded);
    Ok(CheckedTxnStatus::Uncommitted { lock: loaded.lock, min_commit_ts_pushed })
}

/// Lets the caller pass: the transaction will commit above it. A caller that reads the newest version needs no push.
fn push_min_commit_ts(txn: &mut MvccTxn, ask: &CheckTxnStatus, loaded: &mut LoadedLock) -> bool {
    let caller = ask.caller_start_ts;
    if caller.is_zero() || loaded.lock.use_async_commit {
        return false;
    }
    if !caller.is_max() && caller >= loaded.lock.min_commit_ts {
        let place = if loaded.in_memory { LockPlace::Memory } else { LockPlace::Stored };
        loaded.lock.min_commit_ts = caller.next().max(ask.current_ts);
        txn.put_lock(&ask.primary, &loaded.lock, place, Some(&*loaded));
    }
    true
}

//! What a request may come to other than an answer.
//!
//! An answer about a *key* (locked, conflict, exists, …) is part of the protocol and travels in the response as a [`KeyError`]. What is
//! here concerns the store as a whole: the request is refused, or the store has failed.

use base::TimeStamp;
use bytes::Bytes;
use mvcc::{Lock, LockKind, WriteConflictReason};
use proto::{
    deadlock::WaitForEntry,
    kvrpcpb::{
        AlreadyExist, AssertionFailed, CommitTsExpired, Deadlock, KeyError, LockInfo, Op, PrimaryMismatch, TxnLockNotFound, TxnNotFound,
        WriteConflict, write_conflict::Reason,
    },
};

use crate::deadlock::WaitEdge;

/// The result of a request.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the store.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The engine failed or refused.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// Records are damaged, or an invariant of the version layout was about to be broken.
    #[error(transparent)]
    Mvcc(mvcc::Error),
    /// The timestamp is older than what garbage collection has kept.
    #[error("timestamp {read_ts} is older than the GC safe point {safe_point}")]
    SnapshotTooOld {
        /// Timestamp of the read, or start of the transaction that wants to write.
        read_ts: TimeStamp,
        /// The safe point.
        safe_point: TimeStamp,
    },
    /// A scan met a lock.
    #[error("key {:02x?} is locked by {}", .0.key, .0.lock_version)]
    KeyIsLocked(Box<LockInfo>),
    /// A request does not make sense.
    #[error("invalid request: {0}")]
    InvalidRequest(&'static str),
    /// The store is going down.
    #[error("the store has stopped")]
    Stopped,
}

impl Error {
    /// Whether the read has to be repeated where it may wait for the disk.
    pub fn is_would_block(&self) -> bool {
        matches!(self, Self::Engine(engine::Error::WouldBlock))
    }

    /// Whether the result of a write that answered this is unknown: it may have reached the disk.
    pub fn is_undetermined(&self) -> bool {
        matches!(self, Self::Engine(engine::Error::Poisoned { .. }))
    }
}

impl From<mvcc::Error> for Error {
    fn from(error: mvcc::Error) -> Self {
        match error {
            mvcc::Error::Engine(error) => Self::Engine(error),
            mvcc::Error::BelowSafePoint { ts, safe_point } => Self::SnapshotTooOld { read_ts: ts, safe_point },
            mvcc::Error::KeyIsLocked { key, lock } => Self::KeyIsLocked(Box::new(lock_info(key, &lock))),
            error => Self::Mvcc(error),
        }
    }
}

/// A lock as it is told to clients.
pub(crate) fn lock_info(key: Bytes, lock: &Lock) -> LockInfo {
    let lock_type = match lock.kind {
        LockKind::Put => Op::Put,
        LockKind::Delete => Op::Del,
        LockKind::Lock => Op::Lock,
        LockKind::Pessimistic => Op::PessimisticLock,
    };
    LockInfo {
        primary_lock: lock.primary.clone(),
        lock_version: lock.start_ts.0,
        key,
        lock_ttl: lock.ttl_ms,
        txn_size: lock.txn_size,
        lock_type: lock_type as i32,
        lock_for_update_ts: lock.for_update_ts.0,
        use_async_commit: lock.use_async_commit,
        min_commit_ts: lock.min_commit_ts.0,
        secondaries: lock.secondaries.clone(),
    }
}

pub(crate) fn locked(key: Bytes, lock: &Lock) -> KeyError {
    KeyError { locked: Some(Box::new(lock_info(key, lock))), ..Default::default() }
}

pub(crate) fn deadlock(key: Bytes, holder: TimeStamp, chain: Vec<WaitEdge>) -> KeyError {
    let entry = |edge: WaitEdge| WaitForEntry { txn: edge.waiter.0, wait_for_txn: edge.holder.0, key: edge.key, ..Default::default() };
    let deadlock = Deadlock {
        lock_ts: holder.0,
        lock_key: key.clone(),
        deadlock_key: key,
        deadlock_key_hash: 0,
        wait_chain: chain.into_iter().map(entry).collect(),
    };
    KeyError { deadlock: Some(deadlock), ..Default::default() }
}

/// Sorts a step's error: what the protocol answers about a key, or an error of the store.
pub(crate) fn key_error(error: mvcc::Error) -> Result<KeyError> {
    let mut answer = KeyError::default();
    match error {
        mvcc::Error::KeyIsLocked { key, lock } => answer = locked(key, &lock),
        mvcc::Error::WriteConflict { key, primary, start_ts, conflict_start_ts, conflict_commit_ts, reason } => {
            let reason = match reason {
                WriteConflictReason::Optimistic => Reason::Optimistic,
                WriteConflictReason::PessimisticRetry => Reason::PessimisticRetry,
                WriteConflictReason::SelfRolledBack => Reason::SelfRolledBack,
                WriteConflictReason::LazyUniquenessCheck => Reason::LazyUniquenessCheck,
            };
            answer.conflict = Some(WriteConflict {
                start_ts: start_ts.0,
                conflict_ts: conflict_start_ts.0,
                key,
                primary,
                conflict_commit_ts: conflict_commit_ts.0,
                reason: reason as i32,
            });
        }
        mvcc::Error::AlreadyExists { key, .. } => answer.already_exist = Some(AlreadyExist { key }),
        mvcc::Error::CommitTsExpired { key, start_ts, commit_ts, min_commit_ts } => {
            answer.commit_ts_expired =
                Some(CommitTsExpired { start_ts: start_ts.0, attempted_commit_ts: commit_ts.0, key, min_commit_ts: min_commit_ts.0 });
        }
        mvcc::Error::TxnNotFound { key, start_ts } => {
            answer.txn_not_found = Some(TxnNotFound { start_ts: start_ts.0, primary_key: key });
        }
        mvcc::Error::PrimaryMismatch { key, lock } => {
            answer.primary_mismatch = Some(PrimaryMismatch { lock_info: Some(lock_info(key, &lock)) });
        }
        mvcc::Error::TxnLockNotFound { key, .. } | mvcc::Error::PessimisticLockNotFound { key, .. } => {
            answer.txn_lock_not_found = Some(TxnLockNotFound { key });
        }
        mvcc::Error::AssertionFailed { key, start_ts, assertion, existing_start_ts, existing_commit_ts } => {
            answer.assertion_failed = Some(AssertionFailed {
                start_ts: start_ts.0,
                key,
                assertion: match assertion {
                    mvcc::steps::Assertion::None => 0,
                    mvcc::steps::Assertion::Exist => 1,
                    mvcc::steps::Assertion::NotExist => 2,
                },
                existing_start_ts: existing_start_ts.0,
                existing_commit_ts: existing_commit_ts.0,
            });
        }
        mvcc::Error::PessimisticLockRolledBack { .. } | mvcc::Error::Committed { .. } | mvcc::Error::LockKindMismatch { .. } => {
            answer.abort = error.to_string();
        }
        mvcc::Error::Engine(_)
        | mvcc::Error::Corrupted { .. }
        | mvcc::Error::BelowSafePoint { .. }
        | mvcc::Error::CommitOrderBroken { .. } => {
            return Err(error.into());
        }
    }
    Ok(answer)
}

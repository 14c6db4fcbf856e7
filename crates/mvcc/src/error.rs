//! What a reader or a step may answer instead of doing its work.
//!
//! | error | who acts on it |
//! |---|---|
//! | `KeyIsLocked` | the client waits for, or resolves, the lock and tries again |
//! | `WriteConflict`, `PessimisticLockNotFound`, `PessimisticLockRolledBack` | the transaction (or its statement) is run again |
//! | `CommitTsExpired` | the client takes a newer commit timestamp and tries again |
//! | `AlreadyExists` | the user: duplicate key |
//! | `BelowSafePoint` | the user: the snapshot is too old |
//! | `Committed`, `TxnLockNotFound`, `TxnNotFound`, `PrimaryMismatch`, `LockKindMismatch` | the protocol's next step |
//! | `AssertionFailed`, `CommitOrderBroken`, `Corrupted` | nobody: data or code is wrong |

use base::TimeStamp;
use bytes::Bytes;
use engine::Cf;
use thiserror::Error as ThisError;

use crate::{Lock, LockKind};

/// The result of readers and steps.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a write conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteConflictReason {
    /// An optimistic transaction meets a commit behind its start.
    Optimistic,
    /// A pessimistic lock meets a commit behind its for_update_ts.
    PessimisticRetry,
    /// The transaction was rolled back on this key, by itself or by somebody who resolved it.
    SelfRolledBack,
    /// The uniqueness check a pessimistic transaction had put off meets a commit behind its for_update_ts.
    LazyUniquenessCheck,
}

/// Why a pessimistic lock that must be there is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PessimisticLockLoss {
    /// Another transaction holds the key.
    LockedByOther,
    /// The lock was lost and the key has changed since.
    NewerVersion,
    /// The lock was lost and the transaction was rolled back on the key.
    RolledBack,
}

/// An answer other than success.
#[derive(Clone, Debug, ThisError)]
pub enum Error {
    /// The engine failed, or would have had to wait for the disk.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// A record does not have the form it must have.
    #[error("corrupted record in {cf} at {key:?}: {problem}")]
    Corrupted {
        /// The column family.
        cf: Cf,
        /// The engine key.
        key: Bytes,
        /// What is wrong.
        problem: &'static str,
    },
    /// The key is locked by a transaction whose outcome matters to the caller.
    #[error("key {key:?} is locked by transaction {}", lock.start_ts)]
    KeyIsLocked {
        /// The user key.
        key: Bytes,
        /// The lock.
        lock: Box<Lock>,
    },
    /// Somebody committed a newer version.
    #[error("write conflict on {key:?}: transaction {start_ts} meets {conflict_start_ts} committed at {conflict_commit_ts} ({reason:?})")]
    WriteConflict {
        /// The user key.
        key: Bytes,
        /// The primary of the transaction that is refused.
        primary: Bytes,
        /// The transaction that is refused.
        start_ts: TimeStamp,
        /// The transaction it conflicts with.
        conflict_start_ts: TimeStamp,
        /// When that one committed.
        conflict_commit_ts: TimeStamp,
        /// Why.
        reason: WriteConflictReason,
    },
    /// A key that must not exist does.
    #[error("key {key:?} exists already")]
    AlreadyExists {
        /// The user key.
        key: Bytes,
        /// The transaction that wrote it.
        existing_start_ts: TimeStamp,
        /// Its value, for the message about the duplicate.
        value: Bytes,
    },
    /// A commit found neither its lock nor a trace of the transaction.
    #[error("lock of transaction {start_ts} on {key:?} not found (commit at {commit_ts})")]
    TxnLockNotFound {
        /// The user key.
        key: Bytes,
        /// The transaction.
        start_ts: TimeStamp,
        /// The commit timestamp that was tried.
        commit_ts: TimeStamp,
    },
    /// Nothing is known about a transaction, and the caller did not ask to roll it back.
    #[error("transaction {start_ts} not found on its primary {key:?}")]
    TxnNotFound {
        /// The primary.
        key: Bytes,
        /// The transaction.
        start_ts: TimeStamp,
    },
    /// A prewrite relies on a pessimistic lock that is gone.
    #[error("pessimistic lock of transaction {start_ts} on {key:?} not found ({loss:?})")]
    PessimisticLockNotFound {
        /// The user key.
        key: Bytes,
        /// The transaction.
        start_ts: TimeStamp,
        /// Why.
        loss: PessimisticLockLoss,
    },
    /// A pessimistic lock is asked for by a transaction that was rolled back on the key.
    #[error("transaction {start_ts} was rolled back on {key:?}")]
    PessimisticLockRolledBack {
        /// The user key.
        key: Bytes,
        /// The transaction.
        start_ts: TimeStamp,
    },
    /// The transaction's own lock has a kind this step cannot work with.
    #[error("lock of transaction {start_ts} on {key:?} is {found:?}, which this step cannot work with")]
    LockKindMismatch {
        /// The user key.
        key: Bytes,
        /// The transaction.
        start_ts: TimeStamp,
        /// The kind found.
        found: LockKind,
    },
    /// A commit below the lock's min_commit_ts: somebody may have read past it.
    #[error("commit of {start_ts} at {commit_ts} on {key:?} is below min_commit_ts {min_commit_ts}")]
    CommitTsExpired {
        /// The user key.
        key: Bytes,
        /// The transaction.
        start_ts: TimeStamp,
        /// The timestamp that was tried.
        commit_ts: TimeStamp,
        /// The lowest one allowed.
        min_commit_ts: TimeStamp,
    },
    /// The key asked as the primary of a transaction is not.
    #[error("the primary of transaction {} is {:?}, not {key:?}", lock.start_ts, lock.primary)]
    PrimaryMismatch {
        /// The key that was asked.
        key: Bytes,
        /// The lock on it.
        lock: Box<Lock>,
    },
    /// The transaction is committed and cannot be rolled back any more.
    #[error("transaction {start_ts} is committed at {commit_ts} on {key:?}")]
    Committed {
        /// The user key.
        key: Bytes,
        /// The transaction.
        start_ts: TimeStamp,
        /// When it committed.
        commit_ts: TimeStamp,
    },
    /// What a mutation assumes about the key is not so: a row and its index disagree, or the client is wrong.
    #[error("assertion {assertion:?} of transaction {start_ts} on {key:?} failed")]
    AssertionFailed {
        /// The user key.
        key: Bytes,
        /// The transaction.
        start_ts: TimeStamp,
        /// What was assumed.
        assertion: crate::steps::Assertion,
        /// The transaction of the version that contradicts; zero when there is none.
        existing_start_ts: TimeStamp,
        /// When that one committed; zero when there is none.
        existing_commit_ts: TimeStamp,
    },
    /// The timestamp is not above the safe point: versions it would have to see may have been collected.
    #[error("timestamp {ts} is below the garbage collection safe point {safe_point}")]
    BelowSafePoint {
        /// The timestamp of the reader or writer.
        ts: TimeStamp,
        /// The safe point.
        safe_point: TimeStamp,
    },
    /// A commit would not be the newest one of its key. Must never happen; the store has to stop.
    #[error("commit order broken on {key:?}: {commit_ts} after {newest_commit_ts}")]
    CommitOrderBroken {
        /// The user key.
        key: Bytes,
        /// The commit that was tried.
        commit_ts: TimeStamp,
        /// The newest commit there is.
        newest_commit_ts: TimeStamp,
    },
}

impl Error {
    /// Whether the store must stop: what it holds, or its code, is wrong.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::CommitOrderBroken { .. })
    }

    /// Whether the read has to be repeated where it may wait for the disk.
    pub fn is_would_block(&self) -> bool {
        matches!(self, Self::Engine(engine::Error::WouldBlock))
    }
}

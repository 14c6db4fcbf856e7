//! What can go wrong between a statement and the store, and what MySQL's client is told.
//!
//! | error | may the statement be run again? | MySQL |
//! |---|---|---|
//! | `WriteConflict` | yes: by the session, if the transaction has not answered its client yet | 1213 |
//! | `MustNotWait` | as after a `WriteConflict` | 1213 |
//! | `KeyExists` | no | 1062, worded by the layer that knows the index |
//! | `LockWaitTimeout` | by the user | 1205 |
//! | `Deadlock` | the whole transaction was rolled back | 1213 |
//! | `LockNotAvailable` | by the user | 3572 |
//! | `Undetermined` | no: the commit may or may not have happened | 1105, 2013 in spirit |

use base::TimeStamp;
use bytes::Bytes;
use env::{CancelReason, Cancelled};
use types::mysql_error::MysqlError;

/// One edge of a deadlock: `waiter` waits for `holder` to release `key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitEdge {
    /// `start_ts` of the waiting transaction.
    pub waiter: TimeStamp,
    /// `start_ts` of the transaction that holds the lock.
    pub holder: TimeStamp,
    /// The key waited for.
    pub key: Bytes,
}

impl From<txn::WaitEdge> for WaitEdge {
    fn from(edge: txn::WaitEdge) -> Self {
        Self { waiter: edge.waiter, holder: edge.holder, key: edge.key }
    }
}

/// An error of the transaction client.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Another transaction committed a version of the key after this one's snapshot.
    #[error("write conflict: key {key:02x?} was committed at {conflict_commit_ts}, after {start_ts}")]
    WriteConflict {
        /// Timestamp this transaction read at.
        start_ts: TimeStamp,
        /// `start_ts` of the other transaction.
        conflict_start_ts: TimeStamp,
        /// Its commit timestamp.
        conflict_commit_ts: TimeStamp,
        /// The key.
        key: Bytes,
    },
    /// A key that must not exist does.
    #[error("key {key:02x?} exists already")]
    KeyExists {
        /// The key.
        key: Bytes,
        /// At commit: the value that was to be written under the key.
        value: Option<Bytes>,
    },
    /// A commit met a lock that it must not wait for, because it holds locks itself and others might wait for it: see `resolver`.
    #[error("the commit of {start_ts} met a lock of {holder} on key {key:02x?}, for which it must not wait")]
    MustNotWait {
        /// The transaction that was to commit.
        start_ts: TimeStamp,
        /// `start_ts` of the other one.
        holder: TimeStamp,
        /// The key.
        key: Bytes,
    },
    /// Waited for a lock longer than allowed.
    #[error("lock wait timeout exceeded on key {key:02x?}")]
    LockWaitTimeout {
        /// The key.
        key: Bytes,
        /// `start_ts` of the transaction that holds it.
        holder: TimeStamp,
    },
    /// Transactions wait for each other in a circle; this one was chosen to give way and has been rolled back by the caller's
    /// next call of `rollback`.
    #[error("deadlock on key {key:02x?} held by {holder}")]
    Deadlock {
        /// The key whose lock would have closed the circle.
        key: Bytes,
        /// The transaction that holds it.
        holder: TimeStamp,
        /// The circle, from this transaction on.
        wait_chain: Vec<WaitEdge>,
    },
    /// `NOWAIT` met a locked key.
    #[error("key {key:02x?} is locked by {holder}")]
    LockNotAvailable {
        /// The key.
        key: Bytes,
        /// `start_ts` of the transaction that holds it.
        holder: TimeStamp,
    },
    /// The store cannot say whether the commit happened.
    #[error("the commit of transaction {start_ts} has an unknown result: {reason}")]
    Undetermined {
        /// The transaction.
        start_ts: TimeStamp,
        /// What failed.
        reason: String,
    },
    /// The transaction was rolled back by somebody else, for example because it did not renew its locks in time.
    #[error("transaction {start_ts} was aborted: {reason}")]
    Aborted {
        /// The transaction.
        start_ts: TimeStamp,
        /// Why.
        reason: String,
    },
    /// A pessimistic lock of this transaction has gone.
    #[error("transaction {start_ts} has lost its pessimistic lock on key {key:02x?}")]
    PessimisticLockNotFound {
        /// The transaction.
        start_ts: TimeStamp,
        /// The key.
        key: Bytes,
    },
    /// One entry is larger than `txn-entry-size-limit`.
    #[error("entry too large: {size} bytes, the limit is {limit}")]
    EntryTooLarge {
        /// Size of key and value.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The transaction is larger than `txn-total-size-limit`.
    #[error("transaction too large: {size} bytes, the limit is {limit}")]
    TxnTooLarge {
        /// Size of all entries.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The disk is nearly full; reads go on.
    #[error("the disk is nearly full: {reason}")]
    DiskFull {
        /// What was measured.
        reason: String,
    },
    /// Writes come faster than the store can take them.
    #[error("the store is busy")]
    StoreBusy,
    /// The snapshot is older than what garbage collection has kept.
    #[error("snapshot {read_ts} is older than the GC safe point {safe_point}")]
    SnapshotTooOld {
        /// Timestamp of the read or transaction.
        read_ts: TimeStamp,
        /// Oldest timestamp that can be read.
        safe_point: TimeStamp,
    },
    /// Locks of another transaction could not be resolved in time.
    #[error("could not resolve the lock of transaction {holder} on key {key:02x?} in time")]
    ResolveLockTimeout {
        /// The key.
        key: Bytes,
        /// `start_ts` of the transaction that holds it.
        holder: TimeStamp,
    },
    /// The statement was told to stop.
    #[error("cancelled: {0:?}")]
    Cancelled(CancelReason),
    /// The store has stopped, for example after a failed sync.
    #[error("the store has failed: {reason}")]
    StoreFailed {
        /// What failed.
        reason: String,
    },
    /// The store holds something it cannot read, or answered against the protocol.
    #[error("corrupted data: {reason}")]
    Corrupted {
        /// What was found.
        reason: String,
    },
    /// A store has refused a pushed-down plan, or given it up.
    #[error("a store could not run a part of the statement: {reason}")]
    PushedDown {
        /// What it says.
        reason: String,
    },
    /// The statement itself has failed in a store, as it would have here.
    #[error("{message}")]
    Statement {
        /// MySQL's number of the error.
        code: u16,
        /// Its text.
        message: String,
    },
    /// The placement driver could not answer.
    #[error(transparent)]
    Pd(#[from] pd::Error),
    /// The placement driver of the cluster could not be reached in time.
    #[error("the placement driver does not answer: {reason}")]
    PdUnavailable {
        /// What was tried last.
        reason: String,
    },
    /// The placement driver of the cluster has refused.
    #[error("the placement driver refuses: {message}")]
    PdRefused {
        /// Its kind of error (`pdpb.ErrorType`).
        kind: i32,
        /// What it says.
        message: String,
    },
    /// An endpoint of the placement driver belongs to another cluster.
    #[error("the placement driver at {endpoint} is of cluster {found}, not of {ours}")]
    WrongCluster {
        /// The endpoint.
        endpoint: String,
        /// The cluster this client belongs to.
        ours: u64,
        /// What it answered.
        found: u64,
    },
    /// A region's leader could not be found or did not answer in time.
    #[error("region is unavailable: {reason}")]
    StoreUnavailable {
        /// What was tried last.
        reason: String,
        /// Whether a request was sent that may have been carried out although no answer came.
        unanswered: bool,
    },
    /// Pushed-down execution failed.
    #[error(transparent)]
    Copr(#[from] copr::Error),
    /// This server's lease on the schema is over: others may have changed what the transaction was planned by.
    #[error("transaction {start_ts} cannot commit: this server has lost touch with the cluster's schema")]
    LeaseExpired {
        /// The transaction.
        start_ts: TimeStamp,
    },
    /// The transaction was used after it had been committed or rolled back.
    #[error("transaction {start_ts} has ended already")]
    TransactionEnded {
        /// The transaction.
        start_ts: TimeStamp,
    },
}

impl From<Cancelled> for Error {
    fn from(cancelled: Cancelled) -> Self {
        Self::Cancelled(cancelled.0)
    }
}

/// Result of a client call.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether running the same work again in a new transaction (or, in a pessimistic one, the same statement at a newer
    /// `for_update_ts`) may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::WriteConflict { .. }
                | Self::MustNotWait { .. }
                | Self::PessimisticLockNotFound { .. }
                | Self::ResolveLockTimeout { .. }
                | Self::StoreBusy
        )
    }

    /// Whether the error ends the whole transaction, as InnoDB's deadlock does, rather than the statement.
    pub fn ends_transaction(&self) -> bool {
        matches!(
            self,
            Self::Deadlock { .. }
                | Self::Aborted { .. }
                | Self::PessimisticLockNotFound { .. }
                | Self::Undetermined { .. }
                | Self::LeaseExpired { .. }
                | Self::StoreFailed { .. }
                | Self::TransactionEnded { .. }
        )
    }
}

impl From<txn::Error> for Error {
    fn from(error: txn::Error) -> Self {
        match error {
            txn::Error::SnapshotTooOld { read_ts, safe_point } => Self::SnapshotTooOld { read_ts, safe_point },
            txn::Error::Engine(engine::Error::DiskFull { .. }) => Self::DiskFull { reason: error.to_string() },
            txn::Error::Engine(engine::Error::Busy { .. }) => Self::StoreBusy,
            txn::Error::Engine(engine::Error::Poisoned { .. }) => {
                Self::Undetermined { start_ts: TimeStamp::ZERO, reason: error.to_string() }
            }
            txn::Error::Engine(engine::Error::Corruption { .. }) => Self::Corrupted { reason: error.to_string() },
            txn::Error::Mvcc(error) => Self::Corrupted { reason: error.to_string() },
            error => Self::StoreFailed { reason: error.to_string() },
        }
    }
}

/// MySQL error numbers and SQLSTATEs used here (MySQL 8.0 Error Message Reference).
mod number {
    pub(super) const ER_DUP_ENTRY: (u16, &str) = (1062, "23000");
    pub(super) const ER_DISK_FULL: (u16, &str) = (1021, "HY000");
    pub(super) const ER_UNKNOWN_ERROR: (u16, &str) = (1105, "HY000");
    pub(super) const ER_ERROR_DURING_COMMIT: (u16, &str) = (1180, "HY000");
    pub(super) const ER_LOCK_WAIT_TIMEOUT: (u16, &str) = (1205, "HY000");
    pub(super) const ER_LOCK_DEADLOCK: (u16, &str) = (1213, "40001");
    pub(super) const ER_QUERY_INTERRUPTED: (u16, &str) = (1317, "70100");
    pub(super) const ER_SERVER_SHUTDOWN: (u16, &str) = (1053, "08S01");
    pub(super) const ER_DATA_OUT_OF_RANGE: (u16, &str) = (1690, "22003");
    pub(super) const ER_QUERY_TIMEOUT: (u16, &str) = (3024, "HY000");
    pub(super) const ER_LOCK_NOWAIT: (u16, &str) = (3572, "HY000");
    pub(super) const ER_CAPACITY_EXCEEDED: (u16, &str) = (3170, "HY000");
    // The reference system's own numbers, for what MySQL has no word for.
    pub(super) const ER_TXN_TOO_LARGE: (u16, &str) = (8004, "HY000");
    pub(super) const ER_ENTRY_TOO_LARGE: (u16, &str) = (8025, "HY000");
    pub(super) const ER_SCHEMA_EXPIRED: (u16, &str) = (8027, "HY000");
    pub(super) const ER_PD_TIMEOUT: (u16, &str) = (9001, "HY000");
    pub(super) const ER_REGION_UNAVAILABLE: (u16, &str) = (9005, "HY000");
    pub(super) const ER_GC_TOO_EARLY: (u16, &str) = (9006, "HY000");
}

impl Error {
    /// The error packet a MySQL client receives.
    pub fn to_mysql(&self) -> MysqlError {
        let mysql = |(code, sqlstate): (u16, &'static str), message: String| MysqlError { code, sqlstate, message };
        match self {
            // A lost lock is told of only when somebody else has got at the key meanwhile: a conflict that locking could not prevent.
            Self::WriteConflict { .. } | Self::MustNotWait { .. } | Self::Deadlock { .. } | Self::PessimisticLockNotFound { .. } => {
                mysql(number::ER_LOCK_DEADLOCK, "Deadlock found when trying to get lock; try restarting transaction".to_owned())
            }
            Self::KeyExists { key, .. } => {
                mysql(number::ER_DUP_ENTRY, format!("Duplicate entry '{}' for key 'PRIMARY'", key.escape_ascii()))
            }
            Self::LockWaitTimeout { .. } | Self::ResolveLockTimeout { .. } | Self::StoreBusy => {
                mysql(number::ER_LOCK_WAIT_TIMEOUT, "Lock wait timeout exceeded; try restarting transaction".to_owned())
            }
            Self::LockNotAvailable { .. } => mysql(
                number::ER_LOCK_NOWAIT,
                "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.".to_owned(),
            ),
            Self::Aborted { .. } | Self::TransactionEnded { .. } => {
                mysql(number::ER_ERROR_DURING_COMMIT, format!("Got error during COMMIT: {self}"))
            }
            Self::EntryTooLarge { size, limit } => mysql(
                number::ER_ENTRY_TOO_LARGE,
                format!("entry too large, the max entry size is {limit}, the size of data is {size}; see txn-entry-size-limit"),
            ),
            Self::TxnTooLarge { size, .. } => {
                mysql(number::ER_TXN_TOO_LARGE, format!("Transaction is too large, size: {size}; see txn-total-size-limit"))
            }
            Self::DiskFull { reason } => mysql(number::ER_DISK_FULL, format!("Disk full ({reason}) (errno: 28 - No space left on device)")),
            Self::SnapshotTooOld { read_ts, safe_point } => mysql(
                number::ER_GC_TOO_EARLY,
                format!("GC life time is shorter than transaction duration: read at {read_ts}, GC safe point is {safe_point}"),
            ),
            Self::Cancelled(CancelReason::KillQuery | CancelReason::KillConnection | CancelReason::Disconnected) => {
                mysql(number::ER_QUERY_INTERRUPTED, "Query execution was interrupted".to_owned())
            }
            Self::Cancelled(CancelReason::Timeout) => {
                mysql(number::ER_QUERY_TIMEOUT, "Query execution was interrupted, maximum statement execution time exceeded".to_owned())
            }
            Self::Cancelled(CancelReason::Shutdown) => mysql(number::ER_SERVER_SHUTDOWN, "Server shutdown in progress".to_owned()),
            Self::Cancelled(CancelReason::MemoryQuota) => {
                mysql(number::ER_CAPACITY_EXCEEDED, "Memory capacity exceeded for the statement; it was cancelled".to_owned())
            }
            Self::LeaseExpired { .. } => mysql(number::ER_SCHEMA_EXPIRED, "Information schema is out of date".to_owned()),
            Self::PdUnavailable { .. } => mysql(number::ER_PD_TIMEOUT, "PD server timeout".to_owned()),
            Self::StoreUnavailable { .. } => mysql(number::ER_REGION_UNAVAILABLE, "Region is unavailable".to_owned()),
            Self::Copr(error) => error.to_mysql(),
            Self::Statement { code, message } => {
                let sqlstate = if *code == number::ER_DATA_OUT_OF_RANGE.0 { number::ER_DATA_OUT_OF_RANGE.1 } else { "HY000" };
                mysql((*code, sqlstate), message.clone())
            }
            Self::Undetermined { .. }
            | Self::StoreFailed { .. }
            | Self::PushedDown { .. }
            | Self::Corrupted { .. }
            | Self::Pd(_)
            | Self::PdRefused { .. }
            | Self::WrongCluster { .. } => mysql(number::ER_UNKNOWN_ERROR, self.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysql_clients_see_the_numbers_they_act_on() {
        let key = Bytes::from_static(b"k");
        let holder = TimeStamp(5);
        let cases = [
            (Error::LockWaitTimeout { key: key.clone(), holder }, 1205, "HY000"),
            (Error::Deadlock { key: key.clone(), holder, wait_chain: vec![] }, 1213, "40001"),
            (Error::LockNotAvailable { key, holder }, 3572, "HY000"),
            (Error::Cancelled(CancelReason::KillQuery), 1317, "70100"),
            (Error::Cancelled(CancelReason::Timeout), 3024, "HY000"),
            (Error::EntryTooLarge { size: 2, limit: 1 }, 8025, "HY000"),
            (Error::PessimisticLockNotFound { start_ts: TimeStamp(7), key: Bytes::new() }, 1213, "40001"),
            (Error::StoreUnavailable { reason: "gone".into(), unanswered: false }, 9005, "HY000"),
            (Error::DiskFull { reason: "1 byte left".into() }, 1021, "HY000"),
        ];
        for (error, code, sqlstate) in cases {
            let mysql = error.to_mysql();
            assert_eq!((mysql.code, mysql.sqlstate), (code, sqlstate), "{error}");
        }
    }
}

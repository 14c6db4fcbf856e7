//! What became of a transaction on a key.

use base::TimeStamp;

use crate::{CommitKind, LoadedLock};

/// What became of a transaction on a key; see [`MvccReader::txn_status`](crate::MvccReader::txn_status).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnStatus {
    /// Its lock is there.
    Locked(LoadedLock),
    /// It committed.
    Committed {
        /// When.
        commit_ts: TimeStamp,
        /// What it did to the key.
        kind: CommitKind,
    },
    /// It was rolled back on the key.
    RolledBack {
        /// Whether by somebody who decided its fate.
        protected: bool,
    },
    /// The key knows nothing about it: it never got here, or garbage collection has passed.
    Unknown,
}

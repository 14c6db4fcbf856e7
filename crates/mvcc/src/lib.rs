//! Multi-version records, their readers, and the steps of Percolator transactions as pure functions.
//!
//! The current version of a key lies in place, older ones aside, so nearly every read is one exact lookup:
//!
//! | column family | key | value | garbage at safe point SP |
//! |---|---|---|---|
//! | `data` | key | commit_ts, start_ts, put or deleted, value; the version that was deleted | deleted and commit_ts ≤ SP |
//! | `history` | key + descending commit_ts | start_ts, superseded_ts, put or deleted, value | superseded_ts ≤ SP |
//! | `lock` | key | lock, with the value to be | never by the filter |
//! | `txn` | key + descending start_ts | rolled back, or lock-only commit | start_ts (commit_ts) ≤ SP |
//! | `txn` | key + descending maximum | the newest lock-only commit | commit_ts ≤ SP |
//!
//! A key over time (`superseded_ts` in braces):
//!
//! ```text
//!            10         20               100
//! data       put a   →  deleted (put a)  →  put b
//! history                                  deleted{100}, put a{20}
//! read @5 nothing   read @15 a   read @50 nothing   read @100 b
//! ```
//!
//! A step takes a [`MvccReader`], reads what it needs, and writes into a [`MvccTxn`]: a batch for the engine and a list of locks that were
//! released. Nothing here waits, spawns, or knows about latches; the caller holds a latch on every key of a step, so that what a step has
//! read is still true when its batch is applied.
//!
//! Invariants, each a named check in [`guards`]:
//! - Nothing starts at or below the safe point, nothing is read below it.
//! - A history row is visible only while commit_ts ≤ ts < superseded_ts. No `data` row means absent.
//! - The commit timestamps of one key only grow, and a lock is never committed below its min_commit_ts.
//! - Before anybody is told of a write conflict, it is asked what became of the transaction itself.
//!
//! The newest lock-only commit has a record of its own because transactions that lock a key one after the other need not have ascending
//! start timestamps: finding the newest among records ordered by start_ts would mean reading all of them, and every write asks for it.

mod error;
pub mod gc;
pub mod guards;
mod lock;
mod policy;
mod reader;
mod record;
mod scanner;
mod status;
pub mod steps;
mod writes;

pub use error::{Error, PessimisticLockLoss, Result, WriteConflictReason};
pub use lock::{Lock, LockKind};
pub use policy::{LockPolicy, LockVerdict};
pub use reader::{Commit, CurrentVersion, KnownEmpty, LoadedLock, MemoryLocks, MvccReader, NoMemoryLocks, RecordBytes, VersionValue};
pub use record::{
    Before, CommitKind, DataRecord, HistoryRecord, RECORD_FORMAT, RECORD_HEADER_LEN, TxnRecord, VersionKind, encode_key, history_key,
    txn_key,
};
pub use scanner::{ScanOptions, Scanner};
pub use status::TxnStatus;
pub use writes::{Garbage, LockPlace, MvccTxn, ReleasedLock};

//! What callers choose: isolation, kinds of snapshots, scans, writes and locks, and what they get back.

use std::time::Duration;

use base::TimeStamp;
use bytes::Bytes;
use env::{CancelToken, Instant};

/// Isolation level of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Every statement reads at the transaction's `start_ts`; MySQL's `REPEATABLE READ`.
    #[default]
    Snapshot,
    /// Every statement reads at a timestamp of its own.
    ReadCommitted,
}

/// How a transaction is begun.
#[derive(Clone, Debug, Default)]
pub struct TxnOptions {
    /// The transaction's start timestamp; fetched when first needed if absent.
    pub start_ts: Option<TimeStamp>,
    /// Whether statements take pessimistic locks ([`crate::Transaction::lock_keys`]) before they write.
    pub pessimistic: bool,
    /// Isolation level.
    pub isolation: Isolation,
    /// Commit only by two-phase commit, although a shorter protocol would do (tests, and callers that want locks seen).
    pub force_two_phase: bool,
    /// Whether it may be written however full the disk is: for small transactions that let space be freed, such as a step of DROP. One that
    /// only deletes may until its own markers would take what is kept for flushes and compactions.
    pub on_nearly_full_disk: bool,
    /// Whether it may commit above [`crate::Client::set_commit_bound`]: the transaction that moves the bound.
    pub above_bound: bool,
    /// Commit by async commit rather than one-phase commit where both would do.
    pub prefer_async_commit: bool,
}

/// How a snapshot reads.
#[derive(Clone, Debug, Default)]
pub struct SnapshotOptions {
    /// Stops reads and waits.
    pub cancel: CancelToken,
    /// When reads and waits give up with [`crate::Error::Cancelled`] (reason `Timeout`).
    pub deadline: Option<Instant>,
    /// Whether blocks read are left out of the block cache (backfill, ADMIN CHECK, analyze).
    pub not_fill_cache: bool,
}

/// How a range is scanned.
#[derive(Clone, Copy, Debug)]
pub struct ScanOptions {
    /// From the last key to the first.
    pub reverse: bool,
    /// Leave the values empty.
    pub key_only: bool,
    /// Rows of a page; a page may be shorter.
    pub batch: usize,
    /// Rows in all; `None` for no limit.
    pub limit: Option<usize>,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self { reverse: false, key_only: false, batch: 256, limit: None }
    }
}

/// What a write asserts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteFlags {
    /// The key must not exist when the transaction commits (or is locked, for a pessimistic one); otherwise
    /// [`crate::Error::KeyExists`]. `INSERT` without a read before it.
    pub presume_not_exists: bool,
    /// In a pessimistic transaction: the key needs no pessimistic lock (an entry of a non-unique index, guarded by its
    /// row's lock). Without it an unlocked key is checked for conflicts at commit, as in an optimistic transaction.
    pub guarded_by_row_lock: bool,
}

impl WriteFlags {
    /// [`WriteFlags::presume_not_exists`] alone.
    pub const INSERT: Self = Self { presume_not_exists: true, guarded_by_row_lock: false };
    /// [`WriteFlags::guarded_by_row_lock`] alone.
    pub const INDEX_ENTRY: Self = Self { presume_not_exists: false, guarded_by_row_lock: true };
}

/// What a transaction itself wrote under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalValue<'a> {
    /// This value.
    Put(&'a Bytes),
    /// It deleted the key.
    Deleted,
}

impl<'a> LocalValue<'a> {
    /// The value, if the key was not deleted.
    pub fn value(self) -> Option<&'a Bytes> {
        match self {
            Self::Put(value) => Some(value),
            Self::Deleted => None,
        }
    }
}

/// What happens when a key to be locked is locked by another transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Wait in the key's queue for at most this long, then [`crate::Error::LockWaitTimeout`].
    Timeout(Duration),
    /// [`crate::Error::LockNotAvailable`] at once.
    NoWait,
    /// Leave the key unlocked and report it in [`LockOutcome::skipped`].
    SkipLocked,
}

/// How keys are locked.
#[derive(Clone, Debug)]
pub struct LockRequest {
    /// What happens at a locked key.
    pub wait: LockWait,
    /// Return the newest committed value of each key.
    pub return_values: bool,
    /// Indexes (into the keys of the call) of keys that must not exist: [`crate::Error::KeyExists`] otherwise.
    pub check_not_exists: Vec<usize>,
    /// What happens when a key has a version newer than the transaction's `for_update_ts`.
    ///
    /// `false`: [`crate::Error::WriteConflict`]; the caller refreshes `for_update_ts` and runs its statement again, because
    /// it chose the keys by reading older versions. `true`: the key is locked all the same, the newest value is returned and
    /// [`LockOutcome::conflict_ts`] says how new it is; for statements that choose the key without reading (`WHERE id = ?`).
    pub lock_newest: bool,
    /// Lock only keys that exist; for the others nothing is locked.
    pub only_if_exists: bool,
    /// Stops waiting.
    pub cancel: CancelToken,
    /// When waiting gives up, if earlier than [`LockRequest::wait`] says.
    pub deadline: Option<Instant>,
}

impl Default for LockRequest {
    fn default() -> Self {
        Self {
            // MySQL's default of innodb_lock_wait_timeout.
            wait: LockWait::Timeout(Duration::from_secs(50)),
            return_values: false,
            check_not_exists: Vec::new(),
            lock_newest: false,
            only_if_exists: false,
            cancel: CancelToken::never(),
            deadline: None,
        }
    }
}

/// What locking found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockOutcome {
    /// With [`LockRequest::return_values`], one element for each key of the call: `Some(Some(value))`, `Some(None)` where
    /// the key does not exist, `None` where it was skipped. Empty otherwise. The transaction's own writes are not in it.
    pub values: Vec<Option<Option<Bytes>>>,
    /// Indexes of the keys that were left out under [`LockWait::SkipLocked`].
    pub skipped: Vec<usize>,
    /// With [`LockRequest::lock_newest`]: the newest commit timestamp found above the `for_update_ts` of the call.
    /// The transaction's `for_update_ts` has been raised to it.
    pub conflict_ts: Option<TimeStamp>,
}

/// How a commit treats the locks of other transactions that are in its way.
#[derive(Clone, Debug)]
pub struct CommitOptions {
    /// How long to wait for them in all, then [`crate::Error::LockWaitTimeout`]; zero: a live lock is refused at once.
    pub lock_wait: Duration,
    /// Stops that wait. A commit that waits for nobody is not cancelled any more.
    pub cancel: CancelToken,
}

impl Default for CommitOptions {
    fn default() -> Self {
        Self { lock_wait: crate::snapshot::RESOLVE_BUDGET, cancel: CancelToken::never() }
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitOutcome {
    /// When it was committed; [`TimeStamp::ZERO`] for a transaction that wrote nothing.
    pub commit_ts: TimeStamp,
}

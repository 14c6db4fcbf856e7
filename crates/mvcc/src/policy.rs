//! Which locks a reader stops at.

use base::TimeStamp;

use crate::{Lock, LockKind};

/// What a reader already knows about transactions whose locks it may meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockPolicy {
    /// Transactions known to be rolled back, or to commit behind the reader: their locks are passed by.
    pub bypass: Vec<TimeStamp>,
    /// Transactions known to be committed at or before the reader's timestamp: the values in their locks are read.
    pub access: Vec<TimeStamp>,
    /// Locks are not looked at at all: the caller knows that there are none, or reads what is committed whatever is in flight.
    pub ignore_locks: bool,
}

/// What a reader does about a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockVerdict {
    /// It does not concern the reader.
    Pass,
    /// Its value is the version to read.
    Access,
    /// Its fate has to be known first.
    Blocked,
}

impl LockPolicy {
    /// A policy that does not look at locks.
    pub fn ignoring_locks() -> Self {
        Self { ignore_locks: true, ..Self::default() }
    }

    /// What a reader of `key` at `ts` does about `lock`.
    pub fn judge(&self, key: &[u8], lock: &Lock, ts: TimeStamp) -> LockVerdict {
        if matches!(lock.kind, LockKind::Lock | LockKind::Pessimistic) {
            return LockVerdict::Pass;
        }
        if self.access.contains(&lock.start_ts) {
            return LockVerdict::Access;
        }
        let will_commit_behind = lock.start_ts > ts || lock.min_commit_ts > ts;
        // A reader of the newest version may read what is committed: a transaction whose primary is this key and still locked is not
        // committed yet, unless it commits by its locks.
        let newest_of_primary = ts.is_max() && lock.primary == key && !lock.use_async_commit;
        if will_commit_behind || newest_of_primary || self.bypass.contains(&lock.start_ts) {
            return LockVerdict::Pass;
        }
        LockVerdict::Blocked
    }
}

//! The rules that keep the version layout right, each as one named check.
//!
//! They are trivial on purpose: what matters is that each is asked in every place it must be asked, and that a test fails when one is
//! taken away (`scripts` of the repository remove them one by one).

use base::TimeStamp;
use bytes::Bytes;

use crate::{Error, Lock, Result};

/// Rule 1: the safe point may be published only when no lock at or below it is left, stored or in memory. Otherwise the record of a
/// committed primary may be collected while a secondary is still locked, and the transaction is torn.
pub fn safe_point_is_free_of_locks<'a>(safe_point: TimeStamp, locks: impl IntoIterator<Item = (&'a Bytes, &'a Lock)>) -> Result<()> {
    for (key, lock) in locks {
        if lock.start_ts <= safe_point {
            return Err(Error::KeyIsLocked { key: key.clone(), lock: Box::new(lock.clone()) });
        }
    }
    Ok(())
}

/// Rule 2, writers: prewrite, pessimistic lock and one-phase commit start above the safe point.
pub fn starts_above_safe_point(start_ts: TimeStamp, safe_point: TimeStamp) -> Result<()> {
    if start_ts <= safe_point {
        return Err(Error::BelowSafePoint { ts: start_ts, safe_point });
    }
    Ok(())
}

/// Rule 2, readers: asked before the read, and again after it, because compaction filters do not care for snapshots.
pub fn readable_at(ts: TimeStamp, readable_floor: TimeStamp) -> Result<()> {
    if ts < readable_floor {
        return Err(Error::BelowSafePoint { ts, safe_point: readable_floor });
    }
    Ok(())
}

/// Rule 3: a superseded version is visible only until the version that took its place, even when that one has been collected.
#[inline]
pub fn history_row_is_visible(commit_ts: TimeStamp, superseded_ts: TimeStamp, ts: TimeStamp) -> bool {
    commit_ts <= ts && ts < superseded_ts
}

/// Rule 5: the lowest min_commit_ts of a lock. The caller raises it above the region's max_ts too, where the lock is published.
pub fn lowest_min_commit_ts(start_ts: TimeStamp, for_update_ts: TimeStamp, newest_commit_ts: TimeStamp) -> TimeStamp {
    start_ts.max(for_update_ts).max(newest_commit_ts).next()
}

/// Rule 5: a commit is not below its lock's min_commit_ts: a reader above it may have passed the lock by.
pub fn commit_is_not_expired(key: &[u8], lock: &Lock, commit_ts: TimeStamp) -> Result<()> {
    if commit_ts < lock.min_commit_ts {
        return Err(Error::CommitTsExpired {
            key: Bytes::copy_from_slice(key),
            start_ts: lock.start_ts,
            commit_ts,
            min_commit_ts: lock.min_commit_ts,
        });
    }
    Ok(())
}

/// Rule 5: commits of one key come in the order of their timestamps.
pub fn commit_order_holds(key: &[u8], commit_ts: TimeStamp, newest_commit_ts: TimeStamp) -> Result<()> {
    if commit_ts <= newest_commit_ts {
        return Err(Error::CommitOrderBroken { key: Bytes::copy_from_slice(key), commit_ts, newest_commit_ts });
    }
    Ok(())
}

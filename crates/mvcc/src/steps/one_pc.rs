//! One-phase commit: all keys of a transaction, prewritten in one command, become visible without ever being locked.
//!
//! The commit timestamp is the greatest min_commit_ts of the keys. Readers cannot come between, because every key was published (rule 8)
//! before its min_commit_ts was computed, and is withdrawn only when the batch is applied.

use base::TimeStamp;

use crate::{LockPlace, MvccTxn, Result};

/// What a one-phase commit came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnePcOutcome {
    /// The versions are in the batch.
    Committed {
        /// When.
        commit_ts: TimeStamp,
    },
    /// The timestamp would be beyond its bound: locks are in the batch instead, for a second phase.
    FellBack {
        /// The lowest timestamp all keys may be committed at.
        min_commit_ts: TimeStamp,
    },
}

/// Commits the keys prewritten with [`CommitMode::OnePhase`](super::CommitMode::OnePhase). `max_commit_ts` is zero for no bound; with
/// `force_locks` (a key of the transaction turned out to be locked already) the second phase is needed in any case.
///
/// Not to be called when a key answered [`Prewritten::Committed`](super::Prewritten::Committed): that is the answer to the whole request.
pub fn one_pc(txn: &mut MvccTxn, max_commit_ts: TimeStamp, force_locks: bool) -> Result<OnePcOutcome> {
    let writes = std::mem::take(&mut txn.one_phase);
    let commit_ts = writes.iter().map(|write| write.lock.min_commit_ts).max().unwrap_or(TimeStamp::ZERO);
    if force_locks || !max_commit_ts.is_zero() && commit_ts > max_commit_ts {
        for write in &writes {
            txn.put_lock(&write.key, &write.lock, LockPlace::Stored, write.replaced.as_ref());
        }
        return Ok(OnePcOutcome::FellBack { min_commit_ts: commit_ts });
    }
    for write in &writes {
        txn.promote(&write.key, &write.lock, commit_ts, write.current.as_deref(), write.newest)?;
        if let Some(replaced) = &write.replaced {
            txn.remove_lock(&write.key, replaced, commit_ts);
        }
    }
    Ok(OnePcOutcome::Committed { commit_ts })
}

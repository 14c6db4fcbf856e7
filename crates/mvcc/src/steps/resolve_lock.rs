//! Resolving a lock whose transaction's fate is known from its primary.

use base::TimeStamp;
use engine::EngineRead;

use super::{CommitOutcome, commit, rollback};
use crate::{LockKind, MvccReader, MvccTxn, Result};

/// Commits (`commit_ts` greater than zero) or rolls back the lock of `start_ts` on `key`; a lock that is gone already is no error.
pub fn resolve_lock<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    txn: &mut MvccTxn,
    key: &[u8],
    start_ts: TimeStamp,
    commit_ts: TimeStamp,
) -> Result<()> {
    let Some(loaded) = reader.load_own_lock(key, start_ts)? else { return Ok(()) };
    if commit_ts.is_zero() {
        return rollback(reader, txn, key, start_ts, false);
    }
    if loaded.lock.kind == LockKind::Pessimistic {
        // The transaction committed without this key: a statement that was undone left the lock behind.
        txn.remove_lock(key, &loaded, TimeStamp::ZERO);
        return Ok(());
    }
    match commit(reader, txn, key, start_ts, commit_ts)? {
        CommitOutcome::Committed | CommitOutcome::CommittedBefore { .. } => Ok(()),
    }
}

//! Commit: the second phase on one key. The lock's value becomes the current version, and the old one moves to history.

use base::TimeStamp;
use bytes::Bytes;
use engine::EngineRead;

use crate::{CurrentVersion, Error, MvccReader, MvccTxn, Result, TxnStatus, guards, reader::LoadedLock};

/// What a commit came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// The version is in the batch.
    Committed,
    /// It was committed before: the request came again.
    CommittedBefore {
        /// When.
        commit_ts: TimeStamp,
    },
}

/// Commits the transaction `start_ts` on one key.
pub fn commit<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    txn: &mut MvccTxn,
    key: &[u8],
    start_ts: TimeStamp,
    commit_ts: TimeStamp,
) -> Result<CommitOutcome> {
    if let Some(loaded) = reader.load_own_lock(key, start_ts)? {
        guards::commit_is_not_expired(key, &loaded.lock, commit_ts)?;
        promote(reader, txn, key, &loaded, commit_ts)?;
        return Ok(CommitOutcome::Committed);
    }
    match reader.txn_status_without_lock(key, start_ts)? {
        TxnStatus::Committed { commit_ts, .. } => Ok(CommitOutcome::CommittedBefore { commit_ts }),
        TxnStatus::Locked(_) | TxnStatus::RolledBack { .. } | TxnStatus::Unknown => {
            Err(Error::TxnLockNotFound { key: Bytes::copy_from_slice(key), start_ts, commit_ts })
        }
    }
}

/// Reads the current version, moves it aside, puts the lock's in its place, and removes the lock.
pub(super) fn promote<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    txn: &mut MvccTxn,
    key: &[u8],
    loaded: &LoadedLock,
    commit_ts: TimeStamp,
) -> Result<()> {
    let state = reader.load_state(key)?;
    txn.promote(key, &loaded.lock, commit_ts, state.current.as_ref().map(CurrentVersion::record), state.newest)?;
    txn.remove_lock(key, loaded, commit_ts);
    Ok(())
}

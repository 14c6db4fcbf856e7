//! Asking a secondary of an asynchronous commit whether it was prewritten. If it was not, it never will be: a rollback record is written,
//! and with it the whole transaction is rolled back.

use base::TimeStamp;
use engine::EngineRead;

use super::rollback::rollback_lock;
use crate::{Lock, LockKind, MvccReader, MvccTxn, Result, TxnStatus};

/// What a secondary says about its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecondaryLock {
    /// It is prewritten.
    Locked(Lock),
    /// It is committed, and so is the transaction.
    Committed {
        /// When.
        commit_ts: TimeStamp,
    },
    /// It is not, or not any more; neither is the transaction.
    RolledBack,
}

/// Asks one key.
pub fn check_secondary_lock<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    txn: &mut MvccTxn,
    key: &[u8],
    start_ts: TimeStamp,
) -> Result<SecondaryLock> {
    Ok(match reader.txn_status(key, start_ts)? {
        TxnStatus::Locked(loaded) if loaded.lock.kind == LockKind::Pessimistic => {
            rollback_lock(txn, key, &loaded, true);
            SecondaryLock::RolledBack
        }
        TxnStatus::Locked(loaded) => SecondaryLock::Locked(loaded.lock),
        TxnStatus::Committed { commit_ts, .. } => SecondaryLock::Committed { commit_ts },
        TxnStatus::RolledBack { protected } => {
            if !protected {
                txn.put_rollback(key, start_ts, true);
            }
            SecondaryLock::RolledBack
        }
        TxnStatus::Unknown => {
            txn.put_rollback(key, start_ts, true);
            SecondaryLock::RolledBack
        }
    })
}

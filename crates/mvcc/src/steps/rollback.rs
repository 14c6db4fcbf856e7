//! Rollback of one key: its lock goes, and a record stays so that a prewrite that arrives late fails.

use base::TimeStamp;
use bytes::Bytes;
use engine::EngineRead;

use crate::{Error, MvccReader, MvccTxn, Result, TxnStatus, reader::LoadedLock};

/// Rolls the transaction `start_ts` back on one key. `protect` is set by those who decide the fate of somebody else's transaction.
pub fn rollback<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    txn: &mut MvccTxn,
    key: &[u8],
    start_ts: TimeStamp,
    protect: bool,
) -> Result<()> {
    match reader.txn_status(key, start_ts)? {
        TxnStatus::Locked(loaded) => rollback_lock(txn, key, &loaded, protect),
        TxnStatus::RolledBack { protected } if protected || !protect => {}
        TxnStatus::RolledBack { .. } | TxnStatus::Unknown => txn.put_rollback(key, start_ts, protect),
        TxnStatus::Committed { commit_ts, .. } => {
            return Err(Error::Committed { key: Bytes::copy_from_slice(key), start_ts, commit_ts });
        }
    }
    Ok(())
}

/// Removes a lock and remembers the rollback. The primary of a pessimistic transaction is always protected: its record alone decides.
pub(super) fn rollback_lock(txn: &mut MvccTxn, key: &[u8], loaded: &LoadedLock, protect: bool) {
    let lock = &loaded.lock;
    let decides = lock.is_of_pessimistic_txn() && lock.primary == key;
    txn.remove_lock(key, loaded, TimeStamp::ZERO);
    txn.put_rollback(key, lock.start_ts, protect || decides);
}

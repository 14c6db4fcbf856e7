//! Rollback of a pessimistic lock: the statement that took it was undone, the transaction goes on. No record stays.

use base::TimeStamp;
use engine::EngineRead;

use crate::{LockKind, MvccReader, MvccTxn, Result};

/// Removes the pessimistic lock of `start_ts` on `key`, unless a later statement (with a greater `for_update_ts`) has taken it again.
/// Answers whether a lock was removed.
pub fn pessimistic_rollback<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    txn: &mut MvccTxn,
    key: &[u8],
    start_ts: TimeStamp,
    for_update_ts: TimeStamp,
) -> Result<bool> {
    let Some(loaded) = reader.load_own_lock(key, start_ts)? else { return Ok(false) };
    let is_ours = loaded.lock.kind == LockKind::Pessimistic && loaded.lock.for_update_ts <= for_update_ts;
    if is_ours {
        txn.remove_lock(key, &loaded, TimeStamp::ZERO);
    }
    Ok(is_ours)
}

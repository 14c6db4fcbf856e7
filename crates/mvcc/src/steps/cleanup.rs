//! Cleanup: rolls a transaction back on one key once its lock has outlived its time.

use base::TimeStamp;
use bytes::Bytes;
use engine::EngineRead;

use super::rollback::rollback;
use crate::{Error, MvccReader, MvccTxn, Result};

/// Rolls `start_ts` back on `key` unless its lock still lives at `current_ts` (zero: whatever its age).
pub fn cleanup<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    txn: &mut MvccTxn,
    key: &[u8],
    start_ts: TimeStamp,
    current_ts: TimeStamp,
) -> Result<()> {
    if let Some(loaded) = reader.load_own_lock(key, start_ts)?
        && !current_ts.is_zero()
        && !loaded.lock.is_expired(current_ts)
    {
        return Err(Error::KeyIsLocked { key: Bytes::copy_from_slice(key), lock: Box::new(loaded.lock) });
    }
    rollback(reader, txn, key, start_ts, true)
}

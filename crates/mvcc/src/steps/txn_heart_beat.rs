//! Heart beat: a transaction that still lives gives its primary's lock more time.

use base::TimeStamp;
use bytes::Bytes;
use engine::EngineRead;

use crate::{Error, LockPlace, MvccReader, MvccTxn, Result};

/// Raises the time to live of the primary's lock to `ttl_ms`; answers what it is then.
pub fn txn_heart_beat<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    txn: &mut MvccTxn,
    primary: &[u8],
    start_ts: TimeStamp,
    ttl_ms: u64,
) -> Result<u64> {
    let Some(mut loaded) = reader.load_own_lock(primary, start_ts)? else {
        return Err(Error::TxnNotFound { key: Bytes::copy_from_slice(primary), start_ts });
    };
    if loaded.lock.primary != primary {
        return Err(Error::PrimaryMismatch { key: Bytes::copy_from_slice(primary), lock: Box::new(loaded.lock) });
    }
    if loaded.lock.ttl_ms < ttl_ms {
        let place = if loaded.in_memory { LockPlace::Memory } else { LockPlace::Stored };
        loaded.lock.ttl_ms = ttl_ms;
        txn.put_lock(primary, &loaded.lock, place, Some(&loaded));
    }
    Ok(loaded.lock.ttl_ms)
}

//! Scan locks: those of old transactions, stored and in memory, in key order.

use base::TimeStamp;
use engine::{Engine, ReadTier};
use mvcc::MvccReader;
use proto::kvrpcpb::{ScanLockRequest, ScanLockResponse};

use crate::{
    error::{Error, Result, lock_info},
    storage::{Inner, Storage},
};

impl<E: Engine> Storage<E> {
    /// Lists locks with start_ts up to the request's `max_version`. Reads from disk: runs on the read pool.
    pub async fn scan_lock(&self, request: ScanLockRequest) -> Result<ScanLockResponse> {
        let inner = self.inner.clone();
        let job = move || inner.list_locks(&request);
        self.inner.env.run_blocking(job).await.unwrap_or(Err(Error::Stopped))
    }
}

impl<E: Engine> Inner<E> {
    fn list_locks(&self, request: &ScanLockRequest) -> Result<ScanLockResponse> {
        let max_ts = TimeStamp(request.max_version);
        let limit = if request.limit == 0 { usize::MAX } else { request.limit as usize };
        // Memory first: a lock that is prewritten in between is seen twice rather than not at all.
        let in_range = |key: &[u8]| key >= &request.start_key[..] && (request.end_key.is_empty() || key < &request.end_key[..]);
        let mut locks = self.pessimistic.list(|key, lock| lock.start_ts <= max_ts && in_range(key));
        let reader = MvccReader::new(&self.engine).with_tier(ReadTier::Any);
        locks.extend(reader.scan_locks(&request.start_key, &request.end_key, limit, |lock| lock.start_ts <= max_ts)?);
        locks.sort_by(|a, b| a.0.cmp(&b.0));
        locks.dedup_by(|later, earlier| later.0 == earlier.0);
        locks.truncate(limit);
        let locks = locks.into_iter().map(|(key, lock)| lock_info(key, &lock)).collect();
        Ok(ScanLockResponse { locks, ..Default::default() })
    }
}

//! Destroying a range: all versions of keys that nobody reads or writes any more, at once, whatever snapshots there are.

use base::KeyRange;
use engine::Engine;
use proto::kvrpcpb::{DeleteRangeRequest, DeleteRangeResponse, UnsafeDestroyRangeRequest, UnsafeDestroyRangeResponse};

use crate::{
    error::{Error, Result},
    storage::{Storage, engine_bounds},
};

impl<E: Engine> Storage<E> {
    /// Removes all versions and locks of a range.
    pub async fn unsafe_destroy_range(&self, request: UnsafeDestroyRangeRequest) -> Result<UnsafeDestroyRangeResponse> {
        self.destroy(KeyRange { start: request.start_key, end: request.end_key }).await?;
        Ok(UnsafeDestroyRangeResponse::default())
    }

    /// Removes all versions and locks of a range.
    pub async fn delete_range(&self, request: DeleteRangeRequest) -> Result<DeleteRangeResponse> {
        if !request.notify_only {
            self.destroy(KeyRange { start: request.start_key, end: request.end_key }).await?;
        }
        Ok(DeleteRangeResponse::default())
    }

    async fn destroy(&self, range: KeyRange) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let inner = self.inner.clone();
        let job = move || {
            // Locks of the range are counted off afterwards; a transaction that still holds one has lost its table.
            let locks = mvcc::MvccReader::new(&inner.engine).scan_locks(&range.start, &range.end, usize::MAX, |_| true)?;
            let (start, end) = engine_bounds(&range);
            inner.engine.unsafe_destroy_range(&start, &end)?;
            inner.add_stored_locks(-(locks.len() as i64));
            for (key, lock) in inner.pessimistic.list(|key, _| range.contains(key)) {
                inner.pessimistic.remove(&key, lock.start_ts);
                inner.waits.wake(&key);
            }
            Ok(())
        };
        self.inner.env.run_blocking(job).await.unwrap_or(Err(Error::Stopped))
    }
}

//! Destroying a range: all versions of keys that nobody reads or writes any more, at once, whatever snapshots there are.

use base::KeyRange;
use engine::{Cf, Engine, SpaceUse, WriteBatch};
use proto::kvrpcpb::{DeleteRangeRequest, DeleteRangeResponse, UnsafeDestroyRangeRequest, UnsafeDestroyRangeResponse};

use crate::{
    error::{Error, Result},
    storage::{Inner, Storage, engine_bounds},
};

impl<E: Engine> Storage<E> {
    /// Removes all versions and locks of a range from this store's engine; every store is asked for itself.
    pub async fn unsafe_destroy_range(&self, request: UnsafeDestroyRangeRequest) -> Result<UnsafeDestroyRangeResponse> {
        self.destroy(KeyRange { start: request.start_key, end: request.end_key }).await?;
        Ok(UnsafeDestroyRangeResponse::default())
    }

    /// Removes all versions and locks of a range on every replica, in the order of other writes.
    pub async fn delete_range(&self, request: DeleteRangeRequest) -> Result<DeleteRangeResponse> {
        let range = KeyRange { start: request.start_key, end: request.end_key };
        if !request.notify_only && !range.is_empty() {
            let mut batch = WriteBatch::new();
            let (start, end) = engine_bounds(&range);
            Cf::REGION_LOCAL.into_iter().for_each(|cf| batch.delete_range(cf, &start, &end));
            let locks = self.stored_locks(&range).await?;
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let on_done = move |result| {
                // The receiver may have been dropped with its task.
                let _ = sender.send(result);
            };
            self.inner.writes.submit(batch, SpaceUse::Essential, Box::new(on_done));
            receiver.await.map_err(|_| Error::Stopped)??;
            self.inner.forget_range(&range, locks);
        }
        Ok(DeleteRangeResponse::default())
    }

    /// Locks of the range in the engine; counted off when they are gone. A transaction that still holds one has lost its table.
    async fn stored_locks(&self, range: &KeyRange) -> Result<usize> {
        let (inner, range) = (self.inner.clone(), range.clone());
        let job = move || Ok(mvcc::MvccReader::new(&inner.engine).scan_locks(&range.start, &range.end, usize::MAX, |_| true)?.len());
        self.inner.env.run_blocking(job).await.unwrap_or(Err(Error::Stopped))
    }

    async fn destroy(&self, range: KeyRange) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let locks = self.stored_locks(&range).await?;
        let inner = self.inner.clone();
        let job = move || {
            let (start, end) = engine_bounds(&range);
            inner.engine.unsafe_destroy_range(&start, &end)?;
            inner.forget_range(&range, locks);
            Ok(())
        };
        self.inner.env.run_blocking(job).await.unwrap_or(Err(Error::Stopped))
    }
}

impl<E: Engine> Inner<E> {
    /// The range has gone, with so many stored locks: what is in memory goes too.
    fn forget_range(&self, range: &KeyRange, stored: usize) {
        self.recent.forget_all();
        self.add_stored_locks(-(stored as i64));
        for (key, lock) in self.pessimistic.list(|key, _| range.contains(key)) {
            self.pessimistic.remove(&key, lock.start_ts);
            self.waits.wake(&key);
        }
    }
}

//! Where writes are handed in: the border between those who decide what to write and what makes it durable.
//!
//! ```text
//!   txn ── batch ──▶ WriteQueue ─┬─ CommitQueue   one store: one thread, one sync for all that wait
//!                                └─ a region      replicas: proposed through Raft, applied on every store that has the region
//! ```
//!
//! Invariants every implementation keeps:
//! - `on_done` is called exactly once, after the batch is visible to reads of this engine and as durable as the store promises, or has been
//!   refused.
//! - Batches of one caller that do not wait for each other may be applied in any order; who needs an order waits for `on_done`.
//! - [`Error::Displaced`](crate::Error::Displaced) says that the batch was not taken here, or that its fate is for its keys' next owner to
//!   tell; nothing is said about the engine.

use crate::{CommitQueue, Engine, Result, SpaceUse, WriteBatch};

/// Told what became of a batch; quick, for the next batches wait behind it.
pub type WriteDone = Box<dyn FnOnce(Result<()>) + Send>;

/// Takes batches and makes them durable.
pub trait WriteQueue: Send + Sync + 'static {
    /// Hands a batch in. `space` decides whether it is let through when the disk is nearly full.
    fn submit(&self, batch: WriteBatch, space: SpaceUse, on_done: WriteDone);
}

impl<E: Engine> WriteQueue for CommitQueue<E> {
    fn submit(&self, batch: WriteBatch, space: SpaceUse, on_done: WriteDone) {
        self.submit_as(space, batch, on_done);
    }
}

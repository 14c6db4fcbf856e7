//! Writes the pessimistic locks in memory to the engine, where they stay when the region is merged into one that another store leads.
//!
//! ```text
//!   sealed: no lock is taken any more ─▶ commands that hold latches end ─▶ locks in memory, key by key under latches, into the engine
//! ```
//!
//! Whoever asks for a lock meanwhile is displaced and asks again, of the region that has the key then. All other commands go on.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use engine::{Engine, SpaceUse};
use mvcc::LockPlace;

use crate::{
    error::Result,
    storage::Storage,
    write::{Command, ProcessContext},
};

/// Locks written together.
const LOCKS_AT_ONCE: usize = 256;

#[derive(Clone)]
struct StoreLocks {
    keys: Vec<Bytes>,
}

impl<E: Engine> Storage<E> {
    /// Writes all pessimistic locks in memory to the engine, and takes no new ones until [`Storage::take_locks_again`]. Answers how many
    /// were written.
    pub async fn store_locks(&self) -> Result<usize> {
        self.inner.sealed.store(true, Ordering::SeqCst);
        // Who takes a lock looks at the seal while it holds the key's latch.
        self.inner.latches.wait_for_running().await;
        let keys: Vec<Bytes> = self.inner.pessimistic.list(|_, _| true).into_iter().map(|(key, _)| key).collect();
        let mut written = 0;
        for keys in keys.chunks(LOCKS_AT_ONCE) {
            written += self.execute(&StoreLocks { keys: keys.to_vec() }).await?;
        }
        Ok(written)
    }

    /// Takes pessimistic locks again: the region stays.
    pub fn take_locks_again(&self) {
        self.inner.sealed.store(false, Ordering::SeqCst);
    }
}

impl Command for StoreLocks {
    type Answer = usize;

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|key| &key[..])
    }

    fn start_ts(&self) -> Option<base::TimeStamp> {
        None
    }

    fn process<E: Engine>(&self, context: &mut ProcessContext<'_, E>) -> Result<usize> {
        let mut written = 0;
        for key in &self.keys {
            // One that was given back or prewritten meanwhile is not in memory any more.
            if let Some(loaded) = context.reader.load_lock(key)?.filter(|loaded| loaded.in_memory) {
                context.txn.put_lock(key, &loaded.lock, LockPlace::Stored, Some(&loaded));
                written += 1;
            }
        }
        Ok(written)
    }

    fn space(&self) -> SpaceUse {
        SpaceUse::Essential
    }
}

//! Pessimistic locks of running transactions, in memory.
//!
//! A pessimistic lock protects a transaction that is still running its statements; if the process dies, so does the transaction, and
//! nothing was promised to anybody. So these locks are never written: taking one costs a map insert instead of a synced write.
//!
//! Invariants:
//! - A lock of a key is put, replaced and removed by somebody who holds the key's latch.
//! - Only locks of the pessimistic kind are here; a prewritten key's lock is in the engine.

use std::{
    hash::BuildHasher,
    sync::atomic::{AtomicUsize, Ordering},
};

use base::TimeStamp;
use bytes::Bytes;
use mvcc::{Lock, MemoryLocks};
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};

const SHARDS: usize = 64;

#[derive(Debug)]
pub(crate) struct PessimisticLocks {
    shards: [Mutex<FxHashMap<Bytes, Lock>>; SHARDS],
    len: AtomicUsize,
}

impl Default for PessimisticLocks {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), len: AtomicUsize::new(0) }
    }
}

impl PessimisticLocks {
    fn shard(&self, key: &[u8]) -> &Mutex<FxHashMap<Bytes, Lock>> {
        &self.shards[(FxBuildHasher.hash_one(key) >> 32) as usize % SHARDS]
    }

    /// Puts or replaces the lock of a key; answers whether the key had none before.
    pub(crate) fn put(&self, key: Bytes, lock: Lock) -> bool {
        let is_new = self.shard(&key).lock().insert(key.clone(), lock).is_none();
        if is_new {
            self.len.fetch_add(1, Ordering::SeqCst);
        }
        is_new
    }

    /// Removes the lock of a transaction; answers whether it was there.
    pub(crate) fn remove(&self, key: &[u8], start_ts: TimeStamp) -> bool {
        let mut shard = self.shard(key).lock();
        if shard.get(key).is_none_or(|lock| lock.start_ts != start_ts) {
            return false;
        }
        shard.remove(key);
        self.len.fetch_sub(1, Ordering::SeqCst);
        true
    }

    /// Locks that `wanted` accepts, in no order.
    pub(crate) fn list(&self, mut wanted: impl FnMut(&[u8], &Lock) -> bool) -> Vec<(Bytes, Lock)> {
        let mut found = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            found.extend(shard.iter().filter(|(key, lock)| wanted(key, lock)).map(|(key, lock)| (key.clone(), lock.clone())));
        }
        found
    }

    /// Number of locks.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::SeqCst)
    }
}

impl MemoryLocks for PessimisticLocks {
    fn pessimistic_lock(&self, key: &[u8]) -> Option<Lock> {
        if self.len() == 0 {
            return None;
        }
        self.shard(key).lock().get(key).cloned()
    }
}

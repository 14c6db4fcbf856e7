//! Pessimistic locks of running transactions, in memory.
//!
//! A pessimistic lock protects a transaction that is still running its statements; if the process dies, so does the transaction, and
//! nothing was promised to anybody. So these locks are never written: taking one costs a map insert instead of a synced write.
//!
//! While a key is locked nobody but the lock's owner can replace its record, so the record that was read when the key was locked is
//! remembered with the lock: the commit that writes the key need not look it up again. Large records, and those of transactions with very many
//! locks, are not worth the memory.
//!
//! Invariants:
//! - A lock of a key is put, replaced and removed by somebody who holds the key's latch.
//! - Only locks of the pessimistic kind are here; a prewritten key's lock is in the engine.

use std::{
    collections::hash_map::Entry,
    hash::BuildHasher,
    sync::atomic::{AtomicUsize, Ordering},
};

use base::TimeStamp;
use bytes::Bytes;
use mvcc::{Lock, MemoryLocks};
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};

const SHARDS: usize = 64;

/// Larger records are not remembered.
const REMEMBERED_RECORD_BYTES: usize = 1024;

/// With more locks than this no record is remembered.
const REMEMBERED_RECORDS: usize = 1 << 16;

#[derive(Debug)]
struct Held {
    lock: Lock,
    /// The record in `data`, if it is remembered; `Some(None)`: there is none.
    record: Option<Option<Bytes>>,
}

#[derive(Debug)]
pub(crate) struct PessimisticLocks {
    shards: [Mutex<FxHashMap<Bytes, Held>>; SHARDS],
    len: AtomicUsize,
}

impl Default for PessimisticLocks {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), len: AtomicUsize::new(0) }
    }
}

impl PessimisticLocks {
    fn shard(&self, key: &[u8]) -> &Mutex<FxHashMap<Bytes, Held>> {
        &self.shards[(FxBuildHasher.hash_one(key) >> 32) as usize % SHARDS]
    }

    /// Puts or replaces the lock of a key; answers whether the key had none before.
    pub(crate) fn put(&self, key: Bytes, lock: Lock) -> bool {
        match self.shard(&key).lock().entry(key) {
            Entry::Occupied(mut held) => {
                held.get_mut().lock = lock;
                false
            }
            Entry::Vacant(place) => {
                place.insert(Held { lock, record: None });
                self.len.fetch_add(1, Ordering::SeqCst);
                true
            }
        }
    }

    /// Remembers the record of a key that is locked.
    pub(crate) fn remember(&self, key: &[u8], record: Option<Bytes>) {
        if record.as_ref().is_some_and(|record| record.len() > REMEMBERED_RECORD_BYTES) || self.len() > REMEMBERED_RECORDS {
            return;
        }
        if let Some(held) = self.shard(key).lock().get_mut(key) {
            held.record = Some(record);
        }
    }

    /// Removes the lock of a transaction; answers whether it was there.
    pub(crate) fn remove(&self, key: &[u8], start_ts: TimeStamp) -> bool {
        let mut shard = self.shard(key).lock();
        if shard.get(key).is_none_or(|held| held.lock.start_ts != start_ts) {
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
            found.extend(shard.iter().filter(|(key, held)| wanted(key, &held.lock)).map(|(key, held)| (key.clone(), held.lock.clone())));
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
        self.shard(key).lock().get(key).map(|held| held.lock.clone())
    }

    fn known_record(&self, key: &[u8]) -> Option<Option<Bytes>> {
        if self.len() == 0 {
            return None;
        }
        self.shard(key).lock().get(key).and_then(|held| held.record.clone())
    }
}

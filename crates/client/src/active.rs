//! The timestamps that somebody in this process still reads or writes at.
//!
//! Two tasks of the background look at this set: garbage collection must not pass the oldest timestamp, and transactions that
//! hold locks need their time to live renewed. Registering is a push into one of a few sharded maps, so that
//! connections do not meet at one lock.
//!
//! Invariant: a timestamp is in the set from before its first read or write until its owner is dropped.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use base::TimeStamp;
use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

const SHARDS: usize = 32;

#[derive(Debug)]
struct Active {
    ts: TimeStamp,
    /// The key whose lock stands for the transaction, once it holds one.
    primary: Option<Bytes>,
}

/// Registered timestamps.
#[derive(Debug, Default)]
pub(crate) struct ActiveSet {
    shards: [Mutex<FxHashMap<u64, Active>>; SHARDS],
    next_id: AtomicU64,
}

/// Keeps a timestamp registered until dropped.
#[derive(Debug)]
pub(crate) struct ActiveGuard {
    set: Arc<ActiveSet>,
    id: u64,
}

impl ActiveSet {
    pub(crate) fn register(self: &Arc<Self>, ts: TimeStamp) -> ActiveGuard {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.shard(id).lock().insert(id, Active { ts, primary: None });
        ActiveGuard { set: self.clone(), id }
    }

    fn shard(&self, id: u64) -> &Mutex<FxHashMap<u64, Active>> {
        &self.shards[id as usize % SHARDS]
    }

    /// The oldest registered timestamp.
    pub(crate) fn oldest(&self) -> Option<TimeStamp> {
        self.shards.iter().filter_map(|shard| shard.lock().values().map(|active| active.ts).min()).min()
    }

    /// Transactions that hold locks, with their primary key.
    pub(crate) fn lock_holders(&self) -> Vec<(TimeStamp, Bytes)> {
        let mut holders = Vec::new();
        for shard in &self.shards {
            holders.extend(shard.lock().values().filter_map(|active| Some((active.ts, active.primary.clone()?))));
        }
        holders
    }
}

impl ActiveGuard {
    /// Says that the transaction holds a lock on its primary key.
    pub(crate) fn set_primary(&self, primary: Bytes) {
        if let Some(active) = self.set.shard(self.id).lock().get_mut(&self.id) {
            active.primary = Some(primary);
        }
    }
}

impl Drop for ActiveGuard {
    fn drop(&mut self) {
        self.set.shard(self.id).lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_follows_registrations() {
        let set = Arc::new(ActiveSet::default());
        assert_eq!(set.oldest(), None);
        let old = set.register(TimeStamp(5));
        let _young = set.register(TimeStamp(9));
        old.set_primary(Bytes::from_static(b"p"));
        assert_eq!(set.lock_holders(), [(TimeStamp(5), Bytes::from_static(b"p"))]);
        drop(old);
        assert_eq!(set.oldest(), Some(TimeStamp(9)));
        assert!(set.lock_holders().is_empty());
    }
}

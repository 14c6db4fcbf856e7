//! How much memory a statement holds, against its quota (`tidb_mem_quota_query`).
//!
//! Operators that keep rows hold a [`Reservation`] and tell it their size after each chunk. Over the quota an operator that can spill does so;
//! one that cannot fails with [`Error::MemoryQuota`].
//!
//! Invariant: a tracker's sum is the sum of its live reservations, so it is zero when the statement is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// The memory of one statement. Clones share it.
#[derive(Clone, Debug)]
pub struct MemTracker {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    used: AtomicU64,
    peak: AtomicU64,
    quota: u64,
}

impl Default for MemTracker {
    fn default() -> Self {
        Self::new(None)
    }
}

impl MemTracker {
    /// A tracker with a quota in bytes; `None` for no limit.
    pub fn new(quota_bytes: Option<u64>) -> Self {
        Self { shared: Arc::new(Shared { used: AtomicU64::new(0), peak: AtomicU64::new(0), quota: quota_bytes.unwrap_or(u64::MAX) }) }
    }

    /// Bytes held now.
    pub fn used_bytes(&self) -> u64 {
        self.shared.used.load(Ordering::Relaxed)
    }

    /// The most bytes ever held.
    pub fn peak_bytes(&self) -> u64 {
        self.shared.peak.load(Ordering::Relaxed)
    }

    /// The quota; `u64::MAX` for none.
    pub fn quota_bytes(&self) -> u64 {
        self.shared.quota
    }

    /// A reservation of nothing yet.
    pub fn reserve(&self, operator: &'static str) -> Reservation {
        Reservation { tracker: self.clone(), operator, bytes: 0 }
    }
}

/// What one operator holds; given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    tracker: MemTracker,
    operator: &'static str,
    bytes: u64,
}

impl Reservation {
    /// Sets the operator's size; an error when the statement is over its quota then.
    pub fn set(&mut self, bytes: usize) -> Result<()> {
        if self.set_quietly(bytes) { Ok(()) } else { Err(self.over_quota()) }
    }

    /// Sets the operator's size; whether the statement is still within its quota.
    pub fn set_quietly(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let shared = &self.tracker.shared;
        let used = if bytes >= self.bytes {
            let grown = bytes - self.bytes;
            shared.used.fetch_add(grown, Ordering::Relaxed) + grown
        } else {
            let shrunk = self.bytes - bytes;
            shared.used.fetch_sub(shrunk, Ordering::Relaxed) - shrunk
        };
        self.bytes = bytes;
        shared.peak.fetch_max(used, Ordering::Relaxed);
        used <= shared.quota
    }

    /// The error for being over the quota.
    pub fn over_quota(&self) -> Error {
        Error::MemoryQuota { operator: self.operator, wanted_bytes: self.tracker.used_bytes(), quota_bytes: self.tracker.quota_bytes() }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.tracker.shared.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_add_up_and_are_given_back() {
        let tracker = MemTracker::new(Some(100));
        let mut sort = tracker.reserve("Sort");
        let mut join = tracker.reserve("HashJoin");
        assert!(sort.set(60).is_ok());
        assert!(matches!(join.set(50), Err(Error::MemoryQuota { operator: "HashJoin", wanted_bytes: 110, quota_bytes: 100 })));
        assert!(sort.set_quietly(10));
        drop(sort);
        assert_eq!((tracker.used_bytes(), tracker.peak_bytes()), (50, 110));
        drop(join);
        assert_eq!(tracker.used_bytes(), 0);
    }
}

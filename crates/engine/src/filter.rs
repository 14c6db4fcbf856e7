//! Garbage collection while files are compacted.
//!
//! A [`GcFilter`] is a safe point that only grows and a *stateless* decision about one record. RocksDB runs several compactions at once,
//! so each of them gets a filter object of its own from a factory; all they share are the safe point and a few counters.
//!
//! Invariants:
//! - The safe point is read once when a compaction starts: a later one can only make more garbage, never less.
//! - A record that cannot be read is kept and counted. The filter never panics: it runs on a C++ thread.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::Cf;

/// What becomes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Somebody may still read it.
    Keep,
    /// Nobody at or above the safe point can see it.
    Remove,
    /// It cannot be read; it is kept.
    Undecodable,
}

/// What filters have seen since the engine was opened.
#[derive(Debug, Default)]
pub struct GcCounters {
    /// Records removed, by column family in the order of [`Cf::ALL`].
    pub removed: [AtomicU64; Cf::ALL.len()],
    /// Records that could not be read.
    pub undecodable: AtomicU64,
}

/// The rule by which compaction collects garbage.
#[derive(Clone, Debug)]
pub struct GcFilter {
    /// Versions nobody at or above this timestamp can see are garbage; zero collects nothing.
    pub safe_point: Arc<AtomicU64>,
    /// Decides about one record at a safe point. Must not panic and must depend on its arguments only.
    pub decide: fn(cf: Cf, key: &[u8], value: &[u8], safe_point: u64) -> Decision,
    /// What was collected.
    pub counters: Arc<GcCounters>,
}

impl GcFilter {
    /// A filter with a safe point of its own at zero.
    pub fn new(decide: fn(Cf, &[u8], &[u8], u64) -> Decision) -> Self {
        Self { safe_point: Arc::default(), decide, counters: Arc::default() }
    }

    /// Whether the filter has anything to say about a column family.
    pub(crate) fn applies_to(cf: Cf) -> bool {
        matches!(cf, Cf::Data | Cf::History | Cf::Txn | Cf::Raw)
    }

    /// The safe point as it is now.
    pub(crate) fn current_safe_point(&self) -> u64 {
        self.safe_point.load(Ordering::Acquire)
    }

    /// Whether a record goes, counting it.
    pub(crate) fn removes(&self, cf: Cf, key: &[u8], value: &[u8], safe_point: u64) -> bool {
        match (self.decide)(cf, key, value, safe_point) {
            Decision::Keep => false,
            Decision::Remove => {
                self.counters.removed[cf.index()].fetch_add(1, Ordering::Relaxed);
                true
            }
            Decision::Undecodable => {
                self.counters.undecodable.fetch_add(1, Ordering::Relaxed);
                false
            }
        }
    }
}

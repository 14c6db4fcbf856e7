//! The three floors of garbage collection, in the order they are raised.
//!
//! | floor | refuses | raised |
//! |---|---|---|
//! | write floor | prewrite, pessimistic lock and 1PC with start_ts ≤ it | before locks are resolved |
//! | readable floor | reads with ts < it | after locks were resolved and the safe point was persisted |
//! | filter | (lets compaction collect) | last |
//!
//! Rules 1 and 2 of the version layout. Invariants: filter ≤ readable floor ≤ write floor; none goes backwards; the persisted safe point is at
//! least the filter's.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use base::TimeStamp;

#[derive(Debug)]
pub(crate) struct SafePoints {
    write_floor: AtomicU64,
    readable_floor: AtomicU64,
    /// Shared with the compaction filters.
    filter: Arc<AtomicU64>,
}

impl SafePoints {
    /// All floors at the persisted safe point.
    pub(crate) fn new(persisted: TimeStamp, filter: Arc<AtomicU64>) -> Self {
        filter.fetch_max(persisted.0, Ordering::SeqCst);
        Self { write_floor: AtomicU64::new(persisted.0), readable_floor: AtomicU64::new(persisted.0), filter }
    }

    /// Transactions that began at or before this timestamp cannot write any more.
    pub(crate) fn write_floor(&self) -> TimeStamp {
        TimeStamp(self.write_floor.load(Ordering::SeqCst))
    }

    /// Reads below this timestamp are refused.
    #[inline]
    pub(crate) fn readable_floor(&self) -> TimeStamp {
        TimeStamp(self.readable_floor.load(Ordering::SeqCst))
    }

    pub(crate) fn raise_write_floor(&self, safe_point: TimeStamp) {
        self.write_floor.fetch_max(safe_point.0, Ordering::SeqCst);
    }

    /// Refuses reads below `safe_point`, then lets compaction collect.
    pub(crate) fn publish(&self, safe_point: TimeStamp) {
        assert!(
            safe_point <= self.write_floor(),
            "safe point {safe_point} is published before writes at or below it were refused ({})",
            self.write_floor()
        );
        self.readable_floor.fetch_max(safe_point.0, Ordering::SeqCst);
        self.filter.fetch_max(safe_point.0, Ordering::SeqCst);
    }
}

//! The greatest timestamp anybody has read at.
//!
//! A transaction that computes its own commit timestamp (one-phase and async commit) must take one above every read that may already
//! have passed by its keys. Rule 8 of the version layout: a reader raises `max_ts`, *then* looks at the table of commits in
//! flight; a writer puts itself into that table, *then* looks at `max_ts`. In the single order of these four steps one of the two sees
//! the other, so all accesses are sequentially consistent.
//!
//! Invariants:
//! - `max_ts` never goes backwards.
//! - The maximal timestamp ("read the newest") never enters it.

use std::sync::atomic::{AtomicU64, Ordering};

use base::TimeStamp;

#[derive(Debug, Default)]
pub(crate) struct MaxTs(AtomicU64);

impl MaxTs {
    pub(crate) fn new(ts: TimeStamp) -> Self {
        Self(AtomicU64::new(ts.0))
    }

    /// Notes a read at `ts`.
    #[inline]
    pub(crate) fn raise(&self, ts: TimeStamp) {
        // Most reads are not the newest one: they leave the cache line shared.
        if !ts.is_max() && self.0.load(Ordering::SeqCst) < ts.0 {
            self.0.fetch_max(ts.0, Ordering::SeqCst);
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> TimeStamp {
        TimeStamp(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximal_timestamp_never_enters() {
        let max_ts = MaxTs::new(TimeStamp(3));
        for ts in [TimeStamp(7), TimeStamp::MAX, TimeStamp(5)] {
            max_ts.raise(ts);
        }
        assert_eq!(max_ts.get(), TimeStamp(7));
    }
}

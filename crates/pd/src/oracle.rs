//! The timestamp oracle.
//!
//! ```text
//!   persisted:  limit ────────────────────────────────┐
//!   memory:     last ──▶ next = max(last + 1, now) ───┤ must stay below
//!   restart:    last := limit (of the disk)           ▼
//! ```
//!
//! Handing out a timestamp is a compare-and-swap. The limit is a *window* ahead of the clock; it is on disk before any timestamp below
//! it is handed out, so a restarted oracle, which begins at the limit, is past everything handed out before.
//!
//! Pure: the wall clock is an argument, and what is to be persisted is a result. Invariants:
//! - Timestamps grow strictly, also when the wall clock stands still or jumps back.
//! - `last` < `limit` at all times.

use std::sync::atomic::{AtomicU64, Ordering};

use base::TimeStamp;

/// How far ahead of the clock a window reaches.
const WINDOW_MS: u64 = 3000;

/// A window with less left than this is renewed before it is used up.
const RENEW_BELOW_MS: u64 = 1500;

/// Timestamps of one physical part.
pub const MAX_BATCH: u64 = 1 << 18;

/// What the oracle answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTimestamp {
    /// A timestamp. `renew`: the window is nearly used up, persist the next one soon.
    Ready {
        /// The timestamp.
        ts: TimeStamp,
        /// Whether a new window should be persisted soon.
        renew: bool,
    },
    /// The window is used up: persist a new one first.
    WindowUsedUp,
}

/// Counts timestamps within a persisted window.
#[derive(Debug)]
pub struct TimestampOracle {
    last: AtomicU64,
    limit: AtomicU64,
}

impl TimestampOracle {
    /// An oracle that goes on behind the limit persisted by its predecessor (zero for a new cluster). Its window is empty.
    pub fn new(persisted_limit: TimeStamp) -> Self {
        Self { last: AtomicU64::new(persisted_limit.0), limit: AtomicU64::new(persisted_limit.0) }
    }

    /// The next timestamp when the wall clock shows `wall_ms`.
    #[inline]
    pub fn next(&self, wall_ms: u64) -> NextTimestamp {
        let now = TimeStamp::compose(wall_ms, 0).0;
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let next = now.max(last + 1);
            let limit = self.limit.load(Ordering::Acquire);
            if next >= limit {
                return NextTimestamp::WindowUsedUp;
            }
            match self.last.compare_exchange_weak(last, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    let ts = TimeStamp(next);
                    let left_ms = TimeStamp(limit).physical_ms() - ts.physical_ms();
                    return NextTimestamp::Ready { ts, renew: left_ms < RENEW_BELOW_MS };
                }
                Err(actual) => last = actual,
            }
        }
    }

    /// `count` timestamps with the same physical part, the greatest of which is answered. `count` must be above zero and fit the logical
    /// counter (`MAX_BATCH`).
    pub fn next_batch(&self, wall_ms: u64, count: u64) -> NextTimestamp {
        assert!((1..=MAX_BATCH).contains(&count), "a batch of {count} timestamps");
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let mut first = TimeStamp::compose(wall_ms, 0).max(TimeStamp(last + 1));
            if first.logical() + count > MAX_BATCH {
                first = TimeStamp::compose(first.physical_ms() + 1, 0);
            }
            let greatest = first.0 + count - 1;
            let limit = self.limit.load(Ordering::Acquire);
            if greatest >= limit {
                return NextTimestamp::WindowUsedUp;
            }
            match self.last.compare_exchange_weak(last, greatest, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    let ts = TimeStamp(greatest);
                    return NextTimestamp::Ready { ts, renew: TimeStamp(limit).physical_ms() - ts.physical_ms() < RENEW_BELOW_MS };
                }
                Err(actual) => last = actual,
            }
        }
    }

    /// The limit of the window to persist next; see [`TimestampOracle::open_window`].
    pub fn next_limit(&self, wall_ms: u64) -> TimeStamp {
        let last_ms = TimeStamp(self.last.load(Ordering::Acquire)).physical_ms();
        let limit = TimeStamp::compose(wall_ms.max(last_ms) + WINDOW_MS, 0);
        limit.max(self.limit())
    }

    /// Opens the window up to `limit`, which is on disk now.
    pub fn open_window(&self, limit: TimeStamp) {
        self.limit.fetch_max(limit.0, Ordering::AcqRel);
    }

    /// Where the window ends.
    pub fn limit(&self) -> TimeStamp {
        TimeStamp(self.limit.load(Ordering::Acquire))
    }

    /// The greatest timestamp handed out (or possibly handed out by a predecessor).
    pub fn last(&self) -> TimeStamp {
        TimeStamp(self.last.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(oracle: &TimestampOracle, wall_ms: u64) -> TimeStamp {
        match oracle.next(wall_ms) {
            NextTimestamp::Ready { ts, .. } => ts,
            NextTimestamp::WindowUsedUp => {
                oracle.open_window(oracle.next_limit(wall_ms));
                ready(oracle, wall_ms)
            }
        }
    }

    #[test]
    fn timestamps_grow_when_the_clock_stands_still_or_jumps_back() {
        let oracle = TimestampOracle::new(TimeStamp::ZERO);
        let mut last = TimeStamp::ZERO;
        for wall_ms in [5000, 5000, 5001, 10, 0, 5001, 9000] {
            let ts = ready(&oracle, wall_ms);
            assert!(ts > last, "{last} then {ts} at {wall_ms}");
            last = ts;
        }
        assert_eq!(last, TimeStamp::compose(9000, 0));
    }

    #[test]
    fn a_restart_goes_on_behind_everything_handed_out() {
        let oracle = TimestampOracle::new(TimeStamp::ZERO);
        let before = ready(&oracle, 5000);
        let persisted = oracle.limit();
        // The clock was set back while the process was down.
        let restarted = TimestampOracle::new(persisted);
        assert_eq!(restarted.next(100), NextTimestamp::WindowUsedUp);
        assert!(ready(&restarted, 100) > before.max(persisted));
    }

    #[test]
    fn a_batch_shares_its_physical_part_and_overlaps_with_no_other() {
        let oracle = TimestampOracle::new(TimeStamp::ZERO);
        oracle.open_window(TimeStamp::compose(100, 0));
        let mut last = TimeStamp::ZERO;
        for count in [1, MAX_BATCH, 7, MAX_BATCH - 1, MAX_BATCH] {
            let NextTimestamp::Ready { ts, .. } = oracle.next_batch(5, count) else { panic!("the window is wide enough") };
            assert!(ts.logical() + 1 >= count && ts.0 - count >= last.0, "{count} after {last}: {ts}");
            last = ts;
        }
        assert_eq!(oracle.next_batch(100, 1), NextTimestamp::WindowUsedUp);
    }

    #[test]
    fn a_window_is_renewed_before_it_is_used_up() {
        let oracle = TimestampOracle::new(TimeStamp::ZERO);
        let _ = ready(&oracle, 1000);
        assert!(matches!(oracle.next(1001), NextTimestamp::Ready { renew: false, .. }));
        assert!(matches!(oracle.next(1000 + WINDOW_MS - 1), NextTimestamp::Ready { renew: true, .. }));
        assert_eq!(oracle.next(1000 + WINDOW_MS), NextTimestamp::WindowUsedUp);
    }
}

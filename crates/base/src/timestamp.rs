//! Timestamps of the oracle (TSO).
//!
//! ```text
//!  63                              18 17               0
//! +----------------------------------+------------------+
//! | physical: ms since the epoch     | logical counter  |
//! +----------------------------------+------------------+
//! ```
//!
//! The layout is the one of the existing ecosystem, so timestamps can be shared with other clients of a placement driver.

use serde::{Deserialize, Serialize};

/// Bits of the logical counter.
const LOGICAL_BITS: u32 = 18;

/// A timestamp of the oracle: transactions are ordered by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimeStamp(pub u64);

impl TimeStamp {
    /// "No timestamp"; smaller than every real one.
    pub const ZERO: Self = Self(0);
    /// "The newest version"; greater than every real one, and never handed out.
    pub const MAX: Self = Self(u64::MAX);

    /// Puts a timestamp together from milliseconds since the Unix epoch and a logical counter.
    pub fn compose(physical_ms: u64, logical: u64) -> Self {
        debug_assert!(logical < 1 << LOGICAL_BITS);
        Self((physical_ms << LOGICAL_BITS) + logical)
    }

    /// Milliseconds since the Unix epoch.
    pub fn physical_ms(self) -> u64 {
        self.0 >> LOGICAL_BITS
    }

    /// The logical counter.
    pub fn logical(self) -> u64 {
        self.0 & ((1 << LOGICAL_BITS) - 1)
    }

    /// The next timestamp. Must not be asked of [`TimeStamp::MAX`].
    pub fn next(self) -> Self {
        assert!(self.0 < u64::MAX, "timestamp overflow");
        Self(self.0 + 1)
    }

    /// The previous timestamp. Must not be asked of [`TimeStamp::ZERO`].
    pub fn prev(self) -> Self {
        assert!(self.0 > 0, "timestamp underflow");
        Self(self.0 - 1)
    }

    /// Whether this is [`TimeStamp::ZERO`].
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether this is [`TimeStamp::MAX`].
    pub fn is_max(self) -> bool {
        self.0 == u64::MAX
    }
}

impl From<u64> for TimeStamp {
    fn from(ts: u64) -> Self {
        Self(ts)
    }
}

impl std::fmt::Display for TimeStamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn physical_and_logical_parts_come_back() {
        let ts = TimeStamp::compose(1_700_000_000_123, 77);
        assert_eq!((ts.physical_ms(), ts.logical()), (1_700_000_000_123, 77));
        assert!(ts.next() > ts && ts.prev() < ts && ts < TimeStamp::MAX);
    }
}

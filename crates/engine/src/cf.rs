//! The column families.
//!
//! The order of the variants is part of the format on disk: it decides the ids RocksDB numbers them by (see `rocks`), and a batch in the
//! write-ahead log names a family by that id. Add at the end; never reorder.

/// A column family: an ordered map of its own; all of them share one write-ahead log and one block cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cf {
    /// The current version of every key.
    Data,
    /// Versions that were superseded, under `key + descending commit_ts`.
    History,
    /// Locks of transactions in flight.
    Lock,
    /// Rollback records and lock-only commits, under `key + descending start_ts`.
    Txn,
    /// Values of the raw (non-transactional) API.
    Raw,
    /// What the process keeps about itself: cluster id, format version, timestamp high-water mark.
    Meta,
}

impl Cf {
    /// Every column family, in the order of their ids.
    pub const ALL: [Self; 6] = [Self::Data, Self::History, Self::Lock, Self::Txn, Self::Raw, Self::Meta];

    /// The column families that hold region data: what a destroyed range must be removed from.
    pub const REGION_LOCAL: [Self; 5] = [Self::Data, Self::History, Self::Lock, Self::Txn, Self::Raw];

    /// The name on disk and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::History => "history",
            Self::Lock => "lock",
            Self::Txn => "txn",
            Self::Raw => "raw",
            Self::Meta => "meta",
        }
    }

    /// Position in [`Cf::ALL`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl std::fmt::Display for Cf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

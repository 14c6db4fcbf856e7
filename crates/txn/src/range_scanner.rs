//! Scanning a range at a timestamp, for pages of a scan request and for pushed-down plans.
//!
//! Opening a scan has two parts. [`Storage::prepare_scan`] is asked once for a range and timestamp: it waits for commits in flight that the
//! scan must see. [`Storage::open_scanner`] may then be called any number of times, on any thread, for any part of that range.
//!
//! Invariant: rows given out before [`RangeScanner::check_safe_point`] has answered `Ok` may be wrong; nobody acts on them before.

use std::sync::Arc;

use base::{KeyRange, TimeStamp};
use engine::{Engine, ReadTier};
use mvcc::{LockPolicy, ScanOptions, Scanner};

use crate::{
    error::Result,
    safe_point::SafePoints,
    storage::{Inner, Storage},
};

/// What to scan, and how.
#[derive(Clone, Debug)]
pub struct ScanSettings {
    /// The user keys.
    pub range: KeyRange,
    /// The timestamp to read at.
    pub ts: TimeStamp,
    /// From the last key to the first.
    pub reverse: bool,
    /// Transactions whose locks do not concern the reader.
    pub ignored_locks: Vec<u64>,
    /// Transactions whose locks hold values the reader sees.
    pub committed_locks: Vec<u64>,
    /// Whether blocks read from disk stay out of the cache.
    pub not_fill_cache: bool,
    /// How far blocks may be fetched from.
    pub tier: ReadTier,
}

/// A scan over one state of the engine.
pub struct RangeScanner<E: Engine> {
    scanner: Scanner<E::Snapshot>,
    safe_points: Arc<SafePoints>,
    ts: TimeStamp,
}

impl<E: Engine> RangeScanner<E> {
    /// The next row, user key and value; `None` at the end. After an error the scanner stands where it was.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        Ok(self.scanner.next()?)
    }

    /// The key of the row given out last.
    pub fn last_key(&self) -> Option<&[u8]> {
        self.scanner.last_key()
    }

    /// Rule 2: asked after every page, before anybody sees its rows.
    pub fn check_safe_point(&self) -> Result<()> {
        Ok(mvcc::guards::readable_at(self.ts, self.safe_points.readable_floor())?)
    }
}

impl<E: Engine> Storage<E> {
    /// Makes sure that a scan of `range` at `ts` sees every commit at or below `ts`, waiting for those whose write is not applied yet.
    pub async fn prepare_scan(&self, range: &KeyRange, ts: TimeStamp) -> Result<()> {
        self.inner.check_readable(ts)?;
        self.inner.max_ts.raise(ts);
        while let Some(commit) = self.inner.in_flight.blocking_range(range, ts) {
            commit.applied().await;
        }
        Ok(())
    }

    /// Opens a scanner over a range that was prepared. May answer that it would have to wait for the disk.
    pub fn open_scanner(&self, settings: ScanSettings) -> Result<RangeScanner<E>> {
        let bypass = settings.ignored_locks.into_iter().map(TimeStamp).collect();
        let access = settings.committed_locks.into_iter().map(TimeStamp).collect();
        let options = ScanOptions {
            range: settings.range,
            ts: settings.ts,
            reverse: settings.reverse,
            policy: LockPolicy { bypass, access, ignore_locks: false },
            tier: settings.tier,
            skip_cache: settings.not_fill_cache,
        };
        self.inner.open_scanner(options)
    }
}

impl<E: Engine> Inner<E> {
    pub(crate) fn open_scanner(&self, mut options: ScanOptions) -> Result<RangeScanner<E>> {
        let ts = options.ts;
        self.check_readable(ts)?;
        // Read before the snapshot is taken: a lock that comes in between belongs to a commit above `ts`.
        options.policy.ignore_locks |= self.no_stored_locks();
        let scanner = Scanner::new(self.engine.snapshot(), options)?;
        Ok(RangeScanner { scanner, safe_points: self.safe_points.clone(), ts })
    }
}

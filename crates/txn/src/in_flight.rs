//! Commits in flight: keys whose commit timestamp is decided, or being decided, and whose write is not applied yet.
//!
//! ```text
//!   writer (1PC, async commit)                      reader at ts
//!   show(key)                ts unknown             raise max_ts to ts
//!   min_commit_ts := max(max_ts, …) + 1             look for keys here with min_commit_ts ≤ ts: wait for them
//!   write … applied                                 read
//!   withdraw
//! ```
//!
//! Rule 8 of the version layout. Looking is lock-free: an ordered skip list, and a counter that is zero when nothing is in flight.
//!
//! All keys of a command share one entry with the `min_commit_ts` of the first: the transaction commits at or above it, so a reader below it
//! is not concerned, and one above it waits, at worst for a commit it would not have seen.
//!
//! Invariants:
//! - A key is shown before its `min_commit_ts` is computed, and withdrawn after its write has been applied (or has failed).
//! - A reader never concludes anything from an entry whose timestamp is still unknown: it waits the few instructions until it is known.
//! - The latches allow one entry for a key at a time.

use std::{
    ops::Bound,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use base::{KeyRange, TimeStamp};
use bytes::Bytes;
use crossbeam_skiplist::SkipMap;
use smallvec::SmallVec;
use tokio::sync::Notify;

use crate::max_ts::MaxTs;

/// One command's commit; shared by all its keys.
#[derive(Debug)]
pub(crate) struct InFlightCommit {
    /// For messages and debuggers.
    #[allow(dead_code)]
    start_ts: TimeStamp,
    /// Zero while it is being computed.
    min_commit_ts: AtomicU64,
    applied: AtomicBool,
    waiters: Notify,
}

#[derive(Debug, Default)]
struct Shared {
    keys: SkipMap<Bytes, Arc<InFlightCommit>>,
    len: AtomicUsize,
}

/// Commits in flight of a store; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlightCommits {
    shared: Arc<Shared>,
}

/// The entries of one command; withdrawn when dropped, which must not happen before its write was applied or has failed.
#[derive(Debug)]
pub(crate) struct Publication {
    table: InFlightCommits,
    keys: SmallVec<[Bytes; 8]>,
    commit: Arc<InFlightCommit>,
}

impl InFlightCommit {
    fn min_commit_ts(&self) -> TimeStamp {
        loop {
            match self.min_commit_ts.load(Ordering::SeqCst) {
                // The writer computes it right after publishing; it may have lost its processor in between.
                0 => std::thread::yield_now(),
                ts => return TimeStamp(ts),
            }
        }
    }

    /// Completes once the write was applied or has failed.
    pub(crate) async fn applied(&self) {
        loop {
            let notified = self.waiters.notified();
            tokio::pin!(notified);
            // Registered before the flag is read, so that a withdrawal in between is not missed.
            notified.as_mut().enable();
            if self.applied.load(Ordering::Acquire) {
                return;
            }
            notified.await;
        }
    }
}

impl InFlightCommits {
    /// Begins the commit of a transaction; no key is shown yet.
    pub(crate) fn begin(&self, start_ts: TimeStamp) -> Publication {
        let commit = Arc::new(InFlightCommit {
            start_ts,
            min_commit_ts: AtomicU64::new(0),
            applied: AtomicBool::new(false),
            waiters: Notify::new(),
        });
        Publication { table: self.clone(), keys: SmallVec::new(), commit }
    }

    /// The commit on `key` that a reader at `ts` must wait for. `max_ts` has been raised to `ts` before.
    #[inline]
    pub(crate) fn blocking_key(&self, key: &[u8], ts: TimeStamp) -> Option<Arc<InFlightCommit>> {
        if self.shared.len.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let entry = self.shared.keys.get(key)?;
        (entry.value().min_commit_ts() <= ts).then(|| entry.value().clone())
    }

    /// A commit in `range` that a reader at `ts` must wait for. `max_ts` has been raised to `ts` before.
    pub(crate) fn blocking_range(&self, range: &KeyRange, ts: TimeStamp) -> Option<Arc<InFlightCommit>> {
        if self.shared.len.load(Ordering::SeqCst) == 0 || range.is_empty() {
            return None;
        }
        let upper = if range.end.is_empty() { Bound::Unbounded } else { Bound::Excluded(&range.end[..]) };
        let entries = self.shared.keys.range::<[u8], _>((Bound::Included(&range.start[..]), upper));
        entries.map(|entry| entry.value().clone()).find(|commit| commit.min_commit_ts() <= ts)
    }
}

impl Publication {
    /// Shows `key` to readers and answers its `min_commit_ts`: at least `at_least`, and above every read so far.
    pub(crate) fn show(&mut self, key: Bytes, at_least: TimeStamp, max_ts: &MaxTs) -> TimeStamp {
        // Counted first: who reads zero has come before all of this.
        self.table.shared.len.fetch_add(1, Ordering::SeqCst);
        self.table.shared.keys.insert(key.clone(), self.commit.clone());
        self.keys.push(key);
        let min_commit_ts = at_least.max(max_ts.get().next());
        if self.keys.len() == 1 {
            self.commit.min_commit_ts.store(min_commit_ts.0, Ordering::SeqCst);
        }
        min_commit_ts
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        for key in &self.keys {
            self.table.shared.keys.remove(key);
        }
        self.table.shared.len.fetch_sub(self.keys.len(), Ordering::SeqCst);
        self.commit.applied.store(true, Ordering::Release);
        self.commit.waiters.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(key: &'static str) -> Bytes {
        Bytes::from_static(key.as_bytes())
    }

    #[tokio::test]
    async fn only_readers_at_or_above_the_commit_wait_for_it() {
        let table = InFlightCommits::default();
        let max_ts = MaxTs::new(TimeStamp(9));
        let mut publication = table.begin(TimeStamp(5));
        assert_eq!(publication.show(key("a"), TimeStamp(6), &max_ts), TimeStamp(10));
        max_ts.raise(TimeStamp(20));
        assert_eq!(publication.show(key("c"), TimeStamp(6), &max_ts), TimeStamp(21));
        assert!(table.blocking_key(b"a", TimeStamp(9)).is_none());
        assert!(table.blocking_key(b"b", TimeStamp(11)).is_none());
        let blocking = table.blocking_key(b"a", TimeStamp(10)).unwrap();
        assert!(table.blocking_range(&KeyRange::new("b", "c"), TimeStamp(10)).is_none());
        assert!(table.blocking_range(&KeyRange::new("b", ""), TimeStamp(10)).is_some());
        let waiter = tokio::spawn(async move { blocking.applied().await });
        tokio::task::yield_now().await;
        drop(publication);
        waiter.await.unwrap();
        assert!(table.blocking_key(b"a", TimeStamp(10)).is_none());
        assert_eq!(table.shared.len.load(Ordering::SeqCst), 0);
    }

    /// Rule 8, the two orders in which a reader and a writer may meet, over many runs.
    #[test]
    fn a_reader_is_respected_or_sees_the_commit() {
        for round in 0..2000u64 {
            let table = InFlightCommits::default();
            let max_ts = Arc::new(MaxTs::new(TimeStamp(1)));
            let ts = TimeStamp(100 + round);
            let reader = std::thread::spawn({
                let (table, max_ts) = (table.clone(), max_ts.clone());
                move || {
                    max_ts.raise(ts);
                    table.blocking_key(b"a", ts).is_some()
                }
            });
            let mut publication = table.begin(TimeStamp(5));
            let min_commit_ts = publication.show(key("a"), TimeStamp(6), &max_ts);
            let saw_the_commit = reader.join().unwrap();
            assert!(saw_the_commit || min_commit_ts > ts, "a reader at {ts} passed by a commit at {min_commit_ts}");
        }
    }
}

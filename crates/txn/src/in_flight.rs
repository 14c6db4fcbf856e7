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
//! Rule 8 of the version layout. Keys are spread over a few slots by their hash, each a short list behind a lock of its own; one word says which
//! slots hold any, so that looking for a key (or a range) where nothing is in flight is one load. An ordered structure would serve ranges
//! better, but there are never more keys here than clients that commit, and every commit pays for showing and withdrawing its keys.
//!
//! All keys of a command share one entry with the `min_commit_ts` of the first: the transaction commits at or above it, so a reader below it
//! is not concerned, and one above it waits, at worst for a commit it would not have seen.
//!
//! Invariants:
//! - A key is shown before its `min_commit_ts` is computed, and withdrawn after its write has been applied (or has failed).
//! - A reader never concludes anything from an entry whose timestamp is still unknown: it waits the few instructions until it is known.
//! - The latches allow one entry for a key at a time.
//! - A slot's bit is set exactly while its list holds a key; both change under the slot's lock.

use std::{
    hash::{Hash as _, Hasher as _},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use base::{KeyRange, TimeStamp};
use bytes::Bytes;
use parking_lot::Mutex;
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

/// As many as the word of [`Shared::occupied`] has bits.
const SLOTS: usize = u64::BITS as usize;

/// The keys of one slot, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Slot(Mutex<Vec<(Bytes, Arc<InFlightCommit>)>>);

#[derive(Debug)]
struct Shared {
    slots: [Slot; SLOTS],
    /// Bit i: slot i holds a key.
    occupied: AtomicU64,
}

impl Default for Shared {
    fn default() -> Self {
        Self { slots: std::array::from_fn(|_| Slot::default()), occupied: AtomicU64::new(0) }
    }
}

impl Shared {
    fn insert(&self, key: Bytes, commit: Arc<InFlightCommit>) {
        let slot = slot_of(&key);
        let mut keys = self.slots[slot].0.lock();
        keys.push((key, commit));
        if keys.len() == 1 {
            self.occupied.fetch_or(1 << slot, Ordering::SeqCst);
        }
    }

    fn remove(&self, key: &[u8]) {
        let slot = slot_of(key);
        let mut keys = self.slots[slot].0.lock();
        if let Some(at) = keys.iter().position(|(shown, _)| shown == key) {
            keys.swap_remove(at);
        }
        if keys.is_empty() {
            self.occupied.fetch_and(!(1 << slot), Ordering::SeqCst);
        }
    }
}

/// Where a key is shown.
fn slot_of(key: &[u8]) -> usize {
    let mut hasher = rustc_hash::FxHasher::default();
    key.hash(&mut hasher);
    hasher.finish() as usize % SLOTS
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
        let occupied = self.shared.occupied.load(Ordering::SeqCst);
        if occupied == 0 {
            return None;
        }
        let slot = slot_of(key);
        if occupied & 1 << slot == 0 {
            return None;
        }
        self.blocking_in(slot, |shown| shown == key, ts)
    }

    /// A commit in `range` that a reader at `ts` must wait for. `max_ts` has been raised to `ts` before.
    pub(crate) fn blocking_range(&self, range: &KeyRange, ts: TimeStamp) -> Option<Arc<InFlightCommit>> {
        let mut occupied = self.shared.occupied.load(Ordering::SeqCst);
        while occupied != 0 {
            let slot = occupied.trailing_zeros() as usize;
            let blocking = self.blocking_in(slot, |shown| range.contains(shown), ts);
            if blocking.is_some() {
                return blocking;
            }
            occupied &= occupied - 1;
        }
        None
    }

    /// A commit on a wanted key of a slot that a reader at `ts` must wait for.
    fn blocking_in(&self, slot: usize, wanted: impl Fn(&[u8]) -> bool, ts: TimeStamp) -> Option<Arc<InFlightCommit>> {
        // Whether a timestamp is known must not be waited for under the lock: its writer may be about to show its next key here.
        let commits: SmallVec<[_; 4]> = {
            let keys = self.shared.slots[slot].0.lock();
            keys.iter().filter(|(shown, _)| wanted(shown)).map(|(_, commit)| commit.clone()).collect()
        };
        commits.into_iter().find(|commit| commit.min_commit_ts() <= ts)
    }
}

impl Publication {
    /// Shows `key` to readers and answers its `min_commit_ts`: at least `at_least`, and above every read so far.
    pub(crate) fn show(&mut self, key: Bytes, at_least: TimeStamp, max_ts: &MaxTs) -> TimeStamp {
        self.table.shared.insert(key.clone(), self.commit.clone());
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
            self.table.shared.remove(key);
        }
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
        assert_eq!(table.shared.occupied.load(Ordering::SeqCst), 0);
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

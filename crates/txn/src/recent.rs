//! Records that were read a moment ago, for the commit that replaces them.
//!
//! A statement that changes a row reads it, and its commit looks the row's record up again under the latch: to see that nobody changed it
//! meanwhile, and to move it to history. Here the first read leaves the record behind, and a write takes away what is no longer current, so
//! that the second lookup is a comparison of keys.
//!
//! ```text
//!   read    visit ──▶ engine ──▶ remember, unless a write of the slot came between
//!   commit  latch ──▶ known? ──▶ … write applied ──▶ forget ──▶ latch goes
//! ```
//!
//! Invariants:
//! - Whoever holds a key's latch and finds its record here has found the record that is in `data`.
//! - A key is forgotten after a write of it was applied and before its latch goes.

use std::{
    hash::BuildHasher,
    sync::atomic::{AtomicU32, Ordering},
};

use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// Keys remembered at most; fewer than a `u16` counts.
const SLOTS: usize = 4096;

/// Larger records are not worth the memory.
const LARGEST_RECORD: usize = 1024;

#[derive(Debug, Default)]
struct Slot {
    /// Writes that were applied to keys of the slot.
    writes: AtomicU32,
    /// A user key and its record in `data`.
    held: Mutex<Option<(Bytes, Bytes)>>,
}

/// Records by key, one for each hash.
#[derive(Debug, Default)]
pub(crate) struct RecentRecords {
    /// Empty when nothing is to be remembered.
    slots: Box<[Slot]>,
}

/// Where the records of a command's keys lie.
pub(crate) type Places = SmallVec<[u16; 8]>;

#[inline]
fn place(key: &[u8]) -> usize {
    (FxBuildHasher.hash_one(key) >> 32) as usize % SLOTS
}

/// The beginning of a read of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit<'a> {
    slot: &'a Slot,
    writes: u32,
}

impl RecentRecords {
    /// Remembers records.
    pub(crate) fn new() -> Self {
        Self { slots: (0..SLOTS).map(|_| Slot::default()).collect() }
    }

    /// Remembers none: for a store of which others, too, replace the records.
    pub(crate) fn off() -> Self {
        Self::default()
    }

    #[inline]
    fn slot(&self, key: &[u8]) -> Option<&Slot> {
        self.slots.get(place(key))
    }

    /// To be called before a key is read whose record may be remembered.
    #[inline]
    pub(crate) fn visit(&self, key: &[u8]) -> Option<Visit<'_>> {
        self.slot(key).map(|slot| Visit { slot, writes: slot.writes.load(Ordering::Acquire) })
    }

    /// The record of a key whose latch the caller holds.
    pub(crate) fn known(&self, key: &[u8]) -> Option<Bytes> {
        let held = self.slot(key)?.held.lock();
        held.as_ref().filter(|(of, _)| of == key).map(|(_, record)| record.clone())
    }

    /// Where the records of keys that are about to be written lie.
    pub(crate) fn places<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> Places {
        if self.slots.is_empty() { Places::new() } else { keys.map(|key| place(key) as u16).collect() }
    }

    /// Writes of the keys were applied.
    pub(crate) fn forget(&self, places: &Places) {
        places.iter().for_each(|place| self.slots[usize::from(*place)].forget());
    }

    /// Writes of any keys were applied.
    pub(crate) fn forget_all(&self) {
        self.slots.iter().for_each(Slot::forget);
    }
}

impl Slot {
    fn forget(&self) {
        let mut held = self.held.lock();
        self.writes.fetch_add(1, Ordering::Release);
        *held = None;
    }
}

impl Visit<'_> {
    /// Remembers the record that was read.
    pub(crate) fn remember(self, key: &Bytes, record: &Bytes) {
        if record.len() > LARGEST_RECORD {
            return;
        }
        let mut held = self.slot.held.lock();
        if self.slot.writes.load(Ordering::Acquire) == self.writes {
            *held = Some((key.clone(), record.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn a_record_is_known_until_the_key_is_written() {
        let recent = RecentRecords::new();
        let visit = recent.visit(b"k").expect("on");
        visit.remember(&bytes("k"), &bytes("v1"));
        assert_eq!(recent.known(b"k"), Some(bytes("v1")));
        assert_eq!(recent.known(b"other"), None);
        recent.forget(&recent.places([&b"k"[..]].into_iter()));
        assert_eq!(recent.known(b"k"), None);
        visit.remember(&bytes("k"), &bytes("v1"));
        assert_eq!(recent.known(b"k"), None, "read before the write");
        recent.visit(b"k").expect("on").remember(&bytes("k"), &bytes("v2"));
        assert_eq!(recent.known(b"k"), Some(bytes("v2")));
        recent.forget_all();
        assert_eq!(recent.known(b"k"), None);
    }

    #[test]
    fn large_records_are_not_kept_and_off_is_off() {
        let recent = RecentRecords::new();
        let large = Bytes::from(vec![0; LARGEST_RECORD + 1]);
        recent.visit(b"k").expect("on").remember(&bytes("k"), &large);
        assert_eq!(recent.known(b"k"), None);
        let off = RecentRecords::off();
        assert!(off.visit(b"k").is_none() && off.known(b"k").is_none());
        off.forget(&off.places([&b"k"[..]].into_iter()));
    }
}

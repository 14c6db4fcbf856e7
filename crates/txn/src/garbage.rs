//! Counting garbage, so that ranges which hold much of it are compacted before anybody has to scan over it (rule 11).
//!
//! Keys are counted by their first bytes, which for SQL data are a table. There are two kinds of garbage:
//!
//! - Records of old versions. One made at some time may be collected once the safe point has passed that time, so they are counted by slices
//!   of time.
//! - Current versions that were overwritten. Who may read them is no question, the engine drops them when it compacts; but until then a
//!   row that was updated n times lies up to n times in write buffers and young files, and a scan steps over all of them. Once the writers of a
//!   range have come to rest it is worth compacting, whatever the safe point; while they write, it would soon look the same again.
//!
//! ```text
//!   prefix ─▶ [slice 7: 1200 records, slice 8: 300, …]      collectable at SP = those of slices before SP's
//!          └▶ overwritten 1500, at the last look 1490       settled: much, and hardly more than at the last look
//! ```
//!
//! The counters are a hint: they start at zero with the process, and compaction by RocksDB itself is not counted off.

use std::collections::VecDeque;

use base::TimeStamp;
use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// Bytes that tell ranges apart: `t` and a table id.
pub(crate) const PREFIX_LEN: usize = 9;

/// Length of a slice of time.
const SLICE_MS: u64 = 10_000;

/// Records below this number are left to RocksDB's own compactions.
const MIN_RECORDS: u64 = 20_000;

/// Writers have come to rest when between two looks they overwrote less than this part of what they had overwritten before.
const REST_DIVISOR: u64 = 20;

#[derive(Debug, Default)]
struct Counts {
    /// Slice since the epoch, records made in it; ascending.
    slices: VecDeque<(u64, u64)>,
    /// Records made since the range was compacted.
    overwritten: u64,
    /// The same, at the last look.
    overwritten_before: u64,
}

/// Garbage made, by range.
#[derive(Debug, Default)]
pub(crate) struct GarbageCounters {
    /// Written by the commit thread only, so the mutex is rarely contended.
    prefixes: Mutex<FxHashMap<Bytes, Counts>>,
}

/// The part of a key that is counted.
pub(crate) fn prefix_of(key: &[u8]) -> &[u8] {
    &key[..key.len().min(PREFIX_LEN)]
}

impl GarbageCounters {
    /// Counts `records` made at `commit_ts` under keys with `prefix`.
    pub(crate) fn add(&self, prefix: &[u8], commit_ts: TimeStamp, records: u64) {
        let slice = commit_ts.physical_ms() / SLICE_MS;
        let mut prefixes = self.prefixes.lock();
        if !prefixes.contains_key(prefix) {
            prefixes.insert(Bytes::copy_from_slice(prefix), Counts::default());
        }
        let Some(counts) = prefixes.get_mut(prefix) else { return };
        counts.overwritten += records;
        match counts.slices.back_mut() {
            Some((last, count)) if *last >= slice => *count += records,
            _ => counts.slices.push_back((slice, records)),
        }
    }

    /// Prefixes with much garbage that may be collected at `safe_point`; their counts are taken off.
    pub(crate) fn take_collectable(&self, safe_point: TimeStamp) -> Vec<(Bytes, u64)> {
        let before = safe_point.physical_ms() / SLICE_MS;
        let mut prefixes = self.prefixes.lock();
        let mut taken = Vec::new();
        prefixes.retain(|prefix, counts| {
            let collectable: u64 = counts.slices.iter().filter(|(slice, _)| *slice < before).map(|(_, count)| count).sum();
            if collectable >= MIN_RECORDS {
                counts.slices.retain(|(slice, _)| *slice >= before);
                (counts.overwritten, counts.overwritten_before) = (0, 0);
                taken.push((prefix.clone(), collectable));
            }
            !counts.slices.is_empty()
        });
        taken
    }

    /// Prefixes with many overwritten records whose writers have come to rest since the last look; their counts start anew.
    pub(crate) fn take_settled(&self) -> Vec<(Bytes, u64)> {
        let mut prefixes = self.prefixes.lock();
        let mut taken = Vec::new();
        for (prefix, counts) in prefixes.iter_mut() {
            let rests = counts.overwritten - counts.overwritten_before < counts.overwritten.div_ceil(REST_DIVISOR);
            counts.overwritten_before = counts.overwritten;
            if rests && counts.overwritten >= MIN_RECORDS {
                taken.push((prefix.clone(), counts.overwritten));
                (counts.overwritten, counts.overwritten_before) = (0, 0);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_collectable_once_the_safe_point_has_passed_its_time() {
        let counters = GarbageCounters::default();
        let slice = |n: u64| TimeStamp::compose(n * SLICE_MS + 5, 0);
        let prefix = prefix_of(b"t12345678_rrow");
        counters.add(prefix, slice(10), MIN_RECORDS);
        counters.add(prefix, slice(12), 7);
        counters.add(b"other", slice(10), 1);
        assert!(counters.take_collectable(slice(10)).is_empty());
        assert_eq!(counters.take_collectable(slice(11)), [(Bytes::from_static(b"t12345678"), MIN_RECORDS)]);
        assert!(counters.take_collectable(slice(20)).is_empty());
    }

    #[test]
    fn overwritten_rows_are_compacted_when_their_writers_rest() {
        let counters = GarbageCounters::default();
        let now = TimeStamp::compose(5, 0);
        counters.add(b"hot", now, MIN_RECORDS);
        counters.add(b"little", now, 10);
        assert!(counters.take_settled().is_empty(), "they have only just been written");
        counters.add(b"hot", now, MIN_RECORDS);
        assert!(counters.take_settled().is_empty(), "and still are");
        counters.add(b"hot", now, MIN_RECORDS / REST_DIVISOR);
        assert_eq!(counters.take_settled(), [(Bytes::from_static(b"hot"), 2 * MIN_RECORDS + MIN_RECORDS / REST_DIVISOR)]);
        assert!(counters.take_settled().is_empty(), "once is enough");
    }
}

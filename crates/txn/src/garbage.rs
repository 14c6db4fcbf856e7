//! Counting garbage, so that ranges which hold much of it are compacted before anybody has to scan over it (rule 11).
//!
//! Keys are counted by their first bytes, which for SQL data are a table. A record made at some time may be collected once the safe point
//! has passed that time, so counts are kept by minute.
//!
//! ```text
//!   prefix ─▶ [minute 7: 1200 records, minute 8: 300, …]      collectable at SP = those of minutes before SP's
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

const MINUTE_MS: u64 = 60_000;

/// Records below this number are left to RocksDB's own compactions.
const MIN_RECORDS: u64 = 20_000;

#[derive(Debug, Default)]
struct Counts {
    /// Minute since the epoch, records made in it; ascending.
    minutes: VecDeque<(u64, u64)>,
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
        let minute = commit_ts.physical_ms() / MINUTE_MS;
        let mut prefixes = self.prefixes.lock();
        if !prefixes.contains_key(prefix) {
            prefixes.insert(Bytes::copy_from_slice(prefix), Counts::default());
        }
        let Some(counts) = prefixes.get_mut(prefix) else { return };
        match counts.minutes.back_mut() {
            Some((last, count)) if *last >= minute => *count += records,
            _ => counts.minutes.push_back((minute, records)),
        }
    }

    /// Prefixes with much garbage that may be collected at `safe_point`; their counts are taken off.
    pub(crate) fn take_collectable(&self, safe_point: TimeStamp) -> Vec<(Bytes, u64)> {
        let before = safe_point.physical_ms() / MINUTE_MS;
        let mut prefixes = self.prefixes.lock();
        let mut taken = Vec::new();
        prefixes.retain(|prefix, counts| {
            let collectable: u64 = counts.minutes.iter().filter(|(minute, _)| *minute < before).map(|(_, count)| count).sum();
            if collectable >= MIN_RECORDS {
                counts.minutes.retain(|(minute, _)| *minute >= before);
                taken.push((prefix.clone(), collectable));
            }
            !counts.minutes.is_empty()
        });
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_collectable_once_the_safe_point_has_passed_its_minute() {
        let counters = GarbageCounters::default();
        let minute = |n: u64| TimeStamp::compose(n * MINUTE_MS + 5, 0);
        let prefix = prefix_of(b"t12345678_rrow");
        counters.add(prefix, minute(10), MIN_RECORDS);
        counters.add(prefix, minute(12), 7);
        counters.add(b"other", minute(10), 1);
        assert!(counters.take_collectable(minute(10)).is_empty());
        assert_eq!(counters.take_collectable(minute(11)), [(Bytes::from_static(b"t12345678"), MIN_RECORDS)]);
        assert!(counters.take_collectable(minute(20)).is_empty());
    }
}

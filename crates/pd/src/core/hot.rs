//! Which regions are read or written so much that moving them matters.
//!
//! A region counts as hot after several reports in a row above a threshold, and no longer after as many below. Rates are smoothed.

use std::collections::HashMap;

use super::region::RegionInfo;

/// Bytes a second below which nothing is hot.
const THRESHOLD: u64 = 64 << 10;
/// Reports a hot region keeps counting for.
const MAX_HITS: u64 = 6;
/// Regions that are followed.
const MAX_REGIONS: usize = 10_000;

/// Reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    /// Bytes read.
    Read,
    /// Bytes written.
    Write,
}

/// One hot region.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HotRegion {
    /// Store of its leader.
    pub store_id: u64,
    /// Bytes a second, smoothed.
    pub rate: u64,
    /// Reports in a row, less those below the threshold since.
    pub hits: u64,
}

/// Flows of regions.
#[derive(Debug, Default)]
pub struct HotCache {
    reads: HashMap<u64, HotRegion>,
    writes: HashMap<u64, HotRegion>,
}

impl HotCache {
    fn of(&self, flow: Flow) -> &HashMap<u64, HotRegion> {
        match flow {
            Flow::Read => &self.reads,
            Flow::Write => &self.writes,
        }
    }

    /// Takes in a report.
    pub fn report(&mut self, region: &RegionInfo) {
        for (regions, rate) in [(&mut self.reads, region.measured.read_rate), (&mut self.writes, region.measured.write_rate)] {
            let is_above = rate >= THRESHOLD;
            if !is_above && !regions.contains_key(&region.id())
                || is_above && regions.len() >= MAX_REGIONS && !regions.contains_key(&region.id())
            {
                continue;
            }
            let hot = regions.entry(region.id()).or_default();
            hot.store_id = region.leader_store();
            hot.rate = if hot.hits == 0 { rate } else { (hot.rate * 2 + rate) / 3 };
            hot.hits = if is_above { (hot.hits + 1).min(MAX_HITS) } else { hot.hits.saturating_sub(1) };
            if hot.hits == 0 {
                regions.remove(&region.id());
            }
        }
    }

    /// Regions that have been hot for `hits` reports, the hottest first.
    pub fn hottest(&self, flow: Flow, hits: u64) -> Vec<(u64, HotRegion)> {
        let mut hot: Vec<_> = self.of(flow).iter().filter(|(_, hot)| hot.hits >= hits).map(|(id, hot)| (*id, *hot)).collect();
        hot.sort_by_key(|(id, hot)| (std::cmp::Reverse(hot.rate), *id));
        hot
    }

    /// Whether a region has been hot for `hits` reports, in any way.
    pub fn is_hot(&self, region_id: u64, hits: u64) -> bool {
        [&self.reads, &self.writes].iter().any(|regions| regions.get(&region_id).is_some_and(|hot| hot.hits >= hits))
    }

    /// What the hot regions put on each store that leads some.
    pub fn loads(&self, flow: Flow, hits: u64) -> HashMap<u64, u64> {
        let mut loads = HashMap::new();
        for hot in self.of(flow).values().filter(|hot| hot.hits >= hits) {
            *loads.entry(hot.store_id).or_default() += hot.rate;
        }
        loads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::region::Measured;

    #[test]
    fn a_region_is_hot_after_several_reports_and_cools_down() {
        let mut cache = HotCache::default();
        let region = |rate| RegionInfo {
            meta: proto::metapb::Region { id: 7, ..Default::default() },
            measured: Measured { write_rate: rate, ..Measured::default() },
            ..RegionInfo::default()
        };
        for _ in 0..3 {
            assert!(cache.hottest(Flow::Write, 3).is_empty());
            cache.report(&region(1 << 20));
        }
        assert_eq!(cache.hottest(Flow::Write, 3)[0].1.rate, 1 << 20);
        assert!(cache.hottest(Flow::Read, 1).is_empty());
        for _ in 0..3 {
            cache.report(&region(0));
        }
        assert!(cache.hottest(Flow::Write, 1).is_empty() && cache.writes.is_empty());
    }
}

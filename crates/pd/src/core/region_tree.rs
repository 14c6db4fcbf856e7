//! All regions by key, by id and by store.
//!
//! ```text
//!   by start key   ""────────"m"──────────"t"────────────▶
//!   regions         │ 4: v3   │ 7: v3      │ 2: v5
//!   by store        1: leads {4}, follows {7, 2} …
//! ```
//!
//! News about regions arrive late, twice and out of order. A region wins against those it overlaps when its version is at least as high;
//! those go. A hole may stay where the news of a neighbour has not come yet.
//!
//! Invariants:
//! - Regions do not overlap.
//! - The epoch of a region never goes backwards in either part while the region is known.
//! - What is kept per store (sets and sums) is what counting all regions would give; a change costs its own region only.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
};

use bytes::Bytes;
use indexmap::IndexSet;
use proto::{metapb::Region, pdstate::RegionRecord};

use super::region::{Measured, RegionInfo};

/// News that are older than what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleRegion {
    /// The region they were about.
    pub region_id: u64,
    /// The region that is known and newer.
    pub known_id: u64,
}

/// What lies on one store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreRegions {
    /// Regions it leads.
    pub leaders: IndexSet<u64>,
    /// Regions it has any other replica of.
    pub followers: IndexSet<u64>,
    /// Weight of the regions it leads.
    pub leader_weight: u64,
    /// Weight of all its replicas.
    pub weight: u64,
    /// Replicas that lag behind.
    pub pending: u64,
}

impl StoreRegions {
    /// Number of replicas.
    pub fn count(&self) -> usize {
        self.leaders.len() + self.followers.len()
    }
}

/// The regions of a cluster.
#[derive(Clone, Debug, Default)]
pub struct RegionTree {
    by_start: BTreeMap<Bytes, u64>,
    regions: HashMap<u64, RegionInfo>,
    stores: HashMap<u64, StoreRegions>,
}

impl RegionTree {
    /// Takes in what is known of a region. Measurements are kept, and the leader where the news do not know it.
    pub fn put(&mut self, record: RegionRecord) -> Result<(), StaleRegion> {
        let Some(meta) = record.region else { return Ok(()) };
        let overlapping = self.overlapping(&meta);
        self.check_age(&meta, &overlapping)?;
        let before = self.remove(meta.id);
        for id in overlapping {
            self.remove(id);
        }
        let mut info = RegionInfo { meta, leader: record.leader.filter(|leader| leader.id != 0), measured: Measured::default() };
        if let Some(before) = before {
            info.measured = before.measured;
            info.leader = info.leader.or(before.leader);
        }
        if info.leader.is_some_and(|leader| info.meta.peers.iter().all(|peer| peer.id != leader.id)) {
            info.leader = None;
        }
        self.count(&info, true);
        self.by_start.insert(info.meta.start_key.clone(), info.id());
        self.regions.insert(info.id(), info);
        Ok(())
    }

    fn check_age(&self, meta: &Region, overlapping: &[u64]) -> Result<(), StaleRegion> {
        let epoch = meta.region_epoch.unwrap_or_default();
        if let Some(known) = self.regions.get(&meta.id) {
            let known = known.epoch();
            if epoch.version < known.version || epoch.conf_ver < known.conf_ver {
                return Err(StaleRegion { region_id: meta.id, known_id: meta.id });
            }
        }
        match overlapping.iter().find(|id| self.regions[*id].epoch().version > epoch.version) {
            Some(known) => Err(StaleRegion { region_id: meta.id, known_id: *known }),
            None => Ok(()),
        }
    }

    /// Whether news of a region would be refused, without taking them in.
    pub fn check(&self, meta: &Region) -> Result<(), StaleRegion> {
        self.check_age(meta, &self.overlapping(meta))
    }

    /// Regions other than `meta` itself whose ranges overlap with it.
    fn overlapping(&self, meta: &Region) -> Vec<u64> {
        let mut found = Vec::new();
        if let Some((_, id)) = self.by_start.range::<Bytes, _>(..&meta.start_key).next_back() {
            let before = &self.regions[id];
            if before.end_key().is_empty() || before.end_key() > &meta.start_key {
                found.push(*id);
            }
        }
        let from = self.by_start.range::<Bytes, _>(&meta.start_key..);
        found.extend(from.take_while(|(start, _)| meta.end_key.is_empty() || *start < &meta.end_key).map(|(_, id)| *id));
        found.retain(|id| *id != meta.id);
        found
    }

    fn remove(&mut self, id: u64) -> Option<RegionInfo> {
        let info = self.regions.remove(&id)?;
        self.by_start.remove(info.start_key());
        self.count(&info, false);
        Some(info)
    }

    /// Adds a region to the sums of its stores, or takes it out of them.
    fn count(&mut self, info: &RegionInfo, add: bool) {
        let (id, weight, leader) = (info.id(), info.weight(), info.leader_store());
        for peer in &info.meta.peers {
            let store = self.stores.entry(peer.store_id).or_default();
            let leads = peer.store_id == leader;
            let set = if leads { &mut store.leaders } else { &mut store.followers };
            if add {
                set.insert(id);
            } else {
                set.swap_remove(&id);
            }
            let change = |sum: &mut u64, by: u64| *sum = if add { *sum + by } else { *sum - by };
            change(&mut store.weight, weight);
            if leads {
                change(&mut store.leader_weight, weight);
            }
            if info.is_pending(peer.id) {
                change(&mut store.pending, 1);
            }
            if store.count() == 0 {
                self.stores.remove(&peer.store_id);
            }
        }
    }

    /// Takes in what a region's leader measured. Nothing happens when the region is not known.
    pub fn measure(&mut self, id: u64, mut measured: Measured) {
        let Some(mut info) = self.regions.remove(&id) else { return };
        self.count(&info, false);
        if measured.buckets.is_none() {
            measured.buckets = info.measured.buckets.take();
        }
        info.measured = measured;
        self.count(&info, true);
        self.regions.insert(id, info);
    }

    /// Takes in the borders of a region's buckets.
    pub fn set_buckets(&mut self, id: u64, buckets: proto::metapb::Buckets) {
        if let Some(info) = self.regions.get_mut(&id)
            && info.measured.buckets.as_ref().is_none_or(|known| known.version <= buckets.version)
        {
            info.measured.buckets = Some(buckets);
        }
    }

    /// A region by its id.
    pub fn get(&self, id: u64) -> Option<&RegionInfo> {
        self.regions.get(&id)
    }

    /// The region that holds a key.
    pub fn by_key(&self, key: &[u8]) -> Option<&RegionInfo> {
        let (_, id) = self.by_start.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        self.regions.get(id).filter(|info| info.contains(key))
    }

    /// The region right before the one that holds a key.
    pub fn before_key(&self, key: &[u8]) -> Option<&RegionInfo> {
        let holder = self.by_key(key)?;
        let (_, id) = self.by_start.range::<Bytes, _>(..holder.start_key()).next_back()?;
        self.regions.get(id).filter(|info| info.end_key() == holder.start_key())
    }

    /// Regions in key order from the one that holds `start` on, up to `end` (empty for no bound).
    pub fn scan<'a>(&'a self, start: &'a [u8], end: &'a [u8]) -> impl Iterator<Item = &'a RegionInfo> {
        let first = self.by_key(start).map(|info| &info.start_key()[..]).unwrap_or(start);
        self.by_start
            .range::<[u8], _>((Bound::Included(first), Bound::Unbounded))
            .take_while(move |(key, _)| end.is_empty() || &key[..] < end)
            .map(|(_, id)| &self.regions[id])
    }

    /// Whether every key from `start` to `end` (empty for no bound) lies in a known region.
    pub fn covers(&self, start: &[u8], end: &[u8]) -> bool {
        let mut next = Bytes::copy_from_slice(start);
        for info in self.scan(start, end) {
            if !info.contains(&next) {
                return false;
            }
            if info.end_key().is_empty() || (!end.is_empty() && info.end_key() >= end) {
                return true;
            }
            next = info.end_key().clone();
        }
        false
    }

    /// All regions in key order.
    pub fn iter(&self) -> impl Iterator<Item = &RegionInfo> {
        self.by_start.values().map(|id| &self.regions[id])
    }

    /// Number of regions.
    pub fn len(&self) -> usize {
        self.regions.len()
    }

    /// Whether no region is known.
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// What lies on a store, if anything does.
    pub fn on_store(&self, store_id: u64) -> Option<&StoreRegions> {
        self.stores.get(&store_id)
    }

    /// The records to replicate or to put in a snapshot.
    pub fn records(&self) -> impl Iterator<Item = RegionRecord> {
        self.iter().map(|info| RegionRecord { region: Some(info.meta.clone()), leader: info.leader })
    }
}

#[cfg(test)]
#[path = "region_tree_tests.rs"]
mod tests;

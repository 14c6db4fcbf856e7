//! Regions by key, as this client knows them. Pure: what is known may be old, and whoever acts on it is told so by the store.
//!
//! ```text
//!   by_start    ""──[r1)──"d"──[r2)──"m"     gap: not known     "t"──[r9)──""
//! ```
//!
//! | told | done |
//! |---|---|
//! | region looked up, or named by EpochNotMatch | takes the place of what overlaps it, unless something there is newer |
//! | NotLeader with the leader | the leader is noted, if it is a member |
//! | NotLeader without, or no answer | the next member is asked, round and round |
//! | a store's connection broke | so it is with all regions that were to be asked there: not each of them waits for the same silence |
//! | RegionNotFound, KeyNotInRegion, … | forgotten |
//!
//! Invariants:
//! - Known regions do not overlap.
//! - A region is never replaced by an older state of itself, nor by a region that was split or merged away.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use base::KeyRange;
use bytes::Bytes;
use proto::metapb::{self, Peer, PeerRole, RegionEpoch};
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};

/// A region as it was known at one time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Region {
    pub id: u64,
    pub epoch: RegionEpoch,
    /// User keys.
    pub range: KeyRange,
    /// Members that may lead.
    pub voters: Vec<Peer>,
    /// Who is asked: the leader, or who may know it.
    pub leader: Peer,
}

/// A border as a user key.
pub(crate) fn user_key(border: &[u8]) -> Result<Bytes> {
    if border.is_empty() {
        return Ok(Bytes::new());
    }
    let mut rest = border;
    match codec::bytes::decode_bytes(&mut rest) {
        Ok(key) if rest.is_empty() => Ok(key.into()),
        _ => Err(Error::Corrupted { reason: format!("a region's border is not an encoded key: {}", border.escape_ascii()) }),
    }
}

impl Region {
    /// A region as the protocol has it, with its leader if that is known.
    pub(super) fn new(region: metapb::Region, leader: Option<Peer>) -> Result<Self> {
        let range = KeyRange { start: user_key(&region.start_key)?, end: user_key(&region.end_key)? };
        let voters: Vec<Peer> = region.peers.into_iter().filter(|peer| peer.role != PeerRole::Learner as i32).collect();
        let first = voters.first().copied().ok_or_else(|| Error::Corrupted { reason: format!("region {} has no members", region.id) })?;
        let leader = leader.filter(|leader| voters.iter().any(|voter| voter.id == leader.id)).unwrap_or(first);
        Ok(Self { id: region.id, epoch: region.region_epoch.unwrap_or_default(), range, voters, leader })
    }

    fn is_older_than(&self, other: &Self) -> bool {
        match self.id == other.id {
            true => self.epoch.version < other.epoch.version || self.epoch.conf_ver < other.epoch.conf_ver,
            // Splits and merges of a range only raise the version.
            false => self.epoch.version < other.epoch.version,
        }
    }

    /// Whether keys directly below `end` (empty: below all bounds) lie in the region.
    pub(super) fn contains_end(&self, end: &[u8]) -> bool {
        match end.is_empty() {
            true => self.range.end.is_empty(),
            false => self.range.start < end && (self.range.end.is_empty() || end <= &self.range.end[..]),
        }
    }

    /// The next member is asked.
    fn turn(&mut self) {
        let place = self.voters.iter().position(|voter| voter.id == self.leader.id).unwrap_or(0);
        self.leader = self.voters[(place + 1) % self.voters.len()];
    }

    fn overlaps(&self, other: &Self) -> bool {
        let begins_before_end = |a: &KeyRange, b: &KeyRange| b.end.is_empty() || a.start < b.end;
        begins_before_end(&self.range, &other.range) && begins_before_end(&other.range, &self.range)
    }
}

/// Regions by key.
#[derive(Default)]
pub(super) struct RegionCache {
    by_start: BTreeMap<Bytes, Arc<Region>>,
    by_id: FxHashMap<u64, Bytes>,
}

impl RegionCache {
    /// The region that holds `key`.
    pub(super) fn find(&self, key: &[u8]) -> Option<Arc<Region>> {
        let (_, region) = self.by_start.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        region.range.contains(key).then(|| region.clone())
    }

    /// The region that holds the keys directly below `end`; empty for the last region.
    pub(super) fn find_end(&self, end: &[u8]) -> Option<Arc<Region>> {
        let bound = if end.is_empty() { Bound::Unbounded } else { Bound::Excluded(end) };
        let (_, region) = self.by_start.range::<[u8], _>((Bound::Unbounded, bound)).next_back()?;
        region.contains_end(end).then(|| region.clone())
    }

    /// Takes a region in, unless something newer is known where it lies.
    pub(super) fn insert(&mut self, region: Region) -> bool {
        if self.by_id.get(&region.id).and_then(|start| self.by_start.get(start)).is_some_and(|known| region.is_older_than(known)) {
            return false;
        }
        let overlapping = self.overlapping(&region);
        if overlapping.iter().any(|known| region.is_older_than(known)) {
            return false;
        }
        for known in overlapping {
            self.remove(known.id);
        }
        self.remove(region.id);
        self.by_id.insert(region.id, region.range.start.clone());
        self.by_start.insert(region.range.start.clone(), Arc::new(region));
        true
    }

    fn overlapping(&self, region: &Region) -> Vec<Arc<Region>> {
        let before = self.by_start.range::<Bytes, _>((Bound::Unbounded, Bound::Excluded(&region.range.start))).next_back();
        let from = self.by_start.range::<Bytes, _>((Bound::Included(&region.range.start), Bound::Unbounded));
        let within = from.take_while(|(_, known)| known.overlaps(region));
        before.into_iter().chain(within).map(|(_, known)| known).filter(|known| known.overlaps(region)).cloned().collect()
    }

    /// Forgets a region.
    pub(super) fn remove(&mut self, id: u64) {
        if let Some(start) = self.by_id.remove(&id) {
            self.by_start.remove(&start);
        }
    }

    /// Forgets a region if it is still known in this state.
    pub(super) fn remove_state(&mut self, region: &Region) {
        if self.current(region).is_some() {
            self.remove(region.id);
        }
    }

    fn current(&mut self, region: &Region) -> Option<&mut Arc<Region>> {
        let start = self.by_id.get(&region.id)?;
        self.by_start.get_mut(start).filter(|known| known.epoch == region.epoch)
    }

    /// A store has named the leader. `false` if that is no member as far as is known: the region is out of date.
    pub(super) fn set_leader(&mut self, region: &Region, leader: &Peer) -> bool {
        let Some(known) = self.current(region) else { return true };
        let Some(voter) = known.voters.iter().find(|voter| voter.id == leader.id).copied() else { return false };
        Arc::make_mut(known).leader = voter;
        true
    }

    /// The one that was asked did not help: the next member is asked. Nothing happens if somebody else has found out more meanwhile.
    pub(super) fn ask_next_member(&mut self, region: &Region) {
        if let Some(known) = self.current(region).filter(|known| known.leader.id == region.leader.id) {
            Arc::make_mut(known).turn();
        }
    }

    /// A store is not there: nothing is asked of it before the other members were.
    pub(super) fn leave_store(&mut self, store_id: u64) {
        for known in self.by_start.values_mut().filter(|known| known.leader.store_id == store_id) {
            Arc::make_mut(known).turn();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(id: u64) -> Peer {
        Peer { id, store_id: id * 10, ..Default::default() }
    }

    fn region(id: u64, (start, end): (&'static str, &'static str), version: u64) -> Region {
        let range = KeyRange { start: start.into(), end: end.into() };
        let voters = vec![peer(id + 1), peer(id + 2), peer(id + 3)];
        Region { id, epoch: RegionEpoch { conf_ver: 1, version }, range, leader: voters[0], voters }
    }

    fn cache(regions: &[Region]) -> RegionCache {
        let mut cache = RegionCache::default();
        for region in regions {
            assert!(cache.insert(region.clone()));
        }
        cache
    }

    fn id_of(region: Option<Arc<Region>>) -> u64 {
        region.map_or(0, |region| region.id)
    }

    #[test]
    fn keys_and_ends_are_found_in_the_regions_that_hold_them() {
        let cache = cache(&[region(100, ("", "d"), 1), region(200, ("d", "m"), 1), region(900, ("t", ""), 1)]);
        for (key, id) in [("", 100), ("c", 100), ("d", 200), ("lz", 200), ("m", 0), ("s", 0), ("t", 900), ("zz", 900)] {
            assert_eq!(id_of(cache.find(key.as_bytes())), id, "key {key:?}");
        }
        for (end, id) in [("a", 100), ("d", 100), ("e", 200), ("m", 200), ("n", 0), ("t", 0), ("u", 900), ("", 900)] {
            assert_eq!(id_of(cache.find_end(end.as_bytes())), id, "end {end:?}");
        }
    }

    #[test]
    fn a_split_takes_the_place_of_the_region_it_came_from_and_is_not_undone_by_old_news() {
        let whole = region(100, ("", ""), 1);
        let mut cache = cache(std::slice::from_ref(&whole));
        assert!(cache.insert(region(200, ("m", ""), 2)));
        assert_eq!((id_of(cache.find(b"a")), id_of(cache.find(b"z"))), (0, 200), "the old region has gone whole");
        assert!(!cache.insert(whole), "the placement driver may not know of the split yet");
        assert!(cache.insert(region(100, ("", "m"), 2)));
        assert_eq!((id_of(cache.find(b"a")), id_of(cache.find(b"z"))), (100, 200));
        assert!(cache.insert(region(200, ("", ""), 3)), "a merge");
        assert_eq!((id_of(cache.find(b"a")), cache.by_id.len(), cache.by_start.len()), (200, 1, 1));
    }

    #[test]
    fn leaders_follow_hints_and_are_tried_in_turn_without_one() {
        let old = region(100, ("", ""), 1);
        let mut cache = cache(std::slice::from_ref(&old));
        assert!(cache.set_leader(&old, &peer(103)));
        assert_eq!(cache.find(b"a").unwrap().leader, peer(103));
        cache.ask_next_member(&old);
        assert_eq!(cache.find(b"a").unwrap().leader, peer(103), "whoever asked another one has learnt nothing about this one");
        let current = cache.find(b"a").unwrap();
        cache.ask_next_member(&current);
        assert_eq!(cache.find(b"a").unwrap().leader, peer(101));
        assert!(!cache.set_leader(&current, &peer(777)), "no member");
        let mut newer = old.clone();
        newer.epoch.conf_ver = 2;
        assert!(cache.insert(newer));
        assert!(cache.set_leader(&old, &peer(102)));
        assert_eq!(cache.find(b"a").unwrap().leader, peer(101), "a hint for a state that is over changes nothing");
        cache.remove_state(&old);
        assert_eq!(id_of(cache.find(b"a")), 100);
    }

    #[test]
    fn a_store_that_is_not_there_is_left_by_all_its_regions_at_once() {
        let mut cache = cache(&[region(100, ("", "d"), 1), region(200, ("d", "m"), 1), region(100 - 1, ("m", ""), 1)]);
        cache.leave_store(peer(101).store_id);
        let led = |cache: &RegionCache| [b"a", b"e", b"z"].map(|key| cache.find(key).unwrap().leader);
        assert_eq!(led(&cache), [peer(102), peer(201), peer(100)]);
        // Who was under way to it as well changes nothing any more.
        cache.ask_next_member(&region(100, ("", "d"), 1));
        assert_eq!(led(&cache), [peer(102), peer(201), peer(100)]);
    }

    #[test]
    fn borders_are_decoded_and_wrong_ones_refused() {
        let encoded = |key: &[u8]| {
            let mut out = Vec::new();
            codec::bytes::encode_bytes(&mut out, key);
            Bytes::from(out)
        };
        let wire = metapb::Region { id: 5, start_key: encoded(b"a"), peers: vec![peer(1), peer(2)], ..Default::default() };
        let region = Region::new(wire.clone(), Some(peer(2))).unwrap();
        assert_eq!((&region.range.start[..], region.leader), (&b"a"[..], peer(2)));
        assert_eq!(Region::new(wire.clone(), Some(peer(9))).unwrap().leader, peer(1));
        assert!(Region::new(metapb::Region { start_key: "raw".into(), ..wire.clone() }, None).is_err());
        assert!(Region::new(metapb::Region { peers: vec![], ..wire }, None).is_err());
    }
}

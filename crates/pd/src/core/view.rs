//! What checkers and schedulers look at: the state, what is live, and what operators under way will change.

use std::collections::{BTreeMap, HashMap};

use env::Instant;
use proto::metapb::Store;

use super::{
    controller::{Controller, Influence},
    isolation,
    region::RegionInfo,
    state::State,
    store::LiveStore,
};

/// Random choices that a seed repeats.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall as the seed says.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`, which must not be zero (SplitMix64).
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// Ids reserved for new replicas.
#[derive(Clone, Debug, Default)]
pub struct IdPool(Vec<(u64, u64)>);

impl IdPool {
    /// Adds `count` ids from `first` on.
    pub fn add(&mut self, first: u64, count: u64) {
        self.0.push((first, first + count));
    }

    /// An id that was not taken before.
    pub fn take(&mut self) -> Option<u64> {
        let range = self.0.last_mut()?;
        let id = range.0;
        range.0 += 1;
        if range.0 >= range.1 {
            self.0.pop();
        }
        Some(id)
    }

    /// How many are left.
    pub fn left(&self) -> u64 {
        self.0.iter().map(|(next, end)| end - next).sum()
    }
}

/// The cluster at one moment.
pub struct View<'a> {
    /// What is replicated.
    pub state: &'a State,
    /// What is live.
    pub stores: &'a BTreeMap<u64, LiveStore>,
    /// Operators under way.
    pub controller: &'a Controller,
    /// What they will change.
    pub influence: HashMap<u64, Influence>,
    /// Now.
    pub now: Instant,
}

impl<'a> View<'a> {
    /// Stores that are no tombstones, with what is live of them.
    pub fn stores(&self) -> impl Iterator<Item = (&'a Store, &'a LiveStore)> {
        self.stores.iter().filter_map(|(id, live)| Some((self.state.living_store(*id).ok()?, live)))
    }

    /// Leaders a store has and will have.
    pub fn leaders(&self, store_id: u64) -> i64 {
        let now = self.state.regions.on_store(store_id).map_or(0, |regions| regions.leaders.len() as i64);
        now + self.influence.get(&store_id).map_or(0, |influence| influence.leaders)
    }

    /// Weight a store has and will have.
    pub fn weight(&self, store_id: u64) -> i64 {
        let now = self.state.regions.on_store(store_id).map_or(0, |regions| regions.weight as i64);
        now + self.influence.get(&store_id).map_or(0, |influence| influence.weight)
    }

    /// Whether a store may be given a replica now.
    pub fn can_take_replicas(&self, store: &Store, live: &LiveStore) -> bool {
        let config = &self.state.config;
        let pending = self.state.regions.on_store(store.id).map_or(0, |regions| regions.pending);
        let strict = config.replication.strictly_match_label;
        let labelled = |label: &String| store.labels.iter().any(|given| given.key.eq_ignore_ascii_case(label) && !given.value.is_empty());
        live.can_take_replicas(store, pending, self.now, &config.schedule)
            && live.has_budget(self.now, config.schedule.store_limit)
            && (!strict || config.replication.location_labels.iter().all(labelled))
    }

    /// Whether a store may be given leaders now.
    pub fn can_take_leaders(&self, store_id: u64) -> bool {
        let (Ok(store), Some(live)) = (self.state.living_store(store_id), self.stores.get(&store_id)) else { return false };
        !self.state.config.schedulers.evict_leader_stores.contains(&store_id)
            && live.can_take_leaders(store, self.now, &self.state.config.schedule)
    }

    /// How well a replica on `store_id` is isolated from replicas on `others`.
    pub fn isolation(&self, store_id: u64, others: impl Iterator<Item = u64>) -> u128 {
        let Some(store) = self.state.stores.get(&store_id) else { return 0 };
        let others = others.filter_map(|id| self.state.stores.get(&id));
        isolation::score(&self.state.config.replication.location_labels, store, others)
    }

    /// The store best suited for one more replica of a region, beside replicas on `others`: well isolated first, then little loaded.
    /// With its isolation.
    pub fn best_store(&self, region: &RegionInfo, others: &[u64]) -> Option<(u64, u128)> {
        let free = self.stores().filter(|(store, live)| region.peer_on(store.id).is_none() && self.can_take_replicas(store, live));
        let rated = free.map(|(store, _)| (store.id, self.isolation(store.id, others.iter().copied())));
        rated.max_by_key(|(id, isolation)| (*isolation, -self.weight(*id), std::cmp::Reverse(*id)))
    }
}

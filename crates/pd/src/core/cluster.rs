//! The replicated state and what the leading member sees beside it: heartbeats in, effects out.
//!
//! News of a region that change what is replicated become a record to propose; until it is committed, clients are told what was known
//! before. Everything else (sizes, flows, silence) is taken in at once and is not replicated.

use std::collections::{BTreeMap, HashMap};

use env::Instant;
use proto::{
    metapb::{Region, StoreState},
    pdpb::{OperatorStatus, RegionHeartbeatRequest, RegionHeartbeatResponse, StoreStats},
    pdstate::{Command, RegionRecord, SetStoreState, command::Kind},
};

use super::{
    checker,
    controller::Controller,
    hot::HotCache,
    merge_checker,
    operator::{Operator, OperatorKind, Step},
    region::{Measured, RegionInfo},
    scheduler::{Scheduler, Slot, scatter::ScatterCounts},
    state::State,
    store::{Health, LiveStore},
    view::{Dice, IdPool, View},
};
use crate::{Error, Result};

/// Regions looked at for repair in one tick.
const PATROL: usize = 128;
/// With fewer ids left than this more are reserved.
const LOW_IDS: u64 = 64;
/// How many are reserved.
const MORE_IDS: u64 = 512;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Tell the leader of a region, over the stream of its store.
    Send {
        /// The store.
        store_id: u64,
        /// What to tell.
        message: RegionHeartbeatResponse,
    },
    /// Replicate what is new about a region.
    Record(RegionRecord),
    /// Replicate a command; nobody waits for its answer.
    Propose(Command),
    /// Reserve ids and give them to [`Live::add_ids`].
    ReserveIds(u64),
}

/// What a member knows of the cluster.
#[derive(Debug, Default)]
pub struct Cluster {
    /// The same on all members.
    pub state: State,
    /// Seen by the leading member only.
    pub live: Live,
}

/// What only the leading member sees.
#[derive(Debug)]
pub struct Live {
    /// Stores by id.
    pub stores: BTreeMap<u64, LiveStore>,
    /// Operators under way.
    pub controller: Controller,
    /// Regions with much load.
    pub hot: HotCache,
    slots: Vec<Slot>,
    scatter: ScatterCounts,
    ids: IdPool,
    reserving_ids: bool,
    dice: Dice,
    /// Where the patrol goes on.
    patrol_key: bytes::Bytes,
    /// When this member began to lead.
    since: Instant,
    /// Regions that came from splits, with the time that was heard of.
    split: HashMap<u64, Instant>,
}

impl Default for Live {
    fn default() -> Self {
        Self::new(&State::default(), Instant::default(), 0)
    }
}

impl Live {
    /// A member that begins to lead.
    pub fn new(state: &State, now: Instant, seed: u64) -> Self {
        Self {
            stores: state.stores.keys().map(|id| (*id, LiveStore::new(now))).collect(),
            controller: Controller::default(),
            hot: HotCache::default(),
            slots: Scheduler::ALL.into_iter().map(|scheduler| Slot::new(scheduler, now)).collect(),
            scatter: ScatterCounts::default(),
            ids: IdPool::default(),
            reserving_ids: false,
            dice: Dice::new(seed),
            patrol_key: bytes::Bytes::new(),
            since: now,
            split: HashMap::new(),
        }
    }

    /// Asks a scheduler for nothing until `until`; with `None` it goes on. The next leading member does not know of it.
    pub fn halt(&mut self, scheduler: Scheduler, until: Option<Instant>) {
        self.slots.iter_mut().filter(|slot| slot.scheduler == scheduler).for_each(|slot| slot.halt(until));
    }

    /// Schedulers that are halted.
    pub fn halted(&self, now: Instant) -> impl Iterator<Item = Scheduler> {
        self.slots.iter().filter(move |slot| slot.is_halted(now)).map(|slot| slot.scheduler)
    }

    /// Takes ids that were reserved; none when that failed.
    pub fn add_ids(&mut self, first: u64, count: u64) {
        self.reserving_ids = false;
        if count > 0 {
            self.ids.add(first, count);
        }
    }
}

/// A view of a cluster, beside which other parts of `live` may be changed.
macro_rules! view {
    ($cluster:expr, $now:expr) => {
        View {
            state: &$cluster.state,
            stores: &$cluster.live.stores,
            controller: &$cluster.live.controller,
            influence: $cluster.live.controller.influence(),
            now: $now,
        }
    };
}

impl Cluster {
    /// The cluster as checkers and schedulers see it.
    pub fn view(&self, now: Instant) -> View<'_> {
        view!(self, now)
    }

    /// Takes in a store's heartbeat.
    pub fn on_store_heartbeat(&mut self, stats: StoreStats, now: Instant) -> Result<()> {
        self.state.living_store(stats.store_id)?;
        let store = self.live.stores.entry(stats.store_id).or_insert_with(|| LiveStore::new(now));
        let begins_to_refuse = stats.is_busy && !store.stats.is_busy;
        store.heard(stats, now);
        if begins_to_refuse {
            // Clients wait for its regions' new leaders.
            self.live.slots.iter_mut().filter(|slot| slot.scheduler == Scheduler::EvictLeader).for_each(|slot| slot.wake(now));
        }
        Ok(())
    }

    /// Whether a store is heard of.
    pub fn health(&self, store_id: u64, now: Instant) -> Health {
        let max_down_time = self.state.config.schedule.max_store_down_time.0;
        self.live.stores.get(&store_id).map_or(Health::Disconnected, |store| store.health(now, max_down_time))
    }

    /// Takes in the heartbeat of a region's leader.
    pub fn on_region_heartbeat(&mut self, heartbeat: &RegionHeartbeatRequest, now: Instant) -> Result<Vec<Effect>> {
        let region = heartbeat.region.as_ref().ok_or(Error::Invalid("a region heartbeat without region"))?;
        let leader = heartbeat.leader.ok_or(Error::Invalid("a region heartbeat without leader"))?;
        self.state.living_store(leader.store_id)?;
        if region.peers.iter().all(|peer| peer.id != leader.id) {
            return Err(Error::Invalid("the leader of a region heartbeat is none of the region's peers"));
        }
        check_region(region)?;
        let tree = &mut self.state.regions;
        tree.check(region).map_err(|stale| Error::StaleRegion { region_id: stale.region_id, known_id: stale.known_id })?;
        let known = tree.get(region.id);
        if known.is_some_and(|known| {
            // An older leader that does not know of its successor yet.
            known.measured.term > heartbeat.term && heartbeat.term > 0 && known.leader.is_some_and(|known| known.id != leader.id)
        }) {
            return Err(Error::StaleRegion { region_id: region.id, known_id: region.id });
        }
        let version = region.region_epoch.unwrap_or_default().version;
        let (is_unknown, was_empty) = (known.is_none(), tree.iter().next().is_none());
        let became_smaller = known.is_some_and(|known| known.epoch().version < version && !known.meta.end_key.eq(&region.end_key));
        let is_new = known.is_none_or(|known| known.meta != *region || known.leader.is_none_or(|known| known.id != leader.id));
        tree.measure(region.id, Measured::of(heartbeat));
        if is_unknown && !was_empty
            || became_smaller && self.live.controller.of(region.id).is_none_or(|operator| operator.partner.is_none())
        {
            self.live.split.insert(region.id, now);
        }
        // What the heartbeat says counts at once for what is to be done next, whether it is replicated yet or not.
        let info = RegionInfo { meta: region.clone(), leader: Some(leader), measured: Measured::of(heartbeat) };
        self.live.hot.report(&info);
        let mut effects: Vec<Effect> = self.next_order(&info, now).into_iter().collect();
        if is_new {
            effects.push(Effect::Record(RegionRecord { region: Some(info.meta), leader: Some(leader) }));
        }
        Ok(effects)
    }

    /// What a region's leader is to do next.
    fn next_order(&mut self, info: &RegionInfo, now: Instant) -> Option<Effect> {
        if self.live.controller.of(info.id()).is_none() {
            let room = self.live.controller.has_room(super::operator::OperatorKind::Replica, &self.state.config.schedule);
            let found = if room { checker::check(&view!(self, now), info, &mut self.live.ids) } else { None };
            if let Some(operator) = found {
                self.begin(operator, now);
            }
        }
        let message = self.live.controller.on_region(info, now)?;
        Some(Effect::Send { store_id: info.leader_store(), message })
    }

    /// Begins an operator; the order goes out with the next tick or heartbeat. `false` when the region has one that goes before it.
    fn begin(&mut self, operator: Operator, now: Instant) -> bool {
        let (touched, weight): (Vec<u64>, u64) = (operator.touched_stores().collect(), operator.weight);
        let (region_id, description) = (operator.region_id, operator.description);
        if !self.live.controller.begin(operator) {
            return false;
        }
        tracing::debug!(region_id, description, "an operator begins");
        let limit = self.state.config.schedule.store_limit;
        for store in touched {
            if let Some(live) = self.live.stores.get_mut(&store) {
                live.spend(weight, now, limit);
            }
        }
        true
    }

    /// Begins both operators of a merge, or none.
    fn begin_merge(&mut self, (source, target): (Operator, Operator), now: Instant) -> bool {
        let controller = &self.live.controller;
        let free = [&source, &target].iter().all(|operator| controller.is_free_for(operator.region_id, operator.kind));
        free && self.begin(target, now) && self.begin(source, now)
    }

    /// Asks for a region to be merged into a neighbour.
    pub fn merge(&mut self, source_id: u64, target_id: u64, now: Instant) -> Result<Vec<Effect>> {
        let regions = &self.state.regions;
        let source = regions.get(source_id).ok_or(Error::RegionNotFound(source_id))?;
        let target = regions.get(target_id).ok_or(Error::RegionNotFound(target_id))?;
        let touch = |left: &RegionInfo, right: &RegionInfo| left.end_key() == right.start_key() && !left.end_key().is_empty();
        if !touch(source, target) && !touch(target, source) {
            return Err(Error::NotScheduled { region_id: source_id, reason: "the regions do not lie side by side" });
        }
        if source.leader.is_none() || target.leader.is_none() || target.in_joint_state() || target.learners().next().is_some() {
            return Err(Error::NotScheduled { region_id: source_id, reason: "one of the regions is changing" });
        }
        let view = view!(self, now);
        let pair = merge_checker::operators(&view, source, target, OperatorKind::Admin, &mut self.live.ids);
        if !self.begin_merge(pair.ok_or(Error::NoLeader)?, now) {
            return Err(Error::NotScheduled { region_id: source_id, reason: "one of the regions has another operator" });
        }
        Ok(self.orders(&[source_id], now))
    }

    /// Begins an operator that somebody asked for, and gives the first order.
    pub fn begin_asked(&mut self, operator: Operator, now: Instant) -> Result<Vec<Effect>> {
        let region_id = operator.region_id;
        if !self.begin(operator, now) {
            return Err(Error::NotScheduled { region_id, reason: "it has another operator" });
        }
        Ok(self.orders(&[region_id], now))
    }

    /// Asks for a region to be spread; whether anything is to be done.
    pub fn scatter(&mut self, region_id: u64, group: &str, now: Instant) -> Result<Vec<Effect>> {
        let region = self.state.regions.get(region_id).ok_or(Error::RegionNotFound(region_id))?;
        if region.leader.is_none() {
            return Err(Error::NotScheduled { region_id, reason: "its leader is not known" });
        }
        if region.in_joint_state() || region.learners().next().is_some() {
            return Err(Error::NotScheduled { region_id, reason: "its membership is changing" });
        }
        let view = view!(self, now);
        let found = self.live.scatter.scatter(&view, region, group, &mut self.live.ids);
        found.map_or(Ok(Vec::new()), |operator| self.begin_asked(operator, now))
    }

    /// Asks for a region to be split at keys (or where its leader sees fit).
    pub fn split(&mut self, region_id: u64, keys: Vec<bytes::Bytes>, now: Instant) -> Result<Vec<Effect>> {
        let region = self.state.regions.get(region_id).ok_or(Error::RegionNotFound(region_id))?;
        let step = Step::Split { keys, version: region.epoch().version };
        let operator = Operator::new(region, super::operator::OperatorKind::Admin, "split-region", vec![step], now);
        self.begin_asked(operator, now)
    }

    /// What is due without anything having come in.
    pub fn tick(&mut self, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        for store_id in self.stores_to_bury() {
            let set = SetStoreState { store_id, state: StoreState::Tombstone as i32, physically_destroyed: false };
            effects.push(Effect::Propose(Command { kind: Some(Kind::SetStoreState(set)) }));
        }
        if self.live.ids.left() < LOW_IDS && !self.live.reserving_ids && self.state.bootstrapped {
            self.live.reserving_ids = true;
            effects.push(Effect::ReserveIds(MORE_IDS));
        }
        self.patrol(now);
        self.schedule(now);
        let due = self.live.controller.due(now);
        effects.extend(self.orders(&due, now));
        effects
    }

    fn patrol(&mut self, now: Instant) {
        let key = std::mem::take(&mut self.live.patrol_key);
        let schedule = &self.state.config.schedule;
        let interval = schedule.split_merge_interval.0;
        self.live.split.retain(|_, since| now.since(*since) < interval);
        let merges = now.since(self.live.since) >= interval && self.live.controller.has_room(OperatorKind::Merge, schedule);
        let (split, hot, hits) = (&self.live.split, &self.live.hot, schedule.hot_region_cache_hits_threshold);
        let may_merge = |info: &RegionInfo| !split.contains_key(&info.id()) && !hot.is_hot(info.id(), hits);
        let (mut found, mut pairs) = (Vec::new(), Vec::new());
        let view = view!(self, now);
        let mut seen = 0;
        for info in self.state.regions.scan(&key, b"").take(PATROL) {
            seen += 1;
            self.live.patrol_key = info.end_key().clone();
            if self.live.controller.of(info.id()).is_some() {
                continue;
            }
            match checker::check(&view, info, &mut self.live.ids) {
                Some(operator) => found.push(operator),
                None if merges => pairs.extend(merge_checker::check(&view, info, may_merge, &mut self.live.ids)),
                None => {}
            }
        }
        if seen < PATROL {
            self.live.patrol_key = bytes::Bytes::new();
        }
        for operator in found {
            if self.live.controller.has_room(operator.kind, &self.state.config.schedule) {
                self.begin(operator, now);
            }
        }
        // Regions of an earlier pair are not free any more for a later one.
        for pair in pairs {
            if self.live.controller.has_room(OperatorKind::Merge, &self.state.config.schedule) {
                self.begin_merge(pair, now);
            }
        }
    }

    fn schedule(&mut self, now: Instant) {
        for at in 0..self.live.slots.len() {
            let scheduler = self.live.slots[at].scheduler;
            let disabled = self.state.config.schedulers.disabled.iter().any(|name| name == scheduler.name());
            if !self.live.slots[at].is_due(now) || disabled || !self.live.controller.has_room(scheduler.kind(), &self.state.config.schedule)
            {
                continue;
            }
            let view = view!(self, now);
            let found = scheduler.schedule(&view, &self.live.hot, &mut self.live.ids, &mut self.live.dice);
            let began = found.is_some_and(|operator| self.begin(operator, now));
            self.live.slots[at].asked(began, now);
        }
    }

    /// The orders for regions whose operator waits for one.
    fn orders(&mut self, regions: &[u64], now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        for id in regions {
            let Some(info) = self.state.regions.get(*id) else {
                self.live.controller.end(*id, OperatorStatus::Cancel);
                continue;
            };
            if let Some(message) = self.live.controller.on_region(info, now) {
                effects.push(Effect::Send { store_id: info.leader_store(), message });
            }
        }
        effects
    }

    /// What regions became after a split, reported by the store that did it. Leaders come with heartbeats.
    pub fn on_split(&mut self, regions: &[Region], now: Instant) -> Result<Vec<RegionRecord>> {
        let mut records = Vec::new();
        for region in regions {
            check_region(region)?;
            self.live.split.insert(region.id, now);
            // The parent's leader leads all parts at first: the new region's peers are on the same stores.
            let parent = regions.iter().find_map(|region| self.state.regions.get(region.id)?.leader);
            let leader = parent.and_then(|leader| region.peers.iter().find(|peer| peer.store_id == leader.store_id)).copied();
            if self.state.regions.check(region).is_ok() {
                records.push(RegionRecord { region: Some(region.clone()), leader });
            }
        }
        Ok(records)
    }

    /// Stores that were emptied.
    fn stores_to_bury(&self) -> impl Iterator<Item = u64> {
        let empty = |id: &u64| self.state.regions.on_store(*id).is_none();
        self.state.stores.values().filter(|store| store.state() == StoreState::Offline).map(|store| store.id).filter(empty)
    }
}

/// A region that could not be replicated as it is.
fn check_region(region: &Region) -> Result<()> {
    if region.id == 0 || region.peers.is_empty() || region.region_epoch.is_none() {
        return Err(Error::Invalid("a region needs an id, an epoch and peers"));
    }
    if !region.end_key.is_empty() && region.start_key >= region.end_key {
        return Err(Error::Invalid("a region's end is not behind its start"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;

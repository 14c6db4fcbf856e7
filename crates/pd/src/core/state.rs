//! What the members replicate: a state machine that is the same on every member at the same index of the log.
//!
//! ```text
//!   command ──▶ apply ──▶ answer        (or an error: the command had no effect, on any member)
//!                 │
//!                 ▼
//!   cluster id · members · stores · regions · next id · timestamp limit · safe points · configuration
//! ```
//!
//! Invariants:
//! - `apply` looks at nothing but state and command: no clock, no randomness, no configuration of the process.
//! - The cluster id is set once. `next_id` and `timestamp_limit` never fall.
//! - A store that became a tombstone stays one.

use std::collections::BTreeMap;

use base::TimeStamp;
use prost::Message as _;
use proto::{
    metapb::{NodeState, Store, StoreState},
    pdpb::Member,
    pdstate::{self, Command, RegionRecord, SetServiceSafePoint, SetStoreLabels, SetStoreState, command::Kind},
};

use super::{config::PlacementConfig, region_tree::RegionTree};
use crate::{Error, Result, safe_points::SafePoints};

/// What a command answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It was done.
    Done,
    /// Ids from the first on, which nobody else gets.
    Ids {
        /// The first of them.
        first: u64,
        /// How many.
        count: u64,
    },
    /// Where the safe point is now.
    SafePoint(TimeStamp),
    /// Regions whose news were too old.
    Stale(Vec<u64>),
}

/// The replicated state.
#[derive(Clone, Debug)]
pub struct State {
    /// 0 until the first leader has chosen one.
    pub cluster_id: u64,
    /// Whether there was a first store.
    pub bootstrapped: bool,
    /// Members of the placement driver by id.
    pub members: BTreeMap<u64, Member>,
    /// Stores by id.
    pub stores: BTreeMap<u64, Store>,
    /// Regions, with measurements of the process's own beside them.
    pub regions: RegionTree,
    /// No id from here on was handed out.
    pub next_id: u64,
    /// No timestamp from here on was handed out.
    pub timestamp_limit: TimeStamp,
    /// Configuration of placement.
    pub config: PlacementConfig,
    pub(crate) safe_points: SafePoints,
}

impl Default for State {
    fn default() -> Self {
        Self {
            cluster_id: 0,
            bootstrapped: false,
            members: BTreeMap::new(),
            stores: BTreeMap::new(),
            regions: RegionTree::default(),
            // Zero is no id.
            next_id: 1,
            timestamp_limit: TimeStamp::ZERO,
            config: PlacementConfig::default(),
            safe_points: SafePoints::default(),
        }
    }
}

impl State {
    /// Carries a command out.
    pub fn apply(&mut self, command: Command) -> Result<Answer> {
        let Some(kind) = command.kind else { return Err(Error::Invalid("an unknown command")) };
        match kind {
            Kind::SetClusterId(set) => {
                if self.cluster_id == 0 {
                    self.cluster_id = set.cluster_id;
                }
            }
            Kind::Bootstrap(bootstrap) => self.bootstrap(bootstrap)?,
            Kind::PutStore(put) => self.put_store(put.store.ok_or(Error::Invalid("no store"))?)?,
            Kind::SetStoreState(set) => self.set_store_state(&set)?,
            Kind::SetStoreLabels(set) => self.set_store_labels(set)?,
            Kind::RemoveTombstones(_) => {
                let regions = &self.regions;
                self.stores.retain(|id, store| store.state() != StoreState::Tombstone || regions.on_store(*id).is_some());
            }
            Kind::ReserveIds(reserve) => {
                let first = self.next_id;
                self.next_id = first.checked_add(reserve.count).ok_or(Error::Invalid("no more ids"))?;
                return Ok(Answer::Ids { first, count: reserve.count });
            }
            Kind::ExtendTimestamps(extend) => self.timestamp_limit = self.timestamp_limit.max(TimeStamp(extend.limit)),
            Kind::PutRegions(put) => {
                let stale = put.regions.into_iter().filter_map(|record| self.regions.put(record).err());
                return Ok(Answer::Stale(stale.map(|stale| stale.region_id).collect()));
            }
            Kind::UpdateGcSafePoint(update) => {
                return Ok(Answer::SafePoint(self.safe_points.update_gc(TimeStamp(update.safe_point), update.wall_ms)));
            }
            Kind::SetServiceSafePoint(set) => self.set_service_safe_point(&set),
            Kind::PutConfig(put) => {
                self.config = serde_json::from_str(&put.json).map_err(|_| Error::Invalid("configuration that cannot be read"))?;
            }
            Kind::PutMember(put) => {
                let member = put.member.ok_or(Error::Invalid("no member"))?;
                // A member that was removed meanwhile does not come back by publishing itself.
                if let Some(known) = self.members.get_mut(&member.member_id) {
                    *known = member;
                }
            }
        }
        Ok(Answer::Done)
    }

    fn bootstrap(&mut self, bootstrap: pdstate::Bootstrap) -> Result<()> {
        if self.bootstrapped {
            return Err(Error::AlreadyBootstrapped);
        }
        let (Some(store), Some(region)) = (bootstrap.store, bootstrap.region) else {
            return Err(Error::Invalid("bootstrap without store or region"));
        };
        if store.id == 0 || store.address.is_empty() || region.id == 0 || region.peers.len() != 1 || region.peers[0].store_id != store.id {
            return Err(Error::Invalid("bootstrap wants a store with id and address, and a region with one peer on it"));
        }
        if !region.start_key.is_empty() || !region.end_key.is_empty() {
            return Err(Error::Invalid("the first region must hold all keys"));
        }
        self.bootstrapped = true;
        self.stores.insert(store.id, Store { state: StoreState::Up as i32, node_state: NodeState::Serving as i32, ..store });
        // The first region is known before its leader reports, so that clients are not told there is none.
        let leader = Some(region.peers[0]);
        self.regions.put(RegionRecord { region: Some(region), leader }).map_err(|_| Error::AlreadyBootstrapped)?;
        Ok(())
    }

    fn put_store(&mut self, store: Store) -> Result<()> {
        if !self.bootstrapped {
            return Err(Error::NotBootstrapped);
        }
        if store.id == 0 || store.address.is_empty() {
            return Err(Error::Invalid("a store needs an id and an address"));
        }
        let twin = self.stores.values().find(|other| {
            other.id != store.id && other.address == store.address && other.state() != StoreState::Tombstone && !other.physically_destroyed
        });
        if let Some(twin) = twin {
            return Err(Error::DuplicateAddress { address: store.address, store_id: twin.id });
        }
        match self.stores.get_mut(&store.id) {
            Some(known) if known.state() == StoreState::Tombstone => return Err(Error::StoreTombstone(store.id)),
            Some(known) => {
                // Whether it is being emptied was decided by an administrator and is not the store's to say; so are labels set later.
                let labels = if store.labels.is_empty() { std::mem::take(&mut known.labels) } else { store.labels };
                let (state, node_state, destroyed) = (known.state, known.node_state, known.physically_destroyed);
                *known = Store { state, node_state, physically_destroyed: destroyed, labels, ..store };
            }
            None => {
                let labels = &self.config.replication.location_labels;
                let misses = |label: &&String| store.labels.iter().all(|given| given.key != **label || given.value.is_empty());
                if self.config.replication.strictly_match_label && labels.iter().any(|label| misses(&label)) {
                    return Err(Error::Invalid("the store lacks one of the location labels"));
                }
                let state = (StoreState::Up as i32, NodeState::Serving as i32);
                self.stores.insert(store.id, Store { state: state.0, node_state: state.1, ..store });
            }
        }
        Ok(())
    }

    fn set_store_state(&mut self, set: &SetStoreState) -> Result<()> {
        let replicas = self.regions.on_store(set.store_id).map_or(0, |regions| regions.count());
        let serving = self.stores.values().filter(|store| store.state() == StoreState::Up).count();
        let store = self.stores.get_mut(&set.store_id).ok_or(Error::StoreNotFound(set.store_id))?;
        let refuse = |wanted, reason| Err(Error::StoreState { store_id: set.store_id, wanted, reason });
        match (store.state(), set.state()) {
            (StoreState::Tombstone, StoreState::Tombstone) => {}
            (StoreState::Tombstone, _) => return Err(Error::StoreTombstone(set.store_id)),
            (_, StoreState::Up) if store.physically_destroyed => return refuse("up", "its disk was declared lost"),
            (_, StoreState::Up) => (store.state, store.node_state) = (StoreState::Up as i32, NodeState::Serving as i32),
            (StoreState::Up, StoreState::Offline) if serving <= 1 => return refuse("offline", "it is the last one"),
            (_, StoreState::Offline) => {
                (store.state, store.node_state) = (StoreState::Offline as i32, NodeState::Removing as i32);
                store.physically_destroyed |= set.physically_destroyed;
            }
            (StoreState::Up, StoreState::Tombstone) => return refuse("a tombstone", "it must be emptied first"),
            (_, StoreState::Tombstone) if replicas > 0 => return refuse("a tombstone", "it has replicas"),
            (_, StoreState::Tombstone) => (store.state, store.node_state) = (StoreState::Tombstone as i32, NodeState::Removed as i32),
        }
        Ok(())
    }

    fn set_store_labels(&mut self, set: SetStoreLabels) -> Result<()> {
        let store = self.stores.get_mut(&set.store_id).ok_or(Error::StoreNotFound(set.store_id))?;
        if set.replace {
            store.labels.clear();
        }
        for label in set.labels {
            store.labels.retain(|known| known.key != label.key);
            if !label.value.is_empty() {
                store.labels.push(label);
            }
        }
        Ok(())
    }

    fn set_service_safe_point(&mut self, set: &SetServiceSafePoint) {
        if set.expires_ms <= set.wall_ms {
            self.safe_points.remove_service(&set.service);
        } else {
            self.safe_points.register(&set.service, TimeStamp(set.safe_point), set.expires_ms, set.wall_ms);
        }
    }

    /// The safe point of garbage collection.
    pub fn gc_safe_point(&self) -> TimeStamp {
        self.safe_points.gc
    }

    /// The service that holds the safe point back most: name, safe point, and the wall clock when it expires.
    pub fn safe_point_holder(&self, wall_ms: u64) -> Option<(&str, TimeStamp, u64)> {
        self.safe_points.holder(wall_ms)
    }

    /// All registered services: name, safe point, and the wall clock when it expires.
    pub fn services(&self, wall_ms: u64) -> impl Iterator<Item = (&str, TimeStamp, u64)> {
        self.safe_points.services(wall_ms)
    }

    /// A store that is known and no tombstone.
    pub fn living_store(&self, store_id: u64) -> Result<&Store> {
        match self.stores.get(&store_id) {
            None => Err(Error::StoreNotFound(store_id)),
            Some(store) if store.state() == StoreState::Tombstone => Err(Error::StoreTombstone(store_id)),
            Some(store) => Ok(store),
        }
    }

    /// The bytes of a snapshot. Measurements are not in it.
    pub fn encode(&self) -> Vec<u8> {
        let config = serde_json::to_string(&self.config).expect("a configuration is representable in JSON");
        pdstate::State {
            cluster_id: self.cluster_id,
            bootstrapped: self.bootstrapped,
            members: self.members.values().cloned().collect(),
            stores: self.stores.values().cloned().collect(),
            regions: self.regions.records().collect(),
            next_id: self.next_id,
            timestamp_limit: self.timestamp_limit.0,
            safe_points: self.safe_points.encode().into(),
            config,
        }
        .encode_to_vec()
    }

    /// Reads a snapshot.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let damaged = || Error::Corrupted { key: "snapshot", len: bytes.len() };
        let stored = pdstate::State::decode(bytes).map_err(|_| damaged())?;
        let mut regions = RegionTree::default();
        for record in stored.regions {
            regions.put(record).map_err(|_| damaged())?;
        }
        Ok(Self {
            cluster_id: stored.cluster_id,
            bootstrapped: stored.bootstrapped,
            members: stored.members.into_iter().map(|member| (member.member_id, member)).collect(),
            stores: stored.stores.into_iter().map(|store| (store.id, store)).collect(),
            regions,
            next_id: stored.next_id,
            timestamp_limit: TimeStamp(stored.timestamp_limit),
            config: serde_json::from_str(&stored.config).map_err(|_| damaged())?,
            safe_points: SafePoints::decode(&stored.safe_points).ok_or_else(damaged)?,
        })
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;

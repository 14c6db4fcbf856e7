//! A cluster of stores that carry orders out, in rounds: what placement leads to, and what it never does on the way.

use std::{collections::BTreeSet, time::Duration};

use proptest::prelude::*;
use proto::{
    metapb::{Peer, PeerRole, RegionEpoch, Store, StoreLabel},
    pdpb::TimeInterval,
};

use super::*;
use crate::core::state::Answer;

const SECOND: Duration = Duration::from_secs(1);

/// The stores' side: regions as they really are.
struct World {
    cluster: Cluster,
    regions: BTreeMap<u64, RegionInfo>,
    dead: BTreeSet<u64>,
    /// Stores that refuse writes.
    full: BTreeSet<u64>,
    now: Instant,
    /// The fewest working replicas any region had.
    fewest: usize,
}

impl World {
    fn new(stores: &[(u64, &str)], labels: &[&str]) -> Self {
        let mut world = Self {
            cluster: Cluster::default(),
            regions: BTreeMap::new(),
            dead: BTreeSet::new(),
            full: BTreeSet::new(),
            now: Instant(SECOND),
            fewest: usize::MAX,
        };
        let state = &mut world.cluster.state;
        state.bootstrapped = true;
        state.next_id = 1000;
        state.config.replication.location_labels = labels.iter().map(|label| (*label).to_owned()).collect();
        state.config.schedule.store_limit = 100_000.0;
        for (id, place) in stores {
            world.add_store(*id, place);
        }
        world.cluster.live = Live::new(&world.cluster.state, world.now, 7);
        world
    }

    fn add_store(&mut self, id: u64, place: &str) {
        let keys = self.cluster.state.config.replication.location_labels.clone();
        let labels = keys.into_iter().zip(place.split('/')).map(|(key, value)| StoreLabel { key, value: value.to_owned() }).collect();
        self.cluster.state.stores.insert(id, Store { id, address: format!("s{id}"), labels, ..Store::default() });
    }

    /// `count` regions on the given stores, led by the first of them.
    fn add_regions(&mut self, count: u64, stores: &[u64], mib: u64) {
        let begin = self.regions.len() as u64;
        for n in begin..begin + count {
            let key = |n: u64| bytes::Bytes::from(format!("{n:05}"));
            let peers: Vec<Peer> =
                stores.iter().map(|store_id| Peer { id: (n + 1) * 10 + store_id, store_id: *store_id, ..Peer::default() }).collect();
            let meta = Region {
                id: n + 1,
                start_key: key(n),
                end_key: key(n + 1),
                region_epoch: Some(RegionEpoch { conf_ver: 1, version: 1 }),
                peers: peers.clone(),
            };
            let measured = Measured { size_bytes: mib << 20, ..Measured::default() };
            self.regions.insert(n + 1, RegionInfo { meta, leader: Some(peers[0]), measured });
        }
    }

    /// A second passes: stores and regions report, the cluster ticks, orders are carried out.
    fn round(&mut self) {
        self.now = self.now + SECOND;
        let now = self.now;
        let living: Vec<u64> = self.cluster.state.stores.keys().copied().filter(|id| !self.dead.contains(id)).collect();
        for store_id in living {
            let is_busy = self.full.contains(&store_id);
            let stats = StoreStats { store_id, capacity: 1 << 40, available: 1 << 39, is_busy, ..StoreStats::default() };
            // A tombstone is refused, as it should be.
            let _ = self.cluster.on_store_heartbeat(stats, now);
        }
        for id in self.regions.keys().copied().collect::<Vec<_>>() {
            // One may have been merged while others reported.
            if self.regions.contains_key(&id) {
                self.elect(id);
                self.report(id);
            }
        }
        let effects = self.cluster.tick(now);
        self.carry_out(effects);
    }

    /// A region whose leader is dead elects another.
    fn elect(&mut self, id: u64) {
        let dead = &self.dead;
        let region = self.regions.get_mut(&id).expect("known");
        let works = |peer: &&Peer| !dead.contains(&peer.store_id) && peer.role() == PeerRole::Voter;
        if region.leader.is_none_or(|leader| dead.contains(&leader.store_id)) {
            region.leader = region.meta.peers.iter().find(works).copied();
        }
        self.fewest = self.fewest.min(region.meta.peers.iter().filter(works).count());
    }

    fn report(&mut self, id: u64) {
        let region = &self.regions[&id];
        let heartbeat = RegionHeartbeatRequest {
            region: Some(region.meta.clone()),
            leader: region.leader,
            approximate_size: region.measured.size_bytes,
            approximate_keys: region.measured.keys,
            bytes_written: region.measured.write_rate * 60,
            interval: Some(TimeInterval { start_timestamp: 0, end_timestamp: 60 }),
            ..RegionHeartbeatRequest::default()
        };
        let effects = self.cluster.on_region_heartbeat(&heartbeat, self.now).expect("a true report");
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Record(record) => {
                    let put = proto::pdstate::PutRegions { regions: vec![record] };
                    self.cluster.state.apply(Command { kind: Some(Kind::PutRegions(put)) }).expect("news");
                }
                Effect::Propose(command) => {
                    self.cluster.state.apply(command).expect("a command that is due");
                }
                Effect::ReserveIds(count) => {
                    let reserve = proto::pdstate::ReserveIds { count };
                    match self.cluster.state.apply(Command { kind: Some(Kind::ReserveIds(reserve)) }) {
                        Ok(Answer::Ids { first, count }) => self.cluster.live.add_ids(first, count),
                        other => panic!("{other:?}"),
                    }
                }
                Effect::Send { store_id, message } => self.obey(store_id, &message),
            }
        }
    }

    fn obey(&mut self, store_id: u64, order: &RegionHeartbeatResponse) {
        let Some(region) = self.regions.get_mut(&order.region_id) else { return };
        if region.leader_store() != store_id || self.dead.contains(&store_id) {
            return;
        }
        if let Some(change) = &order.change_peer {
            if order.region_epoch != region.meta.region_epoch {
                return;
            }
            let peer = change.peer.expect("a change names a peer");
            let peers = &mut region.meta.peers;
            match change.change_type() {
                proto::eraftpb::ConfChangeType::AddLearnerNode => {
                    assert!(peers.iter().all(|known| known.store_id != peer.store_id), "two replicas on store {}", peer.store_id);
                    peers.push(peer);
                }
                proto::eraftpb::ConfChangeType::AddNode => {
                    let known = peers.iter_mut().find(|known| known.id == peer.id).expect("a learner is promoted");
                    known.role = PeerRole::Voter as i32;
                }
                proto::eraftpb::ConfChangeType::RemoveNode => {
                    assert_ne!(peer.store_id, store_id, "the leader is told to remove itself");
                    peers.retain(|known| known.id != peer.id);
                }
            }
            region.meta.region_epoch.as_mut().expect("set").conf_ver += 1;
        }
        if let Some(target) = order.merge.as_ref().and_then(|merge| merge.target.clone()) {
            if order.region_epoch == region.meta.region_epoch {
                self.merge(order.region_id, &target);
            }
            return;
        }
        if let Some(transfer) = &order.transfer_leader {
            let to = transfer.peer.expect("a transfer names a peer");
            if !self.dead.contains(&to.store_id) {
                region.leader = region.peer_on(to.store_id).copied();
            }
        }
    }

    /// The target takes over the source, if it is still what the order says.
    fn merge(&mut self, source_id: u64, target: &Region) {
        let source = self.regions[&source_id].clone();
        let into = self.regions.get_mut(&target.id).expect("known");
        if into.meta.region_epoch != target.region_epoch {
            return;
        }
        let stores = |region: &Region| region.peers.iter().map(|peer| peer.store_id).collect::<BTreeSet<_>>();
        assert_eq!(stores(&source.meta), stores(&into.meta), "regions are merged where both are");
        match source.end_key() == into.start_key() {
            true => into.meta.start_key = source.start_key().clone(),
            false => {
                assert_eq!(into.end_key(), source.start_key());
                into.meta.end_key = source.end_key().clone();
            }
        }
        let epoch = into.meta.region_epoch.as_mut().expect("set");
        epoch.version = epoch.version.max(source.epoch().version + 1) + 1;
        into.measured.size_bytes += source.measured.size_bytes;
        self.regions.remove(&source_id);
    }

    fn allow_merges(&mut self) {
        self.cluster.state.config.schedule.max_merge_region_size = 20;
        self.cluster.state.config.schedule.split_merge_interval = base::ReadableDuration(SECOND * 5);
    }

    fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.round();
        }
    }

    fn leaders(&self, store: u64) -> usize {
        self.regions.values().filter(|region| region.leader_store() == store).count()
    }

    fn replicas(&self, store: u64) -> usize {
        self.regions.values().filter(|region| region.peer_on(store).is_some()).count()
    }

    fn check_complete(&self) {
        for region in self.regions.values() {
            assert_eq!(region.voters().count(), 3, "{region:?}");
            assert_eq!(region.meta.peers.len(), 3);
            assert!(region.meta.peers.iter().all(|peer| !self.dead.contains(&peer.store_id)), "{region:?}");
        }
        assert!(self.fewest == usize::MAX || self.fewest >= 1);
    }
}

#[test]
fn one_replica_becomes_three_and_leaders_and_data_spread() {
    let mut world = World::new(&[(1, ""), (2, ""), (3, "")], &[]);
    world.add_regions(30, &[1], 50);
    world.rounds(120);
    world.check_complete();
    for store in 1..=3 {
        assert!((9..=11).contains(&world.leaders(store)), "store {store} leads {}", world.leaders(store));
    }
    // A fourth store is filled.
    world.add_store(4, "");
    world.rounds(200);
    world.check_complete();
    for store in 1..=4 {
        assert!((20..=25).contains(&world.replicas(store)), "store {store} holds {}", world.replicas(store));
        assert!((6..=9).contains(&world.leaders(store)), "store {store} leads {}", world.leaders(store));
    }
    // And then nothing moves any more.
    let settled = world.regions.clone();
    world.rounds(60);
    assert_eq!(world.regions, settled);
    assert!(world.fewest >= 1);
}

#[test]
fn a_store_that_is_down_is_replaced_after_the_patience_and_not_before() {
    let mut world = World::new(&[(1, ""), (2, ""), (3, ""), (4, "")], &[]);
    world.cluster.state.config.schedule.max_store_down_time = base::ReadableDuration(SECOND * 100);
    world.add_regions(12, &[1, 2, 3], 10);
    world.rounds(60);
    world.dead.insert(1);
    world.rounds(90);
    let lost = world.replicas(1);
    assert!(lost > 0, "nothing is made anew in the first minute and a half");
    world.rounds(150);
    world.check_complete();
    assert!(world.fewest >= 2);
}

#[test]
fn a_store_being_emptied_ends_as_a_tombstone() {
    let mut world = World::new(&[(1, ""), (2, ""), (3, ""), (4, "")], &[]);
    world.add_regions(12, &[1, 2, 3], 10);
    world.rounds(30);
    let set = SetStoreState { store_id: 1, state: StoreState::Offline as i32, physically_destroyed: false };
    world.cluster.state.apply(Command { kind: Some(Kind::SetStoreState(set)) }).unwrap();
    world.rounds(120);
    world.check_complete();
    assert_eq!(world.replicas(1), 0);
    assert_eq!(world.cluster.state.stores[&1].state(), StoreState::Tombstone);
    assert!(world.fewest >= 3, "a replica went before its successor was there");
}

#[test]
fn replicas_stand_in_different_zones_where_they_can() {
    let mut world = World::new(&[(1, "z1/h1"), (2, "z1/h2"), (3, "z2/h1"), (4, "z2/h2"), (5, "z1/h3")], &["zone", "host"]);
    world.add_regions(20, &[1, 2, 5], 10);
    world.rounds(150);
    let zone = |store: u64| if matches!(store, 3 | 4) { 2 } else { 1 };
    let zones = |world: &World| {
        world.regions.values().map(|region| region.voters().map(|peer| zone(peer.store_id)).collect::<BTreeSet<_>>()).collect::<Vec<_>>()
    };
    assert!(zones(&world).iter().all(|zones| zones.len() == 2));
    world.add_store(6, "z3/h1");
    world.rounds(200);
    world.check_complete();
    assert_eq!(world.replicas(6), 20, "each region has one replica in the third zone");
}

#[test]
fn leaders_leave_the_stores_an_administrator_names() {
    let mut world = World::new(&[(1, ""), (2, ""), (3, "")], &[]);
    world.add_regions(12, &[1, 2, 3], 10);
    world.cluster.state.config.schedulers.evict_leader_stores = vec![1];
    world.rounds(60);
    assert_eq!((world.leaders(1), world.leaders(2), world.leaders(3)), (0, 6, 6));
}

#[test]
fn a_store_that_refuses_writes_leads_nothing_until_it_takes_them_again() {
    let mut world = World::new(&[(1, ""), (2, ""), (3, "")], &[]);
    world.add_regions(12, &[1, 2, 3], 10);
    world.rounds(60);
    assert_eq!((world.leaders(1), world.leaders(2), world.leaders(3)), (4, 4, 4));
    world.full.insert(1);
    world.rounds(10);
    assert_eq!((world.leaders(1), world.leaders(2), world.leaders(3)), (0, 6, 6));
    // Where nobody takes writes leaders stay where they are.
    world.full.extend([2, 3]);
    world.rounds(60);
    assert_eq!((world.leaders(2), world.leaders(3)), (6, 6));
    world.full.clear();
    world.rounds(60);
    assert_eq!((world.leaders(1), world.leaders(2), world.leaders(3)), (4, 4, 4));
}

#[test]
fn hot_regions_are_led_on_different_stores() {
    let mut world = World::new(&[(1, ""), (2, ""), (3, "")], &[]);
    world.add_regions(9, &[1, 2, 3], 10);
    world.cluster.state.config.schedulers.disabled = vec![Scheduler::BalanceLeader.name().to_owned()];
    for id in 1..=3 {
        world.regions.get_mut(&id).unwrap().measured.write_rate = 10 << 20;
    }
    world.rounds(60);
    let led: BTreeSet<u64> = (1..=3).map(|id| world.regions[&id].leader_store()).collect();
    assert_eq!(led.len(), 3);
}

#[test]
fn scattered_regions_of_a_group_are_led_everywhere() {
    let mut world = World::new(&[(1, ""), (2, ""), (3, ""), (4, "")], &[]);
    world.cluster.state.config.schedulers.disabled = Scheduler::ALL.iter().map(|scheduler| scheduler.name().to_owned()).collect();
    world.add_regions(8, &[1, 2, 3], 10);
    world.rounds(3);
    for id in 1..=8 {
        let effects = world.cluster.scatter(id, "table", world.now).unwrap();
        world.carry_out(effects);
    }
    world.rounds(30);
    world.check_complete();
    for store in 1..=4 {
        assert_eq!((world.leaders(store), world.replicas(store)), (2, 6), "store {store}");
    }
    assert_eq!(world.cluster.live.controller.ended(1).map(|ended| ended.status), Some(OperatorStatus::Success));
}

#[test]
fn small_regions_become_parts_of_their_neighbours_and_large_ones_stay() {
    let mut world = World::new(&[(1, ""), (2, ""), (3, ""), (4, "")], &[]);
    world.add_regions(6, &[1, 2, 3], 1);
    world.add_regions(2, &[1, 2, 3], 50);
    // These have to be moved to where their neighbours are.
    world.add_regions(6, &[2, 3, 4], 1);
    world.allow_merges();
    world.rounds(200);
    world.check_complete();
    let mut sizes: Vec<u64> = world.regions.values().map(|region| region.measured.size_bytes >> 20).collect();
    sizes.sort_unstable();
    assert_eq!(sizes.iter().sum::<u64>(), 112);
    assert!(sizes.len() <= 3 && sizes.iter().all(|size| *size <= 64), "{sizes:?}");
    assert_eq!(world.cluster.state.regions.iter().count(), world.regions.len(), "what was merged is forgotten");
    assert!(world.cluster.state.regions.covers(b"00000", b"00014"));
    assert!(world.fewest >= 3);
    let running: Vec<_> = world.cluster.live.controller.iter().filter(|operator| operator.kind == OperatorKind::Merge).collect();
    assert!(running.is_empty(), "{running:?}");
}

#[test]
fn regions_are_not_merged_that_nobody_measured_or_that_were_split_or_belong_to_tables_of_their_own() {
    let mut world = World::new(&[(1, ""), (2, ""), (3, "")], &[]);
    world.add_regions(4, &[1, 2, 3], 0);
    world.allow_merges();
    world.rounds(30);
    assert_eq!(world.regions.len(), 4, "nobody knows how large they are");
    for region in world.regions.values_mut() {
        region.measured.size_bytes = 1;
        region.measured.keys = 300_000;
    }
    world.rounds(30);
    assert_eq!(world.regions.len(), 4, "they have many keys");
    world.regions.values_mut().for_each(|region| region.measured.keys = 1);
    world.cluster.state.config.schedule.merge_schedule_limit = 0;
    world.rounds(30);
    assert_eq!(world.regions.len(), 4, "none may be under way");
    world.cluster.state.config.schedule.merge_schedule_limit = 8;
    world.cluster.state.config.schedule.split_merge_interval = base::ReadableDuration(SECOND * 60);
    let split: Vec<Region> = world.regions.values().map(|region| region.meta.clone()).collect();
    world.cluster.on_split(&split, world.now).unwrap();
    world.rounds(50);
    assert_eq!(world.regions.len(), 4, "they were split a moment ago");
    world.rounds(60);
    assert_eq!(world.regions.len(), 1);
}

#[test]
fn both_operators_of_a_merge_end_together() {
    let mut world = World::new(&[(1, ""), (2, ""), (3, "")], &[]);
    world.cluster.state.config.schedulers.disabled = Scheduler::ALL.iter().map(|scheduler| scheduler.name().to_owned()).collect();
    world.add_regions(3, &[1, 2, 3], 1);
    world.rounds(2);
    assert!(world.cluster.merge(1, 3, world.now).is_err(), "they do not lie side by side");
    let effects = world.cluster.merge(2, 1, world.now).unwrap();
    assert!(matches!(&effects[..], [Effect::Send { message, .. }] if message.merge.is_some()));
    assert!(world.cluster.merge(3, 2, world.now).is_err(), "one of them is being merged already");
    assert!(world.cluster.live.controller.end(2, OperatorStatus::Cancel));
    assert_eq!(world.cluster.live.controller.iter().count(), 0);
    let effects = world.cluster.merge(2, 1, world.now).unwrap();
    world.carry_out(effects);
    world.rounds(2);
    assert_eq!(world.regions.len(), 2);
    for region in [1, 2] {
        assert_eq!(world.cluster.live.controller.ended(region).map(|ended| ended.status), Some(OperatorStatus::Success), "{region}");
    }
}

#[test]
fn limits_hold() {
    let mut world = World::new(&[(1, ""), (2, ""), (3, "")], &[]);
    world.cluster.state.config.schedule.leader_schedule_limit = 0;
    world.cluster.state.config.schedule.replica_schedule_limit = 2;
    world.add_regions(30, &[1], 50);
    for _ in 0..30 {
        world.round();
        assert!(world.cluster.live.controller.iter().count() <= 2);
    }
    assert_eq!(world.leaders(1), 30);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn placement_heals_whatever_happens(
        stores in 4u64..7,
        regions in 1u64..20,
        zones in 1u64..4,
        events in proptest::collection::vec((0u8..4, 1u64..7), 0..8),
    ) {
        let mut world = World::new(&[], &["zone"]);
        world.cluster.state.config.schedule.max_store_down_time = base::ReadableDuration(SECOND * 30);
        for id in 1..=stores {
            world.add_store(id, &format!("z{}", id % zones));
        }
        world.cluster.live = Live::new(&world.cluster.state, world.now, stores * 31 + regions);
        world.add_regions(regions, &[1], 20);
        world.rounds(60);
        world.check_complete();
        world.fewest = usize::MAX;
        let mut next_store = 20;
        for (event, store) in events {
            let living: Vec<u64> = world.cluster.state.stores.values()
                .filter(|store| store.state() == StoreState::Up && !world.dead.contains(&store.id)).map(|store| store.id).collect();
            match event {
                0 if living.len() > 3 && living.contains(&store) => { world.dead.insert(store); }
                1 if living.len() > 3 && living.contains(&store) => {
                    let set = SetStoreState { store_id: store, state: StoreState::Offline as i32, physically_destroyed: false };
                    world.cluster.state.apply(Command { kind: Some(Kind::SetStoreState(set)) }).unwrap();
                }
                2 => { next_store += 1; world.add_store(next_store, &format!("z{}", next_store % zones)); }
                _ => { world.dead.remove(&store); }
            }
            world.rounds(120);
            // One store at a time may be lost: two of three replicas always work.
            prop_assert!(world.fewest >= 2);
        }
        world.dead.clear();
        world.rounds(200);
        world.check_complete();
        let weights: Vec<usize> = world.cluster.state.stores.values()
            .filter(|store| store.state() == StoreState::Up).map(|store| world.leaders(store.id)).collect();
        prop_assert!(weights.iter().sum::<usize>() == regions as usize);
    }
}

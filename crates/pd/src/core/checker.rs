//! Repairs one region: replicas that are missing, lost, too many, or too close to each other.
//!
//! | found | done |
//! |---|---|
//! | a joint change nobody ends | end it |
//! | a learner nobody promotes | promote it while voters are missing, else remove it |
//! | a replica on a store that is down or being emptied | replace it; remove it when there are enough others |
//! | too few replicas | add one |
//! | too many | remove the one whose loss costs least isolation |
//! | a place where replicas would be further apart | move the worst placed there |
//!
//! One thing at a time, in this order. Nothing is done that lowers the number of working replicas while another can be had.

use super::{
    operator::{Operator, OperatorKind, Step, steps_to},
    region::RegionInfo,
    store::Health,
    view::{IdPool, View},
};
use proto::metapb::{Peer, StoreState};

/// What a region needs, if anything.
pub fn check(view: &View<'_>, region: &RegionInfo, ids: &mut IdPool) -> Option<Operator> {
    region.leader?;
    let steps = Checker { view, region, ids }.run()?;
    (!steps.1.is_empty()).then(|| Operator::new(region, OperatorKind::Replica, steps.0, steps.1, view.now))
}

struct Checker<'a, 'b> {
    view: &'a View<'b>,
    region: &'a RegionInfo,
    ids: &'a mut IdPool,
}

type Plan = Option<(&'static str, Vec<Step>)>;

impl Checker<'_, '_> {
    fn run(mut self) -> Plan {
        if self.region.in_joint_state() {
            return Some(("leave-joint-state", vec![Step::LeaveJoint]));
        }
        self.lone_learner()
            .or_else(|| self.lost_replica())
            .or_else(|| self.missing_replica())
            .or_else(|| self.extra_replica())
            .or_else(|| self.better_place())
    }

    fn wanted(&self) -> usize {
        self.view.state.config.replication.max_replicas as usize
    }

    fn stores(&self) -> Vec<u64> {
        self.region.meta.peers.iter().map(|peer| peer.store_id).collect()
    }

    fn steps_to(&mut self, stores: &[u64]) -> Option<Vec<Step>> {
        let ids = &mut *self.ids;
        // A leader that must go hands over to a follower that stays, where one may lead.
        let leader = self.region.leader_store();
        let heir = (!stores.contains(&leader))
            .then(|| stores.iter().copied().find(|store| self.region.peer_on(*store).is_some() && self.view.can_take_leaders(*store)))
            .flatten();
        steps_to(self.region, stores, heir, || ids.take())
    }

    /// A learner that some operator left behind.
    fn lone_learner(&mut self) -> Plan {
        let learner = *self.region.learners().next()?;
        if self.region.is_pending(learner.id) && self.region.down_seconds(learner.id).is_none() {
            return None;
        }
        let works = self.region.down_seconds(learner.id).is_none();
        if works && self.region.voters().count() < self.wanted() {
            return Some(("promote-learner", vec![Step::Promote(Peer { role: 0, ..learner })]));
        }
        Some(("remove-learner", vec![Step::RemovePeer(learner)]))
    }

    /// A replica that is lost or will be.
    fn lost_replica(&mut self) -> Plan {
        let schedule = &self.view.state.config.schedule;
        let patience = schedule.max_store_down_time.0.as_secs();
        for peer in &self.region.meta.peers {
            let Some(store) = self.view.state.stores.get(&peer.store_id) else { continue };
            let silent = self.view.stores.get(&store.id).map(|live| live.health(self.view.now, schedule.max_store_down_time.0));
            let reported_down = self.region.down_seconds(peer.id).is_some_and(|seconds| seconds >= patience);
            let down = store.state() == StoreState::Up && silent == Some(Health::Down) && self.region.leader_store() != store.id;
            let (wanted, name) = match (down || reported_down, store.state()) {
                (_, StoreState::Offline | StoreState::Tombstone) => (schedule.enable_replace_offline_replica, "replace-offline-replica"),
                (true, _) => (schedule.enable_remove_down_replica, "replace-down-replica"),
                _ => continue,
            };
            if !wanted {
                continue;
            }
            let mut stores = self.stores();
            stores.retain(|id| *id != store.id);
            if stores.len() < self.wanted() {
                // Without a place for another, a replica that may come back is better than none.
                let Some((to, _)) = self.view.best_store(self.region, &stores) else { continue };
                stores.push(to);
            }
            return self.steps_to(&stores).map(|steps| (name, steps));
        }
        None
    }

    fn missing_replica(&mut self) -> Plan {
        let mut stores = self.stores();
        if stores.len() >= self.wanted() || !self.view.state.config.schedule.enable_make_up_replica {
            return None;
        }
        let (to, _) = self.view.best_store(self.region, &stores)?;
        stores.push(to);
        self.steps_to(&stores).map(|steps| ("make-up-replica", steps))
    }

    fn extra_replica(&mut self) -> Plan {
        if self.region.meta.peers.len() <= self.wanted() || !self.view.state.config.schedule.enable_remove_extra_replica {
            return None;
        }
        let worst = self.worst_replica(|_| true)?;
        let mut stores = self.stores();
        stores.retain(|id| *id != worst);
        self.steps_to(&stores).map(|steps| ("remove-extra-replica", steps))
    }

    /// The store of the replica that is isolated least; a broken one before others, the leader last, a loaded store before a free one.
    fn worst_replica(&self, may_go: impl Fn(&Peer) -> bool) -> Option<u64> {
        let stores = self.stores();
        let candidates = self.region.meta.peers.iter().filter(|peer| may_go(peer));
        let worst = candidates.min_by_key(|peer| {
            let broken = self.region.is_pending(peer.id) || self.region.down_seconds(peer.id).is_some();
            let isolation = self.view.isolation(peer.store_id, stores.iter().copied());
            (!broken, isolation, peer.store_id == self.region.leader_store(), -self.view.weight(peer.store_id))
        });
        worst.map(|peer| peer.store_id)
    }

    fn better_place(&mut self) -> Plan {
        let config = &self.view.state.config;
        if config.replication.location_labels.is_empty() || !config.schedule.enable_location_replacement || !self.region.is_healthy() {
            return None;
        }
        let worst = self.worst_replica(|_| true)?;
        let mut others = self.stores();
        others.retain(|id| *id != worst);
        let isolation = self.view.isolation(worst, others.iter().copied());
        let (to, better) = self.view.best_store(self.region, &others)?;
        if better <= isolation {
            return None;
        }
        others.push(to);
        self.steps_to(&others).map(|steps| ("move-to-better-location", steps))
    }
}

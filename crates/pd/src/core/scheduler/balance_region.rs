//! As much data on each store: a replica from a heavy store to a light one that stays the lighter of both and is isolated no worse.

use super::{
    super::{
        operator::{Operator, OperatorKind, steps_to},
        region::RegionInfo,
        view::{Dice, IdPool, View},
    },
    pick,
};

pub(super) fn schedule(view: &View<'_>, ids: &mut IdPool, dice: &mut Dice) -> Option<Operator> {
    let limit = view.state.config.schedule.store_limit;
    let mut sources: Vec<u64> = view.stores().filter(|(_, live)| live.has_budget(view.now, limit)).map(|(store, _)| store.id).collect();
    sources.sort_by_key(|id| (-view.weight(*id), *id));
    // Nothing is lighter than the lightest.
    sources.pop();
    for from in sources {
        let Some(held) = view.state.regions.on_store(from) else { continue };
        // Followers first: moving a leader moves load as well.
        for set in [&held.followers, &held.leaders] {
            let found = pick(set, dice, |id| move_region(view, view.state.regions.get(id)?, from, ids));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

fn move_region(view: &View<'_>, region: &RegionInfo, from: u64, ids: &mut IdPool) -> Option<Operator> {
    let wanted = view.state.config.replication.max_replicas as usize;
    if view.controller.of(region.id()).is_some() || !region.is_healthy() || region.meta.peers.len() != wanted {
        return None;
    }
    let mut stores: Vec<u64> = region.meta.peers.iter().map(|peer| peer.store_id).filter(|store| *store != from).collect();
    let isolation = view.isolation(from, stores.iter().copied());
    let weight = region.weight() as i64;
    let free = view.stores().filter(|(store, live)| region.peer_on(store.id).is_none() && view.can_take_replicas(store, live));
    let as_isolated = free.map(|(store, _)| store.id).filter(|id| view.isolation(*id, stores.iter().copied()) >= isolation);
    let to = as_isolated.min_by_key(|id| (view.weight(*id), *id))?;
    // The difference must be worth the work, or replicas would wander for ever.
    if view.weight(to) + weight * 2 > view.weight(from) {
        return None;
    }
    let leads = region.leader_store() == from;
    stores.push(to);
    let steps = steps_to(region, &stores, leads.then_some(to), || ids.take())?;
    Some(Operator::new(region, OperatorKind::Region, "balance-region", steps, view.now))
}

//! As much load on each store: a hot region's leadership, or its leading replica, goes from the most loaded store to where it fits better.
//!
//! Only what makes the greater of both loads clearly smaller is done: a single region hotter than everything else stays where it is.

use super::super::{
    hot::{Flow, HotCache, HotRegion},
    operator::{Operator, OperatorKind, Step, steps_to},
    region::RegionInfo,
    view::{IdPool, View},
};

/// The most loaded store must be this many percent above the mean.
const TOLERANCE_PERCENT: u64 = 10;

pub(super) fn schedule(view: &View<'_>, hot: &HotCache, ids: &mut IdPool) -> Option<Operator> {
    // While one is under way the loads measured are those of before.
    if view.controller.iter().any(|operator| operator.kind == OperatorKind::HotRegion) {
        return None;
    }
    [Flow::Write, Flow::Read].into_iter().find_map(|flow| relieve(view, hot, flow, ids))
}

fn relieve(view: &View<'_>, hot: &HotCache, flow: Flow, ids: &mut IdPool) -> Option<Operator> {
    let hits = view.state.config.schedule.hot_region_cache_hits_threshold;
    let loads = hot.loads(flow, hits);
    let load = |store: u64| loads.get(&store).copied().unwrap_or(0);
    let stores: Vec<u64> = view.stores().map(|(store, _)| store.id).collect();
    let from = stores.iter().copied().max_by_key(|store| (load(*store), *store))?;
    let mean = loads.values().sum::<u64>() / stores.len() as u64;
    if load(from) * 100 <= mean * (100 + TOLERANCE_PERCENT) {
        return None;
    }
    let led = hot.hottest(flow, hits).into_iter().filter(|(_, hot)| hot.store_id == from);
    led.filter(|(id, _)| view.controller.of(*id).is_none()).find_map(|(id, hot)| {
        let region = view.state.regions.get(id).filter(|region| region.is_healthy() && region.leader_store() == from)?;
        let fits = |to: &u64| is_better(load(from), load(*to), &hot);
        hand_over(view, region, from, &load, fits).or_else(|| carry_over(view, region, from, &load, fits, ids))
    })
}

/// Whether the greater of both loads gets smaller by a tenth at least.
fn is_better(from: u64, to: u64, hot: &HotRegion) -> bool {
    let after = from.saturating_sub(hot.rate).max(to + hot.rate);
    after * 10 <= from * 9
}

/// A follower leads: nothing is copied.
fn hand_over(view: &View<'_>, region: &RegionInfo, from: u64, load: &dyn Fn(u64) -> u64, fits: impl Fn(&u64) -> bool) -> Option<Operator> {
    let followers = region.meta.peers.iter().map(|peer| peer.store_id).filter(|store| *store != from);
    let to_store = followers.filter(|store| view.can_take_leaders(*store)).filter(fits).min_by_key(|store| (load(*store), *store))?;
    let step = Step::TransferLeader { from_store: from, to_store };
    Some(Operator::new(region, OperatorKind::HotRegion, "move-hot-leader", vec![step], view.now))
}

/// A store without a replica gets the leader's.
fn carry_over(
    view: &View<'_>,
    region: &RegionInfo,
    from: u64,
    load: &dyn Fn(u64) -> u64,
    fits: impl Fn(&u64) -> bool,
    ids: &mut IdPool,
) -> Option<Operator> {
    let mut stores: Vec<u64> = region.meta.peers.iter().map(|peer| peer.store_id).filter(|store| *store != from).collect();
    let isolation = view.isolation(from, stores.iter().copied());
    let free = view.stores().filter(|(store, live)| region.peer_on(store.id).is_none() && view.can_take_replicas(store, live));
    let suited = free.map(|(store, _)| store.id).filter(|id| view.can_take_leaders(*id));
    let as_isolated = suited.filter(|id| view.isolation(*id, stores.iter().copied()) >= isolation);
    let to = as_isolated.filter(fits).min_by_key(|store| (load(*store), *store))?;
    stores.push(to);
    let steps = steps_to(region, &stores, Some(to), || ids.take())?;
    Some(Operator::new(region, OperatorKind::HotRegion, "move-hot-region", steps, view.now))
}

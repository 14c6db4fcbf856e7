//! Spreads regions on demand: a table's new regions, for instance, which all begin where their parent was.
//!
//! Within a group each region goes to the stores that have got the fewest of it so far, as long as its replicas are isolated no worse, and is
//! led where the fewest of the group are led.

use std::collections::{BTreeMap, HashMap};

use super::super::{
    operator::{Operator, OperatorKind, steps_to},
    region::RegionInfo,
    view::{IdPool, View},
};

/// Groups that are remembered.
const MAX_GROUPS: usize = 1024;

/// What each store has got of each group.
#[derive(Debug, Default)]
pub struct ScatterCounts(HashMap<String, BTreeMap<u64, Count>>);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    replicas: u64,
    leaders: u64,
}

impl ScatterCounts {
    /// Where a region of a group is to go; `None` when it is well where it is.
    pub fn scatter(&mut self, view: &View<'_>, region: &RegionInfo, group: &str, ids: &mut IdPool) -> Option<Operator> {
        if self.0.len() >= MAX_GROUPS && !self.0.contains_key(group) {
            self.0.clear();
        }
        let counts = self.0.entry(group.to_owned()).or_default();
        let count = |counts: &BTreeMap<u64, Count>, store: u64| counts.get(&store).copied().unwrap_or_default();
        let mut stores: Vec<u64> = region.meta.peers.iter().map(|peer| peer.store_id).collect();
        for at in 0..stores.len() {
            let others: Vec<u64> = stores.iter().copied().filter(|store| *store != stores[at]).collect();
            let isolation = view.isolation(stores[at], others.iter().copied());
            let free = view.stores().filter(|(store, live)| !stores.contains(&store.id) && view.can_take_replicas(store, live));
            let as_isolated = free.map(|(store, _)| store.id).filter(|id| view.isolation(*id, others.iter().copied()) >= isolation);
            let best = as_isolated.min_by_key(|id| (count(counts, *id).replicas, view.weight(*id), *id));
            if let Some(best) = best.filter(|best| count(counts, *best).replicas < count(counts, stores[at]).replicas) {
                stores[at] = best;
            }
        }
        let led = stores.iter().copied().filter(|store| view.can_take_leaders(*store));
        let leader = led.min_by_key(|id| (count(counts, *id).leaders, view.leaders(*id), *id)).unwrap_or(region.leader_store());
        for store in &stores {
            counts.entry(*store).or_default().replicas += 1;
        }
        counts.entry(leader).or_default().leaders += 1;
        let steps = steps_to(region, &stores, Some(leader), || ids.take())?;
        (!steps.is_empty()).then(|| Operator::new(region, OperatorKind::Admin, "scatter-region", steps, view.now))
    }
}

//! As many leaders on each store: from the store with the most to a follower on a store with at least two fewer.

use super::{
    super::{
        operator::{Operator, OperatorKind, Step},
        view::{Dice, View},
    },
    pick,
};

pub(super) fn schedule(view: &View<'_>, dice: &mut Dice) -> Option<Operator> {
    let mut sources: Vec<u64> = view.stores().map(|(store, _)| store.id).collect();
    sources.sort_by_key(|id| (-view.leaders(*id), *id));
    for from_store in sources {
        let Some(led) = view.state.regions.on_store(from_store) else { continue };
        let leaders = view.leaders(from_store);
        let found = pick(&led.leaders, dice, |id| {
            let region = view.state.regions.get(id)?;
            if view.controller.of(id).is_some() || !region.is_healthy() {
                return None;
            }
            let followers = region.meta.peers.iter().map(|peer| peer.store_id).filter(|store| *store != from_store);
            let free = followers.filter(|store| view.can_take_leaders(*store));
            let to_store = free.min_by_key(|store| (view.leaders(*store), *store))?;
            // Two fewer: a difference of one would only change places.
            (view.leaders(to_store) + 2 <= leaders).then(|| {
                let step = Step::TransferLeader { from_store, to_store };
                Operator::new(region, OperatorKind::Leader, "balance-leader", vec![step], view.now)
            })
        });
        if found.is_some() {
            return found;
        }
    }
    None
}

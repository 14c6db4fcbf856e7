//! No leaders on the stores an administrator named, for instance before they are stopped, and on those that refuse writes, for instance because
//! their disk is nearly full.

use super::{
    super::{
        operator::{Operator, OperatorKind, Step},
        view::{Dice, View},
    },
    pick,
};

pub(super) fn schedule(view: &View<'_>, dice: &mut Dice) -> Option<Operator> {
    let named = view.state.config.schedulers.evict_leader_stores.iter().copied();
    let config = &view.state.config.schedule;
    let refusing = view.stores().filter(|(_, live)| live.refuses_writes(view.now, config)).map(|(store, _)| store.id);
    named.chain(refusing).find_map(|from_store| {
        let led = &view.state.regions.on_store(from_store)?.leaders;
        pick(led, dice, |id| {
            let region = view.state.regions.get(id)?;
            if view.controller.of(id).is_some() {
                return None;
            }
            let followers = region.voters().filter(|peer| peer.store_id != from_store && !region.is_pending(peer.id));
            let free = followers.map(|peer| peer.store_id).filter(|store| view.can_take_leaders(*store));
            let to_store = free.min_by_key(|store| (view.leaders(*store), *store))?;
            let step = Step::TransferLeader { from_store, to_store };
            Some(Operator::new(region, OperatorKind::Leader, "evict-leader", vec![step], view.now))
        })
    })
}

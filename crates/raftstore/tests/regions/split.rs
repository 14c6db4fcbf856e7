//! Regions are divided while clients write and read, stores die, and some are slow to apply what is committed.

use raftstore::region::epoch;

use crate::world::{World, config};

#[test]
fn a_part_of_a_split_that_has_a_log_is_known_after_a_loss_of_power() {
    for seed in 0..20 {
        let mut world = World::new(seed, config());
        world.split_until_done("m");
        world.start_clients(&["a", "x"]);
        world.progress(2);
        world.tick_until("the split on all stores", |world| world.common_regions().is_some_and(|ids| ids.len() == 2));
        for id in 1..=3 {
            world.restart(id);
            assert_eq!(world.store(id).region_ids().len(), 2, "store {id}, seed {seed}");
        }
        world.heal_and_check();
    }
}

#[test]
fn a_leader_that_has_not_applied_a_split_reads_nothing_when_others_may_write() {
    for seed in 0..8 {
        let mut world = World::new(seed, config());
        let (store, view) = world.leader("x");
        let (parent, version) = (view.region.id, epoch(&view.region).version);
        world.not_applying = [store.store_id()].into();
        assert!(world.split("m").is_err(), "nobody answers before it is applied");
        let is_led_elsewhere = |world: &mut World| world.leader("x").1.region.id != parent;
        world.tick_until("a leader of the part", is_led_elsewhere);
        assert!(
            store.view(parent).unwrap().is_leader && epoch(&store.view(parent).unwrap().region).version == version,
            "it has heard of nothing"
        );
        for _ in 0..200 {
            // The first reads would bring a lease for those after them.
            assert!(world.poll(std::pin::pin!(store.read_permit(parent, version))).is_none(), "seed {seed}");
            world.step();
        }
        world.not_applying.clear();
        world.tick_until("the split is applied", |_| epoch(&store.view(parent).unwrap().region).version > version);
    }
}

//! Regions become parts of their neighbours while clients write and read, stores die and messages are lost.

use env::Rng as _;
use raftstore::{Config, region::epoch};

use crate::world::{World, config};

const KEYS: [&str; 6] = ["a", "c", "h", "m", "p", "x"];

/// Regions …g, g…n, n…; clients at work.
fn three_regions(seed: u64) -> World {
    let mut world = World::new(seed, config());
    world.split_until_done("g");
    world.split_until_done("n");
    // Led by the same store, or by two, of which each may be any.
    world.hand_over("h", seed % 3 + 1);
    world.hand_over("x", seed / 3 % 3 + 1);
    world.start_clients(&KEYS);
    world.progress(20);
    world
}

fn merged(world: &mut World, count: usize) {
    world.tick_until("the merge", |world| world.common_regions().is_some_and(|regions| regions.len() == count));
}

#[test]
fn a_region_becomes_a_part_of_either_neighbour_while_it_is_written() {
    for seed in 0..6 {
        let mut world = three_regions(seed);
        world.merge_until_begun("h", "x");
        merged(&mut world, 2);
        world.progress(20);
        world.merge_until_begun("x", "a");
        merged(&mut world, 1);
        world.heal_and_check();
        assert_eq!(world.common_regions().unwrap().len(), 1);
    }
}

#[test]
fn the_source_serves_nothing_from_the_proposal_on() {
    let mut world = three_regions(1);
    let (store, view) = world.leader("h");
    // Nobody else hears of it, so it is never committed; the lease is good for a while.
    world.cut_off = (1..=3).collect();
    let target = (*world.leader("x").1.region).clone();
    let (at, version) = (epoch(&view.region), epoch(&view.region).version);
    let (asked, id) = (store.clone(), view.region.id);
    let mut merging = std::pin::pin!(asked.merge(id, at, target));
    assert!(world.poll(merging.as_mut()).is_none());
    while !store.view(id).unwrap().is_merging {
        world.step();
    }
    assert!(view.lease_until.is_some(), "there was a lease");
    let refused = world.run(async { store.read_permit(id, version).await.map(|_| ()) });
    assert!(matches!(refused, Err(raftstore::Error::Merging(_))), "{refused:?}");
    world.heal_and_check();
}

#[test]
fn a_region_that_is_merging_is_no_target() {
    let mut refused = 0;
    for seed in 0..30 {
        let mut world = three_regions(seed);
        let (store, view) = world.leader("x");
        let (source, at) = (view.region.id, epoch(&view.region));
        let target = world.leader("h").1.region.id;
        world.merge_until_begun("h", "a");
        let merging = |_: &mut World| store.view(target).map(|view| view.merging.is_some()).unwrap_or(true);
        world.tick_until("the beginning of the merge there, or its end", merging);
        if let Ok(target) = store.view(target) {
            let asked = world.run(store.merge(source, at, (*target.region).clone()));
            assert!(matches!(asked, Err(raftstore::Error::Merging(_))), "seed {seed}: {asked:?}");
            refused += 1;
        }
        world.heal_and_check();
        assert_eq!(world.leader("x").1.region.start_key[..], b"n"[..]);
    }
    assert!(refused >= 5, "only {refused} times was it not over yet");
}

#[test]
fn each_store_may_die_at_any_moment_of_a_merge() {
    for seed in 0..24 {
        let mut world = three_regions(seed);
        world.merge_until_begun("h", if seed % 2 == 0 { "x" } else { "a" });
        // The whole takes a few dozen steps.
        for _ in 0..seed * 2 {
            world.step();
        }
        world.restart(seed % 3 + 1);
        merged(&mut world, 2);
        world.heal_and_check();
    }
}

#[test]
fn all_stores_die_between_the_two_halves_and_go_on() {
    let mut between = 0;
    for seed in 0..10 {
        let mut world = three_regions(seed);
        let ((source, view), _) = (world.leader("h"), world.leader("x"));
        let (leader, id) = (source.store_id(), view.region.id);
        drop(source);
        world.not_applying = (1..=3).filter(|id| *id != leader).collect();
        world.merge_until_begun("h", "x");
        between += u64::from(world.store(leader).view(id).is_ok_and(|view| view.merging.is_some()));
        world.not_applying.clear();
        (1..=3).for_each(|id| world.kill(id));
        (1..=3).for_each(|id| world.start(id));
        merged(&mut world, 2);
        world.heal_and_check();
    }
    assert!(between >= 3, "only {between} of the merges were caught between their halves");
}

#[test]
fn a_follower_that_was_cut_off_catches_up_by_the_log_of_the_target() {
    for seed in 0..8 {
        let mut world = three_regions(seed);
        let leads = [world.leader("h").0.store_id(), world.leader("x").0.store_id()];
        let victim = (1..=3).find(|id| !leads.contains(id)).unwrap();
        // It misses writes of the source, which the target's log brings; with too many of them no merge begins.
        let begun = (0..50).any(|_| {
            world.cut_off.clear();
            world.ticks(40);
            world.cut_off = [victim].into();
            world.progress(6);
            world.merge("h", "x").is_ok()
        });
        assert!(begun, "no merge could begin");
        world.tick_until("the merge elsewhere", |world| (1..=3).all(|id| id == victim || world.store(id).region_ids().len() == 2));
        assert_eq!(world.store(victim).region_ids().len(), 3);
        world.cut_off.clear();
        merged(&mut world, 2);
        world.heal_and_check();
    }
}

#[test]
fn a_store_that_was_away_for_long_gets_a_snapshot_in_the_place_of_what_was_merged() {
    for seed in 0..4 {
        let mut world = three_regions(seed);
        let leads = [world.leader("h").0.store_id(), world.leader("x").0.store_id()];
        let victim = (1..=3).find(|id| !leads.contains(id)).unwrap();
        // It never hears of the merge.
        world.cut_off = [victim].into();
        world.merge_until_begun("h", "x");
        world.kill(victim);
        world.tick_until("the merge elsewhere", |world| (1..=3).all(|id| id == victim || world.store(id).region_ids().len() == 2));
        let target = world.leader("x").1.region.id;
        let truncated = |world: &World, id: u64| {
            let state = raftstore::local_state::apply_state(world.store(id).engine(), target).unwrap().unwrap();
            state.truncated_state.unwrap().index
        };
        let before = truncated(&world, victim % 3 + 1);
        for _ in 0..4 {
            world.progress(60);
            world.ticks(60);
        }
        let leader = world.leader("x").0.store_id();
        assert!(truncated(&world, leader) > before + 40, "the log of the target was not cut");
        world.cut_off.clear();
        world.start(victim);
        merged(&mut world, 2);
        world.heal_and_check();
    }
}

#[test]
fn a_merge_is_given_up_when_its_target_has_changed() {
    let mut given_up = 0;
    for seed in 0..9 {
        let mut world = three_regions(seed);
        let ((source, view), (other, target)) = (world.leader("h"), world.leader("x"));
        if source.store_id() == other.store_id() {
            continue;
        }
        // The target is split while the source's leader has not heard of it.
        world.not_applying = [source.store_id()].into();
        world.split_until_done("t");
        let (asked, id, at) = (source.clone(), view.region.id, epoch(&view.region));
        let mut merging = std::pin::pin!(asked.merge(id, at, (*target.region).clone()));
        assert!(world.poll(merging.as_mut()).is_none());
        world.ticks(2);
        world.not_applying.clear();
        world.progress(20);
        given_up += u64::from(matches!(world.poll(merging.as_mut()), Some(Ok(_))));
        world.heal_and_check();
        assert_eq!(world.leader("h").1.region.id, id, "the region lives on");
    }
    assert!(given_up >= 3, "only {given_up} merges had begun");
}

#[test]
fn merges_splits_crashes_and_cuts_in_any_order() {
    for seed in 0..12 {
        eprintln!("SEED {seed}");
        let mut world = three_regions(100 + seed);
        world.loss_percent = 3;
        for _ in 0..25 {
            let pick = |world: &World| KEYS[world.rng.next_u64() as usize % KEYS.len()];
            match world.rng.next_u64() % 8 {
                0..3 => {
                    let (source, target) = (pick(&world), pick(&world));
                    let _ = world.merge(source, target);
                }
                3 | 4 => {
                    let key = format!("{}5", pick(&world));
                    let _ = world.split(&key);
                }
                5 => {
                    let victim = world.rng.next_u64() % 3 + 1;
                    world.restart(victim);
                }
                6 => {
                    let victim = world.rng.next_u64() % 3 + 1;
                    world.cut_off = [victim].into();
                }
                _ => {
                    let (key, to) = (pick(&world), world.rng.next_u64() % 3 + 1);
                    world.ask_to_hand_over(key, to);
                }
            }
            let steps = world.rng.next_u64() % 60;
            (0..steps).for_each(|_| world.step());
            world.ticks(2);
            if world.chance(30) {
                world.cut_off.clear();
            }
        }
        world.heal_and_check();
    }
}

#[test]
fn few_entries_may_be_missing_when_a_merge_begins() {
    let mut world = World::new(5, Config { merge_max_log_gap: 4, ..config() });
    world.split_until_done("g");
    world.start_clients(&KEYS);
    world.progress(20);
    let leads = world.leader("a").0.store_id();
    world.cut_off = [leads % 3 + 1].into();
    world.progress(30);
    assert!(world.merge("a", "x").is_err(), "a replica lacks more than is carried");
    world.cut_off.clear();
    world.merge_until_begun("a", "x");
    merged(&mut world, 1);
    world.heal_and_check();
}

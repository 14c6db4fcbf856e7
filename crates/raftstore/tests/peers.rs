//! Replicas of one region under loss, partitions, restarts and changes of members; everything in one thread.

#![allow(clippy::unwrap_used)]

mod group;

use std::time::Duration;

use group::{Group, member};
use proto::{
    eraftpb::ConfChangeType,
    metapb::PeerRole,
    raft_cmdpb::{
        AdminCmdType, AdminRequest, BatchSplitRequest, ChangePeerRequest, ChangePeerV2Request, SplitRequest, TransferLeaderRequest,
    },
};
use raftstore::{Config, Error};

#[test]
fn a_write_is_on_every_replica_before_long() {
    let mut group = Group::new(3, 1);
    let leader = group.elect();
    let receiver = group.put(leader, "a", "1");
    group.tick_until("the acknowledgement", |_| matches!(receiver.try_recv(), Ok(Ok(()))));
    group.tick_until("replication", |group| (1..=3).all(|id| group.get(id, "a").as_deref() == Some("1")));
}

#[test]
fn acknowledged_writes_survive_loss_of_messages_and_power() {
    for seed in 0..12 {
        let mut group = Group::new(3, seed);
        for n in 0..12u64 {
            group.loss_percent = 20;
            group.put_until_acknowledged(&format!("k{n}"), &n.to_string());
            let victim = (seed + n) % 3 + 1;
            match n % 3 {
                0 => group.restart(victim),
                1 => group.cut_off = vec![victim],
                _ => group.cut_off.clear(),
            }
        }
        group.cut_off.clear();
        group.loss_percent = 0;
        for id in 1..=3 {
            group.tick_until("catching up", |group| (0..12).all(|n| group.get(id, &format!("k{n}")).as_deref() == Some(&n.to_string())));
        }
    }
}

#[test]
fn a_write_of_another_term_or_version_is_refused() {
    let mut group = Group::new(3, 3);
    let leader = group.elect();
    let follower = leader % 3 + 1;
    let receiver = group.put(follower, "a", "1");
    assert!(matches!(receiver.try_recv(), Ok(Err(engine::Error::Displaced))));
    group.cut_off = vec![leader];
    let lost = group.put(leader, "a", "lost");
    group.elect();
    group.put_until_acknowledged("a", "kept");
    group.cut_off.clear();
    group.tick_until("the old leader's failure", |_| matches!(lost.try_recv(), Ok(Err(engine::Error::Displaced))));
    group.tick_until("one value", |group| (1..=3).all(|id| group.get(id, "a").as_deref() == Some("kept")));
}

#[test]
fn the_lease_is_over_before_another_leader_can_be_elected() {
    for seed in 0..20 {
        let mut group = Group::new(3, seed);
        let old = group.elect();
        group.put_until_acknowledged("a", "1");
        let old = if group.view(old).is_leader { old } else { group.leader().unwrap() };
        group.cut_off = vec![old];
        group.tick_until("a new leader", |group| group.leader().is_some());
        let now = group.now;
        assert!(group.view(old).lease_until.is_none_or(|until| until < now), "seed {seed}");
        // Without its lease the old leader has to ask, and nobody answers.
        let answer = group.read(old);
        for _ in 0..5 {
            group.step();
        }
        assert!(!matches!(*answer.lock().unwrap(), Some(Ok(_))), "seed {seed}");
    }
}

#[test]
fn a_restarted_member_keeps_the_lease_it_may_have_promised() {
    let mut group = Group::new(3, 5);
    let leader = group.elect();
    let others: Vec<u64> = (1..=3).filter(|id| *id != leader).collect();
    group.cut_off = vec![others[1]];
    let answer = group.read(leader);
    group.tick_until("an answer", |_| matches!(*answer.lock().unwrap(), Some(Ok(_))));
    // The one who promised forgets it in a restart; the one who heard nothing wants to lead.
    group.restart(others[0]);
    group.cut_off = vec![leader];
    group.nodes.get_mut(&others[1]).unwrap().peer.campaign();
    while group.view(leader).lease_until.is_some_and(|until| group.now < until) {
        assert_eq!(group.leader(), None, "two leaders could serve reads");
        group.tick();
    }
    group.elect();
}

#[test]
fn reads_under_the_lease_are_served_at_once_and_a_handover_ends_it() {
    let mut group = Group::new(3, 7);
    let leader = group.elect();
    group.put_until_acknowledged("a", "1");
    assert!(matches!(*group.read(leader).lock().unwrap(), Some(Ok(_))));
    let to = member(leader % 3 + 1, PeerRole::Voter);
    let request = AdminRequest {
        cmd_type: AdminCmdType::TransferLeader as i32,
        transfer_leader: Some(TransferLeaderRequest { peer: Some(to) }),
        ..Default::default()
    };
    let _ = group.admin(leader, &request);
    assert!(group.view(leader).lease_until.is_none());
    group.tick_until("the handover", |group| group.leader() == Some(to.id));
    group.advance(Duration::from_secs(60));
    assert!(group.view(to.id).lease_until.is_none_or(|until| until < group.now));
    let answer = group.read(to.id);
    assert!(answer.lock().unwrap().is_none());
    group.tick_until("an answer of the majority", |_| matches!(*answer.lock().unwrap(), Some(Ok(_))));
}

fn change(changes: &[(ConfChangeType, u64)]) -> AdminRequest {
    let one =
        |(kind, id): &(ConfChangeType, u64)| ChangePeerRequest { change_type: *kind as i32, peer: Some(member(*id, PeerRole::Voter)) };
    let changes = changes.iter().map(one).collect();
    AdminRequest {
        cmd_type: AdminCmdType::ChangePeerV2 as i32,
        change_peer_v2: Some(ChangePeerV2Request { changes }),
        ..Default::default()
    }
}

#[test]
fn a_new_member_gets_a_snapshot_and_replaces_another_through_a_joint_state() {
    use ConfChangeType::{AddLearnerNode, AddNode, RemoveNode};
    let mut group = Group::with_config(3, 11, Config { log_gc_entries: 8, hibernate_after_ticks: 0, ..Config::default() });
    for n in 0..40 {
        group.put_until_acknowledged(&format!("k{n}"), "v");
    }
    let leader = group.elect();
    group.tick_until("a cut of the log", |group| {
        let bounds = raftstore::log::RaftLog::bounds(&*group.nodes[&leader].log, group::REGION);
        bounds.is_some() && group.nodes[&leader].applier.state().truncated_state.unwrap().index > 20
    });
    group.start_empty(4);
    let leader = group.elect();
    let added = group.admin(leader, &change(&[(AddLearnerNode, 4)]));
    group.tick_until("the learner", |_| matches!(added.try_recv(), Ok(Ok(_))));
    group.tick_until("the learner's data", |group| group.get(4, "k39").is_some());
    let victim = (1..=3).find(|id| *id != leader).unwrap();
    let swapped = group.admin(leader, &change(&[(AddNode, 4), (AddLearnerNode, victim)]));
    group.tick_until("the joint state", |_| matches!(swapped.try_recv(), Ok(Ok(_))));
    group.tick_until("the end of the joint state", |group| !raftstore::region::in_joint_state(&group.view(leader).region));
    let removed = group.admin(leader, &change(&[(RemoveNode, victim)]));
    group.tick_until("the removal", |_| matches!(removed.try_recv(), Ok(Ok(_))));
    group.tick_until("the end of the removed replica", |group| !group.nodes.contains_key(&victim));
    group.put_until_acknowledged("after", "v");
    group.tick_until("replication", |group| group.get(4, "after").is_some());
}

#[test]
fn a_change_that_leaves_no_majority_is_refused() {
    let mut group = Group::new(3, 13);
    let leader = group.elect();
    let others: Vec<u64> = (1..=3).filter(|id| *id != leader).collect();
    group.cut_off = vec![others[0]];
    for _ in 0..30 {
        group.tick();
    }
    let refused = group.admin(leader, &change(&[(ConfChangeType::RemoveNode, others[1])]));
    assert!(matches!(refused.try_recv(), Ok(Err(Error::InvalidRequest(_)))));
    let myself = group.admin(leader, &change(&[(ConfChangeType::RemoveNode, leader)]));
    assert!(matches!(myself.try_recv(), Ok(Err(Error::InvalidRequest(_)))));
}

#[test]
fn writes_for_the_region_before_its_split_are_refused() {
    let mut group = Group::new(3, 17);
    let leader = group.elect();
    let part = SplitRequest { split_key: "m".into(), new_region_id: 2, new_peer_ids: vec![4, 5, 6], right_derive: false };
    let request = AdminRequest {
        cmd_type: AdminCmdType::BatchSplit as i32,
        splits: Some(BatchSplitRequest { requests: vec![part], right_derive: false }),
        ..Default::default()
    };
    let split = group.admin(leader, &request);
    // Proposed after the split and before it is applied: it was computed for a region that is no more.
    let late = group.put(leader, "z", "late");
    let mut regions = Vec::new();
    group.tick_until("the split", |_| match split.try_recv() {
        Ok(result) => {
            regions = result.unwrap();
            true
        }
        Err(_) => false,
    });
    assert_eq!(regions.iter().map(|region| region.id).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(&group.view(leader).region.end_key[..], b"m");
    assert!(matches!(late.try_recv(), Ok(Err(engine::Error::Displaced))));
    assert_eq!(group.get(leader, "z"), None);
}

#[test]
fn an_idle_region_rests_and_wakes_for_a_write_or_an_election() {
    let mut group = Group::with_config(3, 19, Config { hibernate_after_ticks: 20, ..Config::default() });
    group.put_until_acknowledged("a", "1");
    group.tick_until("rest", |group| group.nodes.values().all(|node| node.peer.is_resting()));
    for _ in 0..100 {
        group.tick();
    }
    assert!(group.nodes.values().all(|node| node.peer.is_resting()), "resting regions stay at rest");
    group.put_until_acknowledged("a", "2");
    let leader = group.leader().unwrap();
    group.tick_until("rest", |group| group.nodes.values().all(|node| node.peer.is_resting()));
    group.cut_off = vec![leader];
    let follower = leader % 3 + 1;
    let mut effects = raftstore::Effects::default();
    group.nodes.get_mut(&follower).unwrap().peer.wake_everybody(&mut effects);
    assert_eq!(effects.messages.len(), 2);
    for message in effects.messages {
        let to = message.to_peer.unwrap().id;
        let (mut more, now) = (raftstore::Effects::default(), group.now);
        group.nodes.get_mut(&to).unwrap().peer.step(now, message, &mut more).unwrap();
    }
    group.tick_until("an election", |group| group.leader().is_some_and(|id| id != leader));
}

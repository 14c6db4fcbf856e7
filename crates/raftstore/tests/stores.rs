//! Three stores with their threads and files: leaders die, stores restart, regions split and move while they are written to.

#![allow(clippy::unwrap_used)]

mod cluster;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use cluster::{Cluster, fast, wait_until};
use proto::{
    eraftpb::ConfChangeType,
    metapb::{Peer, PeerRole},
    raft_cmdpb::{AdminCmdType, AdminRequest, ChangePeerRequest},
};
use raftstore::{Config, Error};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_survive_the_loss_of_the_leader_and_it_catches_up_when_it_returns() {
    let cluster = Cluster::start(3, 3, fast());
    for n in 0..20 {
        cluster.put(&format!("a{n}"), "1").await;
    }
    let (leader, _) = cluster.wait_for_leader("a");
    let dead = leader.store_id();
    drop(leader);
    cluster.stop_store(dead);
    cluster.put("b", "2").await;
    for n in 0..20 {
        assert_eq!(cluster.get(&format!("a{n}")).await.as_deref(), Some("1"));
    }
    cluster.start_store(dead);
    let returned = cluster.store(dead);
    wait_until("catching up", || Cluster::stored(&returned, "b").as_deref() == Some("2"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_stores_restart_and_have_what_was_acknowledged() {
    let cluster = Cluster::start(3, 3, fast());
    for n in 0..200 {
        cluster.put(&format!("k{n}"), &n.to_string()).await;
    }
    cluster.split("k5", 9).await;
    cluster.put("k9x", "after the split").await;
    for id in 1..=3 {
        cluster.stop_store(id);
    }
    for id in 1..=3 {
        cluster.start_store(id);
    }
    for n in 0..200 {
        assert_eq!(cluster.get(&format!("k{n}")).await, Some(n.to_string()));
    }
    assert_eq!(cluster.get("k9x").await.as_deref(), Some("after the split"));
    for id in 1..=3 {
        assert_eq!(cluster.store(id).region_ids(), [1, 9]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn regions_split_under_load_and_nothing_acknowledged_is_lost() {
    let cluster = Arc::new(Cluster::start(3, 3, fast()));
    cluster.wait_for_leader("a");
    let stop = Arc::new(AtomicBool::new(false));
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (cluster, stop, acknowledged) = (cluster.clone(), stop.clone(), acknowledged.clone());
            tokio::spawn(async move {
                let mut n = 0;
                while !stop.load(Ordering::Relaxed) {
                    cluster.put(&format!("{}{n:06}", ["a", "h", "p", "w"][writer]), &n.to_string()).await;
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                    n += 1;
                }
                (writer, n)
            })
        })
        .collect();
    for (key, id) in [("m", 20), ("d", 21), ("t", 22), ("p000010", 23)] {
        let before = acknowledged.load(Ordering::Relaxed);
        wait_until("progress", || acknowledged.load(Ordering::Relaxed) >= before + 20);
        cluster.split(key, id).await;
    }
    let before = acknowledged.load(Ordering::Relaxed);
    wait_until("progress", || acknowledged.load(Ordering::Relaxed) >= before + 100);
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        let (writer, count) = writer.await.unwrap();
        for n in 0..count {
            let key = format!("{}{n:06}", ["a", "h", "p", "w"][writer]);
            assert_eq!(cluster.get(&key).await, Some(n.to_string()), "{key}");
        }
    }
    assert_eq!(cluster.store(2).region_ids(), [1, 20, 21, 22, 23]);
}

fn change(kind: ConfChangeType, store_id: u64, id: u64) -> AdminRequest {
    let peer = Some(Peer { id, store_id, role: PeerRole::Voter as i32, ..Default::default() });
    AdminRequest {
        cmd_type: AdminCmdType::ChangePeer as i32,
        change_peer: Some(ChangePeerRequest { change_type: kind as i32, peer }),
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_moves_to_a_new_store_by_snapshot_and_leaves_nothing_behind() {
    let cluster = Cluster::start(4, 3, fast());
    for n in 0..300 {
        cluster.put(&format!("k{n}"), "v").await;
    }
    cluster.admin("k", &change(ConfChangeType::AddLearnerNode, 4, 40)).await;
    let new = cluster.store(4);
    wait_until("the snapshot", || Cluster::stored(&new, "k299").is_some() && Cluster::stored(&new, "k0").is_some());
    cluster.admin("k", &change(ConfChangeType::AddNode, 4, 40)).await;
    let leader = cluster.wait_for_leader("k").0.store_id();
    let victim = (1..=3).find(|id| *id != leader).unwrap();
    cluster.admin("k", &change(ConfChangeType::RemoveNode, victim, victim)).await;
    let emptied = cluster.store(victim);
    wait_until("the removal", || emptied.region_ids().is_empty() && Cluster::stored(&emptied, "k0").is_none());
    // Added again, under another id, it is not taken for the one that was removed.
    cluster.admin("k", &change(ConfChangeType::AddNode, victim, 50)).await;
    cluster.put("last", "v").await;
    wait_until("the return", || Cluster::stored(&emptied, "last").is_some() && Cluster::stored(&emptied, "k0").is_some());
    drop(emptied);
    cluster.stop_store(victim);
    cluster.start_store(victim);
    assert_eq!(cluster.store(victim).region_ids(), [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_region_is_to_be_split_and_old_versions_of_it_are_refused() {
    let config = Config { region_split_bytes: 64 << 10, ..fast() };
    let cluster = Cluster::start(1, 1, config);
    let value = "x".repeat(1000);
    for n in 0..120 {
        cluster.put(&format!("k{n:04}"), &value).await;
    }
    wait_until("a wish to split", || !cluster.asked_splits().is_empty());
    let (region, keys) = cluster.asked_splits().remove(0);
    assert!(keys.iter().all(|key| raftstore::region::contains(&region, key)), "{keys:?}");
    let (store, view) = cluster.wait_for_leader("k");
    cluster.split(std::str::from_utf8(&keys[0]).unwrap(), 30).await;
    let old = raftstore::region::epoch(&view.region).version;
    // From the moment the split was answered the old version is refused; with the new regions as soon as they are known.
    let stale = store.read_permit(1, old).await.err();
    assert!(matches!(stale, Some(Error::StaleCommand | Error::EpochNotMatch { .. })), "{stale:?}");
    wait_until("the new regions", || store.region_ids() == [1, 30]);
    let Some(Error::EpochNotMatch { current }) = store.read_permit(1, old).await.err() else { panic!("an old version was let through") };
    assert_eq!(current.iter().map(|region| region.id).collect::<Vec<_>>(), [1, 30]);
}

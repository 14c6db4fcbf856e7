//! A placement driver and stores as processes, asked with the public protocol: replication, loss of the leader, splits.

pub mod client;
pub mod cluster;

use client::Client;
use cluster::Cluster;

#[tokio::test]
async fn three_stores_serve_on_when_the_leader_is_killed_and_take_it_back() {
    let mut cluster = Cluster::start(3);
    let mut client = Client::new(&cluster.pd.address);
    for n in 0..20 {
        client.put(&format!("k{n}"), &format!("before {n}")).await;
    }
    // The placement driver makes three replicas of the first store's one.
    let leader = client.leader_of("k", 3).await;
    client.put("replicated", "yes").await;
    let address = client.address(leader.store_id).await.expect("the leader has an address");
    let dead = cluster.kill_store_at(&address);
    for n in 0..20 {
        assert_eq!(client.get(&format!("k{n}")).await, Some(format!("before {n}")));
        client.put(&format!("k{n}"), &format!("after {n}")).await;
    }
    cluster.restart_store(dead);
    // With the other two alone there is a majority only if the one that was killed has caught up.
    let leader = client.leader_of("k", 3).await;
    let address = client.address(leader.store_id).await.expect("the leader has an address");
    if cluster.stores[dead].as_ref().is_some_and(|store| store.address != address) {
        cluster.kill_store_at(&address);
    }
    for n in 0..20 {
        assert_eq!(client.get(&format!("k{n}")).await, Some(format!("after {n}")));
    }
    assert_eq!(client.get("replicated").await.as_deref(), Some("yes"));
}

#[tokio::test]
async fn regions_split_on_request_and_transactions_span_them() {
    let cluster = Cluster::start(1);
    let mut client = Client::new(&cluster.pd.address);
    client.put("a", "1").await;
    client.put("z", "1").await;
    let regions = client.split("m").await;
    assert_eq!(regions.len(), 2);
    assert_eq!(regions[0].end_key, regions[1].start_key);
    client.put_both(["a", "z"], "2").await;
    assert_eq!(client.get("a").await.as_deref(), Some("2"));
    assert_eq!(client.get("z").await.as_deref(), Some("2"));
    assert_eq!(client.get("m").await, None);
}

#[tokio::test]
async fn pessimistic_locks_stay_where_regions_split() {
    let cluster = Cluster::start(1);
    let mut client = Client::new(&cluster.pd.address);
    let keys = ["b", "n", "s", "y"];
    client.put("a", "1").await;
    let (owner, other) = (client.timestamp().await, client.timestamp().await);
    for key in keys {
        assert_eq!(client.lock(key, owner).await, None, "{key}");
    }
    // The part behind m is split again before anything is asked of it.
    assert_eq!(client.split("m").await.len(), 2);
    assert_eq!(client.split("t").await.len(), 2);
    for key in keys {
        assert_eq!(client.lock(key, other).await, Some(owner), "{key}");
        assert_eq!(client.lock(key, owner).await, None, "{key}");
    }
    assert_eq!(client.split("p").await.len(), 2);
    for key in keys {
        assert_eq!(client.lock(key, other).await, Some(owner), "{key}");
    }
    assert_eq!(client.lock("c", other).await, None, "nobody has locked it");
}

#[tokio::test]
async fn raw_keys_are_put_scanned_and_swapped_and_survive_a_kill() {
    let mut cluster = Cluster::start(1);
    let mut client = Client::new(&cluster.pd.address);
    for n in 0..5 {
        client.raw_put(&format!("r{n}"), &n.to_string()).await;
    }
    assert_eq!(client.raw_scan("r1", 3).await, ["1", "2", "3"]);
    assert!(!client.raw_swap("r0", "9", "10").await);
    assert!(client.raw_swap("r0", "0", "10").await);
    let address = cluster.stores[0].as_ref().expect("it runs").address.clone();
    cluster.kill_store_at(&address);
    cluster.restart_store(0);
    assert_eq!(client.raw_scan("r0", 2).await, ["10", "1"]);
}

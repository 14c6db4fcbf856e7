//! Garbage collection: the rules of the version layout that concern it, each as a check of its own.

use std::time::Duration;

use crate::cluster::{Cluster, key, keys, put, scan_all, show};
use base::TimeStamp;
use client::{Error, LockRequest};
use engine::{Cf, Engine};
use proto::kvrpcpb::{CommitRequest, Mutation, Op, PrewriteRequest};

/// Everything that was superseded before a minute ago is garbage.
const LIFE_TIME: Duration = Duration::from_secs(60);

fn compact(cluster: &Cluster) {
    for cf in Cf::ALL {
        cluster.engine.compact_range(cf, None, None).unwrap();
    }
}

#[tokio::test]
async fn versions_below_the_safe_point_go_and_those_visible_at_it_stay() {
    let (cluster, clock) = Cluster::manual();
    cluster.commit("a=1 b=1 c=1").await;
    cluster.commit("a=2 b=- c=2").await;
    clock.advance(Duration::from_secs(30));
    let middle = cluster.client.timestamp().await.unwrap();
    clock.advance(Duration::from_secs(1));
    cluster.commit("a=3").await;
    clock.advance(LIFE_TIME);
    let report = cluster.client.run_gc(LIFE_TIME).await.unwrap();
    assert!(report.safe_point > middle);
    compact(&cluster);
    assert_eq!(scan_all(&cluster.snapshot().await).await, "a=3 c=2");
    let at_safe_point = cluster.client.snapshot(report.safe_point, Default::default());
    assert_eq!(scan_all(&at_safe_point).await, "a=2 c=2");
    // The version of a that was superseded before the safe point, and the deletion of b, are gone from the engine.
    assert_eq!(cluster.engine.dump(Cf::History).len(), 1);
    assert_eq!(cluster.engine.dump(Cf::Data).len(), 2);
}

/// Rule 1: locks at or below the safe point are resolved before it is published, stored ones and those in memory.
#[tokio::test]
async fn rule_1_locks_are_resolved_before_the_safe_point_is_published() {
    let (cluster, clock) = Cluster::manual();
    cluster.commit("a=0 b=0").await;
    let start_ts = cluster.client.timestamp().await.unwrap();
    let mutation = |name: &str| Mutation { op: Op::Put as i32, key: key(name), value: key("1"), assertion: 0 };
    let request = PrewriteRequest {
        mutations: vec![mutation("a"), mutation("b")],
        primary_lock: key("a"),
        start_version: start_ts.0,
        lock_ttl: 1_000_000,
        ..Default::default()
    };
    cluster.storage.prewrite(&request).await.unwrap();
    let commit_ts = cluster.client.timestamp().await.unwrap();
    let commit = CommitRequest { start_version: start_ts.0, keys: vec![key("a")], commit_version: commit_ts.0, ..CommitRequest::default() };
    cluster.storage.commit(commit).await.unwrap();
    // A primary overwritten since has only history to tell that the transaction was committed.
    cluster.commit("a=2").await;
    let mut hanging = cluster.pessimistic();
    hanging.lock_keys(&keys("m"), LockRequest::default()).await.unwrap();
    std::mem::forget(hanging);
    assert_eq!(cluster.storage.lock_counts(), (1, 1));
    let cluster = cluster.restart();
    clock.advance(LIFE_TIME * 2);
    let report = cluster.client.run_gc(LIFE_TIME).await.unwrap();
    assert_eq!((report.resolved_locks, cluster.storage.lock_counts()), (1, (0, 0)));
    compact(&cluster);
    assert_eq!(scan_all(&cluster.snapshot().await).await, "a=2 b=1");
}

#[tokio::test]
async fn rule_1_a_safe_point_is_refused_while_a_lock_below_it_is_left() {
    let (cluster, _clock) = Cluster::manual();
    let mut holder = cluster.pessimistic();
    holder.lock_keys(&keys("m"), LockRequest::default()).await.unwrap();
    let above = cluster.client.timestamp().await.unwrap();
    cluster.storage.raise_write_floor(above).await;
    assert!(matches!(cluster.storage.publish_safe_point(above).await, Err(txn::Error::KeyIsLocked(_))));
    assert_eq!(cluster.storage.safe_point(), TimeStamp::ZERO);
    holder.rollback().await;
    cluster.storage.publish_safe_point(above).await.unwrap();
    assert_eq!(cluster.storage.safe_point(), above);
}

/// Rule 2: below the safe point nothing is begun, and nothing is read.
#[tokio::test]
async fn rule_2_nothing_starts_and_nothing_is_read_below_the_safe_point() {
    let (cluster, _clock) = Cluster::manual();
    cluster.commit("a=1").await;
    let old = cluster.client.timestamp().await.unwrap();
    let safe_point = cluster.client.timestamp().await.unwrap();
    cluster.storage.raise_write_floor(safe_point).await;
    cluster.storage.publish_safe_point(safe_point).await.unwrap();
    let too_old = |error: &Error| matches!(error, Error::SnapshotTooOld { .. });

    let snapshot = cluster.client.snapshot(old, Default::default());
    assert!(too_old(&snapshot.get(b"a").await.unwrap_err()));
    assert!(too_old(&snapshot.batch_get(&keys("a b")).await.unwrap_err()));
    let mut scanner = snapshot.scan(base::KeyRange::default(), Default::default());
    assert!(too_old(&scanner.next_page().await.unwrap_err()));
    assert_eq!(show(cluster.client.snapshot(safe_point, Default::default()).get(b"a").await.unwrap()), "1");

    for pessimistic in [false, true] {
        let options = client::TxnOptions { start_ts: Some(old), pessimistic, ..Default::default() };
        let mut txn = cluster.client.begin(options.clone());
        put(&mut txn, "a=2");
        assert!(too_old(&txn.commit().await.unwrap_err()));
        let mut txn = cluster.client.begin(client::TxnOptions { force_two_phase: true, ..options });
        put(&mut txn, "a=2");
        assert!(too_old(&txn.commit().await.unwrap_err()));
    }
    let mut txn = cluster.client.begin(client::TxnOptions { start_ts: Some(old), pessimistic: true, ..Default::default() });
    assert!(too_old(&txn.lock_keys(&keys("a"), LockRequest::default()).await.unwrap_err()));
}

/// Rule 2, the other half: a read that began above the safe point may find itself below it when it ends.
#[tokio::test]
async fn rule_2_a_scan_is_checked_again_after_each_page() {
    let (cluster, _clock) = Cluster::manual();
    cluster.commit("a=1 b=1 c=1").await;
    let snapshot = cluster.snapshot().await;
    let settings = txn::ScanSettings {
        range: base::KeyRange::default(),
        ts: snapshot.ts(),
        reverse: false,
        ignored_locks: vec![],
        committed_locks: vec![],
        not_fill_cache: false,
        tier: engine::ReadTier::Any,
    };
    cluster.storage.prepare_scan(&settings.range, settings.ts).await.unwrap();
    let mut scanner = cluster.storage.open_scanner(settings).unwrap();
    assert!(scanner.next().unwrap().is_some());
    scanner.check_safe_point().unwrap();
    let safe_point = cluster.client.timestamp().await.unwrap();
    cluster.storage.raise_write_floor(safe_point).await;
    cluster.storage.publish_safe_point(safe_point).await.unwrap();
    assert!(matches!(scanner.check_safe_point(), Err(txn::Error::SnapshotTooOld { .. })));
}

#[tokio::test]
async fn the_safe_point_stays_behind_transactions_snapshots_and_services() {
    let (cluster, clock) = Cluster::manual();
    cluster.commit("a=1").await;
    let mut txn = cluster.optimistic();
    assert_eq!(show(txn.get(b"a").await.unwrap()), "1");
    clock.advance(Duration::from_secs(1));
    cluster.commit("a=2").await;
    clock.advance(LIFE_TIME * 2);
    let report = cluster.client.run_gc(LIFE_TIME).await.unwrap();
    assert!(report.safe_point < txn.start_ts());
    compact(&cluster);
    let snapshot = txn.snapshot();
    txn.rollback().await;
    assert!(cluster.client.run_gc(LIFE_TIME).await.unwrap().safe_point < snapshot.ts());
    assert_eq!(show(snapshot.get(b"a").await.unwrap()), "1");
    drop(snapshot);
    let kept = cluster.client.run_gc(LIFE_TIME * 2).await.unwrap().safe_point.next();
    cluster.client.pd().set_service_safe_point("backup", kept, Duration::from_secs(1000)).await.unwrap();
    assert!(cluster.client.run_gc(LIFE_TIME).await.unwrap().safe_point <= kept);
    cluster.client.pd().remove_service_safe_point("backup").await.unwrap();
    assert!(cluster.client.run_gc(LIFE_TIME).await.unwrap().safe_point > kept);
}

#[tokio::test]
async fn the_safe_point_survives_a_restart() {
    let (cluster, clock) = Cluster::manual();
    let old = cluster.commit("a=1").await;
    cluster.commit("a=2").await;
    clock.advance(LIFE_TIME * 2);
    let safe_point = cluster.client.run_gc(LIFE_TIME).await.unwrap().safe_point;
    let cluster = cluster.restart();
    assert_eq!(cluster.client.safe_point(), safe_point);
    let snapshot = cluster.client.snapshot(old, Default::default());
    assert!(matches!(snapshot.get(b"a").await, Err(Error::SnapshotTooOld { .. })));
}

#[tokio::test]
async fn destroyed_ranges_are_empty_and_forget_their_locks() {
    let cluster = Cluster::new();
    cluster.commit("a=1 b=1 c=1").await;
    cluster.commit("b=2").await;
    let mut holder = cluster.pessimistic();
    holder.lock_keys(&keys("b"), LockRequest::default()).await.unwrap();
    cluster.client.destroy_range(base::KeyRange::new("b", "c")).await.unwrap();
    assert_eq!(scan_all(&cluster.snapshot().await).await, "a=1 c=1");
    assert_eq!(cluster.storage.lock_counts(), (0, 0));
}

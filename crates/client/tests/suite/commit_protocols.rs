//! One phase, async commit and two phases: what readers see, and what becomes of transactions whose owner dies at any point.

use std::time::Duration;

use crate::cluster::{Cluster, key, put, scan_all, until};
use base::TimeStamp;
use bytes::Bytes;
use client::{CommitOptions, Error, LockRequest, Transaction};
use proto::kvrpcpb::{CommitRequest, Mutation, Op, PrewriteRequest};

/// A prewrite of `keys`, the first of which is the primary, as a client would send it that dies afterwards.
fn prewrite_request(txn: &Transaction, keys: &[&str], value: &str, ttl_ms: u64) -> PrewriteRequest {
    let mutation = |name: &&str| Mutation { op: Op::Put as i32, key: key(name), value: key(value), assertion: 0 };
    PrewriteRequest {
        mutations: keys.iter().map(mutation).collect(),
        primary_lock: key(keys[0]),
        start_version: txn.start_ts().0,
        lock_ttl: ttl_ms,
        ..PrewriteRequest::default()
    }
}

async fn prewrite(cluster: &Cluster, request: &PrewriteRequest) -> TimeStamp {
    let response = cluster.storage.prewrite(request).await.unwrap();
    assert!(response.errors.is_empty(), "{:?}", response.errors);
    TimeStamp(response.min_commit_ts)
}

async fn began(cluster: &Cluster) -> Transaction {
    let mut txn = cluster.optimistic();
    txn.ensure_start_ts().await.unwrap();
    txn
}

#[tokio::test]
async fn every_protocol_commits_all_keys_at_one_timestamp_above_its_readers() {
    let cluster = Cluster::new();
    cluster.commit("a=0 b=0 gone=0").await;
    for (number, mut txn) in [cluster.optimistic(), cluster.async_commit(), cluster.two_phase()].into_iter().enumerate() {
        let before = cluster.snapshot().await;
        let old = scan_all(&before).await;
        let value = number + 1;
        put(&mut txn, &format!("a={value} b={value} gone=-"));
        let commit_ts = txn.commit().await.unwrap().commit_ts;
        assert!(commit_ts > before.ts());
        let after = cluster.snapshot().await;
        assert!(after.ts() >= commit_ts);
        assert_eq!(scan_all(&after).await, format!("a={value} b={value}"));
        assert_eq!(scan_all(&before).await, old);
        assert_eq!(cluster.newest("b").await, value.to_string());
        until("the locks are turned into versions", || cluster.storage.lock_counts() == (0, 0)).await;
    }
}

#[tokio::test]
async fn a_reader_of_a_committed_transaction_sees_it_although_its_secondaries_are_locked() {
    let cluster = Cluster::new();
    cluster.commit("a=0 b=0").await;
    let txn = began(&cluster).await;
    prewrite(&cluster, &prewrite_request(&txn, &["a", "b"], "1", 60_000)).await;
    let commit_ts = cluster.client.timestamp().await.unwrap();
    let request =
        CommitRequest { start_version: txn.start_ts().0, keys: vec![key("a")], commit_version: commit_ts.0, ..CommitRequest::default() };
    assert!(cluster.storage.commit(request).await.unwrap().error.is_none());
    assert_eq!(cluster.newest("b").await, "1");
    assert_eq!(scan_all(&cluster.snapshot().await).await, "a=1 b=1");
    until("a reader's resolving turns the lock", || cluster.storage.lock_counts() == (0, 0)).await;
}

#[tokio::test]
async fn a_reader_pushes_a_living_transaction_and_reads_past_it() {
    let cluster = Cluster::new();
    cluster.commit("a=0 b=0").await;
    let txn = began(&cluster).await;
    prewrite(&cluster, &prewrite_request(&txn, &["a", "b"], "1", 60_000)).await;
    let reader = cluster.snapshot().await;
    assert_eq!(scan_all(&reader).await, "a=0 b=0");
    assert_eq!(cluster.newest("a").await, "0");
    assert_eq!(cluster.newest("b").await, "0");
    // It can only commit above the reader now.
    let request =
        CommitRequest { start_version: txn.start_ts().0, keys: vec![key("a")], commit_version: reader.ts().0, ..CommitRequest::default() };
    assert!(cluster.storage.commit(request).await.unwrap().error.unwrap().commit_ts_expired.is_some());
}

#[tokio::test]
async fn a_transaction_whose_owner_died_before_its_commit_is_rolled_back() {
    let (cluster, clock) = Cluster::manual();
    cluster.commit("a=0 b=0").await;
    let txn = began(&cluster).await;
    prewrite(&cluster, &prewrite_request(&txn, &["a", "b"], "1", 3_000)).await;
    clock.advance(Duration::from_secs(10));
    let cluster = cluster.restart();
    assert_eq!(cluster.storage.lock_counts(), (0, 2));
    let mut writer = cluster.optimistic();
    put(&mut writer, "b=2");
    writer.commit().await.unwrap();
    assert_eq!(scan_all(&cluster.snapshot().await).await, "a=0 b=2");
    // The owner comes back too late.
    let commit_ts = cluster.client.timestamp().await.unwrap();
    let request =
        CommitRequest { start_version: txn.start_ts().0, keys: vec![key("a")], commit_version: commit_ts.0, ..CommitRequest::default() };
    assert!(cluster.storage.commit(request).await.unwrap().error.is_some());
    let late = cluster.storage.prewrite(&prewrite_request(&txn, &["a", "b"], "1", 3_000)).await.unwrap();
    assert!(!late.errors.is_empty());
}

#[tokio::test]
async fn a_transaction_whose_owner_died_after_committing_the_primary_is_committed() {
    let (cluster, clock) = Cluster::manual();
    cluster.commit("a=0 b=0").await;
    let txn = began(&cluster).await;
    prewrite(&cluster, &prewrite_request(&txn, &["a", "b"], "1", 3_000)).await;
    let commit_ts = cluster.client.timestamp().await.unwrap();
    let request =
        CommitRequest { start_version: txn.start_ts().0, keys: vec![key("a")], commit_version: commit_ts.0, ..CommitRequest::default() };
    cluster.storage.commit(request).await.unwrap();
    clock.advance(Duration::from_secs(10));
    let cluster = cluster.restart();
    let mut writer = cluster.optimistic();
    put(&mut writer, "b=2");
    let second = writer.commit().await.unwrap().commit_ts;
    assert!(second > commit_ts);
    let between = cluster.client.snapshot(TimeStamp(second.0 - 1), Default::default());
    assert_eq!(scan_all(&between).await, "a=1 b=1");
}

/// An async commit is committed from the moment its last key is prewritten, whoever is left to find out.
#[tokio::test]
async fn an_async_commit_is_committed_once_all_keys_are_prewritten_and_not_before() {
    for all_prewritten in [true, false] {
        let (cluster, clock) = Cluster::manual();
        cluster.commit("a=0 b=0").await;
        let txn = began(&cluster).await;
        let mut request = prewrite_request(&txn, &["a", "b"], "1", 3_000);
        request.use_async_commit = true;
        request.secondaries = vec![key("b")];
        if !all_prewritten {
            request.mutations.pop();
        }
        let min_commit_ts = prewrite(&cluster, &request).await;
        assert!(min_commit_ts > txn.start_ts());
        clock.advance(Duration::from_secs(10));
        let cluster = cluster.restart();
        let expected = if all_prewritten { "a=1 b=1" } else { "a=0 b=0" };
        assert_eq!(scan_all(&cluster.snapshot().await).await, expected);
        if !all_prewritten {
            // The missing key can never be prewritten any more.
            let mut late = prewrite_request(&txn, &["a", "b"], "1", 3_000);
            late.mutations.remove(0);
            assert!(!cluster.storage.prewrite(&late).await.unwrap().errors.is_empty());
        }
        until("all locks are resolved", || cluster.storage.lock_counts() == (0, 0)).await;
    }
}

/// Rule 7: a one-phase commit that is sent again is told when it was committed, not of a conflict with itself.
#[tokio::test]
async fn a_repeated_one_phase_commit_answers_its_first_timestamp() {
    let cluster = Cluster::new();
    let txn = began(&cluster).await;
    let request = PrewriteRequest { try_one_pc: true, ..prewrite_request(&txn, &["a", "b"], "1", 3_000) };
    let first = cluster.storage.prewrite(&request).await.unwrap().one_pc_commit_ts;
    assert!(first > 0);
    assert_eq!(cluster.storage.prewrite(&request).await.unwrap().one_pc_commit_ts, first);
    cluster.commit("a=2").await;
    assert_eq!(cluster.storage.prewrite(&request).await.unwrap().one_pc_commit_ts, first);
}

#[tokio::test]
async fn a_large_transaction_commits_in_two_phases() {
    let options = client::ClientOptions { one_phase_size: base::ReadableSize::mib(1), ..Default::default() };
    let cluster = Cluster::with_options(options);
    let value = Bytes::from(vec![b'v'; 100]);
    let mut txn = cluster.optimistic();
    const ROWS: usize = 40_000;
    for row in 0..ROWS {
        txn.set(Bytes::from(format!("row{row:08}")), value.clone(), Default::default()).unwrap();
    }
    let commit_ts = txn.commit().await.unwrap().commit_ts;
    // Some secondaries may still be locked: readers see all of it or nothing.
    for (ts, expected) in [(commit_ts.prev(), 0), (commit_ts, ROWS)] {
        let snapshot = cluster.client.snapshot(ts, Default::default());
        let mut scanner = snapshot.scan(base::KeyRange::default(), client::ScanOptions { batch: 4096, ..Default::default() });
        let mut rows = 0;
        while let Some(page) = scanner.next_page().await.unwrap() {
            rows += page.len();
        }
        assert_eq!(rows, expected);
    }
    until("all locks are turned", || cluster.storage.lock_counts() == (0, 0)).await;
}

#[tokio::test]
async fn a_failed_commit_leaves_nothing_behind() {
    let cluster = Cluster::new();
    cluster.commit("b=0").await;
    for force_two_phase in [false, true] {
        let options = client::TxnOptions { force_two_phase, pessimistic: true, ..Default::default() };
        let mut txn = cluster.client.begin(options);
        txn.lock_keys(&crate::cluster::keys("l"), client::LockRequest::default()).await.unwrap();
        put(&mut txn, "a=1");
        txn.set(key("b"), key("1"), client::WriteFlags::INSERT).unwrap();
        assert!(matches!(txn.commit().await, Err(Error::KeyExists { .. })));
        assert_eq!(cluster.storage.lock_counts(), (0, 0));
    }
    assert_eq!(scan_all(&cluster.snapshot().await).await, "b=0");
}

/// Pushed above the timestamp it wanted to commit at, a transaction takes a newer one and commits.
#[tokio::test]
async fn a_pushed_transaction_commits_at_a_newer_timestamp() {
    let (cluster, _clock) = Cluster::manual();
    cluster.commit("a=0").await;
    let txn = began(&cluster).await;
    prewrite(&cluster, &prewrite_request(&txn, &["a", "b"], "1", 60_000)).await;
    let reader = cluster.snapshot().await;
    assert_eq!(scan_all(&reader).await, "a=0");
    let commit_ts = cluster.client.timestamp().await.unwrap();
    let request = CommitRequest {
        start_version: txn.start_ts().0,
        keys: vec![key("a"), key("b")],
        commit_version: commit_ts.0,
        ..CommitRequest::default()
    };
    assert!(cluster.storage.commit(request).await.unwrap().error.is_none());
    assert_eq!(scan_all(&reader).await, "a=0");
    assert_eq!(scan_all(&cluster.snapshot().await).await, "a=1 b=1");
}

#[tokio::test]
async fn commits_that_hold_locks_wait_only_for_commits_that_began_before_them() {
    let cluster = Cluster::new();
    let mut begun = Vec::new();
    for _ in 0..2 {
        let mut txn = cluster.two_phase();
        txn.ensure_start_ts().await.unwrap();
        begun.push(txn);
    }
    let holder = began(&cluster).await;
    prewrite(&cluster, &prewrite_request(&holder, &["b"], "held", 60_000)).await;
    let mut locker = cluster.pessimistic();
    locker.lock_keys(&[key("p")], LockRequest::default()).await.unwrap();
    let locks = cluster.storage.lock_counts();
    let (mut one, mut two) = (begun.pop().unwrap(), begun.pop().unwrap());
    let short = || CommitOptions { lock_wait: Duration::from_millis(20), ..CommitOptions::default() };

    put(&mut one, "a=1 b=1");
    let given_way = one.commit_with(short()).await;
    assert!(
        matches!(&given_way, Err(Error::MustNotWait { holder: of, key, .. }) if *of == holder.start_ts() && key == "b"),
        "{given_way:?}"
    );
    put(&mut two, "b=1");
    let waited = two.commit_with(short()).await;
    assert!(matches!(waited, Err(Error::LockWaitTimeout { .. })), "it holds nothing: {waited:?}");
    let mut later = cluster.two_phase();
    put(&mut later, "a=1 b=1");
    let waited = later.commit_with(short()).await;
    assert!(matches!(waited, Err(Error::LockWaitTimeout { .. })), "it began later: {waited:?}");
    let mut later = cluster.two_phase();
    put(&mut later, "a=1 p=1");
    let given_way = later.commit_with(short()).await;
    assert!(matches!(given_way, Err(Error::MustNotWait { .. })), "the lock's owner may wait for it: {given_way:?}");
    until("what they held is given back", || cluster.storage.lock_counts() == locks).await;
}

//! What transactions see of each other, by isolation level and mode.

use crate::cluster::{Cluster, key, keys, no_wait, put, scan_all, show};
use client::{Error, LockRequest, LockWait};

#[tokio::test]
async fn a_transaction_reads_its_own_writes_over_its_snapshot() {
    let cluster = Cluster::new();
    cluster.commit("a=1 b=1 c=1").await;
    let mut txn = cluster.optimistic();
    txn.ensure_start_ts().await.unwrap();
    put(&mut txn, "b=2 c=- d=2");
    assert_eq!(show(txn.get(b"b").await.unwrap()), "2");
    assert_eq!(show(txn.get(b"c").await.unwrap()), "none");
    assert_eq!(show(txn.get(b"a").await.unwrap()), "1");
    for reverse in [false, true] {
        let mut scan = txn.scan(base::KeyRange::default(), client::ScanOptions { reverse, batch: 1, ..Default::default() });
        let mut rows = Vec::new();
        while let Some((key, value)) = scan.next().await.unwrap() {
            rows.push(format!("{}={}", key.escape_ascii(), value.escape_ascii()));
        }
        if reverse {
            rows.reverse();
        }
        assert_eq!(rows, ["a=1", "b=2", "d=2"]);
    }
    assert!(txn.is_dirty(&base::KeyRange::new("b", "c")) && !txn.is_dirty(&base::KeyRange::new("a", "b")));
}

#[tokio::test]
async fn limits_and_pages_count_merged_rows() {
    let cluster = Cluster::new();
    cluster.commit("a=1 b=1 c=1 d=1 e=1").await;
    let mut txn = cluster.optimistic();
    txn.ensure_start_ts().await.unwrap();
    put(&mut txn, "a=- b=- cc=2");
    let options = client::ScanOptions { limit: Some(3), batch: 2, ..Default::default() };
    let mut scan = txn.scan(base::KeyRange::default(), options);
    let mut rows = Vec::new();
    while let Some(page) = scan.next_page().await.unwrap() {
        assert!(!page.is_empty() && page.len() <= 2);
        rows.extend(page.into_iter().map(|(key, _)| key.escape_ascii().to_string()));
    }
    assert_eq!(rows, ["c", "cc", "d"]);
}

#[tokio::test]
async fn no_dirty_read_and_repeatable_read_in_snapshot_isolation() {
    let cluster = Cluster::new();
    cluster.commit("a=1").await;
    let mut reader = cluster.optimistic();
    assert_eq!(show(reader.get(b"a").await.unwrap()), "1");
    let mut writer = cluster.pessimistic();
    writer.lock_keys(&keys("a"), LockRequest::default()).await.unwrap();
    put(&mut writer, "a=2");
    assert_eq!(cluster.newest("a").await, "1");
    writer.commit().await.unwrap();
    assert_eq!(cluster.newest("a").await, "2");
    assert_eq!(show(reader.get(b"a").await.unwrap()), "1");
}

#[tokio::test]
async fn read_committed_sees_each_statement_its_own_snapshot() {
    let cluster = Cluster::new();
    cluster.commit("a=1").await;
    let mut txn = cluster.read_committed();
    let first = txn.refresh_for_update_ts().await.unwrap();
    assert_eq!(show(txn.get_at(b"a", first).await.unwrap()), "1");
    cluster.commit("a=2").await;
    let second = txn.refresh_for_update_ts().await.unwrap();
    assert_eq!(show(txn.get_at(b"a", second).await.unwrap()), "2");
}

#[tokio::test]
async fn the_second_writer_of_an_optimistic_pair_loses() {
    let cluster = Cluster::new();
    cluster.commit("a=1").await;
    let (mut first, mut second) = (cluster.optimistic(), cluster.optimistic());
    let _ = (first.get(b"a").await.unwrap(), second.get(b"a").await.unwrap());
    put(&mut first, "a=2");
    put(&mut second, "a=3");
    first.commit().await.unwrap();
    assert!(matches!(second.commit().await, Err(Error::WriteConflict { .. })));
    assert_eq!(cluster.newest("a").await, "2");
}

#[tokio::test]
async fn write_skew_is_possible_between_plain_reads_and_not_between_locking_ones() {
    let cluster = Cluster::new();
    cluster.commit("a=1 b=1").await;
    let (mut first, mut second) = (cluster.optimistic(), cluster.optimistic());
    let _ = (first.get(b"b").await.unwrap(), second.get(b"a").await.unwrap());
    put(&mut first, "a=0");
    put(&mut second, "b=0");
    first.commit().await.unwrap();
    second.commit().await.unwrap();
    assert_eq!(scan_all(&cluster.snapshot().await).await, "a=0 b=0");

    cluster.commit("a=1 b=1").await;
    let (mut first, mut second) = (cluster.pessimistic(), cluster.pessimistic());
    first.lock_keys(&keys("b"), LockRequest::default()).await.unwrap();
    second.lock_keys(&keys("a"), LockRequest::default()).await.unwrap();
    assert!(matches!(first.lock_keys(&keys("a"), no_wait()).await, Err(Error::LockNotAvailable { .. })));
}

/// Rule 4 from the outside: a transaction that only locked a key is in the way of an older optimistic one.
#[tokio::test]
async fn a_lock_only_commit_conflicts_with_an_older_optimistic_lock() {
    let cluster = Cluster::new();
    cluster.commit("a=1 b=1").await;
    let mut old = cluster.optimistic();
    let _ = old.get(b"b").await.unwrap();
    let mut locker = cluster.pessimistic();
    locker.lock_keys(&keys("a b"), LockRequest::default()).await.unwrap();
    put(&mut locker, "b=2");
    locker.commit().await.unwrap();
    put(&mut old, "a=3");
    assert!(matches!(old.commit().await, Err(Error::WriteConflict { .. })));
}

#[tokio::test]
async fn an_insert_of_an_existing_key_is_refused_at_commit_and_at_lock() {
    let cluster = Cluster::new();
    cluster.commit("a=1").await;
    let mut txn = cluster.optimistic();
    txn.set(key("a"), key("2"), client::WriteFlags::INSERT).unwrap();
    assert!(matches!(txn.commit().await, Err(Error::KeyExists { key, .. }) if key == "a"));
    let mut txn = cluster.pessimistic();
    let request = LockRequest { check_not_exists: vec![1], ..LockRequest::default() };
    assert!(matches!(txn.lock_keys(&keys("new a"), request).await, Err(Error::KeyExists { key, .. }) if key == "a"));
    // The failed statement's other lock has been given back.
    crate::cluster::until("the lock on `new` is released", || cluster.storage.lock_counts() == (0, 0)).await;
    // Inserted and deleted again: the promise still counts.
    let mut txn = cluster.optimistic();
    txn.set(key("a"), key("2"), client::WriteFlags::INSERT).unwrap();
    txn.delete(key("a"));
    assert!(matches!(txn.commit().await, Err(Error::KeyExists { .. })));
    assert_eq!(cluster.newest("a").await, "1");
}

#[tokio::test]
async fn a_pessimistic_statement_is_run_again_at_a_newer_timestamp_or_locks_the_newest() {
    let cluster = Cluster::new();
    cluster.commit("a=1").await;
    let mut txn = cluster.pessimistic();
    txn.ensure_start_ts().await.unwrap();
    let newer = cluster.commit("a=2").await;
    let Err(Error::WriteConflict { conflict_commit_ts, .. }) = txn.lock_keys(&keys("a"), LockRequest::default()).await else {
        panic!("a newer version is a conflict")
    };
    assert_eq!(conflict_commit_ts, newer);
    let request = LockRequest { lock_newest: true, return_values: true, ..LockRequest::default() };
    let outcome = txn.lock_keys(&keys("a"), request.clone()).await.unwrap();
    assert_eq!((outcome.values, outcome.conflict_ts), (vec![Some(Some(key("2")))], Some(newer)));
    // Asked again, the value comes back without a conflict.
    let outcome = txn.lock_keys(&keys("a"), request).await.unwrap();
    assert_eq!((outcome.values, outcome.conflict_ts), (vec![Some(Some(key("2")))], None));
    put(&mut txn, "a=3");
    assert!(txn.commit().await.unwrap().commit_ts > newer);
    assert_eq!(cluster.newest("a").await, "3");
}

#[tokio::test]
async fn skip_locked_leaves_locked_keys_out() {
    let cluster = Cluster::new();
    cluster.commit("a=1 b=1 c=1").await;
    let mut holder = cluster.pessimistic();
    holder.lock_keys(&keys("b"), LockRequest::default()).await.unwrap();
    let mut txn = cluster.pessimistic();
    let request = LockRequest { wait: LockWait::SkipLocked, return_values: true, ..LockRequest::default() };
    let outcome = txn.lock_keys(&keys("a b c none"), request).await.unwrap();
    assert_eq!(outcome.skipped, [1]);
    assert_eq!(outcome.values, [Some(Some(key("1"))), None, Some(Some(key("1"))), Some(None)]);
    assert!(txn.is_locked(b"c") && !txn.is_locked(b"b"));
}

#[tokio::test]
async fn a_reverted_statement_leaves_its_locks() {
    let cluster = Cluster::new();
    let mut txn = cluster.pessimistic();
    let statement = txn.stage();
    txn.lock_keys(&keys("a"), LockRequest::default()).await.unwrap();
    put(&mut txn, "a=1");
    txn.revert(statement);
    assert!(txn.is_empty() && txn.is_locked(b"a"));
    let mut other = cluster.pessimistic();
    assert!(matches!(other.lock_keys(&keys("a"), no_wait()).await, Err(Error::LockNotAvailable { .. })));
    txn.commit().await.unwrap();
    other.lock_keys(&keys("a"), no_wait()).await.unwrap();
    drop(other);
    crate::cluster::until("a dropped transaction gives its locks back", || cluster.storage.lock_counts() == (0, 0)).await;
}

#[tokio::test]
async fn entries_and_transactions_have_configured_limits() {
    let options =
        client::ClientOptions { entry_size_limit: base::ReadableSize(10), total_size_limit: base::ReadableSize(15), ..Default::default() };
    let cluster = Cluster::with_options(options);
    let mut txn = cluster.optimistic();
    let set = |txn: &mut client::Transaction, name: &str, value: &str| txn.set(key(name), key(value), Default::default());
    assert!(matches!(set(&mut txn, "k", "0123456789"), Err(Error::EntryTooLarge { size: 11, limit: 10 })));
    set(&mut txn, "k", "012345678").unwrap();
    assert!(matches!(set(&mut txn, "l", "012345"), Err(Error::TxnTooLarge { size: 17, limit: 15 })));
    txn.commit().await.unwrap();
    assert!(matches!(txn.commit().await, Err(Error::TransactionEnded { .. })));
}

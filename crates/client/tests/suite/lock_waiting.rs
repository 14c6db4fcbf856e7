//! Waiting for locks: order, timeouts, cancellation, deadlocks.

use std::{sync::Arc, time::Duration};

use crate::cluster::{Cluster, keys, put, until, wait};
use client::{CancelReason, CancelToken, Error, LockOutcome, LockRequest};
use parking_lot::Mutex;

#[tokio::test]
async fn waiters_get_the_lock_in_the_order_they_came() {
    let cluster = Arc::new(Cluster::new());
    let mut holder = cluster.pessimistic();
    holder.lock_keys(&keys("k"), LockRequest::default()).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for number in 0..5 {
        let (for_task, order) = (cluster.clone(), order.clone());
        tasks.push(tokio::spawn(async move {
            let mut txn = for_task.pessimistic();
            txn.lock_keys(&keys("k"), LockRequest { lock_newest: true, ..LockRequest::default() }).await.unwrap();
            order.lock().push(number);
            put(&mut txn, &format!("other{number}=1"));
            txn.commit().await.unwrap();
        }));
        until("the waiter is in the queue", || cluster.storage.lock_waits().len() == number + 1).await;
    }
    holder.rollback().await;
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock(), [0, 1, 2, 3, 4]);
    assert_eq!(cluster.storage.lock_counts(), (0, 0));
    assert!(cluster.storage.lock_waits().is_empty());
}

/// A transaction that waits for locks.
async fn waiter(cluster: &Arc<Cluster>, wanted: &'static str, patience: Duration) -> tokio::task::JoinHandle<Result<LockOutcome, Error>> {
    let own = cluster.clone();
    let waiter = tokio::spawn(async move { own.pessimistic().lock_keys(&keys(wanted), wait(patience)).await });
    until("it waits", || !cluster.storage.lock_waits().is_empty()).await;
    waiter
}

#[tokio::test]
async fn a_wait_ends_with_its_timeout_and_leaves_the_queue() {
    let (cluster, clock) = Cluster::manual();
    let cluster = Arc::new(cluster);
    let mut holder = cluster.pessimistic();
    holder.lock_keys(&keys("k"), LockRequest::default()).await.unwrap();
    let waiter = waiter(&cluster, "j k", Duration::from_secs(3)).await;
    for _ in 0..40 {
        clock.advance(Duration::from_millis(100));
        tokio::task::yield_now().await;
    }
    assert!(matches!(waiter.await.unwrap(), Err(Error::LockWaitTimeout { key, .. }) if key == "k"));
    until("the lock on j is given back", || cluster.storage.lock_counts() == (1, 0)).await;
    holder.rollback().await;
    cluster.pessimistic().lock_keys(&keys("j k"), crate::cluster::no_wait()).await.unwrap();
}

#[tokio::test]
async fn a_killed_waiter_stops_waiting() {
    let cluster = Arc::new(Cluster::new());
    let mut holder = cluster.pessimistic();
    holder.lock_keys(&keys("k"), LockRequest::default()).await.unwrap();
    let cancel = CancelToken::new();
    let request = LockRequest { cancel: cancel.clone(), ..LockRequest::default() };
    let waiter = tokio::spawn({
        let cluster = cluster.clone();
        async move { cluster.pessimistic().lock_keys(&keys("k"), request).await }
    });
    until("it waits", || !cluster.storage.lock_waits().is_empty()).await;
    cancel.cancel(CancelReason::KillQuery);
    assert!(matches!(waiter.await.unwrap(), Err(Error::Cancelled(CancelReason::KillQuery))));
    until("nobody waits", || cluster.storage.lock_waits().is_empty()).await;
    holder.rollback().await;
}

#[tokio::test]
async fn a_deadlock_is_told_to_the_one_who_closes_the_circle() {
    let cluster = Arc::new(Cluster::new());
    let (mut first, mut second, mut third) = (cluster.pessimistic(), cluster.pessimistic(), cluster.pessimistic());
    for (txn, key) in [(&mut first, "a"), (&mut second, "b"), (&mut third, "c")] {
        txn.lock_keys(&keys(key), LockRequest::default()).await.unwrap();
    }
    let (first_ts, second_ts, third_ts) = (first.start_ts(), second.start_ts(), third.start_ts());
    let mut tasks = Vec::new();
    for (mut txn, key) in [(first, "b"), (second, "c")] {
        let waiting = cluster.storage.lock_waits().len();
        tasks.push(tokio::spawn(async move {
            txn.lock_keys(&keys(key), LockRequest { lock_newest: true, ..LockRequest::default() }).await.unwrap();
            txn.commit().await.unwrap();
        }));
        until("it waits", || cluster.storage.lock_waits().len() == waiting + 1).await;
    }
    let error = third.lock_keys(&keys("a"), LockRequest::default()).await.unwrap_err();
    let Error::Deadlock { wait_chain, .. } = &error else { panic!("{error}") };
    let edges: Vec<_> = wait_chain.iter().map(|edge| (edge.waiter, edge.holder)).collect();
    assert_eq!(edges, [(third_ts, first_ts), (first_ts, second_ts), (second_ts, third_ts)]);
    assert_eq!(error.to_mysql().code, 1213);
    third.rollback().await;
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn the_lock_of_a_dead_owner_is_taken_over() {
    let (cluster, clock) = Cluster::manual();
    let cluster = Arc::new(cluster);
    let mut holder = cluster.pessimistic();
    holder.lock_keys(&keys("k"), LockRequest::default()).await.unwrap();
    // Its session hangs: nobody renews the lock, nobody releases it.
    std::mem::forget(holder);
    let waiter = waiter(&cluster, "k", Duration::from_secs(100)).await;
    for _ in 0..300 {
        clock.advance(Duration::from_millis(100));
        tokio::task::yield_now().await;
    }
    waiter.await.unwrap().unwrap();
}

#[tokio::test]
async fn all_locks_of_a_dead_owner_are_taken_over_at_once() {
    let (cluster, clock) = Cluster::manual();
    let cluster = Arc::new(cluster);
    let mut holder = cluster.pessimistic();
    holder.lock_keys(&keys("a b c d e f g h i j"), LockRequest::default()).await.unwrap();
    std::mem::forget(holder);
    let waiter = waiter(&cluster, "j i h g f e d c b a", Duration::from_secs(100)).await;
    let time_to_live = client::ClientOptions::default().lock_ttl;
    // A look at the owner comes once in a second, and one look is for all of the keys. Then the clock stands still.
    for _ in 0..time_to_live.as_secs() + 2 {
        clock.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    until("all locks are taken over", || waiter.is_finished()).await;
    waiter.await.unwrap().unwrap();
}

#[tokio::test]
async fn renewed_locks_outlive_their_first_time_to_live() {
    let (cluster, clock) = Cluster::manual();
    let cluster = Arc::new(cluster);
    let mut holder = cluster.pessimistic();
    holder.lock_keys(&keys("k"), LockRequest::default()).await.unwrap();
    let waiter = waiter(&cluster, "k", Duration::from_secs(40)).await;
    for _ in 0..41 {
        clock.advance(Duration::from_secs(1));
        cluster.client.renew_locks().await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
    assert!(matches!(waiter.await.unwrap(), Err(Error::LockWaitTimeout { .. })));
    put(&mut holder, "k=1");
    holder.commit().await.unwrap();
    assert_eq!(cluster.newest("k").await, "1");
}

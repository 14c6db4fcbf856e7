//! Many transactions at once: invariants that only hold if isolation does.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use crate::cluster::{Cluster, key, put};
use client::{Error, LockRequest};

const ACCOUNTS: usize = 8;
const OPENING: i64 = 100;

fn account(number: usize) -> String {
    format!("account{number}")
}

fn balance(value: Option<bytes::Bytes>) -> i64 {
    std::str::from_utf8(&value.unwrap()).unwrap().parse().unwrap()
}

async fn open_accounts(cluster: &Cluster) {
    let mut txn = cluster.optimistic();
    for number in 0..ACCOUNTS {
        put(&mut txn, &format!("{}={OPENING}", account(number)));
    }
    txn.commit().await.unwrap();
}

/// How a transfer is made.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Optimistic,
    Async,
    TwoPhase,
    Pessimistic,
}

async fn transfer(cluster: &Cluster, mode: Mode, from: usize, to: usize, amount: i64) -> Result<(), Error> {
    let mut txn = match mode {
        Mode::Optimistic => cluster.optimistic(),
        Mode::Async => cluster.async_commit(),
        Mode::TwoPhase => cluster.two_phase(),
        Mode::Pessimistic => cluster.pessimistic(),
    };
    let names = [key(&account(from)), key(&account(to))];
    let result: Result<(), Error> = async {
        let [source, target] = match mode {
            Mode::Pessimistic => {
                txn.refresh_for_update_ts().await?;
                let request = LockRequest { return_values: true, lock_newest: true, ..LockRequest::default() };
                let mut values = txn.lock_keys(&names, request).await?.values.into_iter().flatten();
                [balance(values.next().unwrap()), balance(values.next().unwrap())]
            }
            _ => [balance(txn.get(&names[0]).await?), balance(txn.get(&names[1]).await?)],
        };
        txn.set(names[0].clone(), key(&(source - amount).to_string()), Default::default())?;
        txn.set(names[1].clone(), key(&(target + amount).to_string()), Default::default())?;
        txn.commit().await.map(|_| ())
    }
    .await;
    if result.is_err() {
        txn.rollback().await;
    }
    result
}

/// The sum over all accounts never changes, whatever snapshot is read, while money moves.
async fn bank(modes: &'static [Mode]) {
    const WRITERS: usize = 6;
    const TRANSFERS: usize = 150;
    let cluster = Arc::new(Cluster::new());
    open_accounts(&cluster).await;
    let finished = Arc::new(AtomicBool::new(false));
    let committed = Arc::new(AtomicUsize::new(0));
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let (cluster, committed) = (cluster.clone(), committed.clone());
        writers.push(tokio::spawn(async move {
            let mut state = writer as u64 + 1;
            let mut random = move |below: usize| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as usize % below
            };
            for number in 0..TRANSFERS {
                let from = random(ACCOUNTS);
                let to = (from + 1 + random(ACCOUNTS - 1)) % ACCOUNTS;
                match transfer(&cluster, modes[number % modes.len()], from, to, 1 + random(9) as i64).await {
                    Ok(()) => drop(committed.fetch_add(1, Ordering::Relaxed)),
                    Err(error) => assert!(error.is_retryable() || matches!(error, Error::Deadlock { .. }), "{error}"),
                }
            }
        }));
    }
    let mut readers = Vec::new();
    for by_scan in [false, true] {
        let (cluster, finished) = (cluster.clone(), finished.clone());
        readers.push(tokio::spawn(async move {
            let names: Vec<_> = (0..ACCOUNTS).map(|number| key(&account(number))).collect();
            let mut reads = 0;
            while !finished.load(Ordering::Relaxed) || reads == 0 {
                let snapshot = cluster.snapshot().await;
                let total: i64 = if by_scan {
                    let options = client::ScanOptions { batch: 3, ..Default::default() };
                    let mut scanner = snapshot.scan(base::KeyRange::prefix(b"account"), options);
                    let mut total = 0;
                    while let Some(page) = scanner.next_page().await.unwrap() {
                        total += page.into_iter().map(|(_, value)| balance(Some(value))).sum::<i64>();
                    }
                    total
                } else {
                    snapshot.batch_get(&names).await.unwrap().into_iter().map(balance).sum()
                };
                assert_eq!(total, OPENING * ACCOUNTS as i64, "at {}", snapshot.ts());
                reads += 1;
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    finished.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.unwrap();
    }
    assert!(committed.load(Ordering::Relaxed) > 0);
    crate::cluster::until("all locks are gone", || cluster.storage.lock_counts() == (0, 0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bank_with_one_phase_commits() {
    bank(&[Mode::Optimistic]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bank_with_pessimistic_transactions() {
    bank(&[Mode::Pessimistic]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bank_with_all_protocols_mixed() {
    bank(&[Mode::Optimistic, Mode::Pessimistic, Mode::Async, Mode::TwoPhase]).await;
}

/// No increment is lost: counters end at the number of committed increments.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_update_is_lost() {
    const TASKS: usize = 8;
    const ROUNDS: usize = 60;
    let cluster = Arc::new(Cluster::new());
    cluster.commit("n=0").await;
    let mut tasks = Vec::new();
    for number in 0..TASKS {
        let cluster = cluster.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..ROUNDS {
                // Half of them by a pessimistic statement, which never has to be run again; half by optimistic ones with retry.
                if number % 2 == 0 {
                    let mut txn = cluster.pessimistic();
                    let request = LockRequest { return_values: true, lock_newest: true, ..LockRequest::default() };
                    let mut outcome = txn.lock_keys(&[key("n")], request).await.unwrap();
                    let n = balance(outcome.values.remove(0).unwrap());
                    put(&mut txn, &format!("n={}", n + 1));
                    txn.commit().await.unwrap();
                    continue;
                }
                loop {
                    let mut txn = cluster.optimistic();
                    let n = balance(txn.get(b"n").await.unwrap());
                    put(&mut txn, &format!("n={}", n + 1));
                    match txn.commit().await {
                        Ok(_) => break,
                        Err(error) => assert!(error.is_retryable(), "{error}"),
                    }
                    tokio::task::yield_now().await;
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(cluster.newest("n").await, (TASKS * ROUNDS).to_string());
}

/// A commit that was acknowledged is seen by every timestamp and every newest read that comes after.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn acknowledged_commits_are_seen_by_whoever_comes_after() {
    let cluster = Arc::new(Cluster::new());
    let mut tasks = Vec::new();
    for number in 0..4 {
        let cluster = cluster.clone();
        tasks.push(tokio::spawn(async move {
            let (first, second) = (format!("x{number}"), format!("y{number}"));
            for round in 1..150 {
                let mut txn = match round % 3 {
                    0 => cluster.optimistic(),
                    1 => cluster.async_commit(),
                    _ => cluster.two_phase(),
                };
                put(&mut txn, &format!("{first}={round} {second}={round}"));
                txn.commit().await.unwrap();
                assert_eq!(cluster.newest(&second).await, round.to_string());
                let snapshot = cluster.snapshot().await;
                assert_eq!(balance(snapshot.get(first.as_bytes()).await.unwrap()), round);
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

//! What the transaction layer costs over RocksDB: `cargo bench -p client --bench transactions [rows]`.
//!
//! Rows are as sysbench has them. One line for each path: CPU microseconds of the whole process per operation, and wall time with the number of
//! operations at once; nothing is asserted.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use base::TimeStamp;
use bytes::Bytes;
use client::{Client, LockRequest, SnapshotOptions, TxnOptions, WriteFlags};
use engine::{CommitOptions, CommitQueue, EngineConfig, RocksEngine};
use env::Env;
use txn::{Storage, StorageOptions};

const VALUE_BYTES: usize = 200;

fn key(row: u64) -> Bytes {
    let mut key = b"t\x80\0\0\0\0\0\0\x42_r".to_vec();
    key.extend_from_slice(&(row | 1 << 63).to_be_bytes());
    key.into()
}

fn value(seed: u64) -> Bytes {
    (0..VALUE_BYTES as u64).map(|at| b'0' + (seed.wrapping_add(at * 977) % 10) as u8).collect::<Vec<u8>>().into()
}

fn spread(n: u64, rows: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) % rows
}

/// CPU time of the process's threads that are alive.
fn process_cpu() -> Duration {
    let mut total = Duration::ZERO;
    if let Ok(tasks) = std::fs::read_dir("/proc/self/task") {
        for task in tasks.flatten() {
            let nanos = std::fs::read_to_string(task.path().join("schedstat")).ok();
            let nanos = nanos.and_then(|text| text.split(' ').next().and_then(|first| first.parse::<u64>().ok()));
            total += Duration::from_nanos(nanos.unwrap_or(0));
        }
    }
    total
}

async fn measure<F, Fut>(what: &str, at_once: u64, operations: u64, operation: F)
where
    F: Fn(u64) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = ()> + Send,
{
    let (cpu, wall) = (process_cpu(), Instant::now());
    let mut tasks = Vec::new();
    for task in 0..at_once {
        let operation = operation.clone();
        tasks.push(tokio::spawn(async move {
            for number in 0..operations / at_once {
                operation(task * 1_000_003 + number).await;
            }
        }));
    }
    for task in tasks {
        task.await.expect("a task of the benchmark");
    }
    let per = |duration: Duration| duration.as_nanos() as f64 / 1000.0 / operations as f64;
    println!("{what:<42} {at_once:>4} at once  {:>8.2} CPU µs  {:>8.2} wall µs", per(process_cpu() - cpu), per(wall.elapsed()));
}

fn main() {
    let rows: u64 = std::env::args().filter_map(|arg| arg.parse().ok()).next().unwrap_or(100_000);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let filter = mvcc::gc::filter();
        let safe_point = filter.safe_point.clone();
        let engine = RocksEngine::open_with_filter(folder.path(), &EngineConfig::default(), filter).expect("opens");
        let env = Env::production();
        let pd = pd::EmbeddedPd::open(engine.clone(), env.clone()).expect("opens");
        let queue = CommitQueue::start(engine.clone(), CommitOptions::default()).expect("starts");
        let options = StorageOptions::new(env.clone(), pd.last_timestamp(), safe_point);
        let storage = Storage::open(engine, queue, options).expect("opens");
        run(Client::embedded(storage, pd, env), rows).await;
    });
}

async fn run(client: Client, rows: u64) {
    for first in (0..rows).step_by(10_000) {
        let mut txn = client.begin(TxnOptions::default());
        for row in first..(first + 10_000).min(rows) {
            txn.set(key(row), value(row), WriteFlags::default()).expect("fits");
        }
        txn.commit().await.expect("commits");
    }
    let client = Arc::new(client);
    for at_once in [1, 8] {
        let c = client.clone();
        measure("timestamp", at_once, 200_000, move |_| {
            let c = c.clone();
            async move { assert!(!c.timestamp().await.expect("a timestamp").is_zero()) }
        })
        .await;
        let c = client.clone();
        measure("get, newest", at_once, 200_000, move |n| {
            let c = c.clone();
            async move {
                let value = c.snapshot(TimeStamp::MAX, SnapshotOptions::default()).get(&key(spread(n, rows))).await;
                assert!(value.expect("reads").is_some());
            }
        })
        .await;
        let c = client.clone();
        measure("get at a new timestamp", at_once, 200_000, move |n| {
            let c = c.clone();
            async move {
                let ts = c.timestamp().await.expect("a timestamp");
                let value = c.snapshot(ts, SnapshotOptions::default()).get(&key(spread(n, rows))).await;
                assert!(value.expect("reads").is_some());
            }
        })
        .await;
        let c = client.clone();
        measure("scan of 100 rows", at_once, 8_000, move |n| {
            let c = c.clone();
            async move {
                let ts = c.timestamp().await.expect("a timestamp");
                let start = spread(n, rows - 100);
                let range = base::KeyRange::new(key(start), key(start + 100));
                let mut scanner = c.snapshot(ts, SnapshotOptions::default()).scan(range, Default::default());
                assert_eq!(scanner.next_page().await.expect("reads").map_or(0, |page| page.len()), 100);
            }
        })
        .await;
        writes(&client, rows, at_once).await;
    }
    writes(&client, rows, 64).await;
}

async fn writes(client: &Arc<Client>, rows: u64, at_once: u64) {
    let c = client.clone();
    measure("update: lock and read, commit", at_once, 10_000, move |n| {
        let c = c.clone();
        async move {
            let mut txn = c.begin(TxnOptions { pessimistic: true, ..Default::default() });
            let key = key(spread(n, rows));
            let request = LockRequest { return_values: true, lock_newest: true, ..Default::default() };
            let outcome = txn.lock_keys(std::slice::from_ref(&key), request).await.expect("locks");
            assert!(outcome.values[0].as_ref().is_some_and(Option::is_some));
            txn.set(key, value(n), WriteFlags::default()).expect("fits");
            txn.commit().await.expect("commits");
        }
    })
    .await;
    let c = client.clone();
    measure("blind write, commit", at_once, 10_000, move |n| {
        let c = c.clone();
        async move {
            let mut txn = c.begin(TxnOptions::default());
            txn.set(key(rows + spread(n, 1 << 40)), value(n), WriteFlags::INSERT).expect("fits");
            // Keys may meet: a duplicate is as good for the purpose.
            let _ = txn.commit().await;
        }
    })
    .await;
    let c = client.clone();
    measure("write of 4 keys, commit", at_once, 10_000, move |n| {
        let c = c.clone();
        async move {
            let mut txn = c.begin(TxnOptions::default());
            for at in 0..4 {
                txn.set(key(spread(n * 4 + at, rows)), value(n), WriteFlags::default()).expect("fits");
            }
            let _ = txn.commit().await;
        }
    })
    .await;
}

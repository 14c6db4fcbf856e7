//! A cluster of one process over the engine in memory, on a clock that tests move.

#![allow(dead_code)]

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use base::TimeStamp;
use bytes::Bytes;
use client::{Client, ClientOptions, Isolation, LockRequest, LockWait, Snapshot, SnapshotOptions, Transaction, TxnOptions, WriteFlags};
use engine::{CommitOptions, CommitQueue, MemEngine};
use env::{Env, ManualClock, SeededRng, SystemClock, TokioSpawn};
use txn::{Storage, StorageOptions};

/// Store, placement driver and client of one process.
pub struct Cluster {
    pub engine: MemEngine,
    pub storage: Storage<MemEngine>,
    pub client: Client,
    pub env: Env,
    filter_safe_point: Arc<AtomicU64>,
}

impl Cluster {
    /// A new cluster on the machine's clock.
    pub fn new() -> Self {
        Self::with_env(Env::new(Arc::new(SystemClock::new()), Arc::new(SeededRng::new(1)), Arc::new(TokioSpawn)))
    }

    /// A new cluster on a clock that stands still.
    pub fn manual() -> (Self, ManualClock) {
        let clock = ManualClock::new(1_700_000_000_000);
        (Self::with_env(Env::new(Arc::new(clock.clone()), Arc::new(SeededRng::new(1)), Arc::new(TokioSpawn))), clock)
    }

    pub fn with_env(env: Env) -> Self {
        let filter = mvcc::gc::filter();
        let filter_safe_point = filter.safe_point.clone();
        Self::open(MemEngine::with_filter(filter), env, filter_safe_point, ClientOptions::default())
    }

    pub fn with_options(options: ClientOptions) -> Self {
        let filter = mvcc::gc::filter();
        let filter_safe_point = filter.safe_point.clone();
        Self::open(MemEngine::with_filter(filter), Env::production(), filter_safe_point, options)
    }

    fn open(engine: MemEngine, env: Env, filter_safe_point: Arc<AtomicU64>, options: ClientOptions) -> Self {
        let pd = pd::EmbeddedPd::open(engine.clone(), env.clone()).unwrap();
        let queue = CommitQueue::start(engine.clone(), CommitOptions::default()).unwrap();
        let storage_options = StorageOptions::new(env.clone(), pd.last_timestamp(), filter_safe_point.clone());
        let storage = Storage::open(engine.clone(), queue, storage_options).unwrap();
        let client = Client::with_options(storage.clone(), pd, env.clone(), options);
        Self { engine, storage, client, env, filter_safe_point }
    }

    /// What a crash leaves: the engine; everything in memory is gone.
    pub fn restart(self) -> Self {
        Self::open(self.engine.clone(), self.env.clone(), self.filter_safe_point.clone(), ClientOptions::default())
    }

    pub fn optimistic(&self) -> Transaction {
        self.client.begin(TxnOptions::default())
    }

    pub fn pessimistic(&self) -> Transaction {
        self.client.begin(TxnOptions { pessimistic: true, ..TxnOptions::default() })
    }

    pub fn read_committed(&self) -> Transaction {
        self.client.begin(TxnOptions { pessimistic: true, isolation: Isolation::ReadCommitted, ..TxnOptions::default() })
    }

    pub fn two_phase(&self) -> Transaction {
        self.client.begin(TxnOptions { force_two_phase: true, ..TxnOptions::default() })
    }

    pub fn async_commit(&self) -> Transaction {
        self.client.begin(TxnOptions { prefer_async_commit: true, ..TxnOptions::default() })
    }

    /// Commits `key=value` pairs in a transaction of their own; a value of `-` deletes.
    pub async fn commit(&self, pairs: &str) -> TimeStamp {
        let mut txn = self.optimistic();
        put(&mut txn, pairs);
        txn.commit().await.unwrap().commit_ts
    }

    pub async fn snapshot(&self) -> Snapshot {
        let ts = self.client.timestamp().await.unwrap();
        self.client.snapshot(ts, SnapshotOptions::default())
    }

    /// The newest value of a key.
    pub async fn newest(&self, key: &str) -> String {
        show(self.client.snapshot(TimeStamp::MAX, SnapshotOptions::default()).get(key.as_bytes()).await.unwrap())
    }
}

pub fn key(key: &str) -> Bytes {
    Bytes::copy_from_slice(key.as_bytes())
}

pub fn keys(text: &str) -> Vec<Bytes> {
    text.split_whitespace().map(key).collect()
}

/// Buffers `key=value` pairs; a value of `-` deletes.
pub fn put(txn: &mut Transaction, pairs: &str) {
    for pair in pairs.split_whitespace() {
        let (name, value) = pair.split_once('=').expect("key=value");
        match value {
            "-" => txn.delete(key(name)),
            value => txn.set(key(name), key(value), WriteFlags::default()).unwrap(),
        }
    }
}

pub fn show(value: Option<Bytes>) -> String {
    value.map_or("none".to_owned(), |value| value.escape_ascii().to_string())
}

/// Scans everything of a snapshot: `a=1 b=2`.
pub async fn scan_all(snapshot: &Snapshot) -> String {
    let mut scanner = snapshot.scan(base::KeyRange::default(), client::ScanOptions { batch: 2, ..Default::default() });
    let mut pairs = Vec::new();
    while let Some(page) = scanner.next_page().await.unwrap() {
        pairs.extend(page.into_iter().map(|(key, value)| format!("{}={}", key.escape_ascii(), value.escape_ascii())));
    }
    pairs.join(" ")
}

pub fn no_wait() -> LockRequest {
    LockRequest { wait: LockWait::NoWait, ..LockRequest::default() }
}

pub fn wait(duration: Duration) -> LockRequest {
    LockRequest { wait: LockWait::Timeout(duration), ..LockRequest::default() }
}

/// Waits, within a bound, until `condition` holds; other tasks run meanwhile.
pub async fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..2_000_000u32 {
        if condition() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("never happened: {what}");
}

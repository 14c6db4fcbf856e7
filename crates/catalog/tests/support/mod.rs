//! A cluster in memory that can be stopped and started again: what was committed stays, what was cached is gone.

use std::sync::{Arc, atomic::AtomicU64};

use base::TimeStamp;
use client::Client;
use engine::{CommitOptions, CommitQueue, MemEngine};
use env::Env;
use txn::{Storage, StorageOptions};

/// The data of a cluster.
#[derive(Clone, Default)]
pub struct Cluster {
    engine: MemEngine,
}

impl Cluster {
    /// Starts a process over the data.
    pub fn start(&self) -> Client {
        let env = Env::production();
        let pd = pd::EmbeddedPd::open(self.engine.clone(), env.clone()).expect("the placement driver opens");
        let queue = CommitQueue::start(self.engine.clone(), CommitOptions::default()).expect("the commit thread starts");
        let options = StorageOptions::new(env.clone(), pd.last_timestamp().max(TimeStamp(1)), Arc::new(AtomicU64::new(0)));
        let storage = Storage::open(self.engine.clone(), queue, options).expect("the store opens");
        Client::embedded(storage, pd, env)
    }
}

//! Stores of one cluster in one process: threads and files are real, the network between them is a function call that can be cut.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, RwLock},
    time::{Duration, Instant},
};

use bytes::Bytes;
use engine::{Cf, Engine as _, EngineConfig, EngineRead as _, ReadTier, RocksEngine, SpaceUse, WriteBatch, WriteQueue as _};
use env::Env;
use proto::{
    metapb::{Peer, Region},
    raft_cmdpb::AdminRequest,
    raft_serverpb::RaftMessage,
};
use protobuf::Message as _;
use raftstore::{
    Config, Error, Placement, RaftStore, RegionReport, RegionView, SnapshotId, SplitIds, StoreOptions, Transport, local_state,
    log::{DiskLog, DiskLogOptions},
    region,
};

pub type Store = RaftStore<RocksEngine>;

/// How long a condition may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Network {
    stores: RwLock<BTreeMap<u64, Store>>,
    cut_off: RwLock<BTreeSet<u64>>,
    splits: Mutex<Vec<(Region, Vec<Bytes>)>>,
}

impl Network {
    fn reach(&self, message: &RaftMessage) -> Option<Store> {
        let (from, to) = (message.from_peer.unwrap().store_id, message.to_peer.unwrap().store_id);
        let cut = self.cut_off.read().unwrap();
        if cut.contains(&from) || cut.contains(&to) {
            return None;
        }
        self.stores.read().unwrap().get(&to).cloned()
    }
}

struct Wire(Arc<Network>);

impl Transport for Wire {
    fn send(&self, message: RaftMessage) {
        if let Some(store) = self.0.reach(&message) {
            store.on_message(message);
        }
    }

    fn send_snapshot(&self, message: RaftMessage, file: PathBuf, done: Box<dyn FnOnce(bool) + Send>) {
        let Some(store) = self.0.reach(&message) else { return done(false) };
        std::thread::spawn(move || {
            let inner = raft::eraftpb::Message::parse_from_bytes(&message.message).unwrap();
            let id = SnapshotId::of(message.region_id, inner.get_snapshot());
            let part = store.snapshots().unfinished(&id, message.from_peer.unwrap().store_id);
            let arrived =
                std::fs::copy(&file, &part).is_ok() && store.snapshots().finish(&part, &id).is_ok() && store.on_snapshot(message).is_ok();
            done(arrived);
        });
    }
}

impl Placement for Wire {
    fn report_region(&self, _: RegionReport) {}

    fn ask_split(&self, region: Region, keys: Vec<Bytes>) {
        self.0.splits.lock().unwrap().push((region, keys));
    }

    fn report_split(&self, _: Vec<Region>) {}
}

pub struct Cluster {
    pub network: Arc<Network>,
    directory: tempfile::TempDir,
    config: Config,
}

pub fn fast() -> Config {
    Config {
        tick: Duration::from_millis(20),
        lease: Duration::from_millis(140),
        log_gc_entries: 64,
        store_pool_size: 2,
        apply_pool_size: 2,
        ..Config::default()
    }
}

pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Cluster {
    /// Stores with ids 1, 2, …; the first `members` of them have the first region.
    pub fn start(stores: u64, members: u64, config: Config) -> Self {
        let cluster = Self { network: Arc::default(), directory: tempfile::tempdir().unwrap(), config };
        let peers = (1..=members).map(|id| Peer { id, store_id: id, ..Default::default() }).collect();
        let first = Region { id: 1, region_epoch: Some(region::INITIAL_EPOCH), peers, ..Default::default() };
        for id in 1..=stores {
            let engine = cluster.engine(id);
            let mut batch = WriteBatch::new();
            if id <= members {
                local_state::put_new_region(&mut batch, &first);
            }
            local_state::identify_store(&engine, 77, id).unwrap();
            engine.write(batch, true).unwrap();
            drop(engine);
            cluster.start_store(id);
        }
        cluster
    }

    fn path(&self, id: u64) -> PathBuf {
        self.directory.path().join(id.to_string())
    }

    fn engine(&self, id: u64) -> RocksEngine {
        let config = EngineConfig::default();
        // The files of a store that was just stopped are given back when its last user is gone.
        let started = Instant::now();
        loop {
            match RocksEngine::open(self.path(id), &config) {
                Err(engine::Error::InUse { .. }) if started.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
                engine => return engine.unwrap(),
            }
        }
    }

    pub fn start_store(&self, id: u64) {
        let engine = self.engine(id);
        let path: &Path = &self.path(id);
        let log = DiskLog::open(&path.join("raft"), &DiskLogOptions { recycle: false, ..Default::default() }).unwrap();
        let options = StoreOptions {
            store_id: id,
            config: self.config.clone(),
            env: Env::production(),
            engine,
            log: Arc::new(log),
            snapshots: path.join("snap"),
            disk_guard: None,
            transport: Arc::new(Wire(self.network.clone())),
            placement: Arc::new(Wire(self.network.clone())),
            on_fatal: Box::new(move |error| panic!("store {id} failed: {error}")),
        };
        let store = RaftStore::open(options).unwrap();
        store.start().unwrap();
        self.network.stores.write().unwrap().insert(id, store);
    }

    pub fn stop_store(&self, id: u64) {
        let store = self.network.stores.write().unwrap().remove(&id).unwrap();
        store.stop();
    }

    pub fn store(&self, id: u64) -> Store {
        self.network.stores.read().unwrap()[&id].clone()
    }

    fn stores(&self) -> Vec<Store> {
        self.network.stores.read().unwrap().values().cloned().collect()
    }

    /// The store that leads the region `key` is in, and how it sees the region.
    pub fn leader_of(&self, key: &str) -> Option<(Store, Arc<RegionView>)> {
        let mut found: Vec<_> = self
            .stores()
            .into_iter()
            .flat_map(|store| store.views().into_iter().map(move |view| (store.clone(), view)))
            .filter(|(_, view)| view.caught_up && region::contains(&view.region, key.as_bytes()))
            .collect();
        found.sort_by_key(|(_, view)| (region::epoch(&view.region).version, view.term));
        found.pop()
    }

    pub fn wait_for_leader(&self, key: &str) -> (Store, Arc<RegionView>) {
        wait_until("an election", || self.leader_of(key).is_some());
        self.leader_of(key).unwrap()
    }

    pub async fn try_put(&self, key: &str, value: &str) -> Result<(), Error> {
        let Some((store, view)) = self.leader_of(key) else { return Err(Error::StaleCommand) };
        let permit = store.read_permit(view.region.id, region::epoch(&view.region).version).await?;
        let mut batch = WriteBatch::new();
        batch.put(Cf::Data, format!("z{key}").as_bytes(), value.as_bytes());
        let (sender, receiver) = tokio::sync::oneshot::channel();
        store.writes(&permit).submit(batch, SpaceUse::Grows, Box::new(move |result| drop(sender.send(result))));
        Ok(receiver.await.unwrap()?)
    }

    pub async fn put(&self, key: &str, value: &str) {
        let started = Instant::now();
        while let Err(error) = self.try_put(key, value).await {
            assert!(error.is_about_routing() || matches!(error, Error::Engine(_) | Error::Stopped), "{error}");
            assert!(started.elapsed() < PATIENCE, "{key} could not be put: {error}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Reads through the leader, as a client would.
    pub async fn get(&self, key: &str) -> Option<String> {
        let started = Instant::now();
        loop {
            assert!(started.elapsed() < PATIENCE, "{key} could not be read");
            if let Some((store, view)) = self.leader_of(key)
                && let Ok(permit) = store.read_permit(view.region.id, region::epoch(&view.region).version).await
            {
                let value = Self::stored(&store, key);
                if store.confirm(&permit).await.is_ok() {
                    return value;
                }
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// What a store has in its engine, leader or not.
    pub fn stored(store: &Store, key: &str) -> Option<String> {
        let value = store.engine().get(Cf::Data, format!("z{key}").as_bytes(), ReadTier::Any).unwrap();
        value.map(|value| String::from_utf8(value.to_vec()).unwrap())
    }

    /// Changes the region `key` is in, again until it was done.
    pub async fn admin(&self, key: &str, request: &AdminRequest) -> Vec<Region> {
        let started = Instant::now();
        loop {
            let (store, view) = self.wait_for_leader(key);
            match store.admin(view.region.id, region::epoch(&view.region), request.clone()).await {
                Ok(regions) => return regions,
                Err(error) => assert!(error.is_about_routing() && started.elapsed() < PATIENCE, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub async fn split(&self, key: &str, new_id: u64) {
        let (store, view) = self.wait_for_leader(key);
        let ids = SplitIds { region_id: new_id, peer_ids: view.region.peers.iter().map(|peer| new_id * 100 + peer.store_id).collect() };
        let key = Bytes::copy_from_slice(key.as_bytes());
        store.split(view.region.id, region::epoch(&view.region), vec![key], vec![ids]).await.unwrap();
    }

    pub fn asked_splits(&self) -> Vec<(Region, Vec<Bytes>)> {
        self.network.splits.lock().unwrap().clone()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let stores = std::mem::take(&mut *self.network.stores.write().unwrap());
        stores.into_values().for_each(|store| store.stop());
    }
}

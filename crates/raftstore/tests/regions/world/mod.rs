//! Whole stores in one thread, stepped in an order that a seed chooses: messages are lost and late, stores lose power, nothing happens between
//! two steps. Clients write and read meanwhile, and every read is checked: it sees the last write that was acknowledged before it began, or a
//! later one.

mod disk;

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use engine::{Cf, Engine as _, EngineRead as _, ReadTier, SpaceUse, WriteBatch, WriteQueue as _};
use env::{Env, ManualClock, Rng, SeededRng, TokioSpawn};
use proto::{
    metapb::{Peer, Region},
    raft_cmdpb::{AdminCmdType, AdminRequest, TransferLeaderRequest},
    raft_serverpb::RaftMessage,
};
use protobuf::Message as _;
use raftstore::{
    Config, Error, Placement, RaftStore, RegionReport, RegionView, SnapshotId, SplitIds, StoreOptions, Transport, local_state,
    region::{self, epoch},
};

use disk::{Disk, LossyEngine};

pub type Store = RaftStore<LossyEngine>;
type SnapshotFile = (PathBuf, Box<dyn FnOnce(bool) + Send>);
type Client = Pin<Box<dyn Future<Output = ()>>>;

/// What stores and clients share.
#[derive(Default)]
struct Shared {
    stores: Mutex<BTreeMap<u64, Store>>,
    network: Mutex<Vec<(RaftMessage, Option<SnapshotFile>)>>,
    /// The last acknowledged write of each key.
    acknowledged: Mutex<BTreeMap<String, u64>>,
    reads: Mutex<u64>,
}

struct Wire(Arc<Shared>);

impl Transport for Wire {
    fn send(&self, message: RaftMessage) {
        self.0.network.lock().unwrap().push((message, None));
    }

    fn send_snapshot(&self, message: RaftMessage, file: PathBuf, done: Box<dyn FnOnce(bool) + Send>) {
        // The file may be gone when the message is delivered.
        let copy = file.with_extension(format!("to{}", message.to_peer.unwrap().store_id));
        let file = std::fs::copy(&file, &copy).ok().map(|_| copy);
        match file {
            Some(file) => self.0.network.lock().unwrap().push((message, Some((file, done)))),
            None => done(false),
        }
    }
}

impl Placement for Wire {
    fn report_region(&self, _: RegionReport) {}
    fn ask_split(&self, _: Region, _: Vec<Bytes>) {}
    fn report_split(&self, _: Vec<Region>) {}
}

impl Shared {
    fn stores(&self) -> Vec<Store> {
        self.stores.lock().unwrap().values().cloned().collect()
    }

    fn views(&self) -> Vec<(Store, Arc<RegionView>)> {
        self.stores().into_iter().flat_map(|store| store.views().into_iter().map(move |view| (store.clone(), view))).collect()
    }

    /// Who believes to lead the region of a key; the one with the newest region.
    fn leaders(&self, key: &str) -> Vec<(Store, Arc<RegionView>)> {
        let mut found = self.views();
        found.retain(|(_, view)| view.is_leader && region::is_initialized(&view.region) && region::contains(&view.region, key.as_bytes()));
        found.sort_by_key(|(_, view)| (epoch(&view.region).version, view.term));
        found
    }

    /// A region that rests may have lost its leader: it elects another one when somebody asks it for something.
    fn ask_everybody(&self, key: &str) {
        for (store, view) in self.views().into_iter().filter(|(_, view)| region::contains(&view.region, key.as_bytes())) {
            let asked = std::pin::pin!(store.read_permit(view.region.id, epoch(&view.region).version));
            let _ = asked.poll(&mut Context::from_waker(Waker::noop()));
        }
    }

    async fn put(&self, key: &str, value: u64, leader: usize) -> Result<(), Error> {
        let mut leaders = self.leaders(key);
        // An old leader may be asked too: it must refuse.
        let (store, view) = if leaders.is_empty() { return Err(Error::StaleCommand) } else { leaders.swap_remove(leader % leaders.len()) };
        let permit = store.read_permit(view.region.id, epoch(&view.region).version).await?;
        let mut batch = WriteBatch::new();
        batch.put(Cf::Data, format!("z{key}").as_bytes(), value.to_string().as_bytes());
        let (sender, receiver) = tokio::sync::oneshot::channel();
        store.writes(&permit).submit(batch, SpaceUse::Grows, Box::new(move |result| drop(sender.send(result))));
        Ok(receiver.await.map_err(|_| Error::Stopped)??)
    }

    async fn get(&self, key: &str, leader: usize) -> Result<u64, Error> {
        let mut leaders = self.leaders(key);
        let (store, view) = if leaders.is_empty() { return Err(Error::StaleCommand) } else { leaders.swap_remove(leader % leaders.len()) };
        let permit = store.read_permit(view.region.id, epoch(&view.region).version).await?;
        let value = stored(store.engine(), key);
        Pause(false).await;
        store.confirm(&permit).await?;
        Ok(value)
    }
}

fn stored(engine: &LossyEngine, key: &str) -> u64 {
    let value = engine.get(Cf::Data, format!("z{key}").as_bytes(), ReadTier::Any).unwrap();
    value.map_or(0, |value| std::str::from_utf8(&value).unwrap().parse().unwrap())
}

/// Lets others go on once.
struct Pause(bool);

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

async fn writer(shared: Arc<Shared>, key: String, rng: Arc<SeededRng>) {
    for value in 1u64.. {
        while shared.put(&key, value, rng.next_u64() as usize % 7).await.is_err() {
            Pause(false).await;
        }
        shared.acknowledged.lock().unwrap().insert(key.clone(), value);
        Pause(false).await;
    }
}

async fn reader(shared: Arc<Shared>, keys: Vec<String>, rng: Arc<SeededRng>) {
    loop {
        let key = &keys[rng.next_u64() as usize % keys.len()];
        let acknowledged = shared.acknowledged.lock().unwrap().get(key).copied().unwrap_or(0);
        if let Ok(value) = shared.get(key, rng.next_u64() as usize).await {
            assert!(value >= acknowledged, "{key}: read {value} after {acknowledged} was acknowledged");
            *shared.reads.lock().unwrap() += 1;
        }
        Pause(false).await;
    }
}

/// Stores, what lies between them, and clients.
pub struct World {
    shared: Arc<Shared>,
    disks: BTreeMap<u64, Disk>,
    clock: ManualClock,
    env: Env,
    config: Config,
    pub rng: Arc<SeededRng>,
    clients: Vec<Client>,
    keys: Vec<String>,
    /// Messages of a hundred that are lost.
    pub loss_percent: u64,
    /// Stores nobody hears and that hear nobody.
    pub cut_off: BTreeSet<u64>,
    /// Stores that do not apply what is committed.
    pub not_applying: BTreeSet<u64>,
    next_region: u64,
}

pub fn config() -> Config {
    Config { log_gc_entries: 4, hibernate_after_ticks: 30, ..Config::default() }
}

impl World {
    /// Stores with ids 1, 2, 3, and one region on all of them.
    pub fn new(seed: u64, config: Config) -> Self {
        let clock = ManualClock::new(1);
        let rng = Arc::new(SeededRng::new(seed));
        let env = Env::new(Arc::new(clock.clone()), rng.clone(), Arc::new(TokioSpawn));
        let mut world = Self {
            shared: Arc::default(),
            disks: BTreeMap::new(),
            clock,
            env,
            config,
            rng,
            clients: Vec::new(),
            keys: Vec::new(),
            loss_percent: 0,
            cut_off: BTreeSet::new(),
            not_applying: BTreeSet::new(),
            next_region: 2,
        };
        let peers = (1..=3).map(|id| Peer { id, store_id: id, ..Default::default() }).collect();
        let first = Region { id: 1, region_epoch: Some(region::INITIAL_EPOCH), peers, ..Default::default() };
        for id in 1..=3 {
            let disk = Disk::new();
            let mut batch = WriteBatch::new();
            local_state::put_new_region(&mut batch, &first);
            disk.engine.write(batch, true).unwrap();
            world.disks.insert(id, disk);
            world.start(id);
        }
        world
    }

    /// A client that writes and one that reads for each key.
    pub fn start_clients(&mut self, keys: &[&str]) {
        self.keys = keys.iter().map(|key| (*key).to_owned()).collect();
        for key in &self.keys {
            self.clients.push(Box::pin(writer(self.shared.clone(), key.clone(), self.rng.clone())));
            self.clients.push(Box::pin(reader(self.shared.clone(), self.keys.clone(), self.rng.clone())));
        }
    }

    pub fn start(&mut self, id: u64) {
        let disk = &self.disks[&id];
        let options = StoreOptions {
            store_id: id,
            config: self.config.clone(),
            env: self.env.clone(),
            engine: disk.engine.clone(),
            log: disk.log.clone(),
            snapshots: disk.directory.path().join("snap"),
            disk_guard: None,
            transport: Arc::new(Wire(self.shared.clone())),
            placement: Arc::new(Wire(self.shared.clone())),
            on_fatal: Box::new(move |error| panic!("store {id} failed: {error}")),
        };
        let store = RaftStore::open(options).unwrap();
        self.shared.stores.lock().unwrap().insert(id, store);
    }

    pub fn kill(&mut self, id: u64) {
        let store = self.shared.stores.lock().unwrap().remove(&id).unwrap();
        let rng = self.rng.clone();
        self.disks.get_mut(&id).unwrap().lose_power(|unsynced| rng.next_u64() as usize % (unsynced + 1));
        // Clients that wait for it are told that it has stopped.
        store.stop();
    }

    pub fn restart(&mut self, id: u64) {
        self.kill(id);
        self.start(id);
    }

    pub fn store(&self, id: u64) -> Store {
        self.shared.stores.lock().unwrap()[&id].clone()
    }

    pub fn chance(&self, percent: u64) -> bool {
        self.rng.next_u64() % 100 < percent
    }

    fn deliver(&mut self, message: RaftMessage, file: Option<SnapshotFile>) {
        let (from, to) = (message.from_peer.unwrap().store_id, message.to_peer.unwrap().store_id);
        let reached = !self.cut_off.contains(&from) && !self.cut_off.contains(&to) && !self.chance(self.loss_percent);
        let store = self.shared.stores.lock().unwrap().get(&to).cloned().filter(|_| reached);
        let Some((file, done)) = file else {
            return if let Some(store) = store {
                store.on_message(message)
            };
        };
        let Some(store) = store else { return done(false) };
        let inner = raft::eraftpb::Message::parse_from_bytes(&message.message).unwrap();
        let id = SnapshotId::of(message.region_id, inner.get_snapshot());
        let part = store.snapshots().unfinished(&id, from);
        std::fs::copy(&file, &part).unwrap();
        store.snapshots().finish(&part, &id).unwrap();
        done(store.on_snapshot(message).is_ok());
    }

    /// One piece of work, if there is one, of everybody.
    pub fn step(&mut self) {
        let messages = std::mem::take(&mut *self.shared.network.lock().unwrap());
        for (message, file) in messages {
            match self.chance(15) {
                true => self.shared.network.lock().unwrap().push((message, file)),
                false => self.deliver(message, file),
            }
        }
        for store in self.shared.stores() {
            let id = store.store_id();
            if self.chance(80) {
                store.poll(false);
            }
            if self.chance(70) && !self.not_applying.contains(&id) {
                store.apply(false);
            }
            if self.chance(50) {
                store.run_job(false);
            }
        }
        let mut context = Context::from_waker(Waker::noop());
        for client in &mut self.clients {
            assert!(client.as_mut().poll(&mut context).is_pending());
        }
    }

    pub fn tick(&mut self) {
        self.clock.advance(self.config.tick);
        self.shared.stores().iter().for_each(|store| store.tick());
        for _ in 0..6 {
            self.step();
        }
    }

    pub fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            self.tick();
        }
    }

    pub fn tick_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        for _ in 0..3000 {
            if done(self) {
                return;
            }
            self.tick();
        }
        panic!("{what} did not happen: {:?}", self.describe());
    }

    fn describe(&self) -> Vec<String> {
        let show = |(store, view): (Store, Arc<RegionView>)| {
            let (region, lead) = (&view.region, if view.is_leader { "*" } else { "" });
            let merging = view.merging.as_ref().map(|state| (state.commit, state.target.as_ref().map(|target| target.id)));
            let target = view.merging.as_ref().and_then(|state| state.target.as_ref());
            let target = target.map(|target| (epoch(target), local_state::region_state(store.engine(), target.id)));
            format!(
                "store {}: region {}{lead} [{:?}, {:?}) {:?} term {} {merging:?} {target:?}",
                store.store_id(),
                region.id,
                region.start_key,
                region.end_key,
                region.region_epoch,
                view.term
            )
        };
        self.shared.views().into_iter().map(show).collect()
    }

    /// Runs something that takes time; an error too when it takes too long.
    pub fn run<T>(&mut self, future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut future = std::pin::pin!(future);
        for _ in 0..100 {
            if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return result;
            }
            self.tick();
        }
        Err(Error::Stopped)
    }

    /// The leader of a key's region, and the region.
    pub fn leader(&mut self, key: &str) -> (Store, Arc<RegionView>) {
        let mut ticks = 0;
        self.tick_until("an election", |world| {
            ticks += 1;
            if ticks % 50 == 0 {
                world.shared.ask_everybody(key);
            }
            world.shared.leaders(key).last().is_some_and(|(_, view)| view.caught_up)
        });
        self.shared.leaders(key).pop().unwrap()
    }

    pub fn split(&mut self, key: &str) -> Result<Vec<Region>, Error> {
        let (store, view) = self.leader(key);
        let id = self.next_region;
        self.next_region += 1;
        let ids = SplitIds { region_id: id, peer_ids: view.region.peers.iter().map(|peer| id * 100 + peer.store_id).collect() };
        let key = Bytes::copy_from_slice(key.as_bytes());
        self.run(async move { store.split(view.region.id, epoch(&view.region), vec![key], vec![ids]).await })
    }

    /// Asks the leader of a key's region to let a store lead.
    pub fn ask_to_hand_over(&mut self, key: &str, to_store: u64) {
        let (store, view) = self.leader(key);
        let transfer_leader = Some(TransferLeaderRequest { peer: region::peer_on_store(&view.region, to_store).copied() });
        let request = AdminRequest { cmd_type: AdminCmdType::TransferLeader as i32, transfer_leader, ..Default::default() };
        // Who does not take it leaves the region where it is.
        let _ = self.run(async move { store.admin(view.region.id, epoch(&view.region), request).await });
    }

    pub fn hand_over(&mut self, key: &str, to_store: u64) {
        while self.leader(key).0.store_id() != to_store {
            self.ask_to_hand_over(key, to_store);
            self.ticks(3);
        }
    }

    pub fn split_until_done(&mut self, key: &str) {
        while &self.leader(key).1.region.start_key[..] != key.as_bytes() {
            let _ = self.split(key);
        }
    }

    /// Looks at something that takes time, once.
    pub fn poll<T>(&mut self, future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// Begins to merge the region of one key into that of another.
    pub fn merge(&mut self, source: &str, target: &str) -> Result<Vec<Region>, Error> {
        let target = (*self.leader(target).1.region).clone();
        let (store, view) = self.leader(source);
        self.run(async move { store.merge(view.region.id, epoch(&view.region), target).await })
    }

    pub fn merge_until_begun(&mut self, source: &str, target: &str) {
        for _ in 0..200 {
            if self.merge(source, target).is_ok() {
                return;
            }
            self.tick();
        }
        panic!("no merge could begin: {:?}", self.describe());
    }

    /// The regions every store has, when all have the same.
    pub fn common_regions(&self) -> Option<Vec<u64>> {
        let mut all: Vec<Vec<u64>> = self.shared.stores().iter().map(|store| store.region_ids()).collect();
        let last = all.pop()?;
        all.iter().all(|other| *other == last).then_some(last)
    }

    /// Whether every region is the same on all stores.
    fn is_alike(&self) -> bool {
        let mut regions: Vec<_> = self.shared.views().into_iter().map(|(_, view)| view.region.clone()).collect();
        regions.sort_by_key(|region| region.id);
        regions.chunk_by(|a, b| a.id == b.id).all(|same| same.windows(2).all(|pair| pair[0] == pair[1]))
    }

    pub fn acknowledged(&self) -> u64 {
        self.shared.acknowledged.lock().unwrap().values().sum()
    }

    /// Lets clients go on until so many more writes were acknowledged.
    pub fn progress(&mut self, writes: u64) {
        let goal = self.acknowledged() + writes;
        self.tick_until("progress", |world| world.acknowledged() >= goal);
    }

    /// Everything works again: clients end, all stores come to the same, and nothing acknowledged is missing.
    pub fn heal_and_check(&mut self) {
        self.cut_off.clear();
        self.not_applying.clear();
        self.loss_percent = 0;
        self.progress(20);
        assert!(*self.shared.reads.lock().unwrap() > 0, "nothing was read");
        self.clients.clear();
        // What stores have lost and not applied again may be missing on all of them until a leader tells that it is committed.
        for key in self.keys.clone() {
            self.leader(&key);
        }
        self.tick_until("agreement", |world| {
            let settled = world.shared.views().iter().all(|(_, view)| view.merging.is_none());
            let data: Vec<_> = world.shared.stores().iter().map(|store| store.engine().dump(Cf::Data)).collect();
            settled && world.common_regions().is_some() && world.is_alike() && data.windows(2).all(|pair| pair[0] == pair[1])
        });
        let store = self.store(1);
        for (key, value) in self.shared.acknowledged.lock().unwrap().iter() {
            assert!(stored(store.engine(), key) >= *value, "{key}: {value} was acknowledged");
        }
        let mut regions: Vec<_> = store.views().iter().map(|view| view.region.clone()).collect();
        regions.sort_by(|a, b| a.start_key.cmp(&b.start_key));
        assert!(regions[0].start_key.is_empty() && regions.last().unwrap().end_key.is_empty());
        assert!(regions.windows(2).all(|pair| pair[0].end_key == pair[1].start_key), "{regions:?}");
    }
}

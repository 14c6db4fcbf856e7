//! Replicas of one region in one thread: a step runs every replica once and delivers what the network lets through.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use engine::{Cf, Engine as _, EngineRead as _, MemEngine, ReadTier, WriteBatch};
use env::{Instant, Rng as _, SeededRng};
use proto::{
    metapb::{Peer as Member, PeerRole, Region},
    raft_cmdpb::AdminRequest,
    raft_serverpb::RaftMessage,
};
use raftstore::{
    Applier, ApplyTask, Config, Effects, Error, NoSources, Origin, Peer, RegionView, WriteProposal, local_state,
    log::{LogBatch, MemLog, RaftLog as _},
    region::{INITIAL_EPOCH, epoch},
};

pub const REGION: u64 = 1;

pub struct Node {
    pub peer: Peer,
    pub applier: Applier,
    pub engine: MemEngine,
    pub log: Arc<MemLog>,
    tasks: VecDeque<ApplyTask>,
}

pub struct Group {
    pub nodes: BTreeMap<u64, Node>,
    pub config: Arc<Config>,
    pub now: Instant,
    rng: SeededRng,
    network: VecDeque<RaftMessage>,
    /// Messages of a hundred that are lost.
    pub loss_percent: u64,
    /// Stores nobody hears and that hear nobody.
    pub cut_off: Vec<u64>,
}

pub fn member(id: u64, role: PeerRole) -> Member {
    Member { id, store_id: id, role: role as i32, ..Default::default() }
}

impl Group {
    /// Replicas with ids 1, 2, … on stores of the same ids.
    pub fn new(size: u64, seed: u64) -> Self {
        Self::with_config(size, seed, Config { hibernate_after_ticks: 0, ..Config::default() })
    }

    pub fn with_config(size: u64, seed: u64, config: Config) -> Self {
        let mut group = Self {
            nodes: BTreeMap::new(),
            config: Arc::new(config),
            now: Instant::default(),
            rng: SeededRng::new(seed),
            network: VecDeque::new(),
            loss_percent: 0,
            cut_off: Vec::new(),
        };
        let peers = (1..=size).map(|id| member(id, PeerRole::Voter)).collect();
        let region = Region { id: REGION, region_epoch: Some(INITIAL_EPOCH), peers, ..Default::default() };
        for id in 1..=size {
            let engine = MemEngine::new();
            let mut batch = WriteBatch::new();
            local_state::put_new_region(&mut batch, &region);
            engine.write(batch, true).unwrap();
            group.start(id, engine, Arc::new(MemLog::new()), Origin::New);
        }
        group
    }

    pub fn start(&mut self, id: u64, engine: MemEngine, log: Arc<MemLog>, origin: Origin) {
        let region = local_state::region_state(&engine, REGION).unwrap().unwrap().region.unwrap();
        let state = local_state::apply_state(&engine, REGION).unwrap().unwrap();
        let me = *region.peers.iter().find(|peer| peer.id == id).unwrap();
        let peer = Peer::open(self.config.clone(), me, Arc::new(region.clone()), &state, log.clone(), origin).unwrap();
        let applier = Applier::new(id, region, state);
        self.nodes.insert(id, Node { peer, applier, engine, log, tasks: VecDeque::new() });
    }

    /// A replica without data, as a message from a leader creates it.
    pub fn start_empty(&mut self, id: u64) {
        let (engine, log) = (MemEngine::new(), Arc::new(MemLog::new()));
        let region = Region { id: REGION, ..Default::default() };
        let state = Default::default();
        let peer =
            Peer::open(self.config.clone(), member(id, PeerRole::Learner), Arc::new(region.clone()), &state, log.clone(), Origin::New)
                .unwrap();
        self.nodes.insert(id, Node { peer, applier: Applier::new(id, region, state), engine, log, tasks: VecDeque::new() });
    }

    /// The process dies, with the power of its machine, and starts again.
    pub fn restart(&mut self, id: u64) {
        let node = self.nodes.remove(&id).unwrap();
        node.log.lose_power();
        let now = self.now;
        self.start(id, node.engine, node.log, Origin::Restarted(now));
    }

    fn can_reach(&mut self, message: &RaftMessage) -> bool {
        let (from, to) = (message.from_peer.unwrap().store_id, message.to_peer.unwrap().store_id);
        !self.cut_off.contains(&from) && !self.cut_off.contains(&to) && self.rng.next_u64() % 100 >= self.loss_percent
    }

    /// One round of every replica, and delivery of what was sent before.
    pub fn step(&mut self) {
        for message in std::mem::take(&mut self.network) {
            if !self.can_reach(&message) {
                continue;
            }
            let to = message.to_peer.unwrap().id;
            let mut effects = Effects::default();
            if let Some(node) = self.nodes.get_mut(&to) {
                node.peer.step(self.now, message, &mut effects).unwrap();
            }
            self.run(to, effects);
        }
        for id in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.round(id);
        }
    }

    fn round(&mut self, id: u64) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let (mut effects, mut batch) = (Effects::default(), LogBatch::default());
        let again = node.peer.collect(now, &mut batch, &mut effects).unwrap();
        let installing = effects.installing.take().map(|region| (*region, effects.apply.pop()));
        node.log.write(batch, effects.must_sync).unwrap();
        if again {
            node.peer.persisted(&mut effects);
        }
        if let Some((region, Some(task))) = installing {
            self.install(id, region, task);
        }
        self.run(id, effects);
        self.apply(id);
    }

    /// Snapshots are taken from the engine of a replica that has applied at least as much.
    fn install(&mut self, id: u64, region: Region, task: ApplyTask) {
        let ApplyTask::Install { index, term, .. } = task else { panic!("an installation has its task") };
        let source = self.nodes.values().find(|node| node.applier.state().applied_index == index).expect("the source stands still");
        let mut data = WriteBatch::new();
        let upper = vec![b'z' + 1];
        let mut iter = source.engine.iter(Cf::Data, engine::IterOptions { upper: Some(upper), ..Default::default() }).unwrap();
        engine::EngineIter::seek_to_first(&mut iter);
        while engine::EngineIter::valid(&iter) {
            data.put(Cf::Data, engine::EngineIter::key(&iter), engine::EngineIter::value(&iter));
            engine::EngineIter::next(&mut iter);
        }
        let node = self.nodes.get_mut(&id).unwrap();
        let engine = node.engine.clone();
        node.applier.install(&engine, region, index, term, || Ok(engine.write_ref(&data, false)?)).unwrap();
        let mut after = Effects::default();
        node.peer.on_installed(index, &mut after);
    }

    fn run(&mut self, id: u64, effects: Effects) {
        for (done, error) in effects.failed {
            done.fail(&error);
        }
        for (done, error) in effects.failed_reads {
            done(Err(error));
        }
        self.network.extend(effects.messages);
        self.network.extend(effects.snapshots.into_iter().map(|(message, _)| message));
        if let Some(node) = self.nodes.get_mut(&id) {
            node.tasks.extend(effects.apply);
        }
        if effects.destroyed {
            self.nodes.remove(&id);
        }
    }

    fn apply(&mut self, id: u64) {
        let mut effects = Effects::default();
        let Some(node) = self.nodes.get_mut(&id) else { return };
        while let Some(task) = node.tasks.pop_front() {
            match task {
                ApplyTask::Entries { entries, proposals } => {
                    let applied = node.applier.apply(&node.engine, entries, proposals, &NoSources).unwrap();
                    node.peer.on_applied(applied, &mut effects).unwrap();
                }
                ApplyTask::MakeSnapshot => {
                    let snapshot = raftstore::describe_snapshot(node.applier.region(), node.applier.state(), 0);
                    node.peer.on_snapshot_made(Some(snapshot));
                }
                ApplyTask::Install { .. } | ApplyTask::Destroy { .. } | ApplyTask::Resume => panic!("handled where the round ends"),
            }
        }
        self.run(id, effects);
    }

    /// Lets a tick pass for everybody, with rounds in between.
    pub fn tick(&mut self) {
        self.now = self.now + self.config.tick;
        for id in self.nodes.keys().copied().collect::<Vec<_>>() {
            let mut effects = Effects::default();
            self.nodes.get_mut(&id).unwrap().peer.tick(&mut effects);
            self.run(id, effects);
        }
        for _ in 0..4 {
            self.step();
        }
    }

    /// Ticks until `done` says so; panics when it does not for a long time.
    pub fn tick_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        for _ in 0..2000 {
            if done(self) {
                return;
            }
            self.tick();
        }
        panic!("{what} did not happen");
    }

    pub fn view(&self, id: u64) -> RegionView {
        self.nodes[&id].peer.view()
    }

    /// The leader that has caught up, among those that are heard.
    pub fn leader(&self) -> Option<u64> {
        let leads = |id: &&u64| !self.cut_off.contains(id) && self.view(**id).caught_up;
        self.nodes.keys().filter(leads).max_by_key(|id| self.view(**id).term).copied()
    }

    pub fn elect(&mut self) -> u64 {
        self.tick_until("an election", |group| group.leader().is_some());
        self.leader().unwrap()
    }

    /// Proposes a put; what it comes to is sent to the receiver.
    pub fn put(&mut self, id: u64, key: &str, value: &str) -> mpsc::Receiver<engine::Result<()>> {
        let (sender, receiver) = mpsc::channel();
        let mut batch = WriteBatch::new();
        batch.put(Cf::Data, format!("z{key}").as_bytes(), value.as_bytes());
        let view = self.view(id);
        let done = Box::new(move |result| drop(sender.send(result)));
        let write = WriteProposal { term: view.term, version: epoch(&view.region).version, batch, done };
        let (mut effects, now) = (Effects::default(), self.now);
        self.nodes.get_mut(&id).unwrap().peer.propose_write(now, write, &mut effects);
        self.run(id, effects);
        receiver
    }

    /// Puts through whoever leads, again until it is acknowledged.
    pub fn put_until_acknowledged(&mut self, key: &str, value: &str) {
        for _ in 0..200 {
            let leader = self.elect();
            let receiver = self.put(leader, key, value);
            for _ in 0..20 {
                self.tick();
                match receiver.try_recv() {
                    Ok(Ok(())) => return,
                    Ok(Err(_)) | Err(mpsc::TryRecvError::Disconnected) => break,
                    Err(mpsc::TryRecvError::Empty) => {}
                }
            }
        }
        panic!("no put was acknowledged");
    }

    pub fn admin(&mut self, id: u64, request: &AdminRequest) -> mpsc::Receiver<Result<Vec<Region>, Error>> {
        let (sender, receiver) = mpsc::channel();
        let epoch = epoch(&self.view(id).region);
        let (mut effects, now) = (Effects::default(), self.now);
        let done = Box::new(move |result| drop(sender.send(result)));
        self.nodes.get_mut(&id).unwrap().peer.propose_admin(now, epoch, request, done, &mut effects);
        self.run(id, effects);
        receiver
    }

    pub fn read(&mut self, id: u64) -> Arc<Mutex<Option<Result<u64, Error>>>> {
        let answer = Arc::new(Mutex::new(None));
        let (mut effects, now, cell) = (Effects::default(), self.now, answer.clone());
        let done = Box::new(move |result| *cell.lock().unwrap() = Some(result));
        self.nodes.get_mut(&id).unwrap().peer.read(now, done, &mut effects);
        self.run(id, effects);
        answer
    }

    pub fn get(&self, id: u64, key: &str) -> Option<String> {
        let value = self.nodes[&id].engine.get(Cf::Data, format!("z{key}").as_bytes(), ReadTier::Any).unwrap();
        value.map(|value| String::from_utf8(value.to_vec()).unwrap())
    }

    pub fn advance(&mut self, duration: Duration) {
        self.now = self.now + duration;
    }
}

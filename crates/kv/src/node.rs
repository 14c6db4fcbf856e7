//! One store as a process: its directory, its identity, its ports, and what it does without being asked.
//!
//! ```text
//!   <data directory>/db      engine          <data directory>/raft   Raft log          <data directory>/snap   snapshots on their way
//! ```
//!
//! Start: engine and log opened ─▶ placement driver found ─▶ identity (a new store takes an id) ─▶ the first store of a cluster makes its first region
//! ─▶ replicas opened, threads started ─▶ ports served ─▶ the placement driver told. A data directory that has served one process becomes the
//! first region as it is: the families have the same layout.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use engine::{DiskGuard, Engine as _, EngineConfig, GcFilter, RocksEngine, SpaceUse, WriteBatch};
use env::Env;
use proto::{
    metapb::{Peer, PeerRole, Region, Store, StoreLabel},
    pdpb,
    raft_serverpb::PeerState,
    tikvpb::tikv_server::TikvServer,
};
use raftstore::{
    RaftStore, StoreOptions, local_state,
    log::{DiskLog, DiskLogOptions},
    region::INITIAL_EPOCH,
};
use tokio::{net::TcpListener, runtime::Handle, sync::Notify, task::JoinHandle};
use tokio_stream::wrappers::TcpListenerStream;
use txn::StoreWide;

use crate::{
    commands::Kv,
    error::{Error, Result},
    pd_client::PdClient,
    placement::{self, Reports},
    status::StatusServer,
    transport::GrpcTransport,
};

/// Largest message: a snapshot's chunk or an entry of the log with what surrounds it.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
const STORE_HEARTBEAT: Duration = Duration::from_secs(10);
/// Between two looks at the disk: a store that begins to refuse writes says so at once, so that others lead its regions.
const DISK_LOOK: Duration = Duration::from_secs(1);
const SAFE_POINT_POLL: Duration = Duration::from_secs(10);

/// What a store is started with.
pub struct NodeConfig {
    /// Members of the placement driver, `host:port` or URLs.
    pub pd: Vec<String>,
    /// Where to listen.
    pub addr: String,
    /// What others are told; empty for where it listens.
    pub advertise_addr: String,
    /// Where the status page is; empty for nowhere.
    pub status_addr: String,
    /// The data directory.
    pub data_dir: PathBuf,
    /// Where the store stands: `zone=z1`, …
    pub labels: Vec<(String, String)>,
    /// The commit the program was built from.
    pub git_hash: String,
    /// The engine's settings.
    pub engine: EngineConfig,
    /// Settings of replication.
    pub raft: raftstore::Config,
    /// Told when log or engine cannot be written: the process has to stop.
    pub on_fatal: Box<dyn Fn(&raftstore::Error) + Send + Sync>,
}

/// A running store.
pub struct Node {
    kv: Kv<RocksEngine>,
    address: SocketAddr,
    status: Option<StatusServer>,
    stopping: Arc<Notify>,
    server: JoinHandle<()>,
    tasks: Vec<JoinHandle<()>>,
}

fn unix_seconds(env: &Env) -> u64 {
    env.wall_ms() / 1000
}

async fn listen(address: &str) -> Result<(TcpListener, SocketAddr)> {
    let fail = |error: std::io::Error| Error::Address { address: address.to_owned(), reason: error.to_string() };
    let listener = TcpListener::bind(address).await.map_err(fail)?;
    let bound = listener.local_addr().map_err(fail)?;
    Ok((listener, bound))
}

/// The opened data directory.
struct Directory {
    engine: RocksEngine,
    log: DiskLog,
    filter: GcFilter,
    disk_guard: Arc<DiskGuard>,
}

fn open_directory(path: &std::path::Path, config: &EngineConfig) -> Result<Directory> {
    let filter = GcFilter::new(mvcc::gc::decide);
    let (engine, disk_guard) = RocksEngine::open_guarded(path, config, filter.clone(), None)?;
    let log = DiskLog::open(&path.join("raft"), &DiskLogOptions::default())?;
    Ok(Directory { engine, log, filter, disk_guard })
}

impl Node {
    /// Starts a store; returns when it serves.
    pub async fn start(config: NodeConfig) -> Result<Self> {
        let env = Env::production();
        let (path, engine_config) = (config.data_dir.clone(), config.engine.clone());
        let opened = env.run_blocking(move || open_directory(&path, &engine_config)).await.ok_or(Error::Stopped)??;
        let Directory { engine, log, filter, disk_guard } = opened;
        let (listener, address) = listen(&config.addr).await?;
        let advertised = if config.advertise_addr.is_empty() { address.to_string() } else { config.advertise_addr.clone() };
        let status_listener = match config.status_addr.is_empty() {
            true => None,
            false => Some(listen(&config.status_addr).await?),
        };
        let pd = PdClient::new(config.pd.clone(), env.clone());
        pd.leader_within_patience().await?;
        let store_id = identity(&pd, &engine).await?;
        pd.set_store_id(store_id);
        let store = Store {
            id: store_id,
            peer_address: advertised.clone(),
            address: advertised,
            status_address: status_listener.as_ref().map_or(String::new(), |(_, address)| address.to_string()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git_hash: config.git_hash,
            labels: config.labels.iter().map(|(key, value)| StoreLabel { key: key.clone(), value: value.clone() }).collect(),
            start_timestamp: unix_seconds(&env) as i64,
            ..Default::default()
        };
        first_region(&pd, &engine, &store).await?;
        let reports = Reports::default();
        let options = StoreOptions {
            store_id,
            config: config.raft,
            env: env.clone(),
            engine: engine.clone(),
            log: Arc::new(log),
            snapshots: config.data_dir.join("snap"),
            disk_guard: Some(disk_guard.clone()),
            transport: Arc::new(GrpcTransport::new(pd.clone(), env.clone(), Handle::current())),
            placement: Arc::new(reports.clone()),
            on_fatal: config.on_fatal,
        };
        let raft = env.run_blocking(move || RaftStore::open(options)).await.ok_or(Error::Stopped)??;
        let store_wide = StoreWide::open(&engine, filter.safe_point.clone())?;
        let kv = Kv::new(raft.clone(), env.clone(), Arc::new(pd.clone()), Arc::new(pd.clone()), store_wide);
        let stopping = Arc::new(Notify::new());
        let server = serve(listener, kv.clone(), stopping.clone());
        pd.put_store(&store).await?;
        raft.start()?;
        let tasks = background(&kv, &pd, reports, &env, disk_guard);
        let status = status_listener.map(|(listener, address)| StatusServer::start(listener, address, kv.clone(), store));
        Ok(Self { kv, address, status, stopping, server, tasks })
    }

    /// Where the store is reached.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the status page is.
    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status.as_ref().map(StatusServer::address)
    }

    /// The store's id.
    pub fn store_id(&self) -> u64 {
        self.kv.raft().store_id()
    }

    /// Hands leadership over where that is possible, then ends.
    pub async fn stop(self) {
        hand_over(&self.kv).await;
        self.tasks.iter().for_each(JoinHandle::abort);
        self.stopping.notify_waiters();
        // Streams of clients and stores do not end by themselves.
        if tokio::time::timeout(Duration::from_secs(1), self.server).await.is_err() {
            tracing::info!("connections were cut");
        }
        if let Some(status) = self.status {
            status.stop();
        }
        let raft = self.kv.raft().clone();
        let stop = move || {
            raft.stop();
            raft.engine().sync_log()
        };
        match tokio::task::spawn_blocking(stop).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the engine could not be synced"),
            Err(error) => tracing::error!(%error, "the store did not end"),
        }
    }
}

/// The store's id: its own, or a new one. A directory of another cluster is refused.
async fn identity(pd: &PdClient, engine: &RocksEngine) -> Result<u64> {
    let cluster_id = pd.cluster_id();
    let store_id = match local_state::store_ident(engine)? {
        Some(ident) => ident.store_id,
        None => pd.alloc_id().await?,
    };
    local_state::identify_store(engine, cluster_id, store_id)?;
    Ok(store_id)
}

/// The first store of a cluster makes its first region, of whatever data it has.
async fn first_region(pd: &PdClient, engine: &RocksEngine, store: &Store) -> Result<()> {
    let states = local_state::all_region_states(engine)?;
    // Made here before a crash, and perhaps never told.
    let prepared =
        states.into_iter().filter(|state| state.state == PeerState::Normal as i32).filter_map(|state| state.region).find(|region| {
            region.region_epoch == Some(INITIAL_EPOCH)
                && region.peers.len() == 1
                && region.start_key.is_empty()
                && region.end_key.is_empty()
        });
    if pd.is_bootstrapped().await? {
        let Some(prepared) = prepared else { return Ok(()) };
        // Either it is the cluster's first region and nothing has happened since, or another store was faster.
        let known = pd.region_by_id(prepared.id).await?;
        if known.is_none_or(|known| !known.peers.iter().any(|peer| peer.store_id == store.id)) {
            withdraw(engine, &prepared)?;
        }
        return Ok(());
    }
    let region = match prepared {
        Some(region) => region,
        None => {
            let (region_id, peer_id) = (pd.alloc_id().await?, pd.alloc_id().await?);
            let peer = Peer { id: peer_id, store_id: store.id, role: PeerRole::Voter as i32, ..Default::default() };
            let region = Region { id: region_id, region_epoch: Some(INITIAL_EPOCH), peers: vec![peer], ..Default::default() };
            let mut batch = WriteBatch::new();
            local_state::put_new_region(&mut batch, &region);
            engine.write(batch, true)?;
            region
        }
    };
    if pd.bootstrap(store, &region).await? {
        tracing::info!(region_id = region.id, "this store has the cluster's first region");
        return Ok(());
    }
    withdraw(engine, &region)
}

/// A region that was made for nothing.
fn withdraw(engine: &RocksEngine, region: &Region) -> Result<()> {
    let mut batch = WriteBatch::new();
    local_state::delete_region(&mut batch, region.id);
    Ok(engine.write(batch, true)?)
}

fn serve(listener: TcpListener, kv: Kv<RocksEngine>, stopping: Arc<Notify>) -> JoinHandle<()> {
    let service = TikvServer::new(kv).max_decoding_message_size(MAX_MESSAGE_BYTES).max_encoding_message_size(MAX_MESSAGE_BYTES);
    let server = tonic::transport::Server::builder()
        .tcp_nodelay(true)
        .initial_stream_window_size(2 << 20)
        .initial_connection_window_size(16 << 20)
        .http2_keepalive_interval(Some(Duration::from_secs(10)))
        .add_service(service)
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), async move { stopping.notified().await });
    tokio::spawn(async move {
        if let Err(error) = server.await {
            tracing::error!(%error, "the gRPC server has ended");
        }
    })
}

/// What the store does without being asked.
fn background(kv: &Kv<RocksEngine>, pd: &PdClient, reports: Reports, env: &Env, disk: Arc<DiskGuard>) -> Vec<JoinHandle<()>> {
    let heartbeats = {
        let (kv, pd, env) = (kv.clone(), pd.clone(), env.clone());
        let started = unix_seconds(&env);
        tokio::spawn(async move {
            loop {
                kv.drop_stale_storages();
                let refused = refuses_writes(&env, &disk).await;
                let stats = pdpb::StoreStats { is_busy: refused, ..stats(&kv, &disk, started) };
                if let Err(error) = pd.store_heartbeat(stats).await {
                    tracing::info!(%error, "the placement driver was not told that this store lives");
                }
                let due = env.now() + STORE_HEARTBEAT;
                while env.now() < due && refuses_writes(&env, &disk).await == refused {
                    env.sleep(DISK_LOOK).await;
                }
            }
        })
    };
    let safe_points = {
        let (kv, pd, env) = (kv.clone(), pd.clone(), env.clone());
        tokio::spawn(async move {
            loop {
                env.sleep(SAFE_POINT_POLL).await;
                if let Ok(safe_point) = pd.gc_safe_point().await
                    && let Err(error) = kv.adopt_safe_point(safe_point).await
                {
                    tracing::warn!(%error, "the safe point could not be raised");
                }
            }
        })
    };
    let regions = tokio::spawn(placement::exchange(kv.clone(), reports, pd.clone(), env.clone()));
    vec![heartbeats, safe_points, regions]
}

/// Whether the disk has no room for what grows.
async fn refuses_writes(env: &Env, disk: &Arc<DiskGuard>) -> bool {
    let disk = disk.clone();
    // A disk that cannot be looked at refuses them too.
    env.run_blocking(move || !disk.check(0).is_ok_and(|room| room.admits(SpaceUse::Grows))).await.unwrap_or(true)
}

fn stats(kv: &Kv<RocksEngine>, guard: &DiskGuard, started: u64) -> pdpb::StoreStats {
    let raft = kv.raft();
    let disk = raft.engine().disk_stats();
    pdpb::StoreStats {
        store_id: raft.store_id(),
        capacity: guard.capacity_bytes(),
        available: guard.available_bytes(),
        used_size: disk.live_bytes,
        region_count: u32::try_from(raft.region_ids().len()).unwrap_or(u32::MAX),
        start_time: u32::try_from(started).unwrap_or(0),
        ..Default::default()
    }
}

/// Gives leadership of as many regions as possible to others, for a bounded time.
async fn hand_over(kv: &Kv<RocksEngine>) {
    use proto::raft_cmdpb::{AdminCmdType, AdminRequest, TransferLeaderRequest};
    let raft = kv.raft();
    let leads = || raft.views().into_iter().filter(|view| view.is_leader && view.region.peers.len() > 1).collect::<Vec<_>>();
    for view in leads() {
        let other = view.region.peers.iter().find(|peer| peer.store_id != raft.store_id() && peer.role == PeerRole::Voter as i32);
        let request = AdminRequest {
            cmd_type: AdminCmdType::TransferLeader as i32,
            transfer_leader: Some(TransferLeaderRequest { peer: other.copied() }),
            ..Default::default()
        };
        // Who does not take it leaves the region to an election.
        let _ = raft.admin(view.region.id, raftstore::region::epoch(&view.region), request).await;
    }
    for _ in 0..20 {
        if leads().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

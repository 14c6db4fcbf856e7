//! All roles in one process on an embedded store.
//!
//! ```text
//! engine (RocksDB) ─ commit thread ─ storage ─┐
//!                                  └ pd ──────┴ client ─ domain ─ server (MySQL port), status server
//! ```
//! Ends in the opposite order. A failed write or sync of the log ends the process: nothing may be acknowledged that is not on disk.

use std::{
    io::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ::pd::EmbeddedPd;
use anyhow::{Context as _, Result};
use client::{Client, ClientOptions};
use engine::{CommitOptions, CommitQueue, DiskGuard, GcFilter, RocksEngine};
use env::Env;
use session::{Domain, DomainConfig, PasswordHasher};
use sql::{Metrics, Server, ServerConfig, StatusServer, WorkerOptions};
use tokio::signal::unix::{SignalKind, signal};
use txn::{Storage, StorageOptions};
use wire::auth::Plugin;

use crate::{cli::Cli, config::Config, logging, store_metrics::StoreMetrics};

/// Exit code of a process that stopped because its store failed.
pub(crate) const EXIT_STORE_FAILED: i32 = 3;

/// Threads for work behind the connections.
const BACKGROUND_THREADS: usize = 2;

/// Reads the configuration, serves until a signal says stop.
pub fn run(cli: &Cli) -> Result<()> {
    let (config, notes) = configuration(cli)?;
    logging::start(config.effective_log_level(), &config.log.format)?;
    for note in notes {
        tracing::info!("{note}");
    }
    raise_descriptor_limit();
    // Connections have event loops of their own; here is what nobody waits for: accepting, statistics, garbage collection, the status port.
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(BACKGROUND_THREADS);
    if config.readpool.storage.normal_concurrency > 0 {
        runtime.max_blocking_threads(config.readpool.storage.normal_concurrency);
    }
    let runtime = runtime.enable_all().thread_name("background").build().context("cannot start the worker threads")?;
    let served = runtime.block_on(serve(config));
    runtime.shutdown_timeout(Duration::from_secs(2));
    served
}

/// The file's settings with the flags' over them.
fn configuration(cli: &Cli) -> Result<(Config, Vec<String>)> {
    let (mut config, notes) = match &cli.config {
        Some(path) => Config::load(path)?,
        None => (Config::default(), Vec::new()),
    };
    if let Some(directory) = &cli.data_dir {
        config.data_dir = directory.to_string_lossy().into_owned();
    }
    if let Some(host) = &cli.host {
        config.host.clone_from(host);
    }
    config.port = cli.port.unwrap_or(config.port);
    if let Some(port) = cli.status_port {
        config.status.status_port = port;
        config.server.status_addr.clear();
    }
    if let Some(level) = &cli.log_level {
        config.log_level.clone_from(level);
    }
    Ok((config, notes))
}

/// Every connection takes a descriptor, and so does every table file.
pub fn raise_descriptor_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a pointer to a local variable of the type they want.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

async fn serve(config: Config) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?;
    let store = open_store(&config).await?;
    let domain_config = DomainConfig {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        max_connections: config.performance.max_connections,
        plan_cache: config.prepared_plan_cache.enabled,
        plan_cache_capacity: config.prepared_plan_cache.capacity,
        host: config.host.clone(),
        port: config.port,
        data_dir: config.data_dir.clone(),
        hasher: Arc::new(Hasher),
    };
    let domain = Domain::open(store.client.clone(), domain_config).await.context("cannot open the database")?;
    let registry = prometheus::Registry::new();
    let metrics = Metrics::new(&registry).context("cannot register metrics")?;
    let of_store = StoreMetrics::new(store.engine.clone(), store.commits.clone());
    registry.register(Box::new(of_store)).context("cannot register the store's metrics")?;
    let status = match config.status.report_status {
        true => {
            let (host, port) = config.status_address()?;
            let git_hash = option_env!("TRINE_GIT_HASH").unwrap_or("unknown");
            Some(StatusServer::start(domain.clone(), registry, &host, port, git_hash)?)
        }
        false => None,
    };
    let server_config = ServerConfig {
        host: config.host.clone(),
        port: config.port,
        drain: config.server.graceful_shutdown_timeout.0,
        workers: WorkerOptions { threads: config.performance.max_procs, blocking_threads: config.readpool.storage.normal_concurrency },
    };
    let server = Server::start(domain.clone(), metrics, &server_config)?;
    banner(server.address(), status.as_ref().map(StatusServer::address), Path::new(&config.data_dir), config.raftstore.sync_log);
    let signal = tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
        () = domain.stop_requested() => "SHUTDOWN",
    };
    tracing::info!(by = signal, "stopping");
    server.stop().await;
    if let Some(status) = status {
        status.stop();
    }
    domain.close().await;
    drop(domain);
    tokio::task::spawn_blocking(move || {
        store.commits.close();
        drop(store);
    })
    .await
    .context("the commit thread did not end")?;
    tracing::info!("stopped");
    Ok(())
}

/// The store's side of the process.
struct Store {
    client: Client,
    engine: RocksEngine,
    commits: CommitQueue<RocksEngine>,
}

/// Opens the data directory. Recovery reads the log, so this may take a while.
async fn open_store(config: &Config) -> Result<Store> {
    let path = PathBuf::from(&config.data_dir);
    let engine_config = config.rocksdb.clone();
    let sync_log = config.raftstore.sync_log;
    let options = ClientOptions { entry_size_limit: config.performance.txn_entry_size_limit, ..ClientOptions::default() };
    let open = move || -> Result<Store> {
        let env = Env::production();
        let filter = GcFilter::new(mvcc::gc::decide);
        let safe_point = filter.safe_point.clone();
        let engine = RocksEngine::open_with_filter(&path, &engine_config, filter)?;
        let disk_guard = Arc::new(DiskGuard::open(&path, None)?);
        let commit_options =
            CommitOptions { sync_log, disk_guard: Some(disk_guard), on_fatal: Box::new(stop_process), ..CommitOptions::default() };
        let commits = CommitQueue::start(engine.clone(), commit_options)?;
        let pd = EmbeddedPd::open(engine.clone(), env.clone())?;
        let storage = Storage::open(engine.clone(), commits.clone(), StorageOptions::new(env.clone(), pd.last_timestamp(), safe_point))?;
        Ok(Store { client: Client::with_options(storage, pd, env, options), engine, commits })
    };
    tokio::task::spawn_blocking(open).await.context("opening the data directory failed")?
}

/// The log could not be written or synced: what is in memory may be ahead of what is on disk, so nothing more may be said to anybody.
fn stop_process(error: &engine::Error) {
    tracing::error!(%error, "the log could not be written; stopping, so that nothing is acknowledged that is not on disk");
    eprintln!("trine: the log could not be written: {error}");
    std::process::exit(EXIT_STORE_FAILED);
}

/// Tells where the server listens and how to connect.
fn banner(mysql: SocketAddr, status: Option<SocketAddr>, data_dir: &Path, sync_log: bool) {
    let data_dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
    let host = if mysql.ip().is_unspecified() { "127.0.0.1".to_owned() } else { mysql.ip().to_string() };
    let mut text = format!("Trine {} is ready.\n  MySQL clients: {mysql}\n", env!("CARGO_PKG_VERSION"));
    if let Some(status) = status {
        text += &format!("  status: http://{status}/status\n");
    }
    text += &format!("  data: {}{}\n", data_dir.display(), if sync_log { "" } else { " (relaxed durability: sync-log = false)" });
    text += &format!("  connect with: mysql --host {host} --port {} --user root\n", mysql.port());
    // Whoever started the server may have closed its output; that is no reason not to serve.
    let _ = std::io::stdout().write_all(text.as_bytes());
    let _ = std::io::stdout().flush();
}

/// Stored forms of passwords, as the protocol's plugins define them.
struct Hasher;

impl PasswordHasher for Hasher {
    fn knows(&self, plugin: &str) -> bool {
        Plugin::from_name(plugin).is_some()
    }

    fn hash(&self, plugin: &str, password: &[u8]) -> String {
        Plugin::from_name(plugin).unwrap_or(Plugin::Native).hash(password)
    }

    fn is_hash(&self, plugin: &str, stored: &str) -> bool {
        Plugin::from_name(plugin).is_some_and(|plugin| plugin.is_valid_hash(stored))
    }
}

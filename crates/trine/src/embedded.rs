//! All roles in one process on an embedded store.
//!
//! ```text
//! engine (RocksDB) ─ commit thread ─ storage ─┐
//!                                  └ pd ──────┴ client ─ domain ─ server (MySQL port), status server
//! ```
//! Ends in the opposite order. A failed write or sync of the log ends the process: nothing may be acknowledged that is not on disk.

use std::{path::PathBuf, time::Duration};

use ::pd::EmbeddedPd;
use anyhow::{Context as _, Result};
use client::{Client, ClientOptions};
use engine::{CommitOptions, CommitQueue, GcFilter, RocksEngine};
use env::Env;
use txn::{Storage, StorageOptions};

use crate::{
    cli::Cli,
    config::Config,
    front::{self, Front, Signals},
    logging,
    store_metrics::StoreMetrics,
};

/// Exit code of a process that stopped because its store failed.
pub(crate) const EXIT_STORE_FAILED: i32 = 3;

/// Reads the configuration, serves until a signal says stop.
pub fn run(cli: &Cli) -> Result<()> {
    let (config, notes) = configuration(cli)?;
    logging::start(config.effective_log_level(), &config.log.format)?;
    for note in notes {
        tracing::info!("{note}");
    }
    raise_descriptor_limit();
    let runtime = front::background_runtime(&config)?;
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
    let signals = Signals::listen()?;
    let store = open_store(&config).await?;
    let registry = prometheus::Registry::new();
    let of_store = StoreMetrics::new(store.engine.clone(), store.commits.clone());
    registry.register(Box::new(of_store)).context("cannot register the store's metrics")?;
    let data_dir = std::path::absolute(&config.data_dir).unwrap_or_else(|_| PathBuf::from(&config.data_dir));
    let relaxed = if config.raftstore.sync_log { "" } else { " (relaxed durability: sync-log = false)" };
    let data = format!("data: {}{relaxed}", data_dir.display());
    front::serve(Front { client: store.client.clone(), config: &config, data_dir: config.data_dir.clone(), data, registry }, signals)
        .await?;
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
        let (engine, disk_guard) = RocksEngine::open_guarded(&path, &engine_config, filter, None)?;
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

//! All roles in one process on an embedded store.
//!
//! ```text
//! engine (RocksDB) ─ commit thread ─ storage ─┐
//!                                  └ pd ──────┴ client ─ domain ─ server (MySQL port), status server
//! ```
//! Ends in the opposite order. A failed write or sync of the log ends the process: nothing may be acknowledged that is not on disk.

use std::path::PathBuf;

use ::pd::EmbeddedPd;
use anyhow::{Context as _, Result};
use client::{Client, ClientOptions};
use engine::{CommitOptions, CommitQueue, GcFilter, RocksEngine};
use env::Env;
use txn::{Storage, StorageOptions};

use crate::{
    cli::Cli,
    config::Config,
    front::{self, Front},
    process::{self, EXIT_STORE_FAILED, Signals},
    store_metrics::StoreMetrics,
};

/// Reads the configuration, serves until a signal says stop.
pub fn run(cli: &Cli) -> Result<()> {
    let (config, notes) = configuration(cli)?;
    process::prepare(&config.log_level, &config.log)?;
    for note in notes {
        tracing::info!("{note}");
    }
    process::run(front::background_runtime(&config)?, serve(config))
}

/// The file's settings with the flags' over them.
fn configuration(cli: &Cli) -> Result<(Config, Vec<String>)> {
    let (mut config, notes) = match &cli.common.config {
        Some(path) => Config::load(path)?,
        None => (Config::default(), Vec::new()),
    };
    process::override_settings([(&cli.data_dir, &mut config.data_dir), (&cli.common.log_level, &mut config.log_level)]);
    front::override_listen(&mut config, &cli.listen);
    Ok((config, notes))
}

async fn serve(config: Config) -> Result<()> {
    let signals = Signals::listen()?;
    let store = open_store(&config).await?;
    let registry = prometheus::Registry::new();
    let of_store = StoreMetrics::new(store.engine.clone(), store.commits.clone());
    registry.register(Box::new(of_store)).context("cannot register the store's metrics")?;
    let data_dir = process::shown(config.data_dir.as_ref());
    let data = format!("data: {}{}", data_dir.display(), process::durability_note(config.raftstore.sync_log));
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

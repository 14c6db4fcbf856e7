//! `trine kv`: one store of a cluster as a process.

use std::path::PathBuf;

use ::kv::{Node, NodeConfig};
use anyhow::{Context as _, Result, bail};

use crate::{
    cli::KvArgs,
    kv_config::KvConfig,
    process::{self, EXIT_STORE_FAILED, Signals},
    version::GIT_HASH,
};

/// Reads the configuration, serves until a signal says stop.
pub fn run(args: &KvArgs) -> Result<()> {
    let config = configuration(args)?;
    process::prepare(&config.log_level, &config.log)?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    runtime.worker_threads(config.server.grpc_concurrency.clamp(1, cores.max(2)));
    if config.readpool.storage.normal_concurrency > 0 {
        runtime.max_blocking_threads(config.readpool.storage.normal_concurrency + 2);
    }
    let runtime = runtime.enable_all().thread_name("grpc").build().context("cannot start the worker threads")?;
    process::run(runtime, serve(config))
}

/// The file's settings with the flags' over them.
fn configuration(args: &KvArgs) -> Result<KvConfig> {
    let mut config = match &args.common.config {
        Some(path) => KvConfig::load(path)?,
        None => KvConfig::default(),
    };
    process::override_settings([
        (&args.addr, &mut config.server.addr),
        (&args.advertise_addr, &mut config.server.advertise_addr),
        (&args.status_addr, &mut config.server.status_addr),
        (&args.data_dir, &mut config.storage.data_dir),
        (&args.common.log_level, &mut config.log_level),
    ]);
    if let Some(endpoints) = &args.pd {
        config.pd.endpoints = endpoints.split(',').map(|endpoint| endpoint.trim().to_owned()).collect();
    }
    for label in args.labels.iter().flat_map(|labels| labels.split(',')) {
        let Some((key, value)) = label.trim().split_once('=') else { bail!("label {label:?} is not of the form key=value") };
        config.server.labels.insert(key.to_owned(), value.to_owned());
    }
    Ok(config)
}

async fn serve(config: KvConfig) -> Result<()> {
    let mut signals = Signals::listen()?;
    let node_config = NodeConfig {
        pd: config.pd.endpoints.clone(),
        addr: config.server.addr.clone(),
        advertise_addr: config.server.advertise_addr.clone(),
        status_addr: config.server.status_addr.clone(),
        data_dir: PathBuf::from(&config.storage.data_dir),
        labels: config.server.labels.clone().into_iter().collect(),
        git_hash: GIT_HASH.to_owned(),
        raft: config.raft(),
        engine: config.rocksdb.clone(),
        on_fatal: Box::new(stop_process),
    };
    let node = tokio::select! {
        node = Node::start(node_config) => node.context("cannot start")?,
        _ = signals.next() => return Ok(()),
    };
    banner(&node, &config);
    let signal = signals.next().await;
    tracing::info!(signal, "stopping");
    node.stop().await;
    tracing::info!("stopped");
    Ok(())
}

/// What was promised to other stores may not be on disk: nothing more may be said to anybody.
fn stop_process(error: &raftstore::Error) {
    tracing::error!(%error, "the store failed; stopping, so that nothing is acknowledged that is not on disk");
    eprintln!("trine kv: {error}");
    std::process::exit(EXIT_STORE_FAILED);
}

fn banner(node: &Node, config: &KvConfig) {
    let directory = process::shown(config.storage.data_dir.as_ref());
    let mut text =
        format!("Trine {} store {} is ready.\n  stores and clients: {}\n", env!("CARGO_PKG_VERSION"), node.store_id(), node.address());
    if let Some(status) = node.status_address() {
        text += &format!("  status: http://{status}/status\n");
    }
    text += &format!("  data: {}{}\n", directory.display(), process::durability_note(config.raftstore.sync_log));
    process::announce(&text);
}

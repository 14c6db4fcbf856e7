//! `trine kv`: one store of a cluster as a process.

use std::{io::Write as _, path::PathBuf, time::Duration};

use ::kv::{Node, NodeConfig};
use anyhow::{Context as _, Result, bail};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    cli::KvArgs,
    embedded::{EXIT_STORE_FAILED, raise_descriptor_limit},
    kv_config::KvConfig,
    logging,
};

/// Reads the configuration, serves until a signal says stop.
pub fn run(args: &KvArgs) -> Result<()> {
    let config = configuration(args)?;
    logging::start(config.effective_log_level(), &config.log.format)?;
    raise_descriptor_limit();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    runtime.worker_threads(config.server.grpc_concurrency.clamp(1, cores.max(2)));
    if config.readpool.storage.normal_concurrency > 0 {
        runtime.max_blocking_threads(config.readpool.storage.normal_concurrency + 2);
    }
    let runtime = runtime.enable_all().thread_name("grpc").build().context("cannot start the worker threads")?;
    let served = runtime.block_on(serve(config));
    runtime.shutdown_timeout(Duration::from_secs(2));
    served
}

/// The file's settings with the flags' over them.
fn configuration(args: &KvArgs) -> Result<KvConfig> {
    let mut config = match &args.config {
        Some(path) => KvConfig::load(path)?,
        None => KvConfig::default(),
    };
    let flags = [
        (&args.addr, &mut config.server.addr),
        (&args.advertise_addr, &mut config.server.advertise_addr),
        (&args.status_addr, &mut config.server.status_addr),
        (&args.data_dir, &mut config.storage.data_dir),
        (&args.log_level, &mut config.log_level),
    ];
    for (flag, setting) in flags {
        if let Some(value) = flag {
            setting.clone_from(value);
        }
    }
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
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?;
    let node_config = NodeConfig {
        pd: config.pd.endpoints.clone(),
        addr: config.server.addr.clone(),
        advertise_addr: config.server.advertise_addr.clone(),
        status_addr: config.server.status_addr.clone(),
        data_dir: PathBuf::from(&config.storage.data_dir),
        labels: config.server.labels.clone().into_iter().collect(),
        raft: config.raft(),
        engine: config.rocksdb.clone(),
        on_fatal: Box::new(stop_process),
    };
    let node = tokio::select! {
        node = Node::start(node_config) => node.context("cannot start")?,
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    };
    banner(&node, &config);
    let signal = tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    };
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
    let directory = std::path::absolute(&config.storage.data_dir).unwrap_or_else(|_| PathBuf::from(&config.storage.data_dir));
    let mut text =
        format!("Trine {} store {} is ready.\n  stores and clients: {}\n", env!("CARGO_PKG_VERSION"), node.store_id(), node.address());
    if let Some(status) = node.status_address() {
        text += &format!("  status: http://{status}/status\n");
    }
    let relaxed = if config.raftstore.sync_log { "" } else { " (relaxed durability: sync-log = false)" };
    text += &format!("  data: {}{relaxed}\n", directory.display());
    // Whoever started the process may have closed its output; that is no reason not to serve.
    let _ = std::io::stdout().write_all(text.as_bytes());
    let _ = std::io::stdout().flush();
}

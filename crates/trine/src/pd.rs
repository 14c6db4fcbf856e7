//! `trine pd`: one member of the placement driver as a process.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use ::pd::{GrpcTransport, Listeners, Node, NodeOptions, Parts, core::PlacementConfig, group::FileDisk};
use anyhow::{Context as _, Result};
use env::{CancelReason, CancelToken, Env};

use crate::{
    cli::PdArgs,
    pd_config::{PdConfig, list, named_list},
    process::{self, EXIT_STORE_FAILED, Signals},
    version::GIT_HASH,
};

/// Reads the configuration, serves until a signal says stop or the member is removed.
pub fn run(args: &PdArgs) -> Result<()> {
    let config = configuration(args)?;
    process::prepare(&config.log_level, &config.log)?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().thread_name("worker").build().context("cannot start the worker threads")?;
    process::run(runtime, serve(config))
}

/// The file's settings with the flags' over them.
fn configuration(args: &PdArgs) -> Result<PdConfig> {
    let mut config = match &args.common.config {
        Some(path) => PdConfig::load(path)?,
        None => PdConfig::default(),
    };
    process::override_settings([
        (&args.name, &mut config.name),
        (&args.data_dir, &mut config.data_dir),
        (&args.client_urls, &mut config.client_urls),
        (&args.advertise_client_urls, &mut config.advertise_client_urls),
        (&args.peer_urls, &mut config.peer_urls),
        (&args.advertise_peer_urls, &mut config.advertise_peer_urls),
        (&args.initial_cluster, &mut config.initial_cluster),
        (&args.join, &mut config.join),
        (&args.common.log_level, &mut config.log_level),
    ]);
    Ok(config)
}

async fn serve(config: PdConfig) -> Result<()> {
    let mut signals = Signals::listen()?;
    let listeners = Listeners::bind(&list(&config.client_urls), &list(&config.peer_urls)).await?;
    let told = |advertised: &str, bound: Vec<String>| if advertised.is_empty() { bound } else { list(advertised) };
    let client_urls = told(&config.advertise_client_urls, listeners.client_urls());
    let peer_urls = told(&config.advertise_peer_urls, listeners.peer_urls());
    let directory = PathBuf::from(config.directory());
    let disk = {
        let directory = directory.clone();
        let open = move || FileDisk::open(&directory);
        tokio::task::spawn_blocking(open).await.context("opening the data directory failed")?.context("cannot open the data directory")?
    };
    let env = Env::production();
    let placement =
        PlacementConfig { replication: config.replication.clone(), schedule: config.schedule.clone(), ..PlacementConfig::default() };
    placement.check().map_err(anyhow::Error::msg)?;
    let options = NodeOptions {
        name: config.name.clone(),
        peer_urls: peer_urls.clone(),
        client_urls: client_urls.clone(),
        initial_cluster: named_list(&config.initial_cluster)?,
        join: list(&config.join),
        git_hash: GIT_HASH.to_owned(),
        placement,
    };
    let transport = Arc::new(GrpcTransport::new(env.clone(), peer_urls.first().cloned().unwrap_or_default()));
    let parts = Parts { env, disk: Arc::new(disk), transport, on_fatal: Box::new(stop_process) };
    let node = tokio::select! {
        node = Node::start(options, parts) => node.context("cannot start")?,
        _ = signals.next() => return Ok(()),
    };
    let stop = CancelToken::new();
    listeners.serve(&node, &stop);
    banner(&client_urls, &peer_urls, &directory);
    let mut status = node.watch();
    let reason = tokio::select! {
        signal = signals.next() => signal,
        _ = status.wait_for(|status| status.removed) => "the member was removed from the cluster",
    };
    tracing::info!(reason, "stopping");
    stop.cancel(CancelReason::Shutdown);
    node.stop().await;
    tracing::info!("stopped");
    Ok(())
}

/// What was promised to other members may not be on disk: nothing more may be said to anybody.
fn stop_process(error: &::pd::Error) {
    tracing::error!(%error, "the disk failed; stopping, so that nothing is promised that is not on disk");
    eprintln!("trine pd: {error}");
    std::process::exit(EXIT_STORE_FAILED);
}

fn banner(client_urls: &[String], peer_urls: &[String], directory: &Path) {
    let text = format!(
        "Trine {} placement driver is ready.\n  clients: {}\n  peers: {}\n  data: {}\n",
        env!("CARGO_PKG_VERSION"),
        client_urls.join(","),
        peer_urls.join(","),
        process::shown(directory).display()
    );
    process::announce(&text);
}

//! `trine pd`: one member of the placement driver as a process.

use std::{io::Write as _, path::PathBuf, sync::Arc, time::Duration};

use ::pd::{GrpcTransport, Listeners, Node, NodeOptions, Parts, core::PlacementConfig, group::FileDisk};
use anyhow::{Context as _, Result};
use env::{CancelReason, CancelToken, Env};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    cli::PdArgs,
    embedded::{EXIT_STORE_FAILED, raise_descriptor_limit},
    logging,
    pd_config::{PdConfig, list, named_list},
};

/// Reads the configuration, serves until a signal says stop or the member is removed.
pub fn run(args: &PdArgs) -> Result<()> {
    let config = configuration(args)?;
    logging::start(config.effective_log_level(), &config.log.format)?;
    raise_descriptor_limit();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().thread_name("worker").build().context("cannot start the worker threads")?;
    let served = runtime.block_on(serve(config));
    runtime.shutdown_timeout(Duration::from_secs(2));
    served
}

/// The file's settings with the flags' over them.
fn configuration(args: &PdArgs) -> Result<PdConfig> {
    let mut config = match &args.config {
        Some(path) => PdConfig::load(path)?,
        None => PdConfig::default(),
    };
    let flags = [
        (&args.name, &mut config.name),
        (&args.data_dir, &mut config.data_dir),
        (&args.client_urls, &mut config.client_urls),
        (&args.advertise_client_urls, &mut config.advertise_client_urls),
        (&args.peer_urls, &mut config.peer_urls),
        (&args.advertise_peer_urls, &mut config.advertise_peer_urls),
        (&args.initial_cluster, &mut config.initial_cluster),
        (&args.join, &mut config.join),
        (&args.log_level, &mut config.log_level),
    ];
    for (flag, setting) in flags {
        if let Some(value) = flag {
            setting.clone_from(value);
        }
    }
    Ok(config)
}

async fn serve(config: PdConfig) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?;
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
        placement,
    };
    let transport = Arc::new(GrpcTransport::new(env.clone(), peer_urls.first().cloned().unwrap_or_default()));
    let parts = Parts { env, disk: Arc::new(disk), transport, on_fatal: Box::new(stop_process) };
    let node = tokio::select! {
        node = Node::start(options, parts) => node.context("cannot start")?,
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    };
    let stop = CancelToken::new();
    listeners.serve(&node, &stop);
    banner(&client_urls, &peer_urls, &directory);
    let mut status = node.watch();
    let reason = tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
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

fn banner(client_urls: &[String], peer_urls: &[String], directory: &std::path::Path) {
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let text = format!(
        "Trine {} placement driver is ready.\n  clients: {}\n  peers: {}\n  data: {}\n",
        env!("CARGO_PKG_VERSION"),
        client_urls.join(","),
        peer_urls.join(","),
        directory.display()
    );
    // Whoever started the process may have closed its output; that is no reason not to serve.
    let _ = std::io::stdout().write_all(text.as_bytes());
    let _ = std::io::stdout().flush();
}

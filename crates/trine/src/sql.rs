//! `trine sql`: a SQL server without data of its own, over a cluster that it reaches by the public protocols of placement driver and stores.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use client::{Client, ClientOptions, PdClient};
use env::Env;

use crate::{
    cli::SqlArgs,
    config::Config,
    front::{self, Front},
    process::{self, Signals},
};

/// How long the locks of a server that has died stand in the way of the others.
const LOCK_TTL: Duration = Duration::from_secs(8);

/// Reads the configuration, serves until a signal says stop.
pub fn run(args: &SqlArgs) -> Result<()> {
    let config = configuration(args)?;
    process::prepare(&config.log_level, &config.log)?;
    process::run(front::background_runtime(&config)?, serve(config))
}

/// The file's settings with the flags' over them.
fn configuration(args: &SqlArgs) -> Result<Config> {
    let mut config = match &args.common.config {
        // The settings that mean nothing in one process are others here.
        Some(path) => Config::load(path)?.0,
        None => Config::default(),
    };
    process::override_settings([
        (&args.pd, &mut config.path),
        (&args.advertise_address, &mut config.advertise_address),
        (&args.common.log_level, &mut config.log_level),
    ]);
    front::override_listen(&mut config, &args.listen);
    Ok(config)
}

async fn serve(config: Config) -> Result<()> {
    let mut signals = Signals::listen()?;
    let endpoints: Vec<String> = config.path.split(',').map(|endpoint| endpoint.trim().to_owned()).filter(|e| !e.is_empty()).collect();
    if endpoints.is_empty() {
        bail!("no address of a placement driver was given: --pd HOST:PORT,…");
    }
    let env = Env::production();
    let connect = PdClient::connect(endpoints.clone(), env.clone());
    let pd = tokio::select! {
        pd = connect => pd.with_context(|| format!("cannot reach the cluster at {}", endpoints.join(",")))?,
        _ = signals.next() => return Ok(()),
    };
    let data = format!("cluster: {} at {}", pd.cluster_id().0, endpoints.join(","));
    let options =
        ClientOptions { entry_size_limit: config.performance.txn_entry_size_limit, lock_ttl: LOCK_TTL, ..ClientOptions::default() };
    let client = Client::cluster(pd, env, options);
    front::serve(Front { client, config: &config, data_dir: String::new(), data, registry: prometheus::Registry::new() }, signals).await?;
    tracing::info!("stopped");
    Ok(())
}

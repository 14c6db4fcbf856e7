//! The SQL side of a process: sessions, MySQL port and status port over a client, wherever the client's store is.
//!
//! ```text
//!   client ─ domain ─ server (MySQL port), status server          ends in the opposite order, on a signal or SHUTDOWN
//! ```

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use client::Client;
use session::{Domain, DomainConfig, PasswordHasher};
use sql::{Metrics, Server, ServerConfig, StatusServer, WorkerOptions};
use tokio::runtime::Runtime;
use wire::auth::Plugin;

use crate::{
    cli::ListenArgs,
    config::Config,
    process::{self, Signals},
    tls,
    version::GIT_HASH,
};

/// Threads for work behind the connections.
const BACKGROUND_THREADS: usize = 2;

/// Puts the flags that were given over the file's settings.
pub fn override_listen(config: &mut Config, args: &ListenArgs) {
    let security = &mut config.security;
    process::override_settings([
        (&args.host, &mut config.host),
        (&args.ssl_cert, &mut security.ssl_cert),
        (&args.ssl_key, &mut security.ssl_key),
        (&args.ssl_ca, &mut security.ssl_ca),
    ]);
    security.auto_tls = args.auto_tls.unwrap_or(security.auto_tls);
    security.require_secure_transport = args.require_secure_transport.unwrap_or(security.require_secure_transport);
    config.port = args.port.unwrap_or(config.port);
    if let Some(port) = args.status_port {
        config.status.status_port = port;
        config.server.status_addr.clear();
    }
}

/// Connections have event loops of their own; here is what nobody waits for: accepting, statistics, garbage collection, the status port, and
/// connections to the processes of a cluster.
pub fn background_runtime(config: &Config) -> Result<Runtime> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(BACKGROUND_THREADS);
    if config.readpool.storage.normal_concurrency > 0 {
        runtime.max_blocking_threads(config.readpool.storage.normal_concurrency);
    }
    runtime.enable_all().thread_name("background").build().context("cannot start the worker threads")
}

/// What is served.
pub struct Front<'a> {
    /// The way to the data.
    pub client: Client,
    /// Addresses and limits.
    pub config: &'a Config,
    /// The variable `datadir`.
    pub data_dir: String,
    /// Where the data is, for people.
    pub data: String,
    /// Metrics of what lies below.
    pub registry: prometheus::Registry,
}

/// Serves until a signal or a client says stop.
pub async fn serve(front: Front<'_>, mut signals: Signals) -> Result<()> {
    let Front { client, config, data_dir, data, registry } = front;
    let tls = tls::prepare(&config.security, &data_dir)?;
    let domain_config = DomainConfig {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        max_connections: config.performance.max_connections,
        plan_cache: config.prepared_plan_cache.enabled,
        plan_cache_capacity: config.prepared_plan_cache.capacity,
        host: config.host.clone(),
        port: config.port,
        data_dir,
        advertise_address: config.advertise_address.clone(),
        git_hash: GIT_HASH,
        tls_variables: tls.variables,
        hasher: Arc::new(Hasher),
    };
    let domain = tokio::select! {
        domain = Domain::open(client, domain_config) => domain.context("cannot open the database")?,
        _ = signals.next() => return Ok(()),
    };
    let metrics = Metrics::new(&registry).context("cannot register metrics")?;
    let status = match config.status.report_status {
        true => {
            let (host, port) = config.status_address()?;
            let status = StatusServer::start(domain.clone(), registry, &host, port, GIT_HASH)?;
            domain.set_status_port(status.address().port());
            Some(status)
        }
        false => None,
    };
    let server_config = ServerConfig {
        host: config.host.clone(),
        port: config.port,
        drain: config.server.graceful_shutdown_timeout.0,
        workers: WorkerOptions { threads: config.performance.max_procs, blocking_threads: config.readpool.storage.normal_concurrency },
        tls: tls.acceptor,
        allow_empty_root_password: config.security.allow_empty_root_password,
    };
    let server = Server::start(domain.clone(), metrics, &server_config)?;
    banner(server.address(), status.as_ref().map(StatusServer::address), &data);
    let by = tokio::select! {
        signal = signals.next() => signal,
        () = domain.stop_requested() => "SHUTDOWN",
    };
    tracing::info!(by, "stopping");
    server.stop().await;
    if let Some(status) = status {
        status.stop();
    }
    // What lies below may be gone already; it is not waited for longer than this.
    if tokio::time::timeout(CLOSE_LIMIT, domain.close()).await.is_err() {
        tracing::warn!("stopping without having given everything back");
    }
    Ok(())
}

/// Time the last transactions of a server that stops may take.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);

/// Tells where the server listens and how to connect.
fn banner(mysql: SocketAddr, status: Option<SocketAddr>, data: &str) {
    let host = if mysql.ip().is_unspecified() { "127.0.0.1".to_owned() } else { mysql.ip().to_string() };
    let mut text = format!("Trine {} is ready.\n  MySQL clients: {mysql}\n", env!("CARGO_PKG_VERSION"));
    if let Some(status) = status {
        text += &format!("  status: http://{status}/status\n");
    }
    text += &format!("  {data}\n  connect with: mysql --host {host} --port {} --user root\n", mysql.port());
    process::announce(&text);
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

    fn verify(&self, plugin: &str, stored: &str, password: &[u8]) -> bool {
        Plugin::from_name(plugin).is_some_and(|plugin| plugin.verify(stored, password))
    }

    fn is_hash(&self, plugin: &str, stored: &str) -> bool {
        Plugin::from_name(plugin).is_some_and(|plugin| plugin.is_valid_hash(stored))
    }
}

//! The status port: `/status` (JSON), `/metrics` (Prometheus text), `/health`.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use axum::{Json, Router, http::header, response::IntoResponse, routing::get};
use prometheus::{Encoder as _, Registry, TextEncoder};
use session::Domain;

use crate::{Error, server::listen};

/// The HTTP server of the status port.
pub struct StatusServer {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

/// What the handlers read.
struct Source {
    domain: Arc<Domain>,
    registry: Registry,
    started: Instant,
    git_hash: &'static str,
}

impl StatusServer {
    /// Listens on `host:port` (0 for a free port) and answers from then on.
    pub fn start(domain: Arc<Domain>, registry: Registry, host: &str, port: u16, git_hash: &'static str) -> Result<Self, Error> {
        let listener = listen(host, port, "the status port")?;
        let address = listener.local_addr().map_err(|source| Error::Host { host: host.to_owned(), source })?;
        let source = Arc::new(Source { domain, registry, started: Instant::now(), git_hash });
        let metrics_source = source.clone();
        let app = Router::new()
            .route("/status", get(move || async move { status(&source) }))
            .route("/metrics", get(move || async move { metrics(&metrics_source) }))
            .route("/health", get(|| async { "ok\n" }));
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                tracing::error!(%error, "the status port stopped answering");
            }
        });
        Ok(Self { address, task })
    }

    /// The address it answers on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops answering.
    pub fn stop(self) {
        self.task.abort();
    }
}

fn status(source: &Source) -> impl IntoResponse + use<> {
    Json(serde_json::json!({
        "version": source.domain.server_version(),
        "git_hash": source.git_hash,
        "connections": source.domain.connections().len(),
        "uptime_seconds": source.started.elapsed().as_secs(),
    }))
}

fn metrics(source: &Source) -> impl IntoResponse + use<> {
    let mut text = Vec::new();
    let encoder = TextEncoder::new();
    if let Err(error) = encoder.encode(&source.registry.gather(), &mut text) {
        tracing::error!(%error, "cannot encode the metrics");
    }
    ([(header::CONTENT_TYPE, encoder.format_type().to_owned())], text)
}

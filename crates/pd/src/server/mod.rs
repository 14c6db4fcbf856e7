//! The ports of a member: clients' (gRPC and HTTP on one port) and peers'.
//!
//! ```text
//!   client port ─▶ forward (unless this member leads) ─▶ /pdpb.PD/… and other gRPC services
//!                                                     └▶ /pd/api/v1/…
//!   peer port   ─▶ /pdpeer.PdPeer/…
//! ```
//! HTTP/1.1 and HTTP/2 without TLS are told apart by their first bytes.

mod forward;

use std::{
    net::{SocketAddr, ToSocketAddrs as _},
    sync::Arc,
};

use axum::{Router, serve::ListenerExt as _};
use env::CancelToken;
use proto::{
    etcdserverpb::cluster_server::ClusterServer, health::health_server::HealthServer,
    meta_storagepb::meta_storage_server::MetaStorageServer, pdpb::pd_server::PdServer, pdpeer::pd_peer_server::PdPeerServer,
};
use tokio::net::TcpListener;

use crate::{
    Error, Result, http,
    node::Node,
    service::{ClusterService, HealthService, MetaStorageService, PdService, PeerService},
};

/// Largest request of a client: a heartbeat with many buckets is the biggest.
const MAX_REQUEST_BYTES: usize = 64 << 20;

/// Ports that are bound but not served yet: a member's addresses are known before it starts.
#[derive(Debug)]
pub struct Listeners {
    clients: Vec<TcpListener>,
    peers: Vec<TcpListener>,
}

/// The socket addresses of a list of URLs. HTTPS is not offered.
fn addresses(urls: &[String]) -> Result<Vec<SocketAddr>> {
    let mut found = Vec::new();
    for url in urls {
        let fail = |reason: String| Error::Address { address: url.clone(), reason };
        let rest = url.strip_prefix("http://").ok_or_else(|| fail("it must begin with http://".to_owned()))?;
        let mut resolved = rest.trim_end_matches('/').to_socket_addrs().map_err(|error| fail(error.to_string()))?;
        found.push(resolved.next().ok_or_else(|| fail("no address of that name".to_owned()))?);
    }
    Ok(found)
}

async fn bind(urls: &[String]) -> Result<Vec<TcpListener>> {
    let mut listeners = Vec::new();
    for address in addresses(urls)? {
        let fail = |error: std::io::Error| Error::Address { address: address.to_string(), reason: error.to_string() };
        listeners.push(TcpListener::bind(address).await.map_err(fail)?);
    }
    Ok(listeners)
}

/// The URLs of bound ports; port 0 has become a real one.
fn urls(listeners: &[TcpListener]) -> Vec<String> {
    listeners.iter().filter_map(|listener| listener.local_addr().ok()).map(|address| format!("http://{address}")).collect()
}

impl Listeners {
    /// Binds the ports of the given URLs.
    pub async fn bind(client_urls: &[String], peer_urls: &[String]) -> Result<Self> {
        Ok(Self { clients: bind(client_urls).await?, peers: bind(peer_urls).await? })
    }

    /// Where clients reach this member.
    pub fn client_urls(&self) -> Vec<String> {
        urls(&self.clients)
    }

    /// Where the other members reach this one.
    pub fn peer_urls(&self) -> Vec<String> {
        urls(&self.peers)
    }

    /// Serves all ports until `stop` is cancelled.
    pub fn serve(self, node: &Arc<Node>, stop: &CancelToken) {
        let clients = client_router(node.clone());
        let peers = Router::new().merge(peer_routes(node.clone()));
        for (listeners, router) in [(self.clients, clients), (self.peers, peers)] {
            for listener in listeners {
                let (router, stop) = (router.clone(), stop.clone());
                let listener = listener.tap_io(|stream| {
                    // Small messages must not wait for more; without it they are only slower.
                    let _ = stream.set_nodelay(true);
                });
                node.env().spawn(async move {
                    // Streams end by themselves: a member that has stopped answers them with an error.
                    let stopped = async move {
                        stop.cancelled().await;
                    };
                    if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stopped).await {
                        tracing::error!(%error, "a port is served no more");
                    }
                });
            }
        }
    }
}

fn peer_routes(node: Arc<Node>) -> Router {
    let peer = PdPeerServer::new(PeerService::new(node)).max_decoding_message_size(crate::node::MAX_FRAME_BYTES);
    tonic::service::Routes::new(peer).into_axum_router()
}

fn client_router(node: Arc<Node>) -> Router {
    let pd = PdServer::new(PdService::new(node.clone())).max_decoding_message_size(MAX_REQUEST_BYTES).max_encoding_message_size(usize::MAX);
    let peer = PdPeerServer::new(PeerService::new(node.clone())).max_decoding_message_size(crate::node::MAX_FRAME_BYTES);
    let grpc = tonic::service::Routes::new(pd)
        .add_service(peer)
        .add_service(HealthServer::new(HealthService(node.clone())))
        .add_service(ClusterServer::new(ClusterService(node.clone())))
        .add_service(MetaStorageServer::new(MetaStorageService(node.clone())));
    let forward = forward::Forward::new(node.clone());
    grpc.into_axum_router()
        .merge(http::router(node))
        .layer(axum::middleware::from_fn(move |request, next| forward::forward(forward.clone(), request, next)))
}

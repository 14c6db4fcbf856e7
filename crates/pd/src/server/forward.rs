//! Followers pass requests on to the leader, whole: head, body and trailers stream through, whatever the call is.
//!
//! A request that was passed on once is not passed on again: two members that each believe the other leads would play ball with it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue, StatusCode, header::CONTENT_TYPE},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use parking_lot::Mutex;
use tonic::transport::{Channel, Endpoint};
use tower::Service as _;

use crate::node::Node;

/// Marks a request that was passed on.
const FORWARDED: HeaderName = HeaderName::from_static("trine-forwarded");

/// Requests every member answers itself.
const OWN: [&str; 2] = ["/pdpb.PD/GetMembers", "/pdpb.PD/GetClusterInfo"];

/// Connections to members that lead or led.
#[derive(Clone)]
pub(super) struct Forward {
    node: Arc<Node>,
    channels: Arc<Mutex<HashMap<String, Channel>>>,
}

impl Forward {
    pub(super) fn new(node: Arc<Node>) -> Self {
        Self { node, channels: Arc::default() }
    }

    /// The leader's connection when this request is not ours to answer.
    fn target(&self, request: &Request) -> Option<Channel> {
        let path = request.uri().path();
        let leaders = path.starts_with("/pdpb.PD/") && !OWN.contains(&path) || path.starts_with("/pd/api/v1/") && !own_page(path);
        if !leaders || request.headers().contains_key(FORWARDED) || self.node.status().leads {
            return None;
        }
        let leader = self.node.leader().filter(|leader| leader.member_id != self.node.member().member_id)?;
        let url = leader.client_urls.first()?;
        let mut channels = self.channels.lock();
        if let Some(channel) = channels.get(url) {
            return Some(channel.clone());
        }
        let channel = Endpoint::from_shared(url.clone())
            .ok()?
            .connect_timeout(Duration::from_secs(2))
            .tcp_nodelay(true)
            .http2_keep_alive_interval(Duration::from_secs(2))
            .keep_alive_timeout(Duration::from_secs(2))
            .connect_lazy();
        channels.insert(url.clone(), channel.clone());
        Some(channel)
    }
}

/// Pages that show the member asked.
fn own_page(path: &str) -> bool {
    matches!(path, "/pd/api/v1/members" | "/pd/api/v1/leader" | "/pd/api/v1/version" | "/pd/api/v1/ping")
}

/// Passes a request on, or lets it through to this member's own services.
pub(super) async fn forward(forward: Forward, mut request: Request, next: Next) -> Response {
    let Some(mut channel) = forward.target(&request) else { return next.run(request).await };
    request.headers_mut().insert(FORWARDED, HeaderValue::from_static("1"));
    let is_grpc = request.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    for hop in ["connection", "host", "transfer-encoding", "keep-alive", "upgrade"] {
        request.headers_mut().remove(hop);
    }
    let request = request.map(tonic::body::Body::new);
    let sent = async {
        std::future::poll_fn(|context| channel.poll_ready(context)).await?;
        channel.call(request).await
    };
    match sent.await {
        Ok(response) => response.map(axum::body::Body::new),
        Err(error) => {
            let text = format!("the leader cannot be reached: {error}");
            if is_grpc { tonic::Status::unavailable(text).into_http() } else { (StatusCode::SERVICE_UNAVAILABLE, text).into_response() }
        }
    }
}

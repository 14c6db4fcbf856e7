//! The way to the other members.
//!
//! Messages are sent and forgotten: Raft repeats what is lost. One task a member keeps a stream to its peer port; while there is none,
//! messages to it are dropped and the group is told.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use bytes::Bytes;
use env::{CancelReason, CancelToken, Env};
use parking_lot::Mutex;
use proto::pdpeer::{RaftFrame, pd_peer_client::PdPeerClient};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;

use super::Node;

/// Messages that may wait for one member.
const QUEUE: usize = 1024;
/// Pause before a member that could not be reached is tried again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);
/// How long a connection may take to come about, or to answer a sign of life.
const PATIENCE: Duration = Duration::from_secs(2);
/// Snapshots travel in one message.
pub(crate) const MAX_FRAME_BYTES: usize = 2 << 30;

/// Sends messages to other members; never waits.
pub trait Transport: Send + Sync + 'static {
    /// Tells whom to report failures to.
    fn attach(&self, node: &Arc<Node>);

    /// Sends an encoded message to the member `to`, reached at `urls`.
    fn send(&self, to: u64, urls: &[String], cluster_id: u64, message: Vec<u8>, is_snapshot: bool);

    /// The member has stopped: nothing more is sent.
    fn close(&self);
}

struct Outgoing {
    frame: RaftFrame,
    is_snapshot: bool,
}

struct Peer {
    urls: Vec<String>,
    queue: mpsc::Sender<Outgoing>,
}

/// gRPC streams to the peer ports of the others.
pub struct GrpcTransport {
    env: Env,
    own_url: String,
    node: OnceLock<Weak<Node>>,
    peers: Mutex<HashMap<u64, Peer>>,
    closed: CancelToken,
}

impl GrpcTransport {
    /// A transport of the member that is reached at `own_url`.
    pub fn new(env: Env, own_url: String) -> Self {
        Self { env, own_url, node: OnceLock::new(), peers: Mutex::default(), closed: CancelToken::new() }
    }

    fn connect(&self, member: u64, urls: &[String]) -> Peer {
        let (queue, outgoing) = mpsc::channel(QUEUE);
        let task = PeerTask {
            env: self.env.clone(),
            node: self.node.get().cloned().unwrap_or_default(),
            member,
            url: urls.first().cloned().unwrap_or_default(),
            outgoing,
            closed: self.closed.clone(),
        };
        self.env.spawn(task.run());
        Peer { urls: urls.to_vec(), queue }
    }

    fn report_loss(&self, to: u64, is_snapshot: bool) {
        report_loss(self.node.get().and_then(Weak::upgrade), to, is_snapshot);
    }
}

fn report_loss(node: Option<Arc<Node>>, to: u64, is_snapshot: bool) {
    let Some(node) = node else { return };
    node.report_unreachable(to);
    if is_snapshot {
        node.report_snapshot(to, false);
    }
}

impl Transport for GrpcTransport {
    fn attach(&self, node: &Arc<Node>) {
        // A second node on the same transport would be a mistake of the caller that harms nobody.
        let _ = self.node.set(Arc::downgrade(node));
    }

    fn send(&self, to: u64, urls: &[String], cluster_id: u64, message: Vec<u8>, is_snapshot: bool) {
        let frame = RaftFrame { message: Bytes::from(message), from_url: self.own_url.clone(), cluster_id };
        let mut peers = self.peers.lock();
        if peers.get(&to).is_none_or(|peer| peer.urls != urls || peer.queue.is_closed()) {
            peers.insert(to, self.connect(to, urls));
        }
        let full = peers[&to].queue.try_send(Outgoing { frame, is_snapshot }).is_err();
        drop(peers);
        if full {
            self.report_loss(to, is_snapshot);
        }
    }

    fn close(&self) {
        self.closed.cancel(CancelReason::Shutdown);
        self.peers.lock().clear();
    }
}

/// Keeps the stream to one member.
struct PeerTask {
    env: Env,
    node: Weak<Node>,
    member: u64,
    url: String,
    outgoing: mpsc::Receiver<Outgoing>,
    closed: CancelToken,
}

impl PeerTask {
    async fn run(mut self) {
        let endpoint = match Endpoint::from_shared(self.url.clone()) {
            Ok(endpoint) => endpoint,
            Err(error) => {
                tracing::error!(url = %self.url, %error, "the address of a member cannot be used");
                return;
            }
        };
        let endpoint = endpoint
            .connect_timeout(PATIENCE)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(Duration::from_secs(1))
            .keep_alive_timeout(PATIENCE)
            .keep_alive_while_idle(true);
        loop {
            // Something to send comes before a connection.
            let first = tokio::select! {
                first = self.outgoing.recv() => first,
                _ = self.closed.cancelled() => None,
            };
            let Some(first) = first else { return };
            match endpoint.connect().await {
                Ok(channel) => self.stream(PdPeerClient::new(channel).max_encoding_message_size(MAX_FRAME_BYTES), first).await,
                Err(error) => {
                    tracing::debug!(url = %self.url, %error, "a member cannot be reached");
                    self.lose(first);
                }
            }
            while let Ok(lost) = self.outgoing.try_recv() {
                self.lose(lost);
            }
            tokio::select! {
                () = self.env.sleep(RECONNECT_PAUSE) => {}
                _ = self.closed.cancelled() => return,
            }
        }
    }

    fn lose(&self, lost: Outgoing) {
        report_loss(self.node.upgrade(), self.member, lost.is_snapshot);
    }

    /// Sends until the stream breaks or nobody sends any more.
    async fn stream(&mut self, mut client: PdPeerClient<tonic::transport::Channel>, first: Outgoing) {
        let (frames, receiver) = mpsc::channel(64);
        let call = client.raft(ReceiverStream::new(receiver));
        tokio::pin!(call);
        let mut next = Some(first);
        loop {
            let Some(message) = next.take() else { return };
            let is_snapshot = message.is_snapshot;
            tokio::select! {
                // The answer comes when the stream is over.
                _ = &mut call => return report_loss(self.node.upgrade(), self.member, is_snapshot),
                sent = frames.send(message.frame) => {
                    if sent.is_err() {
                        return report_loss(self.node.upgrade(), self.member, is_snapshot);
                    }
                    if let (true, Some(node)) = (is_snapshot, self.node.upgrade()) {
                        node.report_snapshot(self.member, true);
                    }
                }
            }
            next = tokio::select! {
                _ = &mut call => return report_loss(self.node.upgrade(), self.member, false),
                next = self.outgoing.recv() => next,
                _ = self.closed.cancelled() => None,
            };
        }
    }
}

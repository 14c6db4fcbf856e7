//! Messages to other stores: one connection and one stream of batches to each, snapshots in streams of their own.
//!
//! ```text
//!   replicas ─ send ─▶ queue of the receiving store (bounded: what does not fit is lost) ─▶ batches ─▶ BatchRaft stream
//! ```
//!
//! The consensus sends again what was lost, so nothing is kept for a store that cannot be reached.

use std::{io::Read as _, path::PathBuf, sync::Arc, time::Duration};

use env::Env;
use parking_lot::Mutex;
use proto::{
    raft_serverpb::{RaftMessage, SnapshotChunk},
    tikvpb::{BatchRaftMessage, tikv_client::TikvClient},
};
use raftstore::Transport;
use rustc_hash::FxHashMap;
use tokio::{runtime::Handle, sync::mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};

use crate::{error::Error, pd_client::PdClient};

/// Messages that may wait for one store.
const QUEUED_MESSAGES: usize = 16 << 10;
/// Messages of one batch.
const BATCH_MESSAGES: usize = 256;
const CHUNK_BYTES: usize = 1 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause before a store that could not be reached is tried again.
const PAUSE: Duration = Duration::from_millis(500);
/// A snapshot that takes longer than this is given up.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(600);

/// Sends to other stores; cheap to clone.
#[derive(Clone)]
pub struct GrpcTransport {
    shared: Arc<Shared>,
}

struct Shared {
    pd: PdClient,
    env: Env,
    runtime: Handle,
    queues: Mutex<FxHashMap<u64, mpsc::Sender<RaftMessage>>>,
}

impl GrpcTransport {
    /// A transport that looks addresses of stores up in the placement driver. Its tasks run on `runtime`.
    pub fn new(pd: PdClient, env: Env, runtime: Handle) -> Self {
        Self { shared: Arc::new(Shared { pd, env, runtime, queues: Mutex::default() }) }
    }

    fn queue(&self, store_id: u64) -> mpsc::Sender<RaftMessage> {
        let mut queues = self.shared.queues.lock();
        let start = || {
            let (sender, receiver) = mpsc::channel(QUEUED_MESSAGES);
            self.shared.runtime.spawn(self.clone().serve(store_id, receiver));
            sender
        };
        queues.entry(store_id).or_insert_with(start).clone()
    }

    async fn connect(&self, store_id: u64) -> Result<Channel, Error> {
        let store = self.shared.pd.store(store_id).await?;
        let fail = |address: &str, reason: String| Error::Address { address: address.to_owned(), reason };
        let store = store.ok_or_else(|| fail("", format!("the placement driver knows no store {store_id}")))?;
        let address = if store.peer_address.is_empty() { store.address } else { store.peer_address };
        let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(|error| fail(&address, error.to_string()))?;
        let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true).initial_stream_window_size(8 << 20);
        let endpoint = endpoint.http2_keep_alive_interval(Duration::from_secs(10)).keep_alive_timeout(Duration::from_secs(3));
        endpoint.connect().await.map_err(|error| fail(&address, error.to_string()))
    }

    /// Sends what is in a store's queue, as long as the process lives.
    async fn serve(self, store_id: u64, mut messages: mpsc::Receiver<RaftMessage>) {
        let mut failures = 0u32;
        loop {
            match self.connect(store_id).await {
                Ok(channel) => {
                    failures = 0;
                    if !self.stream(channel, &mut messages).await {
                        return;
                    }
                }
                Err(error) => {
                    if failures.is_power_of_two() || failures == 0 {
                        tracing::warn!(store_id, %error, "a store cannot be reached");
                    }
                    failures += 1;
                }
            }
            self.shared.env.sleep(PAUSE).await;
            // Old news: the consensus has sent again, or will.
            while messages.try_recv().is_ok() {}
        }
    }

    /// Streams batches until the stream breaks; false when nobody sends any more.
    async fn stream(&self, channel: Channel, messages: &mut mpsc::Receiver<RaftMessage>) -> bool {
        let (sender, receiver) = mpsc::channel(4);
        let mut client = TikvClient::new(channel);
        let mut ended = self.shared.runtime.spawn(async move { client.batch_raft(ReceiverStream::new(receiver)).await.map(|_| ()) });
        let mut msgs = Vec::with_capacity(BATCH_MESSAGES);
        loop {
            tokio::select! {
                biased;
                _ = &mut ended => return true,
                count = messages.recv_many(&mut msgs, BATCH_MESSAGES) => {
                    if count == 0 {
                        return false;
                    }
                }
            }
            let batch = BatchRaftMessage { msgs: std::mem::take(&mut msgs) };
            tokio::select! {
                biased;
                _ = &mut ended => return true,
                sent = sender.send(batch) => {
                    if sent.is_err() {
                        return true;
                    }
                }
            }
        }
    }

    async fn stream_snapshot(&self, message: RaftMessage, path: PathBuf) -> Result<(), Error> {
        let store_id = message.to_peer.map_or(0, |peer| peer.store_id);
        let channel = self.connect(store_id).await?;
        let (sender, receiver) = mpsc::channel(4);
        let read = move || {
            let failed = |source| Error::Io { what: "cannot read a snapshot", source: Arc::new(source) };
            let mut file = std::fs::File::open(&path).map_err(failed)?;
            let mut next = SnapshotChunk { message: Some(message), ..Default::default() };
            // A receiver that has gone ends the call; its status says why.
            while sender.blocking_send(next).is_ok() {
                let mut data = Vec::with_capacity(CHUNK_BYTES);
                file.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut data).map_err(failed)?;
                if data.is_empty() {
                    break;
                }
                next = SnapshotChunk { message: None, data: data.into() };
            }
            Ok(())
        };
        let reading = self.shared.runtime.spawn_blocking(read);
        let refused = |status: tonic::Status| Error::Address { address: format!("store {store_id}"), reason: status.message().to_owned() };
        TikvClient::new(channel).snapshot(ReceiverStream::new(receiver)).await.map_err(refused)?;
        reading.await.unwrap_or(Err(Error::Stopped))
    }
}

impl Transport for GrpcTransport {
    fn send(&self, message: RaftMessage) {
        let store_id = message.to_peer.map_or(0, |peer| peer.store_id);
        // A full queue belongs to a store that is slow or gone: the message is lost, which the consensus expects.
        let _ = self.queue(store_id).try_send(message);
    }

    fn send_snapshot(&self, message: RaftMessage, file: PathBuf, done: Box<dyn FnOnce(bool) + Send>) {
        let transport = self.clone();
        self.shared.runtime.spawn(async move {
            let (region_id, to) = (message.region_id, message.to_peer.map_or(0, |peer| peer.store_id));
            let sent = tokio::time::timeout(SNAPSHOT_TIMEOUT, transport.stream_snapshot(message, file)).await;
            let sent = sent.unwrap_or(Err(Error::Stopped));
            match &sent {
                Ok(()) => tracing::info!(region_id, to, "a snapshot was sent"),
                Err(error) => tracing::warn!(region_id, to, %error, "a snapshot was not sent"),
            }
            done(sent.is_ok());
        });
    }
}

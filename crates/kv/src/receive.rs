//! What other stores send: messages of their replicas, and snapshots.

use std::{fs::File, io::Write as _, path::PathBuf, sync::Arc};

use bytes::Bytes;
use engine::Engine;
use proto::{
    deadlock::WaitForEntry,
    kvrpcpb::{GetLockWaitInfoResponse, UnsafeDestroyRangeRequest, UnsafeDestroyRangeResponse},
    raft_serverpb::{Done, RaftMessage, SnapshotChunk},
    tikvpb::BatchRaftMessage,
};
use protobuf::Message as _;
use raftstore::SnapshotId;
use tonic::{Response, Status, Streaming};

use crate::commands::Kv;

impl<E: Engine> Kv<E> {
    pub(crate) async fn receive_messages(&self, mut messages: Streaming<RaftMessage>) -> Result<Response<Done>, Status> {
        while let Some(message) = messages.message().await? {
            self.raft().on_message(message);
        }
        Ok(Response::new(Done {}))
    }

    pub(crate) async fn receive_batches(&self, mut batches: Streaming<BatchRaftMessage>) -> Result<Response<Done>, Status> {
        while let Some(batch) = batches.message().await? {
            batch.msgs.into_iter().for_each(|message| self.raft().on_message(message));
        }
        Ok(Response::new(Done {}))
    }

    /// The first chunk has the message, the others the file.
    pub(crate) async fn receive_snapshot(&self, mut chunks: Streaming<SnapshotChunk>) -> Result<Response<Done>, Status> {
        let head = chunks.message().await?.and_then(|chunk| chunk.message);
        let message = head.ok_or_else(|| Status::invalid_argument("a snapshot begins with its message"))?;
        let inner =
            raft::eraftpb::Message::parse_from_bytes(&message.message).map_err(|_| Status::invalid_argument("a damaged message"))?;
        let id = SnapshotId::of(message.region_id, inner.get_snapshot());
        let sender = message.from_peer.map_or(0, |peer| peer.store_id);
        let part = self.raft().snapshots().unfinished(&id, sender);
        let received = self.write_chunks(&mut chunks, part.clone()).await;
        if received.is_err() {
            self.raft().snapshots().remove(&part);
        }
        received?;
        let kv = self.clone();
        let finish = move || kv.raft().snapshots().finish(&part, &id).and_then(|()| kv.raft().on_snapshot(message));
        let finished = self.inner().env.run_blocking(finish).await.unwrap_or(Err(raftstore::Error::Stopped));
        finished.map_err(|error| Status::failed_precondition(error.to_string()))?;
        Ok(Response::new(Done {}))
    }

    async fn write_chunks(&self, chunks: &mut Streaming<SnapshotChunk>, part: PathBuf) -> Result<(), Status> {
        let file = Arc::new(File::create(&part).map_err(disk_failed)?);
        while let Some(chunk) = chunks.message().await? {
            let (file, data): (Arc<File>, Bytes) = (file.clone(), chunk.data);
            self.on_disk(move || (&*file).write_all(&data)).await?;
        }
        self.on_disk(move || file.sync_all()).await
    }

    async fn on_disk(&self, job: impl FnOnce() -> std::io::Result<()> + Send + 'static) -> Result<(), Status> {
        self.inner().env.run_blocking(job).await.unwrap_or(Err(std::io::ErrorKind::Interrupted.into())).map_err(disk_failed)
    }

    /// Removes a range from this store, whoever leads its regions: nobody reads or writes it any more.
    pub(crate) async fn destroy_range(&self, request: UnsafeDestroyRangeRequest) -> UnsafeDestroyRangeResponse {
        let engine = self.raft().engine().clone();
        let job = move || {
            let start = mvcc::encode_key(&request.start_key);
            let end = match request.end_key.is_empty() {
                true => vec![codec::engine_key::DATA_PREFIX + 1],
                false => mvcc::encode_key(&request.end_key),
            };
            if start < end { engine.unsafe_destroy_range(&start, &end) } else { Ok(()) }
        };
        let done = self.inner().env.run_blocking(job).await.unwrap_or(Err(engine::Error::ShutDown));
        UnsafeDestroyRangeResponse { error: done.err().map_or(String::new(), |error| error.to_string()), ..Default::default() }
    }

    pub(crate) fn lock_wait_info(&self) -> GetLockWaitInfoResponse {
        let edges = self.inner().storages.store_wide().lock_waits();
        let entries = edges.into_iter().map(|edge| WaitForEntry {
            txn: edge.waiter.0,
            wait_for_txn: edge.holder.0,
            key: edge.key,
            ..Default::default()
        });
        GetLockWaitInfoResponse { entries: entries.collect(), ..Default::default() }
    }
}

fn disk_failed(error: std::io::Error) -> Status {
    Status::internal(error.to_string())
}

//! Many commands over one stream: requests of many connections of a client share packets, and so do their answers.
//!
//! ```text
//!   stream in ─▶ a task for each command ─▶ answers ─▶ those that are there go into one message ─▶ stream out
//! ```
//!
//! Back-pressure: answers that the client does not take stop the tasks, and with them the reading of new commands, at a bound.

use std::sync::Arc;

use engine::Engine;
use proto::tikvpb::{
    BatchCommandsEmptyResponse, BatchCommandsRequest, BatchCommandsResponse,
    batch_commands_request::{Request, request::Cmd},
    batch_commands_response::{Response, response::Cmd as Answer},
};
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::commands::Kv;

/// Commands of one stream at work at the same time.
const MAX_AT_WORK: usize = 8192;
/// Answers of one message.
const MAX_ANSWERS: usize = 128;
/// Messages a client may leave unread.
const UNREAD_MESSAGES: usize = 16;

impl<E: Engine> Kv<E> {
    /// Serves a stream of commands until it ends.
    pub(crate) fn serve_batches(&self, requests: Streaming<BatchCommandsRequest>) -> ReceiverStream<Result<BatchCommandsResponse, Status>> {
        let (answers, answered) = mpsc::channel(MAX_AT_WORK);
        let (messages, stream) = mpsc::channel(UNREAD_MESSAGES);
        tokio::spawn(gather(answered, messages));
        tokio::spawn(self.clone().take(requests, answers));
        ReceiverStream::new(stream)
    }

    async fn take(self, mut requests: Streaming<BatchCommandsRequest>, answers: mpsc::Sender<(u64, Response)>) {
        let places = Arc::new(Semaphore::new(MAX_AT_WORK));
        // An error ends the stream as its end does: the client opens another one.
        while let Ok(Some(batch)) = requests.message().await {
            for (request, id) in batch.requests.into_iter().zip(batch.request_ids) {
                let Ok(place) = places.clone().acquire_owned().await else { return };
                let (kv, answers) = (self.clone(), answers.clone());
                tokio::spawn(async move {
                    let answer = kv.serve_one(request).await;
                    // Nobody listens any more when the stream has been closed.
                    let _ = answers.send((id, answer)).await;
                    drop(place);
                });
            }
        }
    }

    async fn serve_one(&self, request: Request) -> Response {
        let Some(cmd) = request.cmd else { return Response::default() };
        let answer = match cmd {
            Cmd::Get(request) => Answer::Get(self.get(request).await),
            Cmd::Scan(request) => Answer::Scan(self.scan(request).await),
            Cmd::Prewrite(request) => Answer::Prewrite(self.prewrite(request).await),
            Cmd::Commit(request) => Answer::Commit(self.commit(request).await),
            Cmd::Cleanup(request) => Answer::Cleanup(self.cleanup(request).await),
            Cmd::BatchGet(request) => Answer::BatchGet(self.batch_get(request).await),
            Cmd::BatchRollback(request) => Answer::BatchRollback(self.batch_rollback(request).await),
            Cmd::ScanLock(request) => Answer::ScanLock(self.scan_lock(request).await),
            Cmd::ResolveLock(request) => Answer::ResolveLock(self.resolve_lock(request).await),
            Cmd::Gc(request) => Answer::Gc(self.gc(request).await),
            Cmd::DeleteRange(request) => Answer::DeleteRange(self.delete_range(request).await),
            Cmd::RawGet(request) => Answer::RawGet(self.raw_get(request).await),
            Cmd::RawBatchGet(request) => Answer::RawBatchGet(self.raw_batch_get(request).await),
            Cmd::RawPut(request) => Answer::RawPut(self.raw_put(request).await),
            Cmd::RawBatchPut(request) => Answer::RawBatchPut(self.raw_batch_put(request).await),
            Cmd::RawDelete(request) => Answer::RawDelete(self.raw_delete(request).await),
            Cmd::RawBatchDelete(request) => Answer::RawBatchDelete(self.raw_batch_delete(request).await),
            Cmd::RawScan(request) => Answer::RawScan(self.raw_scan(request).await),
            Cmd::RawDeleteRange(request) => Answer::RawDeleteRange(self.raw_delete_range(request).await),
            Cmd::RawBatchScan(request) => Answer::RawBatchScan(self.raw_batch_scan(request).await),
            Cmd::Coprocessor(request) => Answer::Coprocessor(self.coprocessor(request).await),
            Cmd::PessimisticLock(request) => Answer::PessimisticLock(self.pessimistic_lock(request).await),
            Cmd::PessimisticRollback(request) => Answer::PessimisticRollback(self.pessimistic_rollback(request).await),
            Cmd::CheckTxnStatus(request) => Answer::CheckTxnStatus(self.check_txn_status(request).await),
            Cmd::TxnHeartBeat(request) => Answer::TxnHeartBeat(self.txn_heart_beat(request).await),
            Cmd::CheckSecondaryLocks(request) => Answer::CheckSecondaryLocks(self.check_secondary_locks(request).await),
            Cmd::Empty(request) => {
                self.inner().env.sleep(std::time::Duration::from_millis(request.delay_time)).await;
                Answer::Empty(BatchCommandsEmptyResponse { test_id: request.test_id })
            }
        };
        Response { cmd: Some(answer) }
    }
}

/// Joins answers that are there at the same time.
async fn gather(mut answers: mpsc::Receiver<(u64, Response)>, messages: mpsc::Sender<Result<BatchCommandsResponse, Status>>) {
    let mut ready = Vec::with_capacity(MAX_ANSWERS);
    while answers.recv_many(&mut ready, MAX_ANSWERS).await > 0 {
        let (request_ids, responses) = ready.drain(..).unzip();
        if messages.send(Ok(BatchCommandsResponse { responses, request_ids, transport_layer_load: 0 })).await.is_err() {
            return;
        }
    }
}

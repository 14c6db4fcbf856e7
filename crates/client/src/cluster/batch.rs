//! Many requests over one stream to a store: requests that wait at the same time share a message, and so do their answers.
//!
//! ```text
//!   call() ─▶ queue ─▶ all that wait now: one message, each request under a number ─▶ BatchCommands stream ─▶ store
//!      ▲                                                                                                       │
//!      └──────── answers in any order, by their numbers ◀──────────────────────────────────────────────────────┘
//! ```
//!
//! A stream is opened by the first request and serves until it fails. Then all that were under way learn that no answer came, and the next request
//! opens another one.
//!
//! Invariants:
//! - Each request gets exactly one of: its answer, an error that says that none will come.
//! - A request whose caller has gone before it was sent is not sent.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use proto::tikvpb::{
    BatchCommandsRequest,
    batch_commands_request::{Request, request::Cmd},
    batch_commands_response::response::Cmd as Answer,
};
use rustc_hash::FxHashMap;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::stores::Stub;

/// Requests of one message.
const LARGEST_BATCH: usize = 128;
/// Requests that wait to be sent; who comes then waits before the queue.
const QUEUED: usize = 4096;
/// Messages the connection may be behind.
const UNSENT_MESSAGES: usize = 4;

type Reply = oneshot::Sender<Result<Answer, Status>>;

struct Call {
    cmd: Cmd,
    reply: Reply,
}

/// A stream to one store; cheap to clone.
#[derive(Clone)]
pub(super) struct BatchStream {
    calls: mpsc::Sender<Call>,
}

/// Requests that were sent, by number.
#[derive(Default)]
struct UnderWay {
    /// `None` once the stream has failed.
    replies: Mutex<Option<FxHashMap<u64, Reply>>>,
    next: AtomicU64,
}

impl BatchStream {
    /// A stream over a connection; its tasks run on `runtime` and end with the last clone.
    pub(super) fn open(stub: Stub, runtime: &Handle) -> Self {
        let (calls, queue) = mpsc::channel(QUEUED);
        runtime.spawn(serve(stub, queue));
        Self { calls }
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn call(&self, cmd: Cmd) -> Result<Answer, Status> {
        let (reply, answer) = oneshot::channel();
        self.calls.send(Call { cmd, reply }).await.map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }
}

fn closed() -> Status {
    Status::unavailable("the stream to the store has ended")
}

/// Sends what is queued, over one stream after the other.
async fn serve(mut stub: Stub, mut queue: mpsc::Receiver<Call>) {
    let mut batch = Vec::with_capacity(LARGEST_BATCH);
    while queue.recv_many(&mut batch, LARGEST_BATCH).await > 0 {
        let under_way = Arc::new(UnderWay { replies: Mutex::new(Some(FxHashMap::default())), next: AtomicU64::new(1) });
        let Some(message) = under_way.number(&mut batch) else { continue };
        let (messages, unsent) = mpsc::channel(UNSENT_MESSAGES);
        let mut open = std::pin::pin!(stub.batch_commands(ReceiverStream::new(unsent)));
        // Stores may answer the call only when the first message has come. The channel is empty, and its other end is held by the call.
        let _ = messages.send(message).await;
        let mut reader = match open.as_mut().await {
            Ok(answers) => tokio::spawn(read(answers.into_inner(), under_way.clone())),
            Err(status) => {
                under_way.fail(&status);
                continue;
            }
        };
        loop {
            let received = tokio::select! {
                received = queue.recv_many(&mut batch, LARGEST_BATCH) => received,
                // The stream has failed; what comes next opens another one.
                _ = &mut reader => break,
            };
            if received == 0 {
                reader.abort();
                return;
            }
            let Some(message) = under_way.number(&mut batch) else { continue };
            if messages.send(message).await.is_err() {
                under_way.fail(&closed());
                reader.abort();
                break;
            }
        }
    }
}

/// Hands answers out until the stream ends.
async fn read(mut answers: Streaming<proto::tikvpb::BatchCommandsResponse>, under_way: Arc<UnderWay>) {
    let failed = loop {
        match answers.message().await {
            Ok(Some(message)) => {
                for (id, response) in message.request_ids.into_iter().zip(message.responses) {
                    under_way.answer(id, response.cmd);
                }
            }
            Ok(None) => break closed(),
            Err(status) => break status,
        }
    };
    under_way.fail(&failed);
}

impl UnderWay {
    /// Numbers the calls of a batch and makes a message of them; `None` when nobody waits for them any more, or the stream has failed.
    fn number(&self, batch: &mut Vec<Call>) -> Option<BatchCommandsRequest> {
        let mut replies = self.replies.lock();
        let Some(replies) = &mut *replies else {
            for call in batch.drain(..) {
                // It was not sent. The caller may have gone.
                let _ = call.reply.send(Err(closed()));
            }
            return None;
        };
        let mut message = BatchCommandsRequest::default();
        for Call { cmd, reply } in batch.drain(..).filter(|call| !call.reply.is_closed()) {
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            replies.insert(id, reply);
            message.requests.push(Request { cmd: Some(cmd) });
            message.request_ids.push(id);
        }
        (!message.requests.is_empty()).then_some(message)
    }

    fn answer(&self, id: u64, answer: Option<Answer>) {
        let reply = self.replies.lock().as_mut().and_then(|replies| replies.remove(&id));
        if let Some(reply) = reply {
            // The caller may have gone.
            let _ = reply.send(answer.ok_or_else(|| Status::internal("an answer without content")));
        }
    }

    /// No answer will come for anything under way.
    fn fail(&self, status: &Status) {
        for (_, reply) in self.replies.lock().take().into_iter().flatten() {
            // The caller may have gone.
            let _ = reply.send(Err(status.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use proto::kvrpcpb::{GetRequest, GetResponse};

    use super::*;

    fn call() -> (Call, oneshot::Receiver<Result<Answer, Status>>) {
        let (reply, answer) = oneshot::channel();
        (Call { cmd: Cmd::Get(GetRequest::default()), reply }, answer)
    }

    #[test]
    fn answers_find_their_calls_and_a_failure_reaches_all_that_are_left() {
        let under_way = UnderWay { replies: Mutex::new(Some(FxHashMap::default())), next: AtomicU64::new(1) };
        let (calls, mut answers): (Vec<_>, Vec<_>) = (0..4).map(|_| call()).unzip();
        drop(answers.remove(1));
        let mut batch = calls;
        let message = under_way.number(&mut batch).unwrap();
        assert_eq!((message.requests.len(), &message.request_ids[..]), (3, &[1, 2, 3][..]), "who has gone is not asked for");
        let found = GetResponse { value: "v".into(), ..Default::default() };
        under_way.answer(2, Some(Answer::Get(found.clone())));
        under_way.answer(77, None);
        assert_eq!(answers.remove(1).try_recv().unwrap().unwrap(), Answer::Get(found));
        under_way.fail(&closed());
        for mut answer in answers {
            assert!(answer.try_recv().unwrap().is_err());
        }
        let (late, mut answer) = call();
        assert!(under_way.number(&mut vec![late]).is_none());
        assert!(answer.try_recv().unwrap().is_err(), "nothing is sent over a stream that has failed");
    }
}

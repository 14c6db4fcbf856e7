//! Timestamps, many at a time.
//!
//! ```text
//!   callers ─ wait() ─▶ queue ─▶ all who wait now: one request with their number ─▶ stream to the placement driver's leader
//!      ▲                                                                                    │
//!      └──────────── each gets one of the batch, in the order they came ◀───────────────────┘
//! ```
//!
//! While a request is under way the next callers gather, so the batches grow with the load by themselves and an idle client asks for nothing.
//!
//! Invariants:
//! - A caller gets a timestamp of a request that was sent after the caller had asked, so it is above all timestamps known before.
//! - No timestamp is given to two callers.

use std::{collections::VecDeque, time::Duration};

use base::TimeStamp;
use parking_lot::Mutex;
use proto::pdpb::{TsoRequest, TsoResponse, pd_client::PdClient as Stub};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::pd_client::PdClient;

/// Timestamps of one request.
const LARGEST_BATCH: usize = 10_000;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(50);

type Caller = oneshot::Sender<TimeStamp>;

/// Who waits for timestamps.
#[derive(Default)]
pub(super) struct TimestampQueue {
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    callers: VecDeque<Caller>,
    closed: bool,
}

impl TimestampQueue {
    /// Queues up at once; the answer is `None` when the client is gone.
    pub(super) fn wait(&self) -> impl Future<Output = Option<TimeStamp>> + Send + use<> {
        let (caller, answer) = oneshot::channel();
        self.waiting.lock().callers.push_back(caller);
        self.arrived.notify_one();
        async move { answer.await.ok() }
    }

    /// Nobody asks any more.
    pub(super) fn close(&self) {
        self.waiting.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Those who wait now, at most a batch.
    fn take(&self) -> Vec<Caller> {
        let mut waiting = self.waiting.lock();
        // Who has given up needs no timestamp.
        waiting.callers.retain(|caller| !caller.is_closed());
        let count = waiting.callers.len().min(LARGEST_BATCH);
        waiting.callers.drain(..count).collect()
    }

    /// The request has failed: they wait on, before all others.
    fn give_back(&self, callers: Vec<Caller>) {
        let mut waiting = self.waiting.lock();
        for caller in callers.into_iter().rev() {
            waiting.callers.push_front(caller);
        }
    }

    /// Completes when somebody waits; `false` when the client is gone.
    async fn somebody_waits(&self) -> bool {
        loop {
            let arrived = self.arrived.notified();
            {
                let waiting = self.waiting.lock();
                if waiting.closed {
                    return false;
                }
                if !waiting.callers.is_empty() {
                    return true;
                }
            }
            arrived.await;
        }
    }

    /// Serves the callers as long as there is a client.
    pub(super) async fn serve(&self, client: impl Fn() -> Option<PdClient>) {
        while self.somebody_waits().await {
            let Some(pd) = client() else { return };
            if let Err(status) = self.serve_stream(pd.clone()).await {
                tracing::info!(reason = status.message(), "the stream of timestamps has ended; looking for the placement driver's leader");
                pd.forget_leader();
                pd.env().sleep(PAUSE).await;
            }
        }
    }

    /// Serves over one stream until it fails. The client is let go while nobody waits, or it would never be dropped.
    async fn serve_stream(&self, pd: PdClient) -> Result<(), Status> {
        let channel = pd.leader().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let header = pd.header();
        drop(pd);
        let (requests, queued) = mpsc::channel(1);
        let mut stub = Stub::new(channel);
        let open = stub.tso(ReceiverStream::new(queued));
        // Some servers answer the call only when the first request has come.
        let mut answers = None;
        let mut open = std::pin::pin!(open);
        while self.somebody_waits().await {
            let callers = self.take();
            if callers.is_empty() {
                continue;
            }
            let request = TsoRequest { header: Some(header), count: callers.len() as u32, ..Default::default() };
            let ask = async {
                requests.send(request).await.map_err(|_| Status::unavailable("the stream is closed"))?;
                if answers.is_none() {
                    answers = Some(open.as_mut().await?.into_inner());
                }
                next_answer(&mut answers).await
            };
            let answer = tokio::time::timeout(ANSWER_TIMEOUT, ask).await.unwrap_or(Err(Status::deadline_exceeded("no answer came")));
            match answer.and_then(|answer| first_of_batch(&answer, callers.len())) {
                Ok(first) => distribute(callers, first),
                Err(status) => {
                    self.give_back(callers);
                    return Err(status);
                }
            }
        }
        Ok(())
    }
}

async fn next_answer(answers: &mut Option<Streaming<TsoResponse>>) -> Result<TsoResponse, Status> {
    let ended = || Status::unavailable("the stream has ended");
    answers.as_mut().ok_or_else(ended)?.message().await?.ok_or_else(ended)
}

/// The smallest timestamp of an answer, which names the greatest.
fn first_of_batch(answer: &TsoResponse, asked: usize) -> Result<TimeStamp, Status> {
    if let Some(error) = answer.header.as_ref().and_then(|header| header.error.as_ref()) {
        return Err(Status::unavailable(error.message.clone()));
    }
    let Some(last) = &answer.timestamp else { return Err(Status::internal("an answer without a timestamp")) };
    let (Ok(physical), Ok(logical)) = (u64::try_from(last.physical), u64::try_from(last.logical)) else {
        return Err(Status::internal("a negative timestamp"));
    };
    let last = (physical << 18) + logical;
    if answer.count as usize != asked || last < asked as u64 {
        return Err(Status::internal("another number of timestamps than was asked for"));
    }
    Ok(TimeStamp(last - asked as u64 + 1))
}

fn distribute(callers: Vec<Caller>, first: TimeStamp) {
    for (place, caller) in callers.into_iter().enumerate() {
        // Who has given up loses a timestamp nobody else gets.
        let _ = caller.send(TimeStamp(first.0 + place as u64));
    }
}

#[cfg(test)]
mod tests {
    use proto::pdpb::Timestamp;

    use super::*;

    fn answer(count: u32, physical: i64, logical: i64) -> TsoResponse {
        TsoResponse { header: None, count, timestamp: Some(Timestamp { physical, logical, suffix_bits: 0 }) }
    }

    #[tokio::test]
    async fn all_who_wait_share_a_batch_in_the_order_they_came() {
        let queue = TimestampQueue::default();
        let callers: Vec<_> = (0..3).map(|_| queue.wait()).collect();
        drop(queue.wait());
        assert!(queue.somebody_waits().await);
        let batch = queue.take();
        assert_eq!(batch.len(), 3, "who has gone is not counted");
        let late = queue.wait();
        distribute(batch, first_of_batch(&answer(3, 7, 12), 3).unwrap());
        for (place, caller) in callers.into_iter().enumerate() {
            assert_eq!(caller.await, Some(TimeStamp::compose(7, 10 + place as u64)));
        }
        let batch = queue.take();
        assert_eq!(batch.len(), 1, "who came while the request was under way waits for the next");
        queue.give_back(batch);
        distribute(queue.take(), first_of_batch(&answer(1, 7, 13), 1).unwrap());
        assert_eq!(late.await, Some(TimeStamp::compose(7, 13)));
        queue.close();
        assert!(!queue.somebody_waits().await);
    }

    #[test]
    fn answers_that_do_not_fit_the_request_are_refused() {
        assert!(first_of_batch(&answer(2, 7, 12), 3).is_err());
        assert!(first_of_batch(&answer(3, -1, 12), 3).is_err());
        assert!(first_of_batch(&TsoResponse { count: 3, ..Default::default() }, 3).is_err());
        assert!(first_of_batch(&answer(3, 0, 1), 3).is_err(), "below zero");
    }
}

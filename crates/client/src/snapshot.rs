//! Reading at a timestamp.
//!
//! ```text
//!   get(key) ─▶ store ─▶ value                           no task switch while blocks are in the cache
//!                 └────▶ locked by T ─▶ what became of T? ─▶ again, knowing it
//! ```
//!
//! A snapshot at [`TimeStamp::MAX`] reads "the newest committed version": no timestamp is needed, but only single keys may be
//! read, because two such reads are not of one moment.
//!
//! Invariants:
//! - Two reads of one snapshot never contradict each other, whatever commits in between.
//! - A snapshot keeps garbage collection from passing its timestamp while it, or a clone of it, lives.

use std::{sync::Arc, time::Duration};

use base::{KeyRange, TimeStamp};
use bytes::Bytes;
use env::CancelReason;
use proto::kvrpcpb::{BatchGetRequest, GetRequest};

use crate::{
    active::ActiveGuard,
    backoff::Backoff,
    client::Client,
    dag::DagStream,
    error::{Error, Result},
    options::{ScanOptions, SnapshotOptions},
    resolver::ReadContext,
    scanner::Scanner,
};

/// How long a read waits for the locks it meets before it gives up; locks of dead transactions expire much earlier.
pub(crate) const RESOLVE_BUDGET: Duration = Duration::from_secs(60);

/// Lets other tasks run now and then: reads of cached blocks never suspend by themselves, and a task that only makes such reads would keep its
/// worker, and whatever tasks it has woken there, for itself.
#[inline]
pub(crate) async fn take_turns() {
    tokio::task::consume_budget().await;
}

/// The database as it was at one timestamp.
#[derive(Clone, Debug)]
pub struct Snapshot {
    client: Client,
    ts: TimeStamp,
    options: SnapshotOptions,
    /// Held for its destructor.
    _active: Option<Arc<ActiveGuard>>,
}

impl Snapshot {
    pub(crate) fn new(client: Client, ts: TimeStamp, options: SnapshotOptions, active: Option<Arc<ActiveGuard>>) -> Self {
        Self { client, ts, options, _active: active }
    }

    /// The timestamp read at.
    pub fn ts(&self) -> TimeStamp {
        self.ts
    }

    /// The client it reads through.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// How it reads.
    pub fn options(&self) -> &SnapshotOptions {
        &self.options
    }

    /// The same snapshot with other options.
    pub fn with_options(mut self, options: SnapshotOptions) -> Self {
        self.options = options;
        self
    }

    pub(crate) fn backoff(&self) -> Backoff<'_> {
        Backoff::new(self.client.env(), &self.options.cancel, self.options.deadline, RESOLVE_BUDGET)
    }

    /// Waits for an answer that comes over the network as long as the statement may.
    pub(crate) async fn cancellable<T>(&self, answer: impl Future<Output = Result<T>>) -> Result<T> {
        if self.client.store().is_embedded() {
            return answer.await;
        }
        let cancelled = Box::pin(async {
            match self.options.deadline {
                None => self.options.cancel.cancelled().await,
                Some(deadline) => tokio::select! {
                    reason = self.options.cancel.cancelled() => reason,
                    () = self.client.env().sleep(deadline.since(self.client.env().now())) => CancelReason::Timeout,
                },
            }
        });
        tokio::select! {
            biased;
            answer = answer => answer,
            reason = cancelled => Err(Error::Cancelled(reason)),
        }
    }

    /// The value of `key`; `None` if it does not exist.
    pub async fn get(&self, key: &[u8]) -> Result<Option<Bytes>> {
        take_turns().await;
        let request = GetRequest { context: None, key: Bytes::copy_from_slice(key), version: self.ts.0 };
        let response = self.client.store().get(request).await?;
        match response.error {
            None => Ok((!response.not_found).then_some(response.value)),
            Some(error) => Box::pin(self.get_through_lock(key, Error::from_key_error(*error)?)).await,
        }
    }

    /// The rest of `get` once a lock was met: learns what became of its owner and reads again.
    #[cold]
    async fn get_through_lock(&self, key: &[u8], lock: proto::kvrpcpb::LockInfo) -> Result<Option<Bytes>> {
        let mut context = ReadContext::default();
        let mut backoff = self.backoff();
        let mut locks = vec![lock];
        loop {
            self.client.resolve_for_read(&locks, self.ts, &mut context, &mut backoff).await?;
            let request = GetRequest { context: context.to_context(&self.options), key: Bytes::copy_from_slice(key), version: self.ts.0 };
            let response = self.client.store().get(request).await?;
            match response.error {
                None => return Ok((!response.not_found).then_some(response.value)),
                Some(error) => locks = vec![Error::from_key_error(*error)?],
            }
        }
    }

    /// The values of `keys`, in their order.
    pub async fn batch_get(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>> {
        if let [key] = keys {
            return Ok(vec![self.get(key).await?]);
        }
        assert!(keys.is_empty() || !self.ts.is_max(), "the newest version can be read of one key only");
        take_turns().await;
        let mut context = ReadContext::default();
        let mut backoff = self.backoff();
        let mut values = vec![None; keys.len()];
        // Indexes still to be read; all of them at first.
        let mut wanted: Vec<usize> = (0..keys.len()).collect();
        while !wanted.is_empty() {
            let request = BatchGetRequest {
                context: context.to_context(&self.options),
                keys: wanted.iter().map(|&index| keys[index].clone()).collect(),
                version: self.ts.0,
            };
            let response = self.cancellable(self.client.store().batch_get(request)).await?;
            if let Some(error) = response.error {
                // A lock that concerns the answer as a whole: nothing was read.
                let lock = Error::from_key_error(*error)?;
                Box::pin(self.client.resolve_for_read(&[lock], self.ts, &mut context, &mut backoff)).await?;
                continue;
            }
            let mut locks = Vec::new();
            let mut locked = Vec::new();
            let mut asked = wanted.iter().copied();
            // The answer leaves absent keys out and keeps the order, so both lists are walked in step.
            for pair in response.pairs {
                let Some(index) = asked.by_ref().find(|&index| keys[index] == pair.key) else {
                    return Err(Error::Corrupted { reason: "the store answered a key that was not asked for".to_owned() });
                };
                match pair.error {
                    None => values[index] = Some(pair.value),
                    Some(error) => {
                        locks.push(Error::from_key_error(*error)?);
                        locked.push(index);
                    }
                }
            }
            if !locks.is_empty() {
                Box::pin(self.client.resolve_for_read(&locks, self.ts, &mut context, &mut backoff)).await?;
            }
            wanted = locked;
        }
        Ok(values)
    }

    /// Scans a range page by page.
    pub fn scan(&self, range: KeyRange, options: ScanOptions) -> Scanner {
        assert!(!self.ts.is_max(), "the newest version can be read of one key only");
        Scanner::new(self.clone(), range, options)
    }

    /// Runs a pushed-down plan beside the data.
    pub fn dag(&self, request: copr::DagRequest) -> DagStream {
        assert!(!self.ts.is_max(), "the newest version can be read of one key only");
        DagStream::new(self.clone(), request)
    }
}

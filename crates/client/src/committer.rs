//! How a transaction commits.
//!
//! | protocol | when | what the client waits for |
//! |---|---|---|
//! | one phase | all keys in one region and one batch | one write |
//! | async commit | several regions, not too many keys | one write in each region, in parallel |
//! | two phases | anything else, and transactions larger than a batch | prewrites, a timestamp, the primary's commit |
//!
//! ```text
//!   prewrite ──locked by others──▶ resolve, again
//!      │ ok
//!      ├─ one_pc_commit_ts > 0 ────────────────▶ committed
//!      ├─ all min_commit_ts > 0 (async) ───────▶ committed at the greatest of them; locks are turned in the background
//!      └─ else: commit_ts ← TSO, commit primary ▶ committed; secondaries in the background
//! ```
//!
//! Invariants:
//! - The primary is committed before any secondary, and after every prewrite has succeeded.
//! - `min_commit_ts` sent with a prewrite is a fresh timestamp: whoever begins after the commit was acknowledged sees it.
//! - What is rarely needed is in futures of its own allocation: a future is moved once for every caller above it.
//! - After a failed prewrite the keys are rolled back; after a commit whose outcome is unknown nothing is touched.

use base::TimeStamp;
use bytes::Bytes;
use proto::kvrpcpb::{
    BatchRollbackRequest, CommitRequest, Context, DiskFullOpt, KeyError, Mutation, Op, PrewriteRequest, PrewriteResponse,
    prewrite_request::PessimisticAction,
};
use rustc_hash::FxHashSet;

use crate::{
    active::ActiveGuard,
    backoff::Backoff,
    client::Client,
    error::{Error, Result},
    membuffer::{Entry, MemBuffer},
    options::CommitOptions,
    snapshot::RESOLVE_BUDGET,
    transaction::LockRelease,
};

/// Async commit names all secondaries in the primary's lock, so it is for transactions of moderate size only.
const ASYNC_COMMIT_MAX_KEYS: usize = 256;

/// Attempts at committing the primary with a newer timestamp, when readers pushed it up.
const COMMIT_TS_ATTEMPTS: usize = 8;

/// Bytes of a transaction that is prewritten by one request a region in a cluster: it becomes one entry of the region's log.
const CLUSTER_BATCH_BYTES: usize = 1 << 20;

/// Bytes of one prewrite of a large transaction: its latches are held while it is written, so others wait no longer than that.
const TWO_PHASE_BATCH_BYTES: usize = 1 << 20;

/// Keys of one commit or rollback of a large transaction's secondaries.
const SECOND_PHASE_KEYS: usize = 4096;

/// What is known of a transaction that is being committed.
pub(crate) struct Committer {
    pub client: Client,
    pub start_ts: TimeStamp,
    pub for_update_ts: TimeStamp,
    pub pessimistic: bool,
    pub force_two_phase: bool,
    pub prefer_async_commit: bool,
    pub above_bound: bool,
    pub on_nearly_full_disk: bool,
    pub lock_ttl_ms: u64,
    pub primary: Option<Bytes>,
    pub active: Option<ActiveGuard>,
    pub options: CommitOptions,
}

/// A transaction's mutations with what is to be checked of each.
#[derive(Default)]
struct Mutations {
    list: Vec<Mutation>,
    /// Empty for an optimistic transaction.
    actions: Vec<i32>,
}

impl Mutations {
    /// Writes of the buffer, then a lock-only mutation for every locked key that was not written: its lock must be seen by later
    /// optimistic transactions (rule 4 of the version layout).
    fn collect(buffer: MemBuffer, locked: &FxHashSet<Bytes>, pessimistic: bool) -> Self {
        let mut mutations = Self { list: Vec::with_capacity(buffer.len()), actions: Vec::new() };
        for (key, entry) in buffer.iter() {
            let is_locked = locked.contains(key);
            let Some(op) = Self::op_of(entry, is_locked) else { continue };
            mutations.push(op, key, entry.value.clone().unwrap_or_default());
            if pessimistic {
                let action = match (is_locked, entry.flags.guarded_by_row_lock) {
                    (true, _) => PessimisticAction::DoPessimisticCheck,
                    (false, true) => PessimisticAction::SkipPessimisticCheck,
                    (false, false) => PessimisticAction::DoConstraintCheck,
                };
                mutations.actions.push(action as i32);
            }
        }
        for key in locked {
            if buffer.get(key).is_none() {
                mutations.push(Op::Lock, key, Bytes::new());
                mutations.actions.push(PessimisticAction::DoPessimisticCheck as i32);
            }
        }
        mutations
    }

    fn op_of(entry: &Entry, is_locked: bool) -> Option<Op> {
        Some(match (&entry.value, entry.flags.presume_not_exists) {
            (Some(_), true) => Op::Insert,
            (Some(_), false) => Op::Put,
            (None, false) => Op::Del,
            // Inserted and deleted again by this transaction: nothing to write, but the promise must hold.
            (None, true) if is_locked => Op::Lock,
            (None, true) => Op::CheckNotExists,
        })
    }

    fn push(&mut self, op: Op, key: &Bytes, value: Bytes) {
        self.list.push(Mutation { op: op as i32, key: key.clone(), value, assertion: 0 });
    }

    fn size_bytes(&self) -> usize {
        self.list.iter().map(|mutation| mutation.key.len() + mutation.value.len()).sum()
    }

    /// Keys that will carry a lock, and so must be committed or rolled back.
    fn lock_keys(&self) -> Vec<Bytes> {
        self.list.iter().filter(|mutation| mutation.op != Op::CheckNotExists as i32).map(|mutation| mutation.key.clone()).collect()
    }

    /// Moves the mutation of `primary` to the front, so that it is prewritten in the first batch.
    fn put_first(&mut self, primary: &Bytes) {
        if let Some(index) = self.list.iter().position(|mutation| mutation.key == *primary) {
            self.list.swap(0, index);
            if !self.actions.is_empty() {
                self.actions.swap(0, index);
            }
        }
    }

    /// Splits into batches of about `limit` bytes, each with its range of actions.
    fn batches(mut self, limit: usize) -> Vec<Self> {
        let mut batches = Vec::new();
        let mut batch = Self::default();
        let mut size = 0;
        let with_actions = !self.actions.is_empty();
        for (index, mutation) in std::mem::take(&mut self.list).into_iter().enumerate() {
            size += mutation.key.len() + mutation.value.len();
            batch.list.push(mutation);
            if with_actions {
                batch.actions.push(self.actions[index]);
            }
            if size >= limit {
                batches.push(std::mem::take(&mut batch));
                size = 0;
            }
        }
        if !batch.list.is_empty() {
            batches.push(batch);
        }
        batches
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    OnePhase,
    Async,
    /// In a cluster: one phase if all keys lie in one region, else async commit, unless the stores want two phases.
    Shortest,
    TwoPhase,
}

/// Adds what the answer does not repeat of its request: the transaction, and to [`Error::KeyExists`] what was to be written, for the message to
/// the user speaks of the new row's values.
fn with_request(error: Error, request: &PrewriteRequest) -> Error {
    match error {
        Error::PessimisticLockNotFound { key, .. } => Error::PessimisticLockNotFound { start_ts: TimeStamp(request.start_version), key },
        Error::KeyExists { key, value: None } => {
            let value = request.mutations.iter().find(|mutation| mutation.key == key).map(|mutation| mutation.value.clone());
            Error::KeyExists { key, value }
        }
        error => error,
    }
}

impl Committer {
    /// Commits; returns the commit timestamp.
    pub(crate) async fn commit(mut self, buffer: MemBuffer, locked: FxHashSet<Bytes>) -> Result<TimeStamp> {
        if self.start_ts <= self.client.commit_floor() && !self.above_bound {
            let error = Error::LeaseExpired { start_ts: self.start_ts };
            Box::pin(self.abandon(Vec::new(), locked.into_iter().collect(), &error)).await;
            return Err(error);
        }
        let mut mutations = Mutations::collect(buffer, &locked, self.pessimistic);
        let Some(primary) = self.choose_primary(&mutations) else {
            // Only promises about absence, or nothing at all.
            return Box::pin(self.check_only(mutations)).await;
        };
        let one_phase_limit = self.client.options().one_phase_size.0 as usize;
        let protocol = match () {
            () if self.force_two_phase || mutations.size_bytes() > one_phase_limit => Protocol::TwoPhase,
            () if self.prefer_async_commit && mutations.list.len() <= ASYNC_COMMIT_MAX_KEYS => Protocol::Async,
            () if self.client.store().is_embedded() => Protocol::OnePhase,
            () if mutations.size_bytes() <= CLUSTER_BATCH_BYTES => Protocol::Shortest,
            () => Protocol::TwoPhase,
        };
        if protocol != Protocol::OnePhase
            && let Some(active) = &self.active
        {
            // From here on the time to live must be renewed until the commit is through.
            active.set_primary(primary.clone());
        }
        mutations.put_first(&primary);
        let keys = if protocol == Protocol::OnePhase { Vec::new() } else { mutations.lock_keys() };
        // If the caller goes away in the middle, its pessimistic locks must not stay until their time to live is over. Those that the commit
        // has turned into something else meanwhile are not touched by giving them back.
        let guard = ReleaseWhenDropped { release: Some(self.release_of(locked)) };
        let result = self.prewrite_all(mutations, &primary, protocol, &keys).await;
        let locked = guard.disarm();
        match result {
            Ok(Prewritten { one_pc_commit_ts: Some(commit_ts), .. }) => Ok(commit_ts),
            Ok(Prewritten { min_commit_ts: Some(commit_ts), .. }) => {
                self.commit_in_background(keys, commit_ts);
                Ok(commit_ts)
            }
            Ok(_) => Box::pin(self.second_phase(primary, keys)).await,
            Err(error) => {
                Box::pin(self.abandon(keys, locked, &error)).await;
                Err(error)
            }
        }
    }

    /// The first locked key if it is still part of the transaction, else the first written one.
    fn choose_primary(&self, mutations: &Mutations) -> Option<Bytes> {
        let lockable = |mutation: &&Mutation| mutation.op != Op::CheckNotExists as i32;
        let kept = self.primary.as_ref().filter(|primary| mutations.list.iter().filter(lockable).any(|m| m.key == **primary));
        kept.or_else(|| mutations.list.iter().find(lockable).map(|mutation| &mutation.key)).cloned()
    }

    /// A transaction of nothing but promises about absence: each is checked against the newest version.
    async fn check_only(&self, mutations: Mutations) -> Result<TimeStamp> {
        for mutation in mutations.list {
            let snapshot = self.client.snapshot(TimeStamp::MAX, Default::default());
            if let Some(value) = snapshot.get(&mutation.key).await? {
                return Err(Error::KeyExists { key: mutation.key, value: Some(value) });
            }
        }
        Ok(TimeStamp::ZERO)
    }

    async fn prewrite_all(&mut self, mutations: Mutations, primary: &Bytes, protocol: Protocol, keys: &[Bytes]) -> Result<Prewritten> {
        let batches = if protocol == Protocol::TwoPhase { mutations.batches(TWO_PHASE_BATCH_BYTES) } else { vec![mutations] };
        let mut prewritten = Prewritten::default();
        let total_keys = keys.len();
        let use_async_commit = match protocol {
            Protocol::Async => true,
            Protocol::Shortest => total_keys <= ASYNC_COMMIT_MAX_KEYS,
            Protocol::OnePhase | Protocol::TwoPhase => false,
        };
        for batch in batches {
            let min_commit_ts = self.fresh_min_commit_ts().await?;
            let context = self
                .on_nearly_full_disk
                .then(|| Box::new(Context { disk_full_opt: DiskFullOpt::AllowedOnAlreadyFull as i32, ..Default::default() }));
            let request = PrewriteRequest {
                context,
                mutations: batch.list,
                pessimistic_actions: batch.actions,
                primary_lock: primary.clone(),
                start_version: self.start_ts.0,
                for_update_ts: if self.pessimistic { self.for_update_ts.0 } else { 0 },
                lock_ttl: self.lock_ttl_ms,
                txn_size: total_keys as u64,
                min_commit_ts: min_commit_ts.0,
                max_commit_ts: self.bound().0,
                use_async_commit,
                secondaries: match use_async_commit {
                    true => keys.iter().filter(|key| *key != primary).cloned().collect(),
                    false => Vec::new(),
                },
                try_one_pc: matches!(protocol, Protocol::OnePhase | Protocol::Shortest),
                ..Default::default()
            };
            // One store takes all or nothing; several, or several batches, may have taken some.
            let holds_locks = protocol != Protocol::OnePhase && total_keys > 1;
            let response = self.prewrite(request, holds_locks).await?;
            match protocol {
                Protocol::OnePhase | Protocol::Shortest if response.one_pc_commit_ts > 0 => {
                    prewritten.one_pc_commit_ts = Some(TimeStamp(response.one_pc_commit_ts));
                }
                Protocol::OnePhase => {
                    return Err(Error::Corrupted { reason: "an embedded store must commit one batch in one phase".to_owned() });
                }
                Protocol::Async | Protocol::Shortest if response.min_commit_ts > 0 => {
                    prewritten.min_commit_ts = Some(TimeStamp(response.min_commit_ts));
                }
                Protocol::Async | Protocol::Shortest | Protocol::TwoPhase => {}
            }
        }
        Ok(prewritten)
    }

    /// The timestamp above which it may not commit; zero for none.
    fn bound(&self) -> TimeStamp {
        if self.above_bound { TimeStamp::ZERO } else { self.client.commit_bound() }
    }

    /// Whoever begins after the commit is acknowledged gets a greater timestamp than this one, so the commit is visible to them.
    async fn fresh_min_commit_ts(&self) -> Result<TimeStamp> {
        Ok(match self.client.try_timestamp() {
            Some(ts) => ts,
            None => self.client.timestamp().await?,
        })
    }

    /// One prewrite, repeated while locks of others are in the way.
    async fn prewrite(&self, request: PrewriteRequest, holds_locks: bool) -> Result<PrewriteResponse> {
        // The token is looked at between attempts only: what was sent is waited for.
        let CommitOptions { lock_wait, cancel } = &self.options;
        let mut busy = Backoff::new(self.client.env(), cancel, None, RESOLVE_BUDGET);
        let mut backoff = Backoff::new(self.client.env(), cancel, None, *lock_wait);
        loop {
            let response = match Box::pin(self.client.store().prewrite(&request)).await {
                // Refused before it was written.
                Err(Error::StoreBusy) if busy.wait().await? => continue,
                Err(Error::Undetermined { reason, .. }) => return Err(Error::Undetermined { start_ts: self.start_ts, reason }),
                // In two phases nothing is committed by a prewrite, whatever became of it.
                Err(Error::StoreUnavailable { reason, unanswered: true }) if request.try_one_pc || request.use_async_commit => {
                    return Err(Error::Undetermined { start_ts: self.start_ts, reason });
                }
                response => response?,
            };
            if response.errors.is_empty() {
                return Ok(response);
            }
            let mut locks = Vec::new();
            for error in response.errors {
                match error {
                    KeyError { locked: Some(lock), .. } => locks.push(*lock),
                    error => return Err(with_request(Error::from(error), &request)),
                }
            }
            Box::pin(self.client.resolve_for_write(&locks, self.start_ts, holds_locks, &mut backoff)).await?;
        }
    }

    /// Commits the primary at a new timestamp, then the rest in the background.
    async fn second_phase(mut self, primary: Bytes, keys: Vec<Bytes>) -> Result<TimeStamp> {
        for _ in 0..COMMIT_TS_ATTEMPTS {
            let commit_ts = self.client.timestamp().await?;
            let bound = self.bound();
            if !bound.is_zero() && commit_ts > bound {
                let error = Error::LeaseExpired { start_ts: self.start_ts };
                self.abandon(keys, Vec::new(), &error).await;
                return Err(error);
            }
            let request = self.commit_request(vec![primary.clone()], commit_ts);
            let response = self.client.store().commit(request).await.map_err(|error| match error {
                Error::StoreFailed { reason }
                | Error::Undetermined { reason, .. }
                | Error::StoreUnavailable { reason, unanswered: true } => Error::Undetermined { start_ts: self.start_ts, reason },
                error => error,
            })?;
            match response.error.map(|error| *error) {
                None => {
                    let secondaries = keys.into_iter().filter(|key| *key != primary).collect();
                    self.commit_in_background(secondaries, commit_ts);
                    return Ok(commit_ts);
                }
                // A reader has pushed min_commit_ts above the timestamp: take a newer one.
                Some(KeyError { commit_ts_expired: Some(_), .. }) => {}
                Some(error) => {
                    let error = Error::from(error);
                    self.abandon(keys, Vec::new(), &error).await;
                    return Err(error);
                }
            }
        }
        let error = Error::Aborted { start_ts: self.start_ts, reason: "readers kept pushing its commit timestamp".to_owned() };
        self.abandon(keys, Vec::new(), &error).await;
        Err(error)
    }

    fn commit_request(&self, keys: Vec<Bytes>, commit_ts: TimeStamp) -> CommitRequest {
        CommitRequest { context: None, start_version: self.start_ts.0, keys, commit_version: commit_ts.0 }
    }

    /// Turns the remaining locks into committed versions. If the process dies before, whoever meets a lock does it.
    fn commit_in_background(&mut self, keys: Vec<Bytes>, commit_ts: TimeStamp) {
        if keys.is_empty() {
            return;
        }
        let client = self.client.clone();
        let start_ts = self.start_ts;
        // Garbage collection and lock renewal must know of the transaction until its last lock is gone.
        let active = self.active.take();
        self.client.env().spawn(async move {
            for chunk in keys.chunks(SECOND_PHASE_KEYS) {
                let request = CommitRequest { context: None, start_version: start_ts.0, keys: chunk.to_vec(), commit_version: commit_ts.0 };
                let result = client.store().commit(request).await;
                if let Err(error) = result {
                    tracing::warn!(%start_ts, %commit_ts, %error, "could not commit secondaries; readers will resolve their locks");
                    break;
                }
            }
            drop(active);
        });
    }

    /// Takes back what was prewritten, and the pessimistic locks, after a failed commit.
    async fn abandon(&mut self, keys: Vec<Bytes>, locked: Vec<Bytes>, error: &Error) {
        if matches!(error, Error::Undetermined { .. } | Error::StoreFailed { .. }) {
            return;
        }
        let (client, start_ts) = (self.client.clone(), self.start_ts);
        let release = self.release_of(locked);
        let rollback = async move {
            for chunk in keys.chunks(SECOND_PHASE_KEYS) {
                let request = BatchRollbackRequest { context: None, start_version: start_ts.0, keys: chunk.to_vec() };
                if let Err(error) = client.store().batch_rollback(request).await {
                    tracing::warn!(%start_ts, %error, "could not roll back; locks go when their time to live is over");
                }
            }
            if !release.keys.is_empty() {
                release.run().await;
            }
        };
        match error {
            // Who has waited in vain for a store does not wait for it again.
            Error::StoreUnavailable { .. } => self.client.env().spawn(rollback),
            _ => rollback.await,
        }
    }

    fn release_of(&self, keys: impl IntoIterator<Item = Bytes>) -> LockRelease {
        LockRelease { client: self.client.clone(), start_ts: self.start_ts, keys: keys.into_iter().collect() }
    }
}

/// Gives pessimistic locks back in the background unless it is disarmed.
struct ReleaseWhenDropped {
    release: Option<LockRelease>,
}

impl ReleaseWhenDropped {
    /// The commit has come to its end: the keys are the caller's again.
    fn disarm(mut self) -> Vec<Bytes> {
        self.release.take().map(|release| release.keys).unwrap_or_default()
    }
}

impl Drop for ReleaseWhenDropped {
    fn drop(&mut self) {
        if let Some(release) = self.release.take().filter(|release| !release.keys.is_empty()) {
            let env = release.client.env().clone();
            env.spawn(release.run());
        }
    }
}

/// What the first phase achieved.
#[derive(Debug, Default)]
struct Prewritten {
    one_pc_commit_ts: Option<TimeStamp>,
    /// Of async commit: the transaction is committed at this timestamp.
    min_commit_ts: Option<TimeStamp>,
}

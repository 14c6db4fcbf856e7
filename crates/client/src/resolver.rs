//! What to do about a lock of another transaction.
//!
//! ```text
//!   lock of T on key ─▶ ask T's primary: check_txn_status
//!        committed at c ──▶ a reader at ts ≥ c reads through the lock, one below ignores it; a writer turns it first
//!        rolled back ─────▶ ignored; a writer removes it first
//!        alive ───────────▶ a reader pushes T's min_commit_ts above its own timestamp and ignores the lock; a writer waits, if it may
//!        async commit, time to live over ─▶ ask all secondaries; all locked: committed at the greatest min_commit_ts
//! ```
//!
//! Invariants:
//! - A transaction's fate is decided by its primary (and, for async commit, by all of its keys), never by looking at one secondary.
//! - A lock is removed only after the fate of its transaction is recorded at the primary.
//! - Readers never wait for a lock to be written away: what they learn travels with their next request.
//! - Commits never wait for each other in a circle: one that may hold locks waits for those only that began before it, and for no pessimistic
//!   lock, whose owner might be waiting for this one. Nobody looks for circles of commits. Who gives way loses nothing: the commit of one that
//!   began later comes after this one's snapshot, so it would be a conflict as soon as it is there.

use base::TimeStamp;
use bytes::Bytes;
use env::Instant;
use proto::kvrpcpb::{
    Action, CheckSecondaryLocksRequest, CheckTxnStatusRequest, Context, KeyError, LockInfo, Op, PessimisticLockRequest,
    PessimisticLockResponse, PessimisticRollbackRequest, ResolveLockRequest,
};

use crate::{
    backoff::Backoff,
    client::Client,
    deadlock::circle_to_leave,
    error::{Error, Result},
    options::{LockRequest, SnapshotOptions},
};

/// How long a store of a cluster is left to wait for a lock before it is looked whether the wait can ever end.
const WAIT_BEFORE_LOOK_MS: i64 = 1000;

/// What a read has learnt about the locks it met.
#[derive(Debug, Default)]
pub(crate) struct ReadContext {
    /// Transactions that are rolled back or will commit above the read.
    ignored: Vec<u64>,
    /// Transactions committed below the read whose locks still hold the values.
    committed: Vec<u64>,
}

impl ReadContext {
    pub(crate) fn to_context(&self, options: &SnapshotOptions) -> Option<Box<Context>> {
        if self.ignored.is_empty() && self.committed.is_empty() && !options.not_fill_cache {
            return None;
        }
        Some(Box::new(Context {
            resolved_locks: self.ignored.clone(),
            committed_locks: self.committed.clone(),
            not_fill_cache: options.not_fill_cache,
            ..Default::default()
        }))
    }

    pub(crate) fn ignored(&self) -> &[u64] {
        &self.ignored
    }

    pub(crate) fn committed(&self) -> &[u64] {
        &self.committed
    }
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Committed(TimeStamp),
    RolledBack,
    /// Still running; readers at the asking timestamp may ignore it.
    Pushed,
    /// Still running, in the way.
    Alive,
}

/// Whether a lock has outlived its time.
fn outlived(start_ts: u64, ttl_ms: u64, now: TimeStamp) -> bool {
    TimeStamp(start_ts).physical_ms().saturating_add(ttl_ms) <= now.physical_ms()
}

/// Whether a lock is of a commit under way that began before another transaction.
fn is_before(lock: &LockInfo, start_ts: TimeStamp) -> bool {
    lock.lock_version < start_ts.0 && lock.lock_type != Op::PessimisticLock as i32
}

impl Client {
    /// Learns enough about `locks` for a read at `ts` to go on, waiting where it must.
    pub(crate) async fn resolve_for_read(
        &self,
        locks: &[LockInfo],
        ts: TimeStamp,
        context: &mut ReadContext,
        backoff: &mut Backoff<'_>,
    ) -> Result<()> {
        let mut alive = None;
        for lock in locks {
            backoff.check()?;
            match self.fate_of(lock, ts).await? {
                Fate::Committed(commit_ts) => {
                    let list = if commit_ts <= ts { &mut context.committed } else { &mut context.ignored };
                    list.push(lock.lock_version);
                    self.turn_in_background(lock, commit_ts);
                }
                Fate::RolledBack => {
                    context.ignored.push(lock.lock_version);
                    self.turn_in_background(lock, TimeStamp::ZERO);
                }
                Fate::Pushed => context.ignored.push(lock.lock_version),
                Fate::Alive => alive = Some(lock),
            }
        }
        match alive {
            Some(lock) if !backoff.wait().await? => {
                Err(Error::ResolveLockTimeout { key: lock.key.clone(), holder: TimeStamp(lock.lock_version) })
            }
            _ => Ok(()),
        }
    }

    /// Removes the locks of dead transactions from the way of a write, and waits for those of live ones. `holds_locks`: some of the writer's
    /// own keys may be locked meanwhile.
    pub(crate) async fn resolve_for_write(
        &self,
        locks: &[LockInfo],
        start_ts: TimeStamp,
        holds_locks: bool,
        backoff: &mut Backoff<'_>,
    ) -> Result<()> {
        let mut alive = None;
        for lock in locks {
            backoff.check()?;
            // Zero: a writer has no reason to push anybody's commit timestamp.
            match self.fate_of(lock, TimeStamp::ZERO).await? {
                Fate::Committed(commit_ts) => self.turn(lock, commit_ts).await?,
                Fate::RolledBack => self.turn(lock, TimeStamp::ZERO).await?,
                Fate::Pushed | Fate::Alive if holds_locks && !is_before(lock, start_ts) => {
                    let (holder, key) = (TimeStamp(lock.lock_version), lock.key.clone());
                    return Err(Error::MustNotWait { start_ts, holder, key });
                }
                Fate::Pushed | Fate::Alive => alive = Some(lock),
            }
        }
        match alive {
            Some(lock) if !backoff.wait().await? => {
                tracing::debug!(%start_ts, holder = lock.lock_version, "gave up waiting for a lock");
                Err(Error::LockWaitTimeout { key: lock.key.clone(), holder: TimeStamp(lock.lock_version) })
            }
            _ => Ok(()),
        }
    }

    /// What became of the lock's transaction; rolls it back if its time to live is over.
    async fn fate_of(&self, lock: &LockInfo, caller_ts: TimeStamp) -> Result<Fate> {
        let current_ts = self.timestamp().await?;
        let is_pessimistic = lock.lock_type == Op::PessimisticLock as i32;
        let expired = outlived(lock.lock_version, lock.lock_ttl, current_ts);
        let mut request = CheckTxnStatusRequest {
            context: None,
            primary_key: lock.primary_lock.clone(),
            lock_ts: lock.lock_version,
            caller_start_ts: caller_ts.0,
            current_ts: current_ts.0,
            // The primary may still be on its way; only after the time to live is its absence proof.
            rollback_if_not_exist: expired,
            force_sync_commit: false,
            resolving_pessimistic_lock: is_pessimistic,
            verify_is_primary: true,
        };
        loop {
            let response = self.store().check_txn_status(request.clone()).await?;
            if let Some(error) = response.error {
                return match *error {
                    // The primary's lock has not arrived, or a pessimistic transaction has changed its primary.
                    KeyError { txn_not_found: Some(_), .. } | KeyError { primary_mismatch: Some(_), .. } if !expired => Ok(Fate::Alive),
                    KeyError { txn_not_found: Some(_), .. } | KeyError { primary_mismatch: Some(_), .. } => Ok(Fate::RolledBack),
                    error => Err(Error::from(error)),
                };
            }
            if response.commit_version > 0 {
                return Ok(Fate::Committed(TimeStamp(response.commit_version)));
            }
            if response.lock_ttl == 0 {
                return Ok(Fate::RolledBack);
            }
            let pushed = response.action == Action::MinCommitTsPushed as i32;
            let Some(primary) = response.lock_info else { return Ok(if pushed { Fate::Pushed } else { Fate::Alive }) };
            let primary_expired = outlived(lock.lock_version, response.lock_ttl, current_ts);
            if primary.use_async_commit && primary_expired && !request.force_sync_commit {
                match self.fate_of_async_commit(&primary).await? {
                    Some(fate) => return Ok(fate),
                    // A secondary without async commit: the transaction has fallen back to two phases.
                    None => {
                        request.force_sync_commit = true;
                        continue;
                    }
                }
            }
            return Ok(if pushed { Fate::Pushed } else { Fate::Alive });
        }
    }

    /// Asks every secondary of an async commit transaction whose owner seems dead, and records the answer at the primary.
    async fn fate_of_async_commit(&self, primary: &LockInfo) -> Result<Option<Fate>> {
        let mut commit_ts = TimeStamp(primary.min_commit_ts);
        if !primary.secondaries.is_empty() {
            let request =
                CheckSecondaryLocksRequest { context: None, keys: primary.secondaries.clone(), start_version: primary.lock_version };
            let response = self.store().check_secondary_locks(request).await?;
            if let Some(error) = response.error {
                return Err(Error::from(*error));
            }
            if response.locks.iter().any(|lock| !lock.use_async_commit) {
                return Ok(None);
            }
            if response.locks.len() < primary.secondaries.len() {
                // At least one is committed or missing (and then rolled back for good), which decides for all.
                commit_ts = TimeStamp(response.commit_ts);
            } else {
                commit_ts = response.locks.iter().map(|lock| TimeStamp(lock.min_commit_ts)).fold(commit_ts, TimeStamp::max);
            }
        }
        let mut keys = primary.secondaries.clone();
        keys.push(primary.key.clone());
        let request = ResolveLockRequest { start_version: primary.lock_version, commit_version: commit_ts.0, keys, ..Default::default() };
        let response = self.store().resolve_lock(request).await?;
        if let Some(error) = response.error {
            return Err(Error::from(*error));
        }
        Ok(Some(if commit_ts.is_zero() { Fate::RolledBack } else { Fate::Committed(commit_ts) }))
    }

    /// Writes a decided transaction's lock away: commits it (`commit_ts` above zero) or rolls it back.
    async fn turn(&self, lock: &LockInfo, commit_ts: TimeStamp) -> Result<()> {
        if lock.lock_type == Op::PessimisticLock as i32 {
            let request = PessimisticRollbackRequest {
                context: None,
                start_version: lock.lock_version,
                for_update_ts: u64::MAX,
                keys: vec![lock.key.clone()],
            };
            self.store().pessimistic_rollback(request).await?;
            return Ok(());
        }
        let request = ResolveLockRequest {
            start_version: lock.lock_version,
            commit_version: commit_ts.0,
            keys: vec![lock.key.clone()],
            ..Default::default()
        };
        match self.store().resolve_lock(request).await?.error {
            None => Ok(()),
            Some(error) => Err(Error::from(*error)),
        }
    }

    /// Writes a decided transaction's lock away behind the reader's back. Where the owner seems dead, nobody else will turn its other locks,
    /// and readers who know its fate pass them by: so all of them go.
    fn turn_in_background(&self, lock: &LockInfo, commit_ts: TimeStamp) {
        if !self.begin_resolving(lock.lock_version) {
            return;
        }
        let (client, lock) = (self.clone(), lock.clone());
        self.env().spawn(async move {
            let now = client.try_timestamp().unwrap_or(TimeStamp(lock.lock_version));
            let result = match outlived(lock.lock_version, lock.lock_ttl, now) {
                true => client.turn_all(&lock, commit_ts).await,
                false => client.turn(&lock, commit_ts).await,
            };
            client.end_resolving(lock.lock_version);
            if let Err(error) = result {
                tracing::warn!(start_ts = lock.lock_version, %error, "could not resolve a lock; the next reader will try again");
            }
        });
    }

    /// Writes the locks of a decided transaction away, as many as can be found from one of them.
    async fn turn_all(&self, lock: &LockInfo, commit_ts: TimeStamp) -> Result<()> {
        let request = ResolveLockRequest { start_version: lock.lock_version, commit_version: commit_ts.0, ..Default::default() };
        match self.store().resolve_locks_around(&lock.key, request).await?.error {
            None => Ok(()),
            Some(error) => Err(Error::from(*error)),
        }
    }

    /// Removes those of `locks`, which stand in the way of `wire`, whose transactions are decided or dead, and with them whatever else these hold
    /// of its keys: who is met once must not be waited for again at each key. Answers a lock whose owner lives.
    async fn remove_dead(&self, wire: &PessimisticLockRequest, locks: Vec<LockInfo>) -> Result<Option<LockInfo>> {
        let mut alive = None;
        for (start_version, mut locks) in group_by_txn(locks) {
            // A lock that is more than pessimistic comes first: only for one of its kind is a transaction's end recorded at the primary.
            locks.sort_by_key(|lock| lock.lock_type == Op::PessimisticLock as i32);
            let commit_ts = match self.fate_of(&locks[0], TimeStamp::ZERO).await? {
                Fate::Committed(commit_ts) => commit_ts,
                Fate::RolledBack => TimeStamp::ZERO,
                Fate::Pushed | Fate::Alive => {
                    alive = alive.or(locks.pop());
                    continue;
                }
            };
            let is_prewritten = |lock: &&LockInfo| lock.lock_type != Op::PessimisticLock as i32;
            let prewritten: Vec<Bytes> = locks.iter().take_while(is_prewritten).map(|lock| lock.key.clone()).collect();
            if prewritten.len() < locks.len() {
                let keys = wire.mutations.iter().map(|mutation| mutation.key.clone()).collect();
                let request = PessimisticRollbackRequest { context: None, start_version, for_update_ts: u64::MAX, keys };
                self.store().pessimistic_rollback(request).await?;
            }
            if !prewritten.is_empty() {
                let request = ResolveLockRequest { start_version, commit_version: commit_ts.0, keys: prewritten, ..Default::default() };
                if let Some(error) = self.store().resolve_lock(request).await?.error {
                    return Err(Error::from(*error));
                }
            }
        }
        Ok(alive)
    }

    /// Takes pessimistic locks, waiting for other transactions as the caller allows.
    pub(crate) async fn lock(
        &self,
        mut wire: PessimisticLockRequest,
        request: &LockRequest,
        wait_until: Option<Instant>,
    ) -> Result<PessimisticLockResponse> {
        let start_ts = TimeStamp(wire.start_version);
        loop {
            request.cancel.check()?;
            wire.wait_timeout = match wait_until {
                None => -1,
                Some(until) => {
                    let until = request.deadline.map_or(until, |deadline| deadline.min(until));
                    let left = until.since(self.env().now()).as_millis() as i64;
                    // Zero would mean the store's default.
                    if self.is_embedded() { left.max(1) } else { left.clamp(1, WAIT_BEFORE_LOOK_MS) }
                }
            };
            let response = tokio::select! {
                // Polled first: a lock that is free costs no look at the token.
                biased;
                response = self.store().pessimistic_lock(&wire) => response?,
                reason = request.cancel.cancelled() => return Err(Error::Cancelled(reason)),
            };
            if response.errors.is_empty() {
                return Ok(response);
            }
            let locks = response.errors.into_iter().map(Error::from_key_error).collect::<Result<Vec<_>>>()?;
            // The owners may be dead: then their locks are removed, and the next attempt succeeds.
            let Some(lock) = Box::pin(self.remove_dead(&wire, locks)).await? else { continue };
            let (key, holder) = (lock.key, TimeStamp(lock.lock_version));
            let now = self.env().now();
            match wait_until {
                None => return Err(Error::LockNotAvailable { key, holder }),
                _ if request.deadline.is_some_and(|deadline| now >= deadline) => {
                    return Err(Error::Cancelled(env::CancelReason::Timeout));
                }
                Some(until) if now >= until => return Err(Error::LockWaitTimeout { key, holder }),
                Some(_) if !self.is_embedded() => {
                    let edges = Box::pin(self.store().lock_waits()).await?;
                    if let Some(wait_chain) = circle_to_leave(start_ts, holder, key.clone(), &edges) {
                        return Err(Error::Deadlock { key, holder, wait_chain });
                    }
                }
                // Woken because the lock's owner had to be looked at; the rest of the time is waited out.
                Some(_) => tracing::trace!(%start_ts, %holder, "still waiting for a lock"),
            }
        }
    }
}

impl Error {
    /// The lock that is in the way; any other key error is an error of the request.
    pub(crate) fn from_key_error(error: KeyError) -> Result<LockInfo> {
        match error {
            KeyError { locked: Some(lock), .. } => Ok(*lock),
            error => Err(Error::from(error)),
        }
    }
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        let ts = TimeStamp;
        if let Some(lock) = error.locked {
            return Self::ResolveLockTimeout { key: lock.key, holder: ts(lock.lock_version) };
        }
        if let Some(conflict) = error.conflict {
            return Self::WriteConflict {
                start_ts: ts(conflict.start_ts),
                conflict_start_ts: ts(conflict.conflict_ts),
                conflict_commit_ts: ts(conflict.conflict_commit_ts),
                key: conflict.key,
            };
        }
        if let Some(exists) = error.already_exist {
            return Self::KeyExists { key: exists.key, value: None };
        }
        if let Some(deadlock) = error.deadlock {
            let edge = |entry: proto::deadlock::WaitForEntry| crate::error::WaitEdge {
                waiter: ts(entry.txn),
                holder: ts(entry.wait_for_txn),
                key: entry.key,
            };
            return Self::Deadlock {
                key: deadlock.lock_key,
                holder: ts(deadlock.lock_ts),
                wait_chain: deadlock.wait_chain.into_iter().map(edge).collect(),
            };
        }
        if let Some(expired) = error.commit_ts_expired {
            let reason = format!("commit timestamp {} is below {}", expired.attempted_commit_ts, expired.min_commit_ts);
            return Self::Aborted { start_ts: ts(expired.start_ts), reason };
        }
        if let Some(not_found) = error.txn_not_found {
            return Self::Aborted { start_ts: ts(not_found.start_ts), reason: "its locks have gone".to_owned() };
        }
        if let Some(not_found) = error.txn_lock_not_found {
            return Self::PessimisticLockNotFound { start_ts: TimeStamp::ZERO, key: not_found.key };
        }
        let reason = [error.abort, error.retryable].concat();
        Self::Aborted { start_ts: TimeStamp::ZERO, reason }
    }
}

/// Keys of `locks` by the transaction that holds them, for resolving many at once.
pub(crate) fn group_by_txn(locks: Vec<LockInfo>) -> Vec<(u64, Vec<LockInfo>)> {
    let mut groups: Vec<(u64, Vec<LockInfo>)> = Vec::new();
    for lock in locks {
        match groups.iter_mut().find(|(start_ts, _)| *start_ts == lock.lock_version) {
            Some((_, group)) => group.push(lock),
            None => groups.push((lock.lock_version, vec![lock])),
        }
    }
    groups
}

impl Client {
    /// Removes a lock left by a transaction that began at or before a safe point, whatever it takes: the owner is rolled back
    /// if it has not committed.
    pub(crate) async fn resolve_for_gc(&self, start_ts: u64, locks: Vec<LockInfo>) -> Result<()> {
        let Some(first) = locks.first() else { return Ok(()) };
        let fate = self.fate_for_gc(first).await?;
        let commit_ts = match fate {
            Fate::Committed(ts) => ts,
            _ => TimeStamp::ZERO,
        };
        let (pessimistic, prewritten): (Vec<_>, Vec<_>) = locks.into_iter().partition(|lock| lock.lock_type == Op::PessimisticLock as i32);
        let keys = |locks: Vec<LockInfo>| locks.into_iter().map(|lock| lock.key).collect::<Vec<Bytes>>();
        if !pessimistic.is_empty() {
            let keys = keys(pessimistic);
            let request = PessimisticRollbackRequest { context: None, start_version: start_ts, for_update_ts: u64::MAX, keys };
            self.store().pessimistic_rollback(request).await?;
        }
        if !prewritten.is_empty() {
            let keys = keys(prewritten);
            let request = ResolveLockRequest { start_version: start_ts, commit_version: commit_ts.0, keys, ..Default::default() };
            if let Some(error) = self.store().resolve_lock(request).await?.error {
                return Err(Error::from(*error));
            }
        }
        Ok(())
    }

    async fn fate_for_gc(&self, lock: &LockInfo) -> Result<Fate> {
        let mut force_sync_commit = false;
        loop {
            let request = CheckTxnStatusRequest {
                context: None,
                primary_key: lock.primary_lock.clone(),
                lock_ts: lock.lock_version,
                caller_start_ts: 0,
                // As if the time to live were over: nobody may hold a lock below the safe point.
                current_ts: u64::MAX,
                rollback_if_not_exist: true,
                force_sync_commit,
                resolving_pessimistic_lock: lock.lock_type == Op::PessimisticLock as i32,
                verify_is_primary: false,
            };
            let response = self.store().check_txn_status(request).await?;
            if let Some(error) = response.error {
                return Err(Error::from(*error));
            }
            if response.commit_version > 0 {
                return Ok(Fate::Committed(TimeStamp(response.commit_version)));
            }
            match response.lock_info {
                Some(primary) if response.lock_ttl > 0 && primary.use_async_commit && !force_sync_commit => {
                    match self.fate_of_async_commit(&primary).await? {
                        Some(fate) => return Ok(fate),
                        None => force_sync_commit = true,
                    }
                }
                _ => return Ok(Fate::RolledBack),
            }
        }
    }
}

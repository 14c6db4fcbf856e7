//! Pessimistic lock: a statement locks the keys it is about to write.
//!
//! ```text
//!   latches of all keys ─▶ for each key in order:
//!        free, and nobody else's turn ─▶ step: newest version, conflict? existence? ─▶ lock in memory
//!        locked by another ─▶ join the key's queue, release the latches, wait ─▶ my turn ─▶ latches again, go on with this key
//! ```
//!
//! Invariants:
//! - All keys of a request are locked, or, when it ends with an error or is dropped, none that was not locked before it.
//! - A key is taken in the order of arrival: while somebody has the turn, or waits before us, we wait behind.
//! - Nothing is held while waiting but the locks themselves.

use std::time::Duration;

use base::TimeStamp;
use bytes::Bytes;
use engine::{Engine, ReadTier};
use env::Instant;
use mvcc::{
    KnownEmpty, LockPlace, MvccReader, MvccTxn,
    steps::{self, LockedKey, PessimisticLockProps},
};
use proto::kvrpcpb::{
    Assertion, KeyError, LockInfo, PessimisticLockKeyResult, PessimisticLockKeyResultType, PessimisticLockRequest, PessimisticLockResponse,
    PessimisticLockWakeUpMode,
};

use crate::{
    error::{Error, Result, deadlock, key_error, lock_info},
    latch::LatchGuard,
    lock_wait::{Turn, Waiting},
    storage::{Inner, Storage},
};

/// How often one who waits looks whether the owner of the lock is still alive.
const LOOK_AT_OWNER: Duration = Duration::from_secs(1);

/// What all keys of a request have in common.
#[derive(Clone)]
struct LockCommand {
    /// Key, and whether it must not exist.
    keys: Vec<(Bytes, bool)>,
    props: PessimisticLockProps,
}

/// Why a key was not locked.
enum Refusal {
    /// It must be waited for.
    Wait(LockInfo),
    /// The answer to the client.
    Answer(Box<KeyError>),
}

/// Locks made by a request that has not succeeded yet; undone when dropped.
struct NewLocks<E: Engine> {
    storage: Storage<E>,
    start_ts: TimeStamp,
    keys: Vec<Bytes>,
}

impl<E: Engine> Storage<E> {
    /// Takes pessimistic locks, waiting in the keys' queues as long as the request allows.
    pub async fn pessimistic_lock(&self, request: PessimisticLockRequest) -> Result<PessimisticLockResponse> {
        let wait = match request.wait_timeout {
            0 => Some(self.inner.default_lock_wait_ms),
            ms => u64::try_from(ms).ok(),
        };
        let wait_until = wait.map(|ms| self.inner.env.now() + Duration::from_millis(ms));
        let forced = request.wake_up_mode == PessimisticLockWakeUpMode::WakeUpModeForceLock as i32;
        let command = LockCommand::from_request(&request, forced);
        match self.lock_all(&command, wait_until).await? {
            Ok(locked) => Ok(answer(locked, &request, forced)),
            Err(error) => Ok(PessimisticLockResponse { errors: vec![error], ..Default::default() }),
        }
    }

    async fn lock_all(&self, command: &LockCommand, wait_until: Option<Instant>) -> Result<Result<Vec<LockedKey>, KeyError>> {
        let start_ts = command.props.start_ts;
        let mut new_locks = NewLocks { storage: self.clone(), start_ts, keys: Vec::new() };
        let mut locked = Vec::with_capacity(command.keys.len());
        let mut turn: Option<Turn> = None;
        loop {
            let latches = self.inner.latches.acquire(command.keys[locked.len()..].iter().map(|(key, _)| &key[..])).await;
            let waiting = match self.lock_under_latches(command, &mut locked, &mut new_locks.keys, &mut turn).await? {
                None => {
                    new_locks.keys.clear();
                    return Ok(Ok(locked));
                }
                Some(Refusal::Answer(error)) => {
                    // Undone below, which needs the latches.
                    drop(latches);
                    return Ok(Err(*error));
                }
                Some(Refusal::Wait(lock)) => {
                    let Some(wait_until) = wait_until else { return Ok(Err(locked_by(lock))) };
                    match self.join_queue(start_ts, lock, turn.take(), latches) {
                        Ok(queued) => (queued, wait_until),
                        Err(error) => return Ok(Err(error)),
                    }
                }
            };
            let ((waiting, lock), wait_until) = waiting;
            match self.wait_for_turn(waiting, &lock, wait_until).await {
                Some(my_turn) => turn = Some(my_turn),
                None => return Ok(Err(locked_by(lock))),
            }
        }
    }

    /// Joins the queue of a locked key while its latch is held, so that its release cannot be missed.
    #[allow(clippy::result_large_err)]
    fn join_queue(
        &self,
        start_ts: TimeStamp,
        lock: LockInfo,
        turn: Option<Turn>,
        latches: LatchGuard,
    ) -> Result<(Waiting, LockInfo), KeyError> {
        let holder = TimeStamp(lock.lock_version);
        // A turn for another key of the request was used before.
        let turn = turn.filter(|turn| *turn.key() == lock.key);
        let joined = self.inner.waits.join(&lock.key, start_ts, holder, turn);
        drop(latches);
        match joined {
            Ok(waiting) => Ok((waiting, lock)),
            Err(chain) => Err(deadlock(lock.key, holder, chain)),
        }
    }

    /// Waits for the turn; `None` when the time is over, or the lock's owner seems dead and the client should find out.
    async fn wait_for_turn(&self, mut waiting: Waiting, lock: &LockInfo, wait_until: Instant) -> Option<Turn> {
        loop {
            let now = self.inner.env.now();
            let left = wait_until.since(now);
            if left.is_zero() {
                return None;
            }
            tokio::select! {
                biased;
                turn = waiting.turn() => return turn,
                () = self.inner.env.sleep(left.min(LOOK_AT_OWNER)) => {
                    if self.inner.owner_seems_dead(&lock.key) {
                        return None;
                    }
                }
            }
        }
    }

    /// Locks as many keys as possible from `locked.len()` on; `None` when all are locked.
    async fn lock_under_latches(
        &self,
        command: &LockCommand,
        locked: &mut Vec<LockedKey>,
        new_keys: &mut Vec<Bytes>,
        turn: &mut Option<Turn>,
    ) -> Result<Option<Refusal>> {
        while let Some((key, _)) = command.keys.get(locked.len()) {
            let start_ts = command.props.start_ts;
            if let Some(other) = self.inner.waits.reserved_for(key, start_ts)
                && !self.inner.holds_pessimistic_lock(key, start_ts)
            {
                // The key is as good as locked by the one whose turn it is.
                let info = LockInfo { key: key.clone(), lock_version: other.0, primary_lock: key.clone(), ..Default::default() };
                return Ok(Some(Refusal::Wait(LockInfo { lock_ttl: u64::MAX, ..info })));
            }
            let result = match self.inner.lock_one(command, locked.len(), ReadTier::CacheOnly) {
                Err(mvcc::Error::Engine(engine::Error::WouldBlock)) => {
                    let (inner, command, index) = (self.inner.clone(), command.clone(), locked.len());
                    let job = move || inner.lock_one(&command, index, ReadTier::Any);
                    self.inner.env.run_blocking(job).await.ok_or(Error::Stopped)?
                }
                result => result,
            };
            match result {
                Ok((locked_key, is_new)) => {
                    if is_new {
                        new_keys.push(key.clone());
                    }
                    if let Some(turn) = turn.take_if(|turn| turn.key() == key) {
                        if locked_key.locked { turn.used() } else { drop(turn) }
                    }
                    locked.push(locked_key);
                }
                Err(mvcc::Error::KeyIsLocked { key, lock }) => return Ok(Some(Refusal::Wait(lock_info(key, &lock)))),
                Err(error) => return Ok(Some(Refusal::Answer(Box::new(key_error(error)?)))),
            }
        }
        Ok(None)
    }
}

impl<E: Engine> Inner<E> {
    /// Locks one key, whose latch is held; answers also whether it was not locked before.
    fn lock_one(&self, command: &LockCommand, index: usize, tier: ReadTier) -> mvcc::Result<(LockedKey, bool)> {
        let (key, should_not_exist) = &command.keys[index];
        let props = PessimisticLockProps { safe_point: self.safe_points.write_floor(), ..command.props.clone() };
        let known_empty = KnownEmpty { lock: self.no_stored_locks(), txn: !self.record_floor.may_concern(key, props.start_ts) };
        let mut reader = MvccReader::new(&self.engine).with_tier(tier).with_memory_locks(&self.pessimistic).with_known_empty(known_empty);
        let mut txn = MvccTxn::new();
        let mut locked = steps::pessimistic_lock(&mut reader, &mut txn, &props, key, *should_not_exist)?;
        debug_assert!(txn.batch.is_empty(), "pessimistic locks are kept in memory");
        let mut is_new = false;
        for (key, lock) in txn.memory_locks {
            is_new |= self.pessimistic.put(key, lock);
        }
        if is_new && let Some(record) = locked.record.take() {
            self.pessimistic.remember(key, record);
        }
        Ok((locked, is_new))
    }

    fn holds_pessimistic_lock(&self, key: &[u8], start_ts: TimeStamp) -> bool {
        mvcc::MemoryLocks::pessimistic_lock(&self.pessimistic, key).is_some_and(|lock| lock.start_ts == start_ts)
    }

    /// Whether the lock on `key` has outlived its time, as far as can be seen without latches.
    fn owner_seems_dead(&self, key: &[u8]) -> bool {
        let lock = match mvcc::MemoryLocks::pessimistic_lock(&self.pessimistic, key) {
            Some(lock) => lock,
            None => match MvccReader::new(&self.engine).with_tier(ReadTier::CacheOnly).load_lock(key) {
                Ok(Some(loaded)) => loaded.lock,
                // Gone, so the turn is on its way; or it cannot be told now.
                Ok(None) | Err(_) => return false,
            },
        };
        lock.start_ts.physical_ms().saturating_add(lock.ttl_ms) <= self.env.wall_ms()
    }
}

impl LockCommand {
    fn from_request(request: &PessimisticLockRequest, forced: bool) -> Self {
        let must_not_exist = |assertion: i32| assertion == Assertion::NotExist as i32;
        Self {
            keys: request.mutations.iter().map(|mutation| (mutation.key.clone(), must_not_exist(mutation.assertion))).collect(),
            props: PessimisticLockProps {
                start_ts: TimeStamp(request.start_version),
                primary: request.primary_lock.clone(),
                for_update_ts: TimeStamp(request.for_update_ts),
                ttl_ms: request.lock_ttl,
                min_commit_ts: TimeStamp(request.min_commit_ts),
                // The floor is looked at under the latches, in `lock_one`.
                safe_point: TimeStamp::ZERO,
                place: LockPlace::Memory,
                return_value: request.return_values,
                lock_only_if_exists: request.lock_only_if_exists,
                lock_with_conflict: forced,
                return_record: true,
            },
        }
    }
}

fn locked_by(lock: LockInfo) -> KeyError {
    KeyError { locked: Some(Box::new(lock)), ..Default::default() }
}

fn answer(locked: Vec<LockedKey>, request: &PessimisticLockRequest, forced: bool) -> PessimisticLockResponse {
    let mut response = PessimisticLockResponse::default();
    if forced {
        let result = |key: LockedKey| PessimisticLockKeyResult {
            r#type: match key.conflict_ts {
                None => PessimisticLockKeyResultType::LockResultNormal,
                Some(_) => PessimisticLockKeyResultType::LockResultLockedWithConflict,
            } as i32,
            existence: key.exists,
            locked_with_conflict_ts: key.conflict_ts.map_or(0, |ts| ts.0),
            value: key.value.unwrap_or_default(),
        };
        response.results = locked.into_iter().map(result).collect();
    } else if request.return_values || request.check_existence {
        response.not_founds = locked.iter().map(|key| !key.exists).collect();
        response.values = locked.into_iter().map(|key| key.value.unwrap_or_default()).collect();
    }
    response
}

impl<E: Engine> Drop for NewLocks<E> {
    fn drop(&mut self) {
        if self.keys.is_empty() {
            return;
        }
        let (storage, start_ts, keys) = (self.storage.clone(), self.start_ts, std::mem::take(&mut self.keys));
        let request =
            proto::kvrpcpb::PessimisticRollbackRequest { start_version: start_ts.0, for_update_ts: u64::MAX, keys, ..Default::default() };
        self.storage.inner.env.spawn(async move {
            if let Err(error) = storage.pessimistic_rollback(request).await {
                tracing::warn!(%start_ts, %error, "could not undo pessimistic locks; they go when their time to live is over");
            }
        });
    }
}

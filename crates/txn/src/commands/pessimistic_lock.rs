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

use std::{sync::atomic::Ordering, time::Duration};

use base::TimeStamp;
use bytes::Bytes;
use engine::{Engine, ReadTier, SpaceUse, WriteBatch};
use env::Instant;
use mvcc::{
    KnownEmpty, LockPlace, MvccReader, MvccTxn,
    steps::{self, LockedKey, PessimisticLockProps},
};
use proto::kvrpcpb::{
    Assertion, KeyError, LockInfo, PessimisticLockKeyResult, PessimisticLockKeyResultType, PessimisticLockRequest, PessimisticLockResponse,
    PessimisticLockWakeUpMode, PessimisticRollbackRequest,
};

use crate::{
    error::{Error, Result, deadlock, key_error, lock_info},
    lock_wait::{NotJoined, Turn, Waiting},
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
    /// Another transaction has locked it.
    Locked(LockInfo),
    /// It is another transaction's turn to lock it.
    Reserved(LockInfo),
    /// The answer to the client.
    Answer(Box<KeyError>),
}

/// Locks made by a request that has not succeeded yet; undone when dropped.
struct NewLocks<E: Engine> {
    storage: Storage<E>,
    start_ts: TimeStamp,
    /// The greatest for_update_ts of the locks: the undoing must not touch locks that a later statement takes on the same keys.
    for_update_ts: TimeStamp,
    keys: Vec<Bytes>,
}

/// A key that was locked.
struct LockedOne {
    key: LockedKey,
    /// Whether it was not locked before.
    is_new: bool,
    /// A new form of a lock of the transaction that lies in the engine (see `store_locks`), to be written there.
    stored: Option<WriteBatch>,
}

/// What came of trying to lock.
enum Attempt {
    Done,
    Refused(Refusal),
}

impl<E: Engine> Storage<E> {
    /// Takes pessimistic locks, waiting in the keys' queues as long as the request allows.
    pub async fn pessimistic_lock(&self, request: &PessimisticLockRequest) -> Result<PessimisticLockResponse> {
        let wait = match request.wait_timeout {
            0 => Some(self.inner.default_lock_wait_ms),
            ms => u64::try_from(ms).ok(),
        };
        let wait_until = wait.map(|ms| self.inner.env.now() + Duration::from_millis(ms));
        let forced = request.wake_up_mode == PessimisticLockWakeUpMode::WakeUpModeForceLock as i32;
        let command = LockCommand::from_request(request, forced);
        let mut new_locks = NewLocks {
            storage: self.clone(),
            start_ts: command.props.start_ts,
            for_update_ts: command.props.for_update_ts,
            keys: Vec::new(),
        };
        match self.lock_all(&command, wait_until, &mut new_locks).await? {
            Ok(locked) => {
                new_locks.keys.clear();
                Ok(answer(locked, request, forced))
            }
            Err(error) => {
                if let Some(undo) = new_locks.take() {
                    self.pessimistic_rollback(undo).await?;
                }
                Ok(PessimisticLockResponse { errors: vec![*error], ..Default::default() })
            }
        }
    }

    async fn lock_all(
        &self,
        command: &LockCommand,
        wait_until: Option<Instant>,
        new_locks: &mut NewLocks<E>,
    ) -> Result<Result<Vec<LockedKey>, Box<KeyError>>> {
        let mut locked = Vec::with_capacity(command.keys.len());
        let mut turn: Option<Turn> = None;
        loop {
            let latches = self.inner.latches.acquire(command.keys[locked.len()..].iter().map(|(key, _)| &key[..])).await;
            let refusal = match self.lock_under_latches(command, &mut locked, new_locks, &mut turn).await? {
                Attempt::Done => return Ok(Ok(locked)),
                Attempt::Refused(refusal) => refusal,
            };
            let (lock, is_locked) = match refusal {
                Refusal::Answer(error) => return Ok(Err(error)),
                Refusal::Locked(lock) => (lock, true),
                Refusal::Reserved(lock) => (lock, false),
            };
            let Some(wait_until) = wait_until else { return Ok(Err(locked_by(lock))) };
            let joined = self.join_queue(command.props.start_ts, &lock, is_locked, turn.take());
            drop(latches);
            let waiting = match joined {
                Ok(waiting) => waiting,
                Err(NotJoined::TurnEnded) => continue,
                Err(NotJoined::Circle(chain)) => {
                    return Ok(Err(Box::new(deadlock(lock.key, TimeStamp(lock.lock_version), chain))));
                }
            };
            match self.wait_for_turn(waiting, &lock, wait_until).await {
                Some(my_turn) => turn = Some(my_turn),
                None => return Ok(Err(locked_by(lock))),
            }
        }
    }

    /// Writes a lock in the place of the one the transaction has in the engine, while its latch is held.
    async fn write_lock(&self, batch: WriteBatch) -> Result<()> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let on_done = move |result| {
            // The receiver may have been dropped with its task.
            let _ = sender.send(result);
        };
        self.inner.writes.submit(batch, SpaceUse::Essential, Box::new(on_done));
        Ok(receiver.await.map_err(|_| Error::Stopped)??)
    }

    /// Joins the queue of a key while its latch is held, so that its release cannot be missed.
    fn join_queue(&self, start_ts: TimeStamp, lock: &LockInfo, is_locked: bool, turn: Option<Turn>) -> Result<Waiting, NotJoined> {
        let holder = TimeStamp(lock.lock_version);
        // A turn for another key of the request has been used; one for this key is given back, to wait again at the head.
        let turn = turn.filter(|turn| *turn.key() == lock.key);
        match is_locked {
            true => self.inner.waits.join(&lock.key, start_ts, holder, turn),
            false => self.inner.waits.join_behind_turn(&lock.key, start_ts, holder),
        }
    }

    /// Waits for the turn; `None` when the time is over, or the lock's owner seems dead and the client should find out.
    async fn wait_for_turn(&self, mut waiting: Waiting, lock: &LockInfo, wait_until: Instant) -> Option<Turn> {
        loop {
            let left = wait_until.since(self.inner.env.now());
            if left.is_zero() {
                return None;
            }
            tokio::select! {
                biased;
                turn = waiting.turn() => return turn,
                () = self.inner.env.sleep(left.min(LOOK_AT_OWNER)) => {
                    if self.inner.owner_seems_dead(&lock.key, waiting.start_ts()) {
                        return None;
                    }
                }
            }
        }
    }

    /// Locks as many keys as possible from `locked.len()` on.
    async fn lock_under_latches(
        &self,
        command: &LockCommand,
        locked: &mut Vec<LockedKey>,
        new_locks: &mut NewLocks<E>,
        turn: &mut Option<Turn>,
    ) -> Result<Attempt> {
        let start_ts = command.props.start_ts;
        while let Some((key, _)) = command.keys.get(locked.len()) {
            if let Some(other) = self.inner.waits.reserved_for(key, start_ts)
                && !self.inner.is_locked_in_memory(key)
            {
                let lock_version = other.0;
                let info = LockInfo { key: key.clone(), primary_lock: key.clone(), lock_version, lock_ttl: u64::MAX, ..Default::default() };
                return Ok(Attempt::Refused(Refusal::Reserved(info)));
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
                Ok(LockedOne { key: locked_key, is_new, stored }) => {
                    if let Some(batch) = stored {
                        self.write_lock(batch).await?;
                    }
                    if is_new {
                        new_locks.keys.push(key.clone());
                        new_locks.for_update_ts = new_locks.for_update_ts.max(locked_key.conflict_ts.unwrap_or_default());
                    }
                    if let Some(turn) = turn.take_if(|turn| turn.key() == key) {
                        // A key that was not locked after all is for the next one.
                        if locked_key.locked { turn.used() } else { drop(turn) }
                    }
                    locked.push(locked_key);
                }
                Err(mvcc::Error::KeyIsLocked { key, lock }) => {
                    return Ok(Attempt::Refused(Refusal::Locked(lock_info(key, &lock))));
                }
                Err(error) => return Ok(Attempt::Refused(Refusal::Answer(Box::new(key_error(error)?)))),
            }
        }
        Ok(Attempt::Done)
    }
}

impl<E: Engine> Inner<E> {
    /// Locks one key, whose latch is held.
    fn lock_one(&self, command: &LockCommand, index: usize, tier: ReadTier) -> mvcc::Result<LockedOne> {
        if self.sealed.load(Ordering::SeqCst) {
            return Err(engine::Error::Displaced.into());
        }
        let (key, should_not_exist) = &command.keys[index];
        let props = PessimisticLockProps { safe_point: self.safe_points.write_floor(), ..command.props.clone() };
        let known_empty = KnownEmpty { lock: self.no_stored_locks(), txn: !self.record_floor.may_concern(key, props.start_ts) };
        let mut reader = MvccReader::new(&self.engine).with_tier(tier).with_memory_locks(&self.pessimistic).with_known_empty(known_empty);
        let mut txn = MvccTxn::new();
        let mut locked = steps::pessimistic_lock(&mut reader, &mut txn, &props, key, *should_not_exist)?;
        assert_eq!(txn.stored_locks_delta, 0, "new pessimistic locks are kept in memory");
        let mut is_new = false;
        for (key, lock) in txn.memory_locks {
            is_new |= self.pessimistic.put(key, lock);
        }
        if is_new && let Some(record) = locked.record.take() {
            self.pessimistic.remember(key, record);
        }
        Ok(LockedOne { key: locked, is_new, stored: Some(txn.batch).filter(|batch| !batch.is_empty()) })
    }

    fn is_locked_in_memory(&self, key: &[u8]) -> bool {
        mvcc::MemoryLocks::pessimistic_lock(&self.pessimistic, key).is_some()
    }

    /// The lock on `key`, as far as can be seen without latches and without the disk.
    fn peek_lock(&self, key: &[u8]) -> Option<mvcc::Lock> {
        mvcc::MemoryLocks::pessimistic_lock(&self.pessimistic, key).or_else(|| {
            let loaded = MvccReader::new(&self.engine).with_tier(ReadTier::CacheOnly).load_lock(key);
            loaded.ok().flatten().map(|loaded| loaded.lock)
        })
    }

    /// Whether somebody should find out about the owner of the lock on `key`: the lock of its primary has outlived its time or is not there,
    /// or the key is not locked any more and it is nobody's turn (its lock went with its table).
    fn owner_seems_dead(&self, key: &[u8], waiter: TimeStamp) -> bool {
        let Some(mut lock) = self.peek_lock(key) else { return self.waits.reserved_for(key, waiter).is_none() };
        if lock.primary != key {
            // Only the primary's time to live is renewed.
            match self.peek_lock(&lock.primary).filter(|primary| primary.start_ts == lock.start_ts) {
                Some(primary) => lock = primary,
                None => return true,
            }
        }
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

fn locked_by(lock: LockInfo) -> Box<KeyError> {
    Box::new(KeyError { locked: Some(Box::new(lock)), ..Default::default() })
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

impl<E: Engine> NewLocks<E> {
    /// The request that undoes the locks; afterwards there is nothing left to undo.
    fn take(&mut self) -> Option<PessimisticRollbackRequest> {
        let keys = std::mem::take(&mut self.keys);
        let (start_version, for_update_ts) = (self.start_ts.0, self.for_update_ts.0);
        (!keys.is_empty()).then(|| PessimisticRollbackRequest { start_version, for_update_ts, keys, ..Default::default() })
    }
}

impl<E: Engine> Drop for NewLocks<E> {
    fn drop(&mut self) {
        let Some(undo) = self.take() else { return };
        let (storage, start_ts) = (self.storage.clone(), self.start_ts);
        self.storage.inner.env.spawn(async move {
            if let Err(error) = storage.pessimistic_rollback(undo).await {
                tracing::warn!(%start_ts, %error, "could not undo pessimistic locks; they go when their time to live is over");
            }
        });
    }
}

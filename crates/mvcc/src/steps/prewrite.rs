//! Prewrite: the first phase of a commit on one key.
//!
//! ```text
//! above the safe point? ─► own lock / lock of another / none ─► newer commit? ─► exists? assertion? ─► min_commit_ts ─► lock
//!                                                                   │
//!                                              what became of myself? (rule 7)
//! ```
//!
//! With [`CommitMode::OnePhase`] no lock is written: the key waits in the [`MvccTxn`] for [`one_pc`](super::one_pc()), which gives all keys
//! their commit timestamp.
//!
//! Invariants:
//! - A lock's min_commit_ts is above start_ts, for_update_ts, the newest commit of the key and (raised by [`Publish`]) max_ts.
//! - A prewrite that comes again answers as the first one did: by its lock, or by its commit.

use std::ops::Deref;

use base::TimeStamp;
use bytes::Bytes;
use engine::EngineRead;

use crate::{
    Commit, CurrentVersion, Error, LoadedLock, Lock, LockKind, LockPlace, MvccReader, MvccTxn, PessimisticLockLoss, RecordBytes, Result,
    TxnStatus, WriteConflictReason, guards, reader::KeyState, writes::OnePhaseWrite,
};

/// What a transaction does to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Sets the value.
    Put,
    /// Deletes the key.
    Delete,
    /// Locks the key only.
    Lock,
    /// Sets the value of a key that must not exist.
    Insert,
    /// Writes nothing; the key must not exist.
    CheckNotExists,
}

/// What the client believes about the key: a cheap check that rows and indexes agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Assertion {
    /// Nothing.
    #[default]
    None,
    /// It exists.
    Exist,
    /// It does not exist.
    NotExist,
}

/// Whether assertions are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AssertionLevel {
    /// Not at all.
    #[default]
    Off,
    /// Where it costs nothing; reading the current version belongs to every prewrite here, so that is always.
    Fast,
    /// Always.
    Strict,
}

/// One change of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// What is done.
    pub op: Op,
    /// The user key.
    pub key: Bytes,
    /// The value; empty unless something is set.
    pub value: Bytes,
    /// What the client believes.
    pub assertion: Assertion,
}

/// What a pessimistic transaction claims about its lock on the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PessimisticCheck {
    /// Nothing: no lock was taken, and none is needed because a lock on another key covers this one.
    #[default]
    Skip,
    /// A lock was taken and must be there.
    MustBeLocked,
    /// No lock was taken: look for newer commits now (a uniqueness check that was put off).
    CheckConstraint,
}

/// What kind of transaction it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnMode {
    /// Conflicts are found now.
    Optimistic,
    /// Conflicts were found when statements locked their keys.
    Pessimistic {
        /// The greatest timestamp statements read at.
        for_update_ts: TimeStamp,
    },
}

/// How the transaction will commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitMode {
    /// With a second phase.
    TwoPhase,
    /// As soon as all keys are prewritten; the primary's lock names the others.
    Async {
        /// In the primary's lock: the other user keys. `None` on secondaries.
        secondaries: Option<Vec<Bytes>>,
        /// Beyond this the transaction falls back to two phases; zero is no bound.
        max_commit_ts: TimeStamp,
    },
    /// At once, without locks.
    OnePhase,
}

/// What all keys of a prewrite have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrewriteProps {
    /// The transaction.
    pub start_ts: TimeStamp,
    /// Its primary.
    pub primary: Bytes,
    /// Optimistic or pessimistic.
    pub mode: TxnMode,
    /// For how long the locks protect the transaction, in milliseconds.
    pub ttl_ms: u64,
    /// Number of keys of the transaction.
    pub txn_size: u64,
    /// A min_commit_ts the client asks for; zero for none.
    pub min_commit_ts: TimeStamp,
    /// Whether assertions are checked.
    pub assertion_level: AssertionLevel,
    /// The safe point of garbage collection.
    pub safe_point: TimeStamp,
}

impl PrewriteProps {
    fn for_update_ts(&self) -> TimeStamp {
        match self.mode {
            TxnMode::Optimistic => TimeStamp::ZERO,
            TxnMode::Pessimistic { for_update_ts } => for_update_ts,
        }
    }
}

/// Raises `lock.min_commit_ts` above max_ts and, for asynchronous and one-phase commits, shows the lock to readers, in one atomic step:
/// a reader that has raised max_ts before is respected, one that raises it later sees the lock (rule 8).
pub type Publish<'a> = dyn FnMut(&[u8], &mut Lock) + 'a;

/// What prewriting a key came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prewritten {
    /// The lock is (or will be) there; its min_commit_ts, which counts for asynchronous commits only while `is_async`.
    Locked {
        /// The lowest timestamp the key may be committed at.
        min_commit_ts: TimeStamp,
        /// Whether the transaction may still commit asynchronously.
        is_async: bool,
    },
    /// The key waits for its one-phase commit.
    WaitsForOnePhase,
    /// It was committed before: the request came again.
    Committed {
        /// When.
        commit_ts: TimeStamp,
    },
    /// Nothing is written: the key was only checked.
    Checked,
}

/// Prewrites one key.
pub fn prewrite<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    txn: &mut MvccTxn,
    props: &PrewriteProps,
    mode: &CommitMode,
    mutation: &Mutation,
    check: PessimisticCheck,
    publish: &mut Publish<'_>,
) -> Result<Prewritten> {
    let key = &mutation.key[..];
    guards::starts_above_safe_point(props.start_ts, props.safe_point)?;
    let own = match own_lock(reader.load_lock(key)?, props, key, check)? {
        OwnLock::Prewritten(lock) => return Ok(already_prewritten(&lock)),
        OwnLock::Pessimistic(loaded) => Some(loaded),
        OwnLock::None => None,
    };
    let state = reader.load_state(key)?;
    if own.is_none()
        && let Some(committed) = check_conflict(reader, props, key, check, &state)?
    {
        return Ok(committed);
    }
    check_existence(props, mutation, &state)?;
    let kind = match mutation.op {
        Op::CheckNotExists => return Ok(Prewritten::Checked),
        Op::Put | Op::Insert => LockKind::Put,
        Op::Delete => LockKind::Delete,
        Op::Lock => LockKind::Lock,
    };
    let mut lock = new_lock(props, mode, mutation, kind, own.as_ref(), state.newest);
    publish(key, &mut lock);
    if *mode == CommitMode::OnePhase {
        let current = state.current.map(|current| current.record().to_vec());
        txn.one_phase.push(OnePhaseWrite { key: mutation.key.clone(), lock, replaced: own, current, newest: state.newest });
        return Ok(Prewritten::WaitsForOnePhase);
    }
    if let CommitMode::Async { max_commit_ts, .. } = mode
        && !max_commit_ts.is_zero()
        && lock.min_commit_ts > *max_commit_ts
    {
        lock.use_async_commit = false;
        lock.secondaries.clear();
    }
    txn.put_lock(key, &lock, LockPlace::Stored, own.as_ref());
    Ok(Prewritten::Locked { min_commit_ts: lock.min_commit_ts, is_async: lock.use_async_commit })
}

enum OwnLock {
    None,
    Pessimistic(LoadedLock),
    Prewritten(Lock),
}

fn own_lock(loaded: Option<LoadedLock>, props: &PrewriteProps, key: &[u8], check: PessimisticCheck) -> Result<OwnLock> {
    let Some(loaded) = loaded else { return Ok(OwnLock::None) };
    let key = || Bytes::copy_from_slice(key);
    if loaded.lock.start_ts != props.start_ts {
        return Err(match check {
            PessimisticCheck::MustBeLocked => {
                Error::PessimisticLockNotFound { key: key(), start_ts: props.start_ts, loss: PessimisticLockLoss::LockedByOther }
            }
            PessimisticCheck::Skip | PessimisticCheck::CheckConstraint => Error::KeyIsLocked { key: key(), lock: Box::new(loaded.lock) },
        });
    }
    match (loaded.lock.kind, props.mode) {
        (LockKind::Pessimistic, TxnMode::Pessimistic { .. }) => Ok(OwnLock::Pessimistic(loaded)),
        (LockKind::Pessimistic, TxnMode::Optimistic) => {
            Err(Error::LockKindMismatch { key: key(), start_ts: props.start_ts, found: LockKind::Pessimistic })
        }
        _ => Ok(OwnLock::Prewritten(loaded.lock)),
    }
}

fn already_prewritten(lock: &Lock) -> Prewritten {
    Prewritten::Locked { min_commit_ts: lock.min_commit_ts, is_async: lock.use_async_commit }
}

/// Looks for commits the transaction may not overwrite; answers `Some` when the newest of them turns out to be its own.
fn check_conflict<R: EngineRead>(
    reader: &mut MvccReader<'_, R>,
    props: &PrewriteProps,
    key: &[u8],
    check: PessimisticCheck,
    state: &KeyState<RecordBytes<R::Value<'_>>>,
) -> Result<Option<Prewritten>> {
    // Rule 7: a request that comes again, or too late, is told what became of its transaction rather than of a conflict.
    let fate = reader.txn_status_behind(key, props.start_ts, state.current.as_ref())?;
    if let TxnStatus::Committed { commit_ts, .. } = fate {
        return Ok(Some(Prewritten::Committed { commit_ts }));
    }
    let rolled_back = matches!(fate, TxnStatus::RolledBack { .. });
    let (allowed_ts, reason) = match (props.mode, check) {
        (TxnMode::Optimistic, _) => (props.start_ts, WriteConflictReason::Optimistic),
        (TxnMode::Pessimistic { for_update_ts }, PessimisticCheck::CheckConstraint) => {
            (for_update_ts, WriteConflictReason::LazyUniquenessCheck)
        }
        (TxnMode::Pessimistic { .. }, PessimisticCheck::MustBeLocked) => {
            lost_lock_may_be_replaced(props, key, state.newest, rolled_back)?;
            return Ok(None);
        }
        (TxnMode::Pessimistic { .. }, PessimisticCheck::Skip) => (TimeStamp::MAX, WriteConflictReason::PessimisticRetry),
    };
    let conflict = |start_ts, commit_ts, reason| {
        Err(Error::WriteConflict {
            key: Bytes::copy_from_slice(key),
            primary: props.primary.clone(),
            start_ts: props.start_ts,
            conflict_start_ts: start_ts,
            conflict_commit_ts: commit_ts,
            reason,
        })
    };
    if rolled_back {
        return conflict(props.start_ts, TimeStamp::ZERO, WriteConflictReason::SelfRolledBack);
    }
    match state.newest {
        Some(newest) if newest.commit_ts > allowed_ts => conflict(newest.start_ts, newest.commit_ts, reason),
        _ => Ok(None),
    }
}

/// A pessimistic lock in memory may get lost. While nothing happened to the key since the transaction began, it is as good as held.
fn lost_lock_may_be_replaced(props: &PrewriteProps, key: &[u8], newest: Option<Commit>, rolled_back: bool) -> Result<()> {
    let loss = match newest {
        _ if rolled_back => PessimisticLockLoss::RolledBack,
        Some(newest) if newest.commit_ts >= props.start_ts => PessimisticLockLoss::NewerVersion,
        _ => return Ok(()),
    };
    Err(Error::PessimisticLockNotFound { key: Bytes::copy_from_slice(key), start_ts: props.start_ts, loss })
}

fn check_existence<V: Deref<Target = [u8]>>(props: &PrewriteProps, mutation: &Mutation, state: &KeyState<V>) -> Result<()> {
    let existing = state.existing();
    if let (Op::Insert | Op::CheckNotExists, Some(existing)) = (mutation.op, existing) {
        let value = Bytes::copy_from_slice(existing.value());
        return Err(Error::AlreadyExists { key: mutation.key.clone(), existing_start_ts: existing.start_ts, value });
    }
    let holds = match mutation.assertion {
        Assertion::None => true,
        Assertion::Exist => existing.is_some(),
        Assertion::NotExist => existing.is_none(),
    };
    if holds || props.assertion_level == AssertionLevel::Off {
        return Ok(());
    }
    let found = state.current.as_ref().map(CurrentVersion::commit);
    Err(Error::AssertionFailed {
        key: mutation.key.clone(),
        start_ts: props.start_ts,
        assertion: mutation.assertion,
        existing_start_ts: found.map_or(TimeStamp::ZERO, |found| found.start_ts),
        existing_commit_ts: found.map_or(TimeStamp::ZERO, |found| found.commit_ts),
    })
}

fn new_lock(
    props: &PrewriteProps,
    mode: &CommitMode,
    mutation: &Mutation,
    kind: LockKind,
    own: Option<&LoadedLock>,
    newest: Option<Commit>,
) -> Lock {
    let for_update_ts = own.map_or(TimeStamp::ZERO, |own| own.lock.for_update_ts).max(props.for_update_ts());
    let newest_commit_ts = newest.map_or(TimeStamp::ZERO, |newest| newest.commit_ts);
    let lowest = guards::lowest_min_commit_ts(props.start_ts, for_update_ts, newest_commit_ts);
    let (use_async_commit, secondaries) = match mode {
        CommitMode::Async { secondaries, .. } => (true, secondaries.clone().unwrap_or_default()),
        CommitMode::TwoPhase | CommitMode::OnePhase => (false, Vec::new()),
    };
    Lock {
        kind,
        primary: props.primary.clone(),
        start_ts: props.start_ts,
        ttl_ms: own.map_or(0, |own| own.lock.ttl_ms).max(props.ttl_ms),
        for_update_ts,
        min_commit_ts: own.map_or(TimeStamp::ZERO, |own| own.lock.min_commit_ts).max(props.min_commit_ts).max(lowest),
        txn_size: props.txn_size,
        value: if kind == LockKind::Put { mutation.value.clone() } else { Bytes::new() },
        use_async_commit,
        secondaries,
    }
}

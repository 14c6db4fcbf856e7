//! Prewrite: the first phase of a commit, or, in one phase, all of it.
//!
//! ```text
//!   for each key: safe point, locks, conflicts, existence ─▶ shown in flight (async commit, one phase) ─▶ lock, or version to be
//!   one phase:    commit_ts = greatest min_commit_ts ─▶ versions in one batch
//! ```
//!
//! Invariants:
//! - Either all keys of the request are written or none.
//! - All locks in the way are reported together, so that the client resolves them together; any other error is reported alone.

use base::TimeStamp;
use bytes::Bytes;
use engine::{Engine, SpaceUse};
use mvcc::steps::{
    self, Assertion, AssertionLevel, CommitMode, Mutation, OnePcOutcome, Op, PessimisticCheck, PrewriteProps, Prewritten, TxnMode,
};
use proto::kvrpcpb::{self, KeyError, PrewriteRequest, PrewriteResponse, prewrite_request::PessimisticAction};

use crate::{
    error::{Error, Result, key_error},
    max_ts::MaxTs,
    storage::Storage,
    write::{Command, ProcessContext},
};

/// Locks reported at a time.
const MAX_REPORTED_LOCKS: usize = 256;

/// A prewrite, translated from its request.
#[derive(Clone)]
struct Prewrite {
    props: PrewriteProps,
    mutations: Vec<(Mutation, PessimisticCheck)>,
    secondaries: Vec<Bytes>,
    protocol: Protocol,
    max_commit_ts: TimeStamp,
    space: SpaceUse,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    TwoPhase,
    Async,
    OnePhase,
}

impl<E: Engine> Storage<E> {
    /// Prewrites the keys of a transaction, or commits them at once when the request allows one phase.
    pub async fn prewrite(&self, request: &PrewriteRequest) -> Result<PrewriteResponse> {
        self.execute(&Prewrite::from_request(request)?).await
    }
}

impl Prewrite {
    fn from_request(request: &PrewriteRequest) -> Result<Self> {
        if request.mutations.is_empty() {
            return Err(Error::InvalidRequest("prewrite needs a mutation"));
        }
        let is_pessimistic = request.for_update_ts > 0;
        let actions = &request.pessimistic_actions;
        // Clients that cut a request at the borders of regions may leave the actions whole.
        if !actions.is_empty() && actions.len() < request.mutations.len() {
            return Err(Error::InvalidRequest("prewrite needs a pessimistic action for each mutation, or none"));
        }
        let mode = match is_pessimistic {
            true => TxnMode::Pessimistic { for_update_ts: TimeStamp(request.for_update_ts) },
            false => TxnMode::Optimistic,
        };
        let check_of = |index: usize| match actions.get(index).map(|action| PessimisticAction::try_from(*action)) {
            None => Ok(PessimisticCheck::Skip),
            Some(Ok(PessimisticAction::SkipPessimisticCheck)) => Ok(PessimisticCheck::Skip),
            Some(Ok(PessimisticAction::DoPessimisticCheck)) => Ok(PessimisticCheck::MustBeLocked),
            Some(Ok(PessimisticAction::DoConstraintCheck)) => Ok(PessimisticCheck::CheckConstraint),
            Some(Err(_)) => Err(Error::InvalidRequest("unknown pessimistic action")),
        };
        let mut mutations = Vec::with_capacity(request.mutations.len());
        for (index, mutation) in request.mutations.iter().enumerate() {
            mutations.push((mutation_of(mutation)?, check_of(index)?));
        }
        Ok(Self {
            props: PrewriteProps {
                start_ts: TimeStamp(request.start_version),
                primary: request.primary_lock.clone(),
                mode,
                ttl_ms: request.lock_ttl,
                txn_size: request.txn_size,
                min_commit_ts: TimeStamp(request.min_commit_ts),
                assertion_level: AssertionLevel::Fast,
                // The floor is looked at under the latches, in `process`.
                safe_point: TimeStamp::ZERO,
            },
            mutations,
            secondaries: request.secondaries.clone(),
            protocol: match (request.try_one_pc, request.use_async_commit) {
                (true, _) => Protocol::OnePhase,
                (false, true) => Protocol::Async,
                (false, false) => Protocol::TwoPhase,
            },
            max_commit_ts: TimeStamp(request.max_commit_ts),
            space: space_of(request),
        })
    }

    /// How the key of `mutation` takes part in the commit.
    fn commit_mode(&self, mutation: &Mutation) -> CommitMode {
        match self.protocol {
            Protocol::TwoPhase => CommitMode::TwoPhase,
            Protocol::OnePhase => CommitMode::OnePhase,
            Protocol::Async => {
                let is_primary = mutation.key == self.props.primary;
                CommitMode::Async { secondaries: is_primary.then(|| self.secondaries.clone()), max_commit_ts: self.max_commit_ts }
            }
        }
    }
}

/// A transaction that writes no value frees space in the end. Others may be let through by their client, who knows what they are for.
fn space_of(request: &PrewriteRequest) -> SpaceUse {
    let allowed = request.context.as_ref().map_or(kvrpcpb::DiskFullOpt::NotAllowedOnFull as i32, |context| context.disk_full_opt);
    let writes_value = |mutation: &kvrpcpb::Mutation| [kvrpcpb::Op::Put as i32, kvrpcpb::Op::Insert as i32].contains(&mutation.op);
    match allowed {
        allowed if allowed == kvrpcpb::DiskFullOpt::AllowedOnAlreadyFull as i32 => SpaceUse::Essential,
        allowed if allowed == kvrpcpb::DiskFullOpt::AllowedOnAlmostFull as i32 => SpaceUse::Frees,
        _ if request.mutations.iter().any(writes_value) => SpaceUse::Grows,
        _ => SpaceUse::Frees,
    }
}

fn mutation_of(mutation: &kvrpcpb::Mutation) -> Result<Mutation> {
    let op = match kvrpcpb::Op::try_from(mutation.op) {
        Ok(kvrpcpb::Op::Put) => Op::Put,
        Ok(kvrpcpb::Op::Del) => Op::Delete,
        Ok(kvrpcpb::Op::Lock) => Op::Lock,
        Ok(kvrpcpb::Op::Insert) => Op::Insert,
        Ok(kvrpcpb::Op::CheckNotExists) => Op::CheckNotExists,
        Ok(kvrpcpb::Op::Rollback | kvrpcpb::Op::PessimisticLock) | Err(_) => {
            return Err(Error::InvalidRequest("this operation cannot be prewritten"));
        }
    };
    let assertion = match kvrpcpb::Assertion::try_from(mutation.assertion) {
        Ok(kvrpcpb::Assertion::None) | Err(_) => Assertion::None,
        Ok(kvrpcpb::Assertion::Exist) => Assertion::Exist,
        Ok(kvrpcpb::Assertion::NotExist) => Assertion::NotExist,
    };
    Ok(Mutation { op, key: mutation.key.clone(), value: mutation.value.clone(), assertion })
}

/// What the prewrites of a request's keys have come to together.
struct Tally {
    is_async: bool,
    /// A key turned out to be locked by an earlier prewrite, which allowed no one-phase commit or fell back from it.
    has_locks: bool,
    min_commit_ts: TimeStamp,
    committed_before: Option<TimeStamp>,
    errors: Vec<KeyError>,
}

impl Command for Prewrite {
    type Answer = PrewriteResponse;

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.mutations.iter().map(|(mutation, _)| &mutation.key[..])
    }

    fn start_ts(&self) -> Option<TimeStamp> {
        Some(self.props.start_ts)
    }

    fn space(&self) -> SpaceUse {
        self.space
    }

    fn process<E: Engine>(&self, context: &mut ProcessContext<'_, E>) -> Result<PrewriteResponse> {
        let inner = context.inner;
        let props = PrewriteProps { safe_point: inner.safe_points.write_floor(), ..self.props.clone() };
        let mut tally =
            Tally { is_async: true, has_locks: false, min_commit_ts: TimeStamp::ZERO, committed_before: None, errors: Vec::new() };
        let mut publication = (self.protocol != Protocol::TwoPhase).then(|| inner.in_flight.begin(props.start_ts));
        let one_mode = (self.protocol != Protocol::Async).then(|| self.commit_mode(&self.mutations[0].0));
        for (mutation, check) in &self.mutations {
            let mode = match &one_mode {
                Some(mode) => mode,
                None => &self.commit_mode(mutation),
            };
            let mut publish = |_: &[u8], lock: &mut mvcc::Lock| {
                lock.min_commit_ts = match &mut publication {
                    Some(publication) => publication.show(mutation.key.clone(), lock.min_commit_ts, &inner.max_ts),
                    None => above_reads(lock.min_commit_ts, &inner.max_ts),
                };
            };
            match steps::prewrite(&mut context.reader, &mut context.txn, &props, mode, mutation, *check, &mut publish) {
                Ok(prewritten) => tally.add(prewritten),
                Err(error) => tally.add_error(key_error(error)?),
            }
            if tally.is_refused() {
                break;
            }
        }
        if !tally.errors.is_empty() {
            context.txn = mvcc::MvccTxn::new();
            return Ok(PrewriteResponse { errors: tally.errors, ..Default::default() });
        }
        context.publication = publication;
        match self.protocol {
            Protocol::OnePhase => self.finish_one_phase(context, &tally),
            Protocol::Async => {
                let min_commit_ts = if tally.is_async { tally.min_commit_ts.0 } else { 0 };
                Ok(PrewriteResponse { min_commit_ts, ..Default::default() })
            }
            Protocol::TwoPhase => Ok(PrewriteResponse::default()),
        }
    }
}

impl Prewrite {
    fn finish_one_phase<E: Engine>(&self, context: &mut ProcessContext<'_, E>, tally: &Tally) -> Result<PrewriteResponse> {
        if let Some(commit_ts) = tally.committed_before {
            // The request came again; one phase commits all keys or none.
            context.txn = mvcc::MvccTxn::new();
            return Ok(PrewriteResponse { one_pc_commit_ts: commit_ts.0, ..Default::default() });
        }
        match steps::one_pc(&mut context.txn, self.max_commit_ts, tally.has_locks)? {
            OnePcOutcome::Committed { commit_ts } => Ok(PrewriteResponse { one_pc_commit_ts: commit_ts.0, ..Default::default() }),
            OnePcOutcome::FellBack { .. } => Ok(PrewriteResponse::default()),
        }
    }
}

impl Tally {
    fn add(&mut self, prewritten: Prewritten) {
        match prewritten {
            Prewritten::Locked { min_commit_ts, is_async } => {
                self.is_async &= is_async;
                self.has_locks = true;
                self.min_commit_ts = self.min_commit_ts.max(min_commit_ts);
            }
            Prewritten::Committed { commit_ts } => {
                self.min_commit_ts = self.min_commit_ts.max(commit_ts);
                self.committed_before = Some(commit_ts);
            }
            Prewritten::WaitsForOnePhase | Prewritten::Checked => {}
        }
    }

    /// Locks are collected; anything else stands alone.
    fn add_error(&mut self, error: KeyError) {
        if error.locked.is_none() {
            self.errors.clear();
        }
        self.errors.push(error);
    }

    fn is_refused(&self) -> bool {
        self.errors.len() >= MAX_REPORTED_LOCKS || self.errors.last().is_some_and(|error| error.locked.is_none())
    }
}

/// Rule 5, for locks of two phases: nobody who has read is overtaken.
fn above_reads(min_commit_ts: TimeStamp, max_ts: &MaxTs) -> TimeStamp {
    min_commit_ts.max(max_ts.get().next())
}

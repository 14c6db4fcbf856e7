//! Rules 7 and 9: single-key reads take no snapshot, so a commit may be applied between any two of their lookups.

use std::cell::Cell;
use std::sync::Mutex;

use base::TimeStamp;
use engine::{Cf, Engine, EngineRead, IterOptions, MemEngine, MemIter, MemValue, ReadTier, WriteBatch};
use mvcc::{
    CommitKind, LockPolicy, MvccReader, MvccTxn, TxnStatus,
    steps::{AssertionLevel, CommitMode, Mutation, Op, PessimisticCheck, PrewriteProps, TxnMode, commit, prewrite},
};

/// An engine that applies a batch after a number of lookups.
struct Interleaved {
    engine: MemEngine,
    state: Mutex<(Cell<usize>, WriteBatch)>,
}

impl Interleaved {
    fn lookup_done(&self) {
        let state = self.state.lock().expect("not poisoned");
        let left = state.0.get();
        state.0.set(left.wrapping_sub(1));
        if left == 0 {
            self.engine.write_ref(&state.1, false).expect("writes");
        }
    }
}

impl EngineRead for Interleaved {
    type Value<'a> = MemValue;
    type Iter = MemIter;

    fn get(&self, cf: Cf, key: &[u8], tier: ReadTier) -> engine::Result<Option<MemValue>> {
        let value = self.engine.get(cf, key, tier);
        self.lookup_done();
        value
    }

    fn iter(&self, cf: Cf, options: IterOptions) -> engine::Result<MemIter> {
        let cursor = self.engine.iter(cf, options);
        self.lookup_done();
        cursor
    }
}

fn props(start_ts: u64) -> PrewriteProps {
    PrewriteProps {
        start_ts: start_ts.into(),
        primary: "k".into(),
        mode: TxnMode::Optimistic,
        ttl_ms: 0,
        txn_size: 1,
        min_commit_ts: TimeStamp::ZERO,
        assertion_level: AssertionLevel::Off,
        safe_point: TimeStamp::ZERO,
    }
}

fn prewritten(engine: &MemEngine, start_ts: u64, value: &str) {
    let (mut reader, mut txn) = (MvccReader::new(engine), MvccTxn::new());
    let mutation = Mutation { op: Op::Put, key: "k".into(), value: value.to_owned().into(), assertion: Default::default() };
    prewrite(&mut reader, &mut txn, &props(start_ts), &CommitMode::TwoPhase, &mutation, PessimisticCheck::Skip, &mut |_, _| {})
        .expect("prewrites");
    engine.write(txn.batch, false).expect("writes");
}

fn commit_batch(engine: &MemEngine, start_ts: u64, commit_ts: u64) -> WriteBatch {
    let (mut reader, mut txn) = (MvccReader::new(engine), MvccTxn::new());
    commit(&mut reader, &mut txn, b"k", start_ts.into(), commit_ts.into()).expect("commits");
    txn.batch
}

/// `k` is "old" since 11; the transaction 20 that writes "new" commits at 25 after `lookups` lookups of the reader.
fn commit_comes_after(lookups: usize) -> Interleaved {
    let engine = MemEngine::new();
    prewritten(&engine, 10, "old");
    engine.write(commit_batch(&engine, 10, 11), false).expect("writes");
    prewritten(&engine, 20, "new");
    let batch = commit_batch(&engine, 20, 25);
    Interleaved { engine, state: Mutex::new((Cell::new(lookups), batch)) }
}

#[test]
fn a_commit_between_two_lookups_does_not_hide_the_old_version() {
    for lookups in 0..6 {
        let source = commit_comes_after(lookups);
        // The reader knows the transaction will commit behind it, as if it had pushed min_commit_ts.
        let policy = LockPolicy { bypass: vec![TimeStamp(20)], ..LockPolicy::default() };
        let value = MvccReader::new(&source).get(b"k", TimeStamp(15), &policy).expect("reads").expect("exists");
        assert_eq!(&value[..], b"old", "after {lookups} lookups");
    }
}

#[test]
fn a_commit_between_two_lookups_is_never_taken_for_a_rollback() {
    for lookups in 0..6 {
        let source = commit_comes_after(lookups);
        match MvccReader::new(&source).txn_status(b"k", TimeStamp(20)).expect("reads") {
            TxnStatus::Locked(loaded) => assert_eq!(loaded.lock.start_ts, TimeStamp(20)),
            status => {
                assert_eq!(status, TxnStatus::Committed { commit_ts: TimeStamp(25), kind: CommitKind::Put }, "after {lookups} lookups")
            }
        }
    }
}

#[test]
fn a_version_that_moves_to_history_meanwhile_is_still_known_as_committed() {
    for lookups in 0..6 {
        let source = commit_comes_after(lookups);
        let status = MvccReader::new(&source).txn_status(b"k", TimeStamp(10)).expect("reads");
        assert_eq!(status, TxnStatus::Committed { commit_ts: TimeStamp(11), kind: CommitKind::Put }, "after {lookups} lookups");
    }
}

//! Random histories against a naive model: a list of all versions of every key, none ever removed.
//!
//! At every timestamp at or above the safe point, gets and scans agree with the model before and after garbage was collected, whichever
//! column families compaction has reached; and every transaction above the safe point is remembered for what it did.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;

use base::{KeyRange, TimeStamp};
use bytes::Bytes;
use engine::{Cf, Engine, EngineConfig, GcFilter, MemEngine, RocksEngine};
use mvcc::{
    CommitKind, LockPolicy, MvccReader, MvccTxn, ScanOptions, Scanner, TxnStatus, guards,
    steps::{self, AssertionLevel, CommitMode, Mutation, Op, PessimisticCheck, PrewriteProps, Prewritten, TxnMode},
};
use proptest::prelude::*;

const KEYS: u8 = 5;

#[derive(Clone, Debug)]
enum Event {
    /// A transaction that started `age` before now writes; in one phase or in two.
    Txn { age: u64, ops: Vec<(u8, u8)>, one_phase: bool, outcome: Outcome },
    /// The safe point moves to `age` before now, and some column families are compacted.
    Gc { age: u64, families: u8 },
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    Commit,
    RollBack,
    /// The primary commits; the secondaries stay locked until garbage collection resolves them.
    LeaveSecondaries,
}

fn event() -> impl Strategy<Value = Event> {
    let outcome = prop_oneof![6 => Just(Outcome::Commit), 1 => Just(Outcome::RollBack), 2 => Just(Outcome::LeaveSecondaries)];
    let ops = prop::collection::vec((0..KEYS, 0..8u8), 1..4);
    prop_oneof![
        6 => (0..30u64, ops, any::<bool>(), outcome).prop_map(|(age, ops, one_phase, outcome)| Event::Txn { age, ops, one_phase, outcome }),
        1 => (0..60u64, any::<u8>()).prop_map(|(age, families)| Event::Gc { age, families }),
    ]
}

/// What a transaction did to a key, by (key, start_ts).
type Fates = HashMap<(u8, u64), Option<(u64, CommitKind)>>;

struct World<E: Engine> {
    engine: E,
    filter: GcFilter,
    now: u64,
    /// Versions by key: commit_ts → value or deleted.
    versions: BTreeMap<u8, BTreeMap<u64, Option<Vec<u8>>>>,
    fates: Fates,
    /// Locks left behind, with the commit that decides them.
    left: Vec<(u8, u64, u64)>,
}

impl<E: Engine> World<E> {
    fn safe_point(&self) -> TimeStamp {
        TimeStamp(self.filter.safe_point.load(Ordering::Acquire))
    }

    fn play(&mut self, event: &Event) {
        self.now += 10;
        match event {
            Event::Txn { age, ops, one_phase, outcome } => self.txn(self.now.saturating_sub(*age).max(1), ops, *one_phase, *outcome),
            Event::Gc { age, families } => self.gc(self.now.saturating_sub(*age), *families),
        }
    }

    fn txn(&mut self, start_ts: u64, ops: &[(u8, u8)], one_phase: bool, outcome: Outcome) {
        let ops: BTreeMap<u8, u8> = ops.iter().copied().collect();
        if self.fates.keys().any(|(_, used)| *used == start_ts) {
            return;
        }
        let primary = *ops.first_key_value().expect("at least one").0;
        let props = PrewriteProps {
            start_ts: start_ts.into(),
            primary: Bytes::copy_from_slice(&[primary]),
            mode: TxnMode::Optimistic,
            ttl_ms: 0,
            txn_size: ops.len() as u64,
            min_commit_ts: TimeStamp::ZERO,
            assertion_level: AssertionLevel::Off,
            safe_point: self.safe_point(),
        };
        let mode = if one_phase { CommitMode::OnePhase } else { CommitMode::TwoPhase };
        let (mut reader, mut txn) = (MvccReader::new(&self.engine), MvccTxn::new());
        for (key, what) in &ops {
            let (op, value) = mutation(*what, start_ts);
            let mutation = Mutation {
                op,
                key: Bytes::copy_from_slice(&[*key]),
                value: value.unwrap_or_default().into(),
                assertion: Default::default(),
            };
            let max_ts = TimeStamp(self.now);
            let mut publish = |_: &[u8], lock: &mut mvcc::Lock| lock.min_commit_ts = lock.min_commit_ts.max(max_ts.next());
            match steps::prewrite(&mut reader, &mut txn, &props, &mode, &mutation, PessimisticCheck::Skip, &mut publish) {
                Ok(Prewritten::Committed { .. }) => panic!("start_ts {start_ts} is used once"),
                Ok(_) => {}
                // A conflict, somebody's lock, or too old: nothing of the transaction is written.
                Err(_) => return,
            }
        }
        let commit_ts = if one_phase {
            match steps::one_pc(&mut txn, TimeStamp::ZERO, false).expect("commits") {
                steps::OnePcOutcome::Committed { commit_ts } => commit_ts.0,
                other => panic!("no bound was given: {other:?}"),
            }
        } else {
            self.now + 1
        };
        self.engine.write(txn.batch, false).expect("writes");
        let rolled_back = !one_phase && matches!(outcome, Outcome::RollBack);
        for (key, what) in ops {
            let left = !one_phase && key != primary && matches!(outcome, Outcome::LeaveSecondaries);
            if left {
                self.left.push((key, start_ts, commit_ts));
            } else if !one_phase {
                self.finish(key, start_ts, if rolled_back { 0 } else { commit_ts });
            }
            self.remember(key, what, start_ts, (!rolled_back).then_some(commit_ts));
        }
    }

    fn finish(&self, key: u8, start_ts: u64, commit_ts: u64) {
        let (mut reader, mut txn) = (MvccReader::new(&self.engine), MvccTxn::new());
        steps::resolve_lock(&mut reader, &mut txn, &[key], start_ts.into(), commit_ts.into()).expect("resolves");
        self.engine.write(txn.batch, false).expect("writes");
    }

    fn remember(&mut self, key: u8, what: u8, start_ts: u64, commit_ts: Option<u64>) {
        let (op, value) = mutation(what, start_ts);
        let kind = match op {
            Op::Put => CommitKind::Put,
            Op::Delete => CommitKind::Delete,
            _ => CommitKind::Lock,
        };
        self.fates.insert((key, start_ts), commit_ts.map(|commit_ts| (commit_ts, kind)));
        if let (Some(commit_ts), false) = (commit_ts, kind == CommitKind::Lock) {
            self.versions.entry(key).or_default().insert(commit_ts, value);
        }
    }

    fn gc(&mut self, safe_point: u64, families: u8) {
        let safe_point = safe_point.max(self.safe_point().0);
        for (key, start_ts, commit_ts) in std::mem::take(&mut self.left) {
            self.finish(key, start_ts, commit_ts);
        }
        let locks = MvccReader::new(&self.engine).scan_locks(b"", b"", usize::MAX, |_| true).expect("scans");
        guards::safe_point_is_free_of_locks(safe_point.into(), locks.iter().map(|(key, lock)| (key, lock))).expect("all were resolved");
        self.filter.safe_point.store(safe_point, Ordering::Release);
        self.engine.flush().expect("flushes");
        for cf in Cf::ALL.into_iter().filter(|cf| families & (1 << cf.index()) != 0) {
            self.engine.compact_range(cf, None, None).expect("compacts");
        }
    }

    fn model_at(&self, ts: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
        let visible = |versions: &BTreeMap<u64, Option<Vec<u8>>>| versions.range(..=ts).next_back().and_then(|(_, value)| value.clone());
        self.versions.iter().filter_map(|(key, versions)| Some((vec![*key], visible(versions)?))).collect()
    }

    fn check(&self) {
        let policy =
            LockPolicy { access: self.left.iter().map(|(_, start_ts, _)| TimeStamp(*start_ts)).collect(), ..LockPolicy::default() };
        // A lock that was left is read by whoever is at or above its commit, and passed by others.
        let policy_at = |ts: u64| {
            let (access, bypass) = self.left.iter().partition::<Vec<_>, _>(|(_, _, commit_ts)| *commit_ts <= ts);
            let starts = |left: Vec<&(u8, u64, u64)>| left.iter().map(|(_, start_ts, _)| TimeStamp(*start_ts)).collect();
            LockPolicy { access: starts(access), bypass: starts(bypass), ..policy.clone() }
        };
        let from = self.safe_point().0.max(1);
        for ts in (from..=self.now + 2).step_by(3).chain([self.now + 2]) {
            let expected = self.model_at(ts);
            for key in 0..KEYS {
                let value =
                    MvccReader::new(&self.engine).get(&[key], TimeStamp(ts), &policy_at(ts)).expect("reads").map(|value| value.to_vec());
                let model = expected.iter().find(|(model_key, _)| *model_key == [key]).map(|(_, value)| value.clone());
                assert_eq!(value, model, "key {key} at {ts}");
            }
            for reverse in [false, true] {
                let options = ScanOptions { reverse, policy: policy_at(ts), ..ScanOptions::new(KeyRange::default(), TimeStamp(ts)) };
                let mut scanner = Scanner::new(self.engine.snapshot(), options).expect("scans");
                let mut rows = Vec::new();
                while let Some((key, value)) = scanner.next().expect("scans") {
                    rows.push((key.to_vec(), value.to_vec()));
                }
                if reverse {
                    rows.reverse();
                }
                assert_eq!(rows, expected, "scan at {ts}, reverse: {reverse}");
            }
        }
        for ((key, start_ts), fate) in self.fates.iter().filter(|((_, start_ts), _)| *start_ts > self.safe_point().0) {
            match (MvccReader::new(&self.engine).txn_status(&[*key], TimeStamp(*start_ts)).expect("reads"), fate) {
                (TxnStatus::Committed { commit_ts, kind }, Some(fate)) => assert_eq!((commit_ts.0, kind), *fate),
                (TxnStatus::RolledBack { .. }, None) => {}
                (TxnStatus::Locked(_), Some(_)) => assert!(self.left.iter().any(|(left, start, _)| (left, start) == (key, start_ts))),
                (status, fate) => panic!("transaction {start_ts} on {key}: {status:?}, but did {fate:?}"),
            }
        }
    }
}

/// 0 locks only, 1 and 2 delete, the rest put.
fn mutation(what: u8, start_ts: u64) -> (Op, Option<Vec<u8>>) {
    match what {
        0 => (Op::Lock, None),
        1 | 2 => (Op::Delete, None),
        _ => (Op::Put, Some(format!("{start_ts}").into_bytes())),
    }
}

fn run(engine: impl Engine, filter: GcFilter, events: &[Event]) {
    let mut world = World { engine, filter, now: 0, versions: BTreeMap::new(), fates: Fates::new(), left: Vec::new() };
    for event in events {
        world.play(event);
        world.check();
    }
    let now = world.now;
    world.gc(now / 2, u8::MAX);
    world.check();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn reads_agree_with_the_model_in_memory(events in prop::collection::vec(event(), 1..40)) {
        let filter = mvcc::gc::filter();
        run(MemEngine::with_filter(filter.clone()), filter, &events);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn reads_agree_with_the_model_on_rocksdb(events in prop::collection::vec(event(), 1..40)) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let filter = mvcc::gc::filter();
        run(RocksEngine::open_with_filter(dir.path(), &EngineConfig::default(), filter.clone()).expect("opens"), filter, &events);
    }
}

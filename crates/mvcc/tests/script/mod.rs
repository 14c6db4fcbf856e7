//! The machine golden scripts run on.

mod show;
mod words;

use std::{collections::BTreeMap, fmt::Write, sync::atomic::Ordering};

use base::{KeyRange, TimeStamp};
use bytes::Bytes;
use engine::{Cf, Engine, GcFilter, MemEngine, MemSnapshot};
use mvcc::{
    Lock, LockPlace, LockPolicy, MemoryLocks, MvccReader, MvccTxn, Result, ScanOptions, Scanner, guards,
    steps::{
        self, Assertion, AssertionLevel, CheckTxnStatus, CommitMode, Mutation, Op, PessimisticCheck, PessimisticLockProps, PrewriteProps,
        TxnMode,
    },
};

use self::words::Words;

/// Runs a script and returns it with the outputs it gives now.
pub fn run(text: &str) -> String {
    let mut machine = Machine::new();
    let blocks: Vec<String> = text.trim_end().split("\n\n").map(|block| machine.block(block)).collect();
    blocks.join("\n\n") + "\n"
}

#[derive(Default)]
struct MemoryTable(BTreeMap<Bytes, Lock>);

impl MemoryLocks for MemoryTable {
    fn pessimistic_lock(&self, key: &[u8]) -> Option<Lock> {
        self.0.get(key).cloned()
    }
}

struct Machine {
    engine: MemEngine,
    filter: GcFilter,
    memory: MemoryTable,
    max_ts: TimeStamp,
    scanner: Option<Scanner<MemSnapshot>>,
}

type Answer = Result<String>;

impl Machine {
    fn new() -> Self {
        let filter = mvcc::gc::filter();
        let engine = MemEngine::with_filter(filter.clone());
        Self { engine, filter, memory: MemoryTable::default(), max_ts: TimeStamp::ZERO, scanner: None }
    }

    /// Comments and commands of a block stay; what is behind `----` is replaced.
    fn block(&mut self, block: &str) -> String {
        let input = block.split("\n----").next().unwrap_or_default();
        let mut output = String::new();
        let mut has_command = false;
        for line in input.lines().filter(|line| !line.starts_with('#')) {
            has_command = true;
            match self.command(line) {
                Ok(answer) => output.push_str(&answer),
                Err(error) => writeln!(output, "error: {}", show::error(&error)).expect("writes to a string"),
            }
        }
        if has_command { format!("{input}\n----\n{}", output.trim_end()).trim_end().to_owned() } else { input.to_owned() }
    }

    fn safe_point(&self) -> TimeStamp {
        TimeStamp(self.filter.safe_point.load(Ordering::Acquire))
    }

    fn command(&mut self, line: &str) -> Answer {
        let mut words = Words::new(line);
        let answer = match words.verb() {
            "prewrite" => self.prewrite(&mut words),
            "commit" => self.each_key(&mut words, |reader, txn, key, words| {
                let outcome = steps::commit(reader, txn, key, words.ts("start"), words.ts("commit"))?;
                Ok(format!("{outcome:?}"))
            }),
            "rollback" => self.each_key(&mut words, |reader, txn, key, words| {
                let protect = words.flag("protect");
                steps::rollback(reader, txn, key, words.ts("start"), protect).map(|()| "rolled back".to_owned())
            }),
            "cleanup" => self.each_key(&mut words, |reader, txn, key, words| {
                steps::cleanup(reader, txn, key, words.ts("start"), words.ts("current")).map(|()| "rolled back".to_owned())
            }),
            "resolve" => self.each_key(&mut words, |reader, txn, key, words| {
                steps::resolve_lock(reader, txn, key, words.ts("start"), words.ts("commit")).map(|()| "resolved".to_owned())
            }),
            "pessimistic_rollback" => self.each_key(&mut words, |reader, txn, key, words| {
                let removed = steps::pessimistic_rollback(reader, txn, key, words.ts("start"), words.ts("for_update"))?;
                Ok(if removed { "removed" } else { "nothing to remove" }.to_owned())
            }),
            "heart_beat" => self.each_key(&mut words, |reader, txn, key, words| {
                let ttl_ms = steps::txn_heart_beat(reader, txn, key, words.ts("start"), words.number("ttl"))?;
                Ok(format!("ttl={ttl_ms}"))
            }),
            "check_secondary_lock" => self.each_key(&mut words, |reader, txn, key, words| {
                steps::check_secondary_lock(reader, txn, key, words.ts("start")).map(|answer| show::secondary(&answer))
            }),
            "check_txn_status" => self.each_key(&mut words, |reader, txn, key, words| {
                let ask = CheckTxnStatus {
                    primary: Bytes::copy_from_slice(key),
                    start_ts: words.ts("start"),
                    caller_start_ts: words.ts("caller"),
                    current_ts: words.ts("current"),
                    rollback_if_not_exist: words.flag("rollback_if_not_exist"),
                    force_sync_commit: words.flag("force_sync_commit"),
                    resolving_pessimistic_lock: words.flag("resolving_pessimistic_lock"),
                    verify_is_primary: words.flag("verify_is_primary"),
                };
                steps::check_txn_status(reader, txn, &ask).map(|answer| show::checked(&answer))
            }),
            "status" => self.each_key(&mut words, |reader, _, key, words| {
                reader.txn_status(key, words.ts("start")).map(|status| show::status(&status))
            }),
            "lock" => self.pessimistic_lock(&mut words),
            "get" => self.get(&mut words),
            "scan" => self.scan(&mut words),
            "scan_on" => self.scan_on(&mut words),
            "max_ts" => {
                self.max_ts = TimeStamp(words.positional_number());
                Ok(String::new())
            }
            "gc" => self.gc(&mut words),
            "put_lock_by_hand" => Ok(self.put_lock_by_hand(&mut words)),
            "dump" => Ok(show::dump(&self.engine, &self.memory.0)),
            verb => panic!("unknown command {verb:?} in {line:?}"),
        };
        words.assert_all_used(line);
        answer
    }

    /// Runs a step on every key named, and applies what was written; a key that fails leaves nothing.
    fn each_key(
        &mut self,
        words: &mut Words<'_>,
        step: impl Fn(&mut MvccReader<'_, MemEngine>, &mut MvccTxn, &[u8], &mut Words<'_>) -> Answer,
    ) -> Answer {
        let mut out = String::new();
        let mut txn = MvccTxn::new();
        let keys = words.keys();
        let mut reader = MvccReader::new(&self.engine).with_memory_locks(&self.memory);
        for key in keys {
            let answer =
                step(&mut reader, &mut txn, key.as_bytes(), words).unwrap_or_else(|error| format!("error: {}", show::error(&error)));
            writeln!(out, "{key}: {answer}").expect("writes to a string");
        }
        drop(reader);
        out.push_str(&self.apply(txn));
        Ok(out)
    }

    fn apply(&mut self, txn: MvccTxn) -> String {
        let out = show::writes(&txn);
        for released in txn.released.iter().filter(|released| released.in_memory) {
            self.memory.0.remove(&released.key);
        }
        self.memory.0.extend(txn.memory_locks);
        self.engine.write(txn.batch, false).expect("the engine in memory writes");
        out
    }

    fn prewrite(&mut self, words: &mut Words<'_>) -> Answer {
        let start_ts = words.ts("start");
        let for_update_ts = words.ts("for_update");
        let mutations = mutations(words);
        let max_commit_ts = words.ts("max_commit");
        let (mut secondaries, mode) = (words.list("secondaries"), words.value("mode").unwrap_or("2pc"));
        let props = PrewriteProps {
            start_ts,
            primary: words.bytes("primary").unwrap_or_else(|| mutations[0].key.clone()),
            mode: if for_update_ts.is_zero() { TxnMode::Optimistic } else { TxnMode::Pessimistic { for_update_ts } },
            ttl_ms: words.number("ttl"),
            txn_size: mutations.len() as u64,
            min_commit_ts: words.ts("min_commit"),
            assertion_level: AssertionLevel::Strict,
            safe_point: self.safe_point(),
        };
        let check = match words.value("check") {
            Some("must_be_locked") => PessimisticCheck::MustBeLocked,
            Some("constraint") => PessimisticCheck::CheckConstraint,
            _ => PessimisticCheck::Skip,
        };
        let max_ts = self.max_ts;
        let mut publish = move |_: &[u8], lock: &mut Lock| lock.min_commit_ts = lock.min_commit_ts.max(max_ts.next());
        let (mut txn, mut out, mut locked_before) = (MvccTxn::new(), String::new(), false);
        let mut reader = MvccReader::new(&self.engine).with_memory_locks(&self.memory);
        for mutation in &mutations {
            let mode = match mode {
                "1pc" => CommitMode::OnePhase,
                "async" => CommitMode::Async { secondaries: Some(std::mem::take(&mut secondaries)), max_commit_ts },
                _ => CommitMode::TwoPhase,
            };
            let key = String::from_utf8_lossy(&mutation.key);
            let answer = steps::prewrite(&mut reader, &mut txn, &props, &mode, mutation, check, &mut publish);
            locked_before |= matches!(answer, Ok(steps::Prewritten::Locked { .. }));
            let answer = answer.map_or_else(|error| format!("error: {}", show::error(&error)), |answer| format!("{answer:?}"));
            writeln!(out, "{key}: {answer}").expect("writes to a string");
        }
        if mode == "1pc" && !out.contains("error:") && !out.contains(": Committed") {
            writeln!(out, "{:?}", steps::one_pc(&mut txn, max_commit_ts, locked_before)?).expect("writes to a string");
        }
        drop(reader);
        out.push_str(&self.apply(txn));
        Ok(out)
    }

    fn pessimistic_lock(&mut self, words: &mut Words<'_>) -> Answer {
        let keys = words.keys();
        let props = PessimisticLockProps {
            start_ts: words.ts("start"),
            primary: words.bytes("primary").unwrap_or_else(|| Bytes::copy_from_slice(keys[0].as_bytes())),
            for_update_ts: words.ts("for_update"),
            ttl_ms: words.number("ttl"),
            min_commit_ts: words.ts("min_commit"),
            safe_point: self.safe_point(),
            place: if words.flag("memory") { LockPlace::Memory } else { LockPlace::Stored },
            return_value: words.flag("value"),
            lock_only_if_exists: words.flag("if_exists"),
            lock_with_conflict: words.flag("with_conflict"),
            return_record: false,
        };
        let should_not_exist = words.flag("not_exists");
        let (mut txn, mut out) = (MvccTxn::new(), String::new());
        let mut reader = MvccReader::new(&self.engine).with_memory_locks(&self.memory);
        for key in keys {
            let answer = steps::pessimistic_lock(&mut reader, &mut txn, &props, key.as_bytes(), should_not_exist);
            let answer = answer.map_or_else(|error| format!("error: {}", show::error(&error)), |locked| show::locked(&locked));
            writeln!(out, "{key}: {answer}").expect("writes to a string");
        }
        drop(reader);
        out.push_str(&self.apply(txn));
        Ok(out)
    }

    fn policy(words: &mut Words<'_>) -> LockPolicy {
        let list = |name: &str, words: &mut Words<'_>| -> Vec<TimeStamp> {
            words.list(name).iter().map(|ts| TimeStamp(String::from_utf8_lossy(ts).parse().expect("a timestamp"))).collect()
        };
        LockPolicy { bypass: list("bypass", words), access: list("access", words), ignore_locks: words.flag("ignore_locks") }
    }

    fn get(&mut self, words: &mut Words<'_>) -> Answer {
        let ts = words.ts_or("ts", TimeStamp::MAX);
        let policy = Self::policy(words);
        let mut out = String::new();
        for key in words.keys() {
            let mut reader = MvccReader::new(&self.engine);
            let answer = guards::readable_at(ts, self.safe_point())
                .and_then(|()| Ok(reader.get(key.as_bytes(), ts, &policy)?.map(|value| show::text(&value))));
            let answer = answer.map_or_else(|error| format!("error: {}", show::error(&error)), |value| value.unwrap_or("nothing".into()));
            writeln!(out, "{key}: {answer}").expect("writes to a string");
        }
        Ok(out)
    }

    fn scan(&mut self, words: &mut Words<'_>) -> Answer {
        let range = KeyRange::new(words.bytes("from").unwrap_or_default(), words.bytes("to").unwrap_or_default());
        let mut options = ScanOptions::new(range, words.ts_or("ts", TimeStamp::MAX));
        options.reverse = words.flag("reverse");
        options.policy = Self::policy(words);
        self.scanner = Some(Scanner::new(self.engine.snapshot(), options)?);
        self.drain()
    }

    /// Goes on with a scan that met a lock.
    fn scan_on(&mut self, words: &mut Words<'_>) -> Answer {
        let scanner = self.scanner.as_mut().expect("a scan came before");
        let (bypass, access) = (words.ts("bypass"), words.ts("access"));
        if !bypass.is_zero() {
            scanner.bypass_lock(bypass);
        }
        if !access.is_zero() {
            scanner.access_lock(access);
        }
        if words.flag("reopen") {
            let scanner = self.scanner.take().expect("just used");
            self.scanner = Some(scanner.reopen(self.engine.snapshot(), engine::ReadTier::Any)?);
        }
        self.drain()
    }

    fn drain(&mut self) -> Answer {
        let scanner = self.scanner.as_mut().expect("just made");
        let mut out = String::new();
        loop {
            match scanner.next() {
                Ok(Some((key, value))) => writeln!(out, "{} = {}", show::text(key), show::text(value)),
                Ok(None) => return Ok(out),
                Err(error) => {
                    writeln!(out, "error: {}", show::error(&error)).expect("writes to a string");
                    return Ok(out);
                }
            }
            .expect("writes to a string");
        }
    }

    /// A lock no step would write, to show that its commit is stopped.
    fn put_lock_by_hand(&mut self, words: &mut Words<'_>) -> String {
        let key = words.keys()[0];
        let lock = Lock {
            kind: mvcc::LockKind::Put,
            primary: Bytes::copy_from_slice(key.as_bytes()),
            start_ts: words.ts("start"),
            ttl_ms: 0,
            for_update_ts: TimeStamp::ZERO,
            min_commit_ts: words.ts("min_commit"),
            txn_size: 1,
            value: words.bytes("value").unwrap_or_default(),
            use_async_commit: false,
            secondaries: Vec::new(),
        };
        let mut txn = MvccTxn::new();
        txn.put_lock(key.as_bytes(), &lock, LockPlace::Stored, None);
        self.apply(txn)
    }

    /// Publishes a safe point and compacts, as garbage collection does once it has resolved the locks.
    fn gc(&mut self, words: &mut Words<'_>) -> Answer {
        let safe_point = TimeStamp(words.positional_number());
        let stored = MvccReader::new(&self.engine).scan_locks(b"", b"", usize::MAX, |_| true)?;
        guards::safe_point_is_free_of_locks(safe_point, stored.iter().map(|(key, lock)| (key, lock)).chain(&self.memory.0))?;
        self.filter.safe_point.store(safe_point.0, Ordering::Release);
        let before: Vec<_> = Cf::ALL.map(|cf| self.engine.dump(cf)).into();
        let only = words.value("only");
        Cf::ALL
            .iter()
            .filter(|cf| only.is_none_or(|only| cf.name() == only))
            .try_for_each(|cf| self.engine.compact_range(*cf, None, None))?;
        let mut out = String::new();
        for (cf, records) in Cf::ALL.into_iter().zip(before) {
            let kept = self.engine.dump(cf);
            for (key, value) in records.iter().filter(|record| !kept.contains(record)) {
                writeln!(out, "collected {}", show::record(cf, key, value)).expect("writes to a string");
            }
        }
        Ok(out)
    }
}

fn mutations(words: &mut Words<'_>) -> Vec<Mutation> {
    let assertion = match words.value("assert") {
        Some("exist") => Assertion::Exist,
        Some("not_exist") => Assertion::NotExist,
        _ => Assertion::None,
    };
    let ops =
        [("put", Op::Put), ("insert", Op::Insert), ("delete", Op::Delete), ("lock", Op::Lock), ("check_not_exists", Op::CheckNotExists)];
    words
        .rest()
        .into_iter()
        .map(|word| {
            let (op, key) = word.split_once(':').unwrap_or_else(|| panic!("{word:?} is not op:key"));
            let (key, value) = key.split_once('=').unwrap_or((key, ""));
            let op = ops.iter().find(|(name, _)| *name == op).unwrap_or_else(|| panic!("unknown operation {op:?}")).1;
            Mutation { op, key: Bytes::copy_from_slice(key.as_bytes()), value: Bytes::copy_from_slice(value.as_bytes()), assertion }
        })
        .collect()
}

//! Runs a script against a store over the engine in memory, on a clock that scripts move.
//!
//! Timestamps are given by the script: `begin T1 10` makes T1 start at 10, `@20` is a read at 20. A physical millisecond has 2^18 timestamps,
//! so small numbers are all of the first one; times to live count from there.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use base::TimeStamp;
use bytes::Bytes;
use engine::{CommitOptions, CommitQueue, MemEngine};
use env::{Env, ManualClock, SeededRng, TokioSpawn};
use parking_lot::Mutex;
use proto::kvrpcpb::{
    Assertion, BatchRollbackRequest, CheckTxnStatusRequest, CommitRequest, GetRequest, KeyError, Mutation, Op, PessimisticLockRequest,
    PessimisticLockResponse, PessimisticRollbackRequest, PrewriteRequest, ResolveLockRequest, ScanLockRequest, TxnHeartBeatRequest,
    prewrite_request::PessimisticAction,
};
use txn::{Storage, StorageOptions};

/// Runs all blocks; answers the script with its outputs replaced.
pub async fn run(text: &str) -> String {
    let mut world = World::new();
    let mut out = Vec::new();
    for block in text.trim_end().split("\n\n") {
        let lines: Vec<&str> = block.lines().take_while(|line| *line != "----").collect();
        let mut answered = lines.join("\n");
        let commands: Vec<&str> = lines.iter().copied().filter(|line| !line.starts_with('#')).collect();
        if !commands.is_empty() {
            answered.push_str("\n----");
            for command in commands {
                for line in world.run(command).await {
                    answered.push('\n');
                    answered.push_str(&line);
                }
            }
        }
        out.push(answered);
    }
    out.join("\n\n") + "\n"
}

/// Names of transactions by their start.
#[derive(Clone, Default)]
struct Names(BTreeMap<u64, String>);

struct World {
    storage: Storage<MemEngine>,
    clock: ManualClock,
    names: Names,
    starts: BTreeMap<String, u64>,
    /// What background commands have answered since it was last shown.
    news: Arc<Mutex<Vec<String>>>,
    waiting: usize,
}

/// The words of a command: plain ones and `name=value` options.
struct Words<'a> {
    plain: Vec<&'a str>,
    options: BTreeMap<&'a str, &'a str>,
}

impl<'a> Words<'a> {
    fn new(command: &'a str) -> Self {
        let (options, plain): (Vec<&str>, Vec<&str>) = command.split_whitespace().skip(1).partition(|word| word.starts_with('-'));
        let options = options.into_iter().map(|word| word[1..].split_once('=').unwrap_or((&word[1..], ""))).collect();
        Self { plain, options }
    }

    fn flag(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.options.get(name).map(|value| value.parse().unwrap())
    }
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

impl Names {
    fn name(&self, start_ts: u64) -> String {
        self.0.get(&start_ts).cloned().unwrap_or_else(|| start_ts.to_string())
    }

    fn key_error(&self, error: &KeyError) -> String {
        let text = |key: &Bytes| key.escape_ascii().to_string();
        match error {
            KeyError { locked: Some(lock), .. } => format!("{} is locked by {}", text(&lock.key), self.name(lock.lock_version)),
            KeyError { conflict: Some(conflict), .. } => {
                format!(
                    "write conflict on {} with {} committed at {}",
                    text(&conflict.key),
                    self.name(conflict.conflict_ts),
                    conflict.conflict_commit_ts
                )
            }
            KeyError { already_exist: Some(exists), .. } => format!("{} exists", text(&exists.key)),
            KeyError { deadlock: Some(deadlock), .. } => {
                let edge = |entry: &proto::deadlock::WaitForEntry| format!("{}→{}", self.name(entry.txn), self.name(entry.wait_for_txn));
                format!("deadlock: {}", deadlock.wait_chain.iter().map(edge).collect::<Vec<_>>().join(" "))
            }
            KeyError { commit_ts_expired: Some(expired), .. } => {
                format!("commit at {} is below min_commit_ts {}", expired.attempted_commit_ts, expired.min_commit_ts)
            }
            KeyError { txn_not_found: Some(_), .. } => "transaction not found".to_owned(),
            KeyError { txn_lock_not_found: Some(lost), .. } => format!("lock on {} not found", text(&lost.key)),
            error => error.abort.clone(),
        }
    }
}

impl World {
    fn new() -> Self {
        let clock = ManualClock::new(0);
        let env = Env::new(Arc::new(clock.clone()), Arc::new(SeededRng::new(1)), Arc::new(TokioSpawn));
        let engine = MemEngine::new();
        let queue = CommitQueue::start(engine.clone(), CommitOptions::default()).unwrap();
        let options = StorageOptions::new(env, TimeStamp(1), Arc::new(AtomicU64::new(0)));
        let storage = Storage::open(engine, queue, options).unwrap();
        Self { storage, clock, names: Names::default(), starts: BTreeMap::new(), news: Arc::default(), waiting: 0 }
    }

    /// Lets background commands run until nothing changes any more.
    async fn settle(&mut self, mut out: Vec<String>) -> Vec<String> {
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        let mut news = std::mem::take(&mut *self.news.lock());
        self.waiting -= news.len();
        news.sort();
        out.extend(news);
        out
    }

    async fn run(&mut self, command: &str) -> Vec<String> {
        let words = Words::new(command);
        let verb = command.split_whitespace().next().unwrap();
        let out = match verb {
            "begin" => {
                let start_ts = words.plain[1].parse().unwrap();
                self.names.0.insert(start_ts, words.plain[0].to_owned());
                self.starts.insert(words.plain[0].to_owned(), start_ts);
                vec![]
            }
            "clock" => {
                self.clock.advance(Duration::from_millis(words.plain[0].parse().unwrap()));
                vec![]
            }
            "lock" => self.lock(&words).await,
            "prewrite" => self.prewrite(&words).await,
            "get" => self.get(&words).await,
            "locks" => self.locks().await,
            "waits" => self.waits(),
            "store_locks" => vec![format!("{} written", self.storage.store_locks().await.unwrap())],
            "take_locks_again" => {
                self.storage.take_locks_again();
                vec![]
            }
            _ => self.simple(verb, &words).await,
        };
        self.settle(out).await
    }

    async fn lock(&mut self, words: &Words<'_>) -> Vec<String> {
        let start_ts = self.starts[words.plain[0]];
        let keys = &words.plain[1..];
        let mutation = |key: &&str| Mutation {
            op: Op::PessimisticLock as i32,
            key: bytes(key),
            value: Bytes::new(),
            assertion: if words.flag("new") { Assertion::NotExist } else { Assertion::None } as i32,
        };
        let request = PessimisticLockRequest {
            mutations: keys.iter().map(mutation).collect(),
            primary_lock: bytes(words.options.get("primary").unwrap_or(&keys[0])),
            start_version: start_ts,
            for_update_ts: words.number("at").unwrap_or(start_ts),
            lock_ttl: words.number("ttl").unwrap_or(1_000_000),
            wait_timeout: if words.flag("nowait") { -1 } else { words.number("wait").unwrap_or(50_000) as i64 },
            return_values: true,
            wake_up_mode: i32::from(words.flag("force")),
            ..Default::default()
        };
        let (storage, news, names) = (self.storage.clone(), self.news.clone(), self.names.clone());
        let name = words.plain[0].to_owned();
        self.waiting += 1;
        let task = tokio::spawn(async move {
            let line = match storage.pessimistic_lock(&request).await {
                Err(error) => error.to_string(),
                Ok(response) => match response.errors.first() {
                    Some(error) => names.key_error(error),
                    None => format!("locked {}", show_locked(&response)),
                },
            };
            news.lock().push(format!("{name}: {line}"));
        });
        // A lock in the engine takes the commit thread's time to be renewed.
        if words.flag("written") {
            task.await.unwrap();
        }
        vec![]
    }

    async fn prewrite(&mut self, words: &Words<'_>) -> Vec<String> {
        let start_ts = self.starts[words.plain[0]];
        let pairs = &words.plain[1..];
        let mutation = |pair: &&str| {
            let (op, key, value) = match pair.split_once('=') {
                None => (Op::Lock, *pair, ""),
                Some((key, "-")) => (Op::Del, key, ""),
                Some((key, value)) if words.flag("insert") => (Op::Insert, key, value),
                Some((key, value)) => (Op::Put, key, value),
            };
            Mutation { op: op as i32, key: bytes(key), value: bytes(value), assertion: 0 }
        };
        let mutations: Vec<Mutation> = pairs.iter().map(mutation).collect();
        let primary = words.options.get("primary").map_or(mutations[0].key.clone(), |key| bytes(key));
        let secondaries = mutations.iter().map(|mutation| mutation.key.clone()).filter(|key| *key != primary).collect();
        let pessimistic = words.flag("pessimistic");
        let request = PrewriteRequest {
            pessimistic_actions: vec![PessimisticAction::DoPessimisticCheck as i32; if pessimistic { mutations.len() } else { 0 }],
            for_update_ts: if pessimistic { words.number("at").unwrap_or(start_ts) } else { 0 },
            mutations,
            primary_lock: primary,
            start_version: start_ts,
            lock_ttl: words.number("ttl").unwrap_or(1_000_000),
            min_commit_ts: words.number("min").unwrap_or(0),
            max_commit_ts: words.number("max").unwrap_or(0),
            try_one_pc: words.flag("1pc"),
            use_async_commit: words.flag("async"),
            secondaries: if words.flag("async") { secondaries } else { vec![] },
            ..Default::default()
        };
        match self.storage.prewrite(&request).await {
            Err(error) => vec![error.to_string()],
            Ok(response) if !response.errors.is_empty() => response.errors.iter().map(|error| self.names.key_error(error)).collect(),
            Ok(response) if response.one_pc_commit_ts > 0 => vec![format!("committed at {}", response.one_pc_commit_ts)],
            Ok(response) if response.min_commit_ts > 0 => vec![format!("prewritten, min_commit_ts {}", response.min_commit_ts)],
            Ok(_) => vec!["prewritten".to_owned()],
        }
    }

    async fn get(&mut self, words: &Words<'_>) -> Vec<String> {
        let version = match words.plain.get(1) {
            Some(at) => at.trim_start_matches('@').parse().unwrap(),
            None => u64::MAX,
        };
        let request = GetRequest { context: None, key: bytes(words.plain[0]), version };
        match self.storage.get(request).await {
            Err(error) => vec![error.to_string()],
            Ok(response) => vec![match response.error {
                Some(error) => self.names.key_error(&error),
                None if response.not_found => "none".to_owned(),
                None => response.value.escape_ascii().to_string(),
            }],
        }
    }

    async fn locks(&mut self) -> Vec<String> {
        let request = ScanLockRequest { max_version: u64::MAX - 1, ..Default::default() };
        let locks = self.storage.scan_lock(request).await.unwrap().locks;
        let (memory, stored) = self.storage.lock_counts();
        let mut lines = vec![format!("{memory} in memory, {stored} stored")];
        lines.extend(locks.iter().map(|lock| {
            let kind = Op::try_from(lock.lock_type).unwrap();
            format!(
                "{} {kind:?} of {}, primary {}",
                lock.key.escape_ascii(),
                self.names.name(lock.lock_version),
                lock.primary_lock.escape_ascii()
            )
        }));
        lines
    }

    fn waits(&self) -> Vec<String> {
        let mut edges: Vec<String> = self
            .storage
            .lock_waits()
            .into_iter()
            .map(|edge| {
                format!("{} waits for {} on {}", self.names.name(edge.waiter.0), self.names.name(edge.holder.0), edge.key.escape_ascii())
            })
            .collect();
        edges.sort();
        edges
    }

    async fn simple(&mut self, verb: &str, words: &Words<'_>) -> Vec<String> {
        let start_version = self.starts.get(words.plain[0]).copied().unwrap_or(0);
        let keys: Vec<Bytes> = words.plain[1..].iter().map(|key| bytes(key)).collect();
        let number = |name: &str| words.number(name).unwrap_or(0);
        let error = match verb {
            "commit" => {
                let request = CommitRequest { start_version, keys, commit_version: number("at"), ..Default::default() };
                self.storage.commit(request).await.unwrap().error
            }
            "rollback" => {
                let request = BatchRollbackRequest { start_version, keys, ..Default::default() };
                self.storage.batch_rollback(request).await.unwrap().error
            }
            "unlock" => {
                let for_update_ts = words.number("at").unwrap_or(u64::MAX);
                let request = PessimisticRollbackRequest { start_version, keys, for_update_ts, ..Default::default() };
                self.storage.pessimistic_rollback(request).await.unwrap().errors.pop().map(Box::new)
            }
            "resolve" => {
                let request = ResolveLockRequest { start_version, commit_version: number("at"), keys, ..Default::default() };
                self.storage.resolve_lock(request).await.unwrap().error
            }
            "beat" => {
                let request = TxnHeartBeatRequest {
                    start_version,
                    primary_lock: keys[0].clone(),
                    advise_lock_ttl: number("ttl"),
                    ..Default::default()
                };
                self.storage.txn_heart_beat(request).await.unwrap().error
            }
            "status" => return self.status(start_version, keys[0].clone(), words).await,
            "floor" => {
                let safe_point = TimeStamp(words.plain[0].parse().unwrap());
                self.storage.raise_write_floor(safe_point).await;
                return match self.storage.publish_safe_point(safe_point).await {
                    Ok(()) => vec![],
                    Err(error) => vec![error.to_string()],
                };
            }
            unknown => panic!("unknown command {unknown}"),
        };
        error.map(|error| self.names.key_error(&error)).into_iter().collect()
    }

    async fn status(&mut self, lock_ts: u64, primary_key: Bytes, words: &Words<'_>) -> Vec<String> {
        let request = CheckTxnStatusRequest {
            primary_key,
            lock_ts,
            caller_start_ts: words.number("caller").unwrap_or(0),
            current_ts: TimeStamp::compose(words.number("now_ms").unwrap_or(0), 0).0,
            rollback_if_not_exist: words.flag("rollback"),
            resolving_pessimistic_lock: words.flag("pessimistic"),
            ..Default::default()
        };
        let response = self.storage.check_txn_status(request).await.unwrap();
        let action = response.action();
        vec![match response {
            response if response.error.is_some() => self.names.key_error(&response.error.unwrap()),
            response if response.commit_version > 0 => format!("committed at {}", response.commit_version),
            response if response.lock_ttl > 0 => format!("alive, {action:?}"),
            _ => format!("rolled back, {action:?}"),
        }]
    }
}

fn show_locked(response: &PessimisticLockResponse) -> String {
    let values = response.values.iter().zip(&response.not_founds).map(|(value, absent)| (value, !absent, 0));
    let forced = response.results.iter().map(|result| (&result.value, result.existence, result.locked_with_conflict_ts));
    let show = |(value, exists, conflict): (&Bytes, bool, u64)| {
        let value = if exists { value.escape_ascii().to_string() } else { "none".to_owned() };
        if conflict > 0 { format!("{value} (committed at {conflict})") } else { value }
    };
    values.map(show).chain(forced.map(show)).collect::<Vec<_>>().join(" ")
}

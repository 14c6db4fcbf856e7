//! One suite for both engines: what the layers above rely on.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use engine::{
    Cf, CommitOptions, CommitQueue, Decision, DiskGuard, DiskGuardOptions, Engine, EngineConfig, EngineIter, EngineRead, Error, GcFilter,
    IterOptions, MemEngine, ReadTier, RocksEngine, Room, SpaceUse, WriteBatch,
};
use proptest::prelude::*;

/// Runs a test body against both engines.
macro_rules! on_both_engines {
    (fn $name:ident($engine:ident, $filter:ident) $body:block) => {
        mod $name {
            use super::*;

            fn check(#[allow(unused_variables)] $engine: impl Engine, #[allow(unused_variables)] $filter: GcFilter) {
                $body
            }

            #[test]
            fn memory() {
                let filter = value_is_the_timestamp_it_dies_at();
                check(MemEngine::with_filter(filter.clone()), filter);
            }

            #[test]
            fn rocks() {
                let dir = tempfile::tempdir().expect("temporary directory");
                let filter = value_is_the_timestamp_it_dies_at();
                check(RocksEngine::open_with_filter(dir.path(), &EngineConfig::default(), filter.clone()).expect("opens"), filter);
            }
        }
    };
}

fn value_is_the_timestamp_it_dies_at() -> GcFilter {
    GcFilter::new(|_, _, value, safe_point| match std::str::from_utf8(value).ok().and_then(|text| text.parse::<u64>().ok()) {
        Some(dies_at) if dies_at <= safe_point => Decision::Remove,
        Some(_) => Decision::Keep,
        None => Decision::Undecodable,
    })
}

fn put(engine: &impl Engine, cf: Cf, key: &str, value: &str) {
    let mut batch = WriteBatch::new();
    batch.put(cf, key.as_bytes(), value.as_bytes());
    engine.write(batch, false).expect("writes");
}

fn get(source: &impl EngineRead, cf: Cf, key: &str) -> Option<String> {
    let value = source.get(cf, key.as_bytes(), ReadTier::Any).expect("reads");
    value.map(|value| String::from_utf8_lossy(&value).into_owned())
}

fn keys(source: &impl EngineRead, cf: Cf, lower: Option<&str>, upper: Option<&str>, reverse: bool) -> Vec<String> {
    let bound = |key: Option<&str>| key.map(|key| key.as_bytes().to_vec());
    let mut cursor = source.iter(cf, IterOptions { lower: bound(lower), upper: bound(upper), ..IterOptions::default() }).expect("iterates");
    if reverse {
        cursor.seek_to_last()
    } else {
        cursor.seek_to_first()
    }
    let mut keys = Vec::new();
    while cursor.valid() {
        keys.push(String::from_utf8_lossy(cursor.key()).into_owned());
        if reverse { cursor.prev() } else { cursor.next() }
    }
    cursor.status().expect("ends well");
    keys
}

on_both_engines!(fn a_batch_spans_column_families_and_later_operations_win(engine, filter) {
    let mut batch = WriteBatch::new();
    batch.put(Cf::Data, b"a", b"1");
    batch.put(Cf::Lock, b"a", b"lock");
    batch.put(Cf::Data, b"a", b"2");
    batch.delete(Cf::Lock, b"a");
    batch.put_parts(Cf::Meta, b"m", &[b"x", b"y"]);
    engine.write(batch, true).expect("writes");
    assert_eq!((get(&engine, Cf::Data, "a"), get(&engine, Cf::Lock, "a")), (Some("2".into()), None));
    assert_eq!((get(&engine, Cf::Meta, "m"), get(&engine, Cf::History, "a")), (Some("xy".into()), None));
});

on_both_engines!(fn snapshots_and_cursors_do_not_change(engine, filter) {
    put(&engine, Cf::Data, "a", "1");
    put(&engine, Cf::Data, "b", "1");
    let snapshot = engine.snapshot();
    let mut cursor = engine.iter(Cf::Data, IterOptions::default()).expect("iterates");
    let mut batch = WriteBatch::new();
    batch.put(Cf::Data, b"a", b"2");
    batch.delete(Cf::Data, b"b");
    batch.put(Cf::Data, b"c", b"2");
    engine.write(batch, false).expect("writes");
    assert_eq!(get(&snapshot, Cf::Data, "a"), Some("1".into()));
    assert_eq!(keys(&snapshot, Cf::Data, None, None, false), ["a", "b"]);
    assert_eq!(keys(&engine, Cf::Data, None, None, false), ["a", "c"]);
    cursor.seek(b"b");
    assert!(cursor.valid() && cursor.key() == b"b" && cursor.value() == b"1");
    drop(snapshot);
    put(&engine, Cf::Data, "a", "3");
    assert_eq!(get(&engine, Cf::Data, "a"), Some("3".into()));
});

on_both_engines!(fn cursors_keep_their_bounds_in_both_directions(engine, filter) {
    for key in ["a", "b", "c", "d"] {
        put(&engine, Cf::Data, key, key);
    }
    assert_eq!(keys(&engine, Cf::Data, Some("b"), Some("d"), false), ["b", "c"]);
    assert_eq!(keys(&engine, Cf::Data, Some("b"), Some("d"), true), ["c", "b"]);
    assert_eq!(keys(&engine, Cf::Data, Some("bb"), None, true), ["d", "c"]);
    assert_eq!(keys(&engine, Cf::History, None, None, true), [""; 0]);
    let mut cursor = engine.iter(Cf::Data, IterOptions { upper: Some(b"d".to_vec()), ..IterOptions::default() }).expect("iterates");
    cursor.seek_for_prev(b"bb");
    assert_eq!(cursor.key(), b"b");
    cursor.prev();
    assert_eq!(cursor.key(), b"a");
    cursor.prev();
    assert!(!cursor.valid());
    cursor.seek(b"cc");
    assert!(!cursor.valid());
    cursor.seek_for_prev(b"z");
    assert_eq!(cursor.key(), b"c");
});

on_both_engines!(fn a_destroyed_range_is_gone_from_every_region_local_family(engine, filter) {
    for cf in Cf::ALL {
        put(&engine, cf, "a", "1");
        put(&engine, cf, "b", "1");
        put(&engine, cf, "c", "1");
    }
    engine.flush().expect("flushes");
    engine.unsafe_destroy_range(b"a", b"c").expect("destroys");
    for cf in Cf::REGION_LOCAL {
        assert_eq!(keys(&engine, cf, None, None, false), ["c"], "{cf}");
    }
    assert_eq!(keys(&engine, Cf::Meta, None, None, false), ["a", "b", "c"]);
});

on_both_engines!(fn compaction_collects_what_the_filter_says_and_keeps_what_it_cannot_read(engine, filter) {
    let long = format!("{:0>6000}", 60);
    for (key, value) in [("a", "10"), ("b", "50"), ("c", "what"), ("long", &long)] {
        put(&engine, Cf::History, key, value);
    }
    put(&engine, Cf::Lock, "a", "10");
    let compact = || {
        engine.flush().expect("flushes");
        Cf::ALL.iter().for_each(|cf| engine.compact_range(*cf, None, None).expect("compacts"));
    };
    compact();
    assert_eq!(keys(&engine, Cf::History, None, None, false), ["a", "b", "c", "long"]);
    filter.safe_point.store(49, Ordering::Release);
    compact();
    assert_eq!(keys(&engine, Cf::History, None, None, false), ["b", "c", "long"]);
    filter.safe_point.store(60, Ordering::Release);
    compact();
    assert_eq!(keys(&engine, Cf::History, None, None, false), ["c"]);
    assert_eq!(keys(&engine, Cf::Lock, None, None, false), ["a"], "locks are never collected");
    assert!(filter.counters.undecodable.load(Ordering::Relaxed) >= 2);
    assert_eq!(filter.counters.removed[Cf::History.index()].load(Ordering::Relaxed), 3);
});

on_both_engines!(fn sizes_are_about_right(engine, filter) {
    for n in 0..1000 {
        put(&engine, Cf::Data, &format!("{n:04}"), &"x".repeat(100));
    }
    engine.flush().expect("flushes");
    let all = engine.approximate_size(Cf::Data, b"", b"a").expect("sizes");
    assert!(all > 1000, "{all}");
    assert_eq!(engine.approximate_size(Cf::Data, b"a", b"").expect("sizes"), 0);
    assert!(engine.disk_stats().estimated_keys[Cf::Data.index()] >= 1000);
});

on_both_engines!(fn the_commit_queue_applies_every_batch_once_and_in_order(engine, filter) {
    let queue = CommitQueue::start(engine.clone(), CommitOptions::default()).expect("starts");
    let done = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (queue, done) = (queue.clone(), done.clone());
            scope.spawn(move || {
                for n in 0..200 {
                    let mut batch = WriteBatch::new();
                    batch.put(Cf::Data, format!("{thread}").as_bytes(), format!("{n}").as_bytes());
                    batch.put(Cf::Data, format!("{thread}/{n}").as_bytes(), b"");
                    let done = done.clone();
                    queue.submit(batch, move |result| {
                        result.expect("commits");
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        }
    });
    queue.commit_blocking(WriteBatch::new()).expect("everything before it is written");
    assert_eq!(done.load(Ordering::Relaxed), 800);
    for thread in 0..4 {
        assert_eq!(get(&engine, Cf::Data, &format!("{thread}")), Some("199".into()));
    }
    assert_eq!(keys(&engine, Cf::Data, None, None, false).len(), 804);
    let metrics = queue.metrics();
    assert_eq!((metrics.batches.load(Ordering::Relaxed), metrics.queued_bytes.load(Ordering::Relaxed)), (801, 0));
    queue.close();
    assert!(matches!(queue.commit_blocking(WriteBatch::new()), Err(Error::ShutDown)));
});

/// Polls a future on this thread, sleeping until it is woken.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(answer) => return answer,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn a_commit_can_be_awaited() {
    let engine = MemEngine::new();
    let queue = CommitQueue::start(engine.clone(), CommitOptions::default()).expect("starts");
    let mut batch = WriteBatch::new();
    batch.put(Cf::Data, b"a", b"1");
    wait_for(queue.commit(batch)).expect("commits");
    assert_eq!(get(&engine, Cf::Data, "a"), Some("1".into()));
}

#[test]
fn a_full_disk_refuses_all_but_what_is_essential() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let options = DiskGuardOptions { reserve_bytes: 0, needed_bytes: u64::MAX / 4 };
    let guard = Arc::new(DiskGuard::open(dir.path(), Some(options)).expect("opens"));
    let engine = MemEngine::new();
    let queue = CommitQueue::start(engine.clone(), CommitOptions { disk_guard: Some(guard), ..CommitOptions::default() }).expect("starts");
    let batch = |key: &str| {
        let mut batch = WriteBatch::new();
        batch.put(Cf::Data, key.as_bytes(), b"1");
        batch
    };
    assert!(matches!(queue.commit_blocking(batch("a")), Err(Error::DiskFull { .. })));
    let (sender, receiver) = std::sync::mpsc::channel();
    for (space, key) in [(SpaceUse::Frees, "a"), (SpaceUse::Essential, "b")] {
        let sender = sender.clone();
        queue.submit_as(space, batch(key), move |result| sender.send(result).expect("is received"));
    }
    assert!(matches!(receiver.recv().expect("is answered"), Err(Error::DiskFull { .. })));
    receiver.recv().expect("is answered").expect("is let through");
    assert_eq!(keys(&engine, Cf::Data, None, None, false), ["b"]);
    assert_eq!(queue.metrics().refused_disk_full.load(Ordering::Relaxed), 2);
    assert!(queue.poison().is_none(), "a full disk is no failure");
}

#[test]
fn compactions_are_not_begun_where_they_would_not_fit() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let probe = DiskGuardOptions { reserve_bytes: 0, needed_bytes: 1 };
    let available = DiskGuard::open(dir.path(), Some(probe)).expect("opens").available_bytes();
    let filter = value_is_the_timestamp_it_dies_at();
    filter.safe_point.store(10, Ordering::Release);
    let open = |options| RocksEngine::open_guarded(dir.path(), &EngineConfig::default(), filter.clone(), Some(options)).expect("opens");
    let flush = |engine: &RocksEngine, key: &str| {
        put(engine, Cf::Data, key, "10");
        engine.flush().expect("flushes, whatever there is room for");
    };
    {
        // The floor alone is an eighth of what is needed: more than there is.
        let (engine, guard) = open(DiskGuardOptions { reserve_bytes: 0, needed_bytes: available.saturating_mul(16) });
        assert_eq!(guard.room(), Room::Exhausted);
        assert!(engine.is_short_of_space());
        flush(&engine, "a");
        flush(&engine, "b");
        engine.compact_range(Cf::Data, None, None).expect("is refused without a word");
        assert_eq!(keys(&engine, Cf::Data, None, None, false), ["a", "b"]);
        // Files are still made and given back.
        engine.unsafe_destroy_range(b"b", b"c").expect("destroys");
        assert_eq!(keys(&engine, Cf::Data, None, None, false), ["a"]);
    }
    let (engine, guard) = open(DiskGuardOptions { reserve_bytes: 1 << 20, needed_bytes: 1 << 20 });
    assert_eq!(guard.room(), Room::Ample);
    assert!(!engine.is_short_of_space());
    engine.compact_range(Cf::Data, None, None).expect("compacts");
    assert!(keys(&engine, Cf::Data, None, None, false).is_empty(), "a compaction that fits collects garbage");
}

#[test]
fn a_reserve_left_by_a_killed_process_is_given_back_before_the_engine_opens() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let reserve = dir.path().join("RESERVE");
    let open = |needed_bytes| {
        let options = DiskGuardOptions { reserve_bytes: 1 << 20, needed_bytes };
        RocksEngine::open_guarded(dir.path(), &EngineConfig::default(), value_is_the_timestamp_it_dies_at(), Some(options)).expect("opens")
    };
    let roomy = open(1 << 20);
    assert_eq!(std::fs::metadata(&reserve).expect("is there").len(), 1 << 20);
    drop(roomy);
    std::fs::write(&reserve, [0; 4096]).expect("writes");
    let full = open(u64::MAX / 4);
    assert!(!reserve.exists());
    drop(full);
}

#[test]
fn what_a_write_buffer_holds_is_not_available_until_it_is_flushed() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let filter = value_is_the_timestamp_it_dies_at();
    let probe = DiskGuardOptions { reserve_bytes: 0, needed_bytes: 1 };
    let (engine, guard) = RocksEngine::open_guarded(dir.path(), &EngineConfig::default(), filter, Some(probe)).expect("opens");
    let held = || {
        assert!(!engine.is_short_of_space());
        DiskGuard::open(&dir.path().join("db"), Some(probe)).expect("opens").available_bytes().saturating_sub(guard.available_bytes())
    };
    for n in 0..200 {
        put(&engine, Cf::Data, &format!("{n:04}"), &"x".repeat(100_000));
    }
    // Tests beside this one take and give back space between the two looks at the disk.
    let becomes = |expected: std::ops::Range<u64>| {
        let mut last = 0;
        let found = (0..100).any(|_| {
            last = held();
            let is_so = expected.contains(&last);
            if !is_so {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            is_so
        });
        assert!(found, "{last} bytes are said to be held, not {expected:?}");
    };
    becomes(20_000_000..40_000_000);
    engine.flush().expect("flushes");
    becomes(0..15_000_000);
}

#[test]
fn what_was_synced_is_there_after_reopening() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let long = "v".repeat(10_000);
    for round in 0..3 {
        let engine = RocksEngine::open(dir.path(), &EngineConfig::default()).expect("opens");
        for earlier in 0..round {
            assert_eq!(get(&engine, Cf::Data, &format!("k{earlier}")).as_deref(), Some(long.as_str()));
        }
        let mut batch = WriteBatch::new();
        batch.put(Cf::Data, format!("k{round}").as_bytes(), long.as_bytes());
        engine.write(batch, true).expect("writes");
        if round == 1 {
            engine.flush().expect("flushes");
        }
    }
}

/// Rule 12: values over `min-blob-size` lie in blob files, are moved and collected like others, and give their space back.
#[test]
fn rule_12_large_values_lie_in_blob_files_and_are_collected_there() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let filter = value_is_the_timestamp_it_dies_at();
    let blob_bytes = || -> u64 {
        let files = std::fs::read_dir(dir.path().join("db")).expect("readable").filter_map(|entry| entry.ok());
        let blobs = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "blob"));
        blobs.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    };
    let engine = RocksEngine::open_with_filter(dir.path(), &EngineConfig::default(), filter.clone()).expect("opens");
    let compact = || {
        engine.flush().expect("flushes");
        engine.compact_range(Cf::History, None, None).expect("compacts");
    };
    let large = |dies_at: u32| format!("{dies_at:0>60000}");
    for key in 0..20 {
        put(&engine, Cf::History, &format!("{key:02}"), &large(key + 1));
        put(&engine, Cf::Data, &format!("{key:02}"), "small");
    }
    compact();
    // The column family keeps small values beside their keys.
    assert!(blob_bytes() >= 1_000, "{} bytes in blob files", blob_bytes());
    let full = engine.disk_stats().live_bytes;
    assert_eq!(get(&engine, Cf::History, "07"), Some(large(8)));
    filter.safe_point.store(15, Ordering::Release);
    compact();
    assert_eq!(keys(&engine, Cf::History, None, None, false), ["15", "16", "17", "18", "19"]);
    assert_eq!(get(&engine, Cf::History, "17"), Some(large(18)));
    drop(engine);
    let engine = RocksEngine::open_with_filter(dir.path(), &EngineConfig::default(), filter).expect("opens again");
    assert_eq!(get(&engine, Cf::History, "19"), Some(large(20)));
    assert!(engine.disk_stats().live_bytes < full, "{full} bytes before, {} after", engine.disk_stats().live_bytes);
}

#[test]
fn a_data_directory_in_use_names_the_process() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let first = RocksEngine::open(dir.path(), &EngineConfig::default()).expect("opens");
    match RocksEngine::open(dir.path(), &EngineConfig::default()) {
        Err(Error::InUse { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
        other => panic!("{:?}", other.err()),
    }
    drop(first);
    RocksEngine::open(dir.path(), &EngineConfig::default()).expect("opens once it is free");
}

#[test]
fn a_directory_of_another_format_is_refused() {
    let dir = tempfile::tempdir().expect("temporary directory");
    drop(RocksEngine::open(dir.path(), &EngineConfig::default()).expect("opens"));
    std::fs::write(dir.path().join("FORMAT"), "trine store format 7\n").expect("writes");
    match RocksEngine::open(dir.path(), &EngineConfig::default()) {
        Err(Error::FormatVersion { found, supported, .. }) => assert_eq!((found.as_str(), supported), ("7", 1)),
        other => panic!("{:?}", other.err()),
    }
    std::fs::remove_file(dir.path().join("FORMAT")).expect("removes");
    assert!(matches!(RocksEngine::open(dir.path(), &EngineConfig::default()), Err(Error::FormatVersion { .. })));
}

#[test]
fn a_cache_only_read_does_not_wait_for_the_disk() {
    let dir = tempfile::tempdir().expect("temporary directory");
    {
        let engine = RocksEngine::open(dir.path(), &EngineConfig::default()).expect("opens");
        for n in 0..10_000 {
            put(&engine, Cf::Data, &format!("{n:06}"), &"x".repeat(200));
        }
        engine.flush().expect("flushes");
    }
    let engine = RocksEngine::open(dir.path(), &EngineConfig::default()).expect("opens");
    let cache_only = |key: &str| engine.get(Cf::Data, key.as_bytes(), ReadTier::CacheOnly).map(|value| value.is_some());
    assert!(matches!(cache_only("005000"), Err(Error::WouldBlock)));
    let mut cursor = engine.iter(Cf::Data, IterOptions { tier: ReadTier::CacheOnly, ..IterOptions::default() }).expect("iterates");
    cursor.seek(b"009000");
    assert!(!cursor.valid() && matches!(cursor.status(), Err(Error::WouldBlock)));
    assert!(get(&engine, Cf::Data, "005000").is_some());
    assert!(matches!(cache_only("005000"), Ok(true)));
    assert!(matches!(cache_only("zzz"), Ok(false)), "outside every file");
}

#[test]
fn a_failed_write_poisons_the_queue_and_is_told_once() {
    #[derive(Clone)]
    struct Failing(MemEngine);
    impl EngineRead for Failing {
        type Value<'a> = engine::MemValue;
        type Iter = engine::MemIter;
        fn get(&self, cf: Cf, key: &[u8], tier: ReadTier) -> engine::Result<Option<engine::MemValue>> {
            self.0.get(cf, key, tier)
        }
        fn iter(&self, cf: Cf, options: IterOptions) -> engine::Result<engine::MemIter> {
            self.0.iter(cf, options)
        }
    }
    impl Engine for Failing {
        type Snapshot = engine::MemSnapshot;
        fn snapshot(&self) -> engine::MemSnapshot {
            self.0.snapshot()
        }
        fn write_ref(&self, batch: &WriteBatch, _sync: bool) -> engine::Result<()> {
            if batch.is_empty() {
                Err(Error::Corruption { what: "test", detail: "the disk broke".into() })
            } else {
                self.0.write_ref(batch, false)
            }
        }
        fn sync_log(&self) -> engine::Result<()> {
            Ok(())
        }
        fn flush(&self) -> engine::Result<()> {
            Ok(())
        }
        fn compact_range(&self, _: Cf, _: Option<&[u8]>, _: Option<&[u8]>) -> engine::Result<()> {
            Ok(())
        }
        fn delete_files_in_range(&self, _: Cf, _: &[u8], _: &[u8]) -> engine::Result<()> {
            Ok(())
        }
        fn ingest(&self, _: Cf, _: &[std::path::PathBuf]) -> engine::Result<()> {
            Ok(())
        }
        fn approximate_size(&self, _: Cf, _: &[u8], _: &[u8]) -> engine::Result<u64> {
            Ok(0)
        }
        fn disk_stats(&self) -> engine::DiskStats {
            engine::DiskStats::default()
        }
    }
    let engine = Failing(MemEngine::new());
    let told = Arc::new(AtomicU64::new(0));
    let counter = told.clone();
    let on_fatal = Box::new(move |_: &Error| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let queue = CommitQueue::start(engine.clone(), CommitOptions { on_fatal, ..CommitOptions::default() }).expect("starts");
    assert!(matches!(queue.commit_blocking(WriteBatch::new()), Err(Error::Poisoned { .. })));
    let mut good = WriteBatch::new();
    good.put(Cf::Data, b"a", b"1");
    assert!(matches!(queue.commit_blocking(good), Err(Error::Poisoned { .. })));
    assert_eq!((told.load(Ordering::Relaxed), get(&engine, Cf::Data, "a")), (1, None));
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    Delete(u8),
    DeleteRange(u8, u8),
    Flush,
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..20u8, any::<u8>()).prop_map(|(key, value)| Step::Put(key, value)),
        3 => (0..20u8).prop_map(Step::Delete),
        1 => (0..20u8, 0..20u8).prop_map(|(start, end)| Step::DeleteRange(start, end)),
        1 => Just(Step::Flush),
        1 => Just(Step::Snapshot),
    ]
}

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

fn content(source: &impl EngineRead) -> Content {
    let mut cursor = source.iter(Cf::Data, IterOptions::default()).expect("iterates");
    cursor.seek_to_first();
    let mut content = Content::new();
    while cursor.valid() {
        assert_eq!(source.get(Cf::Data, cursor.key(), ReadTier::Any).expect("reads").as_deref(), Some(cursor.value()));
        content.insert(cursor.key().to_vec(), cursor.value().to_vec());
        cursor.next();
    }
    content
}

fn check_against_a_map(engine: &impl Engine, steps: &[Step]) {
    let mut model = Content::new();
    let mut snapshots = Vec::new();
    for step in steps {
        let mut batch = WriteBatch::new();
        match step {
            Step::Put(key, value) => {
                batch.put(Cf::Data, &[*key], &[*value]);
                model.insert(vec![*key], vec![*value]);
            }
            Step::Delete(key) => {
                batch.delete(Cf::Data, &[*key]);
                model.remove(&vec![*key]);
            }
            Step::DeleteRange(start, end) => {
                batch.delete_range(Cf::Data, &[*start.min(end)], &[*end.max(start)]);
                model.retain(|key, _| key[0] < *start.min(end) || key[0] >= *start.max(end));
            }
            Step::Flush => engine.flush().expect("flushes"),
            Step::Snapshot => snapshots.push((engine.snapshot(), model.clone())),
        }
        engine.write(batch, false).expect("writes");
    }
    assert_eq!(content(engine), model);
    snapshots.iter().for_each(|(snapshot, model)| assert_eq!(content(snapshot), *model));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn engines_behave_like_a_map(steps in prop::collection::vec(step(), 0..60)) {
        check_against_a_map(&MemEngine::new(), &steps);
        let dir = tempfile::tempdir().expect("temporary directory");
        check_against_a_map(&RocksEngine::open(dir.path(), &EngineConfig::default()).expect("opens"), &steps);
    }
}

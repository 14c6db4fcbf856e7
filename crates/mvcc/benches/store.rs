//! What the store's hot paths cost, below the transaction layer: `cargo bench -p mvcc --bench store [rows]`.
//!
//! Rows are as sysbench has them: a key of 19 bytes, a value of about 200. Prints one line per path, in CPU time of the thread that works
//! (wall time says little on a shared machine); nothing is asserted.

use std::{
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use base::{KeyRange, TimeStamp};
use engine::{Cf, CommitOptions, CommitQueue, Engine, EngineConfig, EngineRead, ReadTier, RocksEngine, WriteBatch};
use mvcc::{
    LockPolicy, MvccReader, MvccTxn, ScanOptions, Scanner,
    steps::{self, AssertionLevel, CommitMode, Mutation, Op, PessimisticCheck, PrewriteProps, TxnMode},
};

const VALUE_BYTES: usize = 200;

fn key(row: u64) -> Vec<u8> {
    let mut key = b"t\x80\0\0\0\0\0\0\x42_r".to_vec();
    key.extend_from_slice(&(row | 1 << 63).to_be_bytes());
    key
}

/// Digits, as sysbench writes them: they compress to about half.
fn value(seed: u64) -> Vec<u8> {
    (0..VALUE_BYTES as u64).map(|at| b'0' + spread(seed.wrapping_add(at * 977), 10) as u8).collect()
}

/// A small generator: the benchmark needs spread, not quality.
fn spread(n: u64, rows: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) % rows
}

fn one_pc(engine: &RocksEngine, start_ts: u64, rows: impl Iterator<Item = u64>, value: &[u8]) -> WriteBatch {
    let (mut reader, mut txn) = (MvccReader::new(engine), MvccTxn::new());
    let props = PrewriteProps {
        start_ts: start_ts.into(),
        primary: bytes::Bytes::new(),
        mode: TxnMode::Optimistic,
        ttl_ms: 3000,
        txn_size: 1,
        min_commit_ts: TimeStamp::ZERO,
        assertion_level: AssertionLevel::Off,
        safe_point: TimeStamp::ZERO,
    };
    for row in rows {
        let mutation = Mutation { op: Op::Put, key: key(row).into(), value: value.to_vec().into(), assertion: Default::default() };
        steps::prewrite(&mut reader, &mut txn, &props, &CommitMode::OnePhase, &mutation, PessimisticCheck::Skip, &mut |_, _| {})
            .expect("prewrites");
    }
    steps::one_pc(&mut txn, TimeStamp::ZERO, false).expect("commits");
    txn.batch
}

/// The CPU time of this thread so far.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid structure to be filled.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn report(what: &str, count: u64, started: Duration) {
    println!("{what:<70} {:>9.2} µs", (cpu_time() - started).as_nanos() as f64 / 1000.0 / count as f64);
}

fn reads(engine: &RocksEngine, rows: u64, label: &str) {
    let gets = 300_000;
    for (what, policy) in [("get", LockPolicy::default()), ("get, no locks", LockPolicy::ignoring_locks())] {
        let started = cpu_time();
        let mut reader = MvccReader::new(engine);
        for n in 0..gets {
            black_box(reader.get_newest(&key(spread(n, rows)), &policy).expect("reads").expect("exists").len());
        }
        report(&format!("{what}, {label}"), gets, started);
    }
    let started = cpu_time();
    for n in 0..gets {
        black_box(engine.get(Cf::Data, &mvcc::encode_key(&key(spread(n, rows))), ReadTier::CacheOnly).expect("cached").is_some());
    }
    report(&format!("engine get alone, {label}"), gets, started);
    let scans = 20_000;
    for (what, ts) in [("scan of 100 rows, per scan", TimeStamp::MAX), ("same at an old timestamp, per scan", TimeStamp(3))] {
        let started = cpu_time();
        for n in 0..scans {
            let first = spread(n, rows - 100);
            let mut options = ScanOptions::new(KeyRange::new(key(first), key(first + 100)), ts);
            options.policy = LockPolicy::ignoring_locks();
            let mut scanner = Scanner::new(engine.snapshot(), options).expect("scans");
            let mut count = 0;
            while let Some((key, value)) = scanner.next().expect("scans") {
                black_box((key.len(), value.len()));
                count += 1;
            }
            assert_eq!(count, 100);
        }
        report(&format!("{what}, {label}"), scans, started);
    }
    let started = cpu_time();
    let mut scanner = Scanner::new(engine.snapshot(), ScanOptions::new(KeyRange::default(), TimeStamp::MAX)).expect("scans");
    let mut count = 0;
    while let Some((_, value)) = scanner.next().expect("scans") {
        black_box(value.len());
        count += 1;
    }
    report(&format!("full scan, per row, {label}"), count, started);
}

/// `in_flight` writers that each wait for their commit before the next; returns commits per second.
fn commits(engine: &RocksEngine, next_ts: &AtomicU64, rows: u64, in_flight: u64, time: Duration) {
    let queue = CommitQueue::start(engine.clone(), CommitOptions::default()).expect("starts");
    let (count, value) = (AtomicU64::new(0), value(7));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..in_flight {
            let (queue, count, value) = (queue.clone(), &count, &value);
            scope.spawn(move || {
                while started.elapsed() < time {
                    let n = next_ts.fetch_add(2, Ordering::Relaxed);
                    // Writers keep to rows of their own, as latches would make them.
                    let row = spread(n, rows / in_flight) * in_flight + writer;
                    queue.commit_blocking(one_pc(engine, n, std::iter::once(row), value)).expect("commits");
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let metrics = queue.metrics();
    let groups = metrics.groups.load(Ordering::Relaxed);
    println!(
        "synced one-row commits, {in_flight:>2} in flight: {:>8.0} a second, {:>6.1} µs a sync, {:.1} batches a group",
        count.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64(),
        metrics.write_nanos.load(Ordering::Relaxed) as f64 / 1000.0 / groups as f64,
        metrics.batches.load(Ordering::Relaxed) as f64 / groups as f64
    );
}

fn main() {
    let rows: u64 = std::env::args().filter_map(|arg| arg.parse().ok()).next().unwrap_or(400_000);
    let dir =
        tempfile::tempdir_in(std::env::var_os("BENCH_DIR").unwrap_or_else(|| std::env::temp_dir().into())).expect("temporary directory");
    let started = Instant::now();
    let engine = RocksEngine::open_with_filter(dir.path(), &EngineConfig::default(), mvcc::gc::filter()).expect("opens");
    println!("opening an empty directory {:?}, resident {} MiB", started.elapsed(), resident_mib());
    let started = cpu_time();
    for first in (0..rows).step_by(1000) {
        engine.write(one_pc(&engine, 1, first..first + 1000, &value(first)), false).expect("loads");
    }
    report("load, per row", rows, started);
    let engine = &engine;
    reads(engine, rows, "after loading");
    let settle = || {
        engine.flush().expect("flushes");
        Cf::ALL.iter().for_each(|cf| engine.compact_range(*cf, None, None).expect("compacts"));
    };
    settle();
    reads(engine, rows, "compacted");
    let next_ts = AtomicU64::new(10);
    for in_flight in [1, 8, 64] {
        commits(engine, &next_ts, rows, in_flight, Duration::from_secs(4));
    }
    for round in 0..5 {
        for first in (0..rows).step_by(1000) {
            let ts = next_ts.fetch_add(2, Ordering::Relaxed) + 100 * round;
            engine.write(one_pc(engine, ts, first..first + 1000, &value(first + round)), false).expect("updates");
        }
    }
    reads(engine, rows, "updated 5 times");
    settle();
    reads(engine, rows, "updated 5 times, compacted");
    println!("resident {} MiB; {:?}", resident_mib(), engine.disk_stats());
}

fn resident_mib() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok().and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    (pages.unwrap_or(0) * 4096) >> 20
}

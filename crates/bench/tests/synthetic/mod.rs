//! A result as `trine bench` could have measured it, made from curves and a seeded generator: two subjects, three workloads, five numbers of
//! threads, three repeats, twenty seconds each. Some runs have what reports must mark.

#![allow(dead_code)] // Every test binary uses another part.

use std::collections::BTreeMap;

use bench::result::{BenchResult, FORMAT, Histogram, Latency, Load, Machine, Part, ProcessUse, Run, Second, Subject, SyncLatency};
use bench::scenario::Report;

const THREADS: [u32; 5] = [1, 8, 16, 32, 64];
const REPEATS: u32 = 3;
const SECONDS: u32 = 20;

/// A workload's curve on one subject: `peak × threads ÷ (threads + half)`.
struct Curve {
    subject: &'static str,
    workload: &'static str,
    peak_qps: f64,
    half: f64,
    queries_per_transaction: f64,
    cpu_micros: f64,
}

const CURVES: [Curve; 6] = [
    Curve {
        subject: "trine",
        workload: "oltp_point_select",
        peak_qps: 58_000.0,
        half: 5.0,
        queries_per_transaction: 1.0,
        cpu_micros: 21.0,
    },
    Curve {
        subject: "mariadb",
        workload: "oltp_point_select",
        peak_qps: 41_000.0,
        half: 5.0,
        queries_per_transaction: 1.0,
        cpu_micros: 37.0,
    },
    Curve { subject: "trine", workload: "oltp_read_write", peak_qps: 21_500.0, half: 4.0, queries_per_transaction: 20.0, cpu_micros: 66.0 },
    Curve {
        subject: "mariadb",
        workload: "oltp_read_write",
        peak_qps: 20_900.0,
        half: 4.0,
        queries_per_transaction: 20.0,
        cpu_micros: 80.0,
    },
    Curve {
        subject: "trine",
        workload: "oltp_update_index",
        peak_qps: 15_000.0,
        half: 12.0,
        queries_per_transaction: 1.0,
        cpu_micros: 115.0,
    },
    Curve {
        subject: "mariadb",
        workload: "oltp_update_index",
        peak_qps: 17_500.0,
        half: 12.0,
        queries_per_transaction: 1.0,
        cpu_micros: 105.0,
    },
];

/// Random numbers that are the same every time (splitmix64).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// The whole result; `speed` multiplies the throughput of all read-write runs, `seed` changes the noise only.
pub fn result(seed: u64, speed: f64) -> BenchResult {
    let mut random = Random(seed);
    let mut runs = Vec::new();
    for repeat in 0..REPEATS {
        for threads in THREADS {
            for curve in &CURVES {
                let factor = if curve.workload == "oltp_read_write" { speed } else { 1.0 };
                runs.push(run(curve, threads, repeat, factor, &mut random));
            }
        }
    }
    blemish(&mut runs);
    BenchResult {
        format: FORMAT,
        scenario: "embedded-mariadb".to_string(),
        title: "Trine in one process beside MariaDB".to_string(),
        description: "Both are durable and have **the same data**; the unmodified `sysbench` drives them in turns. The counterpart of the \
                      [tables of single-node reports](https://example.org/report)."
            .to_string(),
        scenario_text:
            "title = \"Trine in one process beside MariaDB\"\nthreads = [1, 8, 16, 32, 64]\nseconds = 20\nrepeats = 3\n\n[data]\n\
                        tables = 4\nrows = 100000\n"
                .to_string(),
        report: Report::default(),
        started_at: "2026-11-22T14:30:00Z".to_string(),
        elapsed_seconds: 2_140.0,
        seed: 42,
        machine: machine(),
        drivers: vec!["sysbench 1.0.20".to_string()],
        subjects: vec![trine(), mariadb()],
        loads: vec![load("trine", 4.2, 3.6), load("mariadb", 4.0, 3.9)],
        runs,
    }
}

/// Three subjects with long names at four times as many threads, one of them without processor times.
pub fn wide() -> BenchResult {
    let mut result = result(5, 1.0);
    let mut third = result.subjects[0].clone();
    third.name = "trine 3+3+3 through HAProxy, one-phase commit off".to_string();
    let mut runs: Vec<Run> = result.runs.iter().filter(|run| run.subject == "trine").cloned().collect();
    for run in &mut runs {
        run.subject = third.name.clone();
        run.qps *= 0.6;
        run.tps *= 0.6;
        run.server_cpu_micros_per_query = None;
    }
    result.runs.extend(runs);
    result.subjects.push(third);
    for run in &mut result.runs {
        run.threads *= 4;
    }
    result
}

/// The same with TPC-C runs of one subject only, once each.
pub fn tpcc() -> BenchResult {
    let mut result = result(3, 1.0);
    let mut random = Random(9);
    result.subjects.truncate(1);
    result.loads.truncate(1);
    let curve = Curve { subject: "trine", workload: "tpcc", peak_qps: 9_000.0, half: 3.0, queries_per_transaction: 22.0, cpu_micros: 90.0 };
    result.runs = THREADS.iter().map(|&threads| run(&curve, threads, 0, 1.0, &mut random)).collect();
    for run in &mut result.runs {
        run.tpm_c = Some(run.tps * 60.0 * 0.45);
        run.parts = ["new_order", "payment", "order_status", "delivery", "stock_level"]
            .map(|name| Part { name: name.to_string(), count: run.transactions / 5, errors: 0, latency: run.latency })
            .into();
    }
    result
}

fn run(curve: &Curve, threads: u32, repeat: u32, factor: f64, random: &mut Random) -> Run {
    let wobble = 1.0 + 0.015 * random.normal();
    let qps = curve.peak_qps * f64::from(threads) / (f64::from(threads) + curve.half) * factor * wobble;
    let tps = qps / curve.queries_per_transaction;
    let mean_ms = f64::from(threads) / tps * 1000.0;
    let samples: Vec<f64> = (0..3_000).map(|_| mean_ms * 0.92 * (0.4 * random.normal()).exp()).collect();
    let histogram = histogram(&samples);
    let series = (1..=SECONDS).map(|second| {
        // A checkpoint now and then.
        let dip = if second % 9 == 4 && curve.workload != "oltp_point_select" { 0.55 } else { 1.0 };
        let rate = dip * (1.0 + 0.03 * random.normal());
        Second { second, tps: tps * rate, qps: qps * rate, p95_ms: histogram.quantile(0.95) / rate, errors: 0.0 }
    });
    let queries = (qps * f64::from(SECONDS)) as u64;
    Run {
        subject: curve.subject.to_string(),
        workload: curve.workload.to_string(),
        threads,
        repeat,
        drivers: 1,
        seconds: f64::from(SECONDS),
        queries,
        transactions: (tps * f64::from(SECONDS)) as u64,
        qps,
        tps,
        latency: Latency {
            min_ms: samples.iter().copied().fold(f64::MAX, f64::min),
            avg_ms: samples.iter().sum::<f64>() / samples.len() as f64,
            p50_ms: histogram.quantile(0.5),
            p95_ms: histogram.quantile(0.95),
            p99_ms: histogram.quantile(0.99),
            max_ms: samples.iter().copied().fold(0.0, f64::max),
        },
        series: series.collect(),
        histogram,
        server_cpu_micros_per_query: Some(curve.cpu_micros * (1.0 + 2.0 / f64::from(threads)) * (1.0 + 0.01 * random.normal())),
        processes: vec![ProcessUse {
            name: if curve.subject == "trine" { "trine" } else { "mariadbd" }.to_string(),
            cpu_seconds: queries as f64 * curve.cpu_micros / 1e6,
            resident_bytes: if curve.subject == "trine" { 610 << 20 } else { 720 << 20 } + u64::from(threads) * (1 << 20),
        }],
        driver_cores: 0.9 * f64::from(threads) / (f64::from(threads) + 6.0),
        steal_percent: 0.1,
        ..Run::default()
    }
}

/// What reports must mark: a driver at its limit, a neighbour on the machine, errors.
fn blemish(runs: &mut [Run]) {
    for run in runs {
        match (run.workload.as_str(), run.subject.as_str(), run.threads, run.repeat) {
            ("oltp_point_select", "trine", 64, _) => run.driver_bound = Some("sysbench used 0.97 of one core per process".to_string()),
            ("oltp_update_index", "mariadb", 16, 1) => run.steal_percent = 3.4,
            ("oltp_read_write", "mariadb", 64, 2) => run.errors = 7,
            _ => {}
        }
    }
}

/// Samples counted as sysbench does: buckets of equal width on a logarithmic scale, empty ones left out.
pub fn histogram(samples: &[f64]) -> Histogram {
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    for sample in samples {
        *counts.entry((sample.ln() / 0.018).ceil() as i32).or_default() += 1;
    }
    Histogram { buckets: counts.into_iter().map(|(bucket, count)| ((f64::from(bucket) * 0.018).exp(), count)).collect() }
}

fn strings<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn machine() -> Machine {
    Machine {
        cpu: "AMD EPYC 7B13".to_string(),
        cores: 2,
        memory_bytes: 23 << 30,
        kernel: "Linux 6.18.44".to_string(),
        os: "Debian GNU/Linux 12 (bookworm)".to_string(),
        kernel_settings: strings([("vm.swappiness", "60"), ("net.core.somaxconn", "4096")]),
        file_system: "ext4".to_string(),
        sync_micros: SyncLatency { p50: 210.0, p95: 1_430.0, max: 9_800.0 },
    }
}

fn trine() -> Subject {
    Subject {
        name: "trine".to_string(),
        version: "8.0.11-Trine-0.1.0".to_string(),
        commit: Some("24915f1".to_string()),
        topology: "embedded".to_string(),
        endpoints: vec!["127.0.0.1:4000".to_string()],
        network: "loopback".to_string(),
        configuration: strings([("trine", "trine --data-dir data --port 4000\n[storage]\nsync-log = true")]),
        set_up: vec!["SET GLOBAL max_connections = 1000".to_string()],
        durability: "synced".to_string(),
        isolation: "REPEATABLE-READ".to_string(),
        variables: strings([("transaction_isolation", "REPEATABLE-READ"), ("autocommit", "ON"), ("sync_binlog", "1")]),
        start_seconds: Some(0.1),
        idle_cpu_percent: Some(0.0),
        idle_memory_bytes: Some(36 << 20),
    }
}

fn mariadb() -> Subject {
    Subject {
        name: "mariadb".to_string(),
        version: "10.11.14-MariaDB".to_string(),
        commit: None,
        topology: "mariadb".to_string(),
        endpoints: vec!["127.0.0.1:3307".to_string()],
        network: "loopback".to_string(),
        configuration: strings([("mariadbd", "mariadbd --no-defaults --innodb-buffer-pool-size=2G --innodb-flush-log-at-trx-commit=1")]),
        set_up: vec!["SET GLOBAL max_connections = 1000".to_string()],
        durability: "synced".to_string(),
        isolation: "REPEATABLE READ".to_string(),
        variables: strings([
            ("transaction_isolation", "REPEATABLE-READ"),
            ("autocommit", "ON"),
            ("sync_binlog", "0"),
            ("innodb_flush_log_at_trx_commit", "1"),
        ]),
        start_seconds: Some(0.16),
        idle_cpu_percent: Some(0.1),
        idle_memory_bytes: Some(151 << 20),
    }
}

fn load(subject: &str, seconds: f64, cpu: f64) -> Load {
    Load {
        subject: subject.to_string(),
        data: "sysbench".to_string(),
        size: "4 tables × 100000 rows".to_string(),
        seconds,
        server_cpu_seconds: Some(cpu),
    }
}

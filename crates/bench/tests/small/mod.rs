//! A result small enough to be checked by hand: two subjects, one workload, two numbers of threads, three repeats.

#![allow(dead_code)] // Every test binary uses another part.

use std::collections::BTreeMap;

use bench::result::{BenchResult, FORMAT, Histogram, Latency, Load, Machine, ProcessUse, Run, Subject, SyncLatency};
use bench::scenario::Report;

/// A run of `w` with all its transactions in two buckets: 90 % at `latency_ms`, the rest at ten times that.
pub fn run(subject: &str, threads: u32, repeat: u32, qps: f64, latency_ms: f64) -> Run {
    Run {
        subject: subject.to_string(),
        workload: "w".to_string(),
        threads,
        repeat,
        drivers: 1,
        seconds: 10.0,
        queries: (qps * 10.0) as u64,
        transactions: 1_000,
        qps,
        tps: 100.0,
        latency: Latency {
            min_ms: latency_ms / 2.0,
            avg_ms: latency_ms * 1.9,
            p50_ms: latency_ms,
            p95_ms: latency_ms * 10.0,
            p99_ms: latency_ms * 10.0,
            max_ms: latency_ms * 10.0,
        },
        histogram: Histogram { buckets: vec![(latency_ms, 900), (latency_ms * 9.9, 1), (latency_ms * 10.0, 99)] },
        server_cpu_micros_per_query: Some(50.0),
        processes: vec![ProcessUse { name: "server".to_string(), cpu_seconds: 1.5, resident_bytes: 100 << 20 }],
        driver_cores: 0.5,
        ..Run::default()
    }
}

/// At 1 thread `new` is 20 % faster; at 8 threads its median is 2 % higher, less than the repeats lie apart.
pub fn result() -> BenchResult {
    let runs = [
        ("old", 1, [1_000.0, 1_010.0, 990.0], 2.0),
        ("new", 1, [1_200.0, 1_210.0, 1_190.0], 1.5),
        ("old", 8, [5_000.0, 5_200.0, 4_900.0], 4.0),
        ("new", 8, [5_100.0, 5_250.0, 5_050.0], 4.0),
    ];
    let mut runs: Vec<Run> = runs
        .into_iter()
        .flat_map(|(subject, threads, qps, ms)| (0..3).zip(qps).map(move |(repeat, qps)| run(subject, threads, repeat, qps, ms)))
        .collect();
    runs[1].steal_percent = 2.5;
    BenchResult {
        format: FORMAT,
        scenario: "small".to_string(),
        title: "Old and new".to_string(),
        description: "Two versions of *one* server.".to_string(),
        scenario_text: "threads = [1, 8]\nrepeats = 3\n".to_string(),
        report: Report::default(),
        started_at: "2026-11-22T14:30:00Z".to_string(),
        elapsed_seconds: 130.0,
        seed: 7,
        machine: Machine {
            cpu: "Processor".to_string(),
            cores: 2,
            memory_bytes: 8 << 30,
            kernel: "Linux 6.18".to_string(),
            os: "Debian 12".to_string(),
            kernel_settings: BTreeMap::from([("vm.swappiness".to_string(), "60".to_string())]),
            file_system: "ext4".to_string(),
            sync_micros: SyncLatency { p50: 100.0, p95: 300.0, max: 4_000.0 },
        },
        drivers: vec!["sysbench 1.0.20".to_string()],
        subjects: vec![subject("old", "1.0", "synced"), subject("new", "2.0", "synced once a second")],
        loads: vec![load("old", 4.0), load("new", 3.0)],
        runs,
    }
}

fn subject(name: &str, version: &str, durability: &str) -> Subject {
    Subject {
        name: name.to_string(),
        version: version.to_string(),
        topology: "embedded".to_string(),
        network: "loopback".to_string(),
        endpoints: vec!["127.0.0.1:4000".to_string()],
        configuration: BTreeMap::from([("server".to_string(), format!("server --version={version}"))]),
        durability: durability.to_string(),
        isolation: "REPEATABLE-READ".to_string(),
        start_seconds: Some(0.25),
        ..Subject::default()
    }
}

fn load(subject: &str, seconds: f64) -> Load {
    Load {
        subject: subject.to_string(),
        data: "sysbench".to_string(),
        size: "1 table × 1000 rows".to_string(),
        seconds,
        server_cpu_seconds: None,
    }
}

//! What a scenario measured, as it is kept: one JSON file with everything that is needed to report it, compare it and repeat it.
//!
//! Units are part of a field's name. Percentiles are never kept without the histogram they come from, and never averaged: runs of several
//! drivers are merged bucket by bucket ([`Histogram::merge`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::scenario::Report;

/// Version of the file's form; a reader refuses others.
pub const FORMAT: u32 = 1;

/// A whole result file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    /// [`FORMAT`].
    pub format: u32,
    /// The scenario's name: that of its file, without `.toml`.
    pub scenario: String,
    /// Its title, one line.
    pub title: String,
    /// What it shows and the counterpart of which published experiment it is; Markdown.
    pub description: String,
    /// The scenario as it was run, flags applied, as TOML: running this text again repeats the measurement.
    pub scenario_text: String,
    /// What of it a report shows.
    #[serde(default)]
    pub report: Report,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// From the first server's start to the last run's end.
    pub elapsed_seconds: f64,
    /// Seed of every random generator that can be given one.
    pub seed: u64,
    /// Where it ran.
    pub machine: Machine,
    /// Version of each driver: `sysbench 1.0.20`, …
    pub drivers: Vec<String>,
    /// What was measured, in the scenario's order.
    pub subjects: Vec<Subject>,
    /// What loading took, in order.
    pub loads: Vec<Load>,
    /// Every run, in the order they ran.
    pub runs: Vec<Run>,
}

/// The machine that drives, and with local targets also serves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu: String,
    /// Processors this process may use.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// `uname -sr`.
    pub kernel: String,
    /// Name of the distribution.
    pub os: String,
    /// Settings that change figures: `vm.swappiness`, `net.core.somaxconn`, the CPU governor, …
    pub kernel_settings: BTreeMap<String, String>,
    /// Kind of file system of the data.
    pub file_system: String,
    /// Latency of a 4 KiB append with fdatasync where the data lie.
    pub sync_micros: SyncLatency,
}

/// Microseconds of a synced write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SyncLatency {
    /// Half of them took at most this.
    pub p50: f64,
    /// 95 % of them took at most this.
    pub p95: f64,
    /// The slowest.
    pub max: f64,
}

/// One thing measured: a target with a variation of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// Unique in the file; what tables and charts call it.
    pub name: String,
    /// What `SELECT VERSION()` said.
    pub version: String,
    /// Commit the server was built from, if it says.
    pub commit: Option<String>,
    /// `embedded`, `1+1+1`, `3+3+3`, `mariadb`, `endpoints`.
    pub topology: String,
    /// Addresses the drivers connected to.
    pub endpoints: Vec<String>,
    /// Network between driver and servers, in words: `loopback`, `namespaces over a bridge`, `HAProxy over loopback`, …
    pub network: String,
    /// Configuration as applied: command lines and files of each process, by process.
    pub configuration: BTreeMap<String, String>,
    /// SQL run before measuring.
    pub set_up: Vec<String>,
    /// `synced` when an acknowledged commit is on disk; otherwise what is not, in words; `unknown` for endpoints that do not tell.
    pub durability: String,
    /// Isolation level as the server's session says it.
    pub isolation: String,
    /// Variables of the server that bear on durability and isolation, as read from it.
    pub variables: BTreeMap<String, String>,
    /// From start of the processes to the first answered query.
    pub start_seconds: Option<f64>,
    /// Processor use of all server processes together at rest after the start, percent of one core.
    pub idle_cpu_percent: Option<f64>,
    /// Resident memory of all server processes together at rest after the start.
    pub idle_memory_bytes: Option<u64>,
}

/// What it took to load a subject's data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// [`Subject::name`].
    pub subject: String,
    /// Kind of data: `sysbench`, `tpcc`.
    pub data: String,
    /// Size in words: `4 tables × 100000 rows`, `1 warehouse`.
    pub size: String,
    /// Time of loading, indexes included, statistics excluded.
    pub seconds: f64,
    /// Processor time of all server processes until they were idle again; absent when they run elsewhere.
    pub server_cpu_seconds: Option<f64>,
}

/// One workload at one number of threads, once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`Subject::name`].
    pub subject: String,
    /// Name of the workload: a sysbench script, or `tpcc`.
    pub workload: String,
    /// Connections of all drivers together.
    pub threads: u32,
    /// From 0.
    pub repeat: u32,
    /// Number of driver processes that ran together.
    pub drivers: u32,
    /// Measured time, warm-up excluded.
    pub seconds: f64,
    /// Statements answered.
    pub queries: u64,
    /// Transactions (for sysbench: events) ended well.
    pub transactions: u64,
    /// Errors that the driver counted and went on after: deadlocks, duplicate keys, …
    pub errors: u64,
    /// Connections lost and made again.
    pub reconnects: u64,
    /// Queries a second.
    pub qps: f64,
    /// Transactions a second.
    pub tps: f64,
    /// Of a transaction, all drivers merged.
    pub latency: Latency,
    /// What the percentiles were computed from.
    pub histogram: Histogram,
    /// One entry per second of the measured time, all drivers summed.
    pub series: Vec<Second>,
    /// By kind of transaction (TPC-C), empty otherwise.
    pub parts: Vec<Part>,
    /// TPC-C: New-Order transactions a minute.
    pub tpm_c: Option<f64>,
    /// Processor time of all server processes per query, background work until idle counted in; absent when they run elsewhere.
    pub server_cpu_micros_per_query: Option<f64>,
    /// Each server process.
    pub processes: Vec<ProcessUse>,
    /// Processor use of the drivers, in cores.
    pub driver_cores: f64,
    /// Why the driver and not the server limited this run, if it did.
    pub driver_bound: Option<String>,
    /// Processor time that the hypervisor gave to others, percent of all.
    pub steal_percent: f64,
}

/// Latency in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The fastest.
    pub min_ms: f64,
    /// Mean.
    pub avg_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 95 % of them took at most this.
    pub p95_ms: f64,
    /// 99 % of them took at most this.
    pub p99_ms: f64,
    /// The slowest.
    pub max_ms: f64,
}

/// Latencies counted in buckets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Upper bound of a bucket in milliseconds, and how many fell in it; bounds ascend.
    pub buckets: Vec<(f64, u64)>,
}

/// One second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// From 1: the second's end.
    pub second: u32,
    /// Transactions a second.
    pub tps: f64,
    /// Queries a second.
    pub qps: f64,
    /// The highest of the drivers' 95 % latencies in this second: drivers do not tell histograms of single seconds.
    pub p95_ms: f64,
    /// Errors a second.
    pub errors: f64,
}

/// One kind of transaction within a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// `new_order`, `payment`, …
    pub name: String,
    /// How many ended well.
    pub count: u64,
    /// How many ended in an error.
    pub errors: u64,
    /// Their latency.
    pub latency: Latency,
}

/// What one server process used during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// `trine`, `pd-1`, `kv-2`, `mariadbd`, …
    pub name: String,
    /// Processor time, background work until idle counted in.
    pub cpu_seconds: f64,
    /// Resident memory at the run's end.
    pub resident_bytes: u64,
}

impl Histogram {
    /// Adds another driver's counts bucket by bucket.
    pub fn merge(&mut self, other: &Self) {
        let mut merged = Vec::with_capacity(self.buckets.len().max(other.buckets.len()));
        let (mut ours, mut theirs) = (self.buckets.iter().peekable(), other.buckets.iter().peekable());
        loop {
            let bucket = match (ours.peek(), theirs.peek()) {
                (Some(&&(a, count)), Some(&&(b, more))) if a == b => {
                    ours.next();
                    theirs.next();
                    (a, count + more)
                }
                (Some(&&(a, _)), Some(&&(b, more))) if b < a => {
                    theirs.next();
                    (b, more)
                }
                (Some(&&bucket), _) => {
                    ours.next();
                    bucket
                }
                (None, Some(&&bucket)) => {
                    theirs.next();
                    bucket
                }
                (None, None) => break,
            };
            merged.push(bucket);
        }
        self.buckets = merged;
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// The upper bound of the bucket in which the given share (0 to 1) of all counts is reached; 0 for an empty histogram.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = ((self.count() as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for &(bound, count) in &self.buckets {
            seen += count;
            if seen >= wanted {
                return bound;
            }
        }
        0.0
    }
}

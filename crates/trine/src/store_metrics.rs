//! What the embedded store tells about itself on `/metrics`: sizes, the commit thread, garbage collection.
//!
//! The numbers are read when somebody asks, from counters the store keeps anyway; nothing is counted for this.

use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Cf, CommitQueue, Engine as _, RocksEngine};
use prometheus::{
    IntCounter, IntGauge, Opts,
    core::{Collector, Desc},
    proto::MetricFamily,
};

/// Reads the store for the registry.
pub struct StoreMetrics {
    engine: RocksEngine,
    commits: CommitQueue<RocksEngine>,
    descriptions: Vec<Desc>,
}

/// One number: name, help, whether it only grows, label of the column family, value.
struct Sample {
    name: &'static str,
    help: &'static str,
    grows: bool,
    cf: Option<Cf>,
    value: u64,
}

impl StoreMetrics {
    /// Metrics of an open store.
    pub fn new(engine: RocksEngine, commits: CommitQueue<RocksEngine>) -> Self {
        let mut metrics = Self { engine, commits, descriptions: Vec::new() };
        metrics.descriptions = metrics.samples().iter().filter_map(Sample::description).collect();
        metrics
    }

    fn samples(&self) -> Vec<Sample> {
        let disk = self.engine.disk_stats();
        let commits = self.commits.metrics();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let gauge = |name, help, value| Sample { name, help, grows: false, cf: None, value };
        let counter = |name, help, counter: &AtomicU64| Sample { name, help, grows: true, cf: None, value: read(counter) };
        let mut samples = vec![
            gauge("trine_store_live_bytes", "Bytes of table and blob files in use", disk.live_bytes),
            gauge("trine_store_write_buffer_bytes", "Bytes in write buffers", disk.write_buffer_bytes),
            gauge("trine_store_block_cache_bytes", "Bytes the block cache holds", disk.block_cache_bytes),
            gauge("trine_store_pending_compaction_bytes", "Bytes compaction has still to rewrite", disk.pending_compaction_bytes),
            gauge("trine_store_write_stopped", "Whether writes wait for compaction", u64::from(disk.write_stopped)),
            counter("trine_store_commit_batches_total", "Batches written by the commit thread", &commits.batches),
            counter("trine_store_commit_groups_total", "Groups written; when durable, the number of log syncs", &commits.groups),
            counter("trine_store_commit_bytes_total", "Bytes written by the commit thread", &commits.bytes),
            counter("trine_store_commit_nanoseconds_total", "Time spent writing and syncing", &commits.write_nanos),
            counter("trine_store_refused_disk_full_total", "Writes refused because the disk was nearly full", &commits.refused_disk_full),
            counter("trine_store_refused_busy_total", "Writes refused because too much was waiting", &commits.refused_busy),
        ];
        if let Some(filter) = self.engine.filter() {
            samples.push(counter(
                "trine_store_gc_undecodable_total",
                "Records kept because they cannot be read",
                &filter.counters.undecodable,
            ));
            samples.extend(Cf::ALL.map(|cf| Sample {
                name: "trine_store_gc_removed_total",
                help: "Records removed as garbage while files were compacted",
                grows: true,
                cf: Some(cf),
                value: read(&filter.counters.removed[cf.index()]),
            }));
        }
        samples
    }
}

impl Sample {
    fn options(&self) -> Opts {
        let options = Opts::new(self.name, self.help);
        match self.cf {
            Some(cf) => options.const_label("cf", cf.name()),
            None => options,
        }
    }

    fn description(&self) -> Option<Desc> {
        IntGauge::with_opts(self.options()).ok()?.desc().first().map(|desc| (*desc).clone())
    }

    fn collect(&self) -> Vec<MetricFamily> {
        if self.grows {
            let Ok(counter) = IntCounter::with_opts(self.options()) else { return Vec::new() };
            counter.inc_by(self.value);
            return counter.collect();
        }
        let Ok(gauge) = IntGauge::with_opts(self.options()) else { return Vec::new() };
        gauge.set(i64::try_from(self.value).unwrap_or(i64::MAX));
        gauge.collect()
    }
}

impl Collector for StoreMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut families: Vec<MetricFamily> = Vec::new();
        for mut family in self.samples().iter().flat_map(Sample::collect) {
            match families.last_mut() {
                // Values of one name under several labels are one family.
                Some(last) if last.name() == family.name() => last.mut_metric().append(family.mut_metric()),
                _ => families.push(family),
            }
        }
        families
    }
}

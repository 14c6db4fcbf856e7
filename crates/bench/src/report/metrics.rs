//! The figures that reports compare, each with its unit, its good direction and how it is written.

use crate::report::figures;
use crate::report::noise::{Better, Difference, Measure};
use crate::report::summary::{Repeats, Summary, Workload};
use crate::scenario::Figure;

/// One figure of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    /// Heading of tables and charts, with its unit.
    pub title: &'static str,
    /// Which way it improves.
    pub better: Better,
    /// How it is written.
    pub format: fn(f64) -> String,
    /// What it is over some repeats; nothing when it was not measured.
    pub measure: fn(&Repeats<'_>) -> Option<Measure>,
}

/// New-Order transactions a minute.
const TPM_C: Metric =
    Metric { title: "tpmC", better: Better::Higher, format: figures::rate, measure: |repeats| repeats.median_if_known(|run| run.tpm_c) };

const QPS: Metric =
    Metric { title: "QPS", better: Better::Higher, format: figures::rate, measure: |repeats| repeats.median(|run| run.qps) };

const TPS: Metric =
    Metric { title: "TPS", better: Better::Higher, format: figures::rate, measure: |repeats| repeats.median(|run| run.tps) };

const P50: Metric =
    Metric { title: "50 % latency, ms", better: Better::Lower, format: figures::time, measure: |repeats| repeats.percentile(0.5) };

const P95: Metric =
    Metric { title: "95 % latency, ms", better: Better::Lower, format: figures::time, measure: |repeats| repeats.percentile(0.95) };

const P99: Metric =
    Metric { title: "99 % latency, ms", better: Better::Lower, format: figures::time, measure: |repeats| repeats.percentile(0.99) };

const CPU: Metric = Metric {
    title: "Server CPU, µs per query",
    better: Better::Lower,
    format: figures::rate,
    measure: |repeats| repeats.median_if_known(|run| run.server_cpu_micros_per_query),
};

impl From<Figure> for Metric {
    fn from(figure: Figure) -> Self {
        match figure {
            Figure::TpmC => TPM_C,
            Figure::Qps => QPS,
            Figure::Tps => TPS,
            Figure::Latency50 => P50,
            Figure::Latency95 => P95,
            Figure::Latency99 => P99,
            Figure::ServerCpu => CPU,
        }
    }
}

impl Metric {
    /// This figure on one subject.
    pub fn at(&self, workload: &Workload<'_>, threads: u32, subject: usize) -> Option<Measure> {
        workload.at(threads, subject).and_then(self.measure)
    }

    /// A subject compared with the first one.
    pub fn difference(&self, workload: &Workload<'_>, threads: u32, subject: usize) -> Option<Difference> {
        Difference::between(&self.at(workload, threads, 0)?, &self.at(workload, threads, subject)?, self.better)
    }

    /// `higher is better` or `lower is better`.
    pub fn hint(&self) -> &'static str {
        match self.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
        }
    }
}

/// The metrics that some run of the workload has.
pub(crate) fn of_workload(summary: &Summary<'_>, workload: &Workload<'_>) -> Vec<Metric> {
    let known = |metric: &Metric| {
        workload.threads.iter().any(|&threads| (0..summary.subjects.len()).any(|subject| metric.at(workload, threads, subject).is_some()))
    };
    summary.metrics().filter(known).collect()
}

/// The metrics that some run has.
pub(crate) fn of_all(summary: &Summary<'_>) -> Vec<Metric> {
    summary.metrics().filter(|metric| summary.cells().any(|repeats| (metric.measure)(repeats).is_some())).collect()
}

//! Runs put in order: by workload, number of threads and subject, each with its repeats.

use std::collections::BTreeMap;

use crate::report::doubts::{self, Doubt};
use crate::report::metrics::Metric;
use crate::report::noise::Measure;
use crate::result::{Histogram, Run};
use crate::scenario::Report;

/// All runs of a report, or of a comparison: subjects are then the two sides.
#[derive(Debug)]
pub(crate) struct Summary<'a> {
    /// Names, in the scenario's order; the first is what the others are compared with.
    pub subjects: Vec<String>,
    /// In the order they first ran.
    pub workloads: Vec<Workload<'a>>,
    /// What of them is shown.
    pub shown: &'a Report,
}

/// One workload with every number of threads it ran at.
#[derive(Debug)]
pub(crate) struct Workload<'a> {
    /// Its name.
    pub name: String,
    /// Ascending.
    pub threads: Vec<u32>,
    cells: BTreeMap<(u32, usize), Repeats<'a>>,
}

/// The repeats of one workload at one number of threads on one subject.
#[derive(Debug, Default)]
pub(crate) struct Repeats<'a> {
    /// At least one, in the order they ran.
    pub runs: Vec<&'a Run>,
}

impl<'a> Summary<'a> {
    /// Orders runs, each given with the position of its subject.
    pub fn new(subjects: Vec<String>, runs: impl IntoIterator<Item = (usize, &'a Run)>, shown: &'a Report) -> Self {
        let mut workloads: Vec<Workload<'a>> = Vec::new();
        for (subject, run) in runs {
            let at = workloads.iter().position(|workload| workload.name == run.workload).unwrap_or_else(|| {
                workloads.push(Workload { name: run.workload.clone(), threads: Vec::new(), cells: BTreeMap::new() });
                workloads.len() - 1
            });
            let workload = &mut workloads[at];
            if let Err(place) = workload.threads.binary_search(&run.threads) {
                workload.threads.insert(place, run.threads);
            }
            workload.cells.entry((run.threads, subject)).or_default().runs.push(run);
        }
        Self { subjects, workloads, shown }
    }

    /// The figures that are shown if they were measured.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> {
        self.shown.figures.iter().copied().map(Metric::from)
    }

    /// All repeats of everything.
    pub fn cells(&self) -> impl Iterator<Item = &Repeats<'a>> {
        self.workloads.iter().flat_map(|workload| workload.cells.values())
    }

    /// How many combinations of workload, threads and subject were not measured.
    pub fn missing(&self) -> usize {
        self.workloads.iter().map(|workload| workload.threads.len() * self.subjects.len() - workload.cells.len()).sum()
    }
}

impl<'a> Workload<'a> {
    /// The repeats on one subject, if there are any.
    pub fn at(&self, threads: u32, subject: usize) -> Option<&Repeats<'a>> {
        self.cells.get(&(threads, subject))
    }

    /// All its runs.
    pub fn runs(&self) -> impl Iterator<Item = &'a Run> {
        self.cells.values().flat_map(|cell| cell.runs.iter().copied())
    }
}

impl Repeats<'_> {
    /// Median and extremes of a figure that every repeat has.
    pub fn median(&self, figure: impl Fn(&Run) -> f64) -> Option<Measure> {
        Measure::median_of(&self.runs.iter().map(|run| figure(run)).collect::<Vec<_>>())
    }

    /// The same of a figure that may be absent; nothing unless all repeats have it.
    pub fn median_if_known(&self, figure: impl Fn(&Run) -> Option<f64>) -> Option<Measure> {
        Measure::median_of(&self.runs.iter().map(|run| figure(run)).collect::<Option<Vec<_>>>()?)
    }

    /// A percentile of all samples of all repeats together, with the percentiles of the single repeats as its extremes. Nothing when a
    /// histogram is missing: percentiles alone cannot be put together.
    pub fn percentile(&self, share: f64) -> Option<Measure> {
        let mut merged = Histogram::default();
        let mut single = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            if run.histogram.count() == 0 {
                return None;
            }
            single.push(run.histogram.quantile(share));
            merged.merge(&run.histogram);
        }
        let value = merged.quantile(share);
        Some(Measure { value, resolution: width_of_bucket(&merged, value), ..Measure::median_of(&single)? })
    }

    /// Mean latency of all transactions of all repeats.
    pub fn mean_latency_ms(&self) -> Option<f64> {
        let count: u64 = self.runs.iter().map(|run| run.transactions).sum();
        let sum: f64 = self.runs.iter().map(|run| run.latency.avg_ms * run.transactions as f64).sum();
        (count > 0).then(|| sum / count as f64)
    }

    /// The sum of a count over all repeats.
    pub fn total(&self, figure: impl Fn(&Run) -> u64) -> u64 {
        self.runs.iter().map(|run| figure(run)).sum()
    }

    /// Marks of all repeats.
    pub fn doubts(&self) -> Vec<Doubt> {
        doubts::of(self.runs.iter().copied())
    }
}

fn width_of_bucket(histogram: &Histogram, bound: f64) -> f64 {
    let below = histogram.buckets.iter().rev().find(|&&(other, _)| other < bound);
    below.map_or(0.0, |&(below, _)| bound - below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(threads: u32, repeat: u32, qps: f64, buckets: &[(f64, u64)]) -> Run {
        let transactions = buckets.iter().map(|(_, count)| count).sum();
        let histogram = Histogram { buckets: buckets.to_vec() };
        Run { workload: "w".to_string(), threads, repeat, qps, transactions, histogram, ..Run::default() }
    }

    #[test]
    fn threads_ascend_whatever_order_they_ran_in() {
        let runs = [run(64, 0, 3.0, &[]), run(1, 0, 1.0, &[]), run(8, 0, 2.0, &[]), run(1, 1, 2.0, &[])];
        let shown = Report::default();
        let summary = Summary::new(vec!["a".to_string(), "b".to_string()], runs.iter().map(|run| (0, run)), &shown);
        assert_eq!(summary.workloads[0].threads, [1, 8, 64]);
        assert_eq!(summary.workloads[0].at(1, 0).unwrap().runs.len(), 2);
        assert_eq!(summary.missing(), 3);
    }

    #[test]
    fn percentiles_come_from_all_samples_not_from_the_repeats_percentiles() {
        // 95 % of the first is 1 ms, of the second 100 ms; of all samples together it is 1 ms, as the first has so many more.
        let runs = [run(1, 0, 1.0, &[(1.0, 9_900), (10.0, 100)]), run(1, 1, 1.0, &[(50.0, 5), (100.0, 95)])];
        let repeats = Repeats { runs: runs.iter().collect() };
        let measure = repeats.percentile(0.95).unwrap();
        assert_eq!((measure.value, measure.low, measure.high, measure.repeats), (1.0, 1.0, 100.0, 2));
        assert_eq!(repeats.percentile(0.99).unwrap().value, 10.0);
        assert_eq!(repeats.percentile(0.99).unwrap().resolution, 9.0);
    }

    #[test]
    fn percentiles_without_histograms_are_not_made_up() {
        let runs = [run(1, 0, 1.0, &[(1.0, 10)]), run(1, 1, 1.0, &[])];
        assert_eq!(Repeats { runs: runs.iter().collect() }.percentile(0.95), None);
    }

    #[test]
    fn means_weigh_by_transactions() {
        let mut runs = [run(1, 0, 1.0, &[(1.0, 30)]), run(1, 1, 1.0, &[(1.0, 10)])];
        (runs[0].latency.avg_ms, runs[1].latency.avg_ms) = (1.0, 5.0);
        assert_eq!(Repeats { runs: runs.iter().collect() }.mean_latency_ms(), Some(2.0));
    }
}

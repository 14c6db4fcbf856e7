//! What a run measures: one sample per transaction and per error, gathered by one task, so that terminals share nothing.

use std::time::Duration;

use hdrhistogram::Histogram as Hdr;

use super::transaction::Kind;
use crate::result::{Histogram, Latency, Part, Second};

/// New-Order transactions a minute that a warehouse gives at most with keying and think times (clause 4.2).
const MOST_PER_WAREHOUSE: f64 = 12.86;
/// Digits to which latencies of the whole run, and those of single seconds, are exact.
const DIGITS: u8 = 3;
const DIGITS_OF_A_SECOND: u8 = 2;
/// Messages of errors that are kept.
const MESSAGES: usize = 5;

/// What a run brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Measured time, warm-up excluded.
    pub seconds: f64,
    /// Statements answered, `BEGIN` and `COMMIT` included.
    pub queries: u64,
    /// Transactions that ended well, also those that rolled back as they had to.
    pub transactions: u64,
    /// Attempts that ended in an error that the run went on after.
    pub errors: u64,
    /// Some of the errors' messages.
    pub error_messages: Vec<String>,
    /// Connections lost and made again.
    pub reconnects: u64,
    /// Latency of all transactions, from the first attempt's begin to the answer to the last statement.
    pub latency: Latency,
    /// What it was computed from.
    pub histogram: Histogram,
    /// Every second of the measured time.
    pub series: Vec<Second>,
    /// Each kind of transaction.
    pub parts: Vec<Part>,
    /// New-Order transactions a minute.
    pub tpm_c: f64,
    /// Percent of the 12.86 tpmC that each warehouse can give; only with keying and think times.
    pub efficiency_percent: Option<f64>,
}

/// What a terminal tells.
#[derive(Clone, Debug)]
pub(super) enum Sample {
    /// A transaction ended well.
    Done { kind: Kind, ended: Duration, latency: Duration, statements: u64 },
    /// An attempt ended in an error, and is repeated. `statements` are those of the attempt.
    Failed { kind: Kind, ended: Duration, statements: u64, message: String },
    /// A connection was made again.
    Reconnected { ended: Duration },
}

/// Adds samples up. Times are counted from the run's begin; those outside the measured time are left out.
pub(super) struct Meter {
    warm_up: Duration,
    measured: Duration,
    kinds: [KindMeter; Kind::ALL.len()],
    seconds: Vec<SecondMeter>,
    queries: u64,
    reconnects: u64,
    messages: Vec<String>,
}

struct KindMeter {
    errors: u64,
    micros: Hdr<u64>,
    /// Sum of the latencies: buckets give their mean only nearly.
    total_micros: u64,
}

struct SecondMeter {
    queries: u64,
    errors: u64,
    micros: Hdr<u32>,
}

impl Meter {
    pub(super) fn new(warm_up: Duration, measured: Duration) -> Self {
        let kinds =
            std::array::from_fn(|_| KindMeter { errors: 0, micros: Hdr::new(DIGITS).expect("between 0 and 5 digits"), total_micros: 0 });
        let second = || SecondMeter { queries: 0, errors: 0, micros: Hdr::new(DIGITS_OF_A_SECOND).expect("between 0 and 5 digits") };
        let seconds = (0..measured.as_secs_f64().ceil() as usize).map(|_| second()).collect();
        Self { warm_up, measured, kinds, seconds, queries: 0, reconnects: 0, messages: Vec::new() }
    }

    /// Counts a sample.
    pub(super) fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Done { kind, ended, latency, statements } => {
                let Some(second) = self.second(ended) else { return };
                let micros = (latency.as_micros() as u64).max(1);
                second.queries += statements;
                record(&mut second.micros, micros);
                self.queries += statements;
                let meter = &mut self.kinds[kind as usize];
                meter.total_micros += micros;
                record(&mut meter.micros, micros);
            }
            Sample::Failed { kind, ended, statements, message } => {
                let Some(second) = self.second(ended) else { return };
                second.queries += statements;
                second.errors += 1;
                self.queries += statements;
                self.kinds[kind as usize].errors += 1;
                if self.messages.len() < MESSAGES && !self.messages.contains(&message) {
                    self.messages.push(message);
                }
            }
            Sample::Reconnected { ended } => self.reconnects += u64::from(self.second(ended).is_some()),
        }
    }

    fn second(&mut self, ended: Duration) -> Option<&mut SecondMeter> {
        let since = ended.checked_sub(self.warm_up).filter(|since| *since < self.measured)?;
        self.seconds.get_mut(since.as_secs() as usize)
    }

    /// The outcome; the number of warehouses is given when there were keying and think times.
    pub(super) fn outcome(self, paced_warehouses: Option<u32>) -> Outcome {
        let mut all: Hdr<u64> = Hdr::new(DIGITS).expect("between 0 and 5 digits");
        for kind in &self.kinds {
            all.add(&kind.micros).expect("a histogram that grows takes every other");
        }
        let seconds = self.measured.as_secs_f64();
        let new_orders = self.kinds[Kind::NewOrder as usize].micros.len();
        let tpm_c = new_orders as f64 * 60.0 / seconds;
        let part = |(kind, meter): (Kind, &KindMeter)| Part {
            name: kind.name().to_owned(),
            count: meter.micros.len(),
            errors: meter.errors,
            latency: latency(&meter.micros, meter.total_micros),
        };
        Outcome {
            seconds,
            queries: self.queries,
            transactions: all.len(),
            errors: self.kinds.iter().map(|kind| kind.errors).sum(),
            error_messages: self.messages,
            reconnects: self.reconnects,
            latency: latency(&all, self.kinds.iter().map(|kind| kind.total_micros).sum()),
            histogram: buckets(&all),
            series: (1..).zip(&self.seconds).map(|(second, meter)| meter.second(second, seconds)).collect(),
            parts: Kind::ALL.into_iter().zip(&self.kinds).map(part).collect(),
            tpm_c,
            efficiency_percent: paced_warehouses.map(|count| 100.0 * tpm_c / (MOST_PER_WAREHOUSE * f64::from(count))),
        }
    }
}

impl SecondMeter {
    /// Rates of this second, the last of which may be shorter than a second.
    fn second(&self, second: u32, run_seconds: f64) -> Second {
        let length = (run_seconds - f64::from(second - 1)).min(1.0);
        Second {
            second,
            tps: self.micros.len() as f64 / length,
            qps: self.queries as f64 / length,
            p95_ms: millis(self.micros.value_at_quantile(0.95)),
            errors: self.errors as f64 / length,
        }
    }
}

fn record<C: hdrhistogram::Counter>(histogram: &mut Hdr<C>, micros: u64) {
    histogram.record(micros).expect("a histogram that grows by itself takes every number");
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

fn latency(micros: &Hdr<u64>, total_micros: u64) -> Latency {
    if micros.is_empty() {
        return Latency::default();
    }
    Latency {
        min_ms: millis(micros.min()),
        avg_ms: millis(total_micros) / micros.len() as f64,
        p50_ms: millis(micros.value_at_quantile(0.50)),
        p95_ms: millis(micros.value_at_quantile(0.95)),
        p99_ms: millis(micros.value_at_quantile(0.99)),
        max_ms: millis(micros.max()),
    }
}

/// The buckets that are not empty. Their bounds depend on the digits alone, so histograms of several drivers merge exactly.
fn buckets(micros: &Hdr<u64>) -> Histogram {
    let buckets = micros.iter_recorded().map(|bucket| {
        let bound = micros.highest_equivalent(bucket.value_iterated_to());
        (millis(bound), bucket.count_since_last_iteration())
    });
    Histogram { buckets: buckets.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(kind: Kind, ended_ms: u64, latency_us: u64) -> Sample {
        Sample::Done { kind, ended: Duration::from_millis(ended_ms), latency: Duration::from_micros(latency_us), statements: 5 }
    }

    fn failed(ended_ms: u64, message: &str) -> Sample {
        Sample::Failed { kind: Kind::Payment, ended: Duration::from_millis(ended_ms), statements: 2, message: message.to_owned() }
    }

    #[test]
    fn only_what_ends_in_the_measured_time_counts() {
        let mut meter = Meter::new(Duration::from_secs(1), Duration::from_secs(2));
        for (ended, latency) in [(999, 1), (1000, 1_000), (1999, 2_000), (2000, 3_000), (2999, 4_000), (3000, 1)] {
            meter.add(done(Kind::NewOrder, ended, latency));
        }
        meter.add(failed(500, "early"));
        meter.add(failed(1500, "deadlock"));
        meter.add(failed(1600, "deadlock"));
        meter.add(Sample::Reconnected { ended: Duration::from_millis(2500) });
        meter.add(Sample::Reconnected { ended: Duration::from_millis(3500) });
        let outcome = meter.outcome(Some(1));
        assert_eq!((outcome.transactions, outcome.queries, outcome.errors, outcome.reconnects), (4, 24, 2, 1));
        assert_eq!(outcome.error_messages, ["deadlock"]);
        assert_eq!(outcome.tpm_c, 120.0);
        assert!(outcome.efficiency_percent.is_some_and(|percent| (percent - 933.1).abs() < 0.1));
        assert_eq!(
            outcome.parts.iter().map(|part| (part.count, part.errors)).collect::<Vec<_>>(),
            [(4, 0), (0, 2), (0, 0), (0, 0), (0, 0)]
        );
        let series: Vec<_> = outcome.series.iter().map(|second| (second.second, second.tps, second.qps, second.errors)).collect();
        assert_eq!(series, [(1, 2.0, 14.0, 2.0), (2, 2.0, 10.0, 0.0)]);
        assert_eq!((outcome.latency.min_ms, outcome.latency.avg_ms), (1.0, 2.5));
    }

    #[test]
    fn merged_histograms_are_those_of_all_samples_together() {
        let micros = |from: u64| (0..2_000).map(move |n| (n * 7919 + from) % 250_000 + 50);
        let histogram = |samples: &mut dyn Iterator<Item = u64>| {
            let mut meter = Meter::new(Duration::ZERO, Duration::from_secs(1));
            samples.for_each(|latency| meter.add(done(Kind::Payment, 10, latency)));
            meter.outcome(None)
        };
        let together = histogram(&mut micros(1).chain(micros(1_000_000)));
        let mut merged = histogram(&mut micros(1)).histogram;
        merged.merge(&histogram(&mut micros(1_000_000)).histogram);
        assert_eq!(merged, together.histogram);
        assert_eq!(merged.count(), 4_000);
        let mut sorted: Vec<_> = micros(1).chain(micros(1_000_000)).collect();
        sorted.sort_unstable();
        for (share, told) in [(0.50, together.latency.p50_ms), (0.95, together.latency.p95_ms), (0.99, together.latency.p99_ms)] {
            let exact = sorted[(4_000.0 * share) as usize - 1] as f64 / 1_000.0;
            assert!((told / exact - 1.0).abs() < 0.002, "{share}: {told} and {exact}");
            assert_eq!(merged.quantile(share), told);
        }
    }
}

//! Drivers: what puts load on a target, and what they counted.

pub mod sysbench;
pub mod tpcc;

use crate::result::{Histogram, Latency, Part, Second};

/// What the drivers of one run counted, all together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// Driver processes.
    pub drivers: u32,
    /// Measured time: that of the slowest driver.
    pub seconds: f64,
    /// Statements answered.
    pub queries: u64,
    /// Transactions ended well.
    pub transactions: u64,
    /// Errors gone on after.
    pub errors: u64,
    /// Connections made again.
    pub reconnects: u64,
    /// Queries a second.
    pub qps: f64,
    /// Transactions a second.
    pub tps: f64,
    /// Of a transaction.
    pub latency: Latency,
    /// What the percentiles are from.
    pub histogram: Histogram,
    /// By second.
    pub series: Vec<Second>,
    /// By kind of transaction.
    pub parts: Vec<Part>,
    /// TPC-C: New-Order transactions a minute.
    pub tpm_c: Option<f64>,
    /// Processor time of the drivers.
    pub cpu_seconds: f64,
}

/// Sums several drivers that ran together. Rates are sums of rates, percentiles come from the merged histogram.
pub fn merge(parts: Vec<Counted>) -> Counted {
    let mut whole = Counted::default();
    let (mut total_ms, mut min_ms) = (0.0, f64::INFINITY);
    whole.series = merge_series(parts.iter().map(|part| &part.series[..]).collect());
    for part in parts {
        whole.drivers += 1;
        whole.seconds = whole.seconds.max(part.seconds);
        whole.queries += part.queries;
        whole.transactions += part.transactions;
        whole.errors += part.errors;
        whole.reconnects += part.reconnects;
        whole.qps += part.qps;
        whole.tps += part.tps;
        whole.cpu_seconds += part.cpu_seconds;
        whole.histogram.merge(&part.histogram);
        whole.latency.max_ms = whole.latency.max_ms.max(part.latency.max_ms);
        total_ms += part.latency.avg_ms * part.transactions as f64;
        if part.transactions > 0 {
            min_ms = min_ms.min(part.latency.min_ms);
        }
    }
    whole.latency.min_ms = if min_ms.is_finite() { min_ms } else { 0.0 };
    whole.latency.avg_ms = total_ms / whole.transactions.max(1) as f64;
    whole.latency.p50_ms = whole.histogram.quantile(0.5);
    whole.latency.p95_ms = whole.histogram.quantile(0.95);
    whole.latency.p99_ms = whole.histogram.quantile(0.99);
    whole
}

/// Second by second, as long as all of them report: a driver that reports one second less would look like a drop.
fn merge_series(mut series: Vec<&[Second]>) -> Vec<Second> {
    let length = series.iter().map(|one| one.len()).min().unwrap_or(0);
    let Some(first) = series.pop() else { return Vec::new() };
    let mut merged = first[..length].to_vec();
    for one in series {
        for (sum, second) in merged.iter_mut().zip(one) {
            sum.tps += second.tps;
            sum.qps += second.qps;
            sum.errors += second.errors;
            sum.p95_ms = sum.p95_ms.max(second.p95_ms);
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u32, qps: f64, p95_ms: f64) -> Second {
        Second { second, tps: qps / 10.0, qps, p95_ms, errors: 0.0 }
    }

    #[test]
    fn drivers_are_summed_and_their_averages_weighted() {
        let one = Counted {
            seconds: 10.0,
            queries: 100,
            transactions: 10,
            qps: 10.0,
            tps: 1.0,
            latency: Latency { min_ms: 1.0, avg_ms: 4.0, max_ms: 9.0, ..Latency::default() },
            series: vec![second(1, 10.0, 5.0), second(2, 10.0, 6.0)],
            cpu_seconds: 1.0,
            ..Counted::default()
        };
        let other = Counted {
            seconds: 10.5,
            queries: 300,
            transactions: 30,
            qps: 30.0,
            tps: 3.0,
            latency: Latency { min_ms: 2.0, avg_ms: 8.0, max_ms: 7.0, ..Latency::default() },
            series: vec![second(1, 30.0, 7.0)],
            cpu_seconds: 2.0,
            ..Counted::default()
        };
        let idle = Counted::default();
        let merged = merge(vec![one.clone(), other.clone()]);
        assert_eq!((merged.drivers, merged.queries, merged.qps, merged.seconds, merged.cpu_seconds), (2, 400, 40.0, 10.5, 3.0));
        assert_eq!((merged.latency.min_ms, merged.latency.avg_ms, merged.latency.max_ms), (1.0, 7.0, 9.0));
        assert_eq!(merged.series, [Second { tps: 4.0, ..second(1, 40.0, 7.0) }]);
        assert_eq!(merge(vec![one, other, idle]).latency.min_ms, 1.0, "a driver without transactions has no fastest one");
    }
}

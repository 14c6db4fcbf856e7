//! What sysbench prints, of the versions 1.0 and 1.1.
//!
//! ```text
//! [ 1s ] thds: 4 tps: 99.0 qps: 1990.1 (r/w/o: …) lat (ms,95%): 51.02 err/s: 0.00 reconn/s: 0.00     one line a second
//! Latency histogram (values are in milliseconds)
//!        0.218 |**                 29                                                                 bucket, its picture, how many
//! SQL statistics: … queries: N (x per sec.) … ignored errors … reconnects
//! General statistics: total time: 10.0s          1.0
//! Throughput: time elapsed: 10.0s                1.1
//! Latency (ms): min, avg, max, 95th percentile
//! ```
//!
//! sysbench's buckets are the same in every process (1024 on a logarithmic scale from 1 µs to 100 s), so counts of several drivers are added bucket by
//! bucket and no precision is lost. Bounds are printed with three digits: the lowest buckets, below 0.05 ms, print alike and are one here.

use crate::{
    Error,
    driver::Counted,
    result::{Histogram, Latency, Second},
};

/// Reads everything of one process.
pub fn parse(text: &str) -> Result<Counted, Error> {
    let missing = |what: &'static str| move || Error::Output { what, output: tail(text) };
    let after = |label: &str| text.lines().find_map(|line| line.trim().strip_prefix(label)).map(str::trim);
    let number = |label: &str| after(label).and_then(leading_number);
    let count = |label: &str| after(label).and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let seconds = number("total time:").or_else(|| number("time elapsed:")).ok_or_else(missing("total time"))?;
    let queries = count("queries:").ok_or_else(missing("number of queries"))?;
    // Some scripts commit without telling sysbench; an event is a transaction in all of them.
    let transactions = count("total number of events:").ok_or_else(missing("number of events"))?;
    let histogram = histogram(text).ok_or_else(missing("latency histogram"))?;
    let latency = Latency {
        min_ms: number("min:").ok_or_else(missing("least latency"))?,
        avg_ms: number("avg:").ok_or_else(missing("mean latency"))?,
        p50_ms: histogram.quantile(0.5),
        p95_ms: histogram.quantile(0.95),
        p99_ms: histogram.quantile(0.99),
        max_ms: number("max:").ok_or_else(missing("greatest latency"))?,
    };
    Ok(Counted {
        drivers: 1,
        seconds,
        queries,
        transactions,
        errors: count("ignored errors:").ok_or_else(missing("number of ignored errors"))?,
        reconnects: count("reconnects:").ok_or_else(missing("number of reconnects"))?,
        qps: queries as f64 / seconds.max(1e-9),
        tps: transactions as f64 / seconds.max(1e-9),
        latency,
        histogram,
        series: text.lines().filter_map(second).collect(),
        ..Counted::default()
    })
}

/// The last lines, for errors.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

/// The number at the beginning of `10.0013s` or `1.92 (0.19 per sec.)`.
fn leading_number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].parse().ok()
}

/// `None` when there is no histogram; an empty one when nothing was counted.
fn histogram(text: &str) -> Option<Histogram> {
    let mut lines = text.lines().skip_while(|line| !line.trim_start().starts_with("Latency histogram"));
    lines.next()?;
    let mut buckets: Vec<(f64, u64)> = Vec::new();
    for line in lines.skip_while(|line| !line.contains('|')).take_while(|line| line.contains('|')) {
        let (bound, rest) = line.split_once('|')?;
        let bound: f64 = bound.trim().parse().ok()?;
        let count: u64 = rest.trim_start_matches(['*', ' ']).trim().parse().ok()?;
        match buckets.last_mut() {
            Some((last, sum)) if *last == bound => *sum += count,
            _ => buckets.push((bound, count)),
        }
    }
    Some(Histogram { buckets })
}

/// One line of `--report-interval=1`.
fn second(line: &str) -> Option<Second> {
    let (at, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    let value = |label: &str| rest.split_once(label).and_then(|(_, after)| leading_number(after.trim_start()));
    // The percentile that was asked for stands in the label.
    let latency = rest.split_once("lat (ms,").and_then(|(_, after)| leading_number(after.split_once("):")?.1.trim_start()));
    Some(Second {
        second: at.trim().trim_end_matches('s').trim().parse().ok()?,
        tps: value("tps:")?,
        qps: value("qps:")?,
        p95_ms: latency.unwrap_or(0.0),
        errors: value("err/s:")?,
    })
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;

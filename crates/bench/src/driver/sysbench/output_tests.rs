//! Outputs as several versions of sysbench write them, whole and damaged.

use std::fmt::Write as _;

use super::*;
use crate::driver;

const V1_0: &str = include_str!("fixtures/1.0.20.txt");
const V1_1: &str = include_str!("fixtures/1.1.0.txt");

#[test]
fn output_of_1_0_is_read() {
    let counted = parse(V1_0).expect("an output");
    assert_eq!((counted.queries, counted.transactions, counted.errors, counted.reconnects), (12278, 613, 1, 0));
    assert_eq!(counted.seconds, 2.0031);
    assert!((counted.qps - 6129.5).abs() < 0.1 && (counted.tps - 306.0).abs() < 0.1, "{} {}", counted.qps, counted.tps);
    let wanted = Latency { min_ms: 8.85, avg_ms: 13.05, p50_ms: 12.984, p95_ms: 18.28, p99_ms: 18.28, max_ms: 101.02 };
    assert_eq!(counted.latency, wanted);
    assert_eq!(counted.histogram.buckets[..2], [(0.001, 5), (8.898, 20)], "buckets that print alike are one");
    assert_eq!(counted.histogram.count(), counted.transactions);
    let second = Second { second: 2, tps: 310.02, qps: 6200.44, p95_ms: 17.95, errors: 0.0 };
    assert_eq!((counted.series.len(), counted.series[1], counted.series[0].errors), (2, second, 1.0));
}

#[test]
fn output_of_1_1_is_read() {
    let counted = parse(V1_1).expect("an output");
    assert_eq!((counted.queries, counted.transactions, counted.errors, counted.reconnects), (19804, 19804, 0, 2));
    assert_eq!((counted.seconds, counted.latency.p95_ms, counted.latency.max_ms), (2.0006, 0.273, 4.91));
    assert_eq!((counted.histogram.count(), counted.series.len()), (19804, 1));
}

#[test]
fn output_that_lacks_something_is_an_error_that_says_what() {
    let broken = V1_0.replace("Latency histogram", "Latency picture");
    assert!(parse(&broken).expect_err("no histogram").to_string().contains("no latency histogram"));
    let broken = V1_0.replace("total number of events", "events");
    assert!(parse(&broken).expect_err("no events").to_string().contains("no number of events"));
    assert!(parse("").is_err());
}

/// sysbench's bucket of a latency, as it is printed.
fn bucket(milliseconds: f64) -> String {
    let (least, greatest): (f64, f64) = (0.001_f64.ln(), 100_000_f64.ln());
    let scale = 1023.0 / (greatest - least);
    let index = ((milliseconds.ln() - least) * scale + 0.5).floor();
    format!("{:12.3}", (index / scale + least).exp())
}

/// What a sysbench that saw these latencies would print.
fn printed(samples: &[f64]) -> String {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut histogram = String::new();
    for group in sorted.chunk_by(|a, b| bucket(*a) == bucket(*b)) {
        writeln!(histogram, "{} |**                                       {}", bucket(group[0]), group.len()).expect("a string");
    }
    let (before, rest) = V1_0.split_once("       0.001 |").expect("the fixture's histogram");
    let (_, after) = rest.split_once("\n \n").expect("its end");
    let whole = format!("{before}{histogram} \n{after}");
    whole.replace("total number of events:              613", &format!("total number of events:              {}", samples.len()))
}

#[test]
fn merged_percentiles_are_those_of_all_samples_merged_by_hand() {
    // A fast and a slow driver: averaging their percentiles would be far off.
    let fast: Vec<f64> = (0..9000).map(|n| 0.2 + f64::from(n % 100) * 0.003).collect();
    let slow: Vec<f64> = (0..1000).map(|n| 5.0 + f64::from(n) * 0.045).collect();
    let merged = driver::merge(vec![parse(&printed(&fast)).expect("an output"), parse(&printed(&slow)).expect("an output")]);
    let mut all: Vec<f64> = fast.iter().chain(&slow).copied().collect();
    all.sort_by(f64::total_cmp);
    let by_hand = |share: f64| -> f64 { bucket(all[(all.len() as f64 * share).ceil() as usize - 1]).trim().parse().expect("a number") };
    assert_eq!(merged.transactions, 10_000);
    for (name, merged, share) in
        [("50", merged.latency.p50_ms, 0.5), ("95", merged.latency.p95_ms, 0.95), ("99", merged.latency.p99_ms, 0.99)]
    {
        assert_eq!(merged, by_hand(share), "{name} %");
    }
    assert!(merged.latency.p95_ms > 20.0, "the slow driver's half of the last tenth: {:?}", merged.latency);
    let together = parse(&printed(&all)).expect("an output");
    assert_eq!(merged.histogram, together.histogram, "as if one driver had seen all");
}

//! Histograms of result files against the samples they count.

use std::collections::BTreeMap;

use bench::result::Histogram;
use proptest::collection::vec;
use proptest::prelude::*;

/// Counts samples in buckets whose upper bounds are multiples of the width.
fn counted(samples: &[u32], width: u32) -> Histogram {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for sample in samples {
        *counts.entry(sample.div_ceil(width) * width).or_default() += 1;
    }
    Histogram { buckets: counts.into_iter().map(|(bound, count)| (f64::from(bound), count)).collect() }
}

/// The smallest sample that at least `percent` of all samples do not exceed.
fn percentile(sorted: &[u32], percent: usize) -> u32 {
    sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}

proptest! {
    #[test]
    fn merged_percentiles_are_those_of_all_samples(
        drivers in vec(vec(1u32..5_000, 0..200), 1..5),
        width in 1u32..50,
        percent in prop::sample::select(vec![1usize, 50, 90, 95, 99, 100]),
    ) {
        let mut merged = Histogram::default();
        for samples in &drivers {
            merged.merge(&counted(samples, width));
        }
        let mut all = drivers.concat();
        all.sort_unstable();
        prop_assert_eq!(merged.count(), all.len() as u64);
        prop_assert_eq!(&merged, &counted(&all, width));
        if !all.is_empty() {
            // The bucket of the sample at that place, not its neighbour.
            let expected = percentile(&all, percent).div_ceil(width) * width;
            prop_assert_eq!(merged.quantile(percent as f64 / 100.0), f64::from(expected));
        }
    }

    #[test]
    fn order_of_merging_does_not_matter(a in vec(1u32..500, 0..60), b in vec(1u32..500, 0..60)) {
        let (a, b) = (counted(&a, 7), counted(&b, 7));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b);
        ba.merge(&a);
        prop_assert_eq!(&ab, &ba);
        prop_assert!(ab.buckets.is_sorted_by(|x, y| x.0 < y.0));
    }
}

#[test]
fn merging_differs_from_averaging_percentiles() {
    // A fast driver with many transactions and a stalled one with few: the average of their percentiles would be 505 ms.
    let mut merged = Histogram { buckets: vec![(10.0, 9_900)] };
    merged.merge(&Histogram { buckets: vec![(1_000.0, 100)] });
    assert_eq!(merged.quantile(0.95), 10.0);
    assert_eq!(merged.quantile(0.995), 1_000.0);
}

#[test]
fn empty_histogram_has_no_latency() {
    assert_eq!(Histogram::default().quantile(0.95), 0.0);
    assert_eq!(Histogram::default().count(), 0);
}

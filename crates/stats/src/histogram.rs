//! Equi-depth histograms over memcomparable keys.
//!
//! A histogram describes the values that are not in the [`TopN`](crate::TopN): each bucket holds about the same number of rows, a value never
//! spans two buckets. Values are the bytes of their key form, so that one histogram serves every type and every index, and
//! bytes compare as the values do.
//!
//! ```text
//! bucket 0 [lower .. upper] rows, repeats of upper, distinct      bucket 1 [lower .. upper] …
//! ```
//!
//! Invariants: `lower <= upper` in each bucket, `upper` of a bucket < `lower` of the next; `repeats <= rows`; `1 <= distinct <= rows`.
//!
//! Within a bucket values are taken as evenly spread; the position of a key between the bounds is read from the first bytes in
//! which the bounds differ, which is exact for numbers and times and a fair guess for strings.

use serde::{Deserialize, Serialize};

use crate::hex_bytes;

/// A run of neighbouring values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// The smallest value.
    #[serde(with = "hex_bytes")]
    pub lower: Vec<u8>,
    /// The greatest value.
    #[serde(with = "hex_bytes")]
    pub upper: Vec<u8>,
    /// Rows in the bucket.
    pub rows: f64,
    /// Rows that hold `upper`.
    pub repeats: f64,
    /// Distinct values in the bucket.
    pub distinct: f64,
}

/// An equi-depth histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    buckets: Vec<Bucket>,
    #[serde(skip)]
    cumulative: Vec<f64>,
}

impl Histogram {
    /// A histogram of finished buckets, in order.
    pub fn from_buckets(buckets: Vec<Bucket>) -> Self {
        let mut histogram = Self { buckets, cumulative: Vec::new() };
        histogram.finish();
        histogram
    }

    /// Builds a histogram of at most `max_buckets` buckets from values in ascending order with their number of rows.
    pub fn build(values: impl IntoIterator<Item = (Vec<u8>, f64)>, total_rows: f64, max_buckets: usize) -> Self {
        let depth = (total_rows / max_buckets.max(1) as f64).max(1.0);
        let mut buckets: Vec<Bucket> = Vec::new();
        for (value, rows) in values {
            match buckets.last_mut() {
                Some(last) if last.rows + rows <= depth => {
                    assert!(last.upper < value, "histogram values out of order");
                    last.upper = value;
                    last.rows += rows;
                    last.repeats = rows;
                    last.distinct += 1.0;
                }
                _ => buckets.push(Bucket { lower: value.clone(), upper: value, rows, repeats: rows, distinct: 1.0 }),
            }
        }
        Self::from_buckets(buckets)
    }

    /// Computes what is not stored; to be called after deserialization.
    pub(crate) fn finish(&mut self) {
        let mut sum = 0.0;
        self.cumulative = self
            .buckets
            .iter()
            .map(|bucket| {
                let before = sum;
                sum += bucket.rows;
                before
            })
            .collect();
    }

    /// The buckets in order.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// Rows in all buckets.
    pub fn rows(&self) -> f64 {
        self.buckets.last().map_or(0.0, |last| self.cumulative[self.buckets.len() - 1] + last.rows)
    }

    /// Distinct values in all buckets.
    pub fn distinct(&self) -> f64 {
        self.buckets.iter().map(|bucket| bucket.distinct).sum()
    }

    /// Rows whose value is less than `key`.
    pub fn rows_below(&self, key: &[u8]) -> f64 {
        let at = self.buckets.partition_point(|bucket| &bucket.upper[..] < key);
        let Some(bucket) = self.buckets.get(at) else { return self.rows() };
        let before = self.cumulative[at];
        if key <= &bucket.lower[..] {
            return before;
        }
        let below_upper = bucket.rows - bucket.repeats;
        before + below_upper * position(&bucket.lower, &bucket.upper, key)
    }

    /// Rows with `start <= value < end`; an empty `end` is no bound.
    pub fn rows_between(&self, start: &[u8], end: &[u8]) -> f64 {
        let above = if end.is_empty() { self.rows() } else { self.rows_below(end) };
        (above - self.rows_below(start)).max(0.0)
    }

    /// Rows that hold exactly `key`.
    pub fn rows_equal(&self, key: &[u8]) -> f64 {
        let at = self.buckets.partition_point(|bucket| &bucket.upper[..] < key);
        match self.buckets.get(at) {
            Some(bucket) if key == &bucket.upper[..] => bucket.repeats,
            Some(bucket) if key >= &bucket.lower[..] => (bucket.rows - bucket.repeats) / (bucket.distinct - 1.0).max(1.0),
            _ => 0.0,
        }
    }

    /// Extrapolates from a sample: multiplies the rows by `rows`, and the distinct values by `distinct` as far as there are rows for them.
    pub fn scale(&mut self, rows: f64, distinct: f64) {
        for bucket in &mut self.buckets {
            bucket.rows *= rows;
            bucket.distinct = (bucket.distinct * distinct).clamp(1.0, bucket.rows.max(1.0));
            // What was seen once in the sample is not what was seen `rows` times in the table, when values are mostly distinct.
            bucket.repeats = (bucket.repeats * rows).min(bucket.rows / bucket.distinct * bucket.repeats).max(1.0);
        }
        self.finish();
    }
}

/// Where `key` lies between `lower` (0.0) and `upper` (1.0).
fn position(lower: &[u8], upper: &[u8], key: &[u8]) -> f64 {
    let shared = lower.iter().zip(upper).take_while(|(a, b)| a == b).count();
    let (low, high, at) = (leading(lower, shared), leading(upper, shared), leading(key, shared));
    if high <= low {
        return 0.5;
    }
    ((at - low) / (high - low)).clamp(0.0, 1.0)
}

/// The eight bytes from `from` on, as a number.
fn leading(key: &[u8], from: usize) -> f64 {
    let mut bytes = [0u8; 8];
    let tail = key.get(from..).unwrap_or_default();
    let len = tail.len().min(8);
    bytes[..len].copy_from_slice(&tail[..len]);
    u64::from_be_bytes(bytes) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(value: u32) -> Vec<u8> {
        value.to_be_bytes().to_vec()
    }

    fn build(values: &[(u32, u32)], buckets: usize) -> (Histogram, f64) {
        let total: f64 = values.iter().map(|(_, rows)| f64::from(*rows)).sum();
        (Histogram::build(values.iter().map(|(value, rows)| (key(*value), f64::from(*rows))), total, buckets), total)
    }

    fn distinct_values() -> impl Strategy<Value = Vec<(u32, u32)>> {
        prop::collection::btree_map(0u32..100_000, 1u32..20, 1..400).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn buckets_hold_every_row_once_and_do_not_overlap(values in distinct_values(), buckets in 1usize..64) {
            let (histogram, total) = build(&values, buckets);
            prop_assert!((histogram.rows() - total).abs() < 1e-6);
            prop_assert_eq!(histogram.distinct() as usize, values.len());
            for pair in histogram.buckets().windows(2) {
                prop_assert!(pair[0].upper < pair[1].lower);
            }
        }

        #[test]
        fn a_range_estimate_is_off_by_at_most_two_buckets(values in distinct_values(), from in 0u32..100_000, len in 0u32..100_000) {
            let (histogram, _) = build(&values, 32);
            let to = from.saturating_add(len);
            let real: f64 = values.iter().filter(|(value, _)| (from..to).contains(value)).map(|(_, rows)| f64::from(*rows)).sum();
            let widest = histogram.buckets().iter().map(|bucket| bucket.rows).fold(0.0, f64::max);
            let estimate = histogram.rows_between(&key(from), &key(to));
            prop_assert!((estimate - real).abs() <= 2.0 * widest + 1e-6, "{} for {}", estimate, real);
        }

        #[test]
        fn estimates_grow_with_the_key(values in distinct_values(), a: u32, b: u32) {
            let (histogram, _) = build(&values, 16);
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(histogram.rows_below(&key(low)) <= histogram.rows_below(&key(high)) + 1e-9);
        }
    }

    #[test]
    fn evenly_spread_numbers_are_interpolated_exactly() {
        let values: Vec<(u32, u32)> = (0..1000).map(|i| (i * 10, 1)).collect();
        let (histogram, _) = build(&values, 10);
        assert!((histogram.rows_between(&key(2500), &key(5000)) - 250.0).abs() < 3.0);
        assert_eq!(histogram.rows_equal(&key(20_000)), 0.0);
        assert!((histogram.rows_equal(&key(500)) - 1.0).abs() < 0.02);
    }
}

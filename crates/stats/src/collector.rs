//! Summing up values that stream by: counts and sketches of all of them, a uniform sample of some.
//!
//! The sample is a reservoir (Vitter's algorithm R) of whole rows, so that keys of several columns can be told from it. Its size bounds
//! the memory of an ANALYZE whatever the size of the table.

use crate::{DistinctSketch, Histogram, TopN, TopValue, ValueStats, table_stats::cut_key};

/// Most frequent values that are kept apart from the histogram.
const TOP_N: usize = 64;
/// Buckets of a histogram.
const BUCKETS: usize = 128;
/// A value is kept apart when it is this many times as frequent as the mean.
const TOP_RATIO: f64 = 1.25;

/// Counts of all values of a column or index.
#[derive(Clone, Default)]
pub(crate) struct Counter {
    rows: u64,
    nulls: u64,
    bytes: u64,
    sketch: DistinctSketch,
    /// For an index of several parts: sketches of the first 1, 2, … parts but the last.
    prefixes: Vec<DistinctSketch>,
}

impl Counter {
    /// A counter for keys of `parts` parts.
    pub(crate) fn new(parts: usize) -> Self {
        Self { prefixes: vec![DistinctSketch::default(); parts.saturating_sub(1)], ..Self::default() }
    }

    /// Counts a key whose parts end at `ends`.
    pub(crate) fn count(&mut self, key: &[u8], ends: &[usize], null: bool) {
        self.rows += 1;
        if null {
            self.nulls += 1;
        } else {
            self.bytes += key.len() as u64;
            self.sketch.insert(key);
        }
        for (sketch, &end) in self.prefixes.iter_mut().zip(ends) {
            sketch.insert(&key[..end]);
        }
    }

    /// Puts counts of all rows and the sampled keys (NULLs left out) together.
    pub(crate) fn finish(self, mut sampled: Vec<Vec<u8>>, is_index: bool) -> ValueStats {
        let filled = self.rows - self.nulls;
        let distinct = (self.sketch.estimate() as f64).min(filled as f64);
        let mut prefix_distinct: Vec<f64> = self.prefixes.iter().map(|sketch| sketch.estimate() as f64).collect();
        if is_index {
            prefix_distinct.push(distinct);
        }
        sampled.sort_unstable();
        let (top_n, histogram) = summarize(&sampled, filled as f64, distinct);
        let mean_size = if filled > 0 { self.bytes as f64 / filled as f64 } else { 0.0 };
        ValueStats { distinct, nulls: self.nulls as f64, mean_size, prefix_distinct, top_n, histogram }
    }
}

/// Top-n and histogram of `rows` rows, from a sorted sample of them.
fn summarize(sampled: &[Vec<u8>], rows: f64, distinct: f64) -> (TopN, Histogram) {
    let mut groups: Vec<(&[u8], f64)> = Vec::new();
    for key in sampled {
        let key = cut_key(key);
        match groups.last_mut() {
            Some((last, count)) if *last == key => *count += 1.0,
            _ => groups.push((key, 1.0)),
        }
    }
    let factor = if sampled.is_empty() { 1.0 } else { rows / sampled.len() as f64 };
    let mean = sampled.len() as f64 / groups.len().max(1) as f64;
    let mut frequent: Vec<usize> = (0..groups.len()).filter(|&i| groups[i].1 > 1.0 && groups[i].1 > TOP_RATIO * mean).collect();
    frequent.sort_by(|&a, &b| groups[b].1.total_cmp(&groups[a].1));
    // Few values in all: every one of them is known by itself, and the histogram is left to the rest of wider columns.
    if groups.len() <= TOP_N {
        frequent = (0..groups.len()).filter(|&i| groups[i].1 > 1.0 || factor == 1.0).collect();
    }
    frequent.truncate(TOP_N);
    let top: std::collections::HashSet<usize> = frequent.iter().copied().collect();
    let mut top_n = TopN::new(frequent.iter().map(|&i| TopValue { key: groups[i].0.to_vec(), rows: groups[i].1 }).collect());
    top_n.scale(factor);
    let rest = groups.iter().enumerate().filter(|(i, _)| !top.contains(i)).map(|(_, (key, count))| (key.to_vec(), *count));
    let rest: Vec<(Vec<u8>, f64)> = rest.collect();
    let rest_rows: f64 = rest.iter().map(|(_, count)| count).sum();
    let seen = rest.len() as f64;
    let mut histogram = Histogram::build(rest, rest_rows, BUCKETS);
    if factor > 1.0 && seen > 0.0 {
        histogram.scale(factor, ((distinct - top_n.values().len() as f64) / seen).max(1.0));
    }
    (top_n, histogram)
}

/// A uniform sample of a stream.
pub(crate) struct Reservoir<T> {
    items: Vec<T>,
    size: usize,
    seen: u64,
    state: u64,
}

impl<T> Reservoir<T> {
    /// A reservoir of `size` items; `seed` makes it repeatable.
    pub(crate) fn new(size: usize, seed: u64) -> Self {
        Self { items: Vec::new(), size: size.max(1), seen: 0, state: seed | 1 }
    }

    /// Offers the next item; `make` is called only if it is taken.
    pub(crate) fn offer(&mut self, make: impl FnOnce() -> T) {
        self.seen += 1;
        if self.items.len() < self.size {
            self.items.push(make());
            return;
        }
        // Xorshift: which rows are in the sample needs no better randomness.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let place = self.state % self.seen;
        if (place as usize) < self.size {
            self.items[place as usize] = make();
        }
    }

    /// The sample.
    pub(crate) fn into_items(self) -> Vec<T> {
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(values: impl Iterator<Item = u32>, sample: usize) -> ValueStats {
        let mut counter = Counter::new(1);
        let mut reservoir = Reservoir::new(sample, 42);
        for value in values {
            let key = value.to_be_bytes();
            counter.count(&key, &[4], false);
            reservoir.offer(|| key.to_vec());
        }
        counter.finish(reservoir.into_items(), false)
    }

    #[test]
    fn skewed_values_are_found_in_a_sample() {
        // One value in a third of the rows, the others all distinct.
        let stats = collect((0..90_000).map(|i| if i % 3 == 0 { 7 } else { 1000 + i }), 5000);
        let frequent = stats.top_n.rows_equal(&7u32.to_be_bytes()).expect("frequent");
        assert!((frequent - 30_000.0).abs() < 3000.0, "{frequent}");
        assert!((stats.distinct - 60_000.0).abs() < 3000.0, "{}", stats.distinct);
        let rare = stats.histogram.rows_equal(&50_000u32.to_be_bytes());
        assert!(rare < 5.0, "{rare}");
        let total = stats.top_n.rows() + stats.histogram.rows();
        assert!((total - 90_000.0).abs() < 1.0, "{total}");
    }

    #[test]
    fn range_estimates_from_a_sample_are_close() {
        let stats = collect(0..100_000, 10_000);
        let rows = stats.histogram.rows_between(&25_000u32.to_be_bytes(), &75_000u32.to_be_bytes());
        assert!((rows - 50_000.0).abs() < 3000.0, "{rows}");
        assert!(stats.top_n.values().is_empty());
    }

    #[test]
    fn a_column_of_few_values_is_known_exactly() {
        let stats = collect((0..1000).map(|i| i % 10), 5000);
        assert_eq!(stats.top_n.values().len(), 10);
        assert_eq!(stats.top_n.rows_equal(&3u32.to_be_bytes()), Some(100.0));
        assert_eq!(stats.histogram.rows(), 0.0);
    }
}

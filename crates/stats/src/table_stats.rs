//! What is known about the rows of a table, and the estimates the planner asks for.
//!
//! All values are in key form: the memcomparable bytes that `types::value::encode_key_datum` writes for a column, and several of
//! them in a row for an index, without the table and index prefix. Ranges are half-open ranges of such bytes.
//!
//! | asked for | with statistics | without (pseudo) |
//! |---|---|---|
//! | equality | top-n, else histogram | 1/1000 of the rows |
//! | range with two bounds | top-n + histogram | 1/40 |
//! | range with one bound | top-n + histogram | 1/3 |
//!
//! Counts are those of the last ANALYZE, scaled to the present row count that deltas of DML keep up to date. No estimate is below
//! one row, so that an "empty" range never looks free.

use base::{ColumnId, IndexId, KeyRange, TableId, TimeStamp, prefix_end};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{Histogram, TopN};

/// Rows a table is taken to have when nothing at all is known about it.
pub const PSEUDO_ROWS: f64 = 10_000.0;
const PSEUDO_EQUAL: f64 = 1.0 / 1000.0;
const PSEUDO_BETWEEN: f64 = 1.0 / 40.0;
const PSEUDO_LESS: f64 = 1.0 / 3.0;

/// The values of one column, or of one index's key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueStats {
    /// Distinct values, NULL aside.
    pub distinct: f64,
    /// Rows that are NULL (for an index: whose first part is).
    pub nulls: f64,
    /// Mean size of a value in key form, in bytes.
    pub mean_size: f64,
    /// For an index: distinct values of the first 1, 2, … parts. Empty for a column.
    #[serde(default)]
    pub prefix_distinct: Vec<f64>,
    /// The most frequent values.
    pub top_n: TopN,
    /// The other values.
    pub histogram: Histogram,
}

/// Bytes of a key that statistics keep: longer ones are told apart by their first bytes only.
pub const MAX_KEY_BYTES: usize = 64;

/// The part of a key that statistics keep.
pub fn cut_key(key: &[u8]) -> &[u8] {
    &key[..key.len().min(MAX_KEY_BYTES)]
}

impl ValueStats {
    fn rows_equal(&self, key: &[u8]) -> f64 {
        self.top_n.rows_equal(key).unwrap_or_else(|| self.histogram.rows_equal(key))
    }

    fn rows_between(&self, range: &KeyRange) -> f64 {
        self.top_n.rows_between(&range.start, &range.end) + self.histogram.rows_between(&range.start, &range.end)
    }
}

/// What the ranges of an estimate are ranges of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Values of a column.
    Column(ColumnId),
    /// Keys of an index.
    Index(IndexId),
}

/// Statistics of a table at one moment; immutable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableStats {
    /// The table.
    pub table: TableId,
    /// When ANALYZE read the table; zero when it never has.
    pub analyzed_ts: TimeStamp,
    /// Rows that ANALYZE found.
    pub analyzed_rows: f64,
    /// Rows now, as far as deltas are known.
    pub row_count: f64,
    /// Rows inserted, updated or deleted since ANALYZE.
    pub modify_count: f64,
    /// Statistics of columns.
    pub columns: FxHashMap<ColumnId, ValueStats>,
    /// Statistics of indexes.
    pub indexes: FxHashMap<IndexId, ValueStats>,
}

impl TableStats {
    /// Statistics of a table nothing is known about.
    pub fn pseudo(table: TableId) -> Self {
        Self { table, row_count: PSEUDO_ROWS, ..Self::default() }
    }

    /// Whether the table has never been analyzed.
    pub fn is_pseudo(&self) -> bool {
        self.analyzed_ts.is_zero()
    }

    /// Rows in the table; at least one.
    pub fn rows(&self) -> f64 {
        self.row_count.max(1.0)
    }

    /// Rows now per row that ANALYZE found.
    fn growth(&self) -> f64 {
        if self.analyzed_rows > 0.0 { self.rows() / self.analyzed_rows } else { 1.0 }
    }

    fn values(&self, target: Target) -> Option<&ValueStats> {
        match target {
            Target::Column(id) => self.columns.get(&id),
            Target::Index(id) => self.indexes.get(&id),
        }
    }

    /// Rows whose column or whole index key equals `key`.
    pub fn estimate_equal(&self, target: Target, key: &[u8]) -> f64 {
        let key = cut_key(key);
        let rows = match self.values(target) {
            Some(values) => values.rows_equal(key) * self.growth(),
            None => self.rows() * PSEUDO_EQUAL,
        };
        rows.clamp(1.0, self.rows())
    }

    /// Rows that equal some value that is not known yet: the mean over all values.
    pub fn estimate_equal_unknown(&self, target: Target) -> f64 {
        match self.values(target) {
            Some(values) if values.distinct > 0.0 => {
                let filled = (self.analyzed_rows - values.nulls).max(0.0);
                (filled / values.distinct * self.growth()).clamp(1.0, self.rows())
            }
            Some(_) => 1.0,
            None => (self.rows() * PSEUDO_EQUAL).max(1.0),
        }
    }

    /// Rows whose first `parts` index parts equal some values that are not known yet.
    pub fn estimate_index_prefix_unknown(&self, index: IndexId, parts: usize) -> f64 {
        let distinct = self.indexes.get(&index).and_then(|values| values.prefix_distinct.get(parts.checked_sub(1)?)).copied();
        match distinct {
            Some(distinct) if distinct > 0.0 => (self.rows() / (distinct * self.growth().max(1.0))).clamp(1.0, self.rows()),
            Some(_) => 1.0,
            None => (self.rows() * PSEUDO_EQUAL.powi(parts.clamp(1, 2) as i32)).max(1.0),
        }
    }

    /// Rows in any of `ranges`, which must not overlap.
    pub fn estimate_range_rows(&self, target: Target, ranges: &[KeyRange]) -> f64 {
        let rows: f64 = match self.values(target) {
            Some(values) => ranges.iter().map(|range| values.rows_between(range)).sum::<f64>() * self.growth(),
            None => ranges.iter().map(|range| self.rows() * pseudo_selectivity(range)).sum(),
        };
        rows.clamp(1.0, self.rows())
    }

    /// The share of rows that are NULL in a column.
    pub fn null_fraction(&self, column: ColumnId) -> f64 {
        match self.columns.get(&column) {
            Some(values) if self.analyzed_rows > 0.0 => (values.nulls / self.analyzed_rows).clamp(0.0, 1.0),
            _ => PSEUDO_EQUAL,
        }
    }

    /// Distinct values of a column, for the sizes of joins and groups.
    pub fn distinct(&self, column: ColumnId) -> f64 {
        match self.columns.get(&column) {
            // New rows bring new values only where most values are distinct already.
            Some(values) if values.distinct * 2.0 > self.analyzed_rows => (values.distinct * self.growth()).max(1.0),
            Some(values) => values.distinct.max(1.0),
            None => (self.rows() * 0.8).max(1.0),
        }
    }

    /// Mean size of a column's value in bytes.
    pub fn mean_size(&self, column: ColumnId) -> Option<f64> {
        self.columns.get(&column).map(|values| values.mean_size)
    }

    /// Computes what is not stored; to be called after deserialization.
    pub(crate) fn finish(&mut self) {
        for values in self.columns.values_mut().chain(self.indexes.values_mut()) {
            values.histogram.finish();
        }
    }
}

/// The share of rows a range holds by its shape alone.
fn pseudo_selectivity(range: &KeyRange) -> f64 {
    if range.is_empty() {
        return 0.0;
    }
    match (range.start.is_empty(), range.end.is_empty()) {
        (true, true) => 1.0,
        (true, false) | (false, true) => PSEUDO_LESS,
        (false, false) if prefix_end(&range.start)[..] == range.end[..] => PSEUDO_EQUAL,
        (false, false) => PSEUDO_BETWEEN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top_n::TopValue;

    fn stats() -> TableStats {
        let key = |value: u32| value.to_be_bytes().to_vec();
        let values = ValueStats {
            distinct: 101.0,
            nulls: 0.0,
            mean_size: 4.0,
            prefix_distinct: Vec::new(),
            top_n: TopN::new(vec![TopValue { key: key(7), rows: 900.0 }]),
            histogram: Histogram::build((100..200).map(|value| (key(value), 1.0)), 100.0, 10),
        };
        TableStats {
            table: TableId(1),
            analyzed_ts: TimeStamp(1),
            analyzed_rows: 1000.0,
            row_count: 2000.0,
            columns: [(ColumnId(1), values)].into_iter().collect(),
            ..TableStats::default()
        }
    }

    #[test]
    fn frequent_values_are_known_and_counts_grow_with_the_table() {
        let stats = stats();
        let column = Target::Column(ColumnId(1));
        assert_eq!(stats.estimate_equal(column, &7u32.to_be_bytes()), 1800.0);
        assert!((stats.estimate_equal(column, &150u32.to_be_bytes()) - 2.0).abs() < 0.3);
        let range = KeyRange::new(150u32.to_be_bytes().to_vec(), Vec::new());
        assert!((stats.estimate_range_rows(column, &[range]) - 100.0).abs() < 5.0);
    }

    #[test]
    fn pseudo_statistics_go_by_the_shape_of_the_range() {
        let stats = TableStats::pseudo(TableId(1));
        let column = Target::Column(ColumnId(1));
        assert!(stats.is_pseudo());
        assert_eq!(stats.estimate_equal(column, b"x"), 10.0);
        assert_eq!(stats.estimate_range_rows(column, &[KeyRange::new(b"a".to_vec(), b"c".to_vec())]), 250.0);
        assert_eq!(stats.estimate_range_rows(column, &[KeyRange::default()]), 10_000.0);
    }
}

//! The most frequent values of a column or index, with their exact (or extrapolated) number of rows.
//!
//! They are taken out of the histogram: a few values that most rows share would distort its buckets, and equality with one of
//! them is the estimate that matters most.

use serde::{Deserialize, Serialize};

use crate::hex_bytes;

/// One frequent value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopValue {
    /// The value in its key form.
    #[serde(with = "hex_bytes")]
    pub key: Vec<u8>,
    /// Rows that hold it.
    pub rows: f64,
}

/// The most frequent values, ordered by key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopN {
    values: Vec<TopValue>,
}

impl TopN {
    /// Makes a top-n of values in any order.
    pub fn new(mut values: Vec<TopValue>) -> Self {
        values.sort_by(|a, b| a.key.cmp(&b.key));
        Self { values }
    }

    /// The values, ordered by key.
    pub fn values(&self) -> &[TopValue] {
        &self.values
    }

    /// Rows that hold one of the values.
    pub fn rows(&self) -> f64 {
        self.values.iter().map(|value| value.rows).sum()
    }

    /// Rows that hold exactly `key`, when it is one of the values.
    pub fn rows_equal(&self, key: &[u8]) -> Option<f64> {
        self.values.binary_search_by(|value| value.key[..].cmp(key)).ok().map(|at| self.values[at].rows)
    }

    /// Rows with one of the values in `start <= value < end`; an empty `end` is no bound.
    pub fn rows_between(&self, start: &[u8], end: &[u8]) -> f64 {
        let from = self.values.partition_point(|value| &value.key[..] < start);
        self.values[from..].iter().take_while(|value| end.is_empty() || &value.key[..] < end).map(|value| value.rows).sum()
    }

    /// Multiplies all counts, to extrapolate from a sample.
    pub fn scale(&mut self, factor: f64) {
        for value in &mut self.values {
            value.rows *= factor;
        }
    }
}

//! Statistics: what the planner knows about the rows of a table.
//!
//! | module | what it is |
//! |---|---|
//! | [`TableStats`] | row count and, per column and index, distinct values, top-n and histogram; the planner's estimates |
//! | [`StatsCache`] | the statistics of one server, kept up to date by DML's row counts |
//! | [`Histogram`], [`TopN`], [`DistinctSketch`] | the summaries themselves |
//!
//! All values are in memcomparable key form; no type is looked at here.

mod cache;
mod hex_bytes;
mod histogram;
mod sketch;
mod table_stats;
mod top_n;

pub use cache::{StatsCache, needs_analyze};
pub use histogram::{Bucket, Histogram};
pub use sketch::DistinctSketch;
pub use table_stats::{PSEUDO_ROWS, TableStats, Target, ValueStats};
pub use top_n::{TopN, TopValue};

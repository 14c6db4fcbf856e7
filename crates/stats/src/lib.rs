//! Statistics: what the planner knows about the rows of a table.
//!
//! | module | what it is |
//! |---|---|
//! | [`TableStats`] | row count and, per column and index, distinct values, top-n and histogram; the planner's estimates |
//! | [`StatsCache`] | the statistics of one server, kept up to date by DML's row counts |
//! | [`Histogram`], [`TopN`], [`DistinctSketch`] | the summaries themselves |
//! | [`analyze()`], `collector` | gathering them in one pass over the table |
//! | [`store`] | keeping them in meta keys |
//!
//! All values are in memcomparable key form; only [`analyze()`] looks at types.

mod analyze;
mod cache;
mod collector;
mod error;
mod hex_bytes;
mod histogram;
mod sketch;
pub mod store;
mod table_stats;
mod top_n;

pub use analyze::{AnalyzeOptions, analyze};
pub use cache::{StatsCache, needs_analyze};
pub use error::{Error, Result};
pub use histogram::{Bucket, Histogram};
pub use sketch::DistinctSketch;
pub use table_stats::{MAX_KEY_BYTES, PSEUDO_ROWS, TableStats, Target, ValueStats, cut_key};
pub use top_n::{TopN, TopValue};

//! Pushed-down execution: scans, filters, aggregates and top-n beside the data.
//!
//! ```text
//!   planner ── DagPlan ──▶ exec ── DagRequest ──▶ client ──▶ store scanner ─┐
//!                           │                                              ├─ (key, value) ──▶ DagExecution ──▶ chunks
//!                           └────────▶ a transaction's merged scan ────────┘
//! ```
//!
//! [`DagExecution`] is fed with borrowed keys and values and knows nothing about where they come from: the same code runs over the store's
//! scanner and over the merged view of a transaction that has written to the range, with equal results. It decodes only the columns
//! asked for, straight into columnar chunks, and filters with selection vectors; no step allocates per row.
//!
//! | module | what it is |
//! |---|---|
//! | [`plan`] | the plan, as the planner builds it |
//! | [`request`] | one execution of it |
//! | [`execution`] | the driver: decode, filter, operators, early stop |
//! | [`decode`] | one pair into one row |
//! | [`index_entry`] | index entries, written and read |
//! | [`record`] | record keys and row values, written |
//! | [`sort_key`] | memcomparable sort and group keys over chunks |
//! | [`top_n`], [`group_table`], [`aggregator`] | operators that `exec` shares |

pub mod aggregator;
pub mod decode;
mod error;
pub mod execution;
pub mod group_table;
pub mod index_entry;
pub mod plan;
pub mod record;
pub mod request;
pub mod sort_key;
mod stage;
pub mod top_n;

pub use error::Error;
pub use execution::{DagExecution, Step};
pub use plan::{DagOp, DagPlan, HANDLE_COLUMN, HandleKind, IndexScan, KeyPart, RowLimit, ScanColumn, ScanSpec, SortKey, TableScan};
pub use request::{DEFAULT_CHUNK_ROWS, DagRequest};

/// The result of this crate's fallible operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

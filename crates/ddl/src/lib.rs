//! Schema changes: CREATE, ALTER, DROP, RENAME, TRUNCATE of databases, tables and indexes, online.
//!
//! ```text
//!   statement ─ build ─▶ Action ─ queue ─▶ Job ─▶ owner: step ⟲ (write one schema version, wait for users of the one before)
//!                                                   └─ backfill of new indexes, in parallel batches with checkpoints
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`Ddl`] | the front door |
//! | `build` | syntax tree → action; MySQL's checks and errors |
//! | [`job`] | what is stored of a change |
//! | [`step`](mod@step) | the state machine; pure |
//! | `owner`, `apply`, `queue` | running jobs; writing a step; the stored queue |
//! | `backfill` | filling new indexes while writers go on |
//!
//! The model is F1's ("Online, Asynchronous Schema Change in F1", VLDB 2013), with a metadata lock instead of leases inside one process:
//! running transactions finish on the schema version they began with, and the next step waits for them.

mod apply;
mod backfill;
mod build;
mod ddl;
mod error;
#[cfg(test)]
mod golden;
pub mod job;
mod owner;
mod ownership;
mod queue;
pub mod step;

pub use build::supported_types;
pub use ddl::{Ddl, DdlOutcome, DdlRequest};
pub use error::{Error, Result};

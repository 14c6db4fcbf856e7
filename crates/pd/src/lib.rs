//! The placement driver: cluster identity, timestamps, ids, and how far garbage may be collected.
//!
//! This is the part that a single process needs: [`EmbeddedPd`] keeps its state in the `meta` column family of the process's own engine.
//! The replicated placement driver with regions and scheduling will stand on the same pure cores.
//!
//! | module | what it is |
//! |---|---|
//! | `oracle` | the timestamp oracle: pure, windows as data |
//! | `ids` | the id allocator: pure, windows as data |
//! | `safe_points` | the cluster's and the services' safe points |
//! | `meta` | where state is persisted |
//! | `embedded` | all of it in one process |
//!
//! Invariants:
//! - A timestamp or id is handed out only below a bound that is already on disk; after a restart counting goes on at that bound.
//! - Timestamps grow strictly, whatever the wall clock does.
//! - The cluster id is chosen once and never changes.

mod embedded;
mod error;
mod ids;
mod meta;
mod oracle;
mod safe_points;

pub use embedded::EmbeddedPd;
pub use error::{Error, Result};
pub use oracle::{NextTimestamp, TimestampOracle};

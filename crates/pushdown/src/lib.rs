//! Pushed-down plans and their rows in the form in which they travel between processes: the ecosystem's `tipb`.
//!
//! ```text
//!   SQL server                                                  store
//!   DagPlan ── split ─┬─ what has an exact word ─▶ DAGRequest ─▶ request ─▶ DagPlan ─▶ execution beside the data
//!                     └─ the rest, done here over the rows ◀─── rows ◀──────────────────┘
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`split`] | which part of a plan a store is asked to do, in the protocol's words; what is left |
//! | [`request`] | a store's side: the plan of a request |
//! | `scan`, `expression`, `aggregate` | parts of plans, in both directions |
//! | `signature`, `field_type` | names of functions and types |
//! | [`datum`] | values and rows |
//!
//! Invariants:
//! - What is put into words means to every store of the ecosystem what it means here, or it is not put into words: a list of what is known to, not
//!   of what is known not to.
//! - A plan read from a request is checked: no request makes an execution stop the process.
//! - Aggregates travel as partial ones; limits and top-n may be applied again to what several executions hand up.
//! - Values of TIMESTAMP travel in UTC.

mod aggregate;
pub mod datum;
mod error;
mod expression;
mod field_type;
pub mod request;
mod scan;
mod signature;
pub mod split;

pub use error::Error;
pub use request::StoreRequest;
pub use split::PushedPlan;

/// The result of this crate's fallible operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

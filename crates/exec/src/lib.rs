//! Execution: physical plans to rows and changes.
//!
//! ```text
//!   session ── Arc<PhysicalPlan> + ExecCtx ──▶ execute ─┬▶ RowStream: operators, a chunk at a time
//!                                                       └▶ Affected: changes in the transaction's buffer
//! ```
//!
//! Operators pull chunks from their children ([`operator`]); readers get theirs from pushed-down plans ([`copr`]) that run beside the data, or
//! here over the transaction's own view (`source`). A point get by primary key uses none of that (`point_get`).
//!
//! Invariants
//! - Every operator can be stopped between chunks, knows its deadline, and accounts for what it keeps.
//! - A statement never sees its own writes; its writes are all made or none is.
//! - Any chunk size gives the same rows, down to one row a chunk.

pub mod admin_check;
mod build;
pub mod context;
pub mod dml;
mod error;
mod execute;
mod fetch;
mod filter;
mod hash_agg;
mod index_lookup;
mod join;
mod kept_rows;
pub mod layout;
mod limit;
mod max_one_row;
mod mem_table;
pub mod memory;
pub mod operator;
mod plan_ref;
mod point_get;
mod projection;
mod reader;
mod rollup_agg;
pub mod runtime_stats;
mod select_lock;
mod selection;
mod sort;
mod source;
mod spill;
mod stream_agg;
mod top_n;
mod union_all;
mod values;
mod window;

pub use context::{ExecCtx, ExecVars, ReadTs, TxnHandle, VirtualScan, VirtualTables};
pub use dml::{Affected, InfoKind, TableWriter};
pub use error::{Error, Result};
pub use execute::{Execution, RowStream, execute};
pub use kept_rows::{KeptRows, RowKeeper};
pub use memory::MemTracker;
pub use runtime_stats::RuntimeStats;

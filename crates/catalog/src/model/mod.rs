//! The schema model: what a database, a table, a column and an index are.
//!
//! These are plain immutable values. They are written to transactional meta keys as JSON (see [`crate::meta`]), loaded into an
//! [`InfoSchema`](crate::InfoSchema) and shared behind `Arc`s by every statement of a server.
//!
//! Invariants of a [`TableInfo`]:
//! - `columns[i].offset == i`, and public columns stand before all others; the same holds for no other list.
//! - Column and index ids are never reused within a table; table ids are never reused within a cluster.
//! - Offsets in [`IndexColumn`] and [`PrimaryKey`] point into `columns`.
//! - A column or index that is not [`SchemaState::Public`] is invisible to readers; what writers do with it is told by its state.

mod column;
mod constraint;
mod database;
mod flags;
mod index;
mod state;
mod table;

pub use column::{ColumnDefault, ColumnInfo, GeneratedColumn};
pub use constraint::{CheckInfo, ForeignKeyInfo, ReferenceRule};
pub use database::DatabaseInfo;
pub use index::{IndexColumn, IndexInfo};
pub use state::SchemaState;
pub use table::{PrimaryKey, TableInfo, TableKind};

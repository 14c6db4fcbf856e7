//! The catalog: which databases, tables, columns and indexes there are, at which schema version.
//!
//! ```text
//!   statement ── Catalog::current() ──▶ Arc<InfoSchema> (one version, immutable)
//!                                            ▲ swapped whole
//!   DDL job step ── Meta (one transaction) ──┴── SchemaDiff ── Catalog::reload()
//!        │
//!        └─ waits on Mdl until nobody uses the version before
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`model`] | tables, columns, indexes and their states |
//! | [`InfoSchema`] | all of them at one version |
//! | [`meta`] | how they are stored |
//! | [`Catalog`] | the server's current info schema, reloaded by diffs |
//! | [`Mdl`] | who uses which version of which table |
//! | [`AutoIds`] | AUTO_INCREMENT values and hidden row ids |
//! | [`bootstrap`] | the first start: system databases and grant tables |
//! | [`layout`] | from definitions to the shapes of keys and rows |
//! | [`show_create`] | the text of SHOW CREATE TABLE |
//! | [`infoschema_tables`] | `information_schema` and `performance_schema` |
//!
//! Names are stored as written and looked up without regard to case.

mod autoid;
pub mod bootstrap;
mod catalog;
mod error;
mod follow;
mod info_schema;
pub mod infoschema_tables;
pub mod layout;
mod mdl;
pub mod meta;
pub mod model;
pub mod name;
mod persist;
mod requests;
mod servers;
pub mod show_create;
mod system_tables;

pub use autoid::{AutoIdKind, AutoIdRange, AutoIdStep, AutoIds};
pub use catalog::Catalog;
pub use error::{Error, Result};
pub use follow::Notices;
pub use info_schema::{InfoSchema, InfoSchemaBuilder};
pub use infoschema_tables::columns::{column_default, column_extra, column_key};
pub use infoschema_tables::constraints::{KeyView, keys};
pub use mdl::{Mdl, MdlSession, Stale};
pub use model::{
    CheckInfo, ColumnDefault, ColumnInfo, DatabaseInfo, ForeignKeyInfo, GeneratedColumn, IndexColumn, IndexInfo, PrimaryKey, ReferenceRule,
    SchemaState, TableInfo, TableKind,
};
pub use requests::Question;
pub use servers::{LEASE, MAX_SERVER_NUMBER, ServerAbout, ServerRecord, Servers};
pub use system_tables::DYNAMIC_PRIVILEGES;

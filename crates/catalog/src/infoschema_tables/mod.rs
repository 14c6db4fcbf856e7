//! The virtual tables of `information_schema` and `performance_schema`: their definitions and their rows.
//!
//! | file | tables |
//! |---|---|
//! | [`definition`] | how a virtual table is put together |
//! | `schemata` | SCHEMATA, TABLES, VIEWS, PARTITIONS |
//! | `columns` | COLUMNS |
//! | `constraints` | STATISTICS, KEY_COLUMN_USAGE, TABLE_CONSTRAINTS, REFERENTIAL_CONSTRAINTS, CHECK_CONSTRAINTS |
//! | `charsets` | CHARACTER_SETS, COLLATIONS, COLLATION_CHARACTER_SET_APPLICABILITY |
//! | `server` | ENGINES, PLUGINS; PROCESSLIST, variables, status, privileges (rows by the session layer); ROUTINES, TRIGGERS, EVENTS … (empty) |
//! | `cluster` | processes of a cluster, regions, locks (rows by the session layer) |
//!
//! Definitions are added to every [`InfoSchema`] when it is loaded; they are not stored. Their ids lie above
//! [`VIRTUAL_ID_BASE`], where allocated ids never get. Rows of tables that describe sessions or the server come from a
//! [`RowProvider`], which the layers above hand in.
//!
//! Names: MySQL 8.0 shows column names of `information_schema` in upper case; values follow its manual, chapter 26.

mod charsets;
mod cluster;
pub mod columns;
pub mod constraints;
pub mod definition;
mod schemata;
mod server;

use base::{DatabaseId, TableId};
use types::{Charset, Collation, Datum, TimeZone};

use crate::{DatabaseInfo, InfoSchema, InfoSchemaBuilder, SchemaState, TableInfo, TableKind, name::eq_ignore_case};
use definition::VirtualTable;

/// Ids of virtual databases and tables begin here.
pub const VIRTUAL_ID_BASE: i64 = 1 << 62;

/// The virtual databases.
const DATABASES: [&str; 3] = ["information_schema", "performance_schema", "sys"];

/// Row counts and counters of tables, known to the layers above.
pub trait TableFacts {
    /// Estimated number of rows.
    fn row_count(&self, table: TableId) -> u64;
    /// Estimated mean size of a row in bytes.
    fn mean_row_size(&self, table: TableId) -> u64;
    /// The next AUTO_INCREMENT value, when the table has been used on this server.
    fn next_auto_increment(&self, table: TableId) -> Option<u64>;
    /// Estimated distinct values of the first `parts` parts of an index; `None` when nothing is known.
    fn index_cardinality(&self, table: &TableInfo, index: &str, parts: usize) -> Option<u64>;
}

/// Rows of virtual tables that describe sessions or the server.
pub trait RowProvider {
    /// All rows of a table, as many values a row as it has columns; `None` when the provider does not know the table.
    fn rows(&self, database: &str, table: &TableInfo) -> Option<Vec<Vec<Datum>>>;
}

/// What rows are computed from.
pub struct VirtualContext<'a> {
    /// The statement's schema.
    pub schema: &'a InfoSchema,
    /// Counts of tables.
    pub facts: &'a dyn TableFacts,
    /// Rows from the session layer.
    pub provider: &'a dyn RowProvider,
    /// The session's time zone.
    pub time_zone: &'a TimeZone,
    /// Whether the user may see a table (`None`: the database).
    pub visible: &'a dyn Fn(&str, Option<&str>) -> bool,
    /// What the user may do with a column of a visible table, as the column PRIVILEGES says it; `None` for a column the user may not see.
    pub column_privileges: &'a dyn Fn(&str, &str, &str) -> Option<String>,
}

/// The rows of a virtual table. A table nobody has rows for is empty.
pub fn rows(table: &TableInfo, context: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    if let Some(rows) = context.provider.rows(&table.database, table) {
        return rows;
    }
    let definition = tables().find(|known| known.name == table.name && eq_ignore_case(known.database, &table.database));
    let rows = definition.and_then(|known| known.rows).map(|rows| rows(context)).unwrap_or_default();
    debug_assert!(rows.iter().all(|row| row.len() == table.columns.len()), "rows of {} do not fit its columns", table.name);
    rows
}

fn tables() -> impl Iterator<Item = &'static VirtualTable> {
    [schemata::TABLES, columns::TABLES, constraints::TABLES, charsets::TABLES, server::TABLES, cluster::TABLES].into_iter().flatten()
}

/// Adds the virtual databases and tables to a schema.
pub fn define(builder: &mut InfoSchemaBuilder) {
    for (i, name) in DATABASES.iter().enumerate() {
        builder.put_database(DatabaseInfo {
            id: DatabaseId(VIRTUAL_ID_BASE + i as i64),
            name: (*name).to_owned(),
            charset: Charset::Utf8mb4,
            collation: Collation::Utf8mb4_0900AiCi,
            state: SchemaState::Public,
        });
    }
    for (i, table) in tables().enumerate() {
        let database = DATABASES.iter().position(|name| *name == table.database).expect("virtual tables are in virtual databases");
        let id = TableId(VIRTUAL_ID_BASE + 100 + i as i64);
        let mut info = definition::build(id, DatabaseId(VIRTUAL_ID_BASE + database as i64), table);
        info.kind = TableKind::Virtual;
        builder.put_table(info);
    }
}

/// Whether a database is one of the virtual ones, which cannot be written to.
pub fn is_virtual_database(name: &str) -> bool {
    DATABASES.iter().any(|known| eq_ignore_case(known, name))
}

//! From the syntax tree to jobs: names are looked up, types and defaults checked, MySQL's errors raised.
//!
//! Everything here is pure: it reads one [`InfoSchema`] and returns an [`Action`](crate::job::Action) or an error. Between this check and the
//! job's first step another job may change the schema; the step machine therefore checks again what can have changed (names taken,
//! tables gone), and goes by ids for the rest.
//!
//! | file | what it turns into what |
//! |---|---|
//! | `names` | identifiers, checked; table names resolved to tables |
//! | `charset` | CHARACTER SET and COLLATE |
//! | `column_type` | column types |
//! | `column`, `default` | column definitions and their DEFAULT |
//! | `index` | index definitions, key lengths |
//! | `expression`, `check`, `generated` | expressions of definitions: CHECK constraints, generated columns |
//! | `foreign_key` | foreign keys |
//! | `table` | CREATE TABLE |
//! | `alter` | ALTER TABLE, CREATE INDEX, DROP INDEX into a list of changes |
//! | `database` | CREATE, ALTER, DROP DATABASE |

pub mod alter;
mod charset;
pub mod check;
mod column;
mod column_type;
pub mod database;
mod default;
mod expression;
pub mod foreign_key;
pub mod generated;
mod index;
pub mod names;
pub mod table;

use catalog::InfoSchema;
pub use column_type::supported_types;
use types::{MysqlError, TimeZone, convert::ConvertMode, mysql_error::ER_INVALID_GROUP_FUNC_USE};

/// What a statement is checked against.
pub struct BuildContext<'a> {
    /// The schema.
    pub schema: &'a InfoSchema,
    /// The session's current database.
    pub database: Option<&'a str>,
    /// How default values are converted.
    pub mode: ConvertMode,
    /// The session's time zone, for TIMESTAMP defaults.
    pub time_zone: &'a TimeZone,
    /// Milliseconds since the epoch.
    pub now_ms: u64,
    /// Whether foreign keys must find their parents, and parents may not go (`foreign_key_checks`).
    pub foreign_key_checks: bool,
    /// Warnings and notes for SHOW WARNINGS.
    pub warnings: Vec<MysqlError>,
}

/// An aggregate function where there are no groups.
fn invalid_group_function() -> MysqlError {
    MysqlError::new(ER_INVALID_GROUP_FUNC_USE, "Invalid use of group function")
}

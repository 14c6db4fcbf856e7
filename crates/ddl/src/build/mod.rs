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
//! | `table` | CREATE TABLE |
//! | `alter` | ALTER TABLE, CREATE INDEX, DROP INDEX into a list of changes |
//! | `database` | CREATE, ALTER, DROP DATABASE |

pub mod alter;
mod charset;
mod column;
mod column_type;
pub mod database;
mod default;
mod index;
pub mod names;
pub mod table;

use catalog::InfoSchema;
pub use column_type::supported_types;
use types::{MysqlError, TimeZone, convert::ConvertMode};

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
    /// Warnings and notes for SHOW WARNINGS.
    pub warnings: Vec<MysqlError>,
}

//! What planning may look at besides the statement: schema, statistics, session.
//!
//! The planner reads everything through [`PlanCtx`] and keeps nothing of it, so a cached plan is valid for every session whose cache key
//! (schema version, database, sql_mode, collation, time zone …) is equal.

use std::sync::Arc;

use base::TableId;
use catalog::InfoSchema;
use expr::EvalCtx;
use parser::ast::VarScope;
use stats::TableStats;
use types::{Datum, FieldType, mysql_error::MysqlError};

use crate::rules::RuleSet;

/// Where statistics come from.
pub trait StatsSource {
    /// The table's statistics; `None` when nothing is known of it.
    fn table_stats(&self, table: TableId) -> Option<Arc<TableStats>>;
}

/// No statistics at all: the planner works with fixed assumptions.
pub struct NoStats;

impl StatsSource for NoStats {
    fn table_stats(&self, _: TableId) -> Option<Arc<TableStats>> {
        None
    }
}

/// Where the values of system variables come from.
pub trait SystemVariables {
    /// The value of `@@[scope.]name` and its type.
    ///
    /// # Errors
    /// 1193 for an unknown name, 1238 for a wrong scope.
    fn system_variable(&self, scope: Option<VarScope>, name: &str) -> Result<(Datum, FieldType), MysqlError>;
}

/// Keeps the names of tables from those who may not know them: asked before it is looked whether a table is there.
pub trait TableGate {
    /// The error for a client that has no privilege whatever on a table.
    fn admit(&self, database: &str, table: &str) -> std::result::Result<(), types::mysql_error::MysqlError>;
}

/// What a statement is planned with.
#[derive(Clone, Copy)]
pub struct PlanCtx<'a> {
    /// The schema.
    pub infoschema: &'a InfoSchema,
    /// Statistics.
    pub stats: &'a dyn StatsSource,
    /// The current database.
    pub database: Option<&'a str>,
    /// The session's evaluation context: constants are folded and converted with it.
    pub eval: &'a EvalCtx,
    /// System variables, for `@@x`.
    pub variables: &'a dyn SystemVariables,
    /// For a text statement that goes through the plan cache: how many literals its text has. The planner then turns literals into
    /// parameters where that cannot change the plan or its result columns. `None` leaves all literals constants.
    pub literal_count: Option<usize>,
    /// For a prepared statement: the types of its `?` markers. A marker beyond the list is taken for a string.
    pub param_types: &'a [FieldType],
    /// Values of the `?` markers, for estimates only; may be empty.
    pub param_values: &'a [Datum],
    /// The switched-off rules.
    pub rules: RuleSet,
    /// Which tables may be named at all; `None` for all.
    pub gate: Option<&'a dyn TableGate>,
}

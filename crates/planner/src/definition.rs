//! Expressions of table definitions, bound outside of any statement: for those who check a definition, and for those who compute or try
//! rows without a plan (new columns and constraints over existing rows, rows that foreign keys change).
//!
//! Columns of a bound expression are numbered by their offset in the table.

use catalog::{ColumnInfo, InfoSchema, TableInfo};
use expr::{EvalCtx, Expr};
use parser::ast::VarScope;
use types::{
    Datum, FieldType,
    mysql_error::{ER_UNKNOWN_SYSTEM_VARIABLE, MysqlError},
};

use crate::{
    NoStats, PlanCtx, RuleSet, SystemVariables,
    bind::column_default::bind_column_text,
    error::Result,
    physical::{Assignment, Check},
};

/// No definition may name a variable.
struct NoVariables;

impl SystemVariables for NoVariables {
    fn system_variable(&self, _: Option<VarScope>, name: &str) -> std::result::Result<(Datum, FieldType), MysqlError> {
        Err(MysqlError::new(ER_UNKNOWN_SYSTEM_VARIABLE, format!("Unknown system variable '{name}'")))
    }
}

fn bind(schema: &InfoSchema, table: &TableInfo, text: &str, eval: &EvalCtx) -> Result<Expr> {
    let cx = PlanCtx {
        infoschema: schema,
        stats: &NoStats,
        database: None,
        eval,
        variables: &NoVariables,
        literal_count: None,
        param_types: &[],
        param_values: &[],
        rules: RuleSet::default(),
        gate: None,
    };
    bind_column_text(&cx, table, text)
}

/// The expression of a definition over a table.
///
/// # Errors
/// Names and functions that mean nothing, types that do not go together.
pub fn expression(schema: &InfoSchema, table: &TableInfo, text: &str, eval: &EvalCtx) -> Result<Expr> {
    bind(schema, table, text, eval)
}

/// The conditions that rows of a table are held to: those of its enforced CHECK constraints that are in force.
///
/// # Errors
/// As [`expression`].
pub fn checks(schema: &InfoSchema, table: &TableInfo, eval: &EvalCtx) -> Result<Vec<Check>> {
    bind_checks(table, |text| bind(schema, table, text, eval))
}

/// How the values of a table's generated columns that are written are computed, in the order of the columns.
///
/// # Errors
/// As [`expression`].
pub fn generated(schema: &InfoSchema, table: &TableInfo, eval: &EvalCtx) -> Result<Vec<Assignment>> {
    let written = |column: &&ColumnInfo| column.state.is_writable();
    let columns = table.columns.iter().filter(written).filter_map(|column| Some((column.offset, column.generated.as_ref()?)));
    columns.map(|(column, generated)| Ok(Assignment { column, value: bind(schema, table, &generated.expr, eval)? })).collect()
}

pub(crate) fn bind_checks(table: &TableInfo, bind: impl Fn(&str) -> Result<Expr>) -> Result<Vec<Check>> {
    let in_force = table.checks.iter().filter(|check| check.enforced && check.state.is_writable());
    in_force.map(|check| Ok(Check { name: check.name.clone(), condition: bind(&check.expr)? })).collect()
}

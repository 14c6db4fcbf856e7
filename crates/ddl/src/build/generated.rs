//! Generated columns: what they are computed from.

use catalog::{ColumnInfo, TableInfo, name::eq_ignore_case};
use expr::EvalCtx;
use parser::ast::{ColumnOption, Expr, Ident};

use super::{
    BuildContext,
    expression::{self, Unfit, columns, unfit},
};
use crate::{Error, Result};

/// What a generated column cannot have beside its expression.
pub fn check_attributes(options: &[ColumnOption]) -> Result<()> {
    let first = |first| Err(Error::WrongUsage { first, second: "generated column" });
    match options.iter().any(|option| matches!(option, ColumnOption::Generated { .. })) {
        false => Ok(()),
        true if options.iter().any(|option| matches!(option, ColumnOption::Default(_) | ColumnOption::DefaultExpr(_))) => first("DEFAULT"),
        true if options.iter().any(|option| matches!(option, ColumnOption::AutoIncrement)) => first("AUTO_INCREMENT"),
        true if options.iter().any(|option| matches!(option, ColumnOption::OnUpdate(_))) => first("ON UPDATE"),
        true => Ok(()),
    }
}

/// The text of a generated column's expression, which is not yet looked at in the light of the other columns.
pub fn expression_text(column: &str, expr: &Expr) -> Result<String> {
    let column = || column.to_owned();
    match unfit(expr) {
        None => Ok(expression::text(expr)),
        Some(Unfit::Function(function)) => Err(Error::GeneratedFunction { column: column(), function }),
        Some(Unfit::Construct) => Err(Error::GeneratedConstruct { column: column() }),
        Some(Unfit::Variable) => Err(Error::GeneratedVariable { column: column() }),
        Some(Unfit::Row) => Err(Error::GeneratedRowValue { column: column() }),
        Some(Unfit::Aggregate) => Err(Error::Mysql(super::invalid_group_function())),
    }
}

/// The columns a generated column is computed from, by name; none for other columns.
pub fn base_columns(column: &ColumnInfo) -> Vec<Ident> {
    let parsed = column.generated.as_ref().and_then(|generated| expression::parsed(&generated.expr));
    parsed.map(|expr| columns(&expr)).unwrap_or_default()
}

/// Whether some generated column of the table is computed from a column of that name.
pub fn is_base(table: &TableInfo, name: &str) -> bool {
    table.columns.iter().any(|column| base_columns(column).iter().any(|base| eq_ignore_case(base, name)))
}

impl BuildContext<'_> {
    /// What holds for the generated columns of a table that has all its columns in their places.
    pub fn check_generated(&self, table: &TableInfo) -> Result<()> {
        for column in table.columns.iter().filter(|column| column.generated.is_some()) {
            for name in base_columns(column) {
                let base = table.column(&name);
                let place = "generated column function".to_owned();
                let base = base.ok_or_else(|| Error::UnknownColumn { column: name.to_string(), place })?;
                if base.auto_increment {
                    return Err(Error::GeneratedAutoIncrement { column: column.name.clone() });
                }
                if base.generated.is_some() && base.offset >= column.offset {
                    return Err(Error::GeneratedNonPrior);
                }
            }
            if let Some(generated) = &column.generated {
                let bound = planner::definition::expression(self.schema, table, &generated.expr, &EvalCtx::default());
                bound.map_err(|error| Error::Mysql(error.to_mysql()))?;
                if !generated.stored && table.primary_key_columns().contains(&column.offset) {
                    return Err(Error::GeneratedUnsupported { action: "Defining a virtual generated column as primary key" });
                }
            }
        }
        Ok(())
    }
}

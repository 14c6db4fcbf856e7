//! CHECK constraints: what may stand in them, and their names.

use catalog::{CheckInfo, SchemaState, TableInfo, name::eq_ignore_case};
use expr::EvalCtx;
use parser::ast::CheckDef;

use super::{
    BuildContext,
    expression::{self, Unfit, columns, is_boolean, unfit},
    names::{check_column_name, generated_number},
};
use crate::{Error, Result};

/// What stands between the table's name and the number in the name of a constraint that was given none.
pub const GENERATED: &str = "_chk_";

impl BuildContext<'_> {
    /// Adds a constraint to a table that has all its columns; its name is made up if it was given none. `of_column`: it stands among the
    /// attributes of that column.
    pub fn add_check(&self, table: &mut TableInfo, definition: &CheckDef, of_column: Option<&str>) -> Result<CheckInfo> {
        let name = match &definition.name {
            Some(name) => {
                check_column_name(name)?;
                name.to_string()
            }
            None => {
                let numbers = table.checks.iter().filter_map(|check| generated_number(&check.name, &table.name, GENERATED));
                format!("{}{GENERATED}{}", table.name, numbers.max().unwrap_or(0) + 1)
            }
        };
        let elsewhere = self.schema.tables(&table.database).into_iter().any(|other| other.id != table.id && other.check(&name).is_some());
        if elsewhere || table.check(&name).is_some() {
            return Err(Error::DuplicateCheckName { name });
        }
        let expr = &definition.expr;
        match unfit(expr) {
            None => {}
            Some(Unfit::Function(function)) => return Err(Error::CheckFunction { name, function }),
            Some(Unfit::Construct) => return Err(Error::CheckConstruct { name }),
            Some(Unfit::Variable) => return Err(Error::CheckVariable { name }),
            Some(Unfit::Row) => return Err(Error::CheckRowValue { name }),
            Some(Unfit::Aggregate) => return Err(Error::Mysql(super::invalid_group_function())),
        }
        if !is_boolean(expr) {
            return Err(Error::CheckNotBoolean { name });
        }
        for used in columns(expr) {
            if of_column.is_some_and(|own| !eq_ignore_case(own, &used)) {
                return Err(Error::CheckOtherColumn { name });
            }
            match table.column(&used) {
                None => return Err(Error::CheckUnknownColumn { name, column: used.to_string() }),
                Some(column) if column.auto_increment => return Err(Error::CheckAutoIncrement { name }),
                Some(_) => {}
            }
        }
        let text = expression::text(expr);
        planner::definition::expression(self.schema, table, &text, &EvalCtx::default()).map_err(|error| Error::Mysql(error.to_mysql()))?;
        let check = CheckInfo { name, expr: text, enforced: definition.enforced, state: SchemaState::Public };
        table.checks.push(check.clone());
        table.sort_constraints();
        Ok(check)
    }
}

/// The columns of a constraint, by name.
pub fn columns_of(check: &CheckInfo) -> Vec<parser::ast::Ident> {
    expression::parsed(&check.expr).map(|expr| columns(&expr)).unwrap_or_default()
}

/// Refuses a column that constraints name among others, and takes those away that name it alone: their names.
pub fn without_column(table: &mut TableInfo, column: &str) -> Result<Vec<String>> {
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for check in std::mem::take(&mut table.checks) {
        let used = columns_of(&check);
        match used.iter().any(|name| eq_ignore_case(name, column)) {
            false => kept.push(check),
            true if used.len() == 1 => gone.push(check.name),
            true => return Err(Error::CheckNeedsColumn { name: check.name, column: column.to_owned() }),
        }
    }
    table.checks = kept;
    Ok(gone)
}

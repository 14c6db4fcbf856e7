//! What fills a column that a statement gives no value for: defaults and generated columns.
//!
//! The catalog keeps their expressions as text. They are bound by a binder of their own whose columns are numbered by their offset in the
//! table, so the result refers to a row in the table's layout.

use catalog::{ColumnDefault, ColumnInfo, TableInfo};
use expr::Expr;
use parser::ast;

use super::{Binder, Frame, ScopeColumn, expression::ExprCx, scope::same_name};
use crate::{
    context::PlanCtx,
    error::{Clause, Error, Result},
    physical::{Check, ColumnFill},
};

impl<'a> Binder<'a> {
    /// How a column is filled that an INSERT does not mention.
    pub(super) fn column_fill(&self, table: &TableInfo, column: &ColumnInfo) -> Result<ColumnFill> {
        if let Some(generated) = &column.generated
            && column.state.is_writable()
        {
            return Ok(ColumnFill::Generated(bind_column_text(self.cx, table, &generated.expr)?));
        }
        if column.auto_increment {
            return Ok(ColumnFill::AutoIncrement);
        }
        Ok(match &column.default {
            _ if !column.state.is_public() => ColumnFill::Default(Expr::constant(column.origin_default.clone(), column.ty.clone())),
            ColumnDefault::Value(value) => ColumnFill::Default(Expr::constant(value.clone(), column.ty.clone())),
            ColumnDefault::Expr(text) => ColumnFill::Default(bind_column_text(self.cx, table, text)?),
            ColumnDefault::None if column.ty.not_null => ColumnFill::Missing,
            ColumnDefault::None => ColumnFill::Default(Expr::constant(types::Datum::Null, column.ty.clone())),
        })
    }

    /// The conditions that rows of the table are held to.
    pub(super) fn checks(&self, table: &TableInfo) -> Result<Vec<Check>> {
        crate::definition::bind_checks(table, |text| bind_column_text(self.cx, table, text))
    }

    /// The value that DEFAULT or `DEFAULT(column)` stands for; over the table's layout.
    pub(super) fn default_value(&self, table: &TableInfo, column: &ColumnInfo) -> Result<Expr> {
        match self.column_fill(table, column)? {
            ColumnFill::Default(value) | ColumnFill::Generated(value) => Ok(value),
            ColumnFill::AutoIncrement => Ok(Expr::constant(types::Datum::Int(0), column.ty.clone())),
            ColumnFill::Missing => Err(Error::NoDefault { name: column.name.clone() }),
        }
    }

    /// `DEFAULT(column)`.
    pub(super) fn bind_default_of(&mut self, column: &ast::ColumnRef, clause: Clause) -> Result<Expr> {
        let found = self.frame().find(column, clause)?.cloned();
        let found = found.ok_or_else(|| Error::UnknownColumn { name: super::scope::display_name(column), clause })?;
        let table = self.cx.infoschema.table(&found.database, &found.org_table);
        let table = table.ok_or_else(|| Error::UnknownTable { table: found.table.clone() })?;
        match table.column(&found.org_name) {
            Some(column) => self.default_value(&table, column),
            None => Err(Error::UnknownColumn { name: found.name, clause }),
        }
    }

    /// The expression that sets an ON UPDATE CURRENT_TIMESTAMP column.
    pub(super) fn current_timestamp(&self, fsp: u8) -> Result<Expr> {
        let digits = Expr::constant(types::Datum::Int(i64::from(fsp)), types::FieldType::bigint().with_not_null());
        self.call("now", vec![digits])
    }
}

/// Binds the text of a default or generated column. Columns are numbered by their offset in the table.
pub(crate) fn bind_column_text(cx: &PlanCtx<'_>, table: &TableInfo, text: &str) -> Result<Expr> {
    let broken = || Error::unsupported(format!("expression {text}"));
    let statement = format!("SELECT {text}");
    let (parsed, _) = parser::parse_one(&statement, &parser::ParseOptions::default()).map_err(|_| broken())?;
    let ast::Stmt::Query(query) = &parsed else { return Err(broken()) };
    let ast::QueryBody::Select(select) = &query.body else { return Err(broken()) };
    let [ast::SelectItem::Expr { expr, .. }] = &select.items[..] else { return Err(broken()) };
    let cx = PlanCtx { literal_count: None, param_types: &[], param_values: &[], ..*cx };
    let mut binder = Binder::new(&cx);
    let mut frame = Frame::default();
    for column in &table.columns {
        let col = binder.columns.add(column.name.clone(), column.ty.clone(), None);
        debug_assert_eq!(col, column.offset, "columns stand at their offset");
        frame.columns.push(ScopeColumn {
            name: column.name.clone(),
            table: table.name.clone(),
            org_table: table.name.clone(),
            org_name: column.name.clone(),
            database: table.database.clone(),
            col,
            qualified_only: false,
            hidden: false,
        });
    }
    binder.frames.push(frame);
    binder.bind_expr(expr, ExprCx::plain(Clause::FieldList))
}

/// The public column of a table that a name in a column list means.
pub(super) fn listed_column<'t>(table: &'t TableInfo, alias: &str, wanted: &ast::ColumnRef) -> Result<&'t ColumnInfo> {
    let unknown = || Error::UnknownColumn { name: super::scope::display_name(wanted), clause: Clause::FieldList };
    if wanted.table.as_ref().is_some_and(|name| !same_name(name, alias)) {
        return Err(unknown());
    }
    table.column(&wanted.name).ok_or_else(unknown)
}

//! Values computed from a row being built or changed: assignments, generated columns, ON UPDATE CURRENT_TIMESTAMP.

use catalog::{ColumnInfo, TableInfo};
use expr::{EvalCtx, Expr};
use planner::physical::ColumnFill;
use types::{Chunk, Column, Datum, FieldType, Time, TypeKind};

use crate::dml::convert::Converter;
use crate::{ExecCtx, Result};

/// One row in columnar form, to evaluate expressions over, with single values replaced in place.
pub(crate) struct RowBuffer {
    chunk: Chunk,
}

impl RowBuffer {
    /// A row of the given types and values.
    pub(crate) fn new(types: &[FieldType], values: &[Datum]) -> Self {
        let mut chunk = Chunk::new(types, 1);
        chunk.push_row(values);
        Self { chunk }
    }

    /// Replaces a value; it must be of the column's type or NULL.
    pub(crate) fn set(&mut self, column: usize, value: &Datum) {
        let out: &mut Column = &mut self.chunk.columns_mut()[column];
        out.clear();
        out.push(value);
    }

    /// Evaluates an expression over the row.
    pub(crate) fn eval(&self, expr: &Expr, ctx: &EvalCtx) -> Result<Datum> {
        Ok(expr.eval(ctx, self.chunk.row(0))?)
    }
}

/// Whether an expression refers to the row.
pub(crate) fn needs_row(expr: &Expr) -> bool {
    if matches!(expr, Expr::Constant { .. } | Expr::Param { .. }) {
        return false;
    }
    let mut found = false;
    expr.walk(&mut |part| found |= matches!(part, Expr::Column { .. }));
    found
}

/// The types of a table's columns, in its layout.
pub(crate) fn layout_types(table: &TableInfo) -> Vec<FieldType> {
    table.columns.iter().map(|column| column.ty.clone()).collect()
}

/// Stores a value and checks NOT NULL.
pub(crate) fn store_checked(converter: &Converter<'_>, value: Datum, column: &ColumnInfo, row: u64, single_row: bool) -> Result<Datum> {
    let value = converter.store(value, column, row)?;
    if value.is_null() && column.ty.not_null {
        return converter.replace_null(column, row, single_row);
    }
    Ok(value)
}

/// Computes the generated columns of a row in the table's layout.
pub(crate) fn fill_generated(
    table: &TableInfo,
    fill: &[ColumnFill],
    row: &mut [Datum],
    number: u64,
    converter: &Converter<'_>,
    ctx: &ExecCtx,
) -> Result<()> {
    if !fill.iter().any(|fill| matches!(fill, ColumnFill::Generated(_))) {
        return Ok(());
    }
    let mut buffer = RowBuffer::new(&layout_types(table), row);
    for (at, fill) in fill.iter().enumerate() {
        let ColumnFill::Generated(expr) = fill else { continue };
        let value = buffer.eval(expr, &ctx.eval)?;
        row[at] = store_checked(converter, value, &table.columns[at], number, false)?;
        buffer.set(at, &row[at]);
    }
    Ok(())
}

/// The statement's time as a value of a column with ON UPDATE CURRENT_TIMESTAMP.
pub(crate) fn current_timestamp(column: &ColumnInfo, ctx: &ExecCtx) -> Datum {
    let fsp = column.on_update_now.unwrap_or(0);
    let Some(now) = Time::timestamp_from_unix_micros(ctx.eval.now_micros, fsp) else { return Datum::Null };
    if column.ty.tp == TypeKind::Timestamp {
        return Datum::Time(now);
    }
    Datum::Time(now.to_zone(&ctx.eval.time_zone).with_kind(types::TimeKind::DateTime, fsp))
}

//! INSERT and REPLACE.
//!
//! Rows are expressed in the table's layout. Values may refer to columns of the row being built; the expressions of ON DUPLICATE KEY
//! UPDATE see two rows side by side: the one in the table and the one that was to be inserted.

use std::sync::Arc;

use catalog::{TableInfo, TableKind};
use expr::Expr;
use parser::ast;

use super::literal::as_number;
use super::{Binder, Frame, ScopeColumn, column_default::listed_column, expression::ExprCx, scope::same_name};
use crate::{
    error::{Clause, Error, Result},
    logical::{Col, Columns, Plan, Project, columns_of},
    physical::{Assignment, Check, ColumnFill, InsertValue, TableAccess},
};

/// A bound INSERT or REPLACE.
pub(crate) struct BoundInsert {
    pub table: Arc<TableInfo>,
    pub database: String,
    pub replace: bool,
    pub ignore: bool,
    pub columns: Vec<usize>,
    pub fill: Vec<ColumnFill>,
    pub source: BoundSource,
    pub on_duplicate: Vec<Assignment>,
    pub on_update: Vec<Assignment>,
    pub checks: Vec<Check>,
}

/// Where rows come from.
pub(crate) enum BoundSource {
    Values(Vec<Vec<InsertValue>>),
    Query { plan: Plan, output: Vec<Col> },
}

impl<'a> Binder<'a> {
    pub(crate) fn bind_insert(&mut self, insert: &'a ast::InsertStmt) -> Result<BoundInsert> {
        if !insert.partitions.is_empty() {
            return Err(Error::unsupported("PARTITION"));
        }
        let (database, table) = self.lookup_table(&insert.table)?;
        if table.kind == TableKind::Virtual {
            return Err(Error::NotUpdatable { table: table.name.clone(), operation: "INSERT" });
        }
        self.locks_rows = true;
        if insert.replace {
            self.touch(&table, TableAccess::Delete);
        }
        let columns = insert_columns(&table, insert)?;
        self.touch_columns(&table, TableAccess::Insert, columns.iter().copied());
        let fill = table.columns.iter().map(|column| self.column_fill(&table, column)).collect::<Result<Vec<_>>>()?;
        // The rows' columns get numbers in one block: first the row in the table, then the new row.
        let first = self.columns.add(table.name.clone(), types::FieldType::null(), None) + 1;
        for _ in 0..2 {
            for column in &table.columns {
                self.columns.add(format!("{database}.{}.{}", table.name, column.name), column.ty.clone(), None);
            }
        }
        let mut from = vec![];
        let mut source = match &insert.source {
            ast::InsertSource::Values(rows) => {
                let rows = self.bind_rows(&table, &columns, rows, first)?;
                self.check_not_read(&table, &table.name)?;
                BoundSource::Values(rows)
            }
            ast::InsertSource::Query(query) => {
                let (bound, frame) = self.bind_block(query)?;
                from = frame.columns;
                if bound.output.len() != columns.len() {
                    return Err(Error::ValueCount { row: 1 });
                }
                if columns.iter().any(|offset| table.columns[*offset].generated.is_some()) {
                    return Err(generated_value(&table, &columns));
                }
                self.assigned_rows(bound.plan, bound.output.iter().map(|column| column.col).collect(), &table, &columns)?
            }
        };
        let mut on_duplicate = self.bind_on_duplicate(&table, insert, &columns, first, from)?;
        let width = table.columns.len();
        for assignment in &on_duplicate {
            self.touch_columns(&table, TableAccess::Update, [assignment.column]);
            let of_row = columns_of(&assignment.value).into_iter().filter(|col| (first..first + width).contains(col));
            self.touch_columns(&table, TableAccess::Select, of_row.map(|col| col - first));
        }
        self.number_row_columns(&table, first, &mut source, &mut on_duplicate)?;
        let on_update = match on_duplicate.is_empty() {
            true => vec![],
            false => self.on_update_columns(&table, &on_duplicate)?,
        };
        let checks = self.checks(&table)?;
        let (replace, ignore) = (insert.replace, insert.ignore);
        Ok(BoundInsert { table, database, replace, ignore, columns, fill, source, on_duplicate, on_update, checks })
    }

    fn bind_rows(&mut self, table: &TableInfo, columns: &[usize], rows: &'a [Vec<ast::Expr>], first: Col) -> Result<Vec<Vec<InsertValue>>> {
        self.frames.push(Frame { columns: row_scope(table, &table.name, first), ..Frame::default() });
        let mut bound = Vec::with_capacity(rows.len());
        for (i, row) in rows.iter().enumerate() {
            if row.len() != columns.len() && !row.is_empty() {
                return Err(Error::ValueCount { row: i + 1 });
            }
            if row.is_empty() && !columns.is_empty() {
                // `VALUES ()` with a column list is wrong; without one it means all defaults.
                bound.push(vec![InsertValue::Default; columns.len()]);
                continue;
            }
            let mut values = Vec::with_capacity(row.len());
            for (value, offset) in row.iter().zip(columns) {
                values.push(self.bind_insert_value(table, *offset, value, first)?);
            }
            bound.push(values);
        }
        if !self.frame().pending.is_empty() {
            return Err(Error::unsupported("subquery in VALUES that depends on the row"));
        }
        self.frames.pop();
        Ok(bound)
    }

    fn bind_insert_value(&mut self, table: &TableInfo, offset: usize, value: &'a ast::Expr, first: Col) -> Result<InsertValue> {
        let column = &table.columns[offset];
        if matches!(value, ast::Expr::Default(None)) {
            return Ok(InsertValue::Default);
        }
        if column.generated.is_some() {
            return Err(Error::GeneratedColumnValue { column: column.name.clone(), table: table.name.clone() });
        }
        if matches!(value, ast::Expr::Default(Some(_))) {
            return Ok(InsertValue::Expr(self.bind_expr(value, ExprCx::condition(Clause::FieldList))?));
        }
        let mut bound = self.bind_expr(value, ExprCx::condition(Clause::FieldList))?;
        bound = self.as_condition(bound)?;
        if column.ty.tp.is_numeric() {
            bound = as_number(value, bound);
        }
        bound = self.assigned(bound, &column.ty)?;
        bound.remap_columns(&|col| col - first);
        Ok(InsertValue::Expr(bound))
    }

    fn bind_on_duplicate(
        &mut self,
        table: &TableInfo,
        insert: &'a ast::InsertStmt,
        columns: &[usize],
        first: Col,
        from: Vec<ScopeColumn>,
    ) -> Result<Vec<Assignment>> {
        if insert.on_duplicate.is_empty() {
            return Ok(vec![]);
        }
        let width = table.columns.len();
        let columns_of_table = row_scope(table, &table.name, first);
        let mut frame = Frame { columns: columns_of_table, new_row: Some((first, width)), ..Frame::default() };
        if let Some(alias) = &insert.row_alias {
            if same_name(&alias.name, &table.name) {
                return Err(Error::DuplicateAlias { alias: alias.name.as_str().to_owned() });
            }
            let mut new_row = row_scope(table, &alias.name, first + width);
            if !alias.columns.is_empty() {
                if alias.columns.len() != columns.len() {
                    return Err(Error::ColumnListMismatch);
                }
                let renamed = columns.iter().zip(&alias.columns).map(|(offset, name)| {
                    let mut column = new_row[*offset].clone();
                    column.name = name.as_str().to_owned();
                    column
                });
                new_row = renamed.collect();
            }
            frame.columns.extend(new_row);
        }
        frame.columns.extend(from);
        self.frames.push(frame);
        let mut assignments = vec![];
        for assignment in &insert.on_duplicate {
            let column = listed_column(table, &table.name, &assignment.column)?;
            let value = self.bind_assigned(table, column, &assignment.value, first)?;
            assignments.push(Assignment { column: column.offset, value });
        }
        if !self.frame().pending.is_empty() {
            return Err(Error::unsupported("subquery in ON DUPLICATE KEY UPDATE that depends on the row"));
        }
        self.frames.pop();
        Ok(assignments)
    }

    fn bind_assigned(&mut self, table: &TableInfo, column: &catalog::ColumnInfo, value: &'a ast::Expr, first: Col) -> Result<Expr> {
        if matches!(value, ast::Expr::Default(None)) {
            let mut value = self.default_value(table, column)?;
            value.remap_columns(&|offset| first + offset);
            return Ok(value);
        }
        if column.generated.is_some() {
            return Err(Error::GeneratedColumnValue { column: column.name.clone(), table: table.name.clone() });
        }
        let bound = self.bind_expr(value, ExprCx::condition(Clause::FieldList))?;
        let bound = if column.ty.tp.is_numeric() { as_number(value, bound) } else { bound };
        self.assigned(self.as_condition(bound)?, &column.ty)
    }

    /// A value on its way into a column, with what only its own type tells about it.
    pub(super) fn assigned(&self, value: Expr, column: &types::FieldType) -> Result<Expr> {
        Ok(expr::build_assignment(value, column, &self.build())?)
    }

    /// The rows of a query on their way into columns.
    fn assigned_rows(&mut self, mut plan: Plan, mut output: Vec<Col>, table: &TableInfo, columns: &[usize]) -> Result<BoundSource> {
        let mut exprs: Vec<(Col, Expr)> = output.iter().map(|col| (*col, self.columns.expr(*col))).collect();
        let mut changed = false;
        for (i, offset) in columns.iter().enumerate() {
            let value = self.columns.expr(output[i]);
            let assigned = self.assigned(value.clone(), &table.columns[*offset].ty)?;
            if assigned != value {
                changed = true;
                output[i] = self.columns.add_computed(assigned.field_type().clone());
                exprs.push((output[i], assigned));
            }
        }
        if changed {
            exprs.sort_by_key(|(col, _)| *col);
            exprs.dedup_by_key(|(col, _)| *col);
            plan = Plan::Project(Project { child: Box::new(plan), exprs });
        }
        Ok(BoundSource::Query { plan, output })
    }

    /// Renumbers the assignments' columns to positions in `old row ++ new row ++ further columns of the query`, and makes the query hand up
    /// those further columns: the assignments may name columns of the tables it selects from.
    fn number_row_columns(&self, table: &TableInfo, first: Col, source: &mut BoundSource, assignments: &mut [Assignment]) -> Result<()> {
        let width = table.columns.len();
        let rows = first..first + 2 * width;
        let mut further: Vec<Col> = vec![];
        for assignment in assignments.iter() {
            for col in columns_of(&assignment.value) {
                if !rows.contains(&col) && !further.contains(&col) {
                    further.push(col);
                }
            }
        }
        if let BoundSource::Query { plan, output } = source {
            for col in &further {
                if !hand_up(plan, *col, &self.columns) {
                    let name = self.columns.meta(*col).name.to_string();
                    return Err(Error::UnknownColumn { name, clause: Clause::FieldList });
                }
            }
            output.extend(&further);
        }
        let position = |col: Col| match further.iter().position(|own| *own == col) {
            Some(at) => 2 * width + at,
            None => col - first,
        };
        for assignment in assignments {
            assignment.value.remap_columns(&position);
        }
        Ok(())
    }

    /// `VALUES(column)`: the value that was to be inserted.
    pub(super) fn bind_values_function(&mut self, column: &ast::ColumnRef) -> Result<Expr> {
        let unknown = || Error::UnknownColumn { name: super::scope::display_name(column), clause: Clause::FieldList };
        let Some((first, width)) = self.frame().new_row else {
            return Ok(Expr::constant(types::Datum::Null, types::FieldType::null()));
        };
        let bare = ast::ColumnRef::bare(column.name.clone());
        let wanted = if column.table.is_some() { column } else { &bare };
        let found = self.frame().columns.iter().find(|c| same_name(&c.name, &wanted.name) && c.col < first + width).cloned();
        Ok(self.columns.expr(found.ok_or_else(unknown)?.col + width))
    }

    /// The assignments of ON UPDATE CURRENT_TIMESTAMP columns that no assignment names.
    pub(super) fn on_update_columns(&self, table: &TableInfo, assigned: &[Assignment]) -> Result<Vec<Assignment>> {
        let mut automatic = vec![];
        for column in table.public_columns() {
            if let Some(fsp) = column.on_update_now
                && !assigned.iter().any(|assignment| assignment.column == column.offset)
            {
                automatic.push(Assignment { column: column.offset, value: self.current_timestamp(fsp)? });
            }
        }
        Ok(automatic)
    }
}

/// Makes the plan of a plain SELECT hand up one more column of its tables; whether it can.
fn hand_up(plan: &mut Plan, col: Col, columns: &Columns) -> bool {
    match plan {
        Plan::Project(project) => {
            if project.exprs.iter().any(|(own, _)| *own == col) {
                return true;
            }
            let there = hand_up(&mut project.child, col, columns);
            if there {
                project.exprs.push((col, columns.expr(col)));
            }
            there
        }
        Plan::Sort(sort) => hand_up(&mut sort.child, col, columns),
        Plan::Limit(limit) => hand_up(&mut limit.child, col, columns),
        Plan::Filter(filter) => hand_up(&mut filter.child, col, columns),
        other => other.columns().contains(&col),
    }
}

/// The offsets of the columns that values are given for.
fn insert_columns(table: &TableInfo, insert: &ast::InsertStmt) -> Result<Vec<usize>> {
    if insert.columns.is_empty() {
        let empty_row = matches!(&insert.source, ast::InsertSource::Values(rows) if rows.iter().all(Vec::is_empty));
        let all = table.public_columns().iter().filter(|column| !column.hidden).map(|column| column.offset);
        return Ok(if empty_row { vec![] } else { all.collect() });
    }
    let mut columns = vec![];
    for wanted in &insert.columns {
        let column = listed_column(table, &table.name, wanted)?;
        if columns.contains(&column.offset) {
            return Err(Error::ColumnTwice { name: column.name.clone() });
        }
        columns.push(column.offset);
    }
    Ok(columns)
}

fn generated_value(table: &TableInfo, columns: &[usize]) -> Error {
    let column = columns.iter().map(|offset| &table.columns[*offset]).find(|column| column.generated.is_some());
    Error::GeneratedColumnValue { column: column.map_or_else(String::new, |column| column.name.clone()), table: table.name.clone() }
}

/// The public columns of a row whose first column has number `first`.
fn row_scope(table: &TableInfo, alias: &str, first: Col) -> Vec<ScopeColumn> {
    let column = |column: &catalog::ColumnInfo| ScopeColumn {
        name: column.name.clone(),
        table: alias.to_owned(),
        org_table: table.name.clone(),
        org_name: column.name.clone(),
        database: table.database.clone(),
        col: first + column.offset,
        qualified_only: false,
        hidden: column.hidden,
    };
    table.public_columns().iter().map(column).collect()
}

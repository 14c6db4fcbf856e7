//! UPDATE of one or several tables.

use std::sync::Arc;

use catalog::{TableInfo, TableKind};
use copr::SortKey;
use expr::Expr;
use parser::ast;

use super::{Binder, Frame, expression::ExprCx, from::ScanMode, literal::as_number, scope::RowTarget};
use crate::{
    error::{Clause, Error, Result},
    logical::{Col, Limit, Lock, Plan, Sort, WRITE_LOCK},
    physical::{Assignment, Check, ColumnFill, TableAccess},
};

/// A bound UPDATE.
pub(crate) struct BoundUpdate {
    pub plan: Plan,
    pub targets: Vec<BoundUpdateTarget>,
    pub ignore: bool,
}

/// A table that is changed. Expressions refer to the plan's columns.
pub(crate) struct BoundUpdateTarget {
    pub alias: String,
    pub table: Arc<TableInfo>,
    pub database: String,
    pub row: Vec<Col>,
    pub handle: Col,
    pub assignments: Vec<Assignment>,
    pub on_update: Vec<Assignment>,
    pub generated: Vec<Assignment>,
    pub checks: Vec<Check>,
}

impl<'a> Binder<'a> {
    pub(crate) fn bind_update(&mut self, update: &'a ast::UpdateStmt) -> Result<BoundUpdate> {
        let multiple = is_multi_table(&update.tables);
        if multiple && !update.order_by.is_empty() {
            return Err(Error::WrongUsage { first: "UPDATE", second: "ORDER BY" });
        }
        if multiple && update.limit.is_some() {
            return Err(Error::WrongUsage { first: "UPDATE", second: "LIMIT" });
        }
        self.locks_rows = true;
        self.frames.push(Frame::default());
        let ctes = self.open_ctes(update.with.as_ref())?;
        let mode = ScanMode { whole_row: true, handle: true };
        let mut plan = self.bind_from(&update.tables, false, mode)?;
        if let Some(condition) = &update.where_clause {
            plan = self.bind_where(plan, condition)?;
        }
        let targets = self.bind_assignments(update)?;
        plan = self.attach_pending(plan);
        plan = self.order_rows(plan, &update.order_by, update.limit.as_ref())?;
        let locked = targets.iter().map(|target| (Arc::clone(&target.table), target.handle)).collect();
        plan = Plan::Lock(Lock { child: Box::new(plan), lock: WRITE_LOCK, targets: locked });
        self.close_ctes(ctes);
        self.frames.pop();
        Ok(BoundUpdate { plan, targets, ignore: update.ignore })
    }

    fn bind_assignments(&mut self, update: &'a ast::UpdateStmt) -> Result<Vec<BoundUpdateTarget>> {
        let mut targets: Vec<BoundUpdateTarget> = vec![];
        let candidates = self.frame().targets.clone();
        for assignment in &update.assignments {
            let clause = Clause::FieldList;
            let column = self.frame().find(&assignment.column, clause)?.cloned();
            let column = column.ok_or_else(|| Error::UnknownColumn { name: super::scope::display_name(&assignment.column), clause })?;
            let target = self.frame().targets.iter().find(|target| target.row.contains(&column.col)).cloned();
            let not_updatable = || Error::NotUpdatable { table: column.table.clone(), operation: "UPDATE" };
            let RowTarget { alias, table, database, row, handle } = target.ok_or_else(not_updatable)?;
            let offset = row.iter().position(|col| *col == column.col).ok_or_else(not_updatable)?;
            self.touch_columns(&table, TableAccess::Update, [offset]);
            let value = self.bind_new_value(&table, offset, &row, &assignment.value)?;
            let assignment = Assignment { column: offset, value };
            match targets.iter_mut().find(|known| known.handle == handle) {
                Some(known) => known.assignments.push(assignment),
                None => {
                    let assignments = vec![assignment];
                    let (on_update, generated) = (vec![], vec![]);
                    let checks = self.checks(&table)?;
                    targets.push(BoundUpdateTarget { alias, table, database, row, handle, assignments, on_update, generated, checks });
                }
            }
        }
        self.touch_others(&candidates, &targets.iter().map(|target| target.handle).collect::<Vec<_>>());
        for target in &targets {
            self.check_not_read(&target.table, &target.alias)?;
        }
        check_twice_changed_keys(&targets)?;
        for target in &mut targets {
            target.on_update = self.on_update_columns(&target.table, &target.assignments)?;
            for column in &target.table.columns {
                if let ColumnFill::Generated(mut value) = self.column_fill(&target.table, column)? {
                    value.remap_columns(&|offset| target.row[offset]);
                    target.generated.push(Assignment { column: column.offset, value });
                }
            }
        }
        Ok(targets)
    }

    /// Of the tables of UPDATE and DELETE those that are not changed are read.
    pub(super) fn touch_others(&mut self, candidates: &[RowTarget], changed: &[Col]) {
        for other in candidates.iter().filter(|candidate| !changed.contains(&candidate.handle)) {
            self.touch(&other.table, TableAccess::Select);
        }
    }

    fn bind_new_value(&mut self, table: &TableInfo, offset: usize, row: &[Col], value: &'a ast::Expr) -> Result<Expr> {
        let column = &table.columns[offset];
        if matches!(value, ast::Expr::Default(None)) {
            let mut value = self.default_value(table, column)?;
            value.remap_columns(&|offset| row[offset]);
            return Ok(value);
        }
        if column.generated.is_some() {
            return Err(Error::GeneratedColumnValue { column: column.name.clone(), table: table.name.clone() });
        }
        let bound = self.bind_expr(value, ExprCx::condition(Clause::FieldList))?;
        let bound = if column.ty.tp.is_numeric() { as_number(value, bound) } else { bound };
        self.assigned(self.as_condition(bound)?, &column.ty)
    }

    /// ORDER BY and LIMIT of UPDATE and DELETE.
    pub(super) fn order_rows(&mut self, mut plan: Plan, order_by: &'a [ast::OrderItem], limit: Option<&'a ast::Limit>) -> Result<Plan> {
        let mut by = vec![];
        for entry in order_by {
            let expr = self.bind_expr(&entry.expr, ExprCx::plain(Clause::OrderBy))?;
            if !expr.is_constant() {
                by.push(SortKey { expr, desc: entry.desc });
            }
        }
        plan = self.attach_pending(plan);
        if !by.is_empty() {
            plan = Plan::Sort(Sort { child: Box::new(plan), by });
        }
        if let Some(limit) = limit {
            let limit = self.bind_limit(limit)?;
            plan = Plan::Limit(Limit { child: Box::new(plan), limit });
        }
        Ok(plan)
    }
}

/// A table that is changed under two names keeps its primary key, by which its rows are known.
fn check_twice_changed_keys(targets: &[BoundUpdateTarget]) -> Result<()> {
    for (i, second) in targets.iter().enumerate() {
        let Some(first) = targets[..i].iter().find(|first| first.table.id == second.table.id) else { continue };
        let key = second.table.primary_key_columns();
        if first.assignments.iter().chain(&second.assignments).any(|assignment| key.contains(&assignment.column)) {
            return Err(Error::KeyOfTwiceChangedTable { first: first.alias.clone(), second: second.alias.clone() });
        }
    }
    Ok(())
}

/// Whether the references name more than one table.
pub(super) fn is_multi_table(references: &[ast::TableRef]) -> bool {
    !matches!(references, [ast::TableRef::Table(_)])
}

/// Refuses to change a table that is computed.
pub(super) fn refuse_virtual(table: &TableInfo, operation: &'static str) -> Result<()> {
    match table.kind {
        TableKind::Base => Ok(()),
        TableKind::Virtual => Err(Error::NotUpdatable { table: table.name.clone(), operation }),
    }
}

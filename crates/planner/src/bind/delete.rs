//! DELETE from one or several tables.

use std::sync::Arc;

use catalog::TableInfo;
use parser::ast;

use super::{
    Binder, Frame,
    from::ScanMode,
    scope::{RowTarget, same_name},
    update::{is_multi_table, refuse_virtual},
};
use crate::{
    error::{Error, Result},
    logical::{Col, Lock, Plan, WRITE_LOCK},
    physical::TableAccess,
};

/// A bound DELETE.
pub(crate) struct BoundDelete {
    pub plan: Plan,
    pub targets: Vec<BoundDeleteTarget>,
    pub ignore: bool,
}

/// A table that rows are removed from.
pub(crate) struct BoundDeleteTarget {
    pub table: Arc<TableInfo>,
    pub database: String,
    pub row: Vec<Col>,
    pub handle: Col,
}

impl<'a> Binder<'a> {
    pub(crate) fn bind_delete(&mut self, delete: &'a ast::DeleteStmt) -> Result<BoundDelete> {
        let multiple = !delete.targets.is_empty() || is_multi_table(&delete.from);
        if multiple && !delete.order_by.is_empty() {
            return Err(Error::WrongUsage { first: "DELETE", second: "ORDER BY" });
        }
        if multiple && delete.limit.is_some() {
            return Err(Error::WrongUsage { first: "DELETE", second: "LIMIT" });
        }
        self.locks_rows = true;
        self.frames.push(Frame::default());
        let ctes = self.open_ctes(delete.with.as_ref())?;
        let mode = ScanMode { whole_row: true, handle: true };
        let mut plan = self.bind_from(&delete.from, false, mode)?;
        if let Some(condition) = &delete.where_clause {
            plan = self.bind_where(plan, condition)?;
        }
        let targets = self.delete_targets(&delete.targets)?;
        plan = self.order_rows(plan, &delete.order_by, delete.limit.as_ref())?;
        let locked = targets.iter().map(|target| (Arc::clone(&target.table), target.handle)).collect();
        plan = Plan::Lock(Lock { child: Box::new(plan), lock: WRITE_LOCK, targets: locked });
        self.close_ctes(ctes);
        self.frames.pop();
        Ok(BoundDelete { plan, targets, ignore: delete.ignore })
    }

    /// The error for a name in the list of targets that no stored table has.
    fn no_target(&mut self, name: &ast::TableName) -> Error {
        let table = name.name.as_str().to_owned();
        let is_computed = name.schema.is_none() && self.frame().columns.iter().any(|column| same_name(&column.table, &table));
        match is_computed {
            true => Error::NotUpdatable { table, operation: "DELETE" },
            false => Error::UnknownDeleteTarget { table },
        }
    }

    fn delete_targets(&mut self, names: &[ast::TableName]) -> Result<Vec<BoundDeleteTarget>> {
        let known = self.frame().targets.clone();
        let mut chosen: Vec<RowTarget> = vec![];
        if names.is_empty() {
            // The only table of the single-table form; a computed table has no handle and so is no target.
            chosen = known;
            if chosen.is_empty() {
                let table = self.frame().columns.first().map_or_else(String::new, |column| column.table.clone());
                return Err(Error::NotUpdatable { table, operation: "DELETE" });
            }
        } else {
            for name in names {
                let matching = |target: &&RowTarget| {
                    same_name(&target.alias, &name.name) && name.schema.as_ref().is_none_or(|schema| same_name(&target.database, schema))
                };
                let found = known.iter().find(matching).cloned();
                let found = found.ok_or_else(|| self.no_target(name))?;
                if chosen.iter().any(|other| other.handle == found.handle) {
                    return Err(Error::DuplicateAlias { alias: name.name.as_str().to_owned() });
                }
                chosen.push(found);
            }
        }
        let candidates = self.frame().targets.clone();
        self.touch_others(&candidates, &chosen.iter().map(|target| target.handle).collect::<Vec<_>>());
        let mut targets = vec![];
        for target in chosen {
            refuse_virtual(&target.table, "DELETE")?;
            self.check_not_read(&target.table, &target.alias)?;
            self.touch(&target.table, TableAccess::Delete);
            targets.push(BoundDeleteTarget { table: target.table, database: target.database, row: target.row, handle: target.handle });
        }
        Ok(targets)
    }
}

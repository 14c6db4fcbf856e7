//! Scopes: which names a query block sees, and what they mean.
//!
//! ```text
//! frames:   outermost block … enclosing block, current block        (a stack; the last one is searched first)
//! ```
//!
//! A name found in an outer frame is a *correlated* reference: it becomes a parameter slot that is set from the outer row for each
//! evaluation of the subquery. The frame directly inside the one that has the column remembers the binding, because that is where the
//! `Apply` will stand; all frames on the way are marked as dependent.
//!
//! Invariants:
//! - a frame's columns stand in the order of `*`: columns merged by USING or NATURAL first;
//! - a merged column's originals stay visible by qualified names only.

use std::sync::Arc;

use catalog::TableInfo;
use expr::{AggDesc, Coercibility, Expr, window::WindowFunc};
use parser::ast;
use types::FieldType;

use super::Binder;
use crate::{
    error::{Clause, Error, Result},
    logical::{Col, Plan},
    physical::JoinKind,
};

/// A column that a block's FROM clause offers.
#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    pub name: String,
    /// Alias of the table it belongs to.
    pub table: String,
    /// The table's own name; empty for derived tables.
    pub org_table: String,
    /// Name in the table; empty for derived tables' computed columns.
    pub org_name: String,
    /// The database; empty for derived tables.
    pub database: String,
    pub col: Col,
    /// Merged away by USING: visible only as `table.name`.
    pub qualified_only: bool,
    /// INVISIBLE: not part of `*`.
    pub hidden: bool,
}

/// A query block while it is bound.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub columns: Vec<ScopeColumn>,
    /// Select-list aliases with their expressions, once the list is bound.
    pub aliases: Vec<(String, Expr)>,
    /// The aggregate functions of this block.
    pub aggs: Vec<(Col, AggDesc)>,
    /// The block is grouped WITH ROLLUP.
    pub rollup: bool,
    /// Calls of GROUPING() with their arguments, each under the number of a column that stands for its value.
    pub groupings: Vec<(Col, Vec<Expr>)>,
    /// The window functions of this block.
    pub windows: Vec<WindowUse>,
    /// The FROM tables whose rows can be locked or changed.
    pub targets: Vec<RowTarget>,
    /// Joins that arguments of aggregate functions asked for: to be attached below the aggregation.
    pub before_aggregation: Vec<PendingJoin>,
    /// Joins with subqueries that expressions asked for and that the clause still has to attach.
    pub pending: Vec<PendingJoin>,
    /// Slots this block reads that are set from columns of the enclosing block.
    pub bindings: Vec<(usize, Col)>,
    /// In ON DUPLICATE KEY UPDATE: number of the old row's first column, and how many columns a row has; the new row follows.
    pub new_row: Option<(Col, usize)>,
    /// The block reads a slot of some enclosing block.
    pub correlated: bool,
}

/// A call of a window function, whose value is a column.
#[derive(Clone, Debug)]
pub(crate) struct WindowUse {
    pub col: Col,
    pub func: WindowFunc,
    pub ty: FieldType,
    /// Its OVER clause, as a position in [`Binder::overs`].
    pub over: usize,
}

/// A table of FROM whose rows can be locked or changed.
#[derive(Clone, Debug)]
pub(crate) struct RowTarget {
    pub alias: String,
    pub database: String,
    pub table: Arc<TableInfo>,
    /// The columns read, in the table's order.
    pub row: Vec<Col>,
    /// The column with the handle.
    pub handle: Col,
}

/// A join with a subquery's plan.
#[derive(Debug)]
pub(crate) struct PendingJoin {
    pub kind: JoinKind,
    pub plan: Plan,
    pub conditions: Vec<Expr>,
    pub in_conditions: Vec<Expr>,
    pub mark: Option<Col>,
    pub apply: bool,
    pub bindings: Vec<(usize, Col)>,
}

/// Where select aliases are looked up for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aliases {
    /// Not at all.
    Hidden,
    /// Before the tables' columns (a bare name in ORDER BY, HAVING).
    First,
    /// After the tables' columns (GROUP BY, names inside ORDER BY's expressions).
    Last,
}

/// How names are compared.
pub(crate) fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!a.is_ascii() && a.to_lowercase() == b.to_lowercase())
}

/// The name as messages show it.
pub(crate) fn display_name(column: &ast::ColumnRef) -> String {
    let mut name = String::new();
    for part in [&column.schema, &column.table].into_iter().flatten() {
        name.push_str(part);
        name.push('.');
    }
    name.push_str(&column.name);
    name
}

impl ScopeColumn {
    fn matches(&self, wanted: &ast::ColumnRef) -> bool {
        same_name(&self.name, &wanted.name)
            && match (&wanted.schema, &wanted.table) {
                (_, None) => !self.qualified_only,
                (None, Some(table)) => same_name(&self.table, table),
                (Some(schema), Some(table)) => same_name(&self.table, table) && same_name(&self.database, schema),
            }
    }
}

impl Frame {
    /// The column a name means among the FROM columns of this block.
    pub fn find(&self, wanted: &ast::ColumnRef, clause: Clause) -> Result<Option<&ScopeColumn>> {
        let mut found: Option<&ScopeColumn> = None;
        for column in self.columns.iter().filter(|column| column.matches(wanted)) {
            match found {
                Some(other) if other.col != column.col => {
                    return Err(Error::AmbiguousColumn { name: display_name(wanted), clause });
                }
                _ => found = Some(column),
            }
        }
        Ok(found)
    }

    fn find_alias(&self, wanted: &ast::ColumnRef, clause: Clause) -> Result<Option<&Expr>> {
        if wanted.table.is_some() {
            return Ok(None);
        }
        let mut found: Option<&Expr> = None;
        for (_, expr) in self.aliases.iter().filter(|(name, _)| same_name(name, &wanted.name)) {
            match found {
                Some(other) if other != expr => return Err(Error::AmbiguousColumn { name: display_name(wanted), clause }),
                _ => found = Some(expr),
            }
        }
        Ok(found)
    }
}

impl Binder<'_> {
    /// The block being bound.
    pub(crate) fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a block is always open while expressions are bound")
    }

    /// What a column name means here: a column, a select alias's expression, or a slot set from an outer block's column.
    pub(crate) fn resolve_column(&mut self, wanted: &ast::ColumnRef, clause: Clause, aliases: Aliases) -> Result<Expr> {
        let top = self.frames.len() - 1;
        if aliases == Aliases::First
            && let Some(expr) = self.frames[top].find_alias(wanted, clause)?
        {
            return Ok(expr.clone());
        }
        if let Some(column) = self.frames[top].find(wanted, clause)? {
            let col = column.col;
            self.note_read(col);
            return Ok(self.columns.expr(col));
        }
        if aliases == Aliases::Last
            && let Some(expr) = self.frames[top].find_alias(wanted, clause)?
        {
            return Ok(expr.clone());
        }
        for level in (0..top).rev() {
            if let Some(column) = self.frames[level].find(wanted, clause)? {
                let col = column.col;
                self.note_read(col);
                return Ok(self.correlate(level, col));
            }
        }
        Err(Error::UnknownColumn { name: display_name(wanted), clause })
    }

    /// A parameter that carries the value of column `col` of the block at `level` into the current block.
    fn correlate(&mut self, level: usize, col: Col) -> Expr {
        let ty: FieldType = self.columns.meta(col).ty.clone();
        for frame in &mut self.frames[level + 1..] {
            frame.correlated = true;
        }
        let known = self.frames[level + 1].bindings.iter().find(|(_, bound)| *bound == col).map(|(slot, _)| *slot);
        let slot = known.unwrap_or_else(|| {
            let slot = self.take_slot();
            self.frames[level + 1].bindings.push((slot, col));
            slot
        });
        Expr::Param { index: slot, ty, coercibility: Coercibility::Implicit }
    }
}

//! The logical plan: relational algebra over named columns.
//!
//! Every column that any operator produces has a number of its own ([`Col`]), unique in the statement, whose meta data stand in
//! [`Columns`]. Expressions of the logical plan refer to columns by that number (`Expr::Column::index`), so moving an expression from one
//! operator to another needs no renumbering; the physical plan's positions are worked out once, when operators are chosen.
//!
//! Invariants:
//! - a column an operator merely passes on keeps its number: a projection entry `(c, Column c)`, a group key `(c, Column c)` and
//!   `FirstRow` of `c` under the number `c` all mean "the same column";
//! - the columns of the two sides of a join are disjoint;
//! - `Join::bindings` is empty unless `Join::apply` is set.

use std::sync::Arc;

use base::{ColumnId, TableId};
use catalog::TableInfo;
use copr::{RowLimit, SortKey};
use expr::{AggDesc, Expr, window::WindowDesc};
use types::FieldType;

use crate::physical::{JoinKind, LockWait, RowLock};

/// The number of a column, unique in a statement.
pub(crate) type Col = usize;

/// Meta data of all columns of a statement, by number.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    list: Vec<ColumnMeta>,
}

/// What is known of a column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnMeta {
    /// The name for EXPLAIN and messages: `db.table.column`, or `Column#n`.
    pub name: Arc<str>,
    /// Its type.
    pub ty: FieldType,
    /// The table column it was read from.
    pub origin: Option<Origin>,
}

/// The column of a table that a column was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The table.
    pub table: TableId,
    /// Its column.
    pub id: ColumnId,
}

impl Columns {
    /// Adds a column.
    pub fn add(&mut self, name: impl Into<Arc<str>>, ty: FieldType, origin: Option<Origin>) -> Col {
        self.list.push(ColumnMeta { name: name.into(), ty, origin });
        self.list.len() - 1
    }

    /// Adds a computed column.
    pub fn add_computed(&mut self, ty: FieldType) -> Col {
        let name = format!("Column#{}", self.list.len());
        self.add(name, ty, None)
    }

    /// What is known of a column.
    pub fn meta(&self, col: Col) -> &ColumnMeta {
        &self.list[col]
    }

    /// A reference to the column.
    pub fn expr(&self, col: Col) -> Expr {
        let meta = &self.list[col];
        Expr::named_column(col, meta.ty.clone(), Arc::clone(&meta.name))
    }

    /// Notes that the column may be NULL (it comes from the inner side of an outer join).
    pub fn set_nullable(&mut self, col: Col) {
        self.list[col].ty.not_null = false;
    }
}

/// An operator of the logical plan.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    Scan(Box<Scan>),
    Values(Values),
    Filter(Filter),
    Project(Project),
    Aggregate(Aggregate),
    Window(Window),
    Join(Box<Join>),
    Sort(Sort),
    Limit(Limit),
    Union(Union),
    Lock(Lock),
    MaxOneRow(Box<Plan>),
}

/// Reads a table.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pub table: Arc<TableInfo>,
    /// The columns read, in output order.
    pub columns: Vec<ScanCol>,
    /// Those of `columns` that are read above the scan; the others only serve its conditions. `None` before columns are pruned: all.
    pub wanted: Option<Vec<Col>>,
    /// Conditions that rules have pushed down.
    pub conditions: Vec<Expr>,
    /// Index hints, resolved to access paths.
    pub hints: PathHints,
}

/// A column of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanCol {
    pub col: Col,
    pub source: ScanSource,
}

/// What a scan's column is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanSource {
    /// The table column at this offset.
    Offset(usize),
    /// The row's handle.
    Handle,
}

/// A way into a table, as index hints name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// By the row key.
    Primary,
    /// By the index at this offset.
    Index(usize),
}

/// What index hints allow.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathHints {
    /// `USE`/`FORCE INDEX`: only these (a table scan stays possible under USE, and as the last resort under FORCE).
    pub only: Option<Vec<Path>>,
    /// `FORCE`: a table scan is taken for very expensive.
    pub force: bool,
    /// `IGNORE INDEX`.
    pub ignored: Vec<Path>,
}

/// Rows of constants.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    pub columns: Vec<Col>,
    pub rows: Vec<Vec<Expr>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub child: Box<Plan>,
    pub conditions: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) struct Project {
    pub child: Box<Plan>,
    pub exprs: Vec<(Col, Expr)>,
}

/// Output: the group columns, then the functions, then the column of `rollup`.
#[derive(Clone, Debug)]
pub(crate) struct Aggregate {
    pub child: Box<Plan>,
    pub group_by: Vec<(Col, Expr)>,
    pub aggs: Vec<(Col, AggDesc)>,
    /// WITH ROLLUP: the column that says by how many of the group keys, from the left, a row is grouped. The others are NULL in it, so
    /// group columns have numbers of their own.
    pub rollup: Option<Col>,
}

/// Window functions that share partitions and order. Output: the child's columns, then the functions.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub child: Box<Plan>,
    pub partition_by: Vec<Col>,
    pub order_by: Vec<(Col, bool)>,
    pub funcs: Vec<(Col, WindowDesc)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub kind: JoinKind,
    pub left: Plan,
    pub right: Plan,
    /// The conditions of a match.
    pub conditions: Vec<Expr>,
    /// Equalities of `IN`, which treat NULL by IN's rules; only for `AntiSemi` and `Mark`.
    pub in_conditions: Vec<Expr>,
    /// The column that `Mark` adds.
    pub mark: Option<Col>,
    /// The right side is evaluated for each left row.
    pub apply: bool,
    /// Parameter slots the right side reads, and the left columns they are set from.
    pub bindings: Vec<(usize, Col)>,
    /// `STRAIGHT_JOIN`: the sides stay in this order.
    pub straight: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Sort {
    pub child: Box<Plan>,
    pub by: Vec<SortKey>,
}

#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub child: Box<Plan>,
    pub limit: RowLimit,
}

/// UNION ALL: column `i` of the result comes from column `inputs[k][i]` of child `k`.
#[derive(Clone, Debug)]
pub(crate) struct Union {
    pub columns: Vec<Col>,
    pub children: Vec<Plan>,
    pub inputs: Vec<Vec<Col>>,
}

/// Locks rows that pass.
#[derive(Clone, Debug)]
pub(crate) struct Lock {
    pub child: Box<Plan>,
    pub lock: RowLock,
    /// The locked tables and the columns with their handles.
    pub targets: Vec<(Arc<TableInfo>, Col)>,
}

/// The lock of the rows that an UPDATE or DELETE changes.
pub(crate) const WRITE_LOCK: RowLock = RowLock { shared: false, wait: LockWait::Default, for_write: true };

impl Plan {
    /// The columns handed up, in order.
    pub fn columns(&self) -> Vec<Col> {
        match self {
            Self::Scan(scan) => scan.columns.iter().map(|column| column.col).collect(),
            Self::Values(values) => values.columns.clone(),
            Self::Filter(filter) => filter.child.columns(),
            Self::Project(project) => project.exprs.iter().map(|(col, _)| *col).collect(),
            Self::Aggregate(agg) => {
                let groups = agg.group_by.iter().map(|(col, _)| *col);
                groups.chain(agg.aggs.iter().map(|(col, _)| *col)).chain(agg.rollup).collect()
            }
            Self::Window(window) => {
                let mut columns = window.child.columns();
                columns.extend(window.funcs.iter().map(|(col, _)| *col));
                columns
            }
            Self::Join(join) => join.columns(),
            Self::Sort(sort) => sort.child.columns(),
            Self::Limit(limit) => limit.child.columns(),
            Self::Union(union) => union.columns.clone(),
            Self::Lock(lock) => lock.child.columns(),
            Self::MaxOneRow(child) => child.columns(),
        }
    }

    /// A filter over this plan, or the plan itself when there is nothing to filter by.
    pub fn filtered(self, conditions: Vec<Expr>) -> Plan {
        if conditions.is_empty() { self } else { Plan::Filter(Filter { child: Box::new(self), conditions }) }
    }

    /// The children, mutable, left to right.
    pub fn children_mut(&mut self) -> Vec<&mut Plan> {
        match self {
            Self::Scan(_) | Self::Values(_) => vec![],
            Self::Filter(filter) => vec![&mut filter.child],
            Self::Project(project) => vec![&mut project.child],
            Self::Aggregate(agg) => vec![&mut agg.child],
            Self::Window(window) => vec![&mut window.child],
            Self::Join(join) => vec![&mut join.left, &mut join.right],
            Self::Sort(sort) => vec![&mut sort.child],
            Self::Limit(limit) => vec![&mut limit.child],
            Self::Union(union) => union.children.iter_mut().collect(),
            Self::Lock(lock) => vec![&mut lock.child],
            Self::MaxOneRow(child) => vec![child],
        }
    }

    /// Rewrites every child by `f`.
    pub fn map_children(mut self, f: &mut dyn FnMut(Plan) -> Plan) -> Plan {
        for child in self.children_mut() {
            let old = std::mem::replace(child, Plan::empty());
            *child = f(old);
        }
        self
    }

    /// No column, no row.
    pub fn empty() -> Plan {
        Plan::Values(Values { columns: vec![], rows: vec![] })
    }

    /// One row without columns.
    pub fn one_row() -> Plan {
        Plan::Values(Values { columns: vec![], rows: vec![vec![]] })
    }

    /// Every expression of the operator itself.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::Scan(scan) => scan.conditions.iter_mut().collect(),
            Self::Values(values) => values.rows.iter_mut().flatten().collect(),
            Self::Filter(filter) => filter.conditions.iter_mut().collect(),
            Self::Project(project) => project.exprs.iter_mut().map(|(_, expr)| expr).collect(),
            Self::Aggregate(agg) => agg
                .group_by
                .iter_mut()
                .map(|(_, expr)| expr)
                .chain(
                    agg.aggs.iter_mut().flat_map(|(_, desc)| desc.args.iter_mut().chain(desc.order_by.iter_mut().map(|key| &mut key.expr))),
                )
                .collect(),
            Self::Window(window) => window.funcs.iter_mut().flat_map(|(_, desc)| desc.exprs_mut()).collect(),
            Self::Join(join) => join.conditions.iter_mut().chain(&mut join.in_conditions).collect(),
            Self::Sort(sort) => sort.by.iter_mut().map(|key| &mut key.expr).collect(),
            Self::Limit(limit) => limit.limit.offset.iter_mut().chain([&mut limit.limit.count]).collect(),
            Self::Union(_) | Self::Lock(_) | Self::MaxOneRow(_) => vec![],
        }
    }
}

impl Join {
    /// The columns handed up, in order.
    pub fn columns(&self) -> Vec<Col> {
        let mut columns = self.left.columns();
        match self.kind {
            JoinKind::Inner | JoinKind::LeftOuter => columns.extend(self.right.columns()),
            JoinKind::Semi | JoinKind::AntiSemi => {}
            JoinKind::Mark => columns.extend(self.mark),
        }
        columns
    }
}

/// The columns an expression refers to.
pub(crate) fn columns_of(expr: &Expr) -> Vec<Col> {
    let mut columns = vec![];
    expr.columns(&mut columns);
    columns
}

/// Whether all columns of `expr` are among `columns`.
pub(crate) fn covered(expr: &Expr, columns: &[Col]) -> bool {
    columns_of(expr).iter().all(|col| columns.contains(col))
}

/// Replaces every reference to a column in `map` by its expression.
pub(crate) fn substitute(expr: Expr, map: &[(Col, Expr)]) -> Expr {
    expr.transform(&mut |node| match node.as_column().and_then(|col| map.iter().find(|(from, _)| *from == col)) {
        Some((_, to)) => to.clone(),
        None => node,
    })
}

//! The physical plan: what the planner hands to the executor.
//!
//! A plan is immutable, shared (`Arc<PhysicalPlan>`) and independent of the values of one execution: an execution is the pair of a plan
//! and the values of its parameters.
//!
//! ```text
//! parameter slots   0 … params.len()-1        values of `?` markers, or of the statement's literals in lexical order
//!                   params.len() … slots-1    filled by the executor: results of `scalar_subqueries`, values bound by an `Apply`
//! ```
//!
//! Invariants:
//! - every expression of an operator refers to positions in its child's output (for a join: left columns, then right columns);
//!   expressions called *constant* refer to no column and are evaluated once per execution;
//! - `Node::output` are the types of the chunks the node yields;
//! - `Node::id` is unique within a plan, so that runtime statistics can be kept by id; cop tasks of a reader have ids of their own;
//! - a statement that changes rows has its `Insert`, `Update` or `Delete` at the root and nowhere else.

mod change;

use std::sync::Arc;

use base::TableId;
use catalog::TableInfo;
use copr::{DagPlan, RowLimit, ScanColumn, SortKey};
use expr::{AggDesc, Expr, window::WindowDesc};
use types::FieldType;

pub use self::change::{Assignment, Check, ColumnFill, Delete, DeleteTarget, Insert, InsertSource, InsertValue, Update, UpdateTarget};
use crate::range::RangeBuilder;

/// Identifies an operator within one plan.
pub type NodeId = u32;

/// A plan that can be executed any number of times.
#[derive(Clone, Debug)]
pub struct PhysicalPlan {
    /// The operator that yields the result or changes the rows.
    pub root: Node,
    /// The result's columns; empty for statements without a result.
    pub output: Vec<OutputColumn>,
    /// What the caller's parameter values have to be converted to before an execution; `None` where the plan does not use the value.
    pub params: Vec<Option<FieldType>>,
    /// How many parameter slots the expressions use altogether (at least `params.len()`).
    pub slots: usize,
    /// Subqueries that do not depend on outer rows, evaluated once per execution in this order, before the root; a later one may use the
    /// slot of an earlier one.
    pub scalar_subqueries: Vec<ScalarSubquery>,
    /// Whether the plan is right for every value of the parameters.
    pub cacheable: bool,
    /// The tables the statement touches and what it does to them (metadata locks, privileges).
    pub tables: Vec<TableUse>,
    /// Whether the statement locks or changes rows, and so reads at the newest version in a pessimistic transaction.
    pub locks_rows: bool,
    /// Whether the statement changes rows.
    pub is_write: bool,
    /// Whether it calls a function that keeps its thread for as long as the user likes (`SLEEP`).
    pub waits: bool,
    /// `INTO @a, …`: the user variables that take the values of the one row there is; the client gets none.
    pub into: Vec<String>,
    /// `EXPLAIN`: the root is not executed but shown.
    pub explain: Option<ExplainMode>,
}

/// What an `EXPLAIN` statement asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainMode {
    /// Show the plan.
    Plan,
    /// Execute it, drop the rows, and show the plan with actual rows and times.
    Analyze,
}

/// A column of the result as the client sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    /// The name: alias, column name or the expression's text.
    pub name: String,
    /// The column's own name when it is a plain column of a table, else empty.
    pub org_name: String,
    /// The table's alias, else empty.
    pub table: String,
    /// The table's own name, else empty.
    pub org_table: String,
    /// The table's database, else empty.
    pub database: String,
    /// The type.
    pub ty: FieldType,
}

/// A table a statement touches, and how; once for each way.
#[derive(Clone, Debug, PartialEq)]
pub struct TableUse {
    /// The table's id.
    pub id: TableId,
    /// Its database.
    pub database: String,
    /// Its name.
    pub table: String,
    /// What is done to it.
    pub access: TableAccess,
    /// Offsets of the columns it is done to, as far as the statement names them, in order; none for DELETE, and for a read of rows without their columns.
    pub columns: Vec<usize>,
}

/// What a statement does to a table; each needs the privilege of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableAccess {
    /// Reads rows.
    Select,
    /// Adds rows.
    Insert,
    /// Changes rows.
    Update,
    /// Removes rows.
    Delete,
}

/// A subquery evaluated once per execution.
#[derive(Clone, Debug)]
pub struct ScalarSubquery {
    /// The parameter slot that takes the result.
    pub slot: usize,
    /// How rows become one value.
    pub kind: ScalarKind,
    /// The subquery's plan.
    pub plan: Arc<Node>,
}

/// How the rows of a subquery become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// The first column of the only row; NULL without a row; error 1242 with a second one.
    Value,
    /// 1 when there is a row, else 0.
    Exists,
}

/// An operator with its place in the plan.
#[derive(Clone, Debug)]
pub struct Node {
    /// Unique within the plan.
    pub id: NodeId,
    /// The types of the chunks it yields; empty for `Insert`, `Update` and `Delete`.
    pub output: Vec<FieldType>,
    /// How many rows the planner expects.
    pub rows: f64,
    /// The planner's cost of the subtree, in units of one row handled by the executor.
    pub cost: f64,
    /// What it does.
    pub op: Op,
}

/// The operators.
#[derive(Clone, Debug)]
pub enum Op {
    /// One row by its primary key or a unique index.
    PointGet(PointGet),
    /// Several rows by their primary keys or a unique index.
    BatchPointGet(BatchPointGet),
    /// Rows of a table by key ranges.
    TableReader(TableReader),
    /// Rows that an index alone can answer.
    IndexReader(IndexReader),
    /// Rows of a table by way of an index.
    IndexLookup(IndexLookup),
    /// A table computed by the server (`information_schema` and the like).
    MemTable(MemTable),
    /// No column but the constants' rows: `SELECT 1`, `VALUES`, an always-false WHERE (no row).
    Values(Values),
    /// Keeps the rows for which all conditions are true.
    Selection(Selection),
    /// Computes expressions.
    Projection(Projection),
    /// Groups by hashing.
    HashAgg(Aggregate),
    /// Groups input that is ordered by the group keys.
    StreamAgg(Aggregate),
    /// Groups input that is ordered by the group keys on all levels: by all keys, by all but the last, …, by none (WITH ROLLUP). Keys left
    /// out are NULL in the output, which has one more column: by how many keys the row is grouped. Without input there is no row.
    RollupAgg(Aggregate),
    /// Computes window functions over input that is ordered by partitions and, in them, by the window's order.
    Window(Window),
    /// Joins by a hash table on one side; a nested loop when there are no keys.
    HashJoin(HashJoin),
    /// Joins by looking up the inner side's index for batches of outer rows.
    IndexJoin(IndexJoin),
    /// Joins two inputs ordered by their keys.
    MergeJoin(MergeJoin),
    /// Evaluates the inner plan anew for each outer row.
    Apply(Apply),
    /// Sorts all rows.
    Sort(Sort),
    /// The first rows of a sort.
    TopN(TopN),
    /// The first rows.
    Limit(Limit),
    /// The rows of one child after the other; all have the same types.
    UnionAll(UnionAll),
    /// Locks the rows of tables as they pass.
    SelectLock(SelectLock),
    /// At most one row: error 1242 at the second.
    MaxOneRow(MaxOneRow),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
}

/// How rows are locked while they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLock {
    /// `FOR SHARE` instead of `FOR UPDATE`.
    pub shared: bool,
    /// What to do about a row that another transaction has locked.
    pub wait: LockWait,
    /// The lock belongs to an UPDATE or DELETE: it is needed in pessimistic transactions only (an autocommit statement that runs
    /// optimistically goes without). Otherwise the statement is a locking SELECT.
    pub for_write: bool,
}

/// What a locking read does about rows locked by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Waits up to `innodb_lock_wait_timeout`.
    Default,
    /// Fails at once.
    NoWait,
    /// Leaves the row out.
    SkipLocked,
}

/// One row by its handle or by a unique index.
#[derive(Clone, Debug)]
pub struct PointGet {
    /// The table.
    pub table: Arc<TableInfo>,
    /// The unique index (offset in `table.indexes`); `None` for the handle.
    pub index: Option<usize>,
    /// Turns `key` into the lookup key: the handle, or the index entry's key.
    pub key: PointKey,
    /// The columns of the row that are handed up, in output order.
    pub columns: Vec<ScanColumn>,
    /// Conditions on the row that the key does not imply; over `columns`.
    pub filters: Vec<Expr>,
    /// The lock to take on the row (and, by a unique index, on the index entry).
    pub lock: Option<RowLock>,
}

/// The constants that make up a lookup key.
#[derive(Clone, Debug)]
pub struct PointKey {
    /// One constant expression for each key column. A NULL, or a value that no column value can be equal to (1.5 for an integer, out of
    /// range), finds no row: see [`RangeBuilder::point_key`].
    pub values: Vec<Expr>,
    /// Converts values to the key.
    pub builder: RangeBuilder,
}

/// Several rows, each by its handle or by a unique index; duplicate keys yield one row.
#[derive(Clone, Debug)]
pub struct BatchPointGet {
    /// The table.
    pub table: Arc<TableInfo>,
    /// The unique index (offset in `table.indexes`); `None` for the handle.
    pub index: Option<usize>,
    /// One lookup key for each wanted row: constant expressions, one for each key column.
    pub keys: Vec<Vec<Expr>>,
    /// Converts values to keys.
    pub builder: RangeBuilder,
    /// The columns of the rows that are handed up, in output order.
    pub columns: Vec<ScanColumn>,
    /// Conditions on the rows that the key does not imply; over `columns`.
    pub filters: Vec<Expr>,
    /// The lock to take on the rows found.
    pub lock: Option<RowLock>,
    /// Rows are wanted in key order.
    pub keep_order: bool,
    /// … and in descending key order.
    pub desc: bool,
}

/// Rows of a table, read and reduced where the data is.
#[derive(Clone, Debug)]
pub struct TableReader {
    /// The table.
    pub table: Arc<TableInfo>,
    /// What is executed beside the data; scans the table.
    pub dag: Arc<DagPlan>,
    /// The ids under which EXPLAIN shows the cop tasks: the scan, the filters (if any), then each of `dag.ops`.
    pub tasks: Vec<CopTask>,
    /// The ranges of record keys.
    pub ranges: RangeBuilder,
    /// Highest key first.
    pub desc: bool,
    /// Rows are wanted in key order.
    pub keep_order: bool,
}

/// Rows that an index holds entirely.
#[derive(Clone, Debug)]
pub struct IndexReader {
    /// The table.
    pub table: Arc<TableInfo>,
    /// The index (offset in `table.indexes`).
    pub index: usize,
    /// What is executed beside the data; scans the index.
    pub dag: Arc<DagPlan>,
    /// As in [`TableReader::tasks`].
    pub tasks: Vec<CopTask>,
    /// The ranges of index keys.
    pub ranges: RangeBuilder,
    /// Highest key first.
    pub desc: bool,
    /// Rows are wanted in key order.
    pub keep_order: bool,
}

/// Rows by way of an index: handles from the index, then the rows.
#[derive(Clone, Debug)]
pub struct IndexLookup {
    /// The table.
    pub table: Arc<TableInfo>,
    /// The index (offset in `table.indexes`).
    pub index: usize,
    /// Scans the index; the last output column is the handle ([`copr::HANDLE_COLUMN`]).
    pub index_dag: Arc<DagPlan>,
    /// As in [`TableReader::tasks`], for the index side.
    pub index_tasks: Vec<CopTask>,
    /// The ranges of index keys.
    pub ranges: RangeBuilder,
    /// Applied to the rows the handles lead to; its output is the node's output. Its scan yields [`copr::HANDLE_COLUMN`] when asked for.
    pub table_dag: Arc<DagPlan>,
    /// As in [`TableReader::tasks`], for the table side.
    pub table_tasks: Vec<CopTask>,
    /// Highest index key first.
    pub desc: bool,
    /// Rows are wanted in index order (handles must not be sorted between the two sides).
    pub keep_order: bool,
    /// Skip and stop: applied to the handles, before rows are fetched (set only when the table side has no filter).
    pub limit: Option<RowLimit>,
}

/// What EXPLAIN shows of one step beside the data.
#[derive(Clone, Debug)]
pub struct CopTask {
    /// Unique within the plan.
    pub id: NodeId,
    /// How many rows the planner expects.
    pub rows: f64,
}

/// A table computed by the server.
#[derive(Clone, Debug)]
pub struct MemTable {
    /// Its definition.
    pub table: Arc<TableInfo>,
    /// Its database (`information_schema`, …).
    pub database: String,
    /// Offsets of the columns handed up, in output order.
    pub columns: Vec<usize>,
    /// Conditions over the handed-up columns. The executor may use `column = constant` to compute less; it must apply all of them.
    pub filters: Vec<Expr>,
}

/// Rows of constant expressions.
#[derive(Clone, Debug)]
pub struct Values {
    /// The rows; a row may have no column.
    pub rows: Vec<Vec<Expr>>,
}

/// A filter.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The input.
    pub child: Box<Node>,
    /// All must be true.
    pub conditions: Vec<Expr>,
}

/// Computed columns.
#[derive(Clone, Debug)]
pub struct Projection {
    /// The input.
    pub child: Box<Node>,
    /// One for each output column.
    pub exprs: Vec<Expr>,
}

/// Grouping. Output: the group columns, then one column for each function.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// The input.
    pub child: Box<Node>,
    /// The group keys; empty means one group, which yields a row even without input.
    pub group_by: Vec<Expr>,
    /// The functions; in mode `Final` their arguments are the columns of partial results.
    pub aggs: Vec<AggDesc>,
}

/// Window functions that share partitions and order. Output: the child's columns, then one column for each function; rows stay in order.
#[derive(Clone, Debug)]
pub struct Window {
    /// The input, ordered by `partition_by` and then `order_by`.
    pub child: Box<Node>,
    /// The columns that rows of a partition are equal in.
    pub partition_by: Vec<Expr>,
    /// The columns that peers are equal in.
    pub order_by: Vec<SortKey>,
    /// The functions, over the child's rows.
    pub funcs: Vec<WindowDesc>,
}

/// Which rows a join yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Left columns, then right columns, of each matching pair.
    Inner,
    /// … and left rows without a match, with NULLs on the right.
    LeftOuter,
    /// Left rows that have a match.
    Semi,
    /// Left rows that have no match. With `null_aware`: `NOT IN`.
    AntiSemi,
    /// Every left row with one more column: 1 with a match, else 0; with `null_aware` (`IN`) NULL when only NULLs stand in the way.
    Mark,
}

/// A side of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The first child.
    Left,
    /// The second child.
    Right,
}

/// A join by hashing.
#[derive(Clone, Debug)]
pub struct HashJoin {
    /// Which rows are yielded.
    pub kind: JoinKind,
    /// The left input.
    pub left: Box<Node>,
    /// The right input.
    pub right: Box<Node>,
    /// The side that is put into the hash table. `Semi`, `AntiSemi` and `Mark` build on the right only.
    pub build: Side,
    /// Equal pairs: an expression over the left input and one over the right, already cast to one type. Empty: nested loop.
    pub keys: Vec<JoinKey>,
    /// Further conditions on a pair, over left columns then right columns; part of the match, not a filter behind it.
    pub conditions: Vec<Expr>,
    /// For `AntiSemi` and `Mark`: the first `null_aware_keys` keys follow the rules of `NOT IN`/`IN` for NULL; the rest are plain equalities.
    pub null_aware_keys: usize,
}

/// An equality of a join.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinKey {
    /// Over the left input's columns.
    pub left: Expr,
    /// Over the right input's columns.
    pub right: Expr,
    /// `<=>`: NULL matches NULL.
    pub null_safe: bool,
}

/// A join by looking up the inner table for batches of outer rows. The outer side is the left one; a match is checked by `keys` and
/// `conditions` as in [`HashJoin`].
#[derive(Clone, Debug)]
pub struct IndexJoin {
    /// Which rows are yielded.
    pub kind: JoinKind,
    /// The outer input (left).
    pub outer: Box<Node>,
    /// The inner reader (right): a `TableReader`, `IndexReader` or `IndexLookup` whose `ranges` are not evaluated as they stand: each
    /// outer row gives values for the first `lookup.len()` key columns, see [`RangeBuilder::lookup_range`].
    pub inner: Box<Node>,
    /// Values of the inner key's first columns, as expressions over the outer row.
    pub lookup: Vec<Expr>,
    /// Equal pairs, over outer and inner columns; they include the looked-up ones.
    pub keys: Vec<JoinKey>,
    /// Further conditions on a pair, over outer columns then inner columns.
    pub conditions: Vec<Expr>,
}

/// A join of ordered inputs.
#[derive(Clone, Debug)]
pub struct MergeJoin {
    /// Which rows are yielded.
    pub kind: JoinKind,
    /// The left input, ordered by the keys' left sides.
    pub left: Box<Node>,
    /// The right input, ordered by the keys' right sides.
    pub right: Box<Node>,
    /// Equal pairs, in the order of both inputs.
    pub keys: Vec<JoinKey>,
    /// Both inputs are ordered descending.
    pub desc: bool,
    /// Further conditions on a pair, over left columns then right columns.
    pub conditions: Vec<Expr>,
}

/// A nested loop in which the inner plan depends on the outer row.
#[derive(Clone, Debug)]
pub struct Apply {
    /// `LeftOuter` with `max_one_row` for a scalar subquery, `Semi`/`AntiSemi`/`Mark` for EXISTS and IN.
    pub kind: JoinKind,
    /// The outer input (left).
    pub outer: Box<Node>,
    /// The inner plan (right).
    pub inner: Box<Node>,
    /// Parameter slots to set from columns of the outer row before the inner plan is evaluated.
    pub bindings: Vec<(usize, usize)>,
    /// For `AntiSemi` and `Mark` of `IN`: compared under IN's rules for NULL, as [`HashJoin::null_aware_keys`] (all of them).
    pub keys: Vec<JoinKey>,
    /// Further conditions on a pair, over outer columns then inner columns.
    pub conditions: Vec<Expr>,
    /// `keys` follow the rules of `NOT IN`/`IN` for NULL.
    pub null_aware: bool,
}

/// A sort.
#[derive(Clone, Debug)]
pub struct Sort {
    /// The input.
    pub child: Box<Node>,
    /// The keys, most significant first.
    pub by: Vec<SortKey>,
}

/// The first rows of a sort.
#[derive(Clone, Debug)]
pub struct TopN {
    /// The input.
    pub child: Box<Node>,
    /// The keys, most significant first.
    pub by: Vec<SortKey>,
    /// Rows to skip and to keep.
    pub limit: RowLimit,
}

/// The first rows.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The input.
    pub child: Box<Node>,
    /// Rows to skip and to keep.
    pub limit: RowLimit,
}

/// Concatenation.
#[derive(Clone, Debug)]
pub struct UnionAll {
    /// The inputs, all with the node's output types.
    pub children: Vec<Node>,
}

/// Locks rows as they pass.
#[derive(Clone, Debug)]
pub struct SelectLock {
    /// The input; its rows are handed up unchanged.
    pub child: Box<Node>,
    /// The tables whose rows are locked.
    pub targets: Vec<LockTarget>,
    /// How.
    pub lock: RowLock,
}

/// A table whose rows a [`SelectLock`] locks.
#[derive(Clone, Debug)]
pub struct LockTarget {
    /// The table.
    pub table: Arc<TableInfo>,
    /// Position of the handle in the child's rows; a NULL there (outer join) has no row to lock.
    pub handle: usize,
}

/// At most one row.
#[derive(Clone, Debug)]
pub struct MaxOneRow {
    /// The input.
    pub child: Box<Node>,
}

impl Node {
    /// Gives the tree's operators and cop tasks the ids behind `last`, children first; the last id given.
    pub(crate) fn number(&mut self, mut last: NodeId) -> NodeId {
        for child in self.children_mut() {
            last = child.number(last);
        }
        let tasks: Vec<&mut CopTask> = match &mut self.op {
            Op::TableReader(op) => op.tasks.iter_mut().collect(),
            Op::IndexReader(op) => op.tasks.iter_mut().collect(),
            Op::IndexLookup(op) => op.index_tasks.iter_mut().chain(&mut op.table_tasks).collect(),
            _ => vec![],
        };
        for task in tasks {
            last += 1;
            task.id = last;
        }
        self.id = last + 1;
        self.id
    }

    fn children_mut(&mut self) -> Vec<&mut Node> {
        match &mut self.op {
            Op::PointGet(_)
            | Op::BatchPointGet(_)
            | Op::TableReader(_)
            | Op::IndexReader(_)
            | Op::IndexLookup(_)
            | Op::MemTable(_)
            | Op::Values(_) => vec![],
            Op::Selection(op) => vec![&mut op.child],
            Op::Projection(op) => vec![&mut op.child],
            Op::HashAgg(op) | Op::StreamAgg(op) | Op::RollupAgg(op) => vec![&mut op.child],
            Op::Window(op) => vec![&mut op.child],
            Op::HashJoin(op) => vec![&mut op.left, &mut op.right],
            Op::IndexJoin(op) => vec![&mut op.outer, &mut op.inner],
            Op::MergeJoin(op) => vec![&mut op.left, &mut op.right],
            Op::Apply(op) => vec![&mut op.outer, &mut op.inner],
            Op::Sort(op) => vec![&mut op.child],
            Op::TopN(op) => vec![&mut op.child],
            Op::Limit(op) => vec![&mut op.child],
            Op::UnionAll(op) => op.children.iter_mut().collect(),
            Op::SelectLock(op) => vec![&mut op.child],
            Op::MaxOneRow(op) => vec![&mut op.child],
            Op::Insert(op) => match &mut op.source {
                InsertSource::Values(_) => vec![],
                InsertSource::Query(query) => vec![query],
            },
            Op::Update(op) => vec![&mut op.child],
            Op::Delete(op) => vec![&mut op.child],
        }
    }

    /// The children, left to right.
    pub fn children(&self) -> Vec<&Node> {
        match &self.op {
            Op::PointGet(_)
            | Op::BatchPointGet(_)
            | Op::TableReader(_)
            | Op::IndexReader(_)
            | Op::IndexLookup(_)
            | Op::MemTable(_)
            | Op::Values(_) => vec![],
            Op::Selection(op) => vec![&op.child],
            Op::Projection(op) => vec![&op.child],
            Op::HashAgg(op) | Op::StreamAgg(op) | Op::RollupAgg(op) => vec![&op.child],
            Op::Window(op) => vec![&op.child],
            Op::HashJoin(op) => vec![&op.left, &op.right],
            Op::IndexJoin(op) => vec![&op.outer, &op.inner],
            Op::MergeJoin(op) => vec![&op.left, &op.right],
            Op::Apply(op) => vec![&op.outer, &op.inner],
            Op::Sort(op) => vec![&op.child],
            Op::TopN(op) => vec![&op.child],
            Op::Limit(op) => vec![&op.child],
            Op::UnionAll(op) => op.children.iter().collect(),
            Op::SelectLock(op) => vec![&op.child],
            Op::MaxOneRow(op) => vec![&op.child],
            Op::Insert(op) => match &op.source {
                InsertSource::Values(_) => vec![],
                InsertSource::Query(query) => vec![query],
            },
            Op::Update(op) => vec![&op.child],
            Op::Delete(op) => vec![&op.child],
        }
    }
}

//! What the store executes: one scan of a table or an index, filters on it, then a short pipeline.
//!
//! The planner builds a [`DagPlan`] once per physical plan; an execution adds key ranges, the direction and the evaluation context
//! (see `DagRequest`). The same plan runs beside the store's scanner and over a transaction's merged view, with equal results.
//!
//! ```text
//! key/value pairs ─ scan ─> scan.columns() ─ filters ─> same columns ─ ops[0] ─ … ─ ops[n-1] ─> output
//! ```
//!
//! Invariants:
//! - every expression of `filters` and of `ops[0]` refers to positions in the scan's columns, every expression of `ops[i]` to positions in
//!   what `ops[i-1]` hands up;
//! - an aggregate is always the last operator and hands up its group columns first, then one column for every aggregate function;
//! - `output` are the types of what the last operator hands up.

use base::{ColumnId, IndexId, TableId};
use expr::{AggDesc, EvalCtx, Expr};
use types::{Datum, FieldType};

use crate::Error;

/// The id of the pseudo column that holds the row's handle: an integer where the handle is one, else the bytes of the common handle.
pub const HANDLE_COLUMN: ColumnId = ColumnId(-1);

/// A scan, filters and a pipeline, executed where the data is.
#[derive(Clone, Debug, PartialEq)]
pub struct DagPlan {
    /// What is read and which columns it yields.
    pub scan: ScanSpec,
    /// A row is kept when all of these are true; over the scan's columns.
    pub filters: Vec<Expr>,
    /// What happens to the kept rows, in order.
    pub ops: Vec<DagOp>,
    /// The types of the rows handed up.
    pub output: Vec<FieldType>,
}

/// The table or index that is scanned.
#[derive(Clone, Debug, PartialEq)]
pub enum ScanSpec {
    /// Record keys and row values of a table.
    Table(TableScan),
    /// Entries of an index.
    Index(IndexScan),
}

/// A scan of a table's records.
#[derive(Clone, Debug, PartialEq)]
pub struct TableScan {
    /// The table.
    pub table: TableId,
    /// The columns to decode, in output order.
    pub columns: Vec<ScanColumn>,
    /// What the record key holds.
    pub handle: HandleKind,
}

/// A scan of an index's entries.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexScan {
    /// The table the index belongs to.
    pub table: TableId,
    /// The index.
    pub index: IndexId,
    /// Whether the index is unique (an entry with no NULL then keeps the handle in its value).
    pub unique: bool,
    /// The columns of the index key, in key order.
    pub parts: Vec<KeyPart>,
    /// The columns to decode, in output order: each is a key part, a handle part or [`HANDLE_COLUMN`].
    pub columns: Vec<ScanColumn>,
    /// What the handle at the end of the entry is.
    pub handle: HandleKind,
}

/// One column that a scan yields.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanColumn {
    /// The column's id, or [`HANDLE_COLUMN`].
    pub id: ColumnId,
    /// Its type.
    pub ty: FieldType,
    /// The value of rows written before the column was added (NULL when it has no default).
    pub default: Datum,
}

/// What identifies a row of the table.
#[derive(Clone, Debug, PartialEq)]
pub enum HandleKind {
    /// A hidden row id: no column has it.
    RowId,
    /// The value of an integer primary key column, which is stored only in the key.
    IntColumn {
        /// The primary key column.
        id: ColumnId,
    },
    /// The memcomparable datums of the primary key's columns.
    Common {
        /// The primary key's columns, in key order.
        parts: Vec<KeyPart>,
    },
}

/// A column of an index or of a common handle.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    /// The column.
    pub id: ColumnId,
    /// Its type.
    pub ty: FieldType,
    /// How many characters (bytes for binary strings) of it are in the key, when not all.
    pub prefix_len: Option<u32>,
    /// Whether it is encoded in descending order.
    pub desc: bool,
}

/// One step of the pipeline behind a scan.
#[derive(Clone, Debug, PartialEq)]
pub enum DagOp {
    /// Replaces the columns by these expressions.
    Projection(Vec<Expr>),
    /// Groups and aggregates. Hands up the group columns, then one column for each function.
    Aggregate {
        /// The group keys; empty for one group.
        group_by: Vec<Expr>,
        /// The functions, in mode `Partial` (or `Complete` where the request's ranges hold whole groups).
        aggs: Vec<AggDesc>,
        /// Rows arrive ordered by the group keys, so that a group is finished when its keys change.
        streamed: bool,
    },
    /// The first rows in the order of `by`: offset and count together, because a pushed-down limit never skips (see [`RowLimit`]).
    TopN {
        /// The sort keys, most significant first.
        by: Vec<SortKey>,
        /// How many rows are kept.
        limit: RowLimit,
    },
    /// The first rows of what arrives: offset and count together.
    Limit(RowLimit),
}

/// One key of a sort.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// What is compared, by the expression's collation; NULL sorts first.
    pub expr: Expr,
    /// Largest first (NULL last).
    pub desc: bool,
}

/// `LIMIT offset, count` with both as constant expressions, because a cached plan gets them as parameters.
///
/// Inside a [`DagPlan`] it lets [`RowLimit::total`] rows through: several executions may run beside each other, so only the consumer can skip.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLimit {
    /// Rows to skip; `None` for 0.
    pub offset: Option<Expr>,
    /// Rows to keep behind the skipped ones.
    pub count: Expr,
}

impl ScanSpec {
    /// The table that is read.
    pub fn table(&self) -> TableId {
        match self {
            Self::Table(scan) => scan.table,
            Self::Index(scan) => scan.table,
        }
    }

    /// The columns the scan yields.
    pub fn columns(&self) -> &[ScanColumn] {
        match self {
            Self::Table(scan) => &scan.columns,
            Self::Index(scan) => &scan.columns,
        }
    }
}

impl RowLimit {
    /// The count for this execution.
    pub fn count(&self, ctx: &EvalCtx) -> Result<u64, Error> {
        row_count(&self.count, ctx)
    }

    /// The offset for this execution; 0 without one.
    pub fn offset(&self, ctx: &EvalCtx) -> Result<u64, Error> {
        self.offset.as_ref().map_or(Ok(0), |offset| row_count(offset, ctx))
    }

    /// Offset and count together: what a pushed-down limit must let through.
    pub fn total(&self, ctx: &EvalCtx) -> Result<u64, Error> {
        Ok(self.offset(ctx)?.saturating_add(self.count(ctx)?))
    }
}

fn row_count(expr: &Expr, ctx: &EvalCtx) -> Result<u64, Error> {
    match expr.eval_const(ctx)? {
        Datum::UInt(n) => Ok(n),
        Datum::Int(n) if n >= 0 => Ok(n as u64),
        _ => Err(Error::InvalidLimit),
    }
}

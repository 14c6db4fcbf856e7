//! INSERT, REPLACE, UPDATE, DELETE, LOAD DATA.

use super::{ColumnRef, Expr, Ident, Limit, OptimizerHint, OrderItem, Query, TableName, TableRef, With};

/// `INSERT` or `REPLACE`.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertStmt {
    /// `REPLACE`.
    pub replace: bool,
    /// `/*+ … */`.
    pub hints: Vec<OptimizerHint>,
    /// LOW_PRIORITY, DELAYED, HIGH_PRIORITY.
    pub priority: Option<DmlPriority>,
    /// `IGNORE`.
    pub ignore: bool,
    /// The table.
    pub table: TableName,
    /// `PARTITION (p, …)`.
    pub partitions: Vec<Ident>,
    /// The columns; empty when left out. For the `SET` form, those assigned.
    pub columns: Vec<ColumnRef>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// `AS alias [(columns)]` after the rows.
    pub row_alias: Option<RowAlias>,
    /// ON DUPLICATE KEY UPDATE.
    pub on_duplicate: Vec<Assignment>,
}

/// Where inserted rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// `VALUES (…), …`, `VALUES ROW(…), …`, and `SET a = …` as one row; `DEFAULT` is `Expr::Default(None)`. A row may be empty: `VALUES ()`.
    Values(Vec<Vec<Expr>>),
    /// A query.
    Query(Box<Query>),
}

/// `AS alias [(columns)]` of INSERT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowAlias {
    /// The alias.
    pub name: Ident,
    /// Names for the columns.
    pub columns: Vec<Ident>,
}

/// Priority words, which InnoDB tables ignore in MySQL too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum DmlPriority {
    Low,
    Delayed,
    High,
}

/// `column = value`; the value may be `Expr::Default(None)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The column.
    pub column: ColumnRef,
    /// The value.
    pub value: Expr,
}

/// `UPDATE`.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateStmt {
    /// WITH.
    pub with: Option<With>,
    /// `/*+ … */`.
    pub hints: Vec<OptimizerHint>,
    /// `LOW_PRIORITY`.
    pub low_priority: bool,
    /// `IGNORE`.
    pub ignore: bool,
    /// The tables; several, or a join, make it a multi-table update.
    pub tables: Vec<TableRef>,
    /// SET.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub where_clause: Option<Expr>,
    /// ORDER BY; single-table only.
    pub order_by: Vec<OrderItem>,
    /// LIMIT; single-table only.
    pub limit: Option<Limit>,
}

/// `DELETE`.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteStmt {
    /// WITH.
    pub with: Option<With>,
    /// `/*+ … */`.
    pub hints: Vec<OptimizerHint>,
    /// `LOW_PRIORITY`.
    pub low_priority: bool,
    /// `QUICK`.
    pub quick: bool,
    /// `IGNORE`.
    pub ignore: bool,
    /// For the multi-table forms, the tables rows are deleted from (`t`, `db.t`, `t.*`); empty for `DELETE FROM t`.
    pub targets: Vec<TableName>,
    /// A multi-table delete was written with USING.
    pub using: bool,
    /// The table, or the joined tables.
    pub from: Vec<TableRef>,
    /// WHERE.
    pub where_clause: Option<Expr>,
    /// ORDER BY; single-table only.
    pub order_by: Vec<OrderItem>,
    /// LIMIT; single-table only.
    pub limit: Option<Limit>,
}

/// `LOAD DATA`.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadDataStmt {
    /// `LOCAL`.
    pub local: bool,
    /// LOW_PRIORITY or CONCURRENT (as `High`).
    pub priority: Option<DmlPriority>,
    /// The file.
    pub file: String,
    /// What to do with duplicates.
    pub on_duplicate: Option<DuplicateMode>,
    /// The table.
    pub table: TableName,
    /// `PARTITION (p, …)`.
    pub partitions: Vec<Ident>,
    /// `CHARACTER SET c`.
    pub charset: Option<Ident>,
    /// `FIELDS …`.
    pub fields: FieldsFormat,
    /// `LINES …`.
    pub lines: LinesFormat,
    /// `IGNORE n LINES`.
    pub ignore_lines: u64,
    /// Columns and user variables in file order.
    pub columns: Vec<Expr>,
    /// SET.
    pub set: Vec<Assignment>,
}

/// `FIELDS …` of LOAD DATA; `None` is the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldsFormat {
    /// TERMINATED BY.
    pub terminated: Option<String>,
    /// ENCLOSED BY.
    pub enclosed: Option<String>,
    /// OPTIONALLY.
    pub optionally: bool,
    /// ESCAPED BY.
    pub escaped: Option<String>,
}

/// `LINES …` of LOAD DATA and INTO OUTFILE; `None` is the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinesFormat {
    /// STARTING BY.
    pub starting: Option<String>,
    /// TERMINATED BY.
    pub terminated: Option<String>,
}

/// REPLACE or IGNORE for duplicates, in LOAD DATA and CREATE TABLE … SELECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum DuplicateMode {
    Replace,
    Ignore,
}

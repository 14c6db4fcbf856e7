//! The operators that change rows: INSERT and REPLACE, UPDATE, DELETE.
//!
//! A row *in the table's layout* holds one value for every column of `table.columns`, in their order, those that are not public included.

use std::sync::Arc;

use catalog::TableInfo;
use expr::Expr;

use super::Node;

/// INSERT and REPLACE.
///
/// The executor builds one row for each source row in the table's layout (all of `table.columns`, in order, those that are not public
/// included), fills the columns that `columns` does not name by `fill`, converts each value to its column's type, computes generated
/// columns, and writes.
#[derive(Clone, Debug)]
pub struct Insert {
    /// The table.
    pub table: Arc<TableInfo>,
    /// Its database.
    pub database: String,
    /// REPLACE: rows that are in the way are deleted first.
    pub replace: bool,
    /// IGNORE: errors of single rows become warnings.
    pub ignore: bool,
    /// For each source value, the offset of the table column it is stored in.
    pub columns: Vec<usize>,
    /// For each table column, how it is filled when the source has no value for it (or says DEFAULT).
    pub fill: Vec<ColumnFill>,
    /// Where rows come from.
    pub source: InsertSource,
    /// ON DUPLICATE KEY UPDATE: the assignments, over `old row ++ new row` (both in the table's layout) and, for a query, its columns beyond
    /// those of [`Insert::columns`]. Assignments see earlier ones.
    pub on_duplicate: Vec<Assignment>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that `on_duplicate` does not name: set when another column of the old row really changes.
    pub on_update: Vec<Assignment>,
    /// The conditions that rows are held to.
    pub checks: Vec<Check>,
}

/// The value of a column that an INSERT does not mention.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnFill {
    /// The next AUTO_INCREMENT value.
    AutoIncrement,
    /// A constant expression (a literal default, NULL, `CURRENT_TIMESTAMP`).
    Default(Expr),
    /// NOT NULL without a default: error 1364 in strict mode, else the type's implicit default with a warning.
    Missing,
    /// Computed from the row (over the table's layout) after the other columns are set.
    Generated(Expr),
}

/// Where inserted rows come from.
#[derive(Clone, Debug)]
pub enum InsertSource {
    /// VALUES lists and SET.
    Values(Vec<Vec<InsertValue>>),
    /// A query; its columns are in the order of [`Insert::columns`]. Further ones are read by [`Insert::on_duplicate`] alone.
    Query(Box<Node>),
}

/// One value of a VALUES list.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertValue {
    /// An expression. It may refer to columns of the row being built, by their offset in the table: those of earlier values hold the
    /// value, the others their default.
    Expr(Expr),
    /// The word DEFAULT: as if the column had not been mentioned.
    Default,
}

/// `column = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// Offset of the column in the table.
    pub column: usize,
    /// The value (`DEFAULT` is already replaced by the default's expression).
    pub value: Expr,
}

/// A condition that rows of a table are held to (CHECK).
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The constraint's name.
    pub name: String,
    /// Over a row in the table's layout; a row for which it is false is refused.
    pub condition: Expr,
}

/// UPDATE.
///
/// The child's rows hold, for each target, all columns of the table (in the table's layout, those that are not public included) and the
/// handle. Assignments are evaluated in order, and each sees the columns assigned before it, as MySQL does for one table.
#[derive(Clone, Debug)]
pub struct Update {
    /// The rows to change.
    pub child: Box<Node>,
    /// The tables that are changed.
    pub targets: Vec<UpdateTarget>,
    /// IGNORE: errors of single rows become warnings.
    pub ignore: bool,
}

/// A table an UPDATE changes.
#[derive(Clone, Debug)]
pub struct UpdateTarget {
    /// The table.
    pub table: Arc<TableInfo>,
    /// Its database.
    pub database: String,
    /// Position of the table's first column in the child's rows; the others follow.
    pub start: usize,
    /// Position of the handle in the child's rows; NULL where an outer join found no row. A row met twice is changed once.
    pub handle: usize,
    /// The assignments, over the child's row.
    pub assignments: Vec<Assignment>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that no assignment names: set when another column of the row really changes.
    pub on_update: Vec<Assignment>,
    /// Generated columns, recomputed from the child's row after the assignments.
    pub generated: Vec<Assignment>,
    /// The conditions that rows are held to.
    pub checks: Vec<Check>,
}

/// DELETE.
#[derive(Clone, Debug)]
pub struct Delete {
    /// The rows to remove.
    pub child: Box<Node>,
    /// The tables rows are removed from.
    pub targets: Vec<DeleteTarget>,
    /// IGNORE: errors of single rows become warnings.
    pub ignore: bool,
}

/// A table a DELETE removes rows from.
#[derive(Clone, Debug)]
pub struct DeleteTarget {
    /// The table.
    pub table: Arc<TableInfo>,
    /// Its database.
    pub database: String,
    /// Position of the table's first column in the child's rows; all columns of the table's layout follow.
    pub start: usize,
    /// Position of the handle in the child's rows; NULL where an outer join found no row. A row met twice is removed once.
    pub handle: usize,
}

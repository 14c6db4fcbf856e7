//! PARTITION BY.

use super::{Expr, Ident, TableOption};

/// `PARTITION BY …`.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBy {
    /// How rows are placed.
    pub method: PartitionMethod,
    /// `PARTITIONS n`.
    pub count: Option<u64>,
    /// `SUBPARTITION BY`; HASH or KEY.
    pub subpartition: Option<PartitionMethod>,
    /// `SUBPARTITIONS n`.
    pub subpartition_count: Option<u64>,
    /// The partitions.
    pub partitions: Vec<PartitionDef>,
}

/// Placing of rows.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionMethod {
    /// `[LINEAR] HASH (expr)`.
    Hash {
        /// `LINEAR`.
        linear: bool,
        /// The expression.
        expr: Expr,
    },
    /// `[LINEAR] KEY [ALGORITHM = n] (columns)`.
    Key {
        /// `LINEAR`.
        linear: bool,
        /// `ALGORITHM`.
        algorithm: Option<u64>,
        /// The columns; empty for the primary key's.
        columns: Vec<Ident>,
    },
    /// `RANGE (expr)`.
    Range(Expr),
    /// `RANGE COLUMNS (columns)`.
    RangeColumns(Vec<Ident>),
    /// `LIST (expr)`.
    List(Expr),
    /// `LIST COLUMNS (columns)`.
    ListColumns(Vec<Ident>),
}

/// One partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionDef {
    /// The name.
    pub name: Ident,
    /// Its values.
    pub values: Option<PartitionValues>,
    /// Its options.
    pub options: Vec<TableOption>,
    /// Its subpartitions.
    pub subpartitions: Vec<(Ident, Vec<TableOption>)>,
}

/// The values of a partition.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValues {
    /// `VALUES LESS THAN (bound, …)`; `None` is MAXVALUE.
    LessThan(Vec<Option<Expr>>),
    /// `VALUES IN (…)`; a row of several columns is `Expr::Row`.
    In(Vec<Expr>),
}

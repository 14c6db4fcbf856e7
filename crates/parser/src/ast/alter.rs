//! ALTER TABLE.

use super::{ColumnDef, Expr, Ident, OnlineOptions, PartitionBy, PartitionDef, TableConstraint, TableName, TableOption};

/// `ALTER TABLE t action, …`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTableStmt {
    /// The table.
    pub table: TableName,
    /// The actions in order; may be empty.
    pub actions: Vec<AlterAction>,
    /// `ALGORITHM` and `LOCK`.
    pub online: OnlineOptions,
    /// `WITH VALIDATION` (true) or `WITHOUT VALIDATION` (false).
    pub validation: Option<bool>,
}

/// Where a column goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnPosition {
    /// `FIRST`.
    First,
    /// `AFTER column`.
    After(Ident),
}

/// One action of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    /// `ADD [COLUMN] def [position]`; `ADD (def, …)` is several of these.
    AddColumn {
        /// `IF NOT EXISTS`, of MariaDB and TiDB.
        if_not_exists: bool,
        /// The column.
        column: ColumnDef,
        /// Where.
        position: Option<ColumnPosition>,
    },
    /// `DROP [COLUMN] name`.
    DropColumn {
        /// `IF EXISTS`, of MariaDB and TiDB.
        if_exists: bool,
        /// The column.
        name: Ident,
    },
    /// `MODIFY [COLUMN] def [position]`.
    ModifyColumn {
        /// The column.
        column: ColumnDef,
        /// Where.
        position: Option<ColumnPosition>,
    },
    /// `CHANGE [COLUMN] old def [position]`.
    ChangeColumn {
        /// The old name.
        old: Ident,
        /// The column.
        column: ColumnDef,
        /// Where.
        position: Option<ColumnPosition>,
    },
    /// `RENAME COLUMN old TO new`.
    RenameColumn {
        /// The old name.
        old: Ident,
        /// The new name.
        new: Ident,
    },
    /// `ALTER [COLUMN] c SET DEFAULT x` or `DROP DEFAULT` (`None`).
    AlterColumnDefault {
        /// The column.
        name: Ident,
        /// The new default.
        default: Option<Expr>,
        /// Written as `(expr)`.
        parenthesized: bool,
    },
    /// `ALTER [COLUMN] c SET {VISIBLE | INVISIBLE}`.
    AlterColumnVisible {
        /// The column.
        name: Ident,
        /// Whether `SELECT *` shows it.
        visible: bool,
    },
    /// `ADD` of an index or constraint.
    AddConstraint {
        /// `IF NOT EXISTS`, of MariaDB and TiDB.
        if_not_exists: bool,
        /// The constraint.
        constraint: TableConstraint,
    },
    /// `DROP {INDEX | KEY} name`.
    DropIndex {
        /// `IF EXISTS`, of MariaDB and TiDB.
        if_exists: bool,
        /// The index.
        name: Ident,
    },
    /// `DROP PRIMARY KEY`.
    DropPrimaryKey,
    /// `DROP FOREIGN KEY name`.
    DropForeignKey(Ident),
    /// `DROP CHECK name`.
    DropCheck(Ident),
    /// `DROP CONSTRAINT name`.
    DropConstraint(Ident),
    /// `ALTER {CHECK | CONSTRAINT} name [NOT] ENFORCED`.
    AlterCheck {
        /// The constraint.
        name: Ident,
        /// Whether it is enforced.
        enforced: bool,
    },
    /// `ALTER INDEX name {VISIBLE | INVISIBLE}`.
    AlterIndexVisible {
        /// The index.
        name: Ident,
        /// Whether the optimizer uses it.
        visible: bool,
    },
    /// `RENAME {INDEX | KEY} old TO new`.
    RenameIndex {
        /// The old name.
        old: Ident,
        /// The new name.
        new: Ident,
    },
    /// `RENAME [TO | AS] name`.
    RenameTable(TableName),
    /// Table options.
    Options(Vec<TableOption>),
    /// `CONVERT TO CHARACTER SET c [COLLATE c]`; `None` is DEFAULT.
    ConvertCharset {
        /// The character set.
        charset: Option<Ident>,
        /// The collation.
        collation: Option<Ident>,
    },
    /// `ORDER BY column, …`, which InnoDB ignores.
    OrderBy(Vec<super::OrderItem>),
    /// `{ENABLE | DISABLE} KEYS`.
    EnableKeys(bool),
    /// `FORCE`.
    Force,
    /// `{DISCARD | IMPORT} TABLESPACE`.
    Tablespace {
        /// `IMPORT`.
        import: bool,
    },
    /// `PARTITION BY …`.
    PartitionBy(PartitionBy),
    /// `REMOVE PARTITIONING`.
    RemovePartitioning,
    /// `ADD PARTITION (…)`.
    AddPartitions(Vec<PartitionDef>),
    /// `ADD PARTITION PARTITIONS n`.
    AddPartitionCount(u64),
    /// `DROP PARTITION p, …`.
    DropPartitions(Vec<Ident>),
    /// `TRUNCATE PARTITION {p, … | ALL}`; empty is ALL.
    TruncatePartitions(Vec<Ident>),
    /// `COALESCE PARTITION n`.
    CoalescePartition(u64),
    /// `REORGANIZE PARTITION p, … INTO (…)`.
    ReorganizePartitions {
        /// The old partitions.
        names: Vec<Ident>,
        /// The new ones.
        into: Vec<PartitionDef>,
    },
    /// `EXCHANGE PARTITION p WITH TABLE t`.
    ExchangePartition {
        /// The partition.
        name: Ident,
        /// The table.
        table: TableName,
    },
    /// `{ANALYZE | CHECK | OPTIMIZE | REBUILD | REPAIR} PARTITION {p, … | ALL}`.
    MaintainPartitions {
        /// The verb in upper case.
        verb: &'static str,
        /// The partitions; empty is ALL.
        names: Vec<Ident>,
    },
}

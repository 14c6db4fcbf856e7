//! CREATE, DROP, TRUNCATE, RENAME of databases, tables, indexes and views.

use super::{ColumnType, DuplicateMode, Expr, Ident, PartitionBy, Query, TableName, UserSpec};

/// `CREATE DATABASE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabaseStmt {
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The name.
    pub name: Ident,
    /// Options.
    pub options: Vec<DatabaseOption>,
}

/// `ALTER DATABASE`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDatabaseStmt {
    /// The name; the current database when left out.
    pub name: Option<Ident>,
    /// Options, at least one.
    pub options: Vec<DatabaseOption>,
}

/// `DROP DATABASE`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropDatabaseStmt {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The name.
    pub name: Ident,
}

/// An option of a database.
#[derive(Clone, Debug, PartialEq)]
pub enum DatabaseOption {
    /// `CHARACTER SET`.
    Charset(Ident),
    /// `COLLATE`.
    Collate(Ident),
    /// `ENCRYPTION`.
    Encryption(String),
    /// `READ ONLY = {0 | 1 | DEFAULT}`.
    ReadOnly(bool),
}

/// `CREATE TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableStmt {
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The name.
    pub name: TableName,
    /// `LIKE t`; then all the rest is empty.
    pub like: Option<TableName>,
    /// The columns.
    pub columns: Vec<ColumnDef>,
    /// Indexes and constraints given beside the columns.
    pub constraints: Vec<TableConstraint>,
    /// Table options in order.
    pub options: Vec<TableOption>,
    /// `PARTITION BY`.
    pub partition_by: Option<PartitionBy>,
    /// IGNORE or REPLACE before the query.
    pub duplicate_mode: Option<DuplicateMode>,
    /// `[AS] query`.
    pub query: Option<Box<Query>>,
}

/// A column definition.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// The name.
    pub name: Ident,
    /// The type. `SERIAL` is BIGINT UNSIGNED with NOT NULL, AUTO_INCREMENT and UNIQUE among the options.
    pub ty: ColumnType,
    /// The attributes in order.
    pub options: Vec<ColumnOption>,
}

/// An attribute of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnOption {
    /// `NULL`.
    Null,
    /// `NOT NULL`.
    NotNull,
    /// `DEFAULT literal`, `DEFAULT NULL`, `DEFAULT NOW(n)`; numbers keep their sign as a unary operator.
    Default(Expr),
    /// `DEFAULT (expr)`.
    DefaultExpr(Expr),
    /// `ON UPDATE NOW(n)`.
    OnUpdate(Expr),
    /// `AUTO_INCREMENT`.
    AutoIncrement,
    /// `[PRIMARY] KEY`.
    PrimaryKey,
    /// `UNIQUE [KEY]`.
    Unique,
    /// `COMMENT`.
    Comment(String),
    /// `COLLATE` given among the attributes.
    Collate(Ident),
    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`.
    Generated {
        /// The expression.
        expr: Expr,
        /// `STORED`.
        stored: bool,
    },
    /// `[CONSTRAINT name] CHECK (expr) [[NOT] ENFORCED]`.
    Check(CheckDef),
    /// `REFERENCES …`, which MySQL parses and ignores on a column.
    References(ReferenceDef),
    /// `VISIBLE`, `INVISIBLE`.
    Visible(bool),
    /// `COLUMN_FORMAT {FIXED | DYNAMIC | DEFAULT}`.
    ColumnFormat(Ident),
    /// `STORAGE {DISK | MEMORY}`.
    Storage(Ident),
    /// `ENGINE_ATTRIBUTE`, `SECONDARY_ENGINE_ATTRIBUTE`.
    EngineAttribute {
        /// The secondary one.
        secondary: bool,
        /// The value.
        value: String,
    },
    /// `SRID n`.
    Srid(u32),
    /// `NOT SECONDARY`.
    NotSecondary,
}

/// `[CONSTRAINT name] CHECK (expr) [[NOT] ENFORCED]`.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckDef {
    /// The name.
    pub name: Option<Ident>,
    /// The condition.
    pub expr: Expr,
    /// Whether it is enforced.
    pub enforced: bool,
}

/// An index or constraint of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableConstraint {
    /// A primary key, unique, plain, fulltext or spatial index.
    Index(IndexDef),
    /// `FOREIGN KEY`.
    ForeignKey(ForeignKeyDef),
    /// `CHECK`.
    Check(CheckDef),
}

/// Kinds of indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IndexKind {
    Primary,
    Unique,
    Index,
    FullText,
    Spatial,
}

/// An index definition.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    /// The kind.
    pub kind: IndexKind,
    /// The index's name, or else the constraint's name; `None` when neither was written, and always for the primary key.
    pub name: Option<Ident>,
    /// The parts.
    pub parts: Vec<IndexPart>,
    /// Its options in order.
    pub options: Vec<IndexOption>,
}

/// A part of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPart {
    /// What is indexed.
    pub key: IndexKey,
    /// `DESC`.
    pub desc: bool,
}

/// What an index part indexes.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexKey {
    /// `column[(length)]`; length in characters or bytes.
    Column {
        /// The column.
        name: Ident,
        /// The prefix.
        length: Option<u32>,
    },
    /// `(expr)`.
    Expr(Expr),
}

/// An option of an index.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexOption {
    /// `USING {BTREE | HASH | RTREE}`, also `TYPE`.
    Using(Ident),
    /// `KEY_BLOCK_SIZE`.
    KeyBlockSize(u64),
    /// `WITH PARSER`.
    Parser(Ident),
    /// `COMMENT`.
    Comment(String),
    /// `VISIBLE`, `INVISIBLE`.
    Visible(bool),
    /// `ENGINE_ATTRIBUTE`, `SECONDARY_ENGINE_ATTRIBUTE`.
    EngineAttribute {
        /// The secondary one.
        secondary: bool,
        /// The value.
        value: String,
    },
}

/// `FOREIGN KEY`.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKeyDef {
    /// The constraint's name.
    pub name: Option<Ident>,
    /// The index name after FOREIGN KEY.
    pub index_name: Option<Ident>,
    /// The columns.
    pub columns: Vec<Ident>,
    /// What they refer to.
    pub reference: ReferenceDef,
}

/// `REFERENCES t (columns) …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceDef {
    /// The referred table.
    pub table: TableName,
    /// Its columns.
    pub columns: Vec<Ident>,
    /// `MATCH {FULL | PARTIAL | SIMPLE}`.
    pub match_kind: Option<MatchKind>,
    /// `ON DELETE`.
    pub on_delete: Option<ReferenceAction>,
    /// `ON UPDATE`.
    pub on_update: Option<ReferenceAction>,
}

/// MATCH of a foreign key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum MatchKind {
    Full,
    Partial,
    Simple,
}

/// Actions of a foreign key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

/// An option of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableOption {
    /// `ENGINE`.
    Engine(String),
    /// `AUTO_INCREMENT`.
    AutoIncrement(u64),
    /// `[DEFAULT] CHARACTER SET`.
    Charset(Ident),
    /// `[DEFAULT] COLLATE`.
    Collate(Ident),
    /// `COMMENT`.
    Comment(String),
    /// `UNION = (t, …)`.
    Union(Vec<TableName>),
    /// Any other option of MySQL: its name in upper case (`ROW_FORMAT`, `STATS_PERSISTENT`, `DATA DIRECTORY` …) and its value.
    Other(&'static str, OptionValue),
}

/// The value of an option that is only kept.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A number.
    Int(u64),
    /// A string.
    Str(String),
    /// A word, `DEFAULT` among them.
    Word(Ident),
}

/// `DROP TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropTableStmt {
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The tables.
    pub tables: Vec<TableName>,
    /// RESTRICT (false) or CASCADE (true), which MySQL ignores.
    pub cascade: Option<bool>,
}

/// `CREATE INDEX`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndexStmt {
    /// `IF NOT EXISTS`, not in MySQL but in MariaDB and TiDB.
    pub if_not_exists: bool,
    /// The table.
    pub table: TableName,
    /// The index; its name is always there.
    pub index: IndexDef,
    /// `ALGORITHM` and `LOCK`.
    pub online: OnlineOptions,
}

/// `DROP INDEX`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropIndexStmt {
    /// `IF EXISTS`, not in MySQL but in MariaDB and TiDB.
    pub if_exists: bool,
    /// The index, `PRIMARY` for the primary key.
    pub name: Ident,
    /// The table.
    pub table: TableName,
    /// `ALGORITHM` and `LOCK`.
    pub online: OnlineOptions,
}

/// `ALGORITHM = …` and `LOCK = …`; words in upper case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnlineOptions {
    /// DEFAULT, INPLACE, INSTANT or COPY.
    pub algorithm: Option<Ident>,
    /// DEFAULT, NONE, SHARED or EXCLUSIVE.
    pub lock: Option<Ident>,
}

/// `CREATE VIEW`, `CREATE OR REPLACE VIEW`, `ALTER VIEW`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateViewStmt {
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// `ALTER VIEW`.
    pub alter: bool,
    /// `ALGORITHM`: UNDEFINED, MERGE, TEMPTABLE, in upper case.
    pub algorithm: Option<Ident>,
    /// `DEFINER`.
    pub definer: Option<UserSpec>,
    /// `SQL SECURITY INVOKER` (true) or DEFINER (false).
    pub invoker: Option<bool>,
    /// The name.
    pub name: TableName,
    /// Column names.
    pub columns: Vec<Ident>,
    /// The query.
    pub query: Box<Query>,
    /// `WITH … CHECK OPTION`.
    pub check_option: Option<CheckOption>,
}

/// CHECK OPTION of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CheckOption {
    Cascaded,
    Local,
}

/// `DROP VIEW`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropViewStmt {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The views.
    pub views: Vec<TableName>,
    /// RESTRICT (false) or CASCADE (true), which MySQL ignores.
    pub cascade: Option<bool>,
}

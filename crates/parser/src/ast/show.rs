//! SHOW.

use super::{Expr, Ident, Limit, TableName, UserSpec, VarScope};

/// `SHOW what [LIKE 'pattern' | WHERE expr]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ShowStmt {
    /// What is shown.
    pub kind: ShowKind,
    /// LIKE or WHERE.
    pub filter: Option<ShowFilter>,
}

/// LIKE or WHERE of SHOW.
#[derive(Clone, Debug, PartialEq)]
pub enum ShowFilter {
    /// `LIKE 'pattern'`.
    Like(String),
    /// `WHERE expr` over the shown columns.
    Where(Expr),
}

/// What SHOW shows.
#[derive(Clone, Debug, PartialEq)]
pub enum ShowKind {
    /// `DATABASES`, `SCHEMAS`.
    Databases,
    /// `[EXTENDED] [FULL] TABLES [FROM db]`.
    Tables {
        /// EXTENDED.
        extended: bool,
        /// FULL.
        full: bool,
        /// The database.
        schema: Option<Ident>,
    },
    /// `TABLE STATUS [FROM db]`.
    TableStatus(Option<Ident>),
    /// `OPEN TABLES [FROM db]`.
    OpenTables(Option<Ident>),
    /// `[EXTENDED] [FULL] {COLUMNS | FIELDS} FROM t [FROM db]`.
    Columns {
        /// EXTENDED.
        extended: bool,
        /// FULL.
        full: bool,
        /// The table.
        table: TableName,
    },
    /// `[EXTENDED] {INDEX | INDEXES | KEYS} FROM t [FROM db]`.
    Index {
        /// EXTENDED.
        extended: bool,
        /// The table.
        table: TableName,
    },
    /// `CREATE TABLE t`.
    CreateTable(TableName),
    /// `CREATE VIEW v`.
    CreateView(TableName),
    /// `TABLE t [INDEX i] REGIONS`, of the reference system.
    TableRegions {
        /// The table.
        table: TableName,
        /// One index alone.
        index: Option<Ident>,
    },
    /// `CREATE DATABASE [IF NOT EXISTS] db`.
    CreateDatabase {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The database.
        name: Ident,
    },
    /// `CREATE USER user`.
    CreateUser(UserSpec),
    /// `CREATE {PROCEDURE | FUNCTION | TRIGGER | EVENT} name`.
    CreateRoutine {
        /// The kind in upper case.
        kind: &'static str,
        /// The name.
        name: TableName,
    },
    /// `[GLOBAL | SESSION] VARIABLES`.
    Variables(Option<VarScope>),
    /// `[GLOBAL | SESSION] STATUS`.
    Status(Option<VarScope>),
    /// `[FULL] PROCESSLIST`.
    ProcessList {
        /// FULL: whole statements.
        full: bool,
    },
    /// `WARNINGS [LIMIT …]`.
    Warnings(Option<Limit>),
    /// `COUNT(*) WARNINGS`.
    CountWarnings,
    /// `ERRORS [LIMIT …]`.
    Errors(Option<Limit>),
    /// `COUNT(*) ERRORS`.
    CountErrors,
    /// `GRANTS [FOR user [USING role, …]]`.
    Grants {
        /// The user; the connected one when left out.
        user: Option<UserSpec>,
        /// Roles.
        using: Vec<super::AccountName>,
    },
    /// `[STORAGE] ENGINES`.
    Engines,
    /// `ENGINE name {STATUS | MUTEX | LOGS}`; `ALL` is a name.
    Engine {
        /// The engine.
        name: Ident,
        /// STATUS, MUTEX or LOGS.
        what: &'static str,
    },
    /// `{CHARACTER SET | CHARSET}`.
    Charset,
    /// `COLLATION`.
    Collation,
    /// `PRIVILEGES`.
    Privileges,
    /// `PLUGINS`.
    Plugins,
    /// `TRIGGERS [FROM db]`.
    Triggers {
        /// FULL.
        full: bool,
        /// The database.
        schema: Option<Ident>,
    },
    /// `EVENTS [FROM db]`.
    Events(Option<Ident>),
    /// `PROCEDURE STATUS`.
    ProcedureStatus,
    /// `FUNCTION STATUS`.
    FunctionStatus,
    /// `{MASTER | BINARY LOG} STATUS`.
    BinaryLogStatus,
    /// `{BINARY | MASTER} LOGS`.
    BinaryLogs,
    /// `{SLAVE | REPLICA} STATUS`.
    ReplicaStatus,
    /// `REPLICAS`, `SLAVE HOSTS`.
    Replicas,
    /// `PROFILES`.
    Profiles,
}

//! SET, USE, EXPLAIN, KILL, FLUSH, ANALYZE, ADMIN, PREPARE and their kin.

use super::{Expr, Ident, Stmt, TableName};

/// Scopes of system variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VarScope {
    /// `GLOBAL`, `@@global.`.
    Global,
    /// `SESSION`, `LOCAL`, `@@session.`, `@@local.`.
    Session,
    /// `PERSIST`.
    Persist,
    /// `PERSIST_ONLY`.
    PersistOnly,
}

/// `SET a = …, …`.
#[derive(Clone, Debug, PartialEq)]
pub struct SetStmt {
    /// The settings in order.
    pub items: Vec<SetItem>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq)]
pub enum SetItem {
    /// A system variable.
    System {
        /// The scope, when written; a scope word holds for its own item only.
        scope: Option<VarScope>,
        /// The name in lower case, `component.name` for a structured one.
        name: Ident,
        /// The value.
        value: SetValue,
    },
    /// `@name = value`; the name is in lower case.
    User {
        /// The variable.
        name: Ident,
        /// The value.
        value: Expr,
    },
    /// `NAMES charset [COLLATE collation]`; `None` is DEFAULT.
    Names {
        /// The character set.
        charset: Option<Ident>,
        /// The collation.
        collation: Option<Ident>,
    },
    /// `CHARACTER SET charset`; `None` is DEFAULT.
    CharacterSet(Option<Ident>),
}

/// The value of a system variable in SET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    /// `DEFAULT`.
    Default,
    /// A bare word: `ON`, `OFF`, `utf8mb4`, `ANSI` …, as written.
    Word(Ident),
    /// Anything else.
    Expr(Expr),
}

/// `DESCRIBE t [column | 'pattern']`.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeStmt {
    /// The table.
    pub table: TableName,
    /// A column's name or a LIKE pattern.
    pub column: Option<String>,
}

/// `EXPLAIN`.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainStmt {
    /// `ANALYZE`.
    pub analyze: bool,
    /// `FORMAT = word`, in lower case.
    pub format: Option<String>,
    /// What is explained.
    pub target: ExplainTarget,
}

/// What EXPLAIN explains.
#[derive(Clone, Debug, PartialEq)]
pub enum ExplainTarget {
    /// A SELECT, INSERT, REPLACE, UPDATE, DELETE or TABLE statement.
    Stmt(Box<Stmt>),
    /// `FOR CONNECTION id`.
    Connection(u64),
}

/// `SPLIT TABLE t [INDEX i] …`, of the reference system.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitTableStmt {
    /// The table.
    pub table: TableName,
    /// An index of it; its rows when there is none.
    pub index: Option<Ident>,
    /// Where.
    pub at: SplitAt,
}

/// Where a table is split.
#[derive(Clone, Debug, PartialEq)]
pub enum SplitAt {
    /// `BETWEEN (…) AND (…) REGIONS n`: into equal parts.
    Between {
        /// Values of the first key.
        lower: Vec<Expr>,
        /// Values of the key behind the last.
        upper: Vec<Expr>,
        /// How many.
        regions: u64,
    },
    /// `BY (…), …`: at keys.
    By(Vec<Vec<Expr>>),
}

/// `KILL`.
#[derive(Clone, Debug, PartialEq)]
pub struct KillStmt {
    /// `QUERY`: only the running statement.
    pub query: bool,
    /// The connection id, an expression in MySQL.
    pub id: Expr,
}

/// `FLUSH`.
#[derive(Clone, Debug, PartialEq)]
pub struct FlushStmt {
    /// `NO_WRITE_TO_BINLOG` or `LOCAL`.
    pub no_binlog: bool,
    /// What is flushed.
    pub targets: Vec<FlushTarget>,
}

/// What FLUSH flushes.
#[derive(Clone, Debug, PartialEq)]
pub enum FlushTarget {
    /// `TABLES [t, …] [WITH READ LOCK | FOR EXPORT]`.
    Tables {
        /// The tables; all when empty.
        tables: Vec<TableName>,
        /// WITH READ LOCK.
        read_lock: bool,
        /// FOR EXPORT.
        for_export: bool,
    },
    /// `PRIVILEGES`.
    Privileges,
    /// `STATUS`.
    Status,
    /// `HOSTS`.
    Hosts,
    /// `[kind] LOGS`: the kind in upper case.
    Logs(Option<Ident>),
    /// `USER_RESOURCES`.
    UserResources,
    /// `OPTIMIZER_COSTS`.
    OptimizerCosts,
}

/// `ANALYZE TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalyzeTableStmt {
    /// `NO_WRITE_TO_BINLOG` or `LOCAL`.
    pub no_binlog: bool,
    /// The tables.
    pub tables: Vec<TableName>,
    /// `UPDATE | DROP HISTOGRAM ON …`.
    pub histogram: Option<HistogramAction>,
}

/// `… HISTOGRAM ON columns …`.
#[derive(Clone, Debug, PartialEq)]
pub enum HistogramAction {
    /// `UPDATE HISTOGRAM ON columns [WITH n BUCKETS]`.
    Update {
        /// The columns.
        columns: Vec<Ident>,
        /// How many buckets.
        buckets: Option<u64>,
    },
    /// `DROP HISTOGRAM ON columns`.
    Drop(Vec<Ident>),
}

/// `CHECK`, `OPTIMIZE`, `REPAIR`, `CHECKSUM TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct TableMaintenanceStmt {
    /// Which one.
    pub kind: MaintenanceKind,
    /// `NO_WRITE_TO_BINLOG` or `LOCAL`.
    pub no_binlog: bool,
    /// The tables.
    pub tables: Vec<TableName>,
    /// The words behind, in upper case: `QUICK`, `EXTENDED`, `FOR UPGRADE` …
    pub options: Vec<&'static str>,
}

/// Kinds of table maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum MaintenanceKind {
    Check,
    Optimize,
    Repair,
    Checksum,
}

/// `ADMIN …`.
#[derive(Clone, Debug, PartialEq)]
pub enum AdminStmt {
    /// `ADMIN CHECK TABLE t, …`: every index entry has its row and the reverse.
    CheckTable(Vec<TableName>),
    /// `ADMIN CHECK INDEX t index`.
    CheckIndex(TableName, Ident),
    /// `ADMIN CHECKSUM TABLE t, …`.
    ChecksumTable(Vec<TableName>),
    /// `ADMIN SHOW DDL`: version and owner.
    ShowDdl,
    /// `ADMIN SHOW DDL JOBS [n] [WHERE …]`.
    ShowDdlJobs {
        /// How many finished jobs.
        count: Option<u64>,
        /// WHERE.
        filter: Option<Expr>,
    },
    /// `ADMIN CANCEL DDL JOBS id, …`.
    CancelDdlJobs(Vec<u64>),
    /// `ADMIN PAUSE DDL JOBS id, …`.
    PauseDdlJobs(Vec<u64>),
    /// `ADMIN RESUME DDL JOBS id, …`.
    ResumeDdlJobs(Vec<u64>),
}

/// `PREPARE name FROM …`.
#[derive(Clone, Debug, PartialEq)]
pub struct PrepareStmt {
    /// The name.
    pub name: Ident,
    /// The text.
    pub source: PrepareSource,
}

/// Where PREPARE takes its text from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepareSource {
    /// A string.
    Text(String),
    /// A user variable, in lower case.
    Var(Ident),
}

/// `EXECUTE name [USING @a, …]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecuteStmt {
    /// The name.
    pub name: Ident,
    /// User variables, in lower case.
    pub using: Vec<Ident>,
}

/// `RESET PERSIST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetPersistStmt {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The variable; all of them when there is none.
    pub name: Option<Ident>,
}

//! What can stop a statement while it runs.
//!
//! | error | may the statement be run again? |
//! |---|---|
//! | `Client(WriteConflict …)` | yes: see [`Error::is_retryable`]; the session refreshes its timestamp and repeats the statement |
//! | everything else | no: it is about the statement and its data |

use types::mysql_error::MysqlError;

/// Errors of execution.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The transaction client failed.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// An expression failed.
    #[error(transparent)]
    Expr(#[from] expr::Error),
    /// A value could not be converted.
    #[error(transparent)]
    Types(#[from] types::Error),
    /// Stored bytes are damaged.
    #[error(transparent)]
    Codec(#[from] codec::Error),
    /// Decoding or pushed-down execution failed.
    #[error(transparent)]
    Copr(#[from] copr::Error),
    /// Key ranges could not be built.
    #[error(transparent)]
    Planner(#[from] planner::Error),
    /// AUTO_INCREMENT or row ids could not be allocated.
    #[error(transparent)]
    Catalog(#[from] std::sync::Arc<catalog::Error>),
    /// A unique key exists already (1062).
    #[error("Duplicate entry '{entry}' for key '{key}'")]
    DuplicateEntry {
        /// The values of the key, joined by `-`.
        entry: String,
        /// `table.index`.
        key: String,
    },
    /// NULL for a NOT NULL column (1048).
    #[error("Column '{column}' cannot be null")]
    NotNull {
        /// The column.
        column: String,
    },
    /// NULL from a file for a NOT NULL column (1263).
    #[error("Column set to default value; NULL supplied to NOT NULL column '{column}' at row {row}")]
    NullLoaded {
        /// The column.
        column: String,
        /// The row of the file, from 1.
        row: u64,
    },
    /// A NOT NULL column without a default got no value (1364).
    #[error("Field '{column}' doesn't have a default value")]
    NoDefault {
        /// The column.
        column: String,
    },
    /// A VALUES list has the wrong number of values (1136).
    #[error("Column count doesn't match value count at row {row}")]
    ValueCount {
        /// The row, from 1.
        row: u64,
    },
    /// A row makes the condition of a CHECK constraint false (3819).
    #[error("Check constraint '{name}' is violated.")]
    CheckViolated {
        /// The constraint.
        name: String,
    },
    /// A row refers to one that is not there (1452).
    #[error("Cannot add or update a child row: a foreign key constraint fails ({key})")]
    NoParent {
        /// The child and the definition of its key.
        key: String,
    },
    /// A row that others refer to would go (1451).
    #[error("Cannot delete or update a parent row: a foreign key constraint fails ({key})")]
    ParentReferenced {
        /// The child and the definition of its key.
        key: String,
    },
    /// Foreign keys lead from table to table too often (3008).
    #[error("Foreign key cascade delete/update exceeds max depth of {max}.")]
    CascadeTooDeep {
        /// The limit.
        max: usize,
    },
    /// A subquery that must yield one value yielded more rows (1242).
    #[error("Subquery returns more than 1 row")]
    SubqueryRows,
    /// The statement would use more memory than its quota, and the operator cannot spill (8175).
    #[error(
        "Your query has been cancelled due to exceeding the allowed memory limit for a single SQL query: {operator} needs {wanted_bytes} bytes and \
         the limit is {quota_bytes}. Please try narrowing your query scope or increase the tidb_mem_quota_query limit and try again."
    )]
    MemoryQuota {
        /// The operator that asked.
        operator: &'static str,
        /// Bytes the statement would hold.
        wanted_bytes: u64,
        /// The quota.
        quota_bytes: u64,
    },
    /// Writing or reading a spill file failed (1026).
    #[error("Error writing temporary file of {operator}: {reason}")]
    Spill {
        /// The operator that spills.
        operator: &'static str,
        /// What the operating system says.
        reason: String,
    },
    /// A table and one of its indexes disagree (8223).
    #[error("data inconsistency in table: {table}, index: {index}, handle: {handle}, index-values:{entry} != record-values:{record}")]
    Inconsistent {
        /// The table.
        table: String,
        /// The index.
        index: String,
        /// The row's handle.
        handle: String,
        /// What the index holds; empty when it has no entry.
        entry: String,
        /// What the row holds; empty when there is no row.
        record: String,
    },
    /// An index leads to a row that is not there (8141).
    #[error("index '{index}' of table '{table}' leads to row {handle}, which does not exist")]
    MissingRow {
        /// The table.
        table: String,
        /// The index.
        index: String,
        /// The handle found in the index.
        handle: String,
    },
    /// The statement needs a transaction and the context has none; a bug of the session.
    #[error("the statement needs a transaction")]
    NoTransaction,
    /// A plan that execution does not understand; a bug of the planner.
    #[error("invalid plan: {0}")]
    InvalidPlan(&'static str),
    /// The thread that computed the statement's rows has ended: the server stops, or the statement hit a bug (1105).
    #[error("the thread of this statement has ended; the server's log says why")]
    ThreadEnded,
    /// Known to MySQL and not supported yet (1235).
    #[error("This version of MySQL doesn't yet support '{0}'")]
    Unsupported(&'static str),
}

/// Result of execution.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<catalog::Error> for Error {
    fn from(error: catalog::Error) -> Self {
        Self::Catalog(std::sync::Arc::new(error))
    }
}

impl From<env::Cancelled> for Error {
    fn from(cancelled: env::Cancelled) -> Self {
        Self::Client(cancelled.into())
    }
}

impl Error {
    /// Names the table before the column in the errors whose messages do.
    #[must_use]
    pub fn in_table(mut self, table: &str) -> Self {
        if let Error::Types(types::Error::Json(error)) = &mut self {
            error.set_table(table);
        }
        self
    }

    /// Whether the session may run the statement again at a newer timestamp without telling its client.
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Client(error) => error.is_retryable(),
            Error::Catalog(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// Whether the whole transaction is lost with the statement.
    pub fn ends_transaction(&self) -> bool {
        matches!(self, Error::Client(error) if error.ends_transaction())
    }

    /// What the MySQL client is told.
    pub fn to_mysql(&self) -> MysqlError {
        let (code, sqlstate) = match self {
            Error::Client(error) => return error.to_mysql(),
            Error::Expr(error) => return error.to_mysql(),
            Error::Types(error) => return error.to_mysql(),
            Error::Copr(error) => return error.to_mysql(),
            Error::Planner(error) => return error.to_mysql(),
            Error::Catalog(error) => return error.to_mysql(),
            Error::DuplicateEntry { .. } => (1062, "23000"),
            Error::NotNull { .. } => (1048, "23000"),
            Error::NullLoaded { .. } => (1263, "22004"),
            Error::NoDefault { .. } => (1364, "HY000"),
            Error::ValueCount { .. } => (1136, "21S01"),
            Error::CheckViolated { .. } => (3819, "HY000"),
            Error::NoParent { .. } => (1452, "23000"),
            Error::ParentReferenced { .. } => (1451, "23000"),
            Error::CascadeTooDeep { .. } => (3008, "HY000"),
            Error::SubqueryRows => (1242, "21000"),
            Error::MemoryQuota { .. } => (8175, "HY000"),
            Error::Spill { .. } => (1026, "HY000"),
            Error::Inconsistent { .. } => (8223, "HY000"),
            Error::MissingRow { .. } => (8141, "HY000"),
            Error::Unsupported(_) => (1235, "42000"),
            Error::Codec(_) | Error::NoTransaction | Error::InvalidPlan(_) | Error::ThreadEnded => (1105, "HY000"),
        };
        MysqlError { code, sqlstate, message: self.to_string() }
    }

    /// Whether INSERT IGNORE and its kin turn the error into a warning and go on with the next row.
    pub fn is_ignorable(&self) -> bool {
        match self {
            Error::DuplicateEntry { .. }
            | Error::NotNull { .. }
            | Error::NullLoaded { .. }
            | Error::NoDefault { .. }
            | Error::CheckViolated { .. }
            | Error::NoParent { .. }
            | Error::ParentReferenced { .. } => true,
            Error::Types(error) => !matches!(error, types::Error::Codec(_) | types::Error::DamagedValue { .. }),
            _ => false,
        }
    }
}

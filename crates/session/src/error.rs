//! What can fail in a session. Everything ends as an error packet, so every variant knows its MySQL form.

use types::mysql_error::MysqlError;

/// An error of a statement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error that is in MySQL's form already.
    #[error("{}", .0.message)]
    Mysql(MysqlError),
    /// A bug: the statement panicked.
    #[error("Internal error: {message}. The transaction was rolled back and the connection is closed")]
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// The text is no statement.
    #[error(transparent)]
    Parse(#[from] parser::ParseError),
    /// The statement cannot be planned.
    #[error(transparent)]
    Plan(#[from] planner::Error),
    /// Execution failed.
    #[error(transparent)]
    Exec(#[from] exec::Error),
    /// The transaction failed.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The schema could not be read or changed.
    #[error(transparent)]
    Catalog(#[from] catalog::Error),
    /// A schema change failed.
    #[error(transparent)]
    Ddl(#[from] ddl::Error),
    /// Statistics could not be gathered.
    #[error(transparent)]
    Stats(#[from] stats::Error),
    /// An expression of a statement of the session itself failed.
    #[error(transparent)]
    Expr(#[from] expr::Error),
    /// A value could not be converted.
    #[error(transparent)]
    Types(#[from] types::Error),
}

impl From<MysqlError> for Error {
    fn from(error: MysqlError) -> Self {
        Error::Mysql(error)
    }
}

impl Error {
    /// Understood, but not supported yet: 1235 naming the feature.
    pub(crate) fn unsupported(feature: &str) -> Self {
        Error::Mysql(MysqlError::not_supported(feature))
    }

    /// What the client is told.
    pub fn to_mysql(&self) -> MysqlError {
        match self {
            Error::Mysql(error) => error.clone(),
            Error::Panicked { .. } => MysqlError::new(types::mysql_error::ER_UNKNOWN_ERROR, self.to_string()),
            Error::Parse(error) => MysqlError { code: error.code(), sqlstate: error.sqlstate(), message: error.to_string() },
            Error::Plan(error) => error.to_mysql(),
            Error::Exec(error) => error.to_mysql(),
            Error::Client(error) => error.to_mysql(),
            Error::Catalog(error) => error.to_mysql(),
            Error::Ddl(error) => error.to_mysql(),
            Error::Stats(error) => error.to_mysql(),
            Error::Expr(error) => error.to_mysql(),
            Error::Types(error) => error.to_mysql(),
        }
    }

    /// Whether the statement may be run again at a newer timestamp.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            Error::Exec(error) => error.is_retryable(),
            Error::Client(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// Whether a lock of another transaction was in the way for too long.
    pub(crate) fn is_lock_wait(&self) -> bool {
        matches!(self, Error::Client(client::Error::LockWaitTimeout { .. } | client::Error::MustNotWait { .. }))
    }

    /// Whether the whole transaction is lost with the statement.
    pub(crate) fn ends_transaction(&self) -> bool {
        match self {
            Error::Exec(error) => error.ends_transaction(),
            Error::Client(error) => error.ends_transaction(),
            _ => false,
        }
    }
}

//! What can go wrong while a pushed-down plan runs. None of it is about routing, and none may be retried: the data or the plan is wrong.

use base::TableId;
use types::mysql_error::MysqlError;

/// Errors of pushed-down execution.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// An expression failed.
    #[error(transparent)]
    Expr(#[from] expr::Error),
    /// A stored value does not fit its column's type.
    #[error(transparent)]
    Types(#[from] types::Error),
    /// A stored key or row is malformed.
    #[error(transparent)]
    Codec(#[from] codec::Error),
    /// An entry has a shape that the plan does not expect.
    #[error("entry of table {table} does not match its plan: {what}")]
    Corrupt {
        /// The table read.
        table: TableId,
        /// What is wrong.
        what: &'static str,
    },
    /// A LIMIT count is not a non-negative integer.
    #[error("LIMIT takes a non-negative integer")]
    InvalidLimit,
    /// The plan combines parts that do not go together; a bug of the planner.
    #[error("invalid pushed-down plan: {0}")]
    InvalidPlan(&'static str),
}

impl Error {
    /// What a MySQL client is told.
    pub fn to_mysql(&self) -> MysqlError {
        match self {
            Error::Expr(error) => error.to_mysql(),
            Error::Types(error) => MysqlError { code: error.code(), sqlstate: error.sqlstate(), message: error.message() },
            Error::InvalidLimit => MysqlError { code: 1210, sqlstate: "HY000", message: "Incorrect arguments to LIMIT".into() },
            Error::Codec(_) | Error::Corrupt { .. } | Error::InvalidPlan(_) => {
                MysqlError { code: 1105, sqlstate: "HY000", message: self.to_string() }
            }
        }
    }
}

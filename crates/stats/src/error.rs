//! What can go wrong with statistics.

use types::mysql_error::{ER_UNKNOWN_ERROR, MysqlError};

/// An error of gathering or storing statistics.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The transaction client failed, or the statement was told to stop.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] catalog::Error),
    /// A row could not be read.
    #[error(transparent)]
    Row(#[from] copr::Error),
    /// Stored statistics cannot be read.
    #[error("damaged statistics under key {key:02x?}: {source}")]
    Damaged {
        /// The key.
        key: Vec<u8>,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// The result of an operation on statistics.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The error as a client sees it.
    pub fn to_mysql(&self) -> MysqlError {
        match self {
            Self::Client(error) => error.to_mysql(),
            Self::Catalog(error) => error.to_mysql(),
            Self::Row(error) => error.to_mysql(),
            Self::Damaged { .. } => MysqlError::new(ER_UNKNOWN_ERROR, self.to_string()),
        }
    }
}

//! What can go wrong with the catalog, and what MySQL's client is told.

use base::TableId;
use types::mysql_error::{self, ErrorCode, MysqlError};

const ER_TABLE_DEF_CHANGED: ErrorCode = ErrorCode { code: 1412, sqlstate: "HY000" };
const ER_AUTOINC_READ_FAILED: ErrorCode = ErrorCode { code: 1467, sqlstate: "HY000" };

/// An error of the catalog.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A database is not there (1049).
    #[error("Unknown database '{name}'")]
    UnknownDatabase {
        /// As the user wrote it.
        name: String,
    },
    /// A table is not there (1146).
    #[error("Table '{database}.{table}' doesn't exist")]
    NoSuchTable {
        /// The database.
        database: String,
        /// The table as the user wrote it.
        table: String,
    },
    /// A transaction wants to use a table whose definition is newer than its snapshot (1412).
    #[error("Table definition has changed, please retry transaction")]
    TableDefinitionChanged {
        /// The table.
        table: TableId,
    },
    /// A counter has reached its end (1467).
    #[error("Failed to read auto-increment value from storage engine")]
    AutoIncrementExhausted {
        /// The table.
        table: TableId,
    },
    /// The store holds meta keys that another system has written. Retrying does not help; the store must not be touched.
    #[error("the store holds the meta data of another system (first key {key:02x?}); refusing to bootstrap over it")]
    ForeignMetaKeys {
        /// The first meta key.
        key: Vec<u8>,
    },
    /// The store was bootstrapped by a newer version of this program.
    #[error("the store was bootstrapped at version {found}; this program knows versions up to {known}")]
    NewerBootstrap {
        /// The store's version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// As many SQL servers are on record as there are numbers for.
    #[error("there are {} SQL servers already", crate::servers::MAX_SERVER_NUMBER)]
    TooManyServers,
    /// Another server did not answer in time.
    #[error("SQL server {server} does not answer")]
    NoAnswer {
        /// Its id.
        server: i64,
    },
    /// A meta value cannot be read.
    #[error("damaged meta value of key {key:02x?}: {source}")]
    DecodeMeta {
        /// Its key.
        key: Vec<u8>,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A meta value cannot be written.
    #[error("cannot encode the meta value of key {key:02x?}: {source}")]
    EncodeMeta {
        /// Its key.
        key: Vec<u8>,
        /// Why.
        source: serde_json::Error,
    },
    /// A value cannot be encoded.
    #[error(transparent)]
    Types(#[from] types::Error),
    /// A row or index entry cannot be encoded.
    #[error(transparent)]
    Record(#[from] copr::Error),
    /// The transaction client failed.
    #[error(transparent)]
    Client(#[from] client::Error),
}

/// The result of a catalog operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether doing the same again in a new transaction may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Client(error) if error.is_retryable())
    }

    /// The error as a client sees it.
    pub fn to_mysql(&self) -> MysqlError {
        let code = match self {
            Self::UnknownDatabase { .. } => mysql_error::ER_BAD_DB_ERROR,
            Self::NoSuchTable { .. } => mysql_error::ER_NO_SUCH_TABLE,
            Self::TableDefinitionChanged { .. } => ER_TABLE_DEF_CHANGED,
            Self::AutoIncrementExhausted { .. } => ER_AUTOINC_READ_FAILED,
            Self::ForeignMetaKeys { .. }
            | Self::NewerBootstrap { .. }
            | Self::TooManyServers
            | Self::NoAnswer { .. }
            | Self::DecodeMeta { .. }
            | Self::EncodeMeta { .. } => mysql_error::ER_UNKNOWN_ERROR,
            Self::Types(error) => return error.to_mysql(),
            Self::Record(error) => return error.to_mysql(),
            Self::Client(error) => return error.to_mysql(),
        };
        MysqlError::new(code, self.to_string())
    }
}

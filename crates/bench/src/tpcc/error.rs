//! What can go wrong with a TPC-C database, and what of it a terminal repeats.

/// Result of anything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Codes of errors that end one transaction because of another one, or because a part of a cluster was not there for a moment: the same
/// transaction goes through when it is sent again. 1020 is MariaDB's and MySQL's write conflict, 9007 and 8002 are those of TiDB's family,
/// whose 9001 to 9005 tell of a placement driver, store or region out of reach.
const REPEATED: [u16; 11] = [1020, 1205, 1213, 8002, 8022, 9001, 9002, 9003, 9004, 9005, 9007];

/// Codes with which a server ends a connection, or says that it will: it shuts down, the statement or the connection was killed (1317, MariaDB's
/// 1927), nobody used it for too long.
const CONNECTION_ENDED: [u16; 4] = [1053, 1317, 1927, 4031];

/// Why a TPC-C database could not be loaded, driven or checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Options that name no server.
    #[error("no endpoint is given")]
    NoEndpoint,
    /// An endpoint that is not written as `host:port`.
    #[error("{0:?} is not an endpoint: host:port is expected")]
    Endpoint(String),
    /// Options out of range.
    #[error("{what} is {value}, and must be {expected}")]
    Option {
        /// The field.
        what: &'static str,
        /// What it was.
        value: u64,
        /// What it may be.
        expected: &'static str,
    },
    /// A server refuses the connection.
    #[error("cannot connect to {endpoint}: {source}")]
    Connect {
        /// `host:port`.
        endpoint: String,
        /// The client's error.
        source: Box<mysql_async::Error>,
    },
    /// A statement was refused, or the connection broke under it.
    #[error("{sql}: {source}")]
    Statement {
        /// Its text, shortened.
        sql: String,
        /// The client's error.
        source: Box<mysql_async::Error>,
    },
    /// A row that must be there is not, or has other columns than it must have.
    #[error("{sql}: {problem}")]
    Answer {
        /// The statement's text, shortened.
        sql: String,
        /// What is wrong with the answer.
        problem: String,
    },
    /// Loading would have to drop tables, which was not allowed.
    #[error("database {database} has a table {table} already, and Options::replace does not allow dropping it")]
    TableExists {
        /// The database.
        database: String,
        /// The first table that is there.
        table: String,
    },
    /// The database holds other numbers of rows than the options say.
    #[error("database {database} holds {found} {what}, and the options say {expected}: it must be loaded with the same options")]
    Loaded {
        /// The database.
        database: String,
        /// What was counted.
        what: &'static str,
        /// What is there.
        found: u64,
        /// What should be.
        expected: u64,
    },
    /// A task of the driver ended without an answer.
    #[error("a terminal's task ended: {0}")]
    Task(#[from] tokio::task::JoinError),
}

impl Error {
    /// Whether the same transaction may go through when it is sent again on the same connection.
    pub fn may_be_repeated(&self) -> bool {
        matches!(self.server_code(), Some(code) if REPEATED.contains(&code))
    }

    /// Whether the connection is gone or about to go, and with it the transaction.
    pub fn lost_connection(&self) -> bool {
        matches!(self, Self::Statement { source, .. } | Self::Connect { source, .. } if source.is_fatal())
            || matches!(self.server_code(), Some(code) if CONNECTION_ENDED.contains(&code))
    }

    /// The code by which the server names the error, if it comes from the server.
    pub fn server_code(&self) -> Option<u16> {
        match self {
            Self::Statement { source, .. } | Self::Connect { source, .. } => match source.as_ref() {
                mysql_async::Error::Server(error) => Some(error.code),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn statement(sql: &str, source: mysql_async::Error) -> Self {
        Self::Statement { sql: shortened(sql), source: Box::new(source) }
    }

    pub(super) fn answer(sql: &str, problem: impl Into<String>) -> Self {
        Self::Answer { sql: shortened(sql), problem: problem.into() }
    }
}

/// A statement as messages name it: the rows of a load would fill the screen.
fn shortened(sql: &str) -> String {
    const LONGEST: usize = 300;
    match sql.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", &sql[..end]),
        None => sql.to_owned(),
    }
}

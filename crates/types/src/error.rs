//! What can go wrong with values.

use thiserror::Error;

use crate::mysql_error::{self, ErrorCode, MysqlError};

/// An error of a conversion, an arithmetic operation or of stored bytes. None of them may be retried, none is about routing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// A number does not fit the column (1264).
    #[error("Out of range value for column '{column}' at row {row}")]
    OutOfRangeForColumn {
        /// The column's name; empty until the caller fills it in.
        column: String,
        /// The row of the statement, from 1.
        row: u64,
    },
    /// A string does not fit the column (1406).
    #[error("Data too long for column '{column}' at row {row}")]
    TooLong {
        /// The column's name; empty until the caller fills it in.
        column: String,
        /// The row of the statement, from 1.
        row: u64,
    },
    /// Part of a value got lost (1265).
    #[error("Data truncated for column '{column}' at row {row}")]
    Truncated {
        /// The column's name; empty until the caller fills it in.
        column: String,
        /// The row of the statement, from 1.
        row: u64,
    },
    /// Something got lost that nobody will miss, such as spaces at the end (1265, a note even in strict mode).
    #[error("Data truncated for column '{column}' at row {row}")]
    TrifleTruncated {
        /// The column's name; empty until the caller fills it in.
        column: String,
        /// The row of the statement, from 1.
        row: u64,
    },
    /// A text is no number, or no text of the character set (1366).
    #[error("Incorrect {kind} value: '{value}' for column '{column}' at row {row}")]
    IncorrectForColumn {
        /// `integer`, `decimal`, `double`, `string`.
        kind: &'static str,
        /// The text.
        value: String,
        /// The column's name; empty until the caller fills it in.
        column: String,
        /// The row of the statement, from 1.
        row: u64,
    },
    /// A text is no date or time, on its way into a column (1292).
    #[error("Incorrect {kind} value: '{value}' for column '{column}' at row {row}")]
    IncorrectTimeForColumn {
        /// `date`, `datetime` or `time`.
        kind: &'static str,
        /// The text.
        value: String,
        /// The column's name; empty until the caller fills it in.
        column: String,
        /// The row of the statement, from 1.
        row: u64,
    },
    /// NULL for a column that takes none (1048).
    #[error("Column '{column}' cannot be null")]
    Null {
        /// The column's name; empty until the caller fills it in.
        column: String,
    },
    /// A value that is no value of the type, outside of columns (1292): `Incorrect datetime value: 'x'`.
    #[error("Incorrect {kind} value: '{value}'")]
    Incorrect {
        /// The type's name in the message.
        kind: &'static str,
        /// The text.
        value: String,
    },
    /// A value of which only a part could be used, outside of columns (1292): `Truncated incorrect INTEGER value: '1x'`.
    #[error("Truncated incorrect {kind} value: '{value}'")]
    TruncatedIncorrect {
        /// The type's name in the message.
        kind: &'static str,
        /// The text.
        value: String,
    },
    /// A text that CAST to a type of fewer characters cut (1292): `Truncated incorrect CHAR(3) value: 'abcdef'`.
    #[error("Truncated incorrect {kind}({length}) value: '{value}'")]
    TruncatedToLength {
        /// `CHAR` or `BINARY`.
        kind: &'static str,
        /// The type's length.
        length: i32,
        /// The text.
        value: String,
    },
    /// The result of arithmetic does not fit its type (1690).
    #[error("{kind} value is out of range in '{expression}'")]
    OutOfRange {
        /// `BIGINT`, `BIGINT UNSIGNED`, `DECIMAL`, `DOUBLE`.
        kind: &'static str,
        /// The expression or value.
        expression: String,
    },
    /// Date arithmetic left the years 0 to 9999 (1441).
    #[error("Datetime function: {what} field overflow")]
    DatetimeOverflow {
        /// `datetime`, `time`.
        what: &'static str,
    },
    /// An unknown time zone (1298).
    #[error("Unknown or incorrect time zone: '{0}'")]
    UnknownTimeZone(String),
    /// An unknown collation (1273).
    #[error("Unknown collation: '{0}'")]
    UnknownCollation(String),
    /// An unknown character set (1115).
    #[error("Unknown character set: '{0}'")]
    UnknownCharset(String),
    /// JSON texts, values and paths.
    #[error("{0}")]
    Json(#[from] crate::json::JsonError),
    /// Bytes that were read back are not what is ever written (1105).
    #[error("damaged value: {0}")]
    Codec(#[from] codec::Error),
    /// A stored cell contradicts its column's type (1105).
    #[error("damaged value of a {kind} column: {problem}")]
    DamagedValue {
        /// The column's type.
        kind: &'static str,
        /// What contradicts it.
        problem: &'static str,
    },
}

/// The result of an operation on values.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    fn kind(&self) -> ErrorCode {
        match self {
            Error::OutOfRangeForColumn { .. } => mysql_error::ER_WARN_DATA_OUT_OF_RANGE,
            Error::TooLong { .. } => mysql_error::ER_DATA_TOO_LONG,
            Error::Truncated { .. } | Error::TrifleTruncated { .. } => mysql_error::WARN_DATA_TRUNCATED,
            Error::IncorrectForColumn { .. } => mysql_error::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
            Error::IncorrectTimeForColumn { .. }
            | Error::Incorrect { .. }
            | Error::TruncatedIncorrect { .. }
            | Error::TruncatedToLength { .. } => mysql_error::ER_TRUNCATED_WRONG_VALUE,
            Error::Null { .. } => mysql_error::ER_BAD_NULL_ERROR,
            Error::OutOfRange { .. } => mysql_error::ER_DATA_OUT_OF_RANGE,
            Error::DatetimeOverflow { .. } => mysql_error::ER_DATETIME_FUNCTION_OVERFLOW,
            Error::UnknownTimeZone(_) => mysql_error::ER_UNKNOWN_TIME_ZONE,
            Error::UnknownCollation(_) => mysql_error::ER_UNKNOWN_COLLATION,
            Error::UnknownCharset(_) => mysql_error::ER_UNKNOWN_CHARACTER_SET,
            Error::Json(error) => error.kind(),
            Error::Codec(_) | Error::DamagedValue { .. } => mysql_error::ER_UNKNOWN_ERROR,
        }
    }

    /// MySQL's number for the error.
    pub fn code(&self) -> u16 {
        self.kind().code
    }

    /// MySQL's SQLSTATE for the error.
    pub fn sqlstate(&self) -> &'static str {
        self.kind().sqlstate
    }

    /// What is said to the user.
    pub fn message(&self) -> String {
        self.to_string()
    }

    /// The error as a client sees it.
    pub fn to_mysql(&self) -> MysqlError {
        MysqlError::new(self.kind(), self.message())
    }

    /// Whether the condition is a note rather than a warning.
    pub fn is_note(&self) -> bool {
        matches!(self, Error::TrifleTruncated { .. })
    }

    /// Names the column and the row of the statement (from 1) in errors that speak of a column.
    pub fn at_column(mut self, name: &str, at_row: u64) -> Self {
        match &mut self {
            Error::OutOfRangeForColumn { column, row }
            | Error::TooLong { column, row }
            | Error::Truncated { column, row }
            | Error::TrifleTruncated { column, row }
            | Error::IncorrectForColumn { column, row, .. }
            | Error::IncorrectTimeForColumn { column, row, .. } => {
                name.clone_into(column);
                *row = at_row;
            }
            Error::Null { column } => name.clone_into(column),
            Error::Json(error) => *error = std::mem::replace(error, crate::json::JsonError::TooDeep).at_column(name, at_row),
            _ => {}
        }
        self
    }
}

impl From<Error> for MysqlError {
    fn from(error: Error) -> Self {
        error.to_mysql()
    }
}

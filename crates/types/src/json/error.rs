//! What can be wrong with JSON texts, values and paths.

use thiserror::Error;

use crate::mysql_error::{self, ErrorCode};

/// Why a JSON value or path was refused. None may be retried, none is about routing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JsonError {
    /// A text is not JSON; whoever knows where it came from makes one of the next two of it (3140).
    #[error("Invalid JSON text: \"{problem}\" at position {position} in value for column '{column}'.")]
    Text {
        /// What the parser says.
        problem: &'static str,
        /// Bytes before the place.
        position: usize,
        /// Table and column; empty until the caller fills it in.
        column: String,
    },
    /// An argument of a function is not JSON (3141).
    #[error("Invalid JSON text in argument {argument} to function {function}: \"{problem}\" at position {position}.")]
    TextInArgument {
        /// Which argument, from 1.
        argument: usize,
        /// The function's name.
        function: &'static str,
        /// What the parser says.
        problem: &'static str,
        /// Bytes before the place.
        position: usize,
    },
    /// A path expression that cannot be read (3143).
    #[error("Invalid JSON path expression. The error is around character position {position}.")]
    Path {
        /// Characters before the place.
        position: usize,
    },
    /// A byte string is no JSON text (3144).
    #[error("Cannot create a JSON value from a string with CHARACTER SET '{charset}'.")]
    Charset {
        /// The string's character set.
        charset: &'static str,
    },
    /// An argument that is neither JSON nor text (3146).
    #[error("Invalid data type for JSON data in argument {argument} to function {function}; a JSON string or JSON type is required.")]
    ArgumentType {
        /// Which argument, from 1.
        argument: usize,
        /// The function's name.
        function: &'static str,
    },
    /// A path with wildcards where one place is meant (3149).
    #[error("In this situation, path expressions may not contain the * and ** tokens or an array range.")]
    PathWildcard,
    /// A value above the size of a column (3150).
    #[error("The JSON value is too big to be stored in a JSON column.")]
    TooBig,
    /// A key of more than [`MAX_KEY_BYTES`](super::MAX_KEY_BYTES) (3151).
    #[error("The JSON object contains a key name that is too long.")]
    KeyTooLong,
    /// The path `$` where a place within the value is meant (3153).
    #[error("The path expression '$' is not allowed in this context.")]
    VacuousPath,
    /// Neither `one` nor `all` (3154).
    #[error("The oneOrAll argument to {function} may take these values: 'one' or 'all'.")]
    OneOrAll {
        /// The function's name.
        function: &'static str,
    },
    /// A number that does not fit the type it is cast to (3155).
    #[error("Out of range JSON value for CAST to {target} from column {column} at row {row}")]
    OutOfRange {
        /// The type.
        target: &'static str,
        /// Where the value stood.
        column: String,
        /// The row, from 1.
        row: u64,
    },
    /// A value that has no form in the type it is cast to (3156).
    #[error("Invalid JSON value for CAST to {target} from column {column} at row {row}")]
    Cast {
        /// The type.
        target: &'static str,
        /// Where the value stood.
        column: String,
        /// The row, from 1.
        row: u64,
    },
    /// Nested deeper than [`MAX_DEPTH`](super::MAX_DEPTH) (3157).
    #[error("The JSON document exceeds the maximum depth.")]
    TooDeep,
    /// NULL as a key (3158).
    #[error("JSON documents may not contain NULL member names.")]
    NullKey,
    /// A path that does not end in an array's cell (3165).
    #[error("A path expression is not a path to a cell in an array.")]
    NotAnArrayCell,
    /// JSON_VALUE … ERROR ON EMPTY (3966).
    #[error("No value was found by '{function}' on the specified path.")]
    Missing {
        /// The function's name.
        function: &'static str,
    },
    /// JSON_VALUE … ERROR ON ERROR (3967).
    #[error("More than one value was found by '{function}' on the specified path.")]
    Several {
        /// The function's name.
        function: &'static str,
    },
}

impl JsonError {
    /// MySQL's number and SQLSTATE.
    pub fn kind(&self) -> ErrorCode {
        match self {
            Self::Text { .. } => mysql_error::ER_INVALID_JSON_TEXT,
            Self::TextInArgument { .. } => mysql_error::ER_INVALID_JSON_TEXT_IN_PARAM,
            Self::Path { .. } => mysql_error::ER_INVALID_JSON_PATH,
            Self::Charset { .. } => mysql_error::ER_INVALID_JSON_CHARSET,
            Self::ArgumentType { .. } => mysql_error::ER_INVALID_TYPE_FOR_JSON,
            Self::PathWildcard => mysql_error::ER_INVALID_JSON_PATH_WILDCARD,
            Self::TooBig => mysql_error::ER_JSON_VALUE_TOO_BIG,
            Self::KeyTooLong => mysql_error::ER_JSON_KEY_TOO_BIG,
            Self::VacuousPath => mysql_error::ER_JSON_VACUOUS_PATH,
            Self::OneOrAll { .. } => mysql_error::ER_JSON_BAD_ONE_OR_ALL_ARG,
            Self::OutOfRange { .. } => mysql_error::ER_NUMERIC_JSON_VALUE_OUT_OF_RANGE,
            Self::Cast { .. } => mysql_error::ER_INVALID_JSON_VALUE_FOR_CAST,
            Self::TooDeep => mysql_error::ER_JSON_DOCUMENT_TOO_DEEP,
            Self::NullKey => mysql_error::ER_JSON_DOCUMENT_NULL_KEY,
            Self::NotAnArrayCell => mysql_error::ER_INVALID_JSON_PATH_ARRAY_CELL,
            Self::Missing { .. } => mysql_error::ER_MISSING_JSON_VALUE,
            Self::Several { .. } => mysql_error::ER_MULTIPLE_JSON_VALUES,
        }
    }

    /// Names the column and the row of the statement (from 1) in errors that speak of a column.
    #[must_use]
    pub fn at_column(mut self, name: &str, at_row: u64) -> Self {
        match &mut self {
            Self::Text { column, .. } => name.clone_into(column),
            Self::OutOfRange { column, row, .. } | Self::Cast { column, row, .. } => {
                name.clone_into(column);
                *row = at_row;
            }
            _ => {}
        }
        self
    }

    /// Names the table before the column, where messages do.
    pub fn set_table(&mut self, table: &str) {
        if let Self::Text { column, .. } = self {
            *column = format!("{table}.{column}");
        }
    }

    /// Says that a text which is not JSON was an argument of a function; other errors stay as they are.
    #[must_use]
    pub fn in_argument(self, argument: usize, function: &'static str) -> Self {
        match self {
            Self::Text { problem, position, .. } => Self::TextInArgument { argument, function, problem, position },
            other => other,
        }
    }
}

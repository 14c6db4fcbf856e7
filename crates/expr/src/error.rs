//! Errors of building and evaluating expressions.
//!
//! Every variant carries typed fields and knows the MySQL error a client sees ([`Error::to_mysql`]). None may be
//! retried: an expression error is a fact about the statement and its data, not about the cluster.

use types::mysql_error::MysqlError;

/// The result of this crate's fallible operations.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an expression could not be built or evaluated.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A value could not be converted or computed by the type system.
    #[error("{0}")]
    Types(#[from] types::Error),
    /// JSON texts, values and paths.
    #[error("{0}")]
    Json(#[from] types::json::JsonError),
    /// An argument of a type that the function does not take (3064).
    #[error("Incorrect type for argument {argument} in function {function}.")]
    ArgumentType {
        /// Which argument, from 1.
        argument: usize,
        /// The function's name.
        function: &'static str,
    },
    /// No built-in function has this name (1305).
    #[error("FUNCTION {} does not exist", qualified(.database, .name))]
    UnknownFunction {
        /// Current database, empty if there is none.
        database: String,
        /// The name as written.
        name: String,
    },
    /// A built-in function was called with the wrong number of arguments (1582).
    #[error("Incorrect parameter count in the call to native function '{name}'")]
    WrongArity {
        /// The function's name.
        name: String,
    },
    /// A built-in function does not accept this argument (1210).
    #[error("Incorrect arguments to {name}")]
    WrongArguments {
        /// The function's name.
        name: String,
    },
    /// A numeric result does not fit its type (1690).
    #[error("{kind} value is out of range in '{expression}'")]
    OutOfRange {
        /// `BIGINT`, `BIGINT UNSIGNED`, `DECIMAL` or `DOUBLE`.
        kind: &'static str,
        /// The expression, printed.
        expression: String,
    },
    /// Division by zero in a strict data change (1365).
    #[error("Division by 0")]
    DivisionByZero,
    /// A value that the statement's mode does not accept as the type asked for (1292).
    #[error("Truncated incorrect {kind} value: '{value}'")]
    TruncatedWrongValue {
        /// Type name as MySQL prints it, such as `DOUBLE`.
        kind: &'static str,
        /// The offending text.
        value: String,
    },
    /// A string that is not a valid temporal value in a place where MySQL refuses it (1292 `Incorrect datetime value`).
    #[error("Incorrect {kind} value: '{value}'")]
    IncorrectValue {
        /// Type name as MySQL prints it, such as `datetime`.
        kind: &'static str,
        /// The offending text.
        value: String,
    },
    /// A constant compared with a temporal column is no such value (1525).
    #[error("Incorrect {kind} value: '{value}'")]
    WrongTemporalConstant {
        /// `DATE`, `DATETIME` or `TIME`.
        kind: &'static str,
        /// The offending text.
        value: String,
    },
    /// Two collations that cannot be reconciled (1267).
    #[error(
        "Illegal mix of collations ({left_collation},{left_coercibility}) and ({right_collation},{right_coercibility}) for operation '{operation}'"
    )]
    IllegalMixOf2 {
        /// First operand's collation.
        left_collation: &'static str,
        /// First operand's coercibility.
        left_coercibility: &'static str,
        /// Second operand's collation.
        right_collation: &'static str,
        /// Second operand's coercibility.
        right_coercibility: &'static str,
        /// The operation's name.
        operation: String,
    },
    /// More than two collations that cannot be reconciled (1271).
    #[error("Illegal mix of collations for operation '{operation}'")]
    IllegalMix {
        /// The operation's name.
        operation: String,
    },
    /// A collation was asked for that does not belong to the string's character set (1253).
    #[error("COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'")]
    CollationCharsetMismatch {
        /// The collation named.
        collation: String,
        /// The string's character set.
        charset: String,
    },
    /// No collation of this name (1273).
    #[error("Unknown collation: '{name}'")]
    UnknownCollation {
        /// The name as written.
        name: String,
    },
    /// No character set of this name (1115).
    #[error("Unknown character set: '{name}'")]
    UnknownCharset {
        /// The name as written.
        name: String,
    },
    /// A row operand has the wrong number of columns (1241).
    #[error("Operand should contain {expected} column(s)")]
    OperandColumns {
        /// Columns expected.
        expected: usize,
    },
    /// A regular expression that cannot be compiled (3685).
    #[error("Illegal argument to a regular expression.")]
    RegexpIllegalArgument,
    /// A regular expression with a syntax error (3692 and neighbours).
    #[error("{message}")]
    RegexpSyntax {
        /// MySQL error number.
        code: u16,
        /// MySQL's text for it.
        message: String,
    },
    /// A value that a function refuses (1411).
    #[error("Incorrect {kind} value: '{value}' for function {function}")]
    BadFunctionValue {
        /// Type name as MySQL prints it.
        kind: &'static str,
        /// The offending value.
        value: String,
        /// The function's name.
        function: &'static str,
    },
    /// A JSON argument that must be an object (3853).
    #[error("Invalid JSON type in argument {argument} to function {function}; an object is required.")]
    JsonObjectRequired {
        /// Which argument, from 1.
        argument: usize,
        /// The function's name.
        function: &'static str,
    },
    /// A name that no lock can have (3057).
    #[error("Incorrect user-level lock name '{name}'.")]
    WrongLockName {
        /// The name.
        name: String,
    },
    /// Sessions would wait for each other's locks by name forever (3058).
    #[error(
        "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and restarting lock acquisition."
    )]
    UserLockDeadlock,
    /// An initialization vector of fewer than 16 bytes (1882).
    #[error("The initialization vector supplied to {function} is too short. Must be at least 16 bytes long")]
    ShortInitializationVector {
        /// The function's name.
        function: &'static str,
    },
    /// Bit operators on binary strings of different lengths (3513).
    #[error("Binary operands of bitwise operators must be of equal length")]
    BitStringLengths,
    /// Start position of a regular expression function beyond the subject (3686).
    #[error("Index out of bounds in regular expression search.")]
    RegexpIndexOutOfBounds,
    /// A set aggregate in a place where it has no meaning (1111).
    #[error("Invalid use of group function")]
    InvalidGroupFunction,
    /// A DECIMAL/CHAR target of CAST is too wide (1426, 1425).
    #[error("{message}")]
    BadCastTarget {
        /// MySQL error number.
        code: u16,
        /// MySQL's text for it.
        message: String,
    },
    /// A result would exceed `max_allowed_packet`.
    #[error("Result of {function}() was larger than max_allowed_packet ({limit_bytes}) - truncated")]
    ResultTooLarge {
        /// The function's name.
        function: &'static str,
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// The offset of a window's frame cannot be one (3586).
    #[error("Window '{window}': frame start or end is negative, NULL or of non-integral type")]
    FrameBound {
        /// The window's name.
        window: String,
    },
    /// The statement was interrupted while evaluating (1317).
    #[error("Query execution was interrupted")]
    Interrupted,
    /// Something MySQL has and this server does not yet (1235).
    #[error("This version of MySQL doesn't yet support '{feature}'")]
    NotSupported {
        /// The feature's name.
        feature: String,
    },
    /// An expression refers to a parameter that the execution did not bind (1210).
    #[error("Incorrect arguments to EXECUTE")]
    MissingParameter {
        /// The parameter's number, from zero.
        index: usize,
    },
}

fn qualified(database: &str, name: &str) -> String {
    if database.is_empty() { name.to_owned() } else { format!("{database}.{name}") }
}

impl Error {
    /// The MySQL error number.
    pub fn code(&self) -> u16 {
        match self {
            Error::Types(e) => e.code(),
            Error::Json(e) => e.kind().code,
            Error::ArgumentType { .. } => 3064,
            Error::UnknownFunction { .. } => 1305,
            Error::WrongArity { .. } => 1582,
            Error::WrongArguments { .. } | Error::MissingParameter { .. } => 1210,
            Error::OutOfRange { .. } => 1690,
            Error::DivisionByZero => 1365,
            Error::TruncatedWrongValue { .. } | Error::IncorrectValue { .. } => 1292,
            Error::WrongTemporalConstant { .. } => 1525,
            Error::IllegalMixOf2 { .. } => 1267,
            Error::IllegalMix { .. } => 1271,
            Error::CollationCharsetMismatch { .. } => 1253,
            Error::UnknownCollation { .. } => 1273,
            Error::UnknownCharset { .. } => 1115,
            Error::OperandColumns { .. } => 1241,
            Error::RegexpIllegalArgument => 3685,
            Error::RegexpIndexOutOfBounds => 3686,
            Error::RegexpSyntax { code, .. } | Error::BadCastTarget { code, .. } => *code,
            Error::BadFunctionValue { .. } => 1411,
            Error::BitStringLengths => 3513,
            Error::JsonObjectRequired { .. } => 3853,
            Error::WrongLockName { .. } => 3057,
            Error::UserLockDeadlock => 3058,
            Error::ShortInitializationVector { .. } => 1882,
            Error::InvalidGroupFunction => 1111,
            Error::ResultTooLarge { .. } => 1301,
            Error::FrameBound { .. } => 3586,
            Error::Interrupted => 1317,
            Error::NotSupported { .. } => 1235,
        }
    }

    /// The SQLSTATE that belongs to [`code`](Self::code).
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Error::Types(e) => e.sqlstate(),
            Error::Json(e) => e.kind().sqlstate,
            Error::UnknownFunction { .. }
            | Error::WrongArity { .. }
            | Error::CollationCharsetMismatch { .. }
            | Error::NotSupported { .. } => "42000",
            Error::UnknownCharset { .. } | Error::BadCastTarget { .. } => "42000",
            Error::OutOfRange { .. } => "22003",
            Error::DivisionByZero => "22012",
            Error::TruncatedWrongValue { .. } | Error::IncorrectValue { .. } => "22007",
            Error::OperandColumns { .. } => "21000",
            Error::Interrupted => "70100",
            Error::WrongLockName { .. } => "42000",
            Error::JsonObjectRequired { .. } => "22032",
            Error::WrongArguments { .. }
            | Error::UserLockDeadlock
            | Error::ShortInitializationVector { .. }
            | Error::ArgumentType { .. }
            | Error::MissingParameter { .. }
            | Error::WrongTemporalConstant { .. }
            | Error::IllegalMixOf2 { .. }
            | Error::IllegalMix { .. }
            | Error::UnknownCollation { .. }
            | Error::RegexpIllegalArgument
            | Error::RegexpIndexOutOfBounds
            | Error::RegexpSyntax { .. }
            | Error::BadFunctionValue { .. }
            | Error::BitStringLengths
            | Error::InvalidGroupFunction
            | Error::FrameBound { .. }
            | Error::ResultTooLarge { .. } => "HY000",
        }
    }

    /// The error as a client sees it.
    pub fn to_mysql(&self) -> MysqlError {
        MysqlError { code: self.code(), sqlstate: self.sqlstate(), message: self.to_string() }
    }
}

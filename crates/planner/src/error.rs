//! Why a statement cannot be planned, with the MySQL error a client sees.
//!
//! No variant may be retried: each is a fact about the statement and the schema it was planned against.

use std::fmt;

use types::mysql_error::MysqlError;

/// The result of this crate's fallible operations.
pub type Result<T> = std::result::Result<T, Error>;

/// The clause a name was looked up in, as MySQL names it in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Clause {
    FieldList,
    From,
    Where,
    On,
    GroupBy,
    Having,
    OrderBy,
    WindowPartitionBy,
    WindowOrderBy,
    WindowFrame,
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FieldList => "field list",
            Self::From => "from clause",
            Self::Where => "where clause",
            Self::On => "on clause",
            Self::GroupBy => "group statement",
            Self::Having => "having clause",
            Self::OrderBy => "order clause",
            Self::WindowPartitionBy => "window partition by",
            Self::WindowOrderBy => "window order by",
            Self::WindowFrame => "window frame",
        })
    }
}

/// Why a statement cannot be planned.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// An expression cannot be built.
    #[error(transparent)]
    Expr(#[from] expr::Error),
    /// A value cannot be converted.
    #[error(transparent)]
    Types(#[from] types::Error),
    /// An error that is already in MySQL's form (a system variable that cannot be read).
    #[error("{}", .0.message)]
    Mysql(MysqlError),
    /// 1054.
    #[error("Unknown column '{name}' in '{clause}'")]
    UnknownColumn {
        /// The name as written.
        name: String,
        /// Where.
        clause: Clause,
    },
    /// 1052.
    #[error("Column '{name}' in {clause} is ambiguous")]
    AmbiguousColumn {
        /// The name as written.
        name: String,
        /// Where.
        clause: Clause,
    },
    /// 1146.
    #[error("Table '{database}.{table}' doesn't exist")]
    NoSuchTable {
        /// Its database.
        database: String,
        /// Its name.
        table: String,
    },
    /// 1049.
    #[error("Unknown database '{database}'")]
    UnknownDatabase {
        /// The name.
        database: String,
    },
    /// 1046.
    #[error("No database selected")]
    NoDatabase,
    /// 1051, of `t.*`.
    #[error("Unknown table '{table}'")]
    UnknownTable {
        /// The name as written.
        table: String,
    },
    /// 1109, of the target list of a multi-table DELETE.
    #[error("Unknown table '{table}' in MULTI DELETE")]
    UnknownDeleteTarget {
        /// The name as written.
        table: String,
    },
    /// 1066.
    #[error("Not unique table/alias: '{alias}'")]
    DuplicateAlias {
        /// The alias.
        alias: String,
    },
    /// 1060, of a derived table's columns.
    #[error("Duplicate column name '{name}'")]
    DuplicateColumnName {
        /// The name.
        name: String,
    },
    /// 1248.
    #[error("Every derived table must have its own alias")]
    DerivedTableWithoutAlias,
    /// 1353.
    #[error(
        "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts"
    )]
    ColumnListMismatch,
    /// 1096.
    #[error("No tables used")]
    NoTablesUsed,
    /// 1055, or 1140 without GROUP BY.
    #[error(
        "Expression #{position} of {list} is not in GROUP BY clause and contains nonaggregated column '{column}' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by"
    )]
    NotInGroupBy {
        /// 1-based position.
        position: usize,
        /// `SELECT list`, `ORDER BY clause`, …
        list: String,
        /// The column, qualified.
        column: String,
    },
    /// 1140.
    #[error(
        "In aggregated query without GROUP BY, expression #{position} of {list} contains nonaggregated column '{column}'; this is incompatible with sql_mode=only_full_group_by"
    )]
    MixOfGroupColumns {
        /// 1-based position.
        position: usize,
        /// `SELECT list`, …
        list: String,
        /// The column, qualified.
        column: String,
    },
    /// 3065.
    #[error(
        "Expression #{position} of ORDER BY clause is not in SELECT list, references column '{column}' which is not in SELECT list; this is incompatible with DISTINCT"
    )]
    OrderByNotInDistinctList {
        /// 1-based position.
        position: usize,
        /// The column, qualified.
        column: String,
    },
    /// 1250.
    #[error("Table '{table}' from one of the SELECTs cannot be used in global ORDER clause")]
    TableInGlobalOrder {
        /// The table as written.
        table: String,
    },
    /// 1111.
    #[error("Invalid use of group function")]
    InvalidGroupFunction,
    /// 3602.
    #[error("Argument #{position} of GROUPING function is not in GROUP BY")]
    GroupingArgument {
        /// 1-based position.
        position: usize,
    },
    /// 3601.
    #[error("For {function}, number of arguments should be less than or equal to {most}")]
    TooManyArguments {
        /// The function.
        function: &'static str,
        /// How many it takes.
        most: usize,
    },
    /// 3579.
    #[error("Window name '{name}' is not defined.")]
    NoSuchWindow {
        /// The name as written.
        name: String,
    },
    /// 3580.
    #[error("There is a circularity in the window dependency graph.")]
    WindowCircularity,
    /// 3591.
    #[error("Window '{name}' is defined twice.")]
    DuplicateWindow {
        /// The name as written.
        name: String,
    },
    /// 3581.
    #[error("A window which depends on another cannot define partitioning.")]
    DependentWindowPartitions,
    /// 3583.
    #[error("Window '{window}' cannot inherit '{base}' since both contain an ORDER BY clause.")]
    WindowOrderTwice {
        /// The window.
        window: String,
        /// The one it refines.
        base: String,
    },
    /// An error of one window's definition: 3582, 3584, 3585, 3587 to 3590, 3592, 3595, 3596.
    #[error("{}", .what.message(.window))]
    WindowDefinition {
        /// The window's name.
        window: String,
        /// What is wrong.
        what: WindowFault,
    },
    /// 3593.
    #[error("You cannot use the window function '{function}' in this context.'")]
    MisplacedWindowFunction {
        /// The function, in lower case.
        function: &'static str,
    },
    /// 3594.
    #[error("You cannot use the alias '{alias}' of an expression containing a window function in this context.'")]
    MisplacedWindowAlias {
        /// The alias as written.
        alias: String,
    },
    /// 1056.
    #[error("Can't group on '{name}'")]
    CannotGroupOn {
        /// The alias.
        name: String,
    },
    /// 1247.
    #[error("Reference '{name}' not supported ({reason})")]
    IllegalReference {
        /// The alias.
        name: String,
        /// Why.
        reason: &'static str,
    },
    /// 1241.
    #[error("Operand should contain {expected} column(s)")]
    OperandColumns {
        /// How many.
        expected: usize,
    },
    /// 1222.
    #[error("The used SELECT statements have a different number of columns")]
    DifferentColumnCounts,
    /// 1136.
    #[error("Column count doesn't match value count at row {row}")]
    ValueCount {
        /// 1-based row.
        row: usize,
    },
    /// 1110.
    #[error("Column '{name}' specified twice")]
    ColumnTwice {
        /// The column.
        name: String,
    },
    /// 1364.
    #[error("Field '{name}' doesn't have a default value")]
    NoDefault {
        /// The column.
        name: String,
    },
    /// 3105.
    #[error("The value specified for generated column '{column}' in table '{table}' is not allowed.")]
    GeneratedColumnValue {
        /// The column.
        column: String,
        /// The table.
        table: String,
    },
    /// 1176.
    #[error("Key '{index}' doesn't exist in table '{table}'")]
    UnknownIndex {
        /// The index as written.
        index: String,
        /// The table's alias.
        table: String,
    },
    /// 1288.
    #[error("The target table {table} of the {operation} is not updatable")]
    NotUpdatable {
        /// The table as written.
        table: String,
        /// `UPDATE`, `DELETE` or `INSERT`.
        operation: &'static str,
    },
    /// 1103.
    #[error("Incorrect table name ''")]
    EmptyTableName,
    /// 3954.
    #[error("Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.")]
    MisplacedInto,
    /// 1093.
    #[error("You can't specify target table '{table}' for update in FROM clause")]
    TargetIsRead {
        /// The table as the statement calls it.
        table: String,
    },
    /// 1706.
    #[error("Primary key/partition key update is not allowed since the table is updated both as '{first}' and '{second}'.")]
    KeyOfTwiceChangedTable {
        /// The one alias.
        first: String,
        /// The other.
        second: String,
    },
    /// 1221.
    #[error("Incorrect usage of {first} and {second}")]
    WrongUsage {
        /// One construct.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// 3568, of `FOR UPDATE OF`.
    #[error("Unresolved table name '{table}' in locking clause.")]
    UnresolvedLockTable {
        /// The name as written.
        table: String,
    },
    /// 1193.
    #[error("Unknown system variable '{name}'")]
    UnknownSystemVariable {
        /// The name.
        name: String,
    },
    /// 1273.
    #[error("Unknown collation: '{name}'")]
    UnknownCollation {
        /// The name.
        name: String,
    },
    /// 1115.
    #[error("Unknown character set: '{name}'")]
    UnknownCharset {
        /// The name.
        name: String,
    },
    /// 1235.
    #[error("This version of MySQL doesn't yet support '{feature}'")]
    Unsupported {
        /// What.
        feature: String,
    },
}

/// What is wrong with a window's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFault {
    /// It has a frame, and another window refines it.
    RefinedFrame,
    /// The frame begins with the partition's end.
    FrameStart,
    /// The frame ends with the partition's begin.
    FrameEnd,
    /// RANGE with an offset, without one order key that has distances.
    RangeOrder,
    /// RANGE with a number, by a date or time.
    RangeNumber,
    /// RANGE with an interval, by a number.
    RangeInterval,
    /// An offset that depends on rows.
    VariableBound,
    /// A number instead of an expression in PARTITION BY or ORDER BY.
    Position,
    /// A window function in the definition.
    Nested,
    /// ROWS with an interval.
    RowsInterval,
}

impl WindowFault {
    fn code(self) -> u16 {
        match self {
            Self::RefinedFrame => 3582,
            Self::FrameStart => 3584,
            Self::FrameEnd => 3585,
            Self::RangeOrder => 3587,
            Self::RangeNumber => 3588,
            Self::RangeInterval => 3589,
            Self::VariableBound => 3590,
            Self::Position => 3592,
            Self::Nested => 3595,
            Self::RowsInterval => 3596,
        }
    }

    fn message(self, window: &str) -> String {
        match self {
            Self::RefinedFrame => format!("Window '{window}' has a frame definition, so cannot be referenced by another window."),
            Self::FrameStart => format!("Window '{window}': frame start cannot be UNBOUNDED FOLLOWING."),
            Self::FrameEnd => format!("Window '{window}': frame end cannot be UNBOUNDED PRECEDING."),
            Self::RangeOrder => format!(
                "Window '{window}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal type"
            ),
            Self::RangeNumber => {
                format!("Window '{window}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.")
            }
            Self::RangeInterval => {
                format!("Window '{window}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.")
            }
            Self::VariableBound => format!("Window '{window}' has a non-constant frame bound."),
            Self::Position => format!(
                "Window '{window}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression."
            ),
            Self::Nested => format!("You cannot nest a window function in the specification of window '{window}'."),
            Self::RowsInterval => format!("Window '{window}': INTERVAL can only be used with RANGE frames."),
        }
    }
}

impl Error {
    /// Error 1235 naming `feature`.
    pub(crate) fn unsupported(feature: impl Into<String>) -> Self {
        Self::Unsupported { feature: feature.into() }
    }

    /// What the client sees.
    pub fn to_mysql(&self) -> MysqlError {
        let (code, sqlstate) = match self {
            Self::Expr(error) => return error.to_mysql(),
            Self::Types(error) => return error.to_mysql(),
            Self::Mysql(error) => return error.clone(),
            Self::UnknownColumn { .. } => (1054, "42S22"),
            Self::AmbiguousColumn { .. } => (1052, "23000"),
            Self::NoSuchTable { .. } => (1146, "42S02"),
            Self::UnknownDatabase { .. } => (1049, "42000"),
            Self::NoDatabase => (1046, "3D000"),
            Self::UnknownTable { .. } => (1051, "42S02"),
            Self::UnknownDeleteTarget { .. } => (1109, "42S02"),
            Self::DuplicateAlias { .. } => (1066, "42000"),
            Self::DuplicateColumnName { .. } => (1060, "42S21"),
            Self::DerivedTableWithoutAlias => (1248, "42000"),
            Self::ColumnListMismatch => (1353, "HY000"),
            Self::NoTablesUsed => (1096, "HY000"),
            Self::NotInGroupBy { .. } => (1055, "42000"),
            Self::MixOfGroupColumns { .. } => (1140, "42000"),
            Self::OrderByNotInDistinctList { .. } => (3065, "HY000"),
            Self::TableInGlobalOrder { .. } => (1250, "42000"),
            Self::InvalidGroupFunction => (1111, "HY000"),
            Self::CannotGroupOn { .. } => (1056, "42000"),
            Self::GroupingArgument { .. } => (3602, "HY000"),
            Self::NoSuchWindow { .. } => (3579, "HY000"),
            Self::WindowCircularity => (3580, "HY000"),
            Self::DuplicateWindow { .. } => (3591, "HY000"),
            Self::DependentWindowPartitions => (3581, "HY000"),
            Self::WindowOrderTwice { .. } => (3583, "HY000"),
            Self::WindowDefinition { what, .. } => (what.code(), "HY000"),
            Self::MisplacedWindowFunction { .. } => (3593, "HY000"),
            Self::MisplacedWindowAlias { .. } => (3594, "HY000"),
            Self::TooManyArguments { .. } => (3601, "HY000"),
            Self::IllegalReference { .. } => (1247, "42S22"),
            Self::OperandColumns { .. } => (1241, "21000"),
            Self::DifferentColumnCounts => (1222, "21000"),
            Self::ValueCount { .. } => (1136, "21S01"),
            Self::ColumnTwice { .. } => (1110, "42000"),
            Self::NoDefault { .. } => (1364, "HY000"),
            Self::GeneratedColumnValue { .. } => (3105, "HY000"),
            Self::UnknownIndex { .. } => (1176, "42000"),
            Self::NotUpdatable { .. } => (1288, "HY000"),
            Self::EmptyTableName => (1103, "42000"),
            Self::MisplacedInto => (3954, "HY000"),
            Self::TargetIsRead { .. } => (1093, "HY000"),
            Self::KeyOfTwiceChangedTable { .. } => (1706, "HY000"),
            Self::WrongUsage { .. } => (1221, "HY000"),
            Self::UnresolvedLockTable { .. } => (3568, "HY000"),
            Self::UnknownSystemVariable { .. } => (1193, "HY000"),
            Self::UnknownCollation { .. } => (1273, "HY000"),
            Self::UnknownCharset { .. } => (1115, "42000"),
            Self::Unsupported { .. } => (1235, "42000"),
        };
        MysqlError { code, sqlstate, message: self.to_string() }
    }
}

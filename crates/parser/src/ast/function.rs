//! Calls of functions: plain ones, aggregates, window functions, and those with syntax of their own.

use super::{ColumnRef, Expr, Ident, OrderItem, TypeName, WindowSpec};

/// A call of a function by name.
///
/// Functions with special syntax and no node of their own come here under the name of their plain form: `POSITION(a IN b)` is
/// `locate(a, b)`, `SUBSTRING(x FROM a FOR b)` is `substring(x, a, b)`, `CURRENT_TIMESTAMP` is `now()`, `CURRENT_DATE` is
/// `curdate()`, `CURRENT_TIME` is `curtime()`, `LOCALTIME` is `now()`, `CURRENT_USER` is `current_user()`, `a || b` under
/// PIPES_AS_CONCAT is `concat(a, b)`; `MOD(a, b)` is the operator `a % b`.
#[derive(Clone, Debug)]
pub struct FuncCall {
    /// The database, for stored functions.
    pub schema: Option<Ident>,
    /// The name, as written; letter case makes no other function.
    pub name: Ident,
    /// The arguments.
    pub args: Vec<Expr>,
}

impl PartialEq for FuncCall {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema && self.name.eq_ignore_ascii_case(&other.name) && self.args == other.args
    }
}

/// The aggregate functions of MySQL 8.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum AggregateFunc {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    StdPop,
    StdSamp,
    VarPop,
    VarSamp,
    GroupConcat,
    JsonArrayAgg,
    JsonObjectAgg,
    AnyValue,
    ApproxCountDistinct,
}

impl AggregateFunc {
    /// The lower-case name MySQL prints.
    pub fn name(self) -> &'static str {
        use AggregateFunc::*;
        match self {
            Count => "count",
            Sum => "sum",
            Avg => "avg",
            Min => "min",
            Max => "max",
            BitAnd => "bit_and",
            BitOr => "bit_or",
            BitXor => "bit_xor",
            StdPop => "std",
            StdSamp => "stddev_samp",
            VarPop => "variance",
            VarSamp => "var_samp",
            GroupConcat => "group_concat",
            JsonArrayAgg => "json_arrayagg",
            JsonObjectAgg => "json_objectagg",
            AnyValue => "any_value",
            ApproxCountDistinct => "approx_count_distinct",
        }
    }
}

/// A call of an aggregate function.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    /// The function.
    pub func: AggregateFunc,
    /// `DISTINCT` was written.
    pub distinct: bool,
    /// The arguments; empty for `COUNT(*)`.
    pub args: Vec<Expr>,
    /// ORDER BY of GROUP_CONCAT.
    pub order_by: Vec<OrderItem>,
    /// SEPARATOR of GROUP_CONCAT; `None` is `,`.
    pub separator: Option<Box<[u8]>>,
    /// `OVER …`: a window function.
    pub over: Option<Over>,
}

/// The functions that are only window functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum WindowFunc {
    RowNumber,
    Rank,
    DenseRank,
    CumeDist,
    PercentRank,
    Ntile,
    Lead,
    Lag,
    FirstValue,
    LastValue,
    NthValue,
}

impl WindowFunc {
    /// The lower-case name MySQL prints.
    pub fn name(self) -> &'static str {
        use WindowFunc::*;
        match self {
            RowNumber => "row_number",
            Rank => "rank",
            DenseRank => "dense_rank",
            CumeDist => "cume_dist",
            PercentRank => "percent_rank",
            Ntile => "ntile",
            Lead => "lead",
            Lag => "lag",
            FirstValue => "first_value",
            LastValue => "last_value",
            NthValue => "nth_value",
        }
    }
}

/// A call of a window function.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// The function.
    pub func: WindowFunc,
    /// The arguments.
    pub args: Vec<Expr>,
    /// `FROM LAST` of NTH_VALUE, which MySQL parses and refuses.
    pub from_last: bool,
    /// `IGNORE NULLS`, which MySQL parses and refuses.
    pub ignore_nulls: bool,
    /// The window.
    pub over: Over,
}

/// `OVER name` or `OVER (…)`.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// A window of the WINDOW clause.
    Named(Ident),
    /// One given in place.
    Spec(WindowSpec),
}

/// `CAST`.
#[derive(Clone, Debug, PartialEq)]
pub struct CastExpr {
    /// The operand.
    pub expr: Expr,
    /// The target.
    pub target: CastType,
    /// `CAST(… AS … ARRAY)`, for multi-valued indexes.
    pub array: bool,
    /// Written as `BINARY x`.
    pub binary_operator: bool,
}

/// The types CAST knows.
#[derive(Clone, Debug, PartialEq)]
pub enum CastType {
    /// `SIGNED [INTEGER]`.
    Signed,
    /// `UNSIGNED [INTEGER]`.
    Unsigned,
    /// `CHAR[(n)] [CHARACTER SET c]`, `NCHAR[(n)]`.
    Char {
        /// Length in characters.
        length: Option<u64>,
        /// The character set; `utf8mb3` for NCHAR.
        charset: Option<Ident>,
    },
    /// `BINARY[(n)]`, length in bytes.
    Binary(Option<u64>),
    /// `DATE`.
    Date,
    /// `TIME[(fsp)]`.
    Time(u8),
    /// `DATETIME[(fsp)]`.
    DateTime(u8),
    /// `YEAR`.
    Year,
    /// `DECIMAL[(m[, d])]`; (10, 0) by default.
    Decimal(u8, u8),
    /// `FLOAT[(p)]`.
    Float,
    /// `DOUBLE`, `REAL` and `FLOAT(p)` with p over 24.
    Double,
    /// `JSON`.
    Json,
    /// A spatial type.
    Spatial(TypeName),
}

/// Units of INTERVAL and EXTRACT. `SQL_TSI_x` is `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    /// The name as MySQL writes it, such as `day_second`.
    pub fn name(self) -> &'static str {
        use IntervalUnit::*;
        match self {
            Microsecond => "microsecond",
            Second => "second",
            Minute => "minute",
            Hour => "hour",
            Day => "day",
            Week => "week",
            Month => "month",
            Quarter => "quarter",
            Year => "year",
            SecondMicrosecond => "second_microsecond",
            MinuteMicrosecond => "minute_microsecond",
            MinuteSecond => "minute_second",
            HourMicrosecond => "hour_microsecond",
            HourSecond => "hour_second",
            HourMinute => "hour_minute",
            DayMicrosecond => "day_microsecond",
            DaySecond => "day_second",
            DayMinute => "day_minute",
            DayHour => "day_hour",
            YearMonth => "year_month",
        }
    }
}

/// A date plus or minus an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct DateArith {
    /// The date or time.
    pub date: Expr,
    /// Minus rather than plus.
    pub subtract: bool,
    /// How many units.
    pub amount: Expr,
    /// The unit.
    pub unit: IntervalUnit,
}

/// Which side `TRIM` works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// The temporal types that have literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TemporalKind {
    Date,
    Time,
    /// `TIMESTAMP'…'`, whose type is DATETIME; `DATETIME` in GET_FORMAT.
    Timestamp,
}

/// `MATCH … AGAINST`.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchAgainst {
    /// The columns.
    pub columns: Vec<ColumnRef>,
    /// The search text.
    pub against: Expr,
    /// `IN BOOLEAN MODE`.
    pub boolean_mode: bool,
    /// `WITH QUERY EXPANSION`.
    pub query_expansion: bool,
}

/// `JSON_VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonValueExpr {
    /// The document.
    pub doc: Expr,
    /// The path.
    pub path: Expr,
    /// RETURNING.
    pub returning: Option<CastType>,
    /// ON EMPTY.
    pub on_empty: Option<JsonOnResponse>,
    /// ON ERROR.
    pub on_error: Option<JsonOnResponse>,
}

/// What JSON_VALUE and JSON_TABLE answer on an empty or wrong value.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonOnResponse {
    /// `NULL ON …`.
    Null,
    /// `ERROR ON …`.
    Error,
    /// `DEFAULT x ON …`.
    Default(Expr),
}

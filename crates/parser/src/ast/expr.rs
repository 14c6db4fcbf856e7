//! Expressions.

use super::{ColumnRef, Ident, Literal, LiteralId, OrderItem, Query, TypeName, VarScope, WindowSpec};

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A literal with its ordinal in the statement.
    Literal(Literal, LiteralId),
    /// The n-th `?`, from 0.
    Param(u32),
    /// A column (or, where the grammar has them, an alias).
    Column(ColumnRef),
    /// `@name`; the name is in lower case.
    UserVar(Ident),
    /// `@name := value`.
    AssignUserVar {
        /// The variable, in lower case.
        name: Ident,
        /// What it is set to.
        value: Box<Expr>,
    },
    /// `@@[scope.]name`.
    SystemVar {
        /// The scope, when written.
        scope: Option<VarScope>,
        /// The name in lower case, `component.name` for a structured one.
        name: Ident,
    },
    /// `op x`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        expr: Box<Expr>,
    },
    /// `x op y`.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `x op ANY (query)`, `x op ALL (query)`; `SOME` is `ANY`.
    Quantified {
        /// A comparison other than `<=>`.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// `ALL` rather than `ANY`.
        all: bool,
        /// The subquery.
        query: Box<Query>,
    },
    /// `x IS [NOT] NULL | TRUE | FALSE | UNKNOWN`.
    Is {
        /// The operand.
        expr: Box<Expr>,
        /// What it is tested for.
        test: IsTest,
        /// `NOT` was written.
        negated: bool,
    },
    /// `x [NOT] BETWEEN low AND high`.
    Between {
        /// The operand.
        expr: Box<Expr>,
        /// Lower bound, inclusive.
        low: Box<Expr>,
        /// Upper bound, inclusive.
        high: Box<Expr>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `x [NOT] IN (a, b, …)`.
    InList {
        /// The operand.
        expr: Box<Expr>,
        /// The values, at least one.
        list: Vec<Expr>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `x [NOT] IN (query)`.
    InSubquery {
        /// The operand.
        expr: Box<Expr>,
        /// The subquery.
        query: Box<Query>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `x [NOT] LIKE pattern [ESCAPE c]`.
    Like {
        /// The operand.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape character, when written.
        escape: Option<Box<Expr>>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `x [NOT] REGEXP pattern`, `RLIKE`.
    Regexp {
        /// The operand.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `EXISTS (query)`.
    Exists(Box<Query>),
    /// `(query)` as a value or row.
    Subquery(Box<Query>),
    /// `(a, b, …)` and `ROW(a, b, …)`, at least two values.
    Row(Vec<Expr>),
    /// `CASE [operand] WHEN … THEN … [ELSE …] END`.
    Case(Box<CaseExpr>),
    /// A call of a function without special syntax.
    Func(Box<FuncCall>),
    /// An aggregate, `COUNT`, `SUM` …; with `over` a window function.
    Aggregate(Box<AggregateCall>),
    /// A function that is only a window function, `ROW_NUMBER() OVER …`.
    Window(Box<WindowCall>),
    /// `CAST(x AS type)` and `CONVERT(x, type)`; `BINARY x` is a cast to `BINARY`.
    Cast(Box<CastExpr>),
    /// `CONVERT(x USING charset)`.
    ConvertUsing {
        /// The operand.
        expr: Box<Expr>,
        /// The character set's name; `binary` for `BINARY`.
        charset: Ident,
    },
    /// `x COLLATE collation`.
    Collate {
        /// The operand.
        expr: Box<Expr>,
        /// The collation's name.
        collation: Ident,
    },
    /// `EXTRACT(unit FROM x)`.
    Extract {
        /// What is extracted.
        unit: IntervalUnit,
        /// The date or time.
        expr: Box<Expr>,
    },
    /// `DATE_ADD(x, INTERVAL n unit)`, `ADDDATE`, `DATE_SUB`, `SUBDATE`, `x + INTERVAL n unit`, `x - INTERVAL n unit`.
    DateArith(Box<DateArith>),
    /// `TIMESTAMPADD(unit, n, x)`.
    TimestampAdd {
        /// The unit.
        unit: IntervalUnit,
        /// How many.
        amount: Box<Expr>,
        /// The date or time.
        expr: Box<Expr>,
    },
    /// `TIMESTAMPDIFF(unit, from, to)`.
    TimestampDiff {
        /// The unit of the result.
        unit: IntervalUnit,
        /// The first argument.
        from: Box<Expr>,
        /// The second argument.
        to: Box<Expr>,
    },
    /// `TRIM([BOTH | LEADING | TRAILING] [remove] FROM x)`.
    Trim {
        /// Which side.
        side: TrimSide,
        /// What is removed; blanks when left out.
        remove: Option<Box<Expr>>,
        /// The operand.
        expr: Box<Expr>,
    },
    /// `CHAR(n, … USING charset)`; without `USING` the result is binary.
    Char {
        /// Code values.
        args: Vec<Expr>,
        /// The character set of the result.
        charset: Option<Ident>,
    },
    /// `WEIGHT_STRING(x [AS {CHAR | BINARY}(n)])`.
    WeightString {
        /// The operand.
        expr: Box<Expr>,
        /// `AS BINARY(n)` rather than `AS CHAR(n)`, and n.
        pad: Option<(bool, u64)>,
    },
    /// `GET_FORMAT(DATE | TIME | DATETIME, x)`.
    GetFormat {
        /// Which format.
        kind: TemporalKind,
        /// The region's name.
        expr: Box<Expr>,
    },
    /// `DATE'…'`, `TIME'…'`, `TIMESTAMP'…'`; also the ODBC form `{d '…'}`.
    TemporalLiteral {
        /// Which type.
        kind: TemporalKind,
        /// The text between the quotes.
        text: Box<str>,
        /// The ordinal of the string.
        id: LiteralId,
    },
    /// `MATCH (columns) AGAINST (x mode)`.
    MatchAgainst(Box<MatchAgainst>),
    /// `DEFAULT` as a value in INSERT and UPDATE, or `DEFAULT(column)`.
    Default(Option<ColumnRef>),
    /// `VALUES(column)` in ON DUPLICATE KEY UPDATE.
    Values(ColumnRef),
    /// `JSON_VALUE(doc, path [RETURNING type] [… ON EMPTY] [… ON ERROR])`.
    JsonValue(Box<JsonValueExpr>),
}

impl Expr {
    /// `NULL`.
    pub fn null() -> Expr {
        Expr::Literal(Literal::Null, LiteralId::NONE)
    }

    /// `left op right`.
    pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
        Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
    }

    /// A call of a plain function.
    pub fn func(name: impl Into<Ident>, args: Vec<Expr>) -> Expr {
        Expr::Func(Box::new(FuncCall { schema: None, name: name.into(), args }))
    }
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`.
    Neg,
    /// `+x`, which MySQL drops; kept so that the restored text shows it.
    Plus,
    /// `~x`.
    BitNot,
    /// `NOT x` and `!x`.
    Not,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `OR`, and `||` without PIPES_AS_CONCAT.
    Or,
    /// `XOR`.
    Xor,
    /// `AND`, `&&`.
    And,
    /// `=`.
    Eq,
    /// `<=>`.
    NullSafeEq,
    /// `<>`, `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `|`.
    BitOr,
    /// `&`.
    BitAnd,
    /// `<<`.
    Shl,
    /// `>>`.
    Shr,
    /// `+`.
    Add,
    /// `-`.
    Sub,
    /// `*`.
    Mul,
    /// `/`.
    Div,
    /// `DIV`.
    IntDiv,
    /// `%`, `MOD`.
    Mod,
    /// `^`.
    BitXor,
    /// `SOUNDS LIKE`.
    SoundsLike,
    /// `x MEMBER OF (y)`.
    MemberOf,
    /// `column -> 'path'`.
    JsonExtract,
    /// `column ->> 'path'`.
    JsonUnquote,
}

impl BinaryOp {
    /// Whether this is `=`, `<=>`, `<>`, `<`, `<=`, `>` or `>=`.
    pub fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(self, Eq | NullSafeEq | Ne | Lt | Le | Gt | Ge)
    }
}

/// What `IS` tests for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IsTest {
    /// `IS NULL`.
    Null,
    /// `IS TRUE`.
    True,
    /// `IS FALSE`.
    False,
    /// `IS UNKNOWN`.
    Unknown,
}

/// `CASE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseExpr {
    /// The value compared with each WHEN; without it each WHEN is a condition.
    pub operand: Option<Expr>,
    /// (WHEN, THEN), at least one.
    pub whens: Vec<(Expr, Expr)>,
    /// ELSE.
    pub otherwise: Option<Expr>,
}

/// A call of a function by name.
///
/// Functions with special syntax and no node of their own come here under the name of their plain form: `POSITION(a IN b)` is
/// `locate(a, b)`, `SUBSTRING(x FROM a FOR b)` is `substring(x, a, b)`, `CURRENT_TIMESTAMP` is `now()`, `CURRENT_DATE` is
/// `curdate()`, `CURRENT_TIME` is `curtime()`, `LOCALTIME` is `now()`, `CURRENT_USER` is `current_user()`, `a || b` under
/// PIPES_AS_CONCAT is `concat(a, b)`; `MOD(a, b)` is the operator `a % b`.
#[derive(Clone, Debug, PartialEq)]
pub struct FuncCall {
    /// The database, for stored functions.
    pub schema: Option<Ident>,
    /// The name: in lower case, except behind a database.
    pub name: Ident,
    /// The arguments.
    pub args: Vec<Expr>,
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

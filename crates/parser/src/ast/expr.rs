//! Expressions.

use super::{
    AggregateCall, CastExpr, ColumnRef, DateArith, FuncCall, Ident, IntervalUnit, JsonValueExpr, Literal, LiteralId, MatchAgainst, Query,
    TemporalKind, TrimSide, VarScope, WindowCall,
};

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

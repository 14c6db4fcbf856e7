//! Queries: SELECT, VALUES, TABLE, set operations, WITH, table references.

use super::{ColumnType, Expr, FieldsFormat, Ident, JsonOnResponse, LinesFormat, Literal, SourceText, TableName};

/// A query expression with the clauses that apply to all of it.
///
/// `SELECT … ORDER BY … LIMIT …` keeps ORDER BY and LIMIT here, not in [`SelectStmt`]; in `(SELECT … LIMIT 1) UNION …` the
/// parenthesised part is a [`QueryBody::Query`] with its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// `WITH [RECURSIVE] …`.
    pub with: Option<With>,
    /// What is selected or combined.
    pub body: QueryBody,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT.
    pub limit: Option<Limit>,
    /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE.
    pub locks: Vec<LockClause>,
    /// INTO.
    pub into: Option<IntoClause>,
}

/// What a query is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    /// `SELECT …`.
    Select(Box<SelectStmt>),
    /// `a UNION b`, `a INTERSECT b`, `a EXCEPT b`.
    SetOpr(Box<SetOpr>),
    /// `VALUES ROW(…), …`.
    Values(Vec<Vec<Expr>>),
    /// `TABLE t`.
    Table(TableName),
    /// `( query )`.
    Query(Box<Query>),
}

/// A set operation.
#[derive(Clone, Debug, PartialEq)]
pub struct SetOpr {
    /// Which one.
    pub op: SetOperator,
    /// `ALL`: duplicates stay.
    pub all: bool,
    /// Left operand.
    pub left: QueryBody,
    /// Right operand.
    pub right: QueryBody,
}

/// The set operators. INTERSECT binds tighter than the other two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

/// One SELECT block.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectStmt {
    /// `/*+ … */`.
    pub hints: Vec<OptimizerHint>,
    /// DISTINCT, STRAIGHT_JOIN, SQL_… options.
    pub options: SelectOptions,
    /// The select list.
    pub items: Vec<SelectItem>,
    /// FROM: comma-separated references; empty without FROM and for FROM DUAL.
    pub from: Vec<TableRef>,
    /// `FROM DUAL` was written.
    pub dual: bool,
    /// WHERE.
    pub where_clause: Option<Expr>,
    /// GROUP BY.
    pub group_by: Vec<OrderItem>,
    /// WITH ROLLUP.
    pub rollup: bool,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW.
    pub windows: Vec<(Ident, WindowSpec)>,
}

/// The words between SELECT and the select list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SelectOptions {
    pub distinct: bool,
    pub straight_join: bool,
    pub high_priority: bool,
    pub sql_small_result: bool,
    pub sql_big_result: bool,
    pub sql_buffer_result: bool,
    pub sql_no_cache: bool,
    pub sql_calc_found_rows: bool,
}

/// One entry of the select list.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectItem {
    /// `*`.
    Wildcard,
    /// `t.*`, `db.t.*`.
    TableWildcard(TableName),
    /// `expr [AS alias]`.
    Expr {
        /// The expression.
        expr: Expr,
        /// The alias.
        alias: Option<Ident>,
        /// The expression as written: the column's name when there is no alias.
        text: SourceText,
    },
}

impl SelectItem {
    /// The name MySQL gives the result column of an expression: its alias, else the column's own name, else the value of a string
    /// literal, else `NULL`/`TRUE`/`FALSE`, else the text as written, the last two up to 256 bytes. `None` for wildcards.
    pub fn name(&self) -> Option<std::borrow::Cow<'_, str>> {
        match self {
            SelectItem::Wildcard | SelectItem::TableWildcard(_) => None,
            SelectItem::Expr { alias: Some(a), .. } => Some(a.as_str().into()),
            SelectItem::Expr { expr: Expr::Column(c), .. } => Some(c.name.as_str().into()),
            SelectItem::Expr { expr: Expr::Literal(Literal::Null, _), .. } => Some("NULL".into()),
            SelectItem::Expr { expr: Expr::Literal(Literal::Str(s), _), .. } => {
                // MySQL drops leading blanks and other unprintable characters from such a name.
                let start = s.iter().position(|b| *b > b' ').unwrap_or(s.len());
                Some(made_name(&s[start..]))
            }
            SelectItem::Expr { text, .. } => Some(made_name(text.as_bytes())),
        }
    }
}

/// A name nobody gave: MySQL keeps 256 bytes of it (`MAX_ALIAS_NAME`).
fn made_name(text: &[u8]) -> std::borrow::Cow<'_, str> {
    let mut end = text.len().min(256);
    // A character is kept whole or not at all.
    while end < text.len() && end > 0 && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    String::from_utf8_lossy(&text[..end])
}

/// Something rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum TableRef {
    /// A table, view or common table expression by name.
    Table(Box<TableFactor>),
    /// `[LATERAL] (query) AS alias [(columns)]`.
    Derived(Box<DerivedTable>),
    /// A join of two.
    Join(Box<Join>),
    /// `JSON_TABLE(…) AS alias`.
    JsonTable(Box<JsonTable>),
}

/// A named table with what can follow it in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFactor {
    /// The name.
    pub name: TableName,
    /// `PARTITION (p, …)`.
    pub partitions: Vec<Ident>,
    /// The alias.
    pub alias: Option<Ident>,
    /// `USE | FORCE | IGNORE INDEX`.
    pub index_hints: Vec<IndexHint>,
}

/// A subquery in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct DerivedTable {
    /// `LATERAL`.
    pub lateral: bool,
    /// The subquery.
    pub query: Query,
    /// The alias; MySQL demands one (error 1248), which the parser leaves to the binder.
    pub alias: Option<Ident>,
    /// Column names.
    pub columns: Vec<Ident>,
}

/// `left … JOIN right …`.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// The kind.
    pub kind: JoinKind,
    /// `NATURAL`.
    pub natural: bool,
    /// Left side.
    pub left: TableRef,
    /// Right side.
    pub right: TableRef,
    /// ON or USING.
    pub constraint: Option<JoinConstraint>,
}

/// Kinds of joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// `JOIN`, `INNER JOIN`, `CROSS JOIN`: the same thing in MySQL; also a comma inside parentheses.
    Inner,
    /// `LEFT [OUTER] JOIN`.
    Left,
    /// `RIGHT [OUTER] JOIN`.
    Right,
    /// `STRAIGHT_JOIN`.
    Straight,
}

/// ON or USING.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinConstraint {
    /// `ON expr`.
    On(Expr),
    /// `USING (columns)`.
    Using(Vec<Ident>),
}

/// `USE | FORCE | IGNORE {INDEX | KEY} [FOR …] (names)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexHint {
    /// Which of the three.
    pub kind: IndexHintKind,
    /// `FOR JOIN | ORDER BY | GROUP BY`.
    pub scope: Option<IndexHintScope>,
    /// Index names, `PRIMARY` among them; empty only for `USE INDEX ()`.
    pub indexes: Vec<Ident>,
}

/// USE, FORCE or IGNORE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

/// What an index hint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IndexHintScope {
    Join,
    OrderBy,
    GroupBy,
}

/// One hint of a `/*+ … */` comment.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimizerHint {
    /// The name in upper case, such as `NO_INDEX_MERGE` or `MAX_EXECUTION_TIME`.
    pub name: String,
    /// `@query_block` given first.
    pub query_block: Option<Ident>,
    /// The arguments.
    pub args: Vec<HintArg>,
}

/// An argument of an optimizer hint.
#[derive(Clone, Debug, PartialEq)]
pub enum HintArg {
    /// A table or index name, `[db.]name[@query_block]`.
    Name {
        /// The database.
        schema: Option<Ident>,
        /// The name.
        name: Ident,
        /// The query block.
        query_block: Option<Ident>,
    },
    /// `@query_block` where a name is expected.
    QueryBlock(Ident),
    /// A number.
    Int(u64),
    /// `variable = value` of SET_VAR.
    Assign(Ident, String),
    /// A string.
    Str(String),
}

/// An entry of ORDER BY or GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    /// The expression; an integer literal is a position in the select list.
    pub expr: Expr,
    /// `DESC`.
    pub desc: bool,
}

/// `LIMIT [offset,] count`. Each is a literal or a `?`.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// How many rows.
    pub count: Expr,
    /// How many are skipped first.
    pub offset: Option<Expr>,
    /// Written `LIMIT offset, count`: the offset's literal comes first.
    pub comma: bool,
}

/// A locking clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockClause {
    /// FOR UPDATE or FOR SHARE; LOCK IN SHARE MODE is FOR SHARE.
    pub strength: LockStrength,
    /// `OF t, …`; empty for all tables.
    pub of: Vec<TableName>,
    /// What to do with a row locked by somebody else.
    pub wait: LockWait,
}

/// How strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum LockStrength {
    Update,
    Share,
}

/// Waiting for row locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockWait {
    /// Up to innodb_lock_wait_timeout.
    Wait,
    /// `NOWAIT`: error 3572 at once.
    NoWait,
    /// `SKIP LOCKED`.
    SkipLocked,
}

/// `INTO …`.
#[derive(Clone, Debug, PartialEq)]
pub enum IntoClause {
    /// `INTO @a, @b`: user variables, in lower case.
    Vars(Vec<Ident>),
    /// `INTO OUTFILE 'path' …`.
    Outfile(Box<OutfileSpec>),
    /// `INTO DUMPFILE 'path'`.
    Dumpfile(String),
}

/// The file of `INTO OUTFILE` and how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutfileSpec {
    /// The path.
    pub file: String,
    /// `CHARACTER SET`.
    pub charset: Option<Ident>,
    /// `FIELDS …`.
    pub fields: FieldsFormat,
    /// `LINES …`.
    pub lines: LinesFormat,
}

/// `WITH`.
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// `RECURSIVE`.
    pub recursive: bool,
    /// The common table expressions.
    pub ctes: Vec<Cte>,
}

/// One common table expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: Ident,
    /// Its column names.
    pub columns: Vec<Ident>,
    /// Its query.
    pub query: Query,
}

/// A window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowSpec {
    /// The window it refines.
    pub base: Option<Ident>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// The frame.
    pub frame: Option<WindowFrame>,
}

/// `{ROWS | RANGE | GROUPS} BETWEEN start AND end`.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    /// The unit.
    pub unit: FrameUnit,
    /// The start.
    pub start: FrameBound,
    /// The end; `None` is CURRENT ROW.
    pub end: Option<FrameBound>,
}

/// Units of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FrameUnit {
    Rows,
    Range,
    /// Parsed and refused by MySQL (1235).
    Groups,
}

/// A bound of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// `UNBOUNDED PRECEDING`.
    UnboundedPreceding,
    /// `n PRECEDING`, `INTERVAL n unit PRECEDING`.
    Preceding(Expr, Option<super::IntervalUnit>),
    /// `CURRENT ROW`.
    CurrentRow,
    /// `n FOLLOWING`.
    Following(Expr, Option<super::IntervalUnit>),
    /// `UNBOUNDED FOLLOWING`.
    UnboundedFollowing,
}

/// `JSON_TABLE(doc, path COLUMNS (…)) AS alias`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTable {
    /// The document.
    pub doc: Expr,
    /// The path of the rows.
    pub path: String,
    /// The columns.
    pub columns: Vec<JsonTableColumn>,
    /// The alias.
    pub alias: Option<Ident>,
}

/// A column of JSON_TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonTableColumn {
    /// `name FOR ORDINALITY`.
    Ordinality(Ident),
    /// `name type [EXISTS] PATH 'path' …`.
    Path {
        /// The name.
        name: Ident,
        /// The type.
        ty: Box<ColumnType>,
        /// `EXISTS`.
        exists: bool,
        /// The path.
        path: String,
        /// ON EMPTY.
        on_empty: Option<JsonOnResponse>,
        /// ON ERROR.
        on_error: Option<JsonOnResponse>,
    },
    /// `NESTED [PATH] 'path' COLUMNS (…)`.
    Nested {
        /// The path.
        path: String,
        /// The columns.
        columns: Vec<JsonTableColumn>,
    },
}

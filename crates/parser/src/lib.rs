//! MySQL's SQL dialect: lexer, syntax tree, parser, normaliser and digest.
//!
//! ```text
//!               ┌─ parse ──────▶ ast::Stmt ──▶ planner          Display of every node gives SQL back
//!  bytes ─ lexer┼─ normalize ──▶ key + literals ─▶ plan cache   no tree, for statements seen before
//!               └─ digest ─────▶ text + hash ─▶ statement statistics
//! ```
//!
//! The three share one lexer, so they agree on what a literal is: the n-th literal of [`normalize`] is the one with
//! [`ast::LiteralId`] n in the tree.
//!
//! The yardstick is the grammar of MySQL 8.0. What MySQL has and Trine does not model becomes [`ast::Stmt::Unsupported`] with the
//! feature's name, never a statement that is accepted and ignored. The parser knows no schema and checks no names or types.
//! Texts are bytes: strings may hold anything, names must be UTF-8. No input makes it panic or recurse without bound.

pub mod ast;
mod digest;
mod error;
mod lexer;
mod normalize;
mod parser;
mod restore;

pub use digest::digest;
pub use error::{ParseError, ParseErrorKind, SizeKind};
pub use normalize::{MAX_NORMALIZED_BYTES, Normalized, normalize, normalize_bytes, normalize_into};

/// Statements that are recognised and not modelled: what error 1235 names, and an example of each.
pub use parser::UNSUPPORTED as UNSUPPORTED_STATEMENTS;

use ast::Stmt;
use parser::Parser;

/// How deep a statement may nest: parentheses, subqueries, unary operators.
pub const MAX_NESTING: usize = 100;

/// How high a syntax tree may be, counting every operator: readers may recurse over it.
pub const MAX_HEIGHT: usize = 500;

/// What a statement's meaning depends on besides its text: flags of `sql_mode`, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ParseOptions {
    /// `ANSI_QUOTES`: `"x"` is a name.
    pub ansi_quotes: bool,
    /// `NO_BACKSLASH_ESCAPES`.
    pub no_backslash_escapes: bool,
    /// `PIPES_AS_CONCAT`: `||` concatenates.
    pub pipes_as_concat: bool,
    /// `HIGH_NOT_PRECEDENCE`: `NOT` binds like `!`.
    pub high_not_precedence: bool,
    /// `IGNORE_SPACE`: blanks may stand before the `(` of MySQL's own functions.
    pub ignore_space: bool,
    /// `?` is a parameter marker: true for PREPARE, false for statements executed directly.
    pub markers: bool,
}

impl Default for ParseOptions {
    /// No flag of `sql_mode`, markers allowed.
    fn default() -> ParseOptions {
        ParseOptions {
            ansi_quotes: false,
            no_backslash_escapes: false,
            pipes_as_concat: false,
            high_not_precedence: false,
            ignore_space: false,
            markers: true,
        }
    }
}

/// A statement with what the parser noticed on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The statement.
    pub stmt: Stmt,
    /// Bytes of the text up to the next statement, the `;` and blanks behind it included.
    pub consumed: usize,
    /// How many literals the text holds; their ordinals are below this.
    pub literals: u32,
    /// How many `?` the text holds.
    pub params: u32,
    /// Some literal is part of the statement's structure rather than an expression (the length of a type in CAST, a separator, an
    /// alias): two texts with the same normal form may mean different things, and a plan must not be shared between them.
    pub structural_literals: bool,
}

/// Parses all statements of a text. Empty statements (`;;`) are errors, a trailing `;` is not.
pub fn parse(sql: &str, opts: &ParseOptions) -> Result<Vec<Stmt>, ParseError> {
    parse_bytes(sql.as_bytes(), opts)
}

/// [`parse`] of a text that need not be UTF-8 inside its strings.
pub fn parse_bytes(sql: &[u8], opts: &ParseOptions) -> Result<Vec<Stmt>, ParseError> {
    check_size(sql)?;
    let mut parser = Parser::new(sql, opts);
    let mut stmts = Vec::new();
    loop {
        parser.reset_counts();
        stmts.push(parser.statement_and_semicolon().map_err(|e| *e)?);
        if parser.at_end() {
            return Ok(stmts);
        }
    }
}

/// Parses the first statement of a text; also answers how many bytes belong to it, so that the rest begins with the next one.
pub fn parse_one(sql: &str, opts: &ParseOptions) -> Result<(Stmt, usize), ParseError> {
    let parsed = parse_one_bytes(sql.as_bytes(), opts)?;
    Ok((parsed.stmt, parsed.consumed))
}

/// [`parse_one`] with everything the parser noticed, of a text that need not be UTF-8 inside its strings.
pub fn parse_one_bytes(sql: &[u8], opts: &ParseOptions) -> Result<Parsed, ParseError> {
    check_size(sql)?;
    let mut parser = Parser::new(sql, opts);
    let stmt = parser.statement_and_semicolon().map_err(|e| *e)?;
    Ok(Parsed {
        stmt,
        consumed: if parser.at_end() { sql.len() } else { parser.offset() },
        literals: parser.literals,
        params: parser.params,
        structural_literals: parser.literals != parser.expr_literals,
    })
}

/// Parses an expression alone, as a default or a generated column keeps it.
pub fn parse_expr(text: &str, opts: &ParseOptions) -> Result<ast::Expr, ParseError> {
    check_size(text.as_bytes())?;
    Parser::new(text.as_bytes(), opts).whole_expr().map_err(|e| *e)
}

/// Spans are 32 bits wide; no packet is larger than a gigabyte.
fn check_size(sql: &[u8]) -> Result<(), ParseError> {
    if u32::try_from(sql.len()).is_ok() { Ok(()) } else { Err(ParseError::at(ParseErrorKind::Syntax, sql, 0)) }
}

//! Syntax errors in MySQL's form.

use std::fmt;

/// The most bytes of the statement an error repeats.
const NEAR_MAX_BYTES: usize = 80;

/// A text that is not SQL as MySQL 8.0 knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// The text from the offending token on, at most 80 bytes.
    pub near: String,
    /// The offending token's line, from 1.
    pub line: u32,
    /// The offending token's offset in bytes.
    pub offset: usize,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// The token at `near` does not fit (1064).
    Syntax,
    /// Nothing to execute (1065).
    EmptyQuery,
    /// Expressions, subqueries or joins nested deeper than [`crate::MAX_NESTING`] (1064).
    TooDeep,
    /// An introducer or clause names a character set that does not exist (1115).
    UnknownCharset(String),
    /// A name longer than 64 characters (1059).
    TooLongIdent(String),
    /// A database name that is not one, `` ` ` `` for instance (1102), or the same of a table (1103), or of a column (1166).
    WrongName(NameKind, String),
    /// A number too large for a double (1367).
    IllegalNumber(String),
    /// Display width, length or precision out of range (1439, 1425, 1426, 1074): the number and the largest allowed.
    TooBigNumber {
        /// What the number is.
        what: SizeKind,
        /// The column or expression it is of.
        name: String,
        /// The number given.
        given: u64,
        /// The largest allowed.
        max: u64,
    },
    /// More than 65,535 `?` markers (1390).
    TooManyParams,
}

/// What kind of name is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum NameKind {
    Database,
    Table,
    Column,
}

/// What kind of size is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SizeKind {
    DisplayWidth,
    Length,
    Precision,
    Scale,
}

impl ParseError {
    /// An error at `offset` of `sql`.
    pub(crate) fn at(kind: ParseErrorKind, sql: &[u8], offset: usize) -> ParseError {
        let offset = offset.min(sql.len());
        let rest = &sql[offset..];
        let mut end = rest.len().min(NEAR_MAX_BYTES);
        while end < rest.len() && end > 0 && (rest[end] & 0xc0) == 0x80 {
            end -= 1;
        }
        let near = String::from_utf8_lossy(&rest[..end]).into_owned();
        let line = 1 + memchr::memchr_iter(b'\n', &sql[..offset]).count() as u32;
        ParseError { kind, near, line, offset }
    }

    /// MySQL's error number.
    pub fn code(&self) -> u16 {
        match &self.kind {
            ParseErrorKind::Syntax | ParseErrorKind::TooDeep => 1064,
            ParseErrorKind::EmptyQuery => 1065,
            ParseErrorKind::UnknownCharset(_) => 1115,
            ParseErrorKind::TooLongIdent(_) => 1059,
            ParseErrorKind::WrongName(NameKind::Database, _) => 1102,
            ParseErrorKind::WrongName(NameKind::Table, _) => 1103,
            ParseErrorKind::WrongName(NameKind::Column, _) => 1166,
            ParseErrorKind::IllegalNumber(_) => 1367,
            ParseErrorKind::TooBigNumber { what, .. } => match what {
                SizeKind::DisplayWidth => 1439,
                SizeKind::Length => 1074,
                SizeKind::Precision => 1426,
                SizeKind::Scale => 1425,
            },
            ParseErrorKind::TooManyParams => 1390,
        }
    }

    /// MySQL's SQLSTATE.
    pub fn sqlstate(&self) -> &'static str {
        match self.code() {
            1367 => "22007",
            1390 => "HY000",
            _ => "42000",
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ParseErrorKind::Syntax => write!(
                f,
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right \
                 syntax to use near '{}' at line {}",
                self.near, self.line
            ),
            ParseErrorKind::TooDeep => {
                write!(f, "memory exhausted (statement nested too deeply) near '{}' at line {}", self.near, self.line)
            }
            ParseErrorKind::EmptyQuery => f.write_str("Query was empty"),
            ParseErrorKind::UnknownCharset(name) => write!(f, "Unknown character set: '{name}'"),
            ParseErrorKind::TooLongIdent(name) => write!(f, "Identifier name '{name}' is too long"),
            ParseErrorKind::WrongName(NameKind::Database, name) => write!(f, "Incorrect database name '{name}'"),
            ParseErrorKind::WrongName(NameKind::Table, name) => write!(f, "Incorrect table name '{name}'"),
            ParseErrorKind::WrongName(NameKind::Column, name) => write!(f, "Incorrect column name '{name}'"),
            ParseErrorKind::IllegalNumber(text) => write!(f, "Illegal double '{text}' value found during parsing"),
            ParseErrorKind::TooBigNumber { what, name, given, max } => match what {
                SizeKind::DisplayWidth => write!(f, "Display width out of range for column '{name}' (max = {max})"),
                SizeKind::Length => {
                    write!(f, "Column length too big for column '{name}' (max = {max}); use BLOB or TEXT instead")
                }
                SizeKind::Precision => write!(f, "Too-big precision {given} specified for '{name}'. Maximum is {max}."),
                SizeKind::Scale => write!(f, "Too big scale {given} specified for column '{name}'. Maximum is {max}."),
            },
            ParseErrorKind::TooManyParams => f.write_str("Prepared statement contains too many placeholders"),
        }
    }
}

impl std::error::Error for ParseError {}

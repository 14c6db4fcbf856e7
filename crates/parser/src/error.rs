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
    /// A clause names a collation that cannot exist (1273); whether one of this name exists, the parser does not know.
    UnknownCollation(String),
    /// A name longer than 64 characters (1059).
    TooLongIdent(String),
    /// A number too large for a double (1367).
    IllegalNumber(String),
    /// Precision or scale out of range (1426, 1425): the number and the largest allowed.
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

/// What kind of size is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SizeKind {
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
            ParseErrorKind::UnknownCollation(_) => 1273,
            ParseErrorKind::TooLongIdent(_) => 1059,
            ParseErrorKind::IllegalNumber(_) => 1367,
            ParseErrorKind::TooBigNumber { what, .. } => match what {
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
            1273 | 1390 => "HY000",
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
            ParseErrorKind::UnknownCollation(name) => write!(f, "Unknown collation: '{name}'"),
            ParseErrorKind::TooLongIdent(name) => write!(f, "Identifier name '{name}' is too long"),
            ParseErrorKind::IllegalNumber(text) => write!(f, "Illegal double '{text}' value found during parsing"),
            ParseErrorKind::TooBigNumber { what, name, given, max } => match what {
                SizeKind::Precision => write!(f, "Too-big precision {given} specified for '{name}'. Maximum is {max}."),
                SizeKind::Scale => write!(f, "Too big scale {given} specified for column '{name}'. Maximum is {max}."),
            },
            ParseErrorKind::TooManyParams => f.write_str("Prepared statement contains too many placeholders"),
        }
    }
}

impl std::error::Error for ParseError {}

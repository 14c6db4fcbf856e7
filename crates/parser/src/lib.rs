//! MySQL's SQL dialect: lexer, syntax tree, parser, normaliser and digest.
pub mod ast;
mod error;

pub use error::{NameKind, ParseError, ParseErrorKind, SizeKind};

/// How deep a statement may nest (parentheses, subqueries, operators without parentheses on the right).
pub const MAX_NESTING: usize = 200;

//! Syntax trees back to text: `Display` of every node.
//!
//! Expressions and queries look as MySQL prints them in SHOW CREATE VIEW and EXPLAIN: keywords and functions in lower case, names
//! in backticks, operators in parentheses. Other statements use upper case. Text is written for the default `sql_mode`.
//!
//! Invariant: what is printed parses back to an equal tree. A chain of AND or OR is printed without inner parentheses,
//! `(a and b and c)`; so is a very long chain of other operators of one level, so that a high tree does not become a deeply
//! nested text.

mod admin;
mod alter;
mod ddl;
mod dml;
mod expr;
mod function;
mod name;
mod select;
mod show;
mod stmt;
mod user;

use std::fmt::{self, Display, Formatter};

/// Values with a separator between them.
struct List<'a, T>(&'a [T], &'static str);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(self.1)?;
            }
            // `#` puts names in backticks and means nothing to other nodes.
            write!(f, "{item:#}")?;
        }
        Ok(())
    }
}

/// A value behind a text, or nothing.
struct Opt<'a, T>(&'static str, Option<&'a T>);

impl<T: Display> Display for Opt<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(value) => write!(f, "{}{value:#}", self.0),
            None => Ok(()),
        }
    }
}

/// A text or nothing.
fn word(written: bool, text: &'static str) -> &'static str {
    if written { text } else { "" }
}

/// A string in quotes.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("'")?;
        for c in self.0.chars() {
            match c {
                '\'' => f.write_str("''")?,
                '\\' => f.write_str("\\\\")?,
                '\0' => f.write_str("\\0")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\x1a' => f.write_str("\\Z")?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("'")
    }
}

/// `(a,b)` when there is something, with a text before it.
struct Parens<'a, T>(&'static str, &'a [T]);

impl<T: Display> Display for Parens<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.1.is_empty() { Ok(()) } else { write!(f, "{}({})", self.0, List(self.1, ", ")) }
    }
}

//! Names and literals.

use std::fmt::{self, Display, Formatter, Write};

use super::Quoted;
use crate::ast::{AccountName, ColumnRef, Ident, Literal, TableName, UserSpec};

impl Display for Ident {
    /// The name as it is, for messages; `{:#}` writes it in backticks, for SQL.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return f.write_str(self);
        }
        if self.contains('\0') {
            // Only where a string is allowed can a name be like this.
            return Quoted(self).fmt(f);
        }
        f.write_char('`')?;
        for (i, part) in self.as_str().split('`').enumerate() {
            f.write_str(if i > 0 { "``" } else { "" })?;
            f.write_str(part)?;
        }
        f.write_char('`')
    }
}

impl Display for TableName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema:#}.")?;
        }
        write!(f, "{:#}", self.name)
    }
}

impl Display for ColumnRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema:#}.")?;
        }
        if let Some(table) = &self.table {
            write!(f, "{table:#}.")?;
        }
        write!(f, "{:#}", self.name)
    }
}

impl Display for AccountName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", Quoted(&self.user), Quoted(&self.host))
    }
}

impl Display for UserSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            UserSpec::Account(account) => account.fmt(f),
            UserSpec::Current => f.write_str("CURRENT_USER"),
        }
    }
}

/// `@name`, quoted where it must be.
pub(super) struct UserVar<'a>(pub(super) &'a Ident);

impl Display for UserVar<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plain = !self.0.is_empty() && self.0.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.'));
        if plain { write!(f, "@{}", self.0.as_str()) } else { write!(f, "@{}", Quoted(self.0)) }
    }
}

/// Bytes as a string, or in hexadecimal when they are no text.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl Display for Bytes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(self.0) {
            Ok(text) => Quoted(text).fmt(f),
            Err(_) => hex(f, self.0),
        }
    }
}

fn hex(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("x'")?;
    for byte in bytes {
        write!(f, "{byte:02x}")?;
    }
    f.write_str("'")
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Bool(true) => f.write_str("true"),
            Literal::Bool(false) => f.write_str("false"),
            Literal::Int(v) => v.fmt(f),
            Literal::UInt(v) => v.fmt(f),
            Literal::Decimal(digits) => f.write_str(digits),
            Literal::Float(v) => write!(f, "{v:e}"),
            Literal::Str(bytes) => Bytes(bytes).fmt(f),
            Literal::Introduced(s) => {
                let space = if std::str::from_utf8(&s.value).is_ok() { "" } else { " " };
                write!(f, "_{}{space}{}", s.charset, Bytes(&s.value))
            }
            Literal::Hex(bytes) => hex(f, bytes),
            Literal::Bit(bytes) => {
                f.write_str("b'")?;
                for byte in bytes {
                    write!(f, "{byte:08b}")?;
                }
                f.write_str("'")
            }
        }
    }
}

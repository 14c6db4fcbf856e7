//! Names: identifiers, table names, aliases, account names.

use std::{borrow::Borrow, ops::Deref};

/// An identifier as written, without its quotes. Whether it is compared with or without regard to letter case depends
/// on what it names and is the reader's business; `==` here is byte-wise.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ident(Box<str>);

impl Ident {
    /// Makes an identifier of a bare (unquoted) name.
    pub fn new(name: impl Into<Box<str>>) -> Ident {
        Ident(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name, owned.
    pub fn into_string(self) -> String {
        self.0.into_string()
    }
}

impl Deref for Ident {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Ident {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Ident {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Ident {
    fn from(name: &str) -> Ident {
        Ident(name.into())
    }
}

impl From<String> for Ident {
    fn from(name: String) -> Ident {
        Ident(name.into())
    }
}

impl PartialEq<str> for Ident {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Ident {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

/// `[schema.]name` of a table or view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName {
    /// The database, when written.
    pub schema: Option<Ident>,
    /// The table's name.
    pub name: Ident,
}

impl TableName {
    /// A name without a database.
    pub fn bare(name: impl Into<Ident>) -> TableName {
        TableName { schema: None, name: name.into() }
    }
}

/// `[[schema.]table.]column`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnRef {
    /// The database, when written.
    pub schema: Option<Ident>,
    /// The table or alias, when written.
    pub table: Option<Ident>,
    /// The column's name.
    pub name: Ident,
}

impl ColumnRef {
    /// A column named without a table.
    pub fn bare(name: impl Into<Ident>) -> ColumnRef {
        ColumnRef { schema: None, table: None, name: name.into() }
    }
}

/// `'user'@'host'`; `host` is `%` when it was left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AccountName {
    /// User name; empty for an anonymous account.
    pub user: String,
    /// Host pattern.
    pub host: String,
}

/// A user in a statement: an account by name, or the one that is connected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UserSpec {
    /// By name.
    Account(AccountName),
    /// `CURRENT_USER`, `CURRENT_USER()` or `USER()`.
    Current,
}

/// A piece of the statement's own text, kept for result column names. It is no part of the meaning, so any two are equal.
#[derive(Clone, Debug, Default, Eq)]
pub struct SourceText(pub Box<str>);

impl PartialEq for SourceText {
    fn eq(&self, _: &SourceText) -> bool {
        true
    }
}

impl Deref for SourceText {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

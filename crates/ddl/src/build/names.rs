//! Identifiers: their form, and the databases and tables they name.

use std::sync::Arc;

use catalog::{DatabaseInfo, TableInfo, infoschema_tables::is_virtual_database, name::eq_ignore_case};
use parser::ast::TableName;

use super::BuildContext;
use crate::{Error, Result};

/// Characters of an identifier.
const MAX_NAME_CHARS: usize = 64;

/// Checks length and form; `wrong` makes the error of the kind of name.
fn check(name: &str, wrong: impl Fn(String) -> Error) -> Result<()> {
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(Error::TooLongIdent { name: name.to_owned() });
    }
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(wrong(name.to_owned()));
    }
    Ok(())
}

/// Checks the name of a new database.
pub fn check_database_name(name: &str) -> Result<()> {
    check(name, |name| Error::WrongDatabaseName { name })
}

/// Checks the name of a new table.
pub fn check_table_name(name: &str) -> Result<()> {
    check(name, |name| Error::WrongTableName { name })
}

/// Checks the name of a new column.
pub fn check_column_name(name: &str) -> Result<()> {
    check(name, |name| Error::WrongColumnName { name })
}

/// Checks the name of a new index.
pub fn check_index_name(name: &str) -> Result<()> {
    check(name, |name| Error::WrongIndexName { name })?;
    if name.eq_ignore_ascii_case("PRIMARY") { Err(Error::WrongIndexName { name: name.to_owned() }) } else { Ok(()) }
}

/// The number in the name that a constraint of a table got when it was given none: `{table}{between}{number}`.
pub fn generated_number(name: &str, table: &str, between: &str) -> Option<u64> {
    let (head, rest) = name.split_at_checked(table.len())?;
    let number = rest.strip_prefix(between).filter(|_| eq_ignore_case(head, table))?;
    (!number.starts_with('0')).then(|| number.parse().ok()).flatten()
}

impl<'a> BuildContext<'a> {
    /// The name of the database a table is in: written, or the session's.
    pub fn database_name<'n>(&self, table: &'n TableName) -> Result<&'n str>
    where
        'a: 'n,
    {
        match (&table.schema, self.database) {
            (Some(schema), _) => Ok(schema.as_str()),
            (None, Some(database)) => Ok(database),
            (None, None) => Err(Error::NoDatabaseSelected),
        }
    }

    /// A database that may be changed.
    pub fn database(&self, name: &str) -> Result<Arc<DatabaseInfo>> {
        let database = self.schema.database(name).ok_or_else(|| Error::UnknownDatabase { name: name.to_owned() })?;
        if is_virtual_database(&database.name) { Err(Error::ReadOnlyDatabase { name: database.name.clone() }) } else { Ok(database) }
    }

    /// The database a new table goes to.
    pub fn database_of(&self, table: &TableName) -> Result<Arc<DatabaseInfo>> {
        self.database(self.database_name(table)?)
    }

    /// A table that exists, if it does.
    pub fn find_table(&self, table: &TableName) -> Result<Option<Arc<TableInfo>>> {
        Ok(self.schema.table(self.database_name(table)?, &table.name))
    }

    /// A table that exists and may be changed.
    pub fn table(&self, table: &TableName) -> Result<Arc<TableInfo>> {
        let name = self.database_name(table)?;
        if is_virtual_database(name) {
            return Err(Error::ReadOnlyDatabase { name: name.to_owned() });
        }
        let missing = || Error::NoSuchTable { database: name.to_owned(), table: table.name.to_string() };
        self.schema.table(name, &table.name).ok_or_else(missing)
    }
}

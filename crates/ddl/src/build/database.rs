//! CREATE, ALTER and DROP DATABASE.

use base::DatabaseId;
use catalog::{DatabaseInfo, SchemaState};
use parser::ast::{AlterDatabaseStmt, CreateDatabaseStmt, DatabaseOption, DropDatabaseStmt};
use types::{
    Charset, Collation, MysqlError,
    mysql_error::{ER_DB_CREATE_EXISTS, ER_DB_DROP_EXISTS},
};

use super::{BuildContext, names::check_database_name};
use crate::{Error, Result, job::Action};

/// The database a CREATE DATABASE makes, without an id; `None` when it exists and IF NOT EXISTS was written.
pub fn create_database(context: &mut BuildContext<'_>, stmt: &CreateDatabaseStmt) -> Result<Option<DatabaseInfo>> {
    check_database_name(&stmt.name)?;
    if context.schema.database(&stmt.name).is_some() {
        let error = Error::DatabaseExists { name: stmt.name.to_string() };
        if !stmt.if_not_exists {
            return Err(error);
        }
        context.warnings.push(MysqlError::new(ER_DB_CREATE_EXISTS, error.to_string()));
        return Ok(None);
    }
    let (charset, collation) = options(context, &stmt.options, Collation::default())?;
    Ok(Some(DatabaseInfo { id: DatabaseId(0), name: stmt.name.to_string(), charset, collation, state: SchemaState::Public }))
}

/// ALTER DATABASE.
pub fn alter_database(context: &mut BuildContext<'_>, stmt: &AlterDatabaseStmt) -> Result<(Action, String)> {
    let name = match (&stmt.name, context.database) {
        (Some(name), _) => name.as_str(),
        (None, Some(name)) => name,
        (None, None) => return Err(Error::NoDatabaseSelected),
    };
    let database = context.database(name)?;
    let (charset, collation) = options(context, &stmt.options, database.collation)?;
    Ok((Action::AlterDatabase { id: database.id, charset, collation }, database.name.clone()))
}

/// DROP DATABASE; `None` when there is none and IF EXISTS was written.
pub fn drop_database(context: &mut BuildContext<'_>, stmt: &DropDatabaseStmt) -> Result<Option<(Action, String)>> {
    if context.schema.database(&stmt.name).is_none() {
        let error = Error::NoDatabaseToDrop { name: stmt.name.to_string() };
        if !stmt.if_exists {
            return Err(error);
        }
        context.warnings.push(MysqlError::new(ER_DB_DROP_EXISTS, error.to_string()));
        return Ok(None);
    }
    let database = context.database(&stmt.name)?;
    if database.name == "mysql" {
        return Err(Error::SystemDatabase { name: database.name.clone() });
    }
    for table in context.schema.tables(&database.name) {
        context.check_droppable(&table, &|child| child.database_id == database.id)?;
    }
    Ok(Some((Action::DropDatabase { id: database.id, tables: Vec::new() }, database.name.clone())))
}

fn options(context: &mut BuildContext<'_>, options: &[DatabaseOption], default: Collation) -> Result<(Charset, Collation)> {
    let (mut charset, mut collation) = (None, None);
    for option in options {
        match option {
            DatabaseOption::Charset(name) => charset = Some(name.as_str()),
            DatabaseOption::Collate(name) => collation = Some(name.as_str()),
            DatabaseOption::Encryption(value) if value.eq_ignore_ascii_case("n") => {}
            DatabaseOption::Encryption(_) => return Err(Error::not_supported("ENCRYPTION")),
            DatabaseOption::ReadOnly(false) => {}
            DatabaseOption::ReadOnly(true) => return Err(Error::not_supported("READ ONLY databases")),
        }
    }
    let collation = context.charset_and_collation(charset, collation, default)?;
    Ok((collation.charset(), collation))
}

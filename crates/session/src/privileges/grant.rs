//! GRANT and REVOKE of privileges.
//!
//! ```text
//! what (names, columns) ─┐
//! on what (level) ───────┼─► Change ─► may the session grant that? ─► rows of the grant tables, account by account
//! to whom ───────────────┘
//! ```

use std::collections::BTreeMap;

use parser::ast::{self, AccountName, GrantLevel, GrantStmt, ObjectType, RevokeStmt, UserSpec};
use types::mysql_error::{self, MysqlError};

use super::{
    check::{command_names, denied},
    set::{DESCRIPTIONS, DynamicSet, Privilege, PrivilegeSet},
    tables::{GrantTables, of_account, text_of},
};
use crate::{Error, session::Session, show::quote};

const GRANT_OPTION: PrivilegeSet = PrivilegeSet::of(&[Privilege::GrantOption]);

/// On what privileges are granted or revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Object {
    Global,
    /// A database's name, or a pattern of names.
    Database(String),
    Table {
        database: String,
        table: String,
    },
}

/// What is granted or revoked.
#[derive(Clone, Debug, Default)]
struct Change {
    set: PrivilegeSet,
    dynamic: DynamicSet,
    /// WITH GRANT OPTION, for the dynamic ones: each has it for itself.
    dynamic_option: bool,
    /// Columns as they were written, by their names in lower case.
    columns: BTreeMap<String, (String, PrivilegeSet)>,
}

impl Change {
    /// Reads the list of privileges.
    fn read(privileges: &[ast::Privilege], object: &Object) -> Result<Self, Error> {
        let mut change = Self::default();
        for privilege in privileges {
            match privilege.name.as_str() {
                "USAGE" => {}
                "ALL PRIVILEGES" if privilege.columns.is_empty() => change.add_all(object),
                name => match Privilege::by_sql(name) {
                    Some(known) => change.add(known, privilege, object)?,
                    None => change.add_dynamic(name, object)?,
                },
            }
        }
        Ok(change)
    }

    fn add_all(&mut self, object: &Object) {
        let all = match object {
            Object::Global => {
                self.dynamic = DynamicSet::ALL;
                PrivilegeSet::GLOBAL
            }
            Object::Database(_) => PrivilegeSet::DATABASE,
            Object::Table { .. } => PrivilegeSet::TABLE,
        };
        self.set = self.set.union(all);
    }

    fn add(&mut self, known: Privilege, written: &ast::Privilege, object: &Object) -> Result<(), Error> {
        let one = PrivilegeSet::of(&[known]);
        let grantable = |set: PrivilegeSet| set.union(GRANT_OPTION).contains(one);
        match object {
            Object::Global | Object::Database(_) if !written.columns.is_empty() => return Err(illegal()),
            Object::Database(_) if !grantable(PrivilegeSet::DATABASE) => return Err(wrong_usage("DB GRANT", "GLOBAL PRIVILEGES")),
            Object::Table { .. } if !grantable(PrivilegeSet::TABLE) => return Err(illegal()),
            _ => {}
        }
        if written.columns.is_empty() {
            self.set = self.set.union(one);
            return Ok(());
        }
        if !PrivilegeSet::COLUMN.contains(one) {
            return Err(wrong_usage("COLUMN GRANT", "NON-COLUMN PRIVILEGES"));
        }
        for column in &written.columns {
            let entry = self.columns.entry(column.as_str().to_lowercase());
            let (_, set) = entry.or_insert_with(|| (column.as_str().to_owned(), PrivilegeSet::NONE));
            *set = set.union(one);
        }
        Ok(())
    }

    fn add_dynamic(&mut self, name: &str, object: &Object) -> Result<(), Error> {
        let Some(one) = DynamicSet::named(name) else {
            let message = format!("Dynamic privilege '{name}' is not registered with the server.");
            return Err(MysqlError::new(mysql_error::ER_DYNAMIC_PRIVILEGE_NOT_REGISTERED, message).into());
        };
        if *object != Object::Global {
            let message = format!("Illegal privilege level specified for {name}");
            return Err(MysqlError::new(mysql_error::ER_ILLEGAL_PRIVILEGE_LEVEL, message).into());
        }
        self.dynamic = self.dynamic.union(one);
        Ok(())
    }

    /// All of it, columns included.
    fn anywhere(&self) -> PrivilegeSet {
        self.columns.values().fold(self.set, |all, (_, set)| all.union(*set))
    }
}

impl Session {
    /// GRANT.
    pub(crate) async fn run_grant(&mut self, grant: &GrantStmt) -> Result<(), Error> {
        if grant.grant_as.is_some() {
            return Err(Error::unsupported("GRANT … AS"));
        }
        if grant.users.iter().any(|user| user.auth.is_some()) {
            return Err(Error::unsupported("GRANT … IDENTIFIED"));
        }
        let object = self.grant_object(&grant.level, grant.object_type)?;
        let mut change = Change::read(&grant.privileges, &object)?;
        change.dynamic_option = grant.grant_option;
        // Who is granted dynamic privileges only gets the option for those only.
        if grant.grant_option && (change.dynamic == DynamicSet::default() || !change.set.is_empty()) {
            change.set = change.set.union(GRANT_OPTION);
        }
        self.check_may_grant(&object, &change)?;
        self.check_object_exists(&object, &change)?;
        let mut tables = GrantTables::open(&self.domain).await?;
        let mut done = Ok(());
        for user in &grant.users {
            done = self.grant_to(&mut tables, &object, &change, &self.account_name(&user.user)).await;
            if done.is_err() {
                break;
            }
        }
        tables.close(done).await
    }

    async fn grant_to(&self, tables: &mut GrantTables, object: &Object, change: &Change, account: &AccountName) -> Result<(), Error> {
        if !tables.lock(account).await? {
            return Err(
                MysqlError::new(mysql_error::ER_CANT_CREATE_USER_WITH_GRANT, "You are not allowed to create a user with GRANT").into()
            );
        }
        self.check_may_change(account)?;
        match object {
            Object::Global => grant_global(tables, change, account).await,
            Object::Database(database) => grant_database(tables, database, change.set, account).await,
            Object::Table { database, table } => {
                let mut now = TableRows::read(tables, database, table, account).await?;
                now.set = now.set.union(change.set);
                for (column, (name, set)) in &change.columns {
                    let entry = now.columns.entry(column.clone()).or_insert_with(|| (name.clone(), PrivilegeSet::NONE));
                    entry.1 = entry.1.union(*set);
                }
                now.write(tables, database, table, account, &self.connection.account).await
            }
        }
    }

    /// REVOKE.
    pub(crate) async fn run_revoke(&mut self, revoke: &RevokeStmt) -> Result<(), Error> {
        let everything = revoke.level == GrantLevel::Everything;
        let (object, change) = if everything {
            self.check_need(&super::needs::Need::Global(Privilege::CreateUser))?;
            (Object::Global, Change::default())
        } else {
            let object = self.grant_object(&revoke.level, revoke.object_type)?;
            let change = Change::read(&revoke.privileges, &object)?;
            self.check_may_grant(&object, &change)?;
            (object, change)
        };
        let mut tables = GrantTables::open(&self.domain).await?;
        let mut done = Ok(());
        for user in &revoke.users {
            let account = self.account_name(user);
            done = match tables.lock(&account).await {
                Ok(true) if everything => match self.check_may_change(&account) {
                    Ok(()) => revoke_everything(&mut tables, &account).await,
                    Err(error) => Err(error),
                },
                Ok(true) => self.revoke_from(&mut tables, &object, &change, &account).await,
                Ok(false) if revoke.ignore_unknown_user => {
                    self.warnings.warn(mysql_error::ER_USER_DOES_NOT_EXIST.code, unknown_account(&account));
                    Ok(())
                }
                Ok(false) => Err(no_such_grant(&account)),
                Err(error) => Err(error),
            };
            if let Err(Error::Mysql(error)) = &done
                && revoke.if_exists
                && [mysql_error::ER_NONEXISTING_GRANT.code, mysql_error::ER_NONEXISTING_TABLE_GRANT.code].contains(&error.code)
            {
                self.warnings.warn(error.code, error.message.clone());
                done = Ok(());
            }
            if done.is_err() {
                break;
            }
        }
        tables.close(done).await
    }

    async fn revoke_from(&self, tables: &mut GrantTables, object: &Object, change: &Change, account: &AccountName) -> Result<(), Error> {
        self.check_may_change(account)?;
        match object {
            Object::Global => revoke_global(tables, change, account).await,
            Object::Database(database) => revoke_database(tables, database, change.set, account).await,
            Object::Table { database, table } => {
                let mut now = TableRows::read(tables, database, table, account).await?;
                if now.is_empty() {
                    let message =
                        format!("There is no such grant defined for user '{}' on host '{}' on table '{table}'", account.user, account.host);
                    return Err(MysqlError::new(mysql_error::ER_NONEXISTING_TABLE_GRANT, message).into());
                }
                now.set = now.set.without(change.set);
                // What is taken from the whole table is taken from all its columns.
                for (column, (_, set)) in &mut now.columns {
                    let of_column = change.columns.get(column).map_or(PrivilegeSet::NONE, |(_, set)| *set);
                    *set = set.without(change.set).without(of_column);
                }
                now.write(tables, database, table, account, &self.connection.account).await
            }
        }
    }

    /// The account a statement names; the client's own for CURRENT_USER.
    pub(crate) fn account_name(&self, user: &UserSpec) -> AccountName {
        match user {
            UserSpec::Account(account) => account.clone(),
            UserSpec::Current => self.own_account(),
        }
    }

    fn grant_object(&self, level: &GrantLevel, kind: Option<ObjectType>) -> Result<Object, Error> {
        if matches!(kind, Some(ObjectType::Function | ObjectType::Procedure)) {
            return Err(Error::unsupported("privileges on stored programs"));
        }
        let current = || match &self.connection.database {
            Some(database) => Ok((**database).to_owned()),
            None => Err(Error::from(MysqlError::new(mysql_error::ER_NO_DB_ERROR, "No database selected"))),
        };
        Ok(match level {
            GrantLevel::Global | GrantLevel::Everything => Object::Global,
            GrantLevel::CurrentDatabase => Object::Database(current()?),
            GrantLevel::Database(name) => Object::Database(name.as_str().to_owned()),
            GrantLevel::Table(name) => {
                let database = name.schema.as_ref().map_or_else(current, |schema| Ok(schema.as_str().to_owned()))?;
                Object::Table { database, table: name.name.as_str().to_owned() }
            }
        })
    }

    /// Nobody grants or revokes what they do not have themselves, with GRANT OPTION.
    fn check_may_grant(&self, object: &Object, change: &Change) -> Result<(), Error> {
        match object {
            Object::Global => {
                if !self.access.global().contains(change.set.union(GRANT_OPTION)) && (!change.set.is_empty() || change.dynamic.is_empty()) {
                    return Err(self.access_denied());
                }
                if !self.access.may_grant_dynamic(change.dynamic) {
                    return Err(denied("GRANT OPTION"));
                }
                Ok(())
            }
            Object::Database(database) => match self.access.on_pattern(database).contains(change.set.union(GRANT_OPTION)) {
                true => Ok(()),
                false => Err(self.database_denied(database)),
            },
            Object::Table { database, table } => {
                let missing = change.set.union(GRANT_OPTION).without(self.access.on_table(database, table));
                if !missing.is_empty() {
                    return Err(self.table_denied(&command_names(missing), table));
                }
                for (name, set) in change.columns.values() {
                    let missing = set.without(self.access.on_column(database, table, name));
                    if !missing.is_empty() {
                        return Err(self.column_denied(&command_names(missing), name, table));
                    }
                }
                Ok(())
            }
        }
    }

    /// Privileges on a table that is not there can be granted only with the privilege to make it.
    fn check_object_exists(&self, object: &Object, change: &Change) -> Result<(), Error> {
        let Object::Table { database, table } = object else { return Ok(()) };
        let schema = self.domain.catalog().current();
        let Some(info) = schema.table(database, table) else {
            if change.anywhere().has(Privilege::Create) {
                return Ok(());
            }
            return Err(MysqlError::new(mysql_error::ER_NO_SUCH_TABLE, format!("Table '{database}.{table}' doesn't exist")).into());
        };
        for (name, _) in change.columns.values() {
            if !info.public_columns().iter().any(|column| column.name.eq_ignore_ascii_case(name)) {
                return Err(MysqlError::new(mysql_error::ER_BAD_FIELD_ERROR, format!("Unknown column '{name}' in '{table}'")).into());
            }
        }
        Ok(())
    }
}

/// Columns of `mysql.user` and `mysql.db` that hold a set.
fn columns(set: PrivilegeSet) -> impl Iterator<Item = &'static str> {
    DESCRIPTIONS.iter().filter(move |known| set.has(known.privilege)).map(|known| known.column)
}

/// `a = 'Y', b = 'Y'`
fn assignments(set: PrivilegeSet, value: char) -> String {
    columns(set).map(|column| format!("{column} = '{value}'")).collect::<Vec<_>>().join(", ")
}

async fn grant_global(tables: &mut GrantTables, change: &Change, account: &AccountName) -> Result<(), Error> {
    if !change.set.is_empty() {
        let row = of_account("User", "Host", account);
        tables.run(&format!("UPDATE mysql.user SET {} WHERE {row}", assignments(change.set, 'Y'))).await?;
    }
    // The option given once stays until it is revoked.
    let (verb, option) = if change.dynamic_option { ("REPLACE", 'Y') } else { ("INSERT IGNORE", 'N') };
    let (user, host) = (quote(&account.user), quote(&account.host));
    for name in change.dynamic.names() {
        let values = format!("({user}, {host}, '{name}', '{option}')");
        tables.run(&format!("{verb} INTO mysql.global_grants (USER, HOST, PRIV, WITH_GRANT_OPTION) VALUES {values}")).await?;
    }
    Ok(())
}

async fn revoke_global(tables: &mut GrantTables, change: &Change, account: &AccountName) -> Result<(), Error> {
    if !change.set.is_empty() {
        let row = of_account("User", "Host", account);
        tables.run(&format!("UPDATE mysql.user SET {} WHERE {row}", assignments(change.set, 'N'))).await?;
    }
    let row = of_account("USER", "HOST", account);
    if change.set.has(Privilege::GrantOption) {
        tables.run(&format!("UPDATE mysql.global_grants SET WITH_GRANT_OPTION = 'N' WHERE {row}")).await?;
    }
    for name in change.dynamic.names() {
        tables.run(&format!("DELETE FROM mysql.global_grants WHERE {row} AND PRIV = '{name}'")).await?;
    }
    Ok(())
}

async fn grant_database(tables: &mut GrantTables, database: &str, set: PrivilegeSet, account: &AccountName) -> Result<(), Error> {
    if set.is_empty() {
        return Ok(());
    }
    let names = columns(set).collect::<Vec<_>>();
    let key = [&account.host, database, &account.user].map(quote).join(", ");
    let sql = format!(
        "INSERT INTO mysql.db (Host, Db, User, {}) VALUES ({key}, {}) ON DUPLICATE KEY UPDATE {}",
        names.join(", "),
        vec!["'Y'"; names.len()].join(", "),
        assignments(set, 'Y')
    );
    tables.run(&sql).await
}

async fn revoke_database(tables: &mut GrantTables, database: &str, set: PrivilegeSet, account: &AccountName) -> Result<(), Error> {
    let row = format!("{} AND Db = {}", of_account("User", "Host", account), quote(database));
    if tables.rows(&format!("SELECT 1 FROM mysql.db WHERE {row} FOR UPDATE")).await?.is_empty() {
        return Err(no_such_grant(account));
    }
    if set.is_empty() {
        return Ok(());
    }
    tables.run(&format!("UPDATE mysql.db SET {} WHERE {row}", assignments(set, 'N'))).await?;
    let nothing = columns(PrivilegeSet::DATABASE.union(GRANT_OPTION)).map(|column| format!("{column} = 'N'")).collect::<Vec<_>>();
    tables.run(&format!("DELETE FROM mysql.db WHERE {row} AND {}", nothing.join(" AND "))).await
}

/// REVOKE ALL PRIVILEGES, GRANT OPTION: whatever the account has, roles aside.
async fn revoke_everything(tables: &mut GrantTables, account: &AccountName) -> Result<(), Error> {
    let all = PrivilegeSet::GLOBAL.union(GRANT_OPTION);
    let row = of_account("User", "Host", account);
    tables.run(&format!("UPDATE mysql.user SET {} WHERE {row}", assignments(all, 'N'))).await?;
    for table in ["db", "tables_priv", "columns_priv", "global_grants"] {
        tables.run(&format!("DELETE FROM mysql.{table} WHERE {row}")).await?;
    }
    Ok(())
}

/// What the grant tables say of an account and a table.
#[derive(Default)]
struct TableRows {
    set: PrivilegeSet,
    columns: BTreeMap<String, (String, PrivilegeSet)>,
}

impl TableRows {
    async fn read(tables: &mut GrantTables, database: &str, table: &str, account: &AccountName) -> Result<Self, Error> {
        let row = row_of_table(database, table, account);
        let mut found = Self::default();
        for row in tables.rows(&format!("SELECT Table_priv FROM mysql.tables_priv WHERE {row} FOR UPDATE")).await? {
            found.set = PrivilegeSet::from_words(&text_of(&row, 0));
        }
        for row in tables.rows(&format!("SELECT Column_name, Column_priv FROM mysql.columns_priv WHERE {row} FOR UPDATE")).await? {
            let name = text_of(&row, 0);
            found.columns.insert(name.to_lowercase(), (name, PrivilegeSet::from_words(&text_of(&row, 1))));
        }
        Ok(found)
    }

    fn is_empty(&self) -> bool {
        self.set.is_empty() && self.columns.is_empty()
    }

    async fn write(
        &self,
        tables: &mut GrantTables,
        database: &str,
        table: &str,
        account: &AccountName,
        grantor: &str,
    ) -> Result<(), Error> {
        let row = row_of_table(database, table, account);
        for table in ["tables_priv", "columns_priv"] {
            tables.run(&format!("DELETE FROM mysql.{table} WHERE {row}")).await?;
        }
        let key = [&account.host, database, &account.user, table].map(quote).join(", ");
        let of_columns = self.columns.values().fold(PrivilegeSet::NONE, |all, (_, set)| all.union(*set));
        if !self.set.union(of_columns).is_empty() {
            let values = [grantor, &self.set.words(), &of_columns.words()].map(quote).join(", ");
            let columns = "Host, Db, User, Table_name, Grantor, Table_priv, Column_priv";
            tables.run(&format!("INSERT INTO mysql.tables_priv ({columns}) VALUES ({key}, {values})")).await?;
        }
        for (name, set) in self.columns.values().filter(|(_, set)| !set.is_empty()) {
            let values = [name, &set.words()].map(|text| quote(text)).join(", ");
            let columns = "Host, Db, User, Table_name, Column_name, Column_priv";
            tables.run(&format!("INSERT INTO mysql.columns_priv ({columns}) VALUES ({key}, {values})")).await?;
        }
        Ok(())
    }
}

fn row_of_table(database: &str, table: &str, account: &AccountName) -> String {
    let names = format!("LOWER(Db) = {} AND LOWER(Table_name) = {}", quote(&database.to_lowercase()), quote(&table.to_lowercase()));
    format!("{} AND {names}", of_account("User", "Host", account))
}

/// 1141
pub(crate) fn no_such_grant(account: &AccountName) -> Error {
    let message = format!("There is no such grant defined for user '{}' on host '{}'", account.user, account.host);
    MysqlError::new(mysql_error::ER_NONEXISTING_GRANT, message).into()
}

/// What the note about an account that is not there says.
pub(crate) fn unknown_account(account: &AccountName) -> String {
    format!("Authorization ID '{}'@'{}' does not exist.", account.user, account.host)
}

fn illegal() -> Error {
    let message = "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
    MysqlError::new(mysql_error::ER_ILLEGAL_GRANT_FOR_TABLE, message).into()
}

fn wrong_usage(first: &str, second: &str) -> Error {
    MysqlError::new(mysql_error::ER_WRONG_USAGE, format!("Incorrect usage of {first} and {second}")).into()
}

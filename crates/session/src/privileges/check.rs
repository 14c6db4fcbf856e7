//! Whether a session may do what a statement needs, in MySQL's words when it may not.

use catalog::{ColumnInfo, InfoSchema};
use parser::ast::Stmt;
use planner::{
    TableGate,
    physical::{PhysicalPlan, TableAccess, TableUse},
};
use types::mysql_error::{self, MysqlError};

use super::{
    needs::{Need, needs},
    set::{DynamicSet, Privilege, PrivilegeSet},
};
use crate::{Error, plan_cache::CachedPlan, session::Session};

/// Plans whose privileges a session remembers to have looked at.
const REMEMBERED: usize = 256;

impl Session {
    /// Fails when a plan touches what the session may not. What was allowed once is remembered until accounts or roles change.
    #[inline]
    pub(crate) fn check_plan(&mut self, cached: &CachedPlan) -> Result<(), Error> {
        if self.access.covers_all_rows() || self.allowed_plans.contains(&cached.id) {
            return Ok(());
        }
        self.check_tables(&cached.plan, &cached.schema)?;
        if self.allowed_plans.len() >= REMEMBERED {
            self.allowed_plans.clear();
        }
        self.allowed_plans.insert(cached.id);
        Ok(())
    }

    fn check_tables(&self, plan: &PhysicalPlan, schema: &InfoSchema) -> Result<(), Error> {
        plan.tables.iter().try_for_each(|used| self.check_use(used, schema))
    }

    fn check_use(&self, used: &TableUse, schema: &InfoSchema) -> Result<(), Error> {
        let wanted = match used.access {
            TableAccess::Select => Privilege::Select,
            TableAccess::Insert => Privilege::Insert,
            TableAccess::Update => Privilege::Update,
            TableAccess::Delete => Privilege::Delete,
        };
        let (database, table) = (used.database.as_str(), used.table.as_str());
        if self.access.on_table(database, table).has(wanted) {
            return Ok(());
        }
        // Privileges on columns are enough where the statement says which columns it uses; where it uses none, any will do.
        if wanted == Privilege::Delete || !self.access.anywhere_on_table(database, table).has(wanted) {
            return Err(self.table_denied(wanted.sql(), table));
        }
        let info = schema.table(database, table);
        let columns: &[ColumnInfo] = info.as_deref().map_or(&[], |info| &info.columns);
        for offset in &used.columns {
            let Some(column) = columns.get(*offset) else { return Err(self.table_denied(wanted.sql(), table)) };
            if !self.access.on_column(database, table, &column.name).has(wanted) {
                return Err(self.column_denied(wanted.sql(), &column.name, table));
            }
        }
        Ok(())
    }

    /// Keeps the names of tables from a client that has no privilege on them.
    pub(crate) fn gate(&self, stmt: &Stmt) -> Gate<'_> {
        let command = match stmt {
            Stmt::Insert(_) => "INSERT",
            Stmt::Update(_) => "UPDATE",
            Stmt::Delete(_) => "DELETE",
            _ => "SELECT",
        };
        Gate { session: self, command }
    }

    /// With an expired password nothing can be done but to change it.
    pub(crate) fn check_password_change(&self, sql: &[u8]) -> Result<(), Error> {
        let parsed = parser::parse_one_bytes(sql, &self.vars.hot.parse)?;
        if crate::users::changes_password(&parsed.stmt) {
            return Ok(());
        }
        let message = "You must reset your password using ALTER USER statement before executing this statement.";
        Err(MysqlError::new(mysql_error::ER_MUST_CHANGE_PASSWORD, message).into())
    }

    /// Fails when a statement without a plan needs what the session does not have.
    pub(crate) fn check_needs(&self, stmt: &Stmt) -> Result<(), Error> {
        needs(stmt).iter().try_for_each(|need| self.check_need(need))
    }

    pub(crate) fn check_need(&self, need: &Need) -> Result<(), Error> {
        match need {
            Need::Global(privilege) => {
                if self.access.has_global(*privilege) {
                    return Ok(());
                }
                Err(denied(privilege.sql()))
            }
            Need::Admin { any, names } => {
                let has = |name: &&str| match Privilege::by_sql(name) {
                    Some(privilege) => self.access.has_global(privilege),
                    None => DynamicSet::named(name).is_some_and(|set| self.access.has_dynamic(set)),
                };
                if any.iter().any(has) { Ok(()) } else { Err(denied(names)) }
            }
            Need::Database(name, privilege) => {
                let Some(database) = name.as_deref().or(self.connection.database.as_deref()) else { return Ok(()) };
                if self.access.on_database(database).has(*privilege) {
                    return Ok(());
                }
                Err(self.database_denied(database))
            }
            Need::InDatabase(name) => {
                let Some(database) = name.as_deref().or(self.connection.database.as_deref()) else { return Ok(()) };
                if self.access.sees_database(database) { Ok(()) } else { Err(self.database_denied(database)) }
            }
            Need::Table(name, wanted) => {
                let Some(database) = name.schema.as_deref().or(self.connection.database.as_deref()) else { return Ok(()) };
                let missing = wanted.without(self.access.on_table(database, &name.name));
                if missing.is_empty() {
                    return Ok(());
                }
                if catalog::infoschema_tables::is_virtual_database(database) {
                    return Err(self.database_denied(database));
                }
                Err(self.table_denied(&command_names(missing), &name.name))
            }
            Need::AnyOnTable(name, command) => {
                let Some(database) = name.schema.as_deref().or(self.connection.database.as_deref()) else { return Ok(()) };
                if self.access.sees_table(database, &name.name) { Ok(()) } else { Err(self.table_denied(command, &name.name)) }
            }
        }
    }

    /// Whether the session sees what other users do.
    pub(crate) fn sees_all(&self) -> bool {
        self.access.has_global(Privilege::Process)
    }

    /// 1044
    pub(crate) fn database_denied(&self, database: &str) -> Error {
        let message = format!("Access denied for user '{}'@'{}' to database '{database}'", self.client.user, self.client.account_host);
        MysqlError::new(mysql_error::ER_DBACCESS_DENIED_ERROR, message).into()
    }

    /// 1045, as GRANT on `*.*` says it.
    pub(super) fn access_denied(&self) -> Error {
        let message = format!("Access denied for user '{}'@'{}' (using password: YES)", self.client.user, self.client.account_host);
        MysqlError::new(mysql_error::ER_ACCESS_DENIED_ERROR, message).into()
    }

    /// 1142
    pub(crate) fn table_denied(&self, command: &str, table: &str) -> Error {
        let message = format!("{command} command denied to user '{}'@'{}' for table '{table}'", self.client.user, self.client.client_host);
        MysqlError::new(mysql_error::ER_TABLEACCESS_DENIED_ERROR, message).into()
    }

    /// 1143
    pub(super) fn column_denied(&self, command: &str, column: &str, table: &str) -> Error {
        let (user, host) = (&self.client.user, &self.client.client_host);
        let message = format!("{command} command denied to user '{user}'@'{host}' for column '{column}' in table '{table}'");
        MysqlError::new(mysql_error::ER_COLUMNACCESS_DENIED_ERROR, message).into()
    }
}

/// Asked by the planner before it looks whether a table is there.
pub(crate) struct Gate<'a> {
    session: &'a Session,
    command: &'static str,
}

impl TableGate for Gate<'_> {
    fn admit(&self, database: &str, table: &str) -> Result<(), MysqlError> {
        if self.session.access.sees_table(database, table) {
            return Ok(());
        }
        Err(self.session.table_denied(self.command, table).to_mysql())
    }
}

/// 1227
pub(crate) fn denied(privileges: &str) -> Error {
    let message = format!("Access denied; you need (at least one of) the {privileges} privilege(s) for this operation");
    MysqlError::new(mysql_error::ER_SPECIFIC_ACCESS_DENIED_ERROR, message).into()
}

/// Privileges as 1142 names them.
pub(super) fn command_names(set: PrivilegeSet) -> String {
    let name = |privilege: Privilege| if privilege == Privilege::GrantOption { "GRANT" } else { privilege.sql() };
    set.iter().map(name).collect::<Vec<_>>().join(", ")
}

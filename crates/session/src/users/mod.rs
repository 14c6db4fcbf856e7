//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, SHOW CREATE USER: changes of `mysql.user`, made through SQL in one transaction a statement.

mod options;
mod password;
mod show;

use parser::ast::{
    AccountName, AlterUserStmt, AuthOption, CreateUserStmt, RoleSet, SetPasswordStmt, Stmt, UserOptions, UserSpec, UserWithAuth,
};
use types::mysql_error::{self, MysqlError};

use crate::{
    Error,
    accounts::Account,
    privileges::{
        DynamicSet, GrantTables, Privilege, check::denied, grant::unknown_account, needs::Need, roles::write_default_roles,
        tables::of_account,
    },
    result::{Outcome, StatementResult},
    session::Session,
    show::quote,
    statements::done,
};
pub use password::PasswordHasher;

/// Columns that name an account, in every table that has rows of accounts: user, host.
const NAMED_IN: [(&str, &str, &str); 8] = [
    ("user", "User", "Host"),
    ("db", "User", "Host"),
    ("tables_priv", "User", "Host"),
    ("columns_priv", "User", "Host"),
    ("global_grants", "USER", "HOST"),
    ("role_edges", "TO_USER", "TO_HOST"),
    ("role_edges", "FROM_USER", "FROM_HOST"),
    ("default_roles", "USER", "HOST"),
];

impl Session {
    /// Statements on accounts, roles and privileges. They commit what is open, as in MySQL.
    pub(crate) async fn run_account_statement(&mut self, stmt: Stmt) -> Result<StatementResult, Error> {
        self.follow_accounts().await?;
        if let Stmt::SetRole(set) = &stmt {
            self.run_set_role(&set.roles)?;
            return Ok(done(Outcome::default()));
        }
        self.check_writable()?;
        self.commit().await?;
        match stmt {
            Stmt::CreateUser(create) => self.create_users(&create).await?,
            Stmt::AlterUser(alter) => self.alter_users(&alter).await?,
            Stmt::DropUser(drop) => {
                let users: Vec<AccountName> = drop.users.iter().map(|user| self.account_name(user)).collect();
                self.drop_accounts(&users, drop.if_exists, "DROP USER").await?;
            }
            Stmt::RenameUser(pairs) => self.rename_users(&pairs).await?,
            Stmt::SetPassword(set) => self.set_password(&set).await?,
            Stmt::Grant(grant) => self.run_grant(&grant).await?,
            Stmt::Revoke(revoke) => self.run_revoke(&revoke).await?,
            Stmt::CreateRole(create) => self.run_create_role(&create).await?,
            Stmt::DropRole(drop) => self.run_drop_role(&drop).await?,
            Stmt::GrantRole(grant) => self.run_grant_role(&grant).await?,
            Stmt::RevokeRole(revoke) => self.run_revoke_role(&revoke).await?,
            Stmt::SetDefaultRole(set) => self.run_set_default_role(&set).await?,
            _ => return Err(Error::unsupported("this statement on accounts")),
        }
        self.domain.accounts().reload(&self.domain).await?;
        crate::notices::accounts_changed(&self.domain).await?;
        self.refresh_access();
        self.row_count = 0;
        Ok(done(Outcome::default()))
    }

    /// In a cluster: takes over what another server has just changed, so that a statement on accounts stands on what was there before it.
    pub(crate) async fn follow_accounts(&self) -> Result<(), Error> {
        match self.domain.catalog().servers() {
            Some(_) => self.domain.accounts().reload(&self.domain).await,
            None => Ok(()),
        }
    }

    /// Accounts with SYSTEM_USER are changed only by those who have it too.
    pub(crate) fn check_may_change(&self, name: &AccountName) -> Result<(), Error> {
        let system = DynamicSet::named("SYSTEM_USER").unwrap_or_default();
        let guarded = self.domain.accounts().get(&name.user, &name.host).is_some_and(|account| account.grants.dynamic.contains(system));
        if !guarded || self.access.has_dynamic(system) || *name == self.own_account() { Ok(()) } else { Err(denied("SYSTEM_USER")) }
    }

    async fn create_users(&mut self, create: &CreateUserStmt) -> Result<(), Error> {
        let mut tables = GrantTables::open(&self.domain).await?;
        let mut done = Ok(());
        for user in &create.users {
            done = self.create_user(&mut tables, user, create).await;
            if done.is_err() {
                break;
            }
        }
        tables.close(done).await
    }

    async fn create_user(&self, tables: &mut GrantTables, user: &UserWithAuth, create: &CreateUserStmt) -> Result<(), Error> {
        let name = self.account_name(&user.user);
        if tables.lock(&name).await? {
            if create.if_not_exists {
                self.warnings.note(3163, format!("Authorization ID '{}'@'{}' already exists.", name.user, name.host));
                return Ok(());
            }
            return Err(failed("CREATE USER", &name));
        }
        let (plugin, stored) = self.credentials(user.auth.as_ref(), None)?;
        let mut columns = vec![
            ("Host", quote(&name.host)),
            ("User", quote(&name.user)),
            ("plugin", quote(&plugin)),
            ("authentication_string", quote(&stored)),
            ("password_last_changed", "CURRENT_TIMESTAMP".to_owned()),
        ];
        columns.extend(options::columns(&create.options, None)?);
        for blob in ["ssl_cipher", "x509_issuer", "x509_subject"] {
            if !columns.iter().any(|(column, _)| *column == blob) {
                columns.push((blob, "''".to_owned()));
            }
        }
        let (names, values): (Vec<&str>, Vec<String>) = columns.into_iter().unzip();
        tables.run(&format!("INSERT INTO mysql.user ({}) VALUES ({})", names.join(", "), values.join(", "))).await?;
        for role in &create.default_roles {
            // A default role is granted first; whoever may create users may do that for new ones.
            let values = [&role.host, &role.user, &name.host, &name.user].map(|text| quote(text)).join(", ");
            if !tables.lock(role).await? {
                return Err(failed("CREATE USER", &name));
            }
            tables.run(&format!("INSERT IGNORE INTO mysql.role_edges (FROM_HOST, FROM_USER, TO_HOST, TO_USER) VALUES ({values})")).await?;
        }
        write_default_roles(tables, &name, &create.default_roles).await
    }

    async fn alter_users(&mut self, alter: &AlterUserStmt) -> Result<(), Error> {
        let mut tables = GrantTables::open(&self.domain).await?;
        let mut done = Ok(());
        for user in &alter.users {
            done = self.alter_user(&mut tables, user, alter.if_exists, &alter.options, alter.default_roles.as_ref()).await;
            if done.is_err() {
                break;
            }
        }
        let done = tables.close(done).await;
        if done.is_ok() {
            self.note_own_password(alter.users.iter().filter(|user| user.auth.is_some()).map(|user| &user.user));
        }
        done
    }

    /// One's own password is changed by everybody, anything else by those who have CREATE USER.
    async fn alter_user(
        &self,
        tables: &mut GrantTables,
        user: &UserWithAuth,
        if_exists: bool,
        options: &UserOptions,
        roles: Option<&RoleSet>,
    ) -> Result<(), Error> {
        let name = self.account_name(&user.user);
        let only_password = *options == UserOptions::default() && roles.is_none();
        if name != self.own_account() || !only_password {
            self.check_need(&Need::Global(Privilege::CreateUser))?;
        }
        self.check_may_change(&name)?;
        let known = self.domain.accounts().get(&name.user, &name.host);
        let (Some(account), true) = (known, tables.lock(&name).await?) else {
            if if_exists {
                self.warnings.note(3162, unknown_account(&name));
                return Ok(());
            }
            return Err(failed("ALTER USER", &name));
        };
        let mut changes = options::columns(options, Some(&account))?;
        if let Some(auth) = &user.auth {
            self.check_replaced(auth, &account)?;
            let (plugin, stored) = self.credentials(Some(auth), Some(&account))?;
            changes.push(("plugin", quote(&plugin)));
            changes.push(("authentication_string", quote(&stored)));
            changes.push(("password_last_changed", "CURRENT_TIMESTAMP".to_owned()));
            if !changes.iter().any(|(column, _)| *column == "password_expired") {
                changes.push(("password_expired", "'N'".to_owned()));
            }
        }
        if !changes.is_empty() {
            let set = changes.iter().map(|(column, value)| format!("{column} = {value}")).collect::<Vec<_>>().join(", ");
            tables.run(&format!("UPDATE mysql.user SET {set} WHERE {}", of_account("User", "Host", &name))).await?;
        }
        if options.account_lock == Some(false) {
            self.domain.logins().forget(&name);
        }
        match roles {
            Some(roles) => self.set_default_roles(tables, &name, roles).await,
            None => Ok(()),
        }
    }

    /// DROP USER and DROP ROLE: also whatever the accounts had, or were granted as roles.
    pub(crate) async fn drop_accounts(&mut self, accounts: &[AccountName], if_exists: bool, operation: &str) -> Result<(), Error> {
        let mut tables = GrantTables::open(&self.domain).await?;
        let mut done = Ok(());
        for name in accounts {
            done = self.drop_account(&mut tables, name, if_exists, operation).await;
            if done.is_err() {
                break;
            }
        }
        tables.close(done).await
    }

    async fn drop_account(&self, tables: &mut GrantTables, name: &AccountName, if_exists: bool, operation: &str) -> Result<(), Error> {
        self.check_may_change(name)?;
        if !tables.lock(name).await? {
            if if_exists {
                self.warnings.note(3162, unknown_account(name));
                return Ok(());
            }
            return Err(failed(operation, name));
        }
        for (table, user, host) in NAMED_IN.into_iter().chain([("default_roles", "DEFAULT_ROLE_USER", "DEFAULT_ROLE_HOST")]) {
            tables.run(&format!("DELETE FROM mysql.{table} WHERE {}", of_account(user, host, name))).await?;
        }
        self.domain.logins().forget(name);
        Ok(())
    }

    async fn rename_users(&mut self, pairs: &[(AccountName, AccountName)]) -> Result<(), Error> {
        let mut tables = GrantTables::open(&self.domain).await?;
        let mut done = Ok(());
        for (from, to) in pairs {
            done = self.rename_user(&mut tables, from, to).await;
            if done.is_err() {
                break;
            }
        }
        tables.close(done).await
    }

    async fn rename_user(&self, tables: &mut GrantTables, from: &AccountName, to: &AccountName) -> Result<(), Error> {
        self.check_may_change(from)?;
        if !tables.lock(from).await? || tables.lock(to).await? {
            return Err(failed("RENAME USER", from));
        }
        for (table, user, host) in NAMED_IN.into_iter().chain([("default_roles", "DEFAULT_ROLE_USER", "DEFAULT_ROLE_HOST")]) {
            let set = format!("{user} = {}, {host} = {}", quote(&to.user), quote(&to.host));
            tables.run(&format!("UPDATE mysql.{table} SET {set} WHERE {}", of_account(user, host, from))).await?;
        }
        Ok(())
    }

    async fn set_password(&mut self, set: &SetPasswordStmt) -> Result<(), Error> {
        let Some(password) = &set.password else { return Err(Error::unsupported("SET PASSWORD TO RANDOM")) };
        if set.retain_current {
            return Err(Error::unsupported("dual passwords"));
        }
        let user = set.user.clone().unwrap_or(UserSpec::Current);
        let name = self.account_name(&user);
        if self.domain.accounts().get(&name.user, &name.host).is_none() {
            return Err(MysqlError::new(mysql_error::ER_PASSWORD_NO_MATCH, "Can't find any matching row in the user table").into());
        }
        let auth = AuthOption { password: Some(password.clone()), replace: set.replace.clone(), ..AuthOption::default() };
        let mut tables = GrantTables::open(&self.domain).await?;
        let changed = UserWithAuth { user, auth: Some(auth) };
        let done = self.alter_user(&mut tables, &changed, false, &UserOptions::default(), None).await;
        tables.close(done).await?;
        self.note_own_password([&changed.user]);
        Ok(())
    }

    /// A session that was let in to change its expired password may go on when it has.
    fn note_own_password<'a>(&mut self, changed: impl IntoIterator<Item = &'a UserSpec>) {
        if changed.into_iter().any(|user| self.account_name(user) == self.own_account()) {
            self.client.password_expired = false;
        }
    }
}

/// 1396
pub(crate) fn failed(operation: &str, name: &AccountName) -> Error {
    MysqlError::new(mysql_error::ER_CANNOT_USER, format!("Operation {operation} failed for '{}'@'{}'", name.user, name.host)).into()
}

/// Whether a statement is one of those that change a password.
pub(crate) fn changes_password(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::SetPassword(_) => true,
        Stmt::AlterUser(alter) => alter.users.iter().all(|user| user.auth.is_some()),
        _ => false,
    }
}

/// The account as `Account` of the picture, for statements that show it.
pub(crate) fn is_same(account: &Account, name: &AccountName) -> bool {
    account.user == name.user && account.host == name.host
}

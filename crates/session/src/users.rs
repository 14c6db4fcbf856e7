//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, SHOW GRANTS: changes of `mysql.user`, made through SQL.

use parser::ast::{AccountName, AuthOption, SetPasswordStmt, Stmt, UserOptions, UserSpec, UserWithAuth};
use types::{
    FieldType,
    mysql_error::{self, MysqlError},
};

use crate::{
    Error,
    accounts::{Account, Privileges},
    result::{Outcome, ResultRows, StatementResult, text},
    session::Session,
    show::quote,
    statements::done,
    transport::Requirement,
};

/// Makes stored forms of passwords; the hashes belong to the protocol.
pub trait PasswordHasher: Send + Sync {
    /// Whether there is such a plugin.
    fn knows(&self, plugin: &str) -> bool;
    /// The stored form of a password.
    fn hash(&self, plugin: &str, password: &[u8]) -> String;
    /// Whether a text is a stored form.
    fn is_hash(&self, plugin: &str, stored: &str) -> bool;
}

impl Session {
    /// Statements on accounts. They commit what is open, as in MySQL.
    pub(crate) async fn run_account_statement(&mut self, stmt: Stmt) -> Result<StatementResult, Error> {
        self.check_writable()?;
        self.commit().await?;
        match stmt {
            Stmt::CreateUser(create) => {
                self.domain.accounts().check_accounts(&self.client)?;
                if !create.default_roles.is_empty() {
                    return Err(Error::unsupported("roles"));
                }
                check_options(&create.options)?;
                for user in &create.users {
                    self.create_user(user, create.if_not_exists, &create.options).await?;
                }
            }
            Stmt::AlterUser(alter) => {
                if alter.default_roles.is_some() {
                    return Err(Error::unsupported("roles"));
                }
                check_options(&alter.options)?;
                for user in &alter.users {
                    self.alter_user(user, alter.if_exists, &alter.options).await?;
                }
            }
            Stmt::DropUser(drop) => {
                self.domain.accounts().check_accounts(&self.client)?;
                for user in &drop.users {
                    self.drop_user(user, drop.if_exists).await?;
                }
            }
            Stmt::RenameUser(pairs) => {
                self.domain.accounts().check_accounts(&self.client)?;
                for (from, to) in &pairs {
                    self.rename_user(from, to).await?;
                }
            }
            Stmt::SetPassword(set) => self.set_password(&set).await?,
            Stmt::Grant(_) => return Err(Error::unsupported("GRANT")),
            Stmt::Revoke(_) => return Err(Error::unsupported("REVOKE")),
            _ => return Err(Error::unsupported("roles")),
        }
        self.domain.accounts().reload(&self.domain).await?;
        crate::notices::accounts_changed(&self.domain).await?;
        self.row_count = 0;
        Ok(done(Outcome::default()))
    }

    /// The account a statement names; the client's own for CURRENT_USER.
    fn account_name(&self, user: &UserSpec) -> AccountName {
        match user {
            UserSpec::Account(account) => account.clone(),
            UserSpec::Current => AccountName { user: self.client.user.clone(), host: self.client.account_host.clone() },
        }
    }

    async fn create_user(&mut self, user: &UserWithAuth, if_not_exists: bool, options: &UserOptions) -> Result<(), Error> {
        let name = self.account_name(&user.user);
        if self.domain.accounts().get(&name.user, &name.host).is_some() {
            if if_not_exists {
                let message = format!("Authorization ID '{}'@'{}' already exists.", name.user, name.host);
                self.warnings.note(3163, message);
                return Ok(());
            }
            return Err(failed("CREATE USER", &name));
        }
        let (plugin, stored) = self.credentials(user.auth.as_ref(), None)?;
        let locked = if options.account_lock == Some(true) { "Y" } else { "N" };
        let require = options.require.as_ref().map(Requirement::from).unwrap_or_default();
        let [ssl_type, cipher, issuer, subject] = require.columns().map(quote);
        let sql = format!(
            "INSERT INTO mysql.user (Host, User, plugin, authentication_string, account_locked, ssl_type, ssl_cipher, x509_issuer, x509_subject) \
             VALUES ({}, {}, {}, {}, '{locked}', {ssl_type}, {cipher}, {issuer}, {subject})",
            quote(&name.host.to_lowercase()),
            quote(&name.user),
            quote(&plugin),
            quote(&stored)
        );
        self.change_accounts(&sql).await
    }

    async fn alter_user(&mut self, user: &UserWithAuth, if_exists: bool, options: &UserOptions) -> Result<(), Error> {
        let name = self.account_name(&user.user);
        if name.user != self.client.user {
            self.domain.accounts().check_accounts(&self.client)?;
        }
        let Some(account) = self.domain.accounts().get(&name.user, &name.host) else {
            if if_exists {
                let message = format!("Authorization ID '{}'@'{}' does not exist.", name.user, name.host);
                self.warnings.note(3162, message);
                return Ok(());
            }
            return Err(failed("ALTER USER", &name));
        };
        let mut changes = Vec::new();
        if user.auth.is_some() {
            let (plugin, stored) = self.credentials(user.auth.as_ref(), Some(&account))?;
            changes.push(format!("plugin = {}, authentication_string = {}", quote(&plugin), quote(&stored)));
        }
        if let Some(lock) = options.account_lock {
            changes.push(format!("account_locked = '{}'", if lock { "Y" } else { "N" }));
        }
        if let Some(require) = &options.require {
            let require = Requirement::from(require);
            let [ssl_type, cipher, issuer, subject] = require.columns().map(quote);
            changes.push(format!("ssl_type = {ssl_type}, ssl_cipher = {cipher}, x509_issuer = {issuer}, x509_subject = {subject}"));
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.change_accounts(&format!("UPDATE mysql.user SET {} WHERE {}", changes.join(", "), condition(&account))).await
    }

    async fn drop_user(&mut self, user: &UserSpec, if_exists: bool) -> Result<(), Error> {
        let name = self.account_name(user);
        match self.domain.accounts().get(&name.user, &name.host) {
            Some(account) => self.change_accounts(&format!("DELETE FROM mysql.user WHERE {}", condition(&account))).await,
            None if if_exists => {
                let message = format!("Authorization ID '{}'@'{}' does not exist.", name.user, name.host);
                self.warnings.note(3162, message);
                Ok(())
            }
            None => Err(failed("DROP USER", &name)),
        }
    }

    async fn rename_user(&mut self, from: &AccountName, to: &AccountName) -> Result<(), Error> {
        let account = self.domain.accounts().get(&from.user, &from.host);
        let (Some(account), None) = (account, self.domain.accounts().get(&to.user, &to.host)) else {
            return Err(failed("RENAME USER", from));
        };
        let set = format!("User = {}, Host = {}", quote(&to.user), quote(&to.host.to_lowercase()));
        self.change_accounts(&format!("UPDATE mysql.user SET {set} WHERE {}", condition(&account))).await
    }

    async fn set_password(&mut self, set: &SetPasswordStmt) -> Result<(), Error> {
        let Some(password) = &set.password else { return Err(Error::unsupported("SET PASSWORD TO RANDOM")) };
        if set.retain_current {
            return Err(Error::unsupported("dual passwords"));
        }
        let user = set.user.clone().unwrap_or(UserSpec::Current);
        let auth = AuthOption { password: Some(password.clone()), ..AuthOption::default() };
        self.alter_user(&UserWithAuth { user, auth: Some(auth) }, false, &UserOptions::default()).await
    }

    /// Plugin and stored form of a password.
    fn credentials(&self, auth: Option<&AuthOption>, old: Option<&Account>) -> Result<(String, String), Error> {
        let hasher = self.domain.password_hasher();
        let default = old.map_or("mysql_native_password", |account| account.plugin.as_str());
        let Some(auth) = auth else { return Ok((default.to_owned(), String::new())) };
        if auth.random_password || auth.retain_current || auth.discard_old {
            return Err(Error::unsupported("random and dual passwords"));
        }
        let plugin = auth.plugin.as_deref().unwrap_or(default);
        if !hasher.knows(plugin) {
            return Err(MysqlError::new(mysql_error::ER_PLUGIN_IS_NOT_LOADED, format!("Plugin '{plugin}' is not loaded")).into());
        }
        let stored = match (&auth.password, &auth.hash) {
            (Some(password), _) => hasher.hash(plugin, password.as_bytes()),
            (None, Some(hash)) if hasher.is_hash(plugin, hash) => hash.clone(),
            (None, Some(_)) => {
                let message = "The password hash doesn't have the expected format.";
                return Err(MysqlError::new(mysql_error::ER_PASSWORD_FORMAT, message).into());
            }
            (None, None) => String::new(),
        };
        Ok((plugin.to_owned(), stored))
    }

    /// Runs a change of the server's own tables with the server's own rights.
    async fn change_accounts(&mut self, sql: &str) -> Result<(), Error> {
        let mut session = Session::internal(&self.domain)?;
        let result = session.run_text(sql.as_bytes()).await;
        session.close().await;
        result.map(|_| ())
    }

    /// SHOW GRANTS.
    pub(crate) fn show_grants(&self, user: Option<&UserSpec>) -> Result<ResultRows, Error> {
        let account = self.shown_account(user)?;
        let privileges = match account.privileges {
            privileges if privileges == Privileges::ALL => "ALL PRIVILEGES".to_owned(),
            privileges if privileges.is_empty() => "USAGE".to_owned(),
            privileges => privileges.names().filter(|name| *name != "GRANT OPTION").collect::<Vec<_>>().join(", "),
        };
        let option = if account.privileges.names().any(|name| name == "GRANT OPTION") { " WITH GRANT OPTION" } else { "" };
        let line = format!("GRANT {privileges} ON *.* TO `{}`@`{}`{option}", account.user, account.host);
        let heading = format!("Grants for {}@{}", account.user, account.host);
        Ok(ResultRows::table(&[(&heading, FieldType::varchar(1024))], vec![vec![text(line)]]))
    }

    /// SHOW CREATE USER.
    pub(crate) fn show_create_user(&self, user: &UserSpec) -> Result<ResultRows, Error> {
        let account = self.shown_account(Some(user))?;
        let lock = if account.locked { "LOCK" } else { "UNLOCK" };
        let auth = if account.auth_string.is_empty() { String::new() } else { format!(" AS {}", quote(&account.auth_string)) };
        let line = format!(
            "CREATE USER `{}`@`{}` IDENTIFIED WITH '{}'{auth} REQUIRE {} PASSWORD EXPIRE DEFAULT ACCOUNT {lock}",
            account.user,
            account.host,
            account.plugin,
            require_clause(&account.require)
        );
        let heading = format!("CREATE USER for {}@{}", account.user, account.host);
        Ok(ResultRows::table(&[(&heading, FieldType::varchar(1024))], vec![vec![text(line)]]))
    }

    fn shown_account(&self, user: Option<&UserSpec>) -> Result<Account, Error> {
        let name = self.account_name(user.unwrap_or(&UserSpec::Current));
        if name.user != self.client.user {
            self.domain.accounts().check_accounts(&self.client)?;
        }
        self.domain.accounts().get(&name.user, &name.host).ok_or_else(|| {
            let message = format!("There is no such grant defined for user '{}' on host '{}'", name.user, name.host);
            MysqlError::new(mysql_error::ER_NONEXISTING_GRANT, message).into()
        })
    }
}

fn condition(account: &Account) -> String {
    format!("User = {} AND Host = {}", quote(&account.user), quote(&account.host))
}

fn failed(operation: &str, name: &AccountName) -> Error {
    MysqlError::new(mysql_error::ER_CANNOT_USER, format!("Operation {operation} failed for '{}'@'{}'", name.user, name.host)).into()
}

/// What follows REQUIRE.
fn require_clause(require: &Requirement) -> String {
    match require {
        Requirement::Nothing => "NONE".to_owned(),
        Requirement::Tls => "SSL".to_owned(),
        Requirement::Certificate => "X509".to_owned(),
        Requirement::Details { cipher, issuer, subject } => {
            let items = [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)];
            let items = items.into_iter().filter(|(_, value)| !value.is_empty());
            items.map(|(item, value)| format!("{item} {}", quote(value))).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Options this server does not enforce are refused rather than ignored.
fn check_options(options: &UserOptions) -> Result<(), Error> {
    if !options.limits.is_empty() {
        return Err(Error::unsupported("resource limits of accounts"));
    }
    if !options.password.is_empty() {
        return Err(Error::unsupported("password rules of accounts"));
    }
    if options.comment.is_some() || options.attribute.is_some() {
        return Err(Error::unsupported("attributes of accounts"));
    }
    Ok(())
}

//! Roles: accounts that nobody logs in as, whose privileges others take on.
//!
//! A session has *active* roles, a part of those granted to its account (and of `mandatory_roles`, which are granted to all). It begins with the
//! account's default roles, or with all under `activate_all_roles_on_login`. An active role brings the roles granted to itself.

use std::sync::Arc;

use parser::ast::{AccountName, CreateRoleStmt, DropUserStmt, GrantRoleStmt, RevokeRoleStmt, RoleSet, SetDefaultRoleStmt};
use types::mysql_error::{self, MysqlError};

use super::{
    check::denied,
    grant::unknown_account,
    needs::Need,
    tables::{GrantTables, of_account},
};
use crate::{Error, session::Session, show::quote, users::failed};

const ROLE_ADMIN: Need = Need::Admin { any: &["SUPER", "ROLE_ADMIN"], names: "WITH ADMIN, ROLE_ADMIN, SUPER" };

impl Session {
    /// The account the session belongs to.
    pub(crate) fn own_account(&self) -> AccountName {
        AccountName { user: self.client.user.clone(), host: self.client.account_host.clone() }
    }

    /// The session begins, or begins anew: its first roles become active.
    pub(crate) fn activate_first_roles(&mut self) {
        let account = self.own_account();
        let accounts = self.domain.accounts();
        let all = self.domain.globals().is_on("activate_all_roles_on_login");
        let roles = if all { accounts.granted_roles(&account) } else { accounts.default_roles(&account) };
        self.activate(roles);
    }

    /// Accounts or roles have changed: computes anew what the session may do. Roles that are no longer granted are no longer active.
    pub(crate) fn refresh_access(&mut self) {
        let granted = self.domain.accounts().granted_roles(&self.own_account());
        let roles = self.access.roles().iter().filter(|role| granted.contains(role)).cloned().collect();
        self.activate(roles);
    }

    fn activate(&mut self, mut roles: Vec<AccountName>) {
        roles.sort_by(|a, b| (&a.user, &a.host).cmp(&(&b.user, &b.host)));
        roles.dedup();
        let names = match roles.is_empty() {
            true => "NONE".to_owned(),
            false => roles.iter().map(quoted).collect::<Vec<_>>().join(","),
        };
        self.access = Arc::new(self.domain.accounts().access(&self.own_account(), roles));
        self.allowed_plans.clear();
        if *self.connection.roles != *names {
            Arc::make_mut(&mut self.connection).roles = names.into();
        }
    }

    /// SET ROLE.
    pub(crate) fn run_set_role(&mut self, set: &RoleSet) -> Result<(), Error> {
        let account = self.own_account();
        let accounts = self.domain.accounts();
        let granted = accounts.granted_roles(&account);
        let roles = match set {
            RoleSet::None => Vec::new(),
            RoleSet::Default => accounts.default_roles(&account),
            RoleSet::All => granted,
            RoleSet::AllExcept(except) => granted.into_iter().filter(|role| !except.contains(role)).collect(),
            RoleSet::Roles(roles) => {
                if let Some(role) = roles.iter().find(|role| !granted.contains(role)) {
                    return Err(not_granted(role, &account));
                }
                roles.clone()
            }
        };
        self.activate(roles);
        Ok(())
    }

    /// CREATE ROLE: an account that is locked and has no password.
    pub(crate) async fn run_create_role(&mut self, create: &CreateRoleStmt) -> Result<(), Error> {
        let mut tables = GrantTables::open(&self.domain).await?;
        let mut done = Ok(());
        for role in &create.roles {
            done = match tables.lock(role).await {
                Ok(true) if create.if_not_exists => {
                    self.warnings.note(3163, format!("Authorization ID '{}'@'{}' already exists.", role.user, role.host));
                    Ok(())
                }
                Ok(true) => Err(failed("CREATE ROLE", role)),
                Ok(false) => tables.run(&insert_role(role)).await,
                Err(error) => Err(error),
            };
            if done.is_err() {
                break;
            }
        }
        tables.close(done).await
    }

    /// DROP ROLE.
    pub(crate) async fn run_drop_role(&mut self, drop: &DropUserStmt) -> Result<(), Error> {
        let mandatory = self.domain.accounts().mandatory_roles();
        let roles: Vec<AccountName> = drop.users.iter().map(|role| self.account_name(role)).collect();
        if let Some(role) = roles.iter().find(|role| mandatory.contains(role)) {
            let message = format!(
                "The role {} is a mandatory role and can't be revoked or dropped. \
                 The restriction can be lifted by excluding the role identifier from the global variable mandatory_roles.",
                quoted(role)
            );
            return Err(MysqlError::new(mysql_error::ER_MANDATORY_ROLE, message).into());
        }
        self.drop_accounts(&roles, drop.if_exists, "DROP ROLE").await
    }

    /// GRANT of roles.
    pub(crate) async fn run_grant_role(&mut self, grant: &GrantRoleStmt) -> Result<(), Error> {
        self.check_role_admin(&grant.roles)?;
        let mut tables = GrantTables::open(&self.domain).await?;
        let done = self.grant_roles(&mut tables, grant).await;
        tables.close(done).await
    }

    async fn grant_roles(&self, tables: &mut GrantTables, grant: &GrantRoleStmt) -> Result<(), Error> {
        for role in &grant.roles {
            if !tables.lock(role).await? {
                return Err(unknown_authorization(role));
            }
        }
        let option = if grant.admin_option { 'Y' } else { 'N' };
        for user in grant.users.iter().map(|user| self.account_name(user)) {
            if !tables.lock(&user).await? {
                return Err(unknown_authorization(&user));
            }
            for role in &grant.roles {
                if *role == user || self.domain.accounts().is_granted(role, &user) {
                    let message = format!("User account {} is directly or indirectly granted to the role {}", quoted(&user), quoted(role));
                    return Err(MysqlError::new(mysql_error::ER_ROLE_GRANTED_TO_ITSELF, message).into());
                }
                let values = [&role.host, &role.user, &user.host, &user.user].map(|text| quote(text)).join(", ");
                // The option given once stays until the role is revoked.
                let keep = if grant.admin_option { "WITH_ADMIN_OPTION = 'Y'" } else { "WITH_ADMIN_OPTION = WITH_ADMIN_OPTION" };
                let columns = "FROM_HOST, FROM_USER, TO_HOST, TO_USER, WITH_ADMIN_OPTION";
                let sql = format!("INSERT INTO mysql.role_edges ({columns}) VALUES ({values}, '{option}') ON DUPLICATE KEY UPDATE {keep}");
                tables.run(&sql).await?;
            }
        }
        Ok(())
    }

    /// REVOKE of roles.
    pub(crate) async fn run_revoke_role(&mut self, revoke: &RevokeRoleStmt) -> Result<(), Error> {
        self.check_role_admin(&revoke.roles)?;
        let mut tables = GrantTables::open(&self.domain).await?;
        let done = self.revoke_roles(&mut tables, revoke).await;
        tables.close(done).await
    }

    async fn revoke_roles(&self, tables: &mut GrantTables, revoke: &RevokeRoleStmt) -> Result<(), Error> {
        for role in &revoke.roles {
            if !tables.lock(role).await? {
                if revoke.if_exists {
                    self.warnings.warn(mysql_error::ER_UNKNOWN_AUTHID.code, format!("Unknown authorization ID {}", quoted(role)));
                    continue;
                }
                return Err(unknown_authorization(role));
            }
        }
        for user in revoke.users.iter().map(|user| self.account_name(user)) {
            if !tables.lock(&user).await? {
                if revoke.ignore_unknown_user {
                    self.warnings.warn(mysql_error::ER_USER_DOES_NOT_EXIST.code, unknown_account(&user));
                    continue;
                }
                return Err(unknown_authorization(&user));
            }
            for role in &revoke.roles {
                let (to, from) = (of_account("TO_USER", "TO_HOST", &user), of_account("FROM_USER", "FROM_HOST", role));
                tables.run(&format!("DELETE FROM mysql.role_edges WHERE {to} AND {from}")).await?;
                let (of, role) = (of_account("USER", "HOST", &user), of_account("DEFAULT_ROLE_USER", "DEFAULT_ROLE_HOST", role));
                tables.run(&format!("DELETE FROM mysql.default_roles WHERE {of} AND {role}")).await?;
            }
        }
        Ok(())
    }

    /// SET DEFAULT ROLE.
    pub(crate) async fn run_set_default_role(&mut self, set: &SetDefaultRoleStmt) -> Result<(), Error> {
        let users: Vec<AccountName> = set.users.iter().map(|user| self.account_name(user)).collect();
        if users.iter().any(|user| *user != self.own_account()) {
            self.check_need(&Need::Global(super::Privilege::CreateUser))?;
        }
        let mut tables = GrantTables::open(&self.domain).await?;
        let mut done = Ok(());
        for user in &users {
            done = self.set_default_roles(&mut tables, user, &set.roles).await;
            if done.is_err() {
                break;
            }
        }
        tables.close(done).await
    }

    /// Replaces the default roles of an account; SET DEFAULT ROLE and ALTER USER … DEFAULT ROLE.
    pub(crate) async fn set_default_roles(&self, tables: &mut GrantTables, user: &AccountName, roles: &RoleSet) -> Result<(), Error> {
        if !tables.lock(user).await? {
            return Err(unknown_authorization(user));
        }
        let granted = self.domain.accounts().granted_roles(user);
        let roles = match roles {
            RoleSet::None | RoleSet::Default => Vec::new(),
            RoleSet::All => granted,
            RoleSet::AllExcept(except) => granted.into_iter().filter(|role| !except.contains(role)).collect(),
            RoleSet::Roles(roles) => {
                if let Some(role) = roles.iter().find(|role| !granted.contains(role)) {
                    return Err(not_granted(role, user));
                }
                roles.clone()
            }
        };
        tables.run(&format!("DELETE FROM mysql.default_roles WHERE {}", of_account("USER", "HOST", user))).await?;
        write_default_roles(tables, user, &roles).await
    }

    /// Roles are granted by those who have ROLE_ADMIN, or these roles with the option.
    fn check_role_admin(&self, roles: &[AccountName]) -> Result<(), Error> {
        if self.check_need(&ROLE_ADMIN).is_ok() {
            return Ok(());
        }
        let own = self.own_account();
        let active = self.access.roles();
        let administers = |role: &AccountName| self.domain.accounts().administers(&own, active, role);
        if roles.iter().all(administers) { Ok(()) } else { Err(denied("WITH ADMIN, ROLE_ADMIN, SUPER")) }
    }
}

/// Adds default roles of an account that has none.
pub(crate) async fn write_default_roles(tables: &mut GrantTables, user: &AccountName, roles: &[AccountName]) -> Result<(), Error> {
    for role in roles {
        let values = [&user.host, &user.user, &role.host, &role.user].map(|text| quote(text)).join(", ");
        let columns = "HOST, USER, DEFAULT_ROLE_HOST, DEFAULT_ROLE_USER";
        tables.run(&format!("INSERT IGNORE INTO mysql.default_roles ({columns}) VALUES ({values})")).await?;
    }
    Ok(())
}

fn insert_role(role: &AccountName) -> String {
    let values = [&role.host.to_lowercase(), &role.user].map(|text| quote(text)).join(", ");
    format!(
        "INSERT INTO mysql.user (Host, User, plugin, authentication_string, password_expired, account_locked, ssl_cipher, x509_issuer, \
         x509_subject) VALUES ({values}, 'caching_sha2_password', '', 'Y', 'Y', '', '', '')"
    )
}

/// An account as messages about roles name it.
pub(crate) fn quoted(account: &AccountName) -> String {
    let quote = |text: &str| format!("`{}`", text.replace('`', "``"));
    format!("{}@{}", quote(&account.user), quote(&account.host))
}

fn unknown_authorization(account: &AccountName) -> Error {
    MysqlError::new(mysql_error::ER_UNKNOWN_AUTHID, format!("Unknown authorization ID {}", quoted(account))).into()
}

pub(super) fn not_granted(role: &AccountName, account: &AccountName) -> Error {
    MysqlError::new(mysql_error::ER_ROLE_NOT_GRANTED, format!("{} is not granted to {}", quoted(role), quoted(account))).into()
}

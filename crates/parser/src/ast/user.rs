//! Accounts, roles and privileges.

use super::{AccountName, Ident, TableName, UserSpec};

/// `CREATE USER`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateUserStmt {
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The users.
    pub users: Vec<UserWithAuth>,
    /// `DEFAULT ROLE`.
    pub default_roles: Vec<AccountName>,
    /// REQUIRE, WITH, PASSWORD, ACCOUNT and the like.
    pub options: UserOptions,
}

/// `ALTER USER`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterUserStmt {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The users.
    pub users: Vec<UserWithAuth>,
    /// `DEFAULT ROLE …`.
    pub default_roles: Option<RoleSet>,
    /// REQUIRE, WITH, PASSWORD, ACCOUNT and the like.
    pub options: UserOptions,
}

/// A user with how it identifies itself.
#[derive(Clone, Debug, PartialEq)]
pub struct UserWithAuth {
    /// The user.
    pub user: UserSpec,
    /// IDENTIFIED; `None` when left out.
    pub auth: Option<AuthOption>,
}

/// `IDENTIFIED [WITH plugin] [BY 'password' | AS 'hash'] …`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthOption {
    /// The plugin.
    pub plugin: Option<String>,
    /// BY: the clear password.
    pub password: Option<String>,
    /// BY RANDOM PASSWORD.
    pub random_password: bool,
    /// AS: the stored form.
    pub hash: Option<String>,
    /// REPLACE: the current password.
    pub replace: Option<String>,
    /// RETAIN CURRENT PASSWORD.
    pub retain_current: bool,
    /// DISCARD OLD PASSWORD.
    pub discard_old: bool,
}

/// What follows the users in CREATE USER and ALTER USER.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserOptions {
    /// `REQUIRE …`.
    pub require: Option<Require>,
    /// `WITH MAX_QUERIES_PER_HOUR n …`: names in upper case.
    pub limits: Vec<(&'static str, u64)>,
    /// Password rules, in order.
    pub password: Vec<PasswordOption>,
    /// `ACCOUNT LOCK` (true), `ACCOUNT UNLOCK` (false).
    pub account_lock: Option<bool>,
    /// `COMMENT`.
    pub comment: Option<String>,
    /// `ATTRIBUTE`.
    pub attribute: Option<String>,
}

/// `REQUIRE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Require {
    /// `NONE`.
    None,
    /// `SSL`.
    Ssl,
    /// `X509`.
    X509,
    /// `SUBJECT`, `ISSUER`, `CIPHER` with their values.
    Items(Vec<(&'static str, String)>),
}

/// A password rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PasswordOption {
    /// `PASSWORD EXPIRE`.
    Expire,
    /// `PASSWORD EXPIRE DEFAULT`.
    ExpireDefault,
    /// `PASSWORD EXPIRE NEVER`.
    ExpireNever,
    /// `PASSWORD EXPIRE INTERVAL n DAY`.
    ExpireDays(u64),
    /// `PASSWORD HISTORY {n | DEFAULT}`.
    History(Option<u64>),
    /// `PASSWORD REUSE INTERVAL {n DAY | DEFAULT}`.
    ReuseDays(Option<u64>),
    /// `PASSWORD REQUIRE CURRENT [DEFAULT | OPTIONAL]`: `Some(false)` is OPTIONAL, `None` DEFAULT.
    RequireCurrent(Option<bool>),
    /// `FAILED_LOGIN_ATTEMPTS n`.
    FailedLoginAttempts(u64),
    /// `PASSWORD_LOCK_TIME {n | UNBOUNDED}`.
    LockTime(Option<u64>),
}

/// `DROP USER`, `DROP ROLE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropUserStmt {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The users or roles.
    pub users: Vec<UserSpec>,
}

/// `CREATE ROLE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateRoleStmt {
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The roles.
    pub roles: Vec<AccountName>,
}

/// `GRANT privileges ON object TO users`.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantStmt {
    /// What is granted.
    pub privileges: Vec<Privilege>,
    /// TABLE, FUNCTION or PROCEDURE before the object.
    pub object_type: Option<ObjectType>,
    /// On what.
    pub level: GrantLevel,
    /// To whom; old syntax with IDENTIFIED is kept for the error MySQL gives.
    pub users: Vec<UserWithAuth>,
    /// `WITH GRANT OPTION`.
    pub grant_option: bool,
    /// `AS user [WITH ROLE …]`.
    pub grant_as: Option<UserSpec>,
}

/// `REVOKE privileges ON object FROM users`.
#[derive(Clone, Debug, PartialEq)]
pub struct RevokeStmt {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// What is revoked; `ALL PRIVILEGES, GRANT OPTION` is two entries with level [`GrantLevel::Everything`].
    pub privileges: Vec<Privilege>,
    /// TABLE, FUNCTION or PROCEDURE before the object.
    pub object_type: Option<ObjectType>,
    /// On what.
    pub level: GrantLevel,
    /// From whom.
    pub users: Vec<UserSpec>,
    /// `IGNORE UNKNOWN USER`.
    pub ignore_unknown_user: bool,
}

/// A privilege, perhaps of single columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Privilege {
    /// The name in upper case: `SELECT`, `ALL PRIVILEGES`, `CREATE USER`, or a dynamic privilege such as `BACKUP_ADMIN`.
    pub name: String,
    /// The columns.
    pub columns: Vec<Ident>,
}

/// What kind of object privileges are granted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ObjectType {
    Table,
    Function,
    Procedure,
}

/// On what privileges are granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantLevel {
    /// `*.*`.
    Global,
    /// `*`: the current database.
    CurrentDatabase,
    /// `db.*`.
    Database(Ident),
    /// `[db.]t`.
    Table(TableName),
    /// `REVOKE ALL PRIVILEGES, GRANT OPTION FROM …`, which names no object.
    Everything,
}

/// `GRANT role, … TO user, …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRoleStmt {
    /// The roles.
    pub roles: Vec<AccountName>,
    /// To whom.
    pub users: Vec<UserSpec>,
    /// `WITH ADMIN OPTION`.
    pub admin_option: bool,
}

/// `REVOKE role, … FROM user, …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokeRoleStmt {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The roles.
    pub roles: Vec<AccountName>,
    /// From whom.
    pub users: Vec<UserSpec>,
    /// `IGNORE UNKNOWN USER`.
    pub ignore_unknown_user: bool,
}

/// `SET PASSWORD [FOR user] = 'text' …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPasswordStmt {
    /// The user; the connected one when left out.
    pub user: Option<UserSpec>,
    /// The new password; `None` is `TO RANDOM`.
    pub password: Option<String>,
    /// `REPLACE 'current'`.
    pub replace: Option<String>,
    /// `RETAIN CURRENT PASSWORD`.
    pub retain_current: bool,
}

/// A set of roles in SET ROLE, SET DEFAULT ROLE and ALTER USER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleSet {
    /// `NONE`.
    None,
    /// `DEFAULT`; SET ROLE only.
    Default,
    /// `ALL`.
    All,
    /// `ALL EXCEPT …`; SET ROLE only.
    AllExcept(Vec<AccountName>),
    /// The named ones.
    Roles(Vec<AccountName>),
}

/// `SET ROLE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetRoleStmt {
    /// Which roles become active.
    pub roles: RoleSet,
}

/// `SET DEFAULT ROLE … TO user, …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetDefaultRoleStmt {
    /// Which roles.
    pub roles: RoleSet,
    /// Whose.
    pub users: Vec<UserSpec>,
}

//! Accounts, roles, privileges.

use std::fmt::{self, Display, Formatter};

use super::{List, Opt, Parens, Quoted, word};
use crate::ast::{
    AlterUserStmt, AuthOption, CreateUserStmt, GrantLevel, GrantRoleStmt, GrantStmt, ObjectType, PasswordOption, Privilege, Require,
    RevokeRoleStmt, RevokeStmt, RoleSet, SetPasswordStmt, UserOptions, UserWithAuth,
};

impl Display for UserWithAuth {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.user, Opt(" ", self.auth.as_ref()))
    }
}

impl Display for AuthOption {
    /// Shows passwords: not for logs.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.discard_old {
            return f.write_str("DISCARD OLD PASSWORD");
        }
        f.write_str("IDENTIFIED")?;
        let quoted = |f: &mut Formatter<'_>, before: &str, text: &Option<String>| match text {
            Some(text) => write!(f, " {before} {}", Quoted(text)),
            None => Ok(()),
        };
        quoted(f, "WITH", &self.plugin)?;
        f.write_str(word(self.random_password, " BY RANDOM PASSWORD"))?;
        quoted(f, "BY", &self.password)?;
        quoted(f, "AS", &self.hash)?;
        quoted(f, "REPLACE", &self.replace)?;
        f.write_str(word(self.retain_current, " RETAIN CURRENT PASSWORD"))
    }
}

impl Display for CreateUserStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "CREATE USER {}{}", word(self.if_not_exists, "IF NOT EXISTS "), List(&self.users, ", "))?;
        if !self.default_roles.is_empty() {
            write!(f, " DEFAULT ROLE {}", List(&self.default_roles, ", "))?;
        }
        self.options.fmt(f)
    }
}

impl Display for AlterUserStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ALTER USER {}{}", word(self.if_exists, "IF EXISTS "), List(&self.users, ", "))?;
        write!(f, "{}{}", Opt(" DEFAULT ROLE ", self.default_roles.as_ref()), self.options)
    }
}

impl Display for UserOptions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.require {
            None => {}
            Some(Require::None) => f.write_str(" REQUIRE NONE")?,
            Some(Require::Ssl) => f.write_str(" REQUIRE SSL")?,
            Some(Require::X509) => f.write_str(" REQUIRE X509")?,
            Some(Require::Items(items)) => {
                f.write_str(" REQUIRE")?;
                items.iter().try_for_each(|(name, value)| write!(f, " {name:#} {}", Quoted(value)))?;
            }
        }
        for (i, (name, n)) in self.limits.iter().enumerate() {
            write!(f, "{}{name:#} {n}", if i == 0 { " WITH " } else { " " })?;
        }
        self.password.iter().try_for_each(|option| write!(f, " {option}"))?;
        if let Some(lock) = self.account_lock {
            write!(f, " ACCOUNT {}", if lock { "LOCK" } else { "UNLOCK" })?;
        }
        if let Some(comment) = &self.comment {
            write!(f, " COMMENT {}", Quoted(comment))?;
        }
        self.attribute.as_ref().map_or(Ok(()), |attribute| write!(f, " ATTRIBUTE {}", Quoted(attribute)))
    }
}

impl Display for PasswordOption {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PasswordOption::Expire => f.write_str("PASSWORD EXPIRE"),
            PasswordOption::ExpireDefault => f.write_str("PASSWORD EXPIRE DEFAULT"),
            PasswordOption::ExpireNever => f.write_str("PASSWORD EXPIRE NEVER"),
            PasswordOption::ExpireDays(n) => write!(f, "PASSWORD EXPIRE INTERVAL {n} DAY"),
            PasswordOption::History(Some(n)) => write!(f, "PASSWORD HISTORY {n}"),
            PasswordOption::History(None) => f.write_str("PASSWORD HISTORY DEFAULT"),
            PasswordOption::ReuseDays(Some(n)) => write!(f, "PASSWORD REUSE INTERVAL {n} DAY"),
            PasswordOption::ReuseDays(None) => f.write_str("PASSWORD REUSE INTERVAL DEFAULT"),
            PasswordOption::RequireCurrent(Some(true)) => f.write_str("PASSWORD REQUIRE CURRENT"),
            PasswordOption::RequireCurrent(Some(false)) => f.write_str("PASSWORD REQUIRE CURRENT OPTIONAL"),
            PasswordOption::RequireCurrent(None) => f.write_str("PASSWORD REQUIRE CURRENT DEFAULT"),
            PasswordOption::FailedLoginAttempts(n) => write!(f, "FAILED_LOGIN_ATTEMPTS {n}"),
            PasswordOption::LockTime(Some(n)) => write!(f, "PASSWORD_LOCK_TIME {n}"),
            PasswordOption::LockTime(None) => f.write_str("PASSWORD_LOCK_TIME UNBOUNDED"),
        }
    }
}

impl Display for Privilege {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, Parens(" ", &self.columns))
    }
}

impl Display for ObjectType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ObjectType::Table => "TABLE ",
            ObjectType::Function => "FUNCTION ",
            ObjectType::Procedure => "PROCEDURE ",
        })
    }
}

impl Display for GrantLevel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GrantLevel::Global => f.write_str("*.*"),
            GrantLevel::CurrentDatabase => f.write_str("*"),
            GrantLevel::Database(name) => write!(f, "{name:#}.*"),
            GrantLevel::Table(name) => name.fmt(f),
            GrantLevel::Everything => Ok(()),
        }
    }
}

impl Display for GrantStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "GRANT {} ON {}{}", List(&self.privileges, ", "), Opt("", self.object_type.as_ref()), self.level)?;
        write!(f, " TO {}{}", List(&self.users, ", "), word(self.grant_option, " WITH GRANT OPTION"))?;
        write!(f, "{}", Opt(" AS ", self.grant_as.as_ref()))
    }
}

impl Display for RevokeStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "REVOKE {}{}", word(self.if_exists, "IF EXISTS "), List(&self.privileges, ", "))?;
        if self.level != GrantLevel::Everything {
            write!(f, " ON {}{}", Opt("", self.object_type.as_ref()), self.level)?;
        }
        write!(f, " FROM {}{}", List(&self.users, ", "), word(self.ignore_unknown_user, " IGNORE UNKNOWN USER"))
    }
}

impl Display for GrantRoleStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "GRANT {} TO {}", List(&self.roles, ", "), List(&self.users, ", "))?;
        f.write_str(word(self.admin_option, " WITH ADMIN OPTION"))
    }
}

impl Display for RevokeRoleStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "REVOKE {}{}", word(self.if_exists, "IF EXISTS "), List(&self.roles, ", "))?;
        write!(f, " FROM {}{}", List(&self.users, ", "), word(self.ignore_unknown_user, " IGNORE UNKNOWN USER"))
    }
}

impl Display for SetPasswordStmt {
    /// Shows the password: not for logs.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "SET PASSWORD{}", Opt(" FOR ", self.user.as_ref()))?;
        match &self.password {
            Some(password) => write!(f, " = {}", Quoted(password))?,
            None => f.write_str(" TO RANDOM")?,
        }
        if let Some(replace) = &self.replace {
            write!(f, " REPLACE {}", Quoted(replace))?;
        }
        f.write_str(word(self.retain_current, " RETAIN CURRENT PASSWORD"))
    }
}

impl Display for RoleSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            RoleSet::None => f.write_str("NONE"),
            RoleSet::Default => f.write_str("DEFAULT"),
            RoleSet::All => f.write_str("ALL"),
            RoleSet::AllExcept(roles) => write!(f, "ALL EXCEPT {}", List(roles, ", ")),
            RoleSet::Roles(roles) => List(roles, ", ").fmt(f),
        }
    }
}

//! SHOW CREATE USER.

use parser::ast::UserSpec;
use serde_json::Value;
use types::FieldType;

use crate::{
    Error,
    accounts::Account,
    privileges::{Privilege, grant::no_such_grant, needs::Need, roles::quoted},
    result::{ResultRows, text},
    session::Session,
    show::quote,
    transport::Requirement,
};

impl Session {
    /// SHOW CREATE USER.
    pub(crate) fn show_create_user(&self, user: &UserSpec) -> Result<ResultRows, Error> {
        let name = self.account_name(user);
        if name != self.own_account() {
            self.check_need(&Need::Database(Some("mysql".to_owned()), Privilege::Select))?;
        }
        let account = self.domain.accounts().get(&name.user, &name.host).ok_or_else(|| no_such_grant(&name))?;
        let heading = format!("CREATE USER for {}@{}", account.user, account.host);
        Ok(ResultRows::table(&[(&heading, FieldType::varchar(4096))], vec![vec![text(statement(&account))]]))
    }
}

/// The statement that would create the account.
fn statement(account: &Account) -> String {
    let mut line = format!("CREATE USER {} IDENTIFIED WITH '{}'", quoted(&account.name()), account.plugin);
    if !account.auth_string.is_empty() {
        line += &format!(" AS {}", quote(&account.auth_string));
    }
    if !account.default_roles.is_empty() {
        let roles: Vec<String> = account.default_roles.iter().map(quoted).collect();
        line += &format!(" DEFAULT ROLE {}", roles.join(","));
    }
    line += &format!(" REQUIRE {}", require_clause(&account.require));
    line += &match (account.password_expired, account.password_lifetime) {
        (true, _) => " PASSWORD EXPIRE".to_owned(),
        (false, None) => " PASSWORD EXPIRE DEFAULT".to_owned(),
        (false, Some(0)) => " PASSWORD EXPIRE NEVER".to_owned(),
        (false, Some(days)) => format!(" PASSWORD EXPIRE INTERVAL {days} DAY"),
    };
    line += if account.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" };
    line += " PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT";
    if let Some(locking) = account.locking() {
        let time = locking.days.map_or("UNBOUNDED".to_owned(), |days| days.to_string());
        line += &format!(" FAILED_LOGIN_ATTEMPTS {} PASSWORD_LOCK_TIME {time}", locking.attempts);
    }
    if let Some(metadata) =
        account.attributes.get("metadata").filter(|metadata| metadata.as_object().is_some_and(|members| !members.is_empty()))
    {
        line += &format!(" ATTRIBUTE {}", quote(&spaced(metadata)));
    }
    line
}

/// JSON as MySQL prints it, with spaces behind colons and commas.
fn spaced(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), spaced(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
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

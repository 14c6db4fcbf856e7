//! REQUIRE, PASSWORD, ACCOUNT, COMMENT and ATTRIBUTE of CREATE USER and ALTER USER, as columns of `mysql.user`.
//!
//! Options this server does not enforce are refused rather than ignored.

use parser::ast::{PasswordOption, UserOptions};
use serde_json::{Map, Value};
use types::mysql_error::{self, MysqlError};

use crate::{Error, accounts::Account, show::quote, transport::Requirement};

/// Columns with their new values, as SQL.
pub(super) fn columns(options: &UserOptions, account: Option<&Account>) -> Result<Vec<(&'static str, String)>, Error> {
    if options.limits.iter().any(|(_, limit)| *limit != 0) {
        return Err(Error::unsupported("resource limits of accounts"));
    }
    let mut columns = Vec::new();
    if let Some(require) = &options.require {
        let require = Requirement::from(require);
        let names = ["ssl_type", "ssl_cipher", "x509_issuer", "x509_subject"];
        columns.extend(names.into_iter().zip(require.columns().map(quote)));
    }
    if let Some(lock) = options.account_lock {
        columns.push(("account_locked", flag(lock)));
    }
    let mut attributes = account.map(|account| account.attributes.clone()).unwrap_or_default();
    let before = attributes.clone();
    for option in &options.password {
        match option {
            PasswordOption::Expire => columns.push(("password_expired", flag(true))),
            PasswordOption::ExpireDefault => columns.push(("password_lifetime", "NULL".to_owned())),
            PasswordOption::ExpireNever => columns.push(("password_lifetime", "0".to_owned())),
            PasswordOption::ExpireDays(days) => columns.push(("password_lifetime", days_text(*days)?)),
            PasswordOption::FailedLoginAttempts(attempts) => locking(&mut attributes, "failed_login_attempts", *attempts as i64),
            PasswordOption::LockTime(days) => locking(&mut attributes, "password_lock_time_days", days.map_or(-1, |days| days as i64)),
            PasswordOption::History(None | Some(0)) | PasswordOption::ReuseDays(None | Some(0)) => {}
            PasswordOption::RequireCurrent(None | Some(false)) => {}
            PasswordOption::History(_) => return Err(Error::unsupported("PASSWORD HISTORY")),
            PasswordOption::ReuseDays(_) => return Err(Error::unsupported("PASSWORD REUSE INTERVAL")),
            PasswordOption::RequireCurrent(Some(true)) => return Err(Error::unsupported("PASSWORD REQUIRE CURRENT")),
        }
    }
    if let Some(comment) = &options.comment {
        let comment = Map::from_iter([("comment".to_owned(), Value::String(comment.clone()))]);
        add_metadata(&mut attributes, comment);
    }
    if let Some(attribute) = &options.attribute {
        let Ok(Value::Object(added)) = serde_json::from_str(attribute) else {
            return Err(MysqlError::new(mysql_error::ER_INVALID_USER_ATTRIBUTE_JSON, "Invalid JSON text in attribute.").into());
        };
        add_metadata(&mut attributes, added);
    }
    if attributes != before {
        let text = if attributes.is_empty() { "NULL".to_owned() } else { quote(&Value::Object(attributes).to_string()) };
        columns.push(("User_attributes", text));
    }
    Ok(columns)
}

fn flag(on: bool) -> String {
    if on { "'Y'" } else { "'N'" }.to_owned()
}

fn days_text(days: u64) -> Result<String, Error> {
    if (1..=65_535).contains(&days) {
        return Ok(days.to_string());
    }
    Err(MysqlError::new(mysql_error::ER_WRONG_VALUE, format!("Incorrect DAY value: '{days}'")).into())
}

/// Sets one of the figures of locking after failed logins; both at 0 is none.
fn locking(attributes: &mut Map<String, Value>, name: &str, value: i64) {
    let entry = attributes.entry("Password_locking").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(figures) = entry {
        for known in ["failed_login_attempts", "password_lock_time_days"] {
            figures.entry(known).or_insert(Value::from(0));
        }
        figures.insert(name.to_owned(), Value::from(value));
        if figures.values().all(|figure| figure.as_i64() == Some(0)) {
            attributes.remove("Password_locking");
        }
    }
}

/// Adds members to the metadata; null takes one away.
fn add_metadata(attributes: &mut Map<String, Value>, added: Map<String, Value>) {
    let entry = attributes.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = entry {
        for (name, value) in added {
            if value.is_null() { drop(metadata.remove(&name)) } else { drop(metadata.insert(name, value)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(password: Vec<PasswordOption>) -> UserOptions {
        UserOptions { password, ..UserOptions::default() }
    }

    #[test]
    fn options_become_columns() {
        let of = |password| columns(&options(password), None).expect("supported");
        assert_eq!(of(vec![PasswordOption::Expire]), [("password_expired", "'Y'".to_owned())]);
        assert_eq!(of(vec![PasswordOption::ExpireDays(90)]), [("password_lifetime", "90".to_owned())]);
        let locking = of(vec![PasswordOption::FailedLoginAttempts(3), PasswordOption::LockTime(None)]);
        let text = r#"'{"Password_locking":{"failed_login_attempts":3,"password_lock_time_days":-1}}'"#;
        assert_eq!(locking, [("User_attributes", text.to_owned())]);
        assert!(of(vec![PasswordOption::FailedLoginAttempts(0)]).is_empty());
    }

    #[test]
    fn attributes_are_added_to_those_there_and_null_removes() {
        let account =
            Account { attributes: Map::from_iter([("metadata".to_owned(), serde_json::json!({"a": 1, "b": 2}))]), ..Account::default() };
        let change = UserOptions { attribute: Some(r#"{"b": null, "c": 3}"#.to_owned()), ..UserOptions::default() };
        let changed = columns(&change, Some(&account)).expect("supported");
        assert_eq!(changed, [("User_attributes", r#"'{"metadata":{"a":1,"c":3}}'"#.to_owned())]);
        let wrong = UserOptions { attribute: Some("[1]".to_owned()), ..UserOptions::default() };
        assert!(columns(&wrong, None).is_err());
    }

    #[test]
    fn what_is_not_enforced_is_refused() {
        for option in [PasswordOption::History(Some(3)), PasswordOption::ReuseDays(Some(1)), PasswordOption::RequireCurrent(Some(true))] {
            assert!(columns(&options(vec![option]), None).is_err(), "{option:?}");
        }
        assert!(columns(&options(vec![PasswordOption::ExpireDays(0)]), None).is_err());
    }
}

//! Stored forms of passwords.

use parser::ast::AuthOption;
use types::mysql_error::{self, MysqlError};

use crate::{Error, accounts::Account, session::Session};

/// Makes stored forms of passwords; the hashes belong to the protocol.
pub trait PasswordHasher: Send + Sync {
    /// Whether there is such a plugin.
    fn knows(&self, plugin: &str) -> bool;
    /// The stored form of a password.
    fn hash(&self, plugin: &str, password: &[u8]) -> String;
    /// Whether a text is a stored form.
    fn is_hash(&self, plugin: &str, stored: &str) -> bool;
    /// Whether a stored form is that of a password.
    fn verify(&self, plugin: &str, stored: &str, password: &[u8]) -> bool;
}

impl Session {
    /// Plugin and stored form of a password.
    pub(super) fn credentials(&self, auth: Option<&AuthOption>, old: Option<&Account>) -> Result<(String, String), Error> {
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

    /// REPLACE: the current password has to be the right one, and is asked for of one's own account only.
    pub(super) fn check_replaced(&self, auth: &AuthOption, account: &Account) -> Result<(), Error> {
        let Some(current) = &auth.replace else { return Ok(()) };
        if !super::is_same(account, &self.own_account()) {
            let message = "Do not specify the current password while changing it for other users.";
            return Err(MysqlError::new(mysql_error::ER_CURRENT_PASSWORD_NOT_REQUIRED, message).into());
        }
        if self.domain.password_hasher().verify(&account.plugin, &account.auth_string, current.as_bytes()) {
            return Ok(());
        }
        let message = "Incorrect current password. Specify the correct password which has to be replaced.";
        Err(MysqlError::new(mysql_error::ER_INCORRECT_CURRENT_PASSWORD, message).into())
    }
}

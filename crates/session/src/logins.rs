//! Failed logins and passwords that are too old: when an account that exists is not let in although, or because, of its password.
//!
//! `FAILED_LOGIN_ATTEMPTS n PASSWORD_LOCK_TIME d`: after n wrong passwords in a row an account is locked for d days, also for the right password. As in
//! MySQL the counts are each server's own, and a restart forgets them; unlocking an account, changing or dropping it does so too.

use parking_lot::Mutex;
use parser::ast::AccountName;
use rustc_hash::FxHashMap;
use types::mysql_error::{self, MysqlError};

use crate::accounts::Account;

const DAY_MS: u64 = 86_400_000;

/// `FAILED_LOGIN_ATTEMPTS` and `PASSWORD_LOCK_TIME` of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locking {
    /// Wrong passwords in a row.
    pub attempts: u64,
    /// Days of being locked; `None` until somebody unlocks it.
    pub days: Option<u64>,
}

impl Locking {
    /// Whether it has an effect: MySQL wants both figures.
    fn is_on(self) -> bool {
        self.attempts > 0 && self.days != Some(0)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    count: u64,
    /// When it was locked, in milliseconds since the epoch.
    locked_ms: Option<u64>,
}

/// Wrong passwords of accounts that are locked after some.
#[derive(Default)]
pub struct Logins(Mutex<FxHashMap<AccountName, Failures>>);

impl Logins {
    /// Fails while an account is locked for its failed logins.
    pub fn admit(&self, account: &Account, now_ms: u64) -> Result<(), MysqlError> {
        let Some(locking) = account.locking().filter(|locking| locking.is_on()) else { return Ok(()) };
        let mut failures = self.0.lock();
        let Some(known) = failures.get(&account.name()).copied() else { return Ok(()) };
        let Some(locked_ms) = known.locked_ms else { return Ok(()) };
        match remaining_days(locking, locked_ms, now_ms) {
            Some(0) => {
                failures.remove(&account.name());
                Ok(())
            }
            remaining => Err(blocked(account, locking, remaining)),
        }
    }

    /// A wrong password was given. The error when it was the last one allowed.
    pub fn failed(&self, account: &Account, now_ms: u64) -> Result<(), MysqlError> {
        let Some(locking) = account.locking().filter(|locking| locking.is_on()) else { return Ok(()) };
        let mut failures = self.0.lock();
        let known = failures.entry(account.name()).or_default();
        known.count += 1;
        if known.count < locking.attempts {
            return Ok(());
        }
        known.locked_ms = Some(now_ms);
        Err(blocked(account, locking, locking.days))
    }

    /// The right password was given.
    pub fn succeeded(&self, account: &Account) {
        if account.locking().is_some() {
            self.forget(&account.name());
        }
    }

    /// The account was changed, unlocked or dropped.
    pub(crate) fn forget(&self, account: &AccountName) {
        self.0.lock().remove(account);
    }
}

/// Days that are left, the one that has begun counted; `None` without end.
fn remaining_days(locking: Locking, locked_ms: u64, now_ms: u64) -> Option<u64> {
    let days = locking.days?;
    let end_ms = locked_ms.saturating_add(days.saturating_mul(DAY_MS));
    Some(end_ms.saturating_sub(now_ms).div_ceil(DAY_MS))
}

fn blocked(account: &Account, locking: Locking, remaining: Option<u64>) -> MysqlError {
    let days = |days: Option<u64>| days.map_or("unlimited".to_owned(), |days| days.to_string());
    let message = format!(
        "Access denied for user '{}'@'{}'. Account is blocked for {} day(s) ({} day(s) remaining) due to {} consecutive failed logins.",
        account.user,
        account.host,
        days(locking.days),
        days(remaining),
        locking.attempts
    );
    MysqlError::new(mysql_error::ER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK, message)
}

impl Account {
    /// When it is locked for failed logins.
    pub(crate) fn locking(&self) -> Option<Locking> {
        let figures = self.attributes.get("Password_locking")?;
        let days = figures.get("password_lock_time_days")?.as_i64()?;
        Some(Locking { attempts: figures.get("failed_login_attempts")?.as_u64()?, days: u64::try_from(days).ok() })
    }

    /// Whether its password has to be changed before anything else. `default_days` is `default_password_lifetime`.
    pub fn has_expired_password(&self, default_days: u64, now_ms: u64) -> bool {
        let days = self.password_lifetime.unwrap_or(default_days);
        let too_old = |changed_ms: u64| days > 0 && now_ms.saturating_sub(changed_ms) > days.saturating_mul(DAY_MS);
        self.password_expired || self.password_changed_ms.is_some_and(too_old)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn account(attempts: u64, days: i64) -> Account {
        let locking = json!({"failed_login_attempts": attempts, "password_lock_time_days": days});
        let attributes = Map::from_iter([("Password_locking".to_owned(), locking)]);
        Account { user: "ada".to_owned(), host: "%".to_owned(), attributes, ..Account::default() }
    }

    #[test]
    fn the_last_wrong_password_locks_the_account_for_its_days() {
        let (logins, account) = (Logins::default(), account(2, 1));
        assert!(logins.failed(&account, 0).is_ok() && logins.admit(&account, 0).is_ok());
        let error = logins.failed(&account, 0).expect_err("locked");
        assert_eq!(error.code, 3955);
        assert!(error.message.ends_with("Account is blocked for 1 day(s) (1 day(s) remaining) due to 2 consecutive failed logins."));
        assert!(logins.admit(&account, DAY_MS - 1).is_err() && logins.admit(&account, DAY_MS).is_ok());
        assert!(logins.failed(&account, DAY_MS).is_ok(), "counting begins anew");
    }

    #[test]
    fn right_passwords_between_wrong_ones_keep_it_open_and_half_a_rule_is_none() {
        let (logins, one) = (Logins::default(), account(2, -1));
        for _ in 0..3 {
            assert!(logins.failed(&one, 0).is_ok());
            logins.succeeded(&one);
        }
        assert!(logins.failed(&one, 0).is_ok() && logins.failed(&one, 0).is_err());
        assert!(logins.admit(&one, u64::MAX).is_err(), "without end");
        logins.forget(&one.name());
        assert!(logins.admit(&one, 0).is_ok());
        let half = account(2, 0);
        assert!((0..5).all(|_| logins.failed(&half, 0).is_ok()));
    }

    #[test]
    fn passwords_grow_old_by_the_days_of_the_account_or_of_all() {
        let old = Account { password_changed_ms: Some(0), ..Account::default() };
        assert!(old.has_expired_password(1, DAY_MS + 1) && !old.has_expired_password(1, DAY_MS) && !old.has_expired_password(0, u64::MAX));
        let never = Account { password_lifetime: Some(0), ..old.clone() };
        assert!(!never.has_expired_password(1, u64::MAX));
        assert!(Account { password_expired: true, ..never }.has_expired_password(0, 0));
    }
}

//! Accounts: who may connect, with which password, and what they were granted.
//!
//! The truth is in the grant tables of the database `mysql`; the server keeps a picture of them that is taken anew whenever a statement on
//! accounts, here or on another server, has changed them. Every picture has a number; a session whose [`Access`] was computed from an older one
//! computes it again before its next statement.
//!
//! An account is `user@host`, the host a pattern. Of several that match a client the one with the most specific host counts, and of
//! those the one that names the user.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use parking_lot::RwLock;
use parser::ast::AccountName;
use rustc_hash::FxHashMap;
use types::Datum;

use crate::{
    Error,
    domain::Domain,
    privileges::{
        Access, DynamicSet, GrantTables, Grants, Privilege, PrivilegeSet, host,
        set::DESCRIPTIONS,
        tables::{number_of, text_of},
    },
    transport::Requirement,
};

/// A role granted to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GrantedRole {
    pub role: AccountName,
    /// WITH ADMIN OPTION
    pub admin: bool,
}

/// An account.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// User name; empty for anybody.
    pub user: String,
    /// Host pattern.
    pub host: String,
    /// Authentication plugin.
    pub plugin: String,
    /// Stored form of the password; empty for none.
    pub auth_string: String,
    /// What its clients' connections must be.
    pub require: Requirement,
    /// Whether it may not connect.
    pub locked: bool,
    /// Whether its password has to be changed.
    pub(crate) password_expired: bool,
    /// When it was changed, in milliseconds since the epoch.
    pub(crate) password_changed_ms: Option<u64>,
    /// Days it is good for; 0 for ever, none for `default_password_lifetime`.
    pub(crate) password_lifetime: Option<u64>,
    /// `User_attributes`: comments, and rules about failed logins.
    pub(crate) attributes: serde_json::Map<String, serde_json::Value>,
    /// What it was granted itself.
    pub(crate) grants: Arc<Grants>,
    /// Roles granted to it.
    pub(crate) roles: Vec<GrantedRole>,
    /// Roles that are active when it connects.
    pub(crate) default_roles: Vec<AccountName>,
}

impl Account {
    /// Its name.
    pub fn name(&self) -> AccountName {
        AccountName { user: self.user.clone(), host: self.host.clone() }
    }
}

/// A picture of all accounts.
#[derive(Default)]
struct Directory {
    /// In the order in which they are tried for a client.
    accounts: Vec<Arc<Account>>,
    by_name: FxHashMap<AccountName, usize>,
}

impl Directory {
    fn new(mut accounts: Vec<Account>) -> Self {
        accounts.sort_by_key(|account| std::cmp::Reverse((host::specificity(&account.host), !account.user.is_empty())));
        let accounts: Vec<Arc<Account>> = accounts.into_iter().map(Arc::new).collect();
        let by_name = accounts.iter().enumerate().map(|(place, account)| (account.name(), place)).collect();
        Self { accounts, by_name }
    }

    fn get(&self, name: &AccountName) -> Option<&Arc<Account>> {
        self.by_name.get(name).map(|place| &self.accounts[*place])
    }

    /// Roles, and what is granted to roles, without end: each name once.
    fn closure(&self, roles: impl IntoIterator<Item = AccountName>) -> Vec<AccountName> {
        let mut found: Vec<AccountName> = roles.into_iter().collect();
        let mut next = 0;
        while let Some(role) = found.get(next).cloned() {
            next += 1;
            for granted in self.get(&role).map_or(&[][..], |account| &account.roles[..]) {
                if !found.contains(&granted.role) {
                    found.push(granted.role.clone());
                }
            }
        }
        found
    }
}

/// The accounts of a cluster, as this server knows them.
#[derive(Default)]
pub struct Accounts {
    directory: RwLock<Arc<Directory>>,
    mandatory: RwLock<Vec<AccountName>>,
    version: AtomicU64,
    /// Pictures are taken one after the other: an older one never comes over a newer one.
    loading: tokio::sync::Mutex<()>,
}

impl Accounts {
    /// The account of a client that calls itself `user` and comes from `client_host`.
    pub fn find(&self, user: &str, client_host: &str) -> Option<Arc<Account>> {
        let directory = self.directory.read().clone();
        let fits = |account: &&Arc<Account>| (account.user.is_empty() || account.user == user) && host::matches(&account.host, client_host);
        directory.accounts.iter().find(fits).cloned()
    }

    /// The account of exactly this name.
    pub fn get(&self, user: &str, host: &str) -> Option<Arc<Account>> {
        let name = AccountName { user: user.to_owned(), host: host.to_ascii_lowercase() };
        self.directory.read().get(&name).cloned()
    }

    /// All accounts.
    pub(crate) fn all(&self) -> Vec<Arc<Account>> {
        self.directory.read().accounts.clone()
    }

    /// The number of the present picture.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// What an account may do with some roles active.
    pub(crate) fn access(&self, account: &AccountName, roles: Vec<AccountName>) -> Access {
        // The number first: a picture that comes meanwhile makes the result stale, not wrong for good.
        let version = self.version();
        let directory = self.directory.read().clone();
        let active = directory.closure(roles.iter().cloned());
        let names = std::iter::once(account).chain(&active);
        let sources = names.filter_map(|name| directory.get(name)).map(|account| account.grants.clone()).collect();
        Access::new(version, roles, sources)
    }

    /// The roles an account may make active.
    pub(crate) fn granted_roles(&self, account: &AccountName) -> Vec<AccountName> {
        let directory = self.directory.read().clone();
        let own = directory.get(account).map_or(&[][..], |account| &account.roles[..]);
        let mut roles: Vec<AccountName> = own.iter().map(|granted| granted.role.clone()).collect();
        let mandatory = self.mandatory.read().clone();
        roles.extend(mandatory.into_iter().filter(|role| role != account && directory.get(role).is_some()));
        roles
    }

    /// The roles that are active when an account connects; those of them that are still granted.
    pub(crate) fn default_roles(&self, account: &AccountName) -> Vec<AccountName> {
        let granted = self.granted_roles(account);
        let directory = self.directory.read().clone();
        let chosen = directory.get(account).map_or(&[][..], |account| &account.default_roles[..]);
        chosen.iter().filter(|role| granted.contains(role)).cloned().collect()
    }

    /// Whether `account` was granted to `role`, perhaps by way of others.
    pub(crate) fn is_granted(&self, role: &AccountName, account: &AccountName) -> bool {
        self.directory.read().closure([role.clone()]).contains(account)
    }

    /// Whether an account, or one of its active roles, was granted `role` with the option to grant it on.
    pub(crate) fn administers(&self, account: &AccountName, active: &[AccountName], role: &AccountName) -> bool {
        let directory = self.directory.read().clone();
        let mut names = directory.closure(active.iter().cloned());
        names.push(account.clone());
        names.iter().filter_map(|name| directory.get(name)).flat_map(|known| &known.roles).any(|known| known.admin && known.role == *role)
    }

    /// The roles granted to every account.
    pub(crate) fn mandatory_roles(&self) -> Vec<AccountName> {
        self.mandatory.read().clone()
    }

    /// `mandatory_roles` was set.
    pub(crate) fn set_mandatory_roles(&self, text: &str) {
        *self.mandatory.write() = role_names(text);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Reads the grant tables anew.
    pub(crate) async fn reload(&self, domain: &Arc<Domain>) -> Result<(), Error> {
        let _one = self.loading.lock().await;
        let mut tables = GrantTables::open(domain).await?;
        let read = read(&mut tables).await;
        let accounts = tables.close(read).await?;
        *self.directory.write() = Arc::new(Directory::new(accounts));
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

/// Reads all grant tables in one snapshot.
async fn read(tables: &mut GrantTables) -> Result<Vec<Account>, Error> {
    let columns: Vec<&str> = DESCRIPTIONS.iter().map(|known| known.column).collect();
    let columns = columns.join(", ");
    let mut accounts: FxHashMap<AccountName, (Account, Grants)> = FxHashMap::default();
    let of = "User, Host, plugin, authentication_string, account_locked, ssl_type, ssl_cipher, x509_issuer, x509_subject, password_expired, \
              UNIX_TIMESTAMP(password_last_changed), password_lifetime, User_attributes";
    for row in tables.rows(&format!("SELECT {of}, {columns} FROM mysql.user")).await? {
        let account = account(&row);
        let grants = Grants { global: flags(&row, 13, PrivilegeSet::GLOBAL), ..Grants::default() };
        accounts.insert(account.name(), (account, grants));
    }
    let kept = PrivilegeSet::DATABASE;
    let columns: Vec<&str> = DESCRIPTIONS.iter().filter(|known| kept.has(known.privilege)).map(|known| known.column).collect();
    for row in tables.rows(&format!("SELECT User, Host, Db, {}, Grant_priv FROM mysql.db", columns.join(", "))).await? {
        if let Some((_, grants)) = accounts.get_mut(&name_at(&row, 0)) {
            grants.add_database(text_of(&row, 2), flags(&row, 3, kept));
        }
    }
    for row in tables.rows("SELECT User, Host, Db, Table_name, Table_priv FROM mysql.tables_priv").await? {
        if let Some((_, grants)) = accounts.get_mut(&name_at(&row, 0)) {
            grants.table_mut(&text_of(&row, 2), &text_of(&row, 3)).privileges = PrivilegeSet::from_words(&text_of(&row, 4));
        }
    }
    for row in tables.rows("SELECT User, Host, Db, Table_name, Column_name, Column_priv FROM mysql.columns_priv").await? {
        if let Some((_, grants)) = accounts.get_mut(&name_at(&row, 0)) {
            let table = grants.table_mut(&text_of(&row, 2), &text_of(&row, 3));
            table.columns.insert(text_of(&row, 4).to_lowercase(), PrivilegeSet::from_words(&text_of(&row, 5)));
        }
    }
    for row in tables.rows("SELECT USER, HOST, PRIV, WITH_GRANT_OPTION FROM mysql.global_grants").await? {
        if let (Some((_, grants)), Some(one)) = (accounts.get_mut(&name_at(&row, 0)), DynamicSet::named(&text_of(&row, 2))) {
            grants.dynamic = grants.dynamic.union(one);
            if is_yes(&row, 3) {
                grants.dynamic_grantable = grants.dynamic_grantable.union(one);
            }
        }
    }
    for row in tables.rows("SELECT TO_USER, TO_HOST, FROM_USER, FROM_HOST, WITH_ADMIN_OPTION FROM mysql.role_edges").await? {
        if let Some((account, _)) = accounts.get_mut(&name_at(&row, 0)) {
            account.roles.push(GrantedRole { role: name_at(&row, 2), admin: is_yes(&row, 4) });
        }
    }
    for row in tables.rows("SELECT USER, HOST, DEFAULT_ROLE_USER, DEFAULT_ROLE_HOST FROM mysql.default_roles").await? {
        if let Some((account, _)) = accounts.get_mut(&name_at(&row, 0)) {
            account.default_roles.push(name_at(&row, 2));
        }
    }
    Ok(accounts.into_values().map(|(account, grants)| Account { grants: Arc::new(grants), ..account }).collect())
}

/// A user and a host side by side.
fn name_at(row: &[Datum], at: usize) -> AccountName {
    AccountName { user: text_of(row, at), host: text_of(row, at + 1).to_ascii_lowercase() }
}

fn is_yes(row: &[Datum], at: usize) -> bool {
    text_of(row, at).eq_ignore_ascii_case("Y")
}

/// The privileges whose columns say Y: those of `kept` in their order from `from` on, then GRANT OPTION.
fn flags(row: &[Datum], from: usize, kept: PrivilegeSet) -> PrivilegeSet {
    let granted = |privilege: &Privilege| kept.has(*privilege) || *privilege == Privilege::GrantOption;
    let all = DESCRIPTIONS.iter().map(|known| known.privilege).filter(granted);
    all.enumerate().filter(|(at, _)| is_yes(row, from + at)).map(|(_, privilege)| privilege).collect()
}

fn account(row: &[Datum]) -> Account {
    let AccountName { user, host } = name_at(row, 0);
    Account {
        user,
        host,
        plugin: text_of(row, 2),
        auth_string: text_of(row, 3),
        locked: is_yes(row, 4),
        require: Requirement::from_columns(&text_of(row, 5), text_of(row, 6), text_of(row, 7), text_of(row, 8)),
        password_expired: is_yes(row, 9),
        password_changed_ms: number_of(row, 10).map(|seconds| seconds * 1000),
        password_lifetime: number_of(row, 11),
        attributes: serde_json::from_str(&text_of(row, 12)).unwrap_or_default(),
        ..Account::default()
    }
}

/// The names in `mandatory_roles`: `` `a`@`%`, b, c@localhost ``.
pub(crate) fn role_names(text: &str) -> Vec<AccountName> {
    let plain = |part: &str| part.trim().trim_matches(['`', '\'', '"']).to_owned();
    let name = |role: &str| match role.rsplit_once('@') {
        Some((user, host)) => AccountName { user: plain(user), host: plain(host).to_ascii_lowercase() },
        None => AccountName { user: plain(role), host: "%".to_owned() },
    };
    text.split(',').filter(|role| !role.trim().is_empty()).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(user: &str, host: &str) -> AccountName {
        AccountName { user: user.to_owned(), host: host.to_owned() }
    }

    fn accounts(list: Vec<Account>) -> Accounts {
        Accounts { directory: RwLock::new(Arc::new(Directory::new(list))), ..Accounts::default() }
    }

    #[test]
    fn most_specific_host_counts_and_then_the_named_user() {
        let account = |user: &str, host: &str| Account { user: user.to_owned(), host: host.to_owned(), ..Account::default() };
        let accounts = accounts(vec![account("ada", "%"), account("ada", "10.0.%"), account("", "10.0.0.7"), account("", "%")]);
        assert_eq!(accounts.find("ada", "192.168.0.1").expect("matches").name(), named("ada", "%"));
        assert_eq!(accounts.find("ada", "10.0.0.1").expect("matches").host, "10.0.%");
        assert_eq!(accounts.find("ada", "10.0.0.7").expect("matches").user, "");
        assert_eq!(accounts.find("bob", "192.168.0.1").expect("matches").user, "");
    }

    #[test]
    fn roles_of_roles_count_and_circles_end() {
        let role = |user: &str, of: &[&str]| Account {
            user: user.to_owned(),
            host: "%".to_owned(),
            roles: of.iter().map(|role| GrantedRole { role: named(role, "%"), admin: *role == "b" }).collect(),
            grants: Arc::new(Grants::default()),
            ..Account::default()
        };
        let accounts = accounts(vec![role("u", &["a"]), role("a", &["b"]), role("b", &["a"])]);
        assert_eq!(accounts.granted_roles(&named("u", "%")), [named("a", "%")]);
        assert_eq!(accounts.access(&named("u", "%"), vec![named("a", "%")]).sources.len(), 3);
        assert!(accounts.is_granted(&named("u", "%"), &named("b", "%")) && !accounts.is_granted(&named("b", "%"), &named("u", "%")));
        assert!(accounts.administers(&named("u", "%"), &[named("a", "%")], &named("b", "%")));
        assert!(!accounts.administers(&named("u", "%"), &[], &named("b", "%")));
    }

    #[test]
    fn mandatory_roles_are_read_as_they_are_written() {
        assert_eq!(role_names("`a`@`%`, b,'c'@'LOCALHOST',"), [named("a", "%"), named("b", "%"), named("c", "localhost")]);
        assert!(role_names("").is_empty());
    }
}

//! Accounts: who may connect, with which password, and what they may do.
//!
//! The truth is the table `mysql.user`; the server keeps a copy that is read anew whenever an account statement has changed it.
//! Privileges are global (`*.*`) for now. As in MySQL, a change of global privileges holds for later connections.
//!
//! An account is `user@host`, the host a pattern. Of several that match a client the one with the most specific host counts, and of
//! those the one that names the user.

use std::sync::Arc;

use parking_lot::RwLock;
use parser::ast::Stmt;
use planner::physical::{PhysicalPlan, TableAccess};
use types::{
    Datum,
    mysql_error::{self, MysqlError},
};

use crate::{
    Error,
    domain::Domain,
    session::{ClientInfo, Session},
    transport::Requirement,
};

/// A set of global privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Privileges(u32);

macro_rules! privileges {
    ($($name:ident $column:literal $sql:literal),* $(,)?) => {
        // Every privilege has its place in the set, also those nothing asks for yet.
        #[allow(dead_code)]
        #[derive(Clone, Copy)]
        enum Bit { $($name),* }

        /// Columns of `mysql.user`, with the privilege's name in SQL.
        const COLUMNS: &[(&str, &str)] = &[$(($column, $sql)),*];
    };
}

privileges! {
    Select "Select_priv" "SELECT",
    Insert "Insert_priv" "INSERT",
    Update "Update_priv" "UPDATE",
    Delete "Delete_priv" "DELETE",
    Create "Create_priv" "CREATE",
    Drop "Drop_priv" "DROP",
    Reload "Reload_priv" "RELOAD",
    Shutdown "Shutdown_priv" "SHUTDOWN",
    Process "Process_priv" "PROCESS",
    Grant "Grant_priv" "GRANT OPTION",
    Index "Index_priv" "INDEX",
    Alter "Alter_priv" "ALTER",
    ShowDb "Show_db_priv" "SHOW DATABASES",
    Super "Super_priv" "SUPER",
    CreateUser "Create_user_priv" "CREATE USER",
}

impl Privileges {
    /// Everything; what the server's own sessions have.
    pub const ALL: Self = Self(u32::MAX);

    fn has(self, bit: Bit) -> bool {
        self.0 & 1 << bit as u32 != 0
    }

    /// Whether there is any privilege at all.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The privileges' names in SQL.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        COLUMNS.iter().enumerate().filter(move |(i, _)| self.0 & 1 << i != 0).map(|(_, (_, sql))| *sql)
    }

    /// Whether these are all that can be granted.
    pub fn is_all(self) -> bool {
        self.names().count() == COLUMNS.len()
    }
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
    /// Global privileges.
    pub privileges: Privileges,
}

/// The accounts of a cluster, as this server knows them.
#[derive(Default)]
pub struct Accounts(RwLock<Arc<Vec<Account>>>);

impl Accounts {
    /// The account of a client that calls itself `user` and comes from `client_host`.
    pub fn find(&self, user: &str, client_host: &str) -> Option<Account> {
        let accounts = self.0.read().clone();
        accounts
            .iter()
            .filter(|account| (account.user.is_empty() || account.user == user) && host_matches(&account.host, client_host))
            .max_by_key(|account| (specificity(&account.host), !account.user.is_empty()))
            .cloned()
    }

    /// The account of exactly this name.
    pub fn get(&self, user: &str, host: &str) -> Option<Account> {
        self.0.read().iter().find(|account| account.user == user && account.host.eq_ignore_ascii_case(host)).cloned()
    }

    /// All accounts.
    pub fn all(&self) -> Arc<Vec<Account>> {
        self.0.read().clone()
    }

    /// Reads `mysql.user` anew.
    pub(crate) async fn reload(&self, domain: &Arc<Domain>) -> Result<(), Error> {
        let columns: Vec<&str> = COLUMNS.iter().map(|(column, _)| *column).collect();
        let sql = format!(
            "SELECT User, Host, plugin, authentication_string, account_locked, ssl_type, ssl_cipher, x509_issuer, x509_subject, {} FROM mysql.user",
            columns.join(", ")
        );
        let mut session = Session::internal(domain)?;
        let rows = session.select(&sql).await;
        session.close().await;
        *self.0.write() = Arc::new(rows?.into_iter().map(account).collect());
        Ok(())
    }

    /// Fails when a plan needs a privilege the client does not have.
    #[inline]
    pub(crate) fn check_plan(&self, client: &ClientInfo, plan: &PhysicalPlan) -> Result<(), Error> {
        if client.privileges == Privileges::ALL {
            return Ok(());
        }
        for used in &plan.tables {
            let (bit, name) = match used.access {
                TableAccess::Select if catalog::infoschema_tables::is_virtual_database(&used.database) => continue,
                TableAccess::Select => (Bit::Select, "SELECT"),
                TableAccess::Insert => (Bit::Insert, "INSERT"),
                TableAccess::Update => (Bit::Update, "UPDATE"),
                TableAccess::Delete => (Bit::Delete, "DELETE"),
            };
            if !client.privileges.has(bit) {
                return Err(table_denied(client, name, &used.table));
            }
        }
        Ok(())
    }

    /// Fails when a schema change needs a privilege the client does not have.
    pub(crate) fn check_ddl(&self, client: &ClientInfo, stmt: &Stmt) -> Result<(), Error> {
        let (bit, name) = match stmt {
            Stmt::CreateDatabase(_) | Stmt::CreateTable(_) | Stmt::CreateView(_) => (Bit::Create, "CREATE"),
            Stmt::DropDatabase(_) | Stmt::DropTable(_) | Stmt::TruncateTable(_) | Stmt::DropView(_) => (Bit::Drop, "DROP"),
            Stmt::CreateIndex(_) | Stmt::DropIndex(_) => (Bit::Index, "INDEX"),
            _ => (Bit::Alter, "ALTER"),
        };
        if client.privileges.has(bit) { Ok(()) } else { Err(denied(name)) }
    }

    /// Fails unless the client may administer the server; `privilege` is what the error names.
    pub(crate) fn check_admin(&self, client: &ClientInfo, privilege: &str) -> Result<(), Error> {
        if client.privileges.has(Bit::Super) { Ok(()) } else { Err(denied(&format!("SUPER or {privilege}"))) }
    }

    /// Fails unless the client may stop the server.
    pub(crate) fn check_shutdown(&self, client: &ClientInfo) -> Result<(), Error> {
        if client.privileges.has(Bit::Shutdown) { Ok(()) } else { Err(denied("SHUTDOWN")) }
    }

    /// Fails unless the client may change accounts.
    pub(crate) fn check_accounts(&self, client: &ClientInfo) -> Result<(), Error> {
        if client.privileges.has(Bit::CreateUser) { Ok(()) } else { Err(denied("CREATE USER")) }
    }

    /// Whether the client sees what other users do.
    pub(crate) fn sees_all(&self, client: &ClientInfo) -> bool {
        client.privileges.has(Bit::Process)
    }

    /// Whether the client may make a database its current one.
    pub(crate) fn may_use_database(&self, client: &ClientInfo, name: &str) -> bool {
        !client.privileges.is_empty() || catalog::infoschema_tables::is_virtual_database(name)
    }
}

fn denied(privilege: &str) -> Error {
    let message = format!("Access denied; you need (at least one of) the {privilege} privilege(s) for this operation");
    MysqlError::new(mysql_error::ER_SPECIFIC_ACCESS_DENIED_ERROR, message).into()
}

fn table_denied(client: &ClientInfo, privilege: &str, table: &str) -> Error {
    let message = format!("{privilege} command denied to user '{}'@'{}' for table '{table}'", client.user, client.client_host);
    MysqlError::new(mysql_error::ER_TABLEACCESS_DENIED_ERROR, message).into()
}

fn account(row: Vec<Datum>) -> Account {
    let text = |i: usize| -> String {
        row.get(i).and_then(Datum::as_bytes).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
    };
    let bits = (0..COLUMNS.len()).filter(|i| text(9 + i).eq_ignore_ascii_case("Y")).fold(0, |bits, i| bits | 1 << i);
    let privileges = Privileges(bits);
    Account {
        user: text(0),
        host: text(1),
        plugin: text(2),
        auth_string: text(3),
        locked: text(4).eq_ignore_ascii_case("Y"),
        require: Requirement::from_columns(&text(5), text(6), text(7), text(8)),
        privileges: if privileges.is_all() { Privileges::ALL } else { privileges },
    }
}

/// Whether a host pattern (`%`, `192.168.%`, `localhost`) matches a client's address.
fn host_matches(pattern: &str, host: &str) -> bool {
    let is_local = matches!(host, "127.0.0.1" | "::1" | "localhost");
    like(pattern.as_bytes(), host.as_bytes()) || is_local && pattern.eq_ignore_ascii_case("localhost")
}

/// SQL's LIKE over bytes, without regard to letter case.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((b'%', pattern)), _) => (0..=text.len()).any(|skip| like(pattern, &text[skip..])),
        (Some((b'_', pattern)), Some((_, text))) => like(pattern, text),
        (Some((p, pattern)), Some((t, text))) => p.eq_ignore_ascii_case(t) && like(pattern, text),
        (Some(_), None) => false,
    }
}

/// How specific a host pattern is: its length before the first wildcard, without one more than any.
fn specificity(pattern: &str) -> usize {
    pattern.find(['%', '_']).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_specific_host_counts_and_then_the_named_user() {
        let account = |user: &str, host: &str| Account { user: user.to_owned(), host: host.to_owned(), ..Account::default() };
        let accounts = Accounts(RwLock::new(Arc::new(vec![account("ada", "%"), account("ada", "10.0.%"), account("", "10.0.0.7")])));
        assert_eq!(accounts.find("ada", "192.168.0.1").expect("matches").host, "%");
        assert_eq!(accounts.find("ada", "10.0.0.1").expect("matches").host, "10.0.%");
        assert_eq!(accounts.find("ada", "10.0.0.7").expect("matches").user, "");
        assert!(accounts.find("bob", "192.168.0.1").is_none());
    }

    #[test]
    fn hosts_match_as_patterns() {
        assert!(host_matches("%", "1.2.3.4") && host_matches("localhost", "127.0.0.1") && host_matches("LOCALHOST", "localhost"));
        assert!(host_matches("192.168._.%", "192.168.1.20") && !host_matches("192.168._.%", "192.168.10.20"));
        assert!(!host_matches("localhost", "10.0.0.1"));
    }
}

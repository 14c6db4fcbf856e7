//! Privileges in `information_schema`: USER_PRIVILEGES, SCHEMA_PRIVILEGES, TABLE_PRIVILEGES, COLUMN_PRIVILEGES, and the views about roles.
//!
//! Who may read the database `mysql` sees those of all accounts, others their own.

use types::Datum;

use super::set::{Privilege, PrivilegeSet};
use crate::{accounts::Account, result::text, virtual_tables::SessionTables};

type Rows = Vec<Vec<Datum>>;

impl SessionTables {
    /// The rows of a table about privileges; `None` for other tables.
    pub(crate) fn privilege_rows(&self, table: &str) -> Option<Rows> {
        let of: fn(&Account, &mut Rows) = match table {
            "USER_PRIVILEGES" => user_rows,
            "SCHEMA_PRIVILEGES" => schema_rows,
            "TABLE_PRIVILEGES" => table_rows,
            "COLUMN_PRIVILEGES" => column_rows,
            _ => return None,
        };
        let mut rows = Vec::new();
        let sees_all = self.access.on_table("mysql", "user").has(Privilege::Select);
        for account in self.domain.accounts().all() {
            if sees_all || account.name() == self.account {
                of(&account, &mut rows);
            }
        }
        Some(rows)
    }
}

fn grantee(account: &Account) -> Datum {
    text(format!("'{}'@'{}'", account.user, account.host))
}

fn yes_no(yes: bool) -> Datum {
    text(if yes { "YES" } else { "NO" })
}

/// The names of a set; USAGE for nothing but GRANT OPTION.
fn names(set: PrivilegeSet) -> Vec<&'static str> {
    let names: Vec<&str> = set.iter().filter(|privilege| *privilege != Privilege::GrantOption).map(Privilege::sql).collect();
    if names.is_empty() { vec!["USAGE"] } else { names }
}

fn user_rows(account: &Account, rows: &mut Rows) {
    let grants = &account.grants;
    let mut push = |name: &'static str, grantable: bool| rows.push(vec![grantee(account), text("def"), text(name), yes_no(grantable)]);
    for name in names(grants.global) {
        push(name, grants.global.has(Privilege::GrantOption));
    }
    let grantable: Vec<&str> = grants.dynamic_grantable.names().collect();
    for name in grants.dynamic.names() {
        push(name, grantable.contains(&name));
    }
}

fn schema_rows(account: &Account, rows: &mut Rows) {
    for grant in &account.grants.databases {
        let grantable = grant.privileges.has(Privilege::GrantOption);
        for name in names(grant.privileges) {
            rows.push(vec![grantee(account), text("def"), text(grant.pattern.clone()), text(name), yes_no(grantable)]);
        }
    }
}

fn table_rows(account: &Account, rows: &mut Rows) {
    for grant in account.grants.tables.values().filter(|grant| !grant.privileges.is_empty()) {
        let (database, table) = grant.names.clone();
        let grantable = grant.privileges.has(Privilege::GrantOption);
        for name in names(grant.privileges) {
            rows.push(vec![grantee(account), text("def"), text(database.clone()), text(table.clone()), text(name), yes_no(grantable)]);
        }
    }
}

fn column_rows(account: &Account, rows: &mut Rows) {
    for grant in account.grants.tables.values() {
        let (database, table) = grant.names.clone();
        let grantable = grant.privileges.has(Privilege::GrantOption);
        for (column, set) in &grant.columns {
            for privilege in set.iter() {
                let names = [text(database.clone()), text(table.clone()), text(column.clone()), text(privilege.sql())];
                let mut row = vec![grantee(account), text("def")];
                row.extend(names);
                row.push(yes_no(grantable));
                rows.push(row);
            }
        }
    }
}

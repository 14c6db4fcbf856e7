//! SHOW GRANTS.

use std::collections::BTreeMap;

use parser::ast::{AccountName, UserSpec};
use types::FieldType;

use super::{
    grant::no_such_grant,
    grants::Grants,
    needs::Need,
    roles::quoted,
    set::{DynamicSet, Privilege, PrivilegeSet},
};
use crate::{
    Error,
    accounts::Account,
    result::{ResultRows, text},
    session::Session,
};

impl Session {
    /// SHOW GRANTS: of the account itself, with `using` also of those roles. Of one's own account, the active roles count.
    pub(crate) fn show_grants(&self, user: Option<&UserSpec>, using: &[AccountName]) -> Result<ResultRows, Error> {
        let name = self.account_name(user.unwrap_or(&UserSpec::Current));
        let own = name == self.own_account();
        if !own {
            self.check_need(&Need::Database(Some("mysql".to_owned()), Privilege::Select))?;
        }
        let accounts = self.domain.accounts();
        let account = accounts.get(&name.user, &name.host).ok_or_else(|| no_such_grant(&name))?;
        let roles = if using.is_empty() && own { self.access.roles().to_vec() } else { using.to_vec() };
        let granted = accounts.granted_roles(&name);
        if let Some(role) = roles.iter().find(|role| !granted.contains(role)) {
            return Err(super::roles::not_granted(role, &name));
        }
        let access = accounts.access(&name, roles);
        let mut merged = Grants::default();
        access.sources.iter().for_each(|grants| merge(&mut merged, grants));
        let lines = lines(&merged, &account).into_iter().map(|line| vec![text(line)]).collect();
        let heading = format!("Grants for {}@{}", name.user, name.host);
        Ok(ResultRows::table(&[(&heading, FieldType::varchar(4096))], lines))
    }
}

/// Adds what a role was granted.
fn merge(into: &mut Grants, grants: &Grants) {
    into.global = into.global.union(grants.global);
    into.dynamic = into.dynamic.union(grants.dynamic);
    into.dynamic_grantable = into.dynamic_grantable.union(grants.dynamic_grantable);
    for grant in &grants.databases {
        match into.databases.iter_mut().find(|known| known.pattern == grant.pattern) {
            Some(known) => known.privileges = known.privileges.union(grant.privileges),
            None => into.add_database(grant.pattern.clone(), grant.privileges),
        }
    }
    for (key, grant) in &grants.tables {
        let known = into
            .tables
            .entry(key.clone())
            .or_insert_with(|| super::grants::TableGrant { names: grant.names.clone(), ..Default::default() });
        known.privileges = known.privileges.union(grant.privileges);
        for (column, set) in &grant.columns {
            let of_column = known.columns.entry(column.clone()).or_default();
            *of_column = of_column.union(*set);
        }
    }
}

/// The statements that would grant all of it.
fn lines(grants: &Grants, account: &Account) -> Vec<String> {
    let to = quoted(&account.name());
    let with = |set: PrivilegeSet| if set.has(Privilege::GrantOption) { " WITH GRANT OPTION" } else { "" };
    let names = |set: PrivilegeSet| {
        let names: Vec<&str> = set.iter().filter(|privilege| *privilege != Privilege::GrantOption).map(Privilege::sql).collect();
        if names.is_empty() { "USAGE".to_owned() } else { names.join(", ") }
    };
    let mut lines = vec![format!("GRANT {} ON *.* TO {to}{}", names(grants.global), with(grants.global))];
    let plain = grants.dynamic.without(grants.dynamic_grantable);
    for (set, option) in [(plain, ""), (grants.dynamic_grantable, " WITH GRANT OPTION")] {
        if set != DynamicSet::default() {
            lines.push(format!("GRANT {} ON *.* TO {to}{option}", set.names().collect::<Vec<_>>().join(",")));
        }
    }
    let mut databases: Vec<_> = grants.databases.iter().collect();
    databases.sort_by(|a, b| a.pattern.cmp(&b.pattern));
    for grant in databases {
        let all = grant.privileges.contains(PrivilegeSet::DATABASE);
        let names = if all { "ALL PRIVILEGES".to_owned() } else { names(grant.privileges) };
        lines.push(format!("GRANT {names} ON `{}`.* TO {to}{}", grant.pattern.replace('`', "``"), with(grant.privileges)));
    }
    let mut tables: Vec<_> = grants.tables.values().collect();
    tables.sort_by(|a, b| a.names.cmp(&b.names));
    for grant in tables {
        let (database, table) = (grant.names.0.replace('`', "``"), grant.names.1.replace('`', "``"));
        let names = table_privileges(grant.privileges, &grant.columns.iter().collect());
        lines.push(format!("GRANT {names} ON `{database}`.`{table}` TO {to}{}", with(grant.privileges)));
    }
    for admin in [false, true] {
        let mut roles: Vec<String> =
            account.roles.iter().filter(|granted| granted.admin == admin).map(|granted| quoted(&granted.role)).collect();
        roles.sort();
        if !roles.is_empty() {
            lines.push(format!("GRANT {} TO {to}{}", roles.join(","), if admin { " WITH ADMIN OPTION" } else { "" }));
        }
    }
    lines
}

/// `SELECT, INSERT (`a`, `b`)`
fn table_privileges(set: PrivilegeSet, columns: &BTreeMap<&String, &PrivilegeSet>) -> String {
    if set.contains(PrivilegeSet::TABLE) {
        return "ALL PRIVILEGES".to_owned();
    }
    let mut names = Vec::new();
    for privilege in PrivilegeSet::TABLE.iter() {
        if set.has(privilege) {
            names.push(privilege.sql().to_owned());
        }
        let of: Vec<String> = columns.iter().filter(|(_, set)| set.has(privilege)).map(|(name, _)| format!("`{name}`")).collect();
        if !of.is_empty() {
            names.push(format!("{} ({})", privilege.sql(), of.join(", ")));
        }
    }
    if names.is_empty() { "USAGE".to_owned() } else { names.join(", ") }
}

//! What a session may do: what its account and its active roles were granted, put together.
//!
//! Computed when the session begins, when its roles change, and when the first statement after a change of any account begins; a statement
//! looks at it without asking anybody.

use std::sync::Arc;

use catalog::infoschema_tables::is_virtual_database;
use parser::ast::AccountName;

use super::{
    grants::{Grants, specificity},
    set::{DynamicSet, Privilege, PrivilegeSet},
};

/// What a session may do.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The state of the accounts it was computed from.
    pub(super) version: u64,
    /// Roles that are active, in the order of CURRENT_ROLE().
    pub(super) roles: Vec<AccountName>,
    /// Of the account, of its active roles, of roles granted to those.
    pub(crate) sources: Vec<Arc<Grants>>,
    global: PrivilegeSet,
    dynamic: DynamicSet,
    /// The server itself, which nothing is kept from.
    is_server: bool,
}

impl Access {
    /// What `sources` give together.
    pub(crate) fn new(version: u64, roles: Vec<AccountName>, sources: Vec<Arc<Grants>>) -> Self {
        let global = sources.iter().fold(PrivilegeSet::NONE, |all, grants| all.union(grants.global));
        let dynamic = sources.iter().fold(DynamicSet::default(), |all, grants| all.union(grants.dynamic));
        Self { version, roles, sources, global, dynamic, is_server: false }
    }

    /// What the server's own sessions may do: everything.
    pub(crate) fn of_server() -> Self {
        let global = PrivilegeSet::GLOBAL.union(PrivilegeSet::of(&[Privilege::GrantOption]));
        Self { global, dynamic: DynamicSet::ALL, is_server: true, ..Self::default() }
    }

    /// Whether accounts have changed since it was computed.
    #[inline]
    pub(crate) fn is_stale(&self, version: u64) -> bool {
        self.version != version && !self.is_server
    }

    /// The roles that are active.
    pub(crate) fn roles(&self) -> &[AccountName] {
        &self.roles
    }

    /// Whether rows of every table may be read and changed, so that no plan has to be looked at.
    #[inline]
    pub(crate) fn covers_all_rows(&self) -> bool {
        self.global.contains(PrivilegeSet::ROWS)
    }

    /// Whether a privilege on `*.*` is there.
    pub(crate) fn has_global(&self, privilege: Privilege) -> bool {
        self.global.has(privilege)
    }

    pub(crate) fn global(&self) -> PrivilegeSet {
        self.global
    }

    /// Whether a dynamic privilege is there.
    pub(crate) fn has_dynamic(&self, wanted: DynamicSet) -> bool {
        self.dynamic.contains(wanted)
    }

    /// Whether dynamic privileges may be granted on: each has an option of its own.
    pub(super) fn may_grant_dynamic(&self, wanted: DynamicSet) -> bool {
        let grantable = self.sources.iter().fold(DynamicSet::default(), |all, grants| all.union(grants.dynamic_grantable));
        grantable.contains(wanted) || self.is_server
    }

    /// Privileges on all databases of a pattern that GRANT names: of a pattern with wildcards, those granted on exactly this pattern.
    pub(super) fn on_pattern(&self, pattern: &str) -> PrivilegeSet {
        if specificity(pattern) == usize::MAX {
            return self.on_database(&pattern.replace('\\', ""));
        }
        let same = self.sources.iter().flat_map(|grants| &grants.databases).filter(|grant| grant.pattern.eq_ignore_ascii_case(pattern));
        same.fold(self.global, |all, grant| all.union(grant.privileges))
    }

    /// Privileges on a database as a whole.
    pub(crate) fn on_database(&self, database: &str) -> PrivilegeSet {
        let own = self.sources.iter().fold(self.global, |all, grants| all.union(grants.on_database(database)));
        if !is_virtual_database(database) || self.is_server {
            return own;
        }
        // What the server computes can be read by everybody, and changed by nobody.
        PrivilegeSet::of(&[Privilege::Select])
    }

    /// Privileges on a table as a whole.
    pub(crate) fn on_table(&self, database: &str, table: &str) -> PrivilegeSet {
        self.fold_table(database, table, |grant| grant.privileges)
    }

    /// Privileges on a table or any column of it.
    pub(crate) fn anywhere_on_table(&self, database: &str, table: &str) -> PrivilegeSet {
        self.fold_table(database, table, super::grants::TableGrant::anywhere)
    }

    /// Privileges on a column.
    pub(crate) fn on_column(&self, database: &str, table: &str, column: &str) -> PrivilegeSet {
        let column = column.to_lowercase();
        self.fold_table(database, table, |grant| grant.privileges.union(grant.columns.get(&column).copied().unwrap_or_default()))
    }

    fn fold_table(&self, database: &str, table: &str, of: impl Fn(&super::grants::TableGrant) -> PrivilegeSet) -> PrivilegeSet {
        let key = (database.to_lowercase(), table.to_lowercase());
        let granted = self.sources.iter().filter_map(|grants| grants.on_table(&key));
        granted.fold(self.on_database(database), |all, grant| all.union(of(grant)))
    }

    /// Whether there is any privilege on a database or in it; then it may be made the current one.
    pub(crate) fn may_use(&self, database: &str) -> bool {
        let database = database.to_lowercase();
        let whole = PrivilegeSet::DATABASE.union(PrivilegeSet::of(&[Privilege::GrantOption]));
        !self.on_database(&database).intersection(whole).is_empty() || self.sources.iter().any(|grants| grants.touches_database(&database))
    }

    /// Whether a database is listed.
    pub(crate) fn sees_database(&self, database: &str) -> bool {
        self.global.has(Privilege::ShowDatabases) || self.may_use(database)
    }

    /// Whether a table is listed.
    pub(crate) fn sees_table(&self, database: &str, table: &str) -> bool {
        let shown = PrivilegeSet::TABLE.union(PrivilegeSet::of(&[Privilege::GrantOption]));
        !self.anywhere_on_table(database, table).intersection(shown).is_empty()
    }

    /// Privileges on a column as `information_schema.COLUMNS` shows them; `None` for a column that is not listed: there is no privilege on it, nor on its
    /// table as a whole.
    pub(crate) fn shown_on_column(&self, database: &str, table: &str, column: &str) -> Option<String> {
        let whole = PrivilegeSet::TABLE.union(PrivilegeSet::of(&[Privilege::GrantOption]));
        let own = self.on_column(database, table, column);
        let listed = !own.intersection(whole).is_empty();
        listed.then(|| {
            own.intersection(PrivilegeSet::COLUMN).iter().map(|privilege| privilege.sql().to_lowercase()).collect::<Vec<_>>().join(",")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(grants: Grants) -> Access {
        Access::new(1, Vec::new(), vec![Arc::new(grants)])
    }

    #[test]
    fn privileges_of_wider_objects_hold_for_what_is_in_them() {
        let mut grants = Grants::default();
        grants.add_database("app".to_owned(), PrivilegeSet::of(&[Privilege::Select]));
        grants.table_mut("app", "t").privileges = PrivilegeSet::of(&[Privilege::Insert]);
        grants.table_mut("app", "t").columns.insert("a".to_owned(), PrivilegeSet::of(&[Privilege::Update]));
        let access = access(grants);
        assert!(access.on_table("App", "T").contains(PrivilegeSet::of(&[Privilege::Select, Privilege::Insert])));
        assert!(!access.on_table("app", "t").has(Privilege::Update));
        assert!(access.on_column("app", "t", "A").has(Privilege::Update) && !access.on_column("app", "t", "b").has(Privilege::Update));
        assert!(access.may_use("app") && access.sees_table("app", "anything") && !access.sees_database("other"));
        assert!(!access.covers_all_rows() && Access::of_server().covers_all_rows());
    }

    #[test]
    fn a_role_adds_to_the_account() {
        let mut own = Grants::default();
        own.add_database("app".to_owned(), PrivilegeSet::of(&[Privilege::Select]));
        let mut role = Grants::default();
        role.add_database("app".to_owned(), PrivilegeSet::of(&[Privilege::Delete]));
        role.global = PrivilegeSet::of(&[Privilege::Process]);
        let both = Access::new(1, Vec::new(), vec![Arc::new(own), Arc::new(role)]);
        assert!(both.on_database("app").contains(PrivilegeSet::of(&[Privilege::Select, Privilege::Delete, Privilege::Process])));
    }

    #[test]
    fn computed_databases_can_be_read_by_all_and_changed_by_nobody() {
        let mut all = Grants { global: PrivilegeSet::GLOBAL, ..Grants::default() };
        all.dynamic = DynamicSet::ALL;
        for access in [access(Grants::default()), access(all)] {
            assert!(access.on_table("information_schema", "TABLES").has(Privilege::Select));
            assert!(!access.on_database("information_schema").has(Privilege::Create));
            assert!(access.may_use("information_schema"));
        }
    }
}

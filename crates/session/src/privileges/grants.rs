//! What one account or role has been granted: global, of databases, of tables, of columns.
//!
//! Names of databases and tables are kept in lower case: they are compared without regard to it. A database is granted by a pattern as LIKE has
//! them; of several patterns that match a name only the most specific one counts, as in MySQL.

use rustc_hash::FxHashMap;

use super::set::{DynamicSet, PrivilegeSet};

/// What an account or role was granted itself.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// On `*.*`.
    pub(crate) global: PrivilegeSet,
    /// Dynamic privileges.
    pub(crate) dynamic: DynamicSet,
    /// Those of them it may grant on.
    pub(crate) dynamic_grantable: DynamicSet,
    /// On databases, the most specific pattern first.
    pub(crate) databases: Vec<DatabaseGrant>,
    /// On tables, by database and name.
    pub(crate) tables: FxHashMap<(String, String), TableGrant>,
}

/// What was granted on the databases of a pattern.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseGrant {
    /// The pattern as it was written.
    pub pattern: String,
    pub privileges: PrivilegeSet,
}

/// What was granted on a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableGrant {
    /// Database and table as they were written.
    pub names: (String, String),
    pub privileges: PrivilegeSet,
    /// On columns, by their names in lower case.
    pub columns: FxHashMap<String, PrivilegeSet>,
}

impl TableGrant {
    /// What was granted on the table or any column of it.
    pub fn anywhere(&self) -> PrivilegeSet {
        self.columns.values().fold(self.privileges, |all, set| all.union(*set))
    }
}

impl Grants {
    /// What was granted on a database as a whole, `*.*` aside.
    pub(crate) fn on_database(&self, database: &str) -> PrivilegeSet {
        let matching = self.databases.iter().find(|grant| matches(&grant.pattern, database));
        matching.map_or(PrivilegeSet::NONE, |grant| grant.privileges)
    }

    /// What was granted on a table itself and its columns. Names in lower case.
    pub(crate) fn on_table(&self, key: &(String, String)) -> Option<&TableGrant> {
        self.tables.get(key)
    }

    /// Whether anything was granted on a database or in it. The name in lower case.
    pub(crate) fn touches_database(&self, database: &str) -> bool {
        !self.on_database(database).is_empty() || self.tables.keys().any(|(of, _)| of == database)
    }

    pub(crate) fn add_database(&mut self, pattern: String, privileges: PrivilegeSet) {
        self.databases.push(DatabaseGrant { pattern, privileges });
        self.databases.sort_by(|a, b| specificity(&b.pattern).cmp(&specificity(&a.pattern)).then_with(|| a.pattern.cmp(&b.pattern)));
    }

    pub(crate) fn table_mut(&mut self, database: &str, table: &str) -> &mut TableGrant {
        let key = (database.to_lowercase(), table.to_lowercase());
        self.tables.entry(key).or_insert_with(|| TableGrant { names: (database.to_owned(), table.to_owned()), ..TableGrant::default() })
    }
}

/// Whether a database's name fits a pattern of GRANT.
fn matches(pattern: &str, name: &str) -> bool {
    fn like(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], rest) => rest.is_empty(),
            ([b'\\', escaped, pattern @ ..], [t, text @ ..]) => escaped.eq_ignore_ascii_case(t) && like(pattern, text),
            ([b'%', pattern @ ..], _) => (0..=text.len()).any(|skip| like(pattern, &text[skip..])),
            ([b'_', pattern @ ..], [_, text @ ..]) => like(pattern, text),
            ([p, pattern @ ..], [t, text @ ..]) => p.eq_ignore_ascii_case(t) && like(pattern, text),
            (_, []) => false,
        }
    }
    if !pattern.contains(['%', '_', '\\']) {
        return pattern.eq_ignore_ascii_case(name) || (!pattern.is_ascii() && pattern.to_lowercase() == name.to_lowercase());
    }
    like(pattern.as_bytes(), name.as_bytes())
}

/// How specific a pattern is: its length before the first wildcard, without one more than any.
pub(crate) fn specificity(pattern: &str) -> usize {
    let mut bytes = pattern.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'%' | b'_' => return at,
            _ => {}
        }
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privileges::Privilege;

    #[test]
    fn only_the_most_specific_pattern_of_a_database_counts() {
        let mut grants = Grants::default();
        let set = |privilege| PrivilegeSet::of(&[privilege]);
        grants.add_database("%".to_owned(), set(Privilege::Select));
        grants.add_database("app\\_one".to_owned(), set(Privilege::Insert));
        grants.add_database("app%".to_owned(), set(Privilege::Update));
        assert_eq!(grants.on_database("app_one"), set(Privilege::Insert));
        assert_eq!(grants.on_database("APP_ONE"), set(Privilege::Insert));
        assert_eq!(grants.on_database("appXone"), set(Privilege::Update), "an escaped wildcard is a letter");
        assert_eq!(grants.on_database("other"), set(Privilege::Select));
    }

    #[test]
    fn a_column_makes_its_database_visible() {
        let mut grants = Grants::default();
        grants.table_mut("App", "T").columns.insert("a".to_owned(), PrivilegeSet::of(&[Privilege::Select]));
        assert!(grants.touches_database("app") && !grants.touches_database("other"));
        assert!(grants.on_database("app").is_empty());
        let grant = grants.on_table(&("app".to_owned(), "t".to_owned())).expect("kept");
        assert!(grant.privileges.is_empty() && grant.anywhere().has(Privilege::Select));
    }
}

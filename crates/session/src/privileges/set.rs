//! Sets of privileges: the static ones that MySQL has columns for, and the dynamic ones, which are names.

/// A privilege with a column in `mysql.user`. In the order in which SHOW GRANTS names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Privilege {
    Select,
    Insert,
    Update,
    Delete,
    Create,
    Drop,
    Reload,
    Shutdown,
    Process,
    File,
    References,
    Index,
    Alter,
    ShowDatabases,
    Super,
    CreateTemporaryTables,
    LockTables,
    Execute,
    ReplicationSlave,
    ReplicationClient,
    CreateView,
    ShowView,
    CreateRoutine,
    AlterRoutine,
    CreateUser,
    Event,
    Trigger,
    CreateTablespace,
    CreateRole,
    DropRole,
    GrantOption,
}

use Privilege as P;

/// What is known of a privilege.
pub(crate) struct Description {
    pub privilege: Privilege,
    /// Its name in SQL.
    pub sql: &'static str,
    /// Its column in `mysql.user`, and in `mysql.db` if it has one there.
    pub column: &'static str,
    /// Its word in `mysql.tables_priv`; empty for one that cannot be granted on a table.
    pub word: &'static str,
}

const fn describe(privilege: Privilege, sql: &'static str, column: &'static str, word: &'static str) -> Description {
    Description { privilege, sql, column, word }
}

/// All of them, each at the place of its number.
pub(crate) const DESCRIPTIONS: [Description; 31] = [
    describe(P::Select, "SELECT", "Select_priv", "Select"),
    describe(P::Insert, "INSERT", "Insert_priv", "Insert"),
    describe(P::Update, "UPDATE", "Update_priv", "Update"),
    describe(P::Delete, "DELETE", "Delete_priv", "Delete"),
    describe(P::Create, "CREATE", "Create_priv", "Create"),
    describe(P::Drop, "DROP", "Drop_priv", "Drop"),
    describe(P::Reload, "RELOAD", "Reload_priv", ""),
    describe(P::Shutdown, "SHUTDOWN", "Shutdown_priv", ""),
    describe(P::Process, "PROCESS", "Process_priv", ""),
    describe(P::File, "FILE", "File_priv", ""),
    describe(P::References, "REFERENCES", "References_priv", "References"),
    describe(P::Index, "INDEX", "Index_priv", "Index"),
    describe(P::Alter, "ALTER", "Alter_priv", "Alter"),
    describe(P::ShowDatabases, "SHOW DATABASES", "Show_db_priv", ""),
    describe(P::Super, "SUPER", "Super_priv", ""),
    describe(P::CreateTemporaryTables, "CREATE TEMPORARY TABLES", "Create_tmp_table_priv", ""),
    describe(P::LockTables, "LOCK TABLES", "Lock_tables_priv", ""),
    describe(P::Execute, "EXECUTE", "Execute_priv", ""),
    describe(P::ReplicationSlave, "REPLICATION SLAVE", "Repl_slave_priv", ""),
    describe(P::ReplicationClient, "REPLICATION CLIENT", "Repl_client_priv", ""),
    describe(P::CreateView, "CREATE VIEW", "Create_view_priv", "Create View"),
    describe(P::ShowView, "SHOW VIEW", "Show_view_priv", "Show view"),
    describe(P::CreateRoutine, "CREATE ROUTINE", "Create_routine_priv", ""),
    describe(P::AlterRoutine, "ALTER ROUTINE", "Alter_routine_priv", ""),
    describe(P::CreateUser, "CREATE USER", "Create_user_priv", ""),
    describe(P::Event, "EVENT", "Event_priv", ""),
    describe(P::Trigger, "TRIGGER", "Trigger_priv", "Trigger"),
    describe(P::CreateTablespace, "CREATE TABLESPACE", "Create_tablespace_priv", ""),
    describe(P::CreateRole, "CREATE ROLE", "Create_role_priv", ""),
    describe(P::DropRole, "DROP ROLE", "Drop_role_priv", ""),
    describe(P::GrantOption, "GRANT OPTION", "Grant_priv", "Grant"),
];

impl Privilege {
    /// Its name in SQL.
    pub fn sql(self) -> &'static str {
        DESCRIPTIONS[self as usize].sql
    }

    /// The privilege of a name in SQL, in upper case.
    pub(crate) fn by_sql(name: &str) -> Option<Self> {
        DESCRIPTIONS.iter().find(|known| known.sql == name).map(|known| known.privilege)
    }
}

/// A set of static privileges.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct PrivilegeSet(u32);

impl PrivilegeSet {
    /// No privilege.
    pub const NONE: Self = Self(0);
    /// All that can be granted on `*.*`, without GRANT OPTION.
    pub(crate) const GLOBAL: Self = Self((1 << P::GrantOption as u32) - 1);
    /// All that can be granted on a database, without GRANT OPTION.
    pub(crate) const DATABASE: Self =
        Self::TABLE.union(Self::of(&[P::CreateTemporaryTables, P::LockTables, P::Execute, P::CreateRoutine, P::AlterRoutine, P::Event]));
    /// All that can be granted on a table, without GRANT OPTION.
    pub(crate) const TABLE: Self = Self::of(&[
        P::Select,
        P::Insert,
        P::Update,
        P::Delete,
        P::Create,
        P::Drop,
        P::References,
        P::Index,
        P::Alter,
        P::CreateView,
        P::ShowView,
        P::Trigger,
    ]);
    /// All that can be granted on single columns.
    pub(crate) const COLUMN: Self = Self::of(&[P::Select, P::Insert, P::Update, P::References]);
    /// What statements on rows need; who has these on `*.*` need not be looked at again.
    pub(crate) const ROWS: Self = Self::of(&[P::Select, P::Insert, P::Update, P::Delete]);

    /// A set of these.
    pub(crate) const fn of(privileges: &[Privilege]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < privileges.len() {
            bits |= 1 << privileges[i] as u32;
            i += 1;
        }
        Self(bits)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has a privilege.
    pub fn has(self, privilege: Privilege) -> bool {
        self.0 & 1 << privilege as u32 != 0
    }

    /// Whether it has all of `other`.
    pub(crate) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The privileges, in the order of SHOW GRANTS.
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        DESCRIPTIONS.iter().map(|known| known.privilege).filter(move |privilege| self.has(*privilege))
    }

    /// The set of words of `mysql.tables_priv` and `mysql.columns_priv`.
    pub(crate) fn from_words(words: &str) -> Self {
        let known = |word: &str| DESCRIPTIONS.iter().find(|known| !known.word.is_empty() && known.word.eq_ignore_ascii_case(word));
        words.split(',').filter_map(known).map(|known| known.privilege).collect()
    }

    /// Those words.
    pub(crate) fn words(self) -> String {
        let words = DESCRIPTIONS.iter().filter(|known| self.has(known.privilege) && !known.word.is_empty()).map(|known| known.word);
        words.collect::<Vec<_>>().join(",")
    }
}

impl FromIterator<Privilege> for PrivilegeSet {
    fn from_iter<T: IntoIterator<Item = Privilege>>(privileges: T) -> Self {
        Self(privileges.into_iter().fold(0, |bits, privilege| bits | 1 << privilege as u32))
    }
}

impl std::fmt::Debug for PrivilegeSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter().map(Privilege::sql)).finish()
    }
}

/// A set of dynamic privileges, by their place in [`catalog::DYNAMIC_PRIVILEGES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DynamicSet(u64);

impl DynamicSet {
    /// All of them.
    pub(crate) const ALL: Self = Self((1 << catalog::DYNAMIC_PRIVILEGES.len()) - 1);

    /// The set of one name; `None` for a name that is none.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let place = catalog::DYNAMIC_PRIVILEGES.iter().position(|known| known.eq_ignore_ascii_case(name))?;
        Some(Self(1 << place))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The names, in alphabetical order.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        catalog::DYNAMIC_PRIVILEGES.into_iter().enumerate().filter(move |(place, _)| self.0 & 1 << place != 0).map(|(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_privilege_stands_at_the_place_of_its_number() {
        for (place, known) in DESCRIPTIONS.iter().enumerate() {
            assert_eq!(known.privilege as usize, place, "{}", known.sql);
            assert_eq!(Privilege::by_sql(known.sql), Some(known.privilege));
        }
        assert_eq!(PrivilegeSet::GLOBAL.iter().count(), DESCRIPTIONS.len() - 1);
    }

    #[test]
    fn words_of_the_grant_tables_come_back() {
        let set = PrivilegeSet::of(&[P::Select, P::CreateView, P::GrantOption]);
        assert_eq!(set.words(), "Select,Create View,Grant");
        assert_eq!(PrivilegeSet::from_words("Select,Create View,Grant,Nonsense"), set);
        assert_eq!(PrivilegeSet::from_words(""), PrivilegeSet::NONE);
    }

    #[test]
    fn dynamic_privileges_are_found_by_name_in_any_case() {
        let set = DynamicSet::named("backup_admin").expect("known").union(DynamicSet::named("XA_RECOVER_ADMIN").expect("known"));
        assert_eq!(set.names().collect::<Vec<_>>(), ["BACKUP_ADMIN", "XA_RECOVER_ADMIN"]);
        assert!(DynamicSet::ALL.contains(set) && DynamicSet::named("NONSENSE").is_none());
        assert!(catalog::DYNAMIC_PRIVILEGES.is_sorted() && catalog::DYNAMIC_PRIVILEGES.len() < 64);
    }
}

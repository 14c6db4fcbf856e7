//! The info schema: every database and table of the cluster at one schema version, immutable.
//!
//! A statement takes one `Arc<InfoSchema>` and sees one consistent schema to its end, whatever DDL does meanwhile. A new version is made
//! by cloning the maps (of `Arc`s) and applying one change after another with [`InfoSchemaBuilder`]; nothing is ever changed in place.

use std::sync::Arc;

use base::{DatabaseId, TableId};
use rustc_hash::FxHashMap;

use crate::{
    model::{DatabaseInfo, ForeignKeyInfo, TableInfo},
    name::folded,
};

/// All databases and tables at one schema version.
#[derive(Clone, Debug, Default)]
pub struct InfoSchema {
    version: u64,
    databases: FxHashMap<String, DatabaseEntry>,
    names: FxHashMap<DatabaseId, String>,
    tables: FxHashMap<TableId, Arc<TableInfo>>,
    /// The tables with foreign keys to a table, by its folded database and name. Kept by name: a key may be there before its parent is.
    children: FxHashMap<(String, String), Vec<TableId>>,
}

#[derive(Clone, Debug)]
struct DatabaseEntry {
    info: Arc<DatabaseInfo>,
    tables: Arc<FxHashMap<String, Arc<TableInfo>>>,
}

impl InfoSchema {
    /// The schema version; grows by one with every step of every DDL job.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// All databases, ordered by name.
    pub fn databases(&self) -> Vec<Arc<DatabaseInfo>> {
        let mut entries: Vec<_> = self.databases.iter().collect();
        entries.sort_by(|a, b| a.0.cmp(b.0));
        entries.into_iter().map(|(_, entry)| Arc::clone(&entry.info)).collect()
    }

    /// A database by name.
    pub fn database(&self, name: &str) -> Option<Arc<DatabaseInfo>> {
        self.databases.get(&*folded(name)).map(|entry| Arc::clone(&entry.info))
    }

    /// A database by id.
    pub fn database_by_id(&self, id: DatabaseId) -> Option<Arc<DatabaseInfo>> {
        self.databases.get(self.names.get(&id)?).map(|entry| Arc::clone(&entry.info))
    }

    /// A table by names.
    pub fn table(&self, database: &str, name: &str) -> Option<Arc<TableInfo>> {
        self.databases.get(&*folded(database))?.tables.get(&*folded(name)).cloned()
    }

    /// A table by id.
    pub fn table_by_id(&self, id: TableId) -> Option<Arc<TableInfo>> {
        self.tables.get(&id).cloned()
    }

    /// A table by id, borrowed.
    pub fn table_ref(&self, id: TableId) -> Option<&Arc<TableInfo>> {
        self.tables.get(&id)
    }

    /// The tables of a database, ordered by name; empty when there is no such database.
    pub fn tables(&self, database: &str) -> Vec<Arc<TableInfo>> {
        let Some(entry) = self.databases.get(&*folded(database)) else { return Vec::new() };
        let mut tables: Vec<_> = entry.tables.iter().collect();
        tables.sort_by(|a, b| a.0.cmp(b.0));
        tables.into_iter().map(|(_, table)| Arc::clone(table)).collect()
    }

    /// The tables with foreign keys to the table of that name, in the order of their ids; itself among them if it refers to itself.
    pub fn children(&self, database: &str, table: &str) -> impl Iterator<Item = &Arc<TableInfo>> {
        let known = match self.children.is_empty() {
            true => None,
            false => self.children.get(&(folded(database).into_owned(), folded(table).into_owned())),
        };
        known.into_iter().flatten().filter_map(|id| self.tables.get(id))
    }

    /// Whether some table has a foreign key.
    pub fn has_foreign_keys(&self) -> bool {
        !self.children.is_empty()
    }

    /// The tables that a change of `table`'s rows may read, lock or change because of foreign keys: its parents, its children, and what those
    /// reach when a change cascades to them. Without `table` itself.
    pub fn related_by_keys(&self, table: &TableInfo) -> Vec<TableId> {
        let mut found: Vec<TableId> = Vec::new();
        if !self.has_foreign_keys() {
            return found;
        }
        let mut changed = vec![table];
        let mut reached: Vec<TableId> = vec![table.id];
        while let Some(table) = changed.pop() {
            for key in &table.foreign_keys {
                found.extend(self.table(&key.parent_database, &key.parent_table).map(|parent| parent.id));
            }
            for child in self.children(&table.database, &table.name) {
                found.push(child.id);
                if !reached.contains(&child.id) {
                    reached.push(child.id);
                    changed.push(child);
                }
            }
        }
        found.retain(|id| *id != reached[0]);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Every table of the cluster in no particular order.
    pub fn all_tables(&self) -> impl Iterator<Item = &Arc<TableInfo>> {
        self.tables.values()
    }
}

/// The parent of a foreign key as a key of [`InfoSchema::children`].
fn parent_of(key: &ForeignKeyInfo) -> (String, String) {
    (folded(&key.parent_database).into_owned(), folded(&key.parent_table).into_owned())
}

/// Makes the next [`InfoSchema`] from a previous one.
#[derive(Debug, Default)]
pub struct InfoSchemaBuilder {
    schema: InfoSchema,
}

impl InfoSchemaBuilder {
    /// Starts from an existing schema.
    pub fn from(schema: &InfoSchema) -> Self {
        Self { schema: schema.clone() }
    }

    /// Sets the version of the result.
    pub fn version(&mut self, version: u64) -> &mut Self {
        self.schema.version = version;
        self
    }

    /// Adds a database or replaces its definition; its tables stay.
    pub fn put_database(&mut self, info: DatabaseInfo) -> &mut Self {
        let key = folded(&info.name).into_owned();
        self.schema.names.insert(info.id, key.clone());
        let tables = self.schema.databases.remove(&key).map(|entry| entry.tables).unwrap_or_default();
        self.schema.databases.insert(key, DatabaseEntry { info: Arc::new(info), tables });
        self
    }

    /// Removes a database with its tables.
    pub fn remove_database(&mut self, id: DatabaseId) -> &mut Self {
        if let Some(key) = self.schema.names.remove(&id) {
            self.schema.databases.remove(&key);
        }
        let gone: Vec<TableId> = self.schema.tables.values().filter(|table| table.database_id == id).map(|table| table.id).collect();
        for table in gone {
            self.remove_table(table);
        }
        self
    }

    /// Adds a table or replaces the definition with the same id, under whatever name and database that had.
    pub fn put_table(&mut self, table: impl Into<Arc<TableInfo>>) -> &mut Self {
        let table = table.into();
        self.remove_table(table.id);
        let entry = self.schema.names.get(&table.database_id).and_then(|key| self.schema.databases.get_mut(key));
        if let Some(entry) = entry {
            // A table on its way in is there for those who know its id: writers of tables it refers to.
            if table.state.is_public() {
                Arc::make_mut(&mut entry.tables).insert(folded(&table.name).into_owned(), Arc::clone(&table));
            }
            for key in &table.foreign_keys {
                let children = self.schema.children.entry(parent_of(key)).or_default();
                if let Err(at) = children.binary_search(&table.id) {
                    children.insert(at, table.id);
                }
            }
            self.schema.tables.insert(table.id, table);
        }
        self
    }

    /// Forgets which tables a table refers to.
    fn unlink_parents(&mut self, table: &TableInfo) {
        for key in &table.foreign_keys {
            let parent = parent_of(key);
            if let Some(children) = self.schema.children.get_mut(&parent) {
                children.retain(|id| *id != table.id);
                if children.is_empty() {
                    self.schema.children.remove(&parent);
                }
            }
        }
    }

    /// Removes a table.
    pub fn remove_table(&mut self, id: TableId) -> &mut Self {
        let Some(old) = self.schema.tables.remove(&id) else { return self };
        self.unlink_parents(&old);
        let entry = self.schema.names.get(&old.database_id).and_then(|key| self.schema.databases.get_mut(key));
        if let Some(entry) = entry {
            let key = folded(&old.name);
            if entry.tables.get(&*key).is_some_and(|table| table.id == id) {
                Arc::make_mut(&mut entry.tables).remove(&*key);
            }
        }
        self
    }

    /// The finished schema.
    pub fn build(self) -> InfoSchema {
        self.schema
    }
}

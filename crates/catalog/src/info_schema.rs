//! The info schema: every database and table of the cluster at one schema version, immutable.
//!
//! A statement takes one `Arc<InfoSchema>` and sees one consistent schema to its end, whatever DDL does meanwhile. A new version is made
//! by cloning the maps (of `Arc`s) and applying one change after another with [`InfoSchemaBuilder`]; nothing is ever changed in place.

use std::sync::Arc;

use base::{DatabaseId, TableId};
use rustc_hash::FxHashMap;

use crate::{
    model::{DatabaseInfo, TableInfo},
    name::folded,
};

/// All databases and tables at one schema version.
#[derive(Clone, Debug, Default)]
pub struct InfoSchema {
    version: u64,
    databases: FxHashMap<String, DatabaseEntry>,
    names: FxHashMap<DatabaseId, String>,
    tables: FxHashMap<TableId, Arc<TableInfo>>,
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

    /// Every table of the cluster in no particular order.
    pub fn all_tables(&self) -> impl Iterator<Item = &Arc<TableInfo>> {
        self.tables.values()
    }
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
        if let Some(entry) = self.schema.names.remove(&id).and_then(|key| self.schema.databases.remove(&key)) {
            for table in entry.tables.values() {
                self.schema.tables.remove(&table.id);
            }
        }
        self
    }

    /// Adds a table or replaces the definition with the same id, under whatever name and database that had.
    pub fn put_table(&mut self, table: impl Into<Arc<TableInfo>>) -> &mut Self {
        let table = table.into();
        self.remove_table(table.id);
        let entry = self.schema.names.get(&table.database_id).and_then(|key| self.schema.databases.get_mut(key));
        if let Some(entry) = entry {
            Arc::make_mut(&mut entry.tables).insert(folded(&table.name).into_owned(), Arc::clone(&table));
            self.schema.tables.insert(table.id, table);
        }
        self
    }

    /// Removes a table.
    pub fn remove_table(&mut self, id: TableId) -> &mut Self {
        let Some(old) = self.schema.tables.remove(&id) else { return self };
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

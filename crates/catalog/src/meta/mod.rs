//! The catalog as it is stored: transactional meta keys.
//!
//! [`Meta`] is a typed view of one transaction. All of DDL's effects go through it, so that a step of a job (its new table definitions, the
//! schema version, the job itself) is one atomic write.
//!
//! Invariants:
//! - Every change of a database or table is written together with a [`SchemaDiff`] that names it, under the next schema version.
//! - A diff only *names* what changed; readers load the named objects at their own timestamp. Applying a diff twice, or a later state
//!   of the object, is harmless.

pub mod keys;

use base::{DatabaseId, KeyRange, TableId};
use bytes::Bytes;
use client::{ScanOptions, Transaction, WriteFlags};
use codec::meta::{hash_prefix, value_key};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{DatabaseInfo, Error, Notices, Result, TableInfo};

/// Changes meta keys in a transaction of its own, again after conflicts; comes to what the block comes to. The block gets a [`Meta`] and the
/// transaction's timestamp; errors of it and of the commit leave the function around.
#[macro_export]
macro_rules! change_meta {
    ($client:expr, $options:expr, |$meta:ident, $now:ident| $change:block) => {
        loop {
            let mut txn = $client.begin($options);
            let $now = txn.ensure_start_ts().await?;
            let done = {
                let $meta = &mut $crate::meta::Meta::new(&mut txn);
                $change
            };
            match txn.commit().await {
                Ok(_) => break done,
                Err(error) if error.is_retryable() => {}
                Err(error) => return Err(error.into()),
            }
        }
    };
}

/// So many schema diffs are kept; a server that is further behind loads the whole schema.
const KEPT_DIFFS: u64 = 1024;

/// Says that the store is bootstrapped, by what version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootstrapInfo {
    /// Version of the system tables; see [`crate::bootstrap`].
    pub version: u32,
    /// When, in milliseconds since the epoch.
    pub created_ms: u64,
}

/// What a schema version changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaDiff {
    /// The version this diff leads to.
    pub version: u64,
    /// Databases that were made, changed or removed.
    pub databases: Vec<DatabaseId>,
    /// Tables that were made, changed or removed, with the database to look in.
    pub tables: Vec<(DatabaseId, TableId)>,
}

/// A typed view of a transaction's meta keys.
pub struct Meta<'a> {
    txn: &'a mut Transaction,
}

impl<'a> Meta<'a> {
    /// Wraps a transaction. Changes of the schema are small, and dropping a table is a way out of a full disk: they are let through there.
    pub fn new(txn: &'a mut Transaction) -> Self {
        txn.allow_on_nearly_full_disk();
        Self { txn }
    }

    /// The transaction.
    pub fn transaction(&mut self) -> &mut Transaction {
        self.txn
    }

    /// Reads a value as JSON.
    pub async fn get<T: DeserializeOwned>(&mut self, key: &[u8]) -> Result<Option<T>> {
        match self.txn.get(key).await? {
            Some(value) => Ok(Some(decode(key, &value)?)),
            None => Ok(None),
        }
    }

    /// Writes a value as JSON.
    pub fn put<T: Serialize>(&mut self, key: Vec<u8>, value: &T) -> Result<()> {
        let value = serde_json::to_vec(value).map_err(|source| Error::EncodeMeta { key: key.clone(), source })?;
        Ok(self.txn.set(key.into(), value.into(), WriteFlags::default())?)
    }

    /// Removes a value.
    pub fn remove(&mut self, key: Vec<u8>) {
        self.txn.delete(key.into());
    }

    /// Reads every field of a hash, in the order of the fields' bytes.
    pub async fn hash<T: DeserializeOwned>(&mut self, hash: &[u8]) -> Result<Vec<T>> {
        let mut values = Vec::new();
        for (key, value) in self.hash_raw(hash).await? {
            values.push(decode(&key, &value)?);
        }
        Ok(values)
    }

    /// Reads every field of a hash with its key, undecoded.
    pub async fn hash_raw(&mut self, hash: &[u8]) -> Result<Vec<(Bytes, Bytes)>> {
        self.txn.ensure_start_ts().await?;
        let range = KeyRange::prefix(&hash_prefix(hash));
        let mut scanner = self.txn.scan(range, ScanOptions::default());
        let mut pairs = Vec::new();
        while let Some(page) = scanner.next_page().await? {
            pairs.extend(page);
        }
        Ok(pairs)
    }

    /// Counts a change that all servers have to hear of.
    pub async fn notify(&mut self, change: impl FnOnce(&mut Notices)) -> Result<()> {
        let mut notices = self.get(&value_key(keys::NOTICES)).await?.unwrap_or_default();
        change(&mut notices);
        self.put(value_key(keys::NOTICES), &notices)
    }

    /// Who bootstrapped the store; `None` when nobody has.
    pub async fn bootstrap(&mut self) -> Result<Option<BootstrapInfo>> {
        self.get(&value_key(keys::BOOTSTRAP)).await
    }

    /// Marks the store as bootstrapped.
    pub fn put_bootstrap(&mut self, info: &BootstrapInfo) -> Result<()> {
        self.put(value_key(keys::BOOTSTRAP), info)
    }

    /// The schema version; 0 before bootstrap.
    pub async fn schema_version(&mut self) -> Result<u64> {
        Ok(self.get(&value_key(keys::SCHEMA_VERSION)).await?.unwrap_or(0))
    }

    /// Raises the schema version by one and writes down what it changes.
    pub async fn next_schema_version(&mut self, mut diff: SchemaDiff) -> Result<u64> {
        let version = self.schema_version().await? + 1;
        diff.version = version;
        self.put(value_key(keys::SCHEMA_VERSION), &version)?;
        self.put(keys::diff(version), &diff)?;
        if version > KEPT_DIFFS {
            self.remove(keys::diff(version - KEPT_DIFFS));
        }
        Ok(version)
    }

    /// What led to `version`; `None` when that is no longer known.
    pub async fn diff(&mut self, version: u64) -> Result<Option<SchemaDiff>> {
        self.get(&keys::diff(version)).await
    }

    /// Makes sure that a counter of the allocator ([`keys::AUTO_ID`], [`keys::ROW_ID`]) is at least `value`.
    pub async fn raise_counter(&mut self, hash: &[u8], table: TableId, value: u64) -> Result<()> {
        let key = keys::numbered(hash, table.0);
        let old: u64 = self.get(&key).await?.unwrap_or(0);
        if value > old { self.put(key, &value) } else { Ok(()) }
    }

    /// Takes `count` ids that nothing else in the cluster has had, and returns the first.
    pub async fn allocate_ids(&mut self, count: i64) -> Result<i64> {
        let key = value_key(keys::NEXT_GLOBAL_ID);
        let last: i64 = self.get(&key).await?.unwrap_or(0);
        self.put(key, &(last + count))?;
        Ok(last + 1)
    }

    /// Conflicts with everybody who takes ids meanwhile.
    pub async fn touch_ids(&mut self) -> Result<()> {
        self.allocate_ids(0).await.map(|_| ())
    }

    /// All databases.
    pub async fn databases(&mut self) -> Result<Vec<DatabaseInfo>> {
        self.hash(keys::DATABASES).await
    }

    /// A database.
    pub async fn database(&mut self, id: DatabaseId) -> Result<Option<DatabaseInfo>> {
        self.get(&keys::database(id)).await
    }

    /// Makes or changes a database.
    pub fn put_database(&mut self, info: &DatabaseInfo) -> Result<()> {
        self.put(keys::database(info.id), info)
    }

    /// Removes a database; its tables must be gone.
    pub fn remove_database(&mut self, id: DatabaseId) {
        self.remove(keys::database(id));
    }

    /// The tables of a database.
    pub async fn tables(&mut self, database: DatabaseId) -> Result<Vec<TableInfo>> {
        self.hash(&keys::tables_of(database)).await
    }

    /// A table.
    pub async fn table(&mut self, database: DatabaseId, id: TableId) -> Result<Option<TableInfo>> {
        self.get(&keys::table(database, id)).await
    }

    /// Makes or changes a table.
    pub fn put_table(&mut self, table: &TableInfo) -> Result<()> {
        self.put(keys::table(table.database_id, table.id), table)
    }

    /// Takes a table's record out of a database that it moves away from; counters and statistics stay.
    pub fn unlink_table(&mut self, database: DatabaseId, id: TableId) {
        self.remove(keys::table(database, id));
    }

    /// Removes a table with its counters and statistics.
    pub fn remove_table(&mut self, database: DatabaseId, id: TableId) {
        self.unlink_table(database, id);
        self.remove(keys::numbered(keys::AUTO_ID, id.0));
        self.remove(keys::numbered(keys::ROW_ID, id.0));
        self.remove(keys::numbered(keys::STATS, id.0));
        self.remove(keys::numbered(keys::STATS_COUNTS, id.0));
    }
}

/// Reads a value's JSON.
pub(crate) fn decode<T: DeserializeOwned>(key: &[u8], value: &[u8]) -> Result<T> {
    serde_json::from_slice(value).map_err(|source| Error::DecodeMeta { key: key.to_vec(), source })
}

//! The catalog of one server: the current info schema and what goes with it.
//!
//! [`Catalog::current`] is on the path of every statement: one atomic load, no lock. [`Catalog::reload`] catches up with the stored schema
//! version: by diffs when they are at hand, else by loading everything. In one process the DDL runner calls it right after each
//! commit; a server of a cluster calls it when it sees a newer version (see `follow`).
//!
//! Invariants:
//! - The version only grows, and readers see whole versions: the schema is swapped in one piece.
//! - One reload at a time; a reload that arrives later sees everything committed before it was called.

use std::sync::Arc;

use arc_swap::ArcSwap;
use client::{Client, TxnOptions};
use tokio::sync::watch;

use crate::{
    AutoIds, InfoSchema, InfoSchemaBuilder, Mdl, Notices, Result, Servers, bootstrap, follow, infoschema_tables,
    meta::{Meta, SchemaDiff},
};

/// More diffs than this are not worth applying one by one.
const MAX_DIFFS: u64 = 256;

/// The catalog of one server; clones share it.
#[derive(Clone)]
pub struct Catalog {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    client: Client,
    schema: ArcSwap<InfoSchema>,
    version: watch::Sender<u64>,
    reloading: tokio::sync::Mutex<()>,
    auto_ids: AutoIds,
    mdl: Mdl,
    /// The other servers, in a cluster.
    servers: Option<Servers>,
    pub(crate) notices: watch::Sender<Notices>,
}

impl Catalog {
    /// Bootstraps the store if that has not been done, and loads the schema.
    pub async fn load(client: Client) -> Result<Self> {
        bootstrap::run(&client).await?;
        let servers = match client.is_embedded() {
            true => None,
            false => Some(Servers::join(client.clone()).await?),
        };
        let mut schema = InfoSchemaBuilder::default();
        infoschema_tables::define(&mut schema);
        let inner = Inner {
            auto_ids: AutoIds::new(client.clone(), AutoIds::DEFAULT_STEP),
            client,
            schema: ArcSwap::from_pointee(schema.build()),
            version: watch::Sender::new(0),
            reloading: tokio::sync::Mutex::new(()),
            mdl: Mdl::default(),
            servers,
            notices: watch::Sender::new(Notices::default()),
        };
        let catalog = Self { inner: Arc::new(inner) };
        catalog.reload().await?;
        if let Some(servers) = catalog.servers() {
            catalog.client().env().spawn(follow::follow(Arc::downgrade(&catalog.inner), servers.clone()));
        }
        Ok(catalog)
    }

    /// The servers of the cluster; `None` where there is one process.
    pub fn servers(&self) -> Option<&Servers> {
        self.inner.servers.as_ref()
    }

    /// Tells of changes that other servers have made: accounts, global variables.
    pub fn watch_notices(&self) -> watch::Receiver<Notices> {
        self.inner.notices.subscribe()
    }

    /// The current schema.
    pub fn current(&self) -> Arc<InfoSchema> {
        self.inner.schema.load_full()
    }

    /// The version of the current schema.
    pub fn version(&self) -> u64 {
        self.inner.schema.load().version()
    }

    /// The transaction client the catalog works with.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// The server's AUTO_INCREMENT allocator.
    pub fn auto_ids(&self) -> &AutoIds {
        &self.inner.auto_ids
    }

    /// The server's metadata locks.
    pub fn mdl(&self) -> &Mdl {
        &self.inner.mdl
    }

    /// Tells of every new schema version.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.inner.version.subscribe()
    }

    /// Catches up with the stored schema; returns the version reached.
    pub async fn reload(&self) -> Result<u64> {
        let _reloading = self.inner.reloading.lock().await;
        let old = self.current();
        let mut txn = self.inner.client.begin(TxnOptions::default());
        let loaded = load_newer(&mut Meta::new(&mut txn), &old).await;
        txn.rollback().await;
        if let Some(schema) = loaded? {
            let version = schema.version();
            assert!(version > old.version(), "schema version went backwards: {} → {version}", old.version());
            for table in old.all_tables().filter(|table| schema.table_ref(table.id).is_none()) {
                self.inner.auto_ids.forget(table.id);
            }
            self.inner.schema.store(Arc::new(schema));
            self.inner.version.send_replace(version);
        }
        Ok(self.version())
    }
}

/// Reads what is newer than `old` at the timestamp of `meta`'s transaction; `None` when nothing is.
async fn load_newer(meta: &mut Meta<'_>, old: &InfoSchema) -> Result<Option<InfoSchema>> {
    let version = meta.schema_version().await?;
    if version == old.version() {
        return Ok(None);
    }
    if old.version() > 0 && version - old.version() <= MAX_DIFFS {
        let mut diffs = Vec::new();
        for step in old.version() + 1..=version {
            match meta.diff(step).await? {
                Some(diff) => diffs.push(diff),
                None => return load_all(meta, version).await.map(Some),
            }
        }
        return apply(meta, old, &diffs, version).await.map(Some);
    }
    load_all(meta, version).await.map(Some)
}

/// Loads the databases and tables that `diffs` name. Later diffs may name them again: each is loaded once, in its newest state.
async fn apply(meta: &mut Meta<'_>, old: &InfoSchema, diffs: &[SchemaDiff], version: u64) -> Result<InfoSchema> {
    let mut builder = InfoSchemaBuilder::from(old);
    builder.version(version);
    let mut databases: Vec<_> = diffs.iter().flat_map(|diff| diff.databases.iter().copied()).collect();
    databases.sort_unstable();
    databases.dedup();
    for id in databases {
        match meta.database(id).await? {
            Some(info) => builder.put_database(info),
            None => builder.remove_database(id),
        };
    }
    let mut tables: Vec<_> = diffs.iter().flat_map(|diff| diff.tables.iter().copied()).collect();
    tables.sort_unstable();
    tables.dedup();
    let mut found = Vec::new();
    for (database, id) in tables {
        builder.remove_table(id);
        found.extend(meta.table(database, id).await?);
    }
    for table in found {
        builder.put_table(table);
    }
    Ok(builder.build())
}

async fn load_all(meta: &mut Meta<'_>, version: u64) -> Result<InfoSchema> {
    let mut builder = InfoSchemaBuilder::default();
    builder.version(version);
    infoschema_tables::define(&mut builder);
    for database in meta.databases().await? {
        let tables = meta.tables(database.id).await?;
        builder.put_database(database);
        for table in tables {
            builder.put_table(table);
        }
    }
    Ok(builder.build())
}

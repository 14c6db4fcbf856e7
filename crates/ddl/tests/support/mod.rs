//! A server without SQL's upper half: statements of this crate, and rows written by hand in every schema state.

#[path = "../../../catalog/tests/support/mod.rs"]
mod cluster;

use std::{collections::BTreeMap, sync::Arc};

use base::{ConnectionId, KeyRange};
use bytes::Bytes;
use catalog::{Catalog, IndexInfo, MdlSession, TableInfo, layout};
use client::{CancelToken, Client, LockRequest, ScanOptions, Transaction, TxnOptions, WriteFlags};
pub use cluster::Cluster;
use codec::{
    Handle,
    row::RowBuilder,
    table::{decode_record_key, index_prefix, record_prefix},
};
use copr::{
    decode::EntryDecoder,
    index_entry::EntryBuffer,
    record::{common_handle, is_in_row_value, push_column, record_key},
};
use ddl::{Ddl, DdlOutcome, DdlRequest};
use parser::ParseOptions;
use types::{Chunk, Datum, DatumRef, TimeZone, convert::ConvertMode};

/// One process: catalog and owner.
pub struct Server {
    pub client: Client,
    pub catalog: Catalog,
    pub ddl: Ddl,
}

impl Server {
    pub async fn start(cluster: &Cluster) -> Self {
        let client = cluster.start();
        let catalog = Catalog::load(client.clone()).await.expect("the catalog loads");
        let ddl = Ddl::start(catalog.clone()).await.expect("the owner starts");
        Self { client, catalog, ddl }
    }

    pub async fn run(&self, sql: &str) -> Result<DdlOutcome, ddl::Error> {
        self.run_until(sql, CancelToken::new()).await
    }

    pub async fn run_until(&self, sql: &str, cancel: CancelToken) -> Result<DdlOutcome, ddl::Error> {
        let stmt = parser::parse(sql, &ParseOptions::default()).expect("parses").remove(0);
        let time_zone = TimeZone::Offset(0);
        let (database, mode) = (Some("test"), ConvertMode::STRICT);
        let request = DdlRequest { database, query: sql, mode, time_zone: &time_zone, cancel, foreign_key_checks: true };
        self.ddl.run(&stmt, &request).await
    }

    pub fn table(&self, name: &str) -> Arc<TableInfo> {
        self.catalog.current().table("test", name).expect("the table is there")
    }
}

/// A session that changes rows by primary key, one pessimistic transaction a change, with the schema of its moment.
pub struct Writer {
    client: Client,
    catalog: Catalog,
    mdl: MdlSession,
}

impl Writer {
    pub fn new(server: &Server, connection: u64) -> Self {
        Self {
            client: server.client.clone(),
            catalog: server.catalog.clone(),
            mdl: server.catalog.mdl().register(ConnectionId(connection)),
        }
    }

    /// Puts a row (`None`: removes it) under the key of `row`, maintaining indexes as their states ask for.
    pub async fn put(&self, name: &str, row: &[Datum], remove: bool) -> Result<(), client::Error> {
        let table = self.enter(name);
        let result = self.change(&table, row, remove).await;
        self.mdl.leave();
        result
    }

    /// Registers the use of a table and returns its definition; [`Writer::leave`] ends it.
    pub fn enter(&self, name: &str) -> Arc<TableInfo> {
        loop {
            let schema = self.catalog.current();
            let table = schema.table("test", name).expect("the table is there");
            if self.mdl.enter(|| self.catalog.current(), &schema, &[table.id]).is_ok() {
                return table;
            }
        }
    }

    pub fn leave(&self) {
        self.mdl.leave();
    }

    /// Changes a row as a transaction does that goes by this definition of the table.
    pub async fn change(&self, table: &TableInfo, row: &[Datum], remove: bool) -> Result<(), client::Error> {
        loop {
            let mut txn = self.client.begin(TxnOptions { pessimistic: true, ..TxnOptions::default() });
            match self.change_once(&mut txn, table, row, remove).await {
                Ok(()) => return Ok(()),
                Err(error) => {
                    txn.rollback().await;
                    let again = error.is_retryable() || matches!(error, client::Error::Deadlock { .. } | client::Error::Aborted { .. });
                    if !again {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn change_once(&self, txn: &mut Transaction, table: &TableInfo, row: &[Datum], remove: bool) -> Result<(), client::Error> {
        let handle = handle_of(table, row);
        let key: Bytes = record_key(table.id, &handle).into();
        let request = LockRequest { return_values: true, lock_newest: true, ..LockRequest::default() };
        let old = txn.lock_keys(std::slice::from_ref(&key), request).await?.values.remove(0).flatten();
        if let Some(old) = &old {
            let old = decode(table, &key, old);
            for index in table.indexes.iter().filter(|index| index.state.is_deletable() && index.has_entries()) {
                let (entry, distinct, _) = entry_of(table, index, &old, &handle);
                // While a unique index is built, the entry may be that of another row with the same value.
                if distinct && !index.state.is_public() && self.owner_of(txn, table, index, &entry).await? != Some(handle.clone()) {
                    continue;
                }
                txn.delete_with(entry, if distinct { WriteFlags::default() } else { WriteFlags::INDEX_ENTRY });
            }
        }
        if remove {
            txn.delete(key);
        } else {
            txn.set(key, encode(table, row), WriteFlags::default())?;
            for index in table.indexes.iter().filter(|index| index.state.is_writable() && index.has_entries()) {
                let (entry, distinct, value) = entry_of(table, index, row, &handle);
                if distinct && self.owner_of(txn, table, index, &entry).await?.is_some_and(|owner| owner != handle) {
                    return Err(client::Error::KeyExists { key: entry, value: None });
                }
                txn.set(entry, value, if distinct { WriteFlags::default() } else { WriteFlags::INDEX_ENTRY })?;
            }
        }
        txn.commit().await?;
        Ok(())
    }

    /// The row that a unique entry belongs to, its own writes included; the entry stays locked.
    async fn owner_of(
        &self,
        txn: &mut Transaction,
        table: &TableInfo,
        index: &IndexInfo,
        entry: &Bytes,
    ) -> Result<Option<Handle>, client::Error> {
        let request = LockRequest { return_values: true, lock_newest: true, ..LockRequest::default() };
        let stored = txn.lock_keys(std::slice::from_ref(entry), request).await?.values.remove(0).flatten();
        let value = match txn.get_local(entry) {
            Some(local) => local.value().cloned(),
            None => stored,
        };
        let codec = layout::index_codec(table, index);
        Ok(value.map(|value| codec.decode_handle(entry, &value).expect("an entry of this index")))
    }
}

pub fn handle_of(table: &TableInfo, row: &[Datum]) -> Handle {
    match table.pk {
        catalog::PrimaryKey::IntHandle { column } => match row[column] {
            Datum::Int(id) => Handle::Int(id),
            ref other => panic!("not a handle: {other:?}"),
        },
        catalog::PrimaryKey::Common { index } => {
            let values: Vec<DatumRef<'_>> = table.primary_key_columns().into_iter().map(|offset| row[offset].as_ref()).collect();
            common_handle(&layout::key_parts(table, &table.indexes[index]), &values).expect("encodes")
        }
        catalog::PrimaryKey::HiddenRowId => panic!("these tests name rows by their key"),
    }
}

fn encode(table: &TableInfo, row: &[Datum]) -> Bytes {
    let kind = layout::handle_kind(table);
    let mut builder = RowBuilder::new();
    builder.start();
    for (column, value) in table.columns.iter().zip(row).filter(|(column, _)| is_in_row_value(column.id, &kind)) {
        push_column(&mut builder, column.id, &column.ty, value.as_ref()).expect("encodes");
    }
    builder.finish().into()
}

/// All columns of a row.
pub fn decode(table: &TableInfo, key: &[u8], value: &[u8]) -> Vec<Datum> {
    let columns = layout::scan_columns(table, 0..table.columns.len());
    let types: Vec<_> = columns.iter().map(|column| column.ty.clone()).collect();
    let mut chunk = Chunk::new(&types, 1);
    let mut decoder = EntryDecoder::of_rows(table.id, &columns, &layout::handle_kind(table));
    decoder.decode(&columns, key, value, &mut chunk).expect("decodes");
    chunk.set_rows(1);
    chunk.row(0).to_datums()
}

fn entry_of(table: &TableInfo, index: &IndexInfo, row: &[Datum], handle: &Handle) -> (Bytes, bool, Bytes) {
    let values: Vec<DatumRef<'_>> = index.columns.iter().map(|part| row[part.offset].as_ref()).collect();
    let handle_values: Vec<DatumRef<'_>> = match table.pk {
        catalog::PrimaryKey::Common { .. } => table.primary_key_columns().into_iter().map(|offset| row[offset].as_ref()).collect(),
        _ => Vec::new(),
    };
    let mut buffer = EntryBuffer::default();
    let distinct = layout::index_codec(table, index).encode(&values, handle, &handle_values, &mut buffer).expect("encodes");
    (Bytes::copy_from_slice(&buffer.key), distinct, Bytes::copy_from_slice(&buffer.value))
}

/// Everything in a range at one new timestamp.
pub async fn contents(client: &Client, prefix: &[u8]) -> BTreeMap<Bytes, Bytes> {
    let mut txn = client.begin(TxnOptions::default());
    txn.ensure_start_ts().await.expect("a timestamp");
    let mut scanner = txn.scan(KeyRange::prefix(prefix), ScanOptions::default());
    let mut found = BTreeMap::new();
    while let Some(page) = scanner.next_page().await.expect("scans") {
        found.extend(page);
    }
    found
}

/// Every index entry has its row and the reverse. Returns the number of rows.
pub async fn check_consistency(server: &Server, name: &str) -> usize {
    let table = server.table(name);
    let rows = contents(&server.client, &record_prefix(table.id)).await;
    for index in table.indexes.iter().filter(|index| index.has_entries()) {
        let mut expected = BTreeMap::new();
        for (key, value) in &rows {
            let (_, handle) = decode_record_key(key).expect("a row key");
            let (entry, _, entry_value) = entry_of(&table, index, &decode(&table, key, value), &handle);
            assert!(expected.insert(entry, entry_value).is_none(), "two rows with one entry in {}", index.name);
        }
        let actual = contents(&server.client, &index_prefix(table.id, index.id)).await;
        let missing = expected.keys().filter(|key| !actual.contains_key(*key)).count();
        let dangling = actual.keys().filter(|key| !expected.contains_key(*key)).count();
        assert!(actual == expected, "index {}: {missing} entries missing, {dangling} without a row, of {}", index.name, expected.len());
    }
    rows.len()
}

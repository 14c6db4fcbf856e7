//! The first start on an empty store: system databases, grant tables, the root account.
//!
//! One transaction writes it all, so a crash leaves either nothing or everything, and of two processes that start at once one
//! finds the other's work. A store that holds meta or table keys but not our mark belongs to another system and is left alone.
//!
//! | version | what it brought |
//! |---|---|
//! | 1 | databases `mysql` and `test`; grant tables; `root@'%'` without password |
//! | 2 | `mysql.global_variables` |
//! | 3 | the dynamic privileges of `root@'%'` |
//!
//! A store of an older version gets what it misses at the next start, in one transaction too.

use base::{DatabaseId, KeyRange, TableId};
use client::{Client, ScanOptions, Transaction, TxnOptions, WriteFlags};
use codec::{meta::META_PREFIX, row::RowBuilder, table::TABLE_PREFIX};
use copr::{
    HandleKind,
    record::{common_handle, is_in_row_value, push_column, record_key},
};
use types::{Charset, Collation, Datum, DatumRef};

use crate::{
    DatabaseInfo, Error, Result, SchemaState, TableInfo,
    layout::handle_kind,
    meta::{BootstrapInfo, Meta, SchemaDiff},
    system_tables::{TABLES, root_account, root_grants},
};

/// The version this program bootstraps to.
pub const VERSION: u32 = 3;

/// Bootstraps the store unless that has been done.
pub async fn run(client: &Client) -> Result<()> {
    loop {
        let mut txn = client.begin(TxnOptions::default());
        match Meta::new(&mut txn).bootstrap().await? {
            Some(info) if info.version > VERSION => return Err(Error::NewerBootstrap { found: info.version, known: VERSION }),
            Some(info) if info.version == VERSION => return Ok(()),
            Some(info) => upgrade(&mut txn, info, client.env().wall_ms()).await?,
            None => {
                refuse_foreign_store(&mut txn).await?;
                create_all(&mut txn, client.env().wall_ms()).await?;
            }
        }
        match txn.commit().await {
            Ok(_) => return Ok(()),
            // Another process was quicker; look again.
            Err(error) if error.is_retryable() => continue,
            Err(error) => return Err(error.into()),
        }
    }
}

async fn refuse_foreign_store(txn: &mut Transaction) -> Result<()> {
    for prefix in [META_PREFIX, TABLE_PREFIX] {
        let options = ScanOptions { key_only: true, limit: Some(1), ..ScanOptions::default() };
        let mut scanner = txn.scan(KeyRange::prefix(&[prefix]), options);
        if let Some((key, _)) = scanner.next_page().await?.and_then(|page| page.into_iter().next()) {
            return Err(Error::ForeignMetaKeys { key: key.to_vec() });
        }
    }
    Ok(())
}

/// Adds the system tables that came after the store's version.
async fn upgrade(txn: &mut Transaction, info: BootstrapInfo, now_ms: u64) -> Result<()> {
    let mut meta = Meta::new(txn);
    let mut diff = SchemaDiff::default();
    let mysql = meta.databases().await?.into_iter().find(|database| database.name == "mysql");
    let mysql = mysql.expect("the first version has made the database of system tables").id;
    for definition in TABLES.iter().filter(|definition| definition.since > info.version) {
        let table = definition.build(TableId(meta.allocate_ids(1).await?), mysql, now_ms);
        meta.put_table(&table)?;
        diff.tables.push((mysql, table.id));
    }
    if !diff.tables.is_empty() {
        meta.next_schema_version(diff).await?;
    }
    meta.put_bootstrap(&BootstrapInfo { version: VERSION, ..info })?;
    if info.version < 3 {
        let tables = meta.tables(mysql).await?;
        let grants = tables.iter().find(|table| table.name == "global_grants").expect("the first version has made the grant tables");
        put_root_grants(txn, grants)?;
    }
    Ok(())
}

/// Dynamic privileges for root, who has all others.
fn put_root_grants(txn: &mut Transaction, table: &TableInfo) -> Result<()> {
    for row in root_grants() {
        let (key, value) = encode_row(table, &row)?;
        txn.set(key.into(), value.into(), WriteFlags::default())?;
    }
    Ok(())
}

async fn create_all(txn: &mut Transaction, now_ms: u64) -> Result<()> {
    let mut meta = Meta::new(txn);
    let mut id = meta.allocate_ids(2 + TABLES.len() as i64).await?;
    let mut next_id = || {
        id += 1;
        id - 1
    };
    let mut diff = SchemaDiff::default();
    let mysql = DatabaseId(next_id());
    for (database, name) in [(mysql, "mysql"), (DatabaseId(next_id()), "test")] {
        meta.put_database(&DatabaseInfo {
            id: database,
            name: name.to_owned(),
            charset: Charset::Utf8mb4,
            collation: Collation::Utf8mb4_0900AiCi,
            state: SchemaState::Public,
        })?;
        diff.databases.push(database);
    }
    let (mut accounts, mut grants) = (None, None);
    for definition in TABLES {
        let table = definition.build(TableId(next_id()), mysql, now_ms);
        meta.put_table(&table)?;
        diff.tables.push((mysql, table.id));
        match definition.name {
            "user" => accounts = Some(table),
            "global_grants" => grants = Some(table),
            _ => {}
        }
    }
    meta.next_schema_version(diff).await?;
    meta.put_bootstrap(&BootstrapInfo { version: VERSION, created_ms: now_ms })?;
    let accounts = accounts.expect("the list of system tables has mysql.user");
    let (key, value) = encode_row(&accounts, &root_account(&accounts))?;
    txn.set(key.into(), value.into(), WriteFlags::INSERT)?;
    put_root_grants(txn, &grants.expect("the list of system tables has mysql.global_grants"))
}

/// The record of a row of a system table: clustered by its leading columns, without secondary indexes.
fn encode_row(table: &TableInfo, row: &[Datum]) -> Result<(Vec<u8>, Vec<u8>)> {
    let kind = handle_kind(table);
    let HandleKind::Common { parts } = &kind else { unreachable!("system tables are clustered by names") };
    let key_values: Vec<DatumRef<'_>> = table.primary_key_columns().into_iter().map(|offset| row[offset].as_ref()).collect();
    let handle = common_handle(parts, &key_values)?;
    let mut builder = RowBuilder::new();
    builder.start();
    for (column, value) in table.columns.iter().zip(row).filter(|(column, _)| is_in_row_value(column.id, &kind)) {
        push_column(&mut builder, column.id, &column.ty, value.as_ref())?;
    }
    Ok((record_key(table.id, &handle), builder.finish()))
}

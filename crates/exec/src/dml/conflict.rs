//! The rows that are in the way of a new row: what REPLACE deletes and ON DUPLICATE KEY UPDATE changes.

use std::sync::Arc;

use bytes::Bytes;
use catalog::TableInfo;
use codec::Handle;
use copr::ScanColumn;
use copr::decode::EntryDecoder;
use types::{Chunk, Datum, DatumRef, FieldType};

use crate::dml::locks::values_for_write;
use crate::dml::table_writer::{KeyRole, TableWriter};
use crate::layout::{all_columns, handle_text};
use crate::{Error, ExecCtx, Result};

/// A row in the way.
pub(crate) struct Conflict {
    /// The unique key it has in common with the new row.
    pub(crate) role: KeyRole,
    pub(crate) handle: Handle,
    /// The row's value, where it was read with its key.
    value: Option<Bytes>,
}

/// The rows that have a unique key in common with `row`, in the order of the keys: the primary key first.
pub(crate) async fn find(row: &[DatumRef<'_>], handle: &Handle, writer: &mut TableWriter, ctx: &ExecCtx) -> Result<Vec<Conflict>> {
    let keys = writer.unique_keys(row, handle)?;
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = keys.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    let values = values_for_write(&wanted, ctx).await?;
    let mut conflicts = Vec::new();
    for ((key, role), value) in keys.into_iter().zip(values) {
        let Some(value) = value else { continue };
        conflicts.push(match role {
            KeyRole::NewUnique(index) => Conflict { role, handle: writer.entry_handle(index, &key, &value)?, value: None },
            _ => Conflict { role, handle: handle.clone(), value: Some(value) },
        });
    }
    Ok(conflicts)
}

/// Reads whole rows for writing.
pub(crate) struct RowReader {
    table: Arc<TableInfo>,
    columns: Vec<ScanColumn>,
    types: Vec<FieldType>,
    decoder: EntryDecoder,
}

impl RowReader {
    pub(crate) fn new(writer: &TableWriter) -> Self {
        let table = writer.table().clone();
        let columns = all_columns(&table);
        let types = columns.iter().map(|column| column.ty.clone()).collect();
        let decoder = EntryDecoder::of_rows(table.id, &columns, writer.handle_kind());
        Self { table, columns, types, decoder }
    }

    /// The row in the way, in the table's layout. In a pessimistic transaction it is locked first.
    pub(crate) async fn read(&mut self, conflict: &Conflict, ctx: &ExecCtx) -> Result<Vec<Datum>> {
        let key = Bytes::from(codec::table::record_key(self.table.id, &conflict.handle));
        let value = match &conflict.value {
            Some(value) => Some(value.clone()),
            None => values_for_write(std::slice::from_ref(&key), ctx).await?.pop().flatten(),
        };
        let Some(value) = value else { return Err(self.missing(conflict)) };
        self.decode(&key, &value)
    }

    /// The row under a key, in the table's layout.
    pub(crate) fn decode(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<Datum>> {
        let mut chunk = Chunk::new(&self.types, 1);
        self.decoder.decode(&self.columns, key, value, &mut chunk)?;
        chunk.set_rows(1);
        Ok(chunk.row(0).to_datums())
    }

    fn missing(&self, conflict: &Conflict) -> Error {
        let index = match conflict.role {
            KeyRole::NewUnique(index) => self.table.indexes[index].name.clone(),
            _ => "PRIMARY".to_owned(),
        };
        Error::MissingRow { table: self.table.name.clone(), index, handle: handle_text(&self.table, &conflict.handle) }
    }
}

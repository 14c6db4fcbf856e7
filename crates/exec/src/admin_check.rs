//! ADMIN CHECK TABLE: every index entry has its row, and every row has its entries.
//!
//! ```text
//!   pass 1   scan rows in order    ─▶ entries each row must have ─▶ get them in batches ─▶ compare
//!   pass 2   scan each index       ─▶ rows its entries lead to   ─▶ get them in batches ─▶ the row must have exactly this entry
//! ```
//!
//! Both passes read one snapshot, stream, and hold one batch. Reads leave no blocks in the cache.
//!
//! Invariant: the check only reads; it finds what is wrong and changes nothing.

use std::sync::Arc;

use base::KeyRange;
use bytes::Bytes;
use catalog::{SchemaState, TableInfo};
use client::{ScanOptions, Snapshot, SnapshotOptions};
use codec::Handle;
use codec::table::{decode_record_key, index_prefix, record_key, record_prefix};
use copr::ScanColumn;
use copr::decode::EntryDecoder;
use copr::index_entry::{EntryBuffer, IndexCodec};
use types::{Chunk, Datum, DatumRef, FieldType};

use crate::dml::table_writer::{borrowed, part_values};
use crate::layout::{all_columns, datum_text, handle_kind, handle_text, index_codec};
use crate::{Error, ExecCtx, Result};

/// Keys looked up together.
const BATCH: usize = 512;

/// What was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Rows of the table.
    pub rows: u64,
    /// Entries of its public indexes.
    pub entries: u64,
}

/// Checks all public indexes of a table, or one of them, at the statement's timestamp.
pub async fn check_table(table: &Arc<TableInfo>, index: Option<&str>, ctx: &ExecCtx) -> Result<Checked> {
    let mut ctx = ctx.clone();
    ctx.fix_read_ts().await?;
    let options = SnapshotOptions { cancel: ctx.cancel.clone(), deadline: ctx.deadline, not_fill_cache: true };
    let snapshot = ctx.snapshot().with_options(options);
    let mut check = Check::new(table.clone(), index, snapshot);
    let mut checked = Checked::default();
    check.rows_have_entries(&ctx, &mut checked).await?;
    for at in 0..check.indexes.len() {
        check.entries_have_rows(at, &ctx, &mut checked).await?;
    }
    Ok(checked)
}

struct Check {
    table: Arc<TableInfo>,
    indexes: Vec<(usize, IndexCodec)>,
    columns: Vec<ScanColumn>,
    types: Vec<FieldType>,
    decoder: EntryDecoder,
    snapshot: Snapshot,
    entry: EntryBuffer,
}

/// An entry that a row must have.
struct Expected {
    /// Position in `Check::indexes`.
    index: usize,
    handle: Handle,
    key: Bytes,
    value: Vec<u8>,
    text: String,
}

impl Check {
    fn new(table: Arc<TableInfo>, only: Option<&str>, snapshot: Snapshot) -> Self {
        let indexes = table
            .indexes
            .iter()
            .enumerate()
            .filter(|(_, index)| index.has_entries() && index.state == SchemaState::Public)
            .filter(|(_, index)| only.is_none_or(|name| index.name.eq_ignore_ascii_case(name)))
            .map(|(at, index)| (at, index_codec(&table, index)))
            .collect();
        let columns = all_columns(&table);
        let types = columns.iter().map(|column| column.ty.clone()).collect();
        let decoder = EntryDecoder::of_rows(table.id, &columns, &handle_kind(&table));
        Self { table, indexes, columns, types, decoder, snapshot, entry: EntryBuffer::default() }
    }

    /// Pass 1.
    async fn rows_have_entries(&mut self, ctx: &ExecCtx, checked: &mut Checked) -> Result<()> {
        let range = KeyRange::prefix(&record_prefix(self.table.id));
        let mut scanner = self.snapshot.scan(range, ScanOptions { batch: BATCH, ..ScanOptions::default() });
        while let Some(page) = scanner.next_page().await? {
            ctx.checkpoint().await?;
            checked.rows += page.len() as u64;
            let mut expected = Vec::with_capacity(page.len() * self.indexes.len());
            for (key, value) in &page {
                let (_, handle) = decode_record_key(key)?;
                let row = self.decode(key, value)?;
                for index in 0..self.indexes.len() {
                    expected.push(self.expect(index, &row, &handle)?);
                }
            }
            self.compare(expected).await?;
        }
        Ok(())
    }

    fn decode(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<Datum>> {
        let mut chunk = Chunk::new(&self.types, 1);
        self.decoder.decode(&self.columns, key, value, &mut chunk)?;
        chunk.set_rows(1);
        Ok(chunk.row(0).to_datums())
    }

    /// The entry that a row must have in an index.
    fn expect(&mut self, index: usize, row: &[Datum], handle: &Handle) -> Result<Expected> {
        let (offset, codec) = &self.indexes[index];
        let row = borrowed(row);
        let values = part_values(&self.table.indexes[*offset], &row);
        let primary = self.table.primary_key_columns();
        let primary = match handle {
            Handle::Common(_) => primary.iter().map(|offset| row[*offset]).collect::<Vec<_>>(),
            Handle::Int(_) => Vec::new(),
        };
        codec.encode(&values, handle, &primary, &mut self.entry)?;
        let text = self.values_text(index, &values);
        Ok(Expected { index, handle: handle.clone(), key: Bytes::copy_from_slice(&self.entry.key), value: self.entry.value.clone(), text })
    }

    fn values_text(&self, index: usize, values: &[DatumRef<'_>]) -> String {
        let (_, codec) = &self.indexes[index];
        let texts = values.iter().zip(&codec.parts).map(|(value, part)| datum_text(*value, &part.ty));
        texts.collect::<Vec<_>>().join(", ")
    }

    /// Looks expected entries up.
    async fn compare(&self, expected: Vec<Expected>) -> Result<()> {
        for batch in expected.chunks(BATCH) {
            // Two rows that collide in a unique index would ask for one key twice.
            let mut keys = batch.iter().map(|expected| expected.key.clone()).collect::<Vec<_>>();
            keys.sort_unstable();
            keys.dedup();
            let values = self.snapshot.batch_get(&keys).await?;
            for expected in batch {
                let found = keys.binary_search(&expected.key).ok().and_then(|at| values[at].as_ref());
                if found.is_none_or(|found| found[..] != expected.value[..]) {
                    let entry = found.map_or_else(String::new, |value| self.entry_text(expected.index, &expected.key, value));
                    return Err(self.inconsistent(expected.index, &expected.handle, entry, expected.text.clone()));
                }
            }
        }
        Ok(())
    }

    fn entry_text(&self, index: usize, key: &[u8], value: &[u8]) -> String {
        let (_, codec) = &self.indexes[index];
        match codec.decode(key, value) {
            Ok((handle, values)) => {
                let values = values.iter().map(Datum::as_ref).collect::<Vec<_>>();
                format!("handle: {}, values: {}", handle_text(&self.table, &handle), self.values_text(index, &values))
            }
            Err(error) => error.to_string(),
        }
    }

    fn inconsistent(&self, index: usize, handle: &Handle, entry: String, record: String) -> Error {
        Error::Inconsistent {
            table: self.table.name.clone(),
            index: self.table.indexes[self.indexes[index].0].name.clone(),
            handle: handle_text(&self.table, handle),
            entry,
            record,
        }
    }

    /// Pass 2 for one index.
    async fn entries_have_rows(&mut self, index: usize, ctx: &ExecCtx, checked: &mut Checked) -> Result<()> {
        let id = self.indexes[index].1.index;
        let range = KeyRange::prefix(&index_prefix(self.table.id, id));
        let mut scanner = self.snapshot.scan(range, ScanOptions { batch: BATCH, ..ScanOptions::default() });
        while let Some(page) = scanner.next_page().await? {
            ctx.checkpoint().await?;
            checked.entries += page.len() as u64;
            let mut handles = Vec::with_capacity(page.len());
            for (key, value) in &page {
                handles.push(self.indexes[index].1.decode_handle(key, value)?);
            }
            let mut keys = handles.iter().map(|handle| Bytes::from(record_key(self.table.id, handle))).collect::<Vec<_>>();
            keys.sort_unstable();
            keys.dedup();
            let rows = self.snapshot.batch_get(&keys).await?;
            for ((key, value), handle) in page.iter().zip(&handles) {
                let record = record_key(self.table.id, handle);
                let row = keys.binary_search_by(|known| known[..].cmp(&record)).ok().and_then(|at| rows[at].clone());
                let Some(row) = row else {
                    return Err(self.inconsistent(index, handle, self.entry_text(index, key, value), String::new()));
                };
                let row = self.decode(&record, &row)?;
                let expected = self.expect(index, &row, handle)?;
                if expected.key != *key {
                    return Err(self.inconsistent(index, handle, self.entry_text(index, key, value), expected.text));
                }
            }
        }
        Ok(())
    }
}

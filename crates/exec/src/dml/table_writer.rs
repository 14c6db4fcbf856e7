//! Writing rows with all their index entries, whatever state of an online schema change the table is in.
//!
//! | state of an index | insert, new half of an update | delete, old half of an update |
//! |---|---|---|
//! | delete-only | nothing | entry removed |
//! | write-only, reorg, public | entry written | entry removed |
//!
//! While a unique index is being built, an entry under a row's values may be another row's ([`KeyRole::Building`]): it is read before it
//! is removed or written again.
//!
//! Rows come as slices of borrowed values in the table's layout: one for each of `table.columns`, those that are not public included.
//!
//! Invariants
//! - Generated columns stand in the row value like others, virtual ones too: whoever reads, indexes or pushes down needs no expression.
//! - A row value and its index entries are written into the transaction together or not at all.
//! - Entries of non-unique indexes carry [`WriteFlags::INDEX_ENTRY`]: their row's lock guards them. Unique keys and row keys are checked.
//! - Primary key columns stand in the row value only where the row key loses information (see [`copr::record`]).

use std::sync::Arc;

use base::ColumnId;
use bytes::Bytes;
use catalog::{IndexInfo, PrimaryKey, TableInfo};
use client::{LocalValue, Transaction, WriteFlags};
use codec::Handle;
use codec::row::RowBuilder;
use copr::HandleKind;
use copr::index_entry::{EntryBuffer, IndexCodec};
use copr::record::{common_handle, is_in_row_value, push_column};
use smallvec::SmallVec;
use types::{Datum, DatumRef};

use crate::layout::{datum_text, handle_kind, index_codec, key_name};
use crate::{Error, Result};

/// Writes the rows of one table.
pub struct TableWriter {
    table: Arc<TableInfo>,
    handle: HandleKind,
    indexes: Vec<IndexWriter>,
    /// Offsets of the columns that stand in the row value.
    stored: Vec<usize>,
    row: RowBuilder,
    entry: EntryBuffer,
}

struct IndexWriter {
    codec: IndexCodec,
    /// Position in `table.indexes`.
    offset: usize,
}

/// One write of a row's change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The key.
    pub key: Bytes,
    /// The new value; `None` deletes.
    pub value: Option<Bytes>,
    /// What kind of key it is.
    pub role: KeyRole,
}

/// What a key means for uniqueness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRole {
    /// A row key that must not exist yet.
    NewRow,
    /// The key of an existing row.
    Row,
    /// A unique entry that must not exist yet; the index's position in the table.
    NewUnique(usize),
    /// A unique entry that exists.
    Unique(usize),
    /// A unique entry of an index that is still being built: it may be missing, or belong to another row that was inserted while this one had
    /// no entry yet. The write is made only if the entry is this row's (or, for a put, missing).
    Building(usize),
    /// An entry that cannot collide.
    Entry,
}

impl KeyRole {
    /// Whether the key must not exist before.
    pub fn is_new(self) -> bool {
        matches!(self, KeyRole::NewRow | KeyRole::NewUnique(_))
    }

    /// Whether a pessimistic transaction locks the key.
    pub fn is_locked(self) -> bool {
        !matches!(self, KeyRole::Entry)
    }

    fn flags(self) -> WriteFlags {
        match self {
            KeyRole::NewRow | KeyRole::NewUnique(_) => WriteFlags::INSERT,
            KeyRole::Row | KeyRole::Unique(_) | KeyRole::Building(_) => WriteFlags::default(),
            KeyRole::Entry => WriteFlags::INDEX_ENTRY,
        }
    }
}

/// The values of one row, borrowed from where they lie.
pub type RowValues<'r> = SmallVec<[DatumRef<'r>; 8]>;

/// A row of owned values, borrowed.
pub fn borrowed(row: &[Datum]) -> RowValues<'_> {
    row.iter().map(Datum::as_ref).collect()
}

/// The writes of one row's change, in the order they are to be made.
pub type Writes = SmallVec<[Write; 4]>;

impl TableWriter {
    /// A writer for a table.
    pub fn new(table: Arc<TableInfo>) -> Self {
        let handle = handle_kind(&table);
        let indexes = table
            .indexes
            .iter()
            .enumerate()
            .filter(|(_, index)| index.has_entries() && index.state.is_deletable())
            .map(|(offset, index)| IndexWriter { codec: index_codec(&table, index), offset })
            .collect();
        let stored = table
            .columns
            .iter()
            .filter(|column| column.state.is_writable() && is_in_row_value(column.id, &handle))
            .map(|column| column.offset)
            .collect();
        Self { table, handle, indexes, stored, row: RowBuilder::new(), entry: EntryBuffer::default() }
    }

    /// The table.
    pub fn table(&self) -> &Arc<TableInfo> {
        &self.table
    }

    /// What its handles are.
    pub fn handle_kind(&self) -> &HandleKind {
        &self.handle
    }

    /// The id of the column that is the integer handle.
    pub fn int_handle_column(&self) -> Option<ColumnId> {
        match &self.handle {
            HandleKind::IntColumn { id } => Some(*id),
            HandleKind::RowId | HandleKind::Common { .. } => None,
        }
    }

    /// The handle of a row by its primary key; `None` for a table with hidden row ids.
    pub fn handle_of(&self, row: &[DatumRef<'_>]) -> Result<Option<Handle>> {
        match (&self.handle, self.table.pk) {
            (HandleKind::RowId, _) => Ok(None),
            (HandleKind::IntColumn { .. }, PrimaryKey::IntHandle { column }) => match row[column] {
                DatumRef::Int(value) => Ok(Some(Handle::Int(value))),
                DatumRef::UInt(value) => Ok(Some(Handle::Int(value as i64))),
                _ => Err(Error::InvalidPlan("an integer primary key holds an integer")),
            },
            (HandleKind::Common { parts }, PrimaryKey::Common { index }) => {
                let values = part_values(&self.table.indexes[index], row);
                Ok(Some(common_handle(parts, &values)?))
            }
            _ => Err(Error::InvalidPlan("handle kind and primary key of a table disagree")),
        }
    }

    /// The key of a row.
    pub fn record_key(&self, handle: &Handle) -> Bytes {
        codec::table::record_key(self.table.id, handle).into()
    }

    /// The row value.
    pub fn row_value(&mut self, row: &[DatumRef<'_>]) -> Result<Bytes> {
        self.row.start();
        for offset in &self.stored {
            let column = &self.table.columns[*offset];
            push_column(&mut self.row, column.id, &column.ty, row[*offset])?;
        }
        Ok(self.row.finish().into())
    }

    /// The writes that insert a row.
    pub fn insert(&mut self, row: &[DatumRef<'_>], handle: &Handle) -> Result<Writes> {
        let mut writes = Writes::new();
        let key = self.record_key(handle);
        let value = self.row_value(row)?;
        // Hidden row ids are never given out twice, so nothing can be there.
        let role = if self.handle == HandleKind::RowId { KeyRole::Row } else { KeyRole::NewRow };
        writes.push(Write { key, value: Some(value), role });
        for at in 0..self.indexes.len() {
            if self.info(at).state.is_writable() {
                writes.push(self.new_entry(at, row, handle)?);
            }
        }
        Ok(writes)
    }

    /// The writes that remove a row.
    pub fn remove(&mut self, row: &[DatumRef<'_>], handle: &Handle) -> Result<Writes> {
        let mut writes = Writes::new();
        writes.push(Write { key: self.record_key(handle), value: None, role: KeyRole::Row });
        for at in 0..self.indexes.len() {
            writes.push(self.old_entry(at, row, handle)?);
        }
        Ok(writes)
    }

    /// The writes that change a row in place: its handle stays. Entries whose values do not change are left alone.
    pub fn update(&mut self, old: &[DatumRef<'_>], new: &[DatumRef<'_>], handle: &Handle) -> Result<Writes> {
        let mut writes = Writes::new();
        let value = self.row_value(new)?;
        writes.push(Write { key: self.record_key(handle), value: Some(value), role: KeyRole::Row });
        // Under a collation the primary key may change without the handle: entries hold its values beside the handle.
        let primary_unchanged = match self.table.pk {
            PrimaryKey::Common { index } => unchanged(&self.table.indexes[index], old, new),
            PrimaryKey::IntHandle { .. } | PrimaryKey::HiddenRowId => true,
        };
        for at in 0..self.indexes.len() {
            let index = self.info(at);
            if primary_unchanged && index.state.is_public() && unchanged(index, old, new) {
                continue;
            }
            let writable = index.state.is_writable();
            let old_write = self.old_entry(at, old, handle)?;
            if !writable {
                writes.push(old_write);
                continue;
            }
            let mut new_write = self.new_entry(at, new, handle)?;
            if old_write.key == new_write.key {
                // The same entry under its collation: only what is restored from it changes.
                if new_write.role.is_new() {
                    new_write.role = old_write.role;
                }
            } else {
                writes.push(old_write);
            }
            writes.push(new_write);
        }
        Ok(writes)
    }

    fn info(&self, at: usize) -> &IndexInfo {
        &self.table.indexes[self.indexes[at].offset]
    }

    fn new_entry(&mut self, at: usize, row: &[DatumRef<'_>], handle: &Handle) -> Result<Write> {
        let IndexWriter { codec, offset } = &self.indexes[at];
        let values = part_values(&self.table.indexes[*offset], row);
        let primary = match self.table.pk {
            PrimaryKey::Common { index } => part_values(&self.table.indexes[index], row),
            PrimaryKey::IntHandle { .. } | PrimaryKey::HiddenRowId => SmallVec::new(),
        };
        let distinct = codec.encode(&values, handle, &primary, &mut self.entry)?;
        let role = if distinct { KeyRole::NewUnique(*offset) } else { KeyRole::Entry };
        Ok(Write { key: Bytes::copy_from_slice(&self.entry.key), value: Some(Bytes::copy_from_slice(&self.entry.value)), role })
    }

    fn old_entry(&mut self, at: usize, row: &[DatumRef<'_>], handle: &Handle) -> Result<Write> {
        let IndexWriter { codec, offset } = &self.indexes[at];
        let values = part_values(&self.table.indexes[*offset], row);
        let distinct = codec.encode_key(&values, handle, &mut self.entry.key)?;
        let role = match distinct {
            true if self.table.indexes[*offset].state.is_public() => KeyRole::Unique(*offset),
            true => KeyRole::Building(*offset),
            false => KeyRole::Entry,
        };
        Ok(Write { key: Bytes::copy_from_slice(&self.entry.key), value: None, role })
    }

    /// The unique keys of a row that is about to be inserted, the row key first: key and role.
    pub fn unique_keys(&mut self, row: &[DatumRef<'_>], handle: &Handle) -> Result<SmallVec<[(Bytes, KeyRole); 4]>> {
        let mut keys = SmallVec::new();
        if self.handle != HandleKind::RowId {
            keys.push((self.record_key(handle), KeyRole::NewRow));
        }
        for IndexWriter { codec, offset } in &self.indexes {
            let index = &self.table.indexes[*offset];
            if !index.unique || !index.state.is_writable() {
                continue;
            }
            if codec.encode_unique_key(&part_values(index, row), &mut self.entry.key)?.is_some() {
                keys.push((Bytes::copy_from_slice(&self.entry.key), KeyRole::NewUnique(*offset)));
            }
        }
        Ok(keys)
    }

    /// The handle that an entry of a unique index leads to.
    pub fn entry_handle(&self, index: usize, key: &[u8], value: &[u8]) -> Result<Handle> {
        match self.indexes.iter().find(|writer| writer.offset == index) {
            Some(writer) => Ok(writer.codec.decode_handle(key, value)?),
            None => Err(Error::InvalidPlan("the index is not written")),
        }
    }

    /// The error for a key that exists already, in the words of the row that was to be written.
    pub fn duplicate(&self, role: KeyRole, row: &[DatumRef<'_>]) -> Error {
        let (offsets, name): (Vec<(usize, Option<u32>)>, &str) = match role {
            KeyRole::NewUnique(index) | KeyRole::Unique(index) | KeyRole::Building(index) => {
                let index = &self.table.indexes[index];
                (index.columns.iter().map(|part| (part.offset, part.prefix_len)).collect(), &index.name)
            }
            KeyRole::NewRow | KeyRole::Row | KeyRole::Entry => {
                (self.table.primary_key_columns().into_iter().map(|offset| (offset, None)).collect(), "PRIMARY")
            }
        };
        let texts = offsets.into_iter().map(|(offset, prefix)| {
            let value = copr::index_entry::cut_prefix(row[offset], &self.table.columns[offset].ty, prefix);
            datum_text(value, &self.table.columns[offset].ty)
        });
        Error::DuplicateEntry { entry: texts.collect::<Vec<_>>().join("-"), key: key_name(&self.table, name) }
    }
}

/// Makes the writes of one row in the transaction. A new key that the transaction itself has written already is a duplicate.
pub fn apply(txn: &mut Transaction, writes: &Writes) -> Result<(), ApplyError> {
    for write in writes {
        if write.role.is_new() && matches!(txn.get_local(&write.key), Some(LocalValue::Put(_))) {
            return Err(ApplyError::Duplicate(write.role));
        }
        match &write.value {
            Some(value) => txn.set(write.key.clone(), value.clone(), write.role.flags())?,
            None if write.role == KeyRole::Entry => txn.delete_with(write.key.clone(), WriteFlags::INDEX_ENTRY),
            None => txn.delete(write.key.clone()),
        }
    }
    Ok(())
}

/// Why the writes of a row could not be made.
pub enum ApplyError {
    /// The transaction has a row or entry under a key that must be new.
    Duplicate(KeyRole),
    /// The transaction refused a write.
    Client(client::Error),
}

impl From<client::Error> for ApplyError {
    fn from(error: client::Error) -> Self {
        Self::Client(error)
    }
}

/// The values of an index's columns.
pub fn part_values<'r>(index: &IndexInfo, row: &[DatumRef<'r>]) -> SmallVec<[DatumRef<'r>; 4]> {
    index.columns.iter().map(|part| row[part.offset]).collect()
}

/// Whether a row's change leaves the columns of an index as they are.
fn unchanged(index: &IndexInfo, old: &[DatumRef<'_>], new: &[DatumRef<'_>]) -> bool {
    index.columns.iter().all(|part| same(old[part.offset], new[part.offset]))
}

/// Whether two values of one column are the same to the last byte (an update from 'a' to 'A' is a change).
pub fn same(a: DatumRef<'_>, b: DatumRef<'_>) -> bool {
    match (a, b) {
        (DatumRef::Bytes(a), DatumRef::Bytes(b)) => a == b,
        (DatumRef::Null, DatumRef::Null) => true,
        (DatumRef::Null, _) | (_, DatumRef::Null) => false,
        _ => a.compare(b, types::Collation::Binary) == std::cmp::Ordering::Equal,
    }
}

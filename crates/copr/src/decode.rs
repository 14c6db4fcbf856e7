//! From a borrowed (key, value) pair to one row of a chunk: only the columns asked for, straight into columnar form.
//!
//! Where each column lies is resolved once per execution into a source; decoding a pair is then one pass without allocation (datums of
//! composite keys aside).
//!
//! ```text
//!   table:  t{id}_r{handle}             row v2 ─ cell by column id ─┐
//!                    └─ handle, parts of a common handle            ├──▶ columns of the chunk
//!   index:  t{id}_i{id}{parts}[handle]  value ─ restored cells ─────┘
//! ```
//!
//! Invariants
//! - A part whose key form loses information ([`is_lossy`]) is never read from a key.
//! - After an error the chunk may hold an incomplete row; the execution is over then.

use base::{ColumnId, TableId};
use codec::index_value::IndexValue;
use codec::row::RowView;
use codec::table::{INDEX_PREFIX_LEN, RECORD_PREFIX_LEN, decode_flagged_handle};
use codec::{Handle, number};
use types::{Chunk, Column, Datum, FieldType};

use crate::index_entry::{is_lossy, restore_cell, skip_part};
use crate::plan::{HANDLE_COLUMN, HandleKind, IndexScan, KeyPart, ScanColumn, ScanSpec, TableScan};
use crate::{Error, Result};

/// The columns of a row with an integer handle (`pk` names the column that is the handle), without a decoder: for single rows.
#[inline]
pub fn decode_int_row(columns: &[ScanColumn], pk: Option<ColumnId>, handle: i64, value: &[u8], chunk: &mut Chunk) -> Result<()> {
    let row = RowView::parse(value)?;
    for (column, out) in columns.iter().zip(chunk.columns_mut()) {
        if column.id == HANDLE_COLUMN || Some(column.id) == pk {
            push_int(handle, &column.ty, out);
        } else {
            push_cell(&row, column, out)?;
        }
    }
    chunk.set_rows(chunk.rows() + 1);
    Ok(())
}

/// Where a column of the scan lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// In the row value.
    Row,
    /// The integer handle.
    IntHandle,
    /// The common handle as bytes.
    HandleBytes,
    /// The n-th part of the common handle.
    HandlePart(usize),
    /// The n-th part of the index key.
    KeyPart(usize),
    /// In the restored cells of an index value.
    Restored,
}

/// Decodes entries of one scan. The scan's columns come with each call, because the plan owns them.
#[derive(Debug)]
pub struct EntryDecoder {
    table: TableId,
    sources: Vec<Source>,
    kind: Kind,
    /// Byte ranges of key parts and handle parts of the current key.
    key_spans: Vec<(u32, u32)>,
    handle_spans: Vec<(u32, u32)>,
}

#[derive(Debug)]
enum Kind {
    Table { needs_row: bool, handle_parts: Vec<KeyPart>, needs_parts: bool },
    Index { scan: Box<IndexShape>, needs_handle: bool, needs_restored: bool, needs_handle_parts: bool },
}

#[derive(Debug)]
struct IndexShape {
    parts: Vec<KeyPart>,
    handle_parts: Vec<KeyPart>,
    unique: bool,
}

impl EntryDecoder {
    /// Resolves where the columns of a scan lie.
    pub fn new(scan: &ScanSpec) -> Result<Self> {
        match scan {
            ScanSpec::Table(scan) => Ok(Self::for_table(scan)),
            ScanSpec::Index(scan) => Self::for_index(scan),
        }
    }

    /// A decoder of the rows of a table.
    pub fn of_rows(table: TableId, columns: &[ScanColumn], handle: &HandleKind) -> Self {
        let sources = columns.iter().map(|column| table_source(column, handle)).collect::<Vec<_>>();
        let kind = Kind::Table {
            needs_row: sources.contains(&Source::Row),
            needs_parts: sources.iter().any(|source| matches!(source, Source::HandlePart(_))),
            handle_parts: handle_parts(handle),
        };
        Self { table, sources, kind, key_spans: Vec::new(), handle_spans: Vec::new() }
    }

    fn for_table(scan: &TableScan) -> Self {
        Self::of_rows(scan.table, &scan.columns, &scan.handle)
    }

    fn for_index(scan: &IndexScan) -> Result<Self> {
        let sources = scan.columns.iter().map(|column| index_source(column, scan)).collect::<Result<Vec<_>>>()?;
        let handle_parts = handle_parts(&scan.handle);
        let is = |wanted: fn(&Source) -> bool| sources.iter().any(wanted);
        let needs_handle_parts = scan.columns.iter().zip(&sources).any(|(column, source)| match source {
            Source::HandlePart(_) => true,
            Source::Restored => find_part(&scan.parts, column.id).is_none(),
            _ => false,
        });
        let kind = Kind::Index {
            needs_handle: needs_handle_parts || is(|source| matches!(source, Source::IntHandle | Source::HandleBytes)),
            needs_restored: is(|source| matches!(source, Source::Restored)),
            needs_handle_parts,
            scan: Box::new(IndexShape { parts: scan.parts.clone(), handle_parts, unique: scan.unique }),
        };
        Ok(Self { table: scan.table, sources, kind, key_spans: Vec::new(), handle_spans: Vec::new() })
    }

    /// Whether values are looked at at all.
    pub fn needs_values(&self) -> bool {
        match &self.kind {
            Kind::Table { needs_row, .. } => *needs_row,
            Kind::Index { needs_handle, needs_restored, scan, .. } => *needs_restored || (*needs_handle && scan.unique),
        }
    }

    /// Appends the pair's row to the columns of `chunk`. The caller declares the rows ([`Chunk::set_rows`]) when it has appended all of them.
    #[inline]
    pub fn decode(&mut self, columns: &[ScanColumn], key: &[u8], value: &[u8], chunk: &mut Chunk) -> Result<()> {
        debug_assert_eq!(columns.len(), self.sources.len());
        match &self.kind {
            Kind::Table { .. } => self.decode_row(columns, key, value, chunk)?,
            Kind::Index { .. } => self.decode_entry(columns, key, value, chunk)?,
        }
        Ok(())
    }

    fn decode_row(&mut self, columns: &[ScanColumn], key: &[u8], value: &[u8], chunk: &mut Chunk) -> Result<()> {
        let Kind::Table { needs_row, handle_parts, needs_parts } = &self.kind else { return Ok(()) };
        let Some(handle) = key.get(RECORD_PREFIX_LEN..) else { return Err(corrupt(self.table, "a row key is too short")) };
        if *needs_parts {
            split_parts(handle, handle_parts, &mut self.handle_spans)?;
        }
        let row = if *needs_row { Some(RowView::parse(value)?) } else { None };
        for ((column, source), out) in columns.iter().zip(&self.sources).zip(chunk.columns_mut()) {
            match source {
                Source::Row => {
                    let row = row.as_ref().ok_or(Error::InvalidPlan("the row was not parsed"))?;
                    push_cell(row, column, out)?;
                }
                Source::IntHandle => push_int(int_handle(handle, self.table)?, &column.ty, out),
                Source::HandleBytes => out.push_bytes(handle),
                Source::HandlePart(part) => push_part(handle, self.handle_spans[*part], &handle_parts[*part], out)?,
                Source::KeyPart(_) | Source::Restored => return Err(Error::InvalidPlan("a table scan has no index parts")),
            }
        }
        Ok(())
    }

    fn decode_entry(&mut self, columns: &[ScanColumn], key: &[u8], value: &[u8], chunk: &mut Chunk) -> Result<()> {
        let Kind::Index { scan, needs_handle, needs_restored, needs_handle_parts } = &self.kind else { return Ok(()) };
        let Some(datums) = key.get(INDEX_PREFIX_LEN..) else { return Err(corrupt(self.table, "an index key is too short")) };
        let key_len = split_parts(datums, &scan.parts, &mut self.key_spans)?;
        let tail = &datums[key_len..];
        let parsed = if *needs_restored || (*needs_handle && tail.is_empty()) { Some(IndexValue::parse(value)?) } else { None };
        let mut in_value = None;
        let mut int = 0;
        let mut common: &[u8] = &[];
        if *needs_handle {
            if tail.is_empty() {
                in_value = parsed.as_ref().and_then(|parsed| parsed.handle.clone());
                match &in_value {
                    Some(Handle::Int(value)) => int = *value,
                    Some(Handle::Common(bytes)) => common = bytes,
                    None => return Err(corrupt(self.table, "an entry of a unique index has no handle")),
                }
            } else if scan.handle_parts.is_empty() {
                int = decode_flagged_handle(tail, false)?.as_int().ok_or(Error::InvalidPlan("an integer handle was expected"))?;
            } else {
                common = tail;
            }
            if *needs_handle_parts {
                split_parts(common, &scan.handle_parts, &mut self.handle_spans)?;
            }
        }
        let restored = match parsed.as_ref().and_then(|parsed| parsed.restored) {
            Some(row) if *needs_restored => Some(RowView::parse(row)?),
            _ => None,
        };
        let version = parsed.as_ref().map_or(0, |parsed| parsed.version);
        for ((column, source), out) in columns.iter().zip(&self.sources).zip(chunk.columns_mut()) {
            match source {
                Source::IntHandle => push_int(int, &column.ty, out),
                Source::HandleBytes => out.push_bytes(common),
                Source::HandlePart(part) => push_part(common, self.handle_spans[*part], &scan.handle_parts[*part], out)?,
                Source::KeyPart(part) => push_part(datums, self.key_spans[*part], &scan.parts[*part], out)?,
                Source::Restored => {
                    let key_part = match find_part(&scan.parts, column.id) {
                        Some(at) => Some((&datums[span(self.key_spans[at])], scan.parts[at].desc)),
                        None => find_part(&scan.handle_parts, column.id)
                            .map(|at| (&common[span(self.handle_spans[at])], scan.handle_parts[at].desc)),
                    };
                    match restore_cell(restored.as_ref(), version, column, key_part)? {
                        Some(datum) => out.push(&datum),
                        None => return Err(corrupt(self.table, "an index entry lacks a value that its key cannot restore")),
                    }
                }
                Source::Row => return Err(Error::InvalidPlan("an index scan has no row values")),
            }
        }
        drop(in_value);
        Ok(())
    }
}

fn handle_parts(handle: &HandleKind) -> Vec<KeyPart> {
    match handle {
        HandleKind::Common { parts } => parts.clone(),
        HandleKind::RowId | HandleKind::IntColumn { .. } => Vec::new(),
    }
}

fn find_part(parts: &[KeyPart], id: ColumnId) -> Option<usize> {
    parts.iter().position(|part| part.id == id && part.prefix_len.is_none())
}

/// The source of a column that the handle gives, if it does.
fn handle_source(column: &ScanColumn, handle: &HandleKind) -> Option<Source> {
    match handle {
        HandleKind::RowId => (column.id == HANDLE_COLUMN).then_some(Source::IntHandle),
        HandleKind::IntColumn { id } => (column.id == HANDLE_COLUMN || column.id == *id).then_some(Source::IntHandle),
        HandleKind::Common { .. } if column.id == HANDLE_COLUMN => Some(Source::HandleBytes),
        HandleKind::Common { parts } => find_part(parts, column.id).filter(|at| !is_lossy(&parts[*at].ty)).map(Source::HandlePart),
    }
}

fn table_source(column: &ScanColumn, handle: &HandleKind) -> Source {
    handle_source(column, handle).unwrap_or(Source::Row)
}

fn index_source(column: &ScanColumn, scan: &IndexScan) -> Result<Source> {
    if let Some(at) = find_part(&scan.parts, column.id) {
        return Ok(if is_lossy(&scan.parts[at].ty) { Source::Restored } else { Source::KeyPart(at) });
    }
    if let Some(source) = handle_source(column, &scan.handle) {
        return Ok(source);
    }
    match &scan.handle {
        HandleKind::Common { parts } if find_part(parts, column.id).is_some() => Ok(Source::Restored),
        _ => Err(Error::InvalidPlan("a column of an index scan is not in the index")),
    }
}

/// Cuts `bytes` into its parts; returns their length together.
fn split_parts(bytes: &[u8], parts: &[KeyPart], spans: &mut Vec<(u32, u32)>) -> Result<usize> {
    spans.clear();
    let mut at = 0;
    for part in parts {
        let len = skip_part(&bytes[at..], part)?;
        spans.push((at as u32, (at + len) as u32));
        at += len;
    }
    Ok(at)
}

fn span((start, end): (u32, u32)) -> std::ops::Range<usize> {
    start as usize..end as usize
}

#[inline]
fn push_part(bytes: &[u8], range: (u32, u32), part: &KeyPart, out: &mut Column) -> Result<()> {
    let mut bytes = &bytes[span(range)];
    Ok(types::value::decode_key_into(&mut bytes, &part.ty, part.desc, out)?)
}

#[inline]
fn push_int(value: i64, ty: &FieldType, out: &mut Column) {
    if ty.unsigned { out.push_u64(value as u64) } else { out.push_i64(value) }
}

#[inline]
fn int_handle(handle: &[u8], table: TableId) -> Result<i64> {
    if handle.len() != 8 {
        return Err(corrupt(table, "an integer handle has eight bytes"));
    }
    let mut bytes = handle;
    Ok(number::decode_i64(&mut bytes)?)
}

#[inline]
fn push_cell(row: &RowView<'_>, column: &ScanColumn, out: &mut Column) -> Result<()> {
    match row.try_get(column.id)? {
        Some(Some(cell)) => types::value::decode_row_value_into(cell, &column.ty, out)?,
        Some(None) => out.push_null(),
        None => match &column.default {
            Datum::Null => out.push_null(),
            default => out.push(default),
        },
    }
    Ok(())
}

fn corrupt(table: TableId, what: &'static str) -> Error {
    Error::Corrupt { table, what }
}

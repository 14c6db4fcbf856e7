//! Index entries: the one place that writes and takes apart the keys and values of indexes.
//!
//! ```text
//!   key     t{table}_i{index} {part}… [handle]        the handle is missing when the entry is distinct: unique and no NULL
//!   value   [handle when distinct] [restored cells]   see codec::index_value
//! ```
//!
//! A string part is stored as its collation's sort key, so that entries compare as the collation says; what a covering read needs to give the
//! value back stands as *restored cells* in the entry's value. For tables with a common handle (value version 1) only lossy columns are
//! restored, and for `_bin` collations, which merely ignore trailing spaces, only the number of these spaces.
//!
//! Invariants
//! - Two rows collide in a unique index exactly when their keys are equal; an entry with a NULL never collides.
//! - Writer, scanner, online index build and ADMIN CHECK all go through [`IndexCodec`].

use base::{IndexId, TableId};
use codec::index_value::{IndexValue, encode_index_value};
use codec::row::{RowBuilder, RowView};
use codec::table::{INDEX_PREFIX_LEN, decode_flagged_handle, push_index_prefix};
use codec::{Handle, flag};
use types::value::{decode_key_datum, encode_key_datum, encode_row_value};
use types::{Collation, Datum, DatumRef, FieldType};

use crate::plan::{HandleKind, IndexScan, KeyPart, ScanColumn};
use crate::{Error, Result};

/// More trailing spaces than any indexed column can hold.
const MAX_PADDING: u64 = 1 << 20;

/// Room for the keys of most entries: prefix, two numbers and a handle.
const KEY_RESERVE: usize = 64;

/// What is needed to write and read the entries of one index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexCodec {
    /// The table.
    pub table: TableId,
    /// The index.
    pub index: IndexId,
    /// Whether entries without NULL are distinct.
    pub unique: bool,
    /// Parts of the key, in key order.
    pub parts: Vec<KeyPart>,
    /// What the table's handles are.
    pub handle: HandleKind,
}

/// The entry being built; its buffers are reused.
#[derive(Debug, Default)]
pub struct EntryBuffer {
    /// The key.
    pub key: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
    restored: RowBuilder,
    restored_bytes: Vec<u8>,
}

/// Whether the key form of a value loses information: text under a collation whose sort key is not the value itself.
pub fn is_lossy(ty: &FieldType) -> bool {
    ty.needs_restored_value()
}

/// Whether only trailing spaces are lost.
fn loses_only_padding(ty: &FieldType) -> bool {
    ty.collation.is_bin()
}

/// Cuts a string to the prefix that an index keeps of it: characters, or bytes for binary strings.
pub fn cut_prefix<'a>(value: DatumRef<'a>, ty: &FieldType, prefix_len: Option<u32>) -> DatumRef<'a> {
    let (DatumRef::Bytes(bytes), Some(len)) = (value, prefix_len) else { return value };
    let len = len as usize;
    if bytes.len() <= len {
        return value;
    }
    if ty.collation == Collation::Binary {
        return DatumRef::Bytes(&bytes[..len]);
    }
    // A character starts at every byte that does not continue one.
    let end = bytes.iter().enumerate().filter(|(_, byte)| **byte & 0xc0 != 0x80).nth(len).map_or(bytes.len(), |(at, _)| at);
    DatumRef::Bytes(&bytes[..end])
}

impl IndexCodec {
    /// The codec of a planned index scan.
    pub fn of_scan(scan: &IndexScan) -> Self {
        Self { table: scan.table, index: scan.index, unique: scan.unique, parts: scan.parts.clone(), handle: scan.handle.clone() }
    }

    fn has_common_handle(&self) -> bool {
        matches!(self.handle, HandleKind::Common { .. })
    }

    /// Builds the key of an entry in `key`. `values` are the full column values, one for each part. Returns whether the entry is distinct:
    /// then its key does not depend on the handle.
    pub fn encode_key(&self, values: &[DatumRef<'_>], handle: &Handle, key: &mut Vec<u8>) -> Result<bool> {
        let distinct = self.encode_parts(values, key)?;
        if !distinct {
            handle.encode_flagged_into(key);
        }
        Ok(distinct)
    }

    /// Builds the key of a distinct entry; `None` when a value is NULL or the index is not unique.
    pub fn encode_unique_key(&self, values: &[DatumRef<'_>], key: &mut Vec<u8>) -> Result<Option<()>> {
        Ok(self.encode_parts(values, key)?.then_some(()))
    }

    fn encode_parts(&self, values: &[DatumRef<'_>], key: &mut Vec<u8>) -> Result<bool> {
        debug_assert_eq!(values.len(), self.parts.len());
        key.clear();
        key.reserve(KEY_RESERVE);
        push_index_prefix(key, self.table, self.index);
        let mut distinct = self.unique;
        for (part, value) in self.parts.iter().zip(values) {
            distinct &= !matches!(value, DatumRef::Null);
            encode_key_datum(key, cut_prefix(*value, &part.ty, part.prefix_len), &part.ty, part.desc);
        }
        Ok(distinct)
    }

    /// Builds key and value of an entry. `handle_values` are the primary key's values in key order for a common handle, else empty.
    pub fn encode(&self, values: &[DatumRef<'_>], handle: &Handle, handle_values: &[DatumRef<'_>], out: &mut EntryBuffer) -> Result<bool> {
        let distinct = self.encode_key(values, handle, &mut out.key)?;
        out.value.clear();
        out.restored_bytes.clear();
        if self.restores_anything() {
            out.restored.start();
            self.push_restored(values, handle_values, &mut out.restored)?;
            out.restored.finish_into(&mut out.restored_bytes);
        }
        encode_index_value(&mut out.value, distinct.then_some(handle), self.has_common_handle(), &out.restored_bytes);
        Ok(distinct)
    }

    fn restores_anything(&self) -> bool {
        self.parts.iter().any(|part| is_lossy(&part.ty)) || self.lossy_handle_parts().next().is_some()
    }

    /// Parts of a common handle that must be restored and that the index does not hold in full itself.
    fn lossy_handle_parts(&self) -> impl Iterator<Item = (usize, &KeyPart)> {
        let parts: &[KeyPart] = match &self.handle {
            HandleKind::Common { parts } => parts,
            HandleKind::RowId | HandleKind::IntColumn { .. } => &[],
        };
        parts
            .iter()
            .enumerate()
            .filter(|(_, part)| is_lossy(&part.ty) && !self.parts.iter().any(|own| own.id == part.id && own.prefix_len.is_none()))
    }

    fn push_restored(&self, values: &[DatumRef<'_>], handle_values: &[DatumRef<'_>], row: &mut RowBuilder) -> Result<()> {
        let common = self.has_common_handle();
        for (part, value) in self.parts.iter().zip(values) {
            // A column that the handle holds in full is restored in full below, even where the index itself keeps a prefix.
            let in_handle = self.lossy_handle_parts().any(|(_, other)| other.id == part.id);
            if (!common || is_lossy(&part.ty)) && !in_handle {
                push_restored_cell(row, part, cut_prefix(*value, &part.ty, part.prefix_len), common)?;
            }
        }
        for (at, part) in self.lossy_handle_parts() {
            let value = handle_values.get(at).copied().ok_or(Error::InvalidPlan("the primary key's values are missing"))?;
            push_restored_cell(row, part, value, common)?;
        }
        Ok(())
    }

    /// The handle of an entry.
    pub fn decode_handle(&self, key: &[u8], value: &[u8]) -> Result<Handle> {
        let tail = &self.datums(key)?[self.parts_len(key)?..];
        if !tail.is_empty() {
            return Ok(decode_flagged_handle(tail, self.has_common_handle())?);
        }
        IndexValue::parse(value)?.handle.ok_or(Error::Corrupt { table: self.table, what: "an entry of a unique index has no handle" })
    }

    /// Handle and part values of an entry; lossy parts are restored, prefixes stay prefixes.
    pub fn decode(&self, key: &[u8], value: &[u8]) -> Result<(Handle, Vec<Datum>)> {
        let handle = self.decode_handle(key, value)?;
        let parsed = IndexValue::parse(value)?;
        let restored = parsed.restored.map(RowView::parse).transpose()?;
        let mut rest = self.datums(key)?;
        let mut values = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let len = skip_part(rest, part)?;
            let (mut bytes, tail) = rest.split_at(len);
            rest = tail;
            if !is_lossy(&part.ty) {
                values.push(decode_key_datum(&mut bytes, &part.ty, part.desc)?);
                continue;
            }
            let column = ScanColumn { id: part.id, ty: part.ty.clone(), default: Datum::Null };
            let cell = restore_cell(restored.as_ref(), parsed.version, &column, Some((bytes, part.desc)))?
                .ok_or(Error::Corrupt { table: self.table, what: "an index entry lacks a value that its key cannot restore" })?;
            values.push(cut_prefix(cell.as_ref(), &part.ty, part.prefix_len).to_owned());
        }
        Ok((handle, values))
    }

    fn datums<'k>(&self, key: &'k [u8]) -> Result<&'k [u8]> {
        key.get(INDEX_PREFIX_LEN..).ok_or(Error::Corrupt { table: self.table, what: "an index key is too short" })
    }

    fn parts_len(&self, key: &[u8]) -> Result<usize> {
        let datums = self.datums(key)?;
        let mut at = 0;
        for part in &self.parts {
            at += skip_part(&datums[at..], part)?;
        }
        Ok(at)
    }
}

fn push_restored_cell(row: &mut RowBuilder, part: &KeyPart, value: DatumRef<'_>, common: bool) -> Result<()> {
    let DatumRef::Bytes(bytes) = value else {
        return match value {
            DatumRef::Null => {
                row.push_null(part.id);
                Ok(())
            }
            other => {
                row.push_with(part.id, |out| encode_row_value(out, other, &part.ty));
                Ok(())
            }
        };
    };
    if common && loses_only_padding(&part.ty) {
        let spaces = bytes.iter().rev().take_while(|byte| **byte == b' ').count();
        row.push_with(part.id, |out| codec::number::encode_compact_u64(out, spaces as u64));
        return Ok(());
    }
    row.push(part.id, bytes);
    Ok(())
}

/// The value of a lossy column from the restored cells; `None` when they lack it.
///
/// `key_part` are the part's bytes in the key and whether it is descending.
pub(crate) fn restore_cell(
    restored: Option<&RowView<'_>>,
    version: u8,
    column: &ScanColumn,
    key_part: Option<(&[u8], bool)>,
) -> Result<Option<Datum>> {
    if key_part.is_some_and(|(bytes, desc)| is_null_part(bytes, desc)) {
        return Ok(Some(Datum::Null));
    }
    match restored.map(|row| row.try_get(column.id)).transpose()?.flatten() {
        Some(Some(cell)) if version == 1 && loses_only_padding(&column.ty) => {
            let spaces = codec::number::decode_compact_u64(cell)?;
            let Some((mut bytes, desc)) = key_part else { return Ok(None) };
            // The count comes from disk: a damaged one must not ask for all memory.
            if spaces > MAX_PADDING {
                return Ok(None);
            }
            let spaces = spaces as usize;
            match decode_key_datum(&mut bytes, &column.ty, desc)? {
                Datum::Bytes(mut text) => {
                    text.resize(text.len() + spaces, b' ');
                    Ok(Some(Datum::Bytes(text)))
                }
                other => Ok(Some(other)),
            }
        }
        Some(Some(cell)) => Ok(Some(types::value::decode_row_value(cell, &column.ty)?)),
        Some(None) => Ok(Some(Datum::Null)),
        None => Ok(None),
    }
}

fn is_null_part(part: &[u8], desc: bool) -> bool {
    // A descending part is stored inverted, its flag byte too.
    part == [if desc { !flag::NULL } else { flag::NULL }]
}

/// Length in bytes of the key part at the front of `bytes`.
pub(crate) fn skip_part(bytes: &[u8], part: &KeyPart) -> Result<usize> {
    Ok(types::value::skip_key_datum(bytes, part.desc)?)
}

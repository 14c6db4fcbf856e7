//! From the schema model to the shapes of keys and rows.
//!
//! Catalog types are about names and states; codecs are about ids and types. This is the only place that goes from one to the other for
//! writers and checkers; the planner does the same for scans.

use base::ColumnId;
use catalog::{IndexInfo, PrimaryKey, TableInfo};
use codec::Handle;
use copr::index_entry::IndexCodec;
use copr::{HandleKind, KeyPart, ScanColumn};
use types::{DatumRef, FieldType};

use crate::{Error, Result};

/// The parts of an index key.
pub fn key_parts(table: &TableInfo, index: &IndexInfo) -> Vec<KeyPart> {
    index
        .columns
        .iter()
        .map(|part| {
            let column = &table.columns[part.offset];
            KeyPart { id: column.id, ty: column.ty.clone(), prefix_len: part.prefix_len, desc: part.desc }
        })
        .collect()
}

/// What the table's handles are.
pub fn handle_kind(table: &TableInfo) -> HandleKind {
    match table.pk {
        PrimaryKey::HiddenRowId => HandleKind::RowId,
        PrimaryKey::IntHandle { column } => HandleKind::IntColumn { id: table.columns[column].id },
        PrimaryKey::Common { index } => HandleKind::Common { parts: key_parts(table, &table.indexes[index]) },
    }
}

/// The codec of an index's entries.
pub fn index_codec(table: &TableInfo, index: &IndexInfo) -> IndexCodec {
    IndexCodec { table: table.id, index: index.id, unique: index.unique, parts: key_parts(table, index), handle: handle_kind(table) }
}

/// Scan columns for all columns of the table, in its layout.
pub fn all_columns(table: &TableInfo) -> Vec<ScanColumn> {
    table.columns.iter().map(|column| ScanColumn { id: column.id, ty: column.ty.clone(), default: column.origin_default.clone() }).collect()
}

/// The ids of the columns of the primary key, in key order.
pub fn primary_key_ids(table: &TableInfo) -> Vec<ColumnId> {
    table.primary_key_columns().into_iter().map(|offset| table.columns[offset].id).collect()
}

/// The handle from a handle column's value.
pub fn handle_from_value(value: DatumRef<'_>) -> Result<Option<Handle>> {
    match value {
        DatumRef::Null => Ok(None),
        DatumRef::Int(value) => Ok(Some(Handle::Int(value))),
        DatumRef::UInt(value) => Ok(Some(Handle::Int(value as i64))),
        DatumRef::Bytes(bytes) => Ok(Some(Handle::Common(bytes::Bytes::copy_from_slice(bytes)))),
        _ => Err(Error::InvalidPlan("a handle is an integer or a byte string")),
    }
}

/// A handle as people read it: the number, or the primary key's values.
pub fn handle_text(table: &TableInfo, handle: &Handle) -> String {
    match handle {
        Handle::Int(value) => value.to_string(),
        Handle::Common(bytes) => {
            let HandleKind::Common { parts } = handle_kind(table) else { return format!("{bytes:02x?}") };
            let mut rest = &bytes[..];
            let values = parts.iter().map(|part| match types::value::decode_key_datum(&mut rest, &part.ty, part.desc) {
                Ok(value) => datum_text(value.as_ref(), &part.ty),
                Err(_) => "?".to_owned(),
            });
            values.collect::<Vec<_>>().join("-")
        }
    }
}

/// A value as it stands in messages.
pub fn datum_text(value: DatumRef<'_>, ty: &FieldType) -> String {
    let mut out = Vec::new();
    match value {
        DatumRef::Null => return "NULL".to_owned(),
        DatumRef::Bytes(bytes) if !ty.is_text() => {
            // Bytes that are not text are written as MySQL writes them.
            return bytes
                .iter()
                .map(|byte| if (0x20..0x7f).contains(byte) { char::from(*byte).to_string() } else { format!("\\x{byte:02X}") })
                .collect();
        }
        value => value.write_text(ty, &mut out),
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// `table.index` of duplicate-key messages.
pub fn key_name(table: &TableInfo, index: &str) -> String {
    format!("{}.{}", table.name, index)
}

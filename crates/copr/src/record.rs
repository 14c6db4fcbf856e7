//! Record keys and row values, written.
//!
//! Columns of the primary key stand only in the record key, except where the key form loses information: then the row value holds them too,
//! so that reading a row never needs an index.

use base::{ColumnId, TableId};
use codec::Handle;
use codec::row::RowBuilder;
use types::value::{encode_key_datum, encode_row_value};
use types::{DatumRef, FieldType};

use crate::Result;
use crate::index_entry::{cut_prefix, is_lossy};
use crate::plan::{HandleKind, KeyPart};

/// Fewest bytes of a common handle: an integer handle has eight, and the length tells the two apart (see `codec::table`).
const MIN_COMMON_HANDLE_LEN: usize = 9;

/// Ends a common handle: pads its datums, from `start` on, with zeros to the shortest length it may have. The datums of one table's handles that
/// are this short have one length, so their order stays.
pub fn pad_common_handle(key: &mut Vec<u8>, start: usize) {
    if key.len() < start + MIN_COMMON_HANDLE_LEN {
        key.resize(start + MIN_COMMON_HANDLE_LEN, 0);
    }
}

/// The common handle of a row: `values` are the primary key's values in key order.
pub fn common_handle(parts: &[KeyPart], values: &[DatumRef<'_>]) -> Result<Handle> {
    let mut bytes = Vec::with_capacity(parts.len() * 16);
    for (part, value) in parts.iter().zip(values) {
        encode_key_datum(&mut bytes, cut_prefix(*value, &part.ty, part.prefix_len), &part.ty, part.desc);
    }
    pad_common_handle(&mut bytes, 0);
    Ok(Handle::Common(bytes.into()))
}

/// The key of a row.
pub fn record_key(table: TableId, handle: &Handle) -> Vec<u8> {
    codec::table::record_key(table, handle)
}

/// Whether a column stands in the row value: everything but what the key gives back without loss.
pub fn is_in_row_value(column: ColumnId, handle: &HandleKind) -> bool {
    match handle {
        HandleKind::RowId => true,
        HandleKind::IntColumn { id } => *id != column,
        HandleKind::Common { parts } => !parts.iter().any(|part| part.id == column && part.prefix_len.is_none() && !is_lossy(&part.ty)),
    }
}

/// Adds one column to a row value under construction.
pub fn push_column(row: &mut RowBuilder, id: ColumnId, ty: &FieldType, value: DatumRef<'_>) -> Result<()> {
    match value {
        DatumRef::Null => row.push_null(id),
        value => row.push_with(id, |out| encode_row_value(out, value, ty)),
    }
    Ok(())
}

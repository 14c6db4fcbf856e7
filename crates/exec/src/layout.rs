//! Handles, keys and values between the schema's terms and those of messages.
//!
//! What keys and rows look like for a table is told by [`catalog::layout`]; here is what only execution needs of it.

pub use catalog::layout::{handle_kind, index_codec, key_parts};
use catalog::{TableInfo, layout::scan_columns};
use codec::Handle;
use copr::{HandleKind, ScanColumn};
use types::{DatumRef, FieldType};

use crate::{Error, Result};

/// Scan columns for all columns of the table, in its layout.
pub fn all_columns(table: &TableInfo) -> Vec<ScanColumn> {
    scan_columns(table, 0..table.columns.len())
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
                // Of text there is only the sort key, which is the text itself under a binary collation.
                Ok(types::Datum::Bytes(key)) if part.ty.is_text() && !part.ty.collation.is_bin() => {
                    key.iter().map(|byte| format!("{byte:02x}")).collect()
                }
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

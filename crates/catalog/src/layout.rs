//! From the schema model to the shapes of keys and rows.
//!
//! The catalog is about names and states; codecs are about ids and types. Writers, scanners, index builds and checks all go from one to
//! the other here.

use copr::{HandleKind, KeyPart, ScanColumn, index_entry::IndexCodec};

use crate::model::{IndexInfo, PrimaryKey, TableInfo};

/// The parts of an index key.
pub fn key_parts(table: &TableInfo, index: &IndexInfo) -> Vec<KeyPart> {
    let part = |part: &crate::IndexColumn| {
        let column = &table.columns[part.offset];
        KeyPart { id: column.id, ty: column.ty.clone(), prefix_len: part.prefix_len, desc: part.desc }
    };
    index.columns.iter().map(part).collect()
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

/// Scan columns for the columns at `offsets`.
pub fn scan_columns(table: &TableInfo, offsets: impl IntoIterator<Item = usize>) -> Vec<ScanColumn> {
    let column = |offset: usize| {
        let column = &table.columns[offset];
        ScanColumn { id: column.id, ty: column.ty.clone(), default: column.origin_default.clone() }
    };
    offsets.into_iter().map(column).collect()
}

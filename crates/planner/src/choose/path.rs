//! What an access path is made of: the columns of its key, what its keys look like, the order they give, and what its entries hold.

use catalog::{IndexInfo, PrimaryKey};
use copr::{HANDLE_COLUMN, HandleKind, IndexScan, KeyPart, ScanColumn};
use stats::Target;
use types::FieldType;

use super::OrderColumn;
use crate::{
    logical::{Col, Path, Scan, ScanCol, ScanSource},
    range::{
        Access, KeySpace,
        detach::{Detached, KeyColumn},
    },
};

/// The column's number in this scan.
fn col_at(scan: &Scan, offset: usize) -> Option<Col> {
    scan.columns.iter().find(|column| column.source == ScanSource::Offset(offset)).map(|column| column.col)
}

/// The columns of a path's key and what its keys are made of.
pub(super) fn key_of(scan: &Scan, path: Path) -> (Vec<KeyColumn>, KeySpace) {
    let table = &scan.table;
    let columns = |index: &IndexInfo| -> Vec<KeyColumn> {
        let column = |part: &catalog::IndexColumn| KeyColumn {
            col: col_at(scan, part.offset),
            ty: table.columns[part.offset].ty.clone(),
            is_prefix: part.prefix_len.is_some(),
        };
        index.columns.iter().map(column).collect()
    };
    match (path, table.pk) {
        (Path::Index(offset), _) => {
            let index = &table.indexes[offset];
            (columns(index), KeySpace::Index { index: index.id, parts: key_parts(scan, index) })
        }
        (Path::Primary, PrimaryKey::Common { index }) => {
            let index = &table.indexes[index];
            (columns(index), KeySpace::CommonHandle { parts: key_parts(scan, index) })
        }
        (Path::Primary, PrimaryKey::IntHandle { column }) => {
            let ty = table.columns[column].ty.clone();
            (vec![KeyColumn { col: col_at(scan, column), ty: ty.clone(), is_prefix: false }], KeySpace::IntHandle { ty })
        }
        (Path::Primary, PrimaryKey::HiddenRowId) => (vec![], KeySpace::IntHandle { ty: FieldType::bigint() }),
    }
}

fn key_parts(scan: &Scan, index: &IndexInfo) -> Vec<KeyPart> {
    let part = |part: &catalog::IndexColumn| {
        let column = &scan.table.columns[part.offset];
        KeyPart { id: column.id, ty: column.ty.clone(), prefix_len: part.prefix_len, desc: part.desc }
    };
    index.columns.iter().map(part).collect()
}

/// What the row key of the table holds.
pub(super) fn handle_kind(scan: &Scan) -> HandleKind {
    match scan.table.pk {
        PrimaryKey::HiddenRowId => HandleKind::RowId,
        PrimaryKey::IntHandle { column } => HandleKind::IntColumn { id: scan.table.columns[column].id },
        PrimaryKey::Common { index } => HandleKind::Common { parts: key_parts(scan, &scan.table.indexes[index]) },
    }
}

pub(super) fn index_scan(scan: &Scan, index: usize, columns: Vec<ScanColumn>) -> IndexScan {
    let info = &scan.table.indexes[index];
    IndexScan {
        table: scan.table.id,
        index: info.id,
        unique: info.unique,
        parts: key_parts(scan, info),
        columns,
        handle: handle_kind(scan),
    }
}

/// Whose values statistics have for the first columns of a path.
pub(super) fn target_of(scan: &Scan, path: Path, detached: &Detached) -> Target {
    let first = |offset: usize| Target::Column(scan.table.columns[offset].id);
    match (path, scan.table.pk) {
        (Path::Index(offset), _) => {
            let index = &scan.table.indexes[offset];
            let one_column = index.columns.len() == 1 || matches!(&detached.access, Access::Columns(list) if list.len() == 1);
            // A single column's statistics are as good, and are there for indexes that were never analyzed.
            if one_column && !index.columns[0].desc && index.columns[0].prefix_len.is_none() {
                first(index.columns[0].offset)
            } else {
                Target::Index(index.id)
            }
        }
        (Path::Primary, PrimaryKey::IntHandle { column }) => first(column),
        (Path::Primary, PrimaryKey::Common { index }) => {
            let index = &scan.table.indexes[index];
            if index.columns.len() == 1 { first(index.columns[0].offset) } else { Target::Index(index.id) }
        }
        (Path::Primary, PrimaryKey::HiddenRowId) => Target::Column(HANDLE_COLUMN),
    }
}

/// The order of a path's keys, as far as it is an order of whole column values.
pub(super) fn key_order(scan: &Scan, path: Path) -> Vec<OrderColumn> {
    let parts: Vec<(usize, bool, bool)> = match (path, scan.table.pk) {
        (Path::Index(offset), pk) => {
            let index = &scan.table.indexes[offset];
            let mut parts: Vec<_> = index.columns.iter().map(|part| (part.offset, part.desc, part.prefix_len.is_some())).collect();
            if !index.unique {
                // Equal entries stand in the order of their handles.
                parts.extend(handle_parts(scan, pk));
            }
            parts
        }
        (Path::Primary, pk) => handle_parts(scan, pk),
    };
    let mut order = vec![];
    for (offset, desc, is_prefix) in parts {
        match col_at(scan, offset).filter(|_| !is_prefix) {
            Some(col) => order.push((col, desc)),
            None => break,
        }
    }
    order
}

fn handle_parts(scan: &Scan, pk: PrimaryKey) -> Vec<(usize, bool, bool)> {
    match pk {
        PrimaryKey::IntHandle { column } => vec![(column, false, false)],
        PrimaryKey::Common { index } => {
            let parts = &scan.table.indexes[index].columns;
            parts.iter().map(|part| (part.offset, part.desc, part.prefix_len.is_some())).collect()
        }
        PrimaryKey::HiddenRowId => vec![],
    }
}

/// Whether an index entry holds every column read.
pub(super) fn is_covering(scan: &Scan, index: usize, read: &[ScanCol]) -> bool {
    read.iter().all(|column| is_in_index(scan, index, column.source))
}

pub(super) fn is_in_index(scan: &Scan, index: usize, source: ScanSource) -> bool {
    let ScanSource::Offset(offset) = source else { return true };
    let whole = |index: &IndexInfo| index.columns.iter().any(|part| part.offset == offset && part.prefix_len.is_none());
    whole(&scan.table.indexes[index])
        || match scan.table.pk {
            PrimaryKey::IntHandle { column } => column == offset,
            PrimaryKey::Common { index } => whole(&scan.table.indexes[index]),
            PrimaryKey::HiddenRowId => false,
        }
}

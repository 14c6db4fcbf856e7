//! Scans of tables and indexes, in both directions.
//!
//! A scan of an index names all columns of the index in key order and those of the handle behind them, so the columns that a plan asks for stand
//! elsewhere than in the plan.

use base::{ColumnId, IndexId, TableId};
use copr::{HANDLE_COLUMN, HandleKind, IndexScan, KeyPart, ScanColumn, ScanSpec, TableScan};
use proto::tipb;
use types::{Column, Datum, FieldType, TypeKind};

use crate::{Error, Result, datum, field_type};

/// Marks a column of the primary key.
const PRIMARY_KEY_FLAG: i32 = 2;

/// A scan in the protocol's words.
pub(crate) struct EncodedScan {
    pub(crate) executor: tipb::Executor,
    /// Where each of the plan's columns stands among the columns that the store scans.
    pub(crate) positions: Vec<u32>,
}

/// A scan and its direction, read.
pub(crate) struct DecodedScan {
    pub(crate) scan: ScanSpec,
    pub(crate) desc: bool,
}

/// Puts a scan into words.
pub(crate) fn encode(scan: &ScanSpec, desc: bool) -> Result<EncodedScan> {
    match scan {
        ScanSpec::Table(scan) => encode_table(scan, desc),
        ScanSpec::Index(scan) => encode_index(scan, desc),
    }
}

fn encode_table(scan: &TableScan, desc: bool) -> Result<EncodedScan> {
    let mut columns = scan.columns.iter().map(|column| encode_column(column, &scan.handle)).collect::<Result<Vec<_>>>()?;
    let positions = (0..columns.len() as u32).collect();
    if columns.is_empty() {
        // Rows are only counted, but a scan has at least one column.
        columns.push(match &scan.handle {
            HandleKind::RowId => handle_column(HANDLE_COLUMN)?,
            HandleKind::IntColumn { id } => handle_column(*id)?,
            HandleKind::Common { parts } => {
                let first = parts.first().ok_or(Error::Damaged("a common handle without columns"))?;
                tipb::ColumnInfo { column_id: first.id.0, ..field_type::encode_column(&first.ty)? }
            }
        });
    }
    let mut words = tipb::TableScan { table_id: scan.table.0, columns, desc, ..Default::default() };
    if let HandleKind::Common { parts } = &scan.handle {
        check_ascending(parts)?;
        words.primary_column_ids = parts.iter().map(|part| part.id.0).collect();
        words.primary_prefix_column_ids = parts.iter().filter(|part| part.prefix_len.is_some()).map(|part| part.id.0).collect();
    }
    let tp = tipb::ExecType::TypeTableScan as i32;
    Ok(EncodedScan { executor: tipb::Executor { tp, tbl_scan: Some(words), ..Default::default() }, positions })
}

fn encode_index(scan: &IndexScan, desc: bool) -> Result<EncodedScan> {
    check_ascending(&scan.parts)?;
    let part = |part: &KeyPart| Ok(tipb::ColumnInfo { column_id: part.id.0, ..field_type::encode_column(&part.ty)? });
    let mut columns = scan.parts.iter().map(part).collect::<Result<Vec<_>>>()?;
    let mut words = tipb::IndexScan { table_id: scan.table.0, index_id: scan.index.0, desc, ..Default::default() };
    match &scan.handle {
        HandleKind::RowId => columns.push(handle_column(HANDLE_COLUMN)?),
        HandleKind::IntColumn { id } => {
            let asked = scan.columns.iter().find(|column| column.id == *id);
            columns.push(asked.map_or_else(|| handle_column(*id), |column| encode_column(column, &scan.handle))?);
        }
        HandleKind::Common { parts } => {
            check_ascending(parts)?;
            words.primary_column_ids = parts.iter().map(|part| part.id.0).collect();
            columns.extend(parts.iter().map(part).collect::<Result<Vec<_>>>()?);
        }
    }
    let handle_at = columns.len() - 1;
    let handle_parts = match &scan.handle {
        HandleKind::Common { parts } => &parts[..],
        _ => &[],
    };
    let whole = |parts: &[KeyPart], id| parts.iter().position(|part| part.id == id && part.prefix_len.is_none());
    let position = |column: &ScanColumn| match whole(&scan.parts, column.id) {
        Some(at) => Ok(at as u32),
        None if handle_parts.is_empty() => Ok(handle_at as u32),
        None => match whole(handle_parts, column.id) {
            Some(at) => Ok((scan.parts.len() + at) as u32),
            None => Err(Error::unsupported("the handle's bytes")),
        },
    };
    let positions = scan.columns.iter().map(position).collect::<Result<_>>()?;
    words.columns = columns;
    let tp = tipb::ExecType::TypeIndexScan as i32;
    Ok(EncodedScan { executor: tipb::Executor { tp, idx_scan: Some(words), ..Default::default() }, positions })
}

fn check_ascending(parts: &[KeyPart]) -> Result<()> {
    match parts.iter().any(|part| part.desc) {
        true => Err(Error::unsupported("a key in descending order")),
        false => Ok(()),
    }
}

fn handle_column(id: ColumnId) -> Result<tipb::ColumnInfo> {
    Ok(tipb::ColumnInfo { column_id: id.0, pk_handle: true, ..field_type::encode_column(&FieldType::bigint().with_not_null())? })
}

fn encode_column(column: &ScanColumn, handle: &HandleKind) -> Result<tipb::ColumnInfo> {
    let mut words = tipb::ColumnInfo { column_id: column.id.0, ..field_type::encode_column(&column.ty)? };
    match handle {
        HandleKind::IntColumn { id } if column.id == *id || column.id == HANDLE_COLUMN => {
            words.column_id = id.0;
            words.pk_handle = true;
            words.flag |= PRIMARY_KEY_FLAG;
        }
        HandleKind::RowId if column.id == HANDLE_COLUMN => words.pk_handle = true,
        HandleKind::Common { .. } if column.id == HANDLE_COLUMN => return Err(Error::unsupported("the handle's bytes")),
        _ => {}
    }
    if !matches!(column.default, Datum::Null) {
        let mut default = Vec::new();
        datum::write(&mut default, column.default.as_ref(), &column.ty);
        words.default_val = default.into();
    }
    Ok(words)
}

/// Reads a scan.
pub(crate) fn decode(executor: &tipb::Executor) -> Result<DecodedScan> {
    match (tipb::ExecType::try_from(executor.tp), &executor.tbl_scan, &executor.idx_scan) {
        (Ok(tipb::ExecType::TypeTableScan), Some(scan), _) => decode_table(scan),
        (Ok(tipb::ExecType::TypeIndexScan), _, Some(scan)) => decode_index(scan),
        _ => Err(Error::unsupported("a plan that does not begin with a scan of a table or an index")),
    }
}

fn decode_table(words: &tipb::TableScan) -> Result<DecodedScan> {
    let columns = words.columns.iter().map(decode_scan_column).collect::<Result<Vec<_>>>()?;
    let handle = if words.primary_column_ids.is_empty() {
        int_handle(&words.columns)
    } else {
        let is_prefix = |id| words.primary_prefix_column_ids.contains(&id);
        HandleKind::Common { parts: words.primary_column_ids.iter().map(|&id| handle_part(id, &columns, is_prefix(id))).collect() }
    };
    check_columns(&columns, &handle)?;
    let scan = TableScan { table: TableId(words.table_id), columns, handle };
    Ok(DecodedScan { scan: ScanSpec::Table(scan), desc: words.desc })
}

fn decode_index(words: &tipb::IndexScan) -> Result<DecodedScan> {
    let all = words.columns.iter().map(decode_scan_column).collect::<Result<Vec<_>>>()?;
    let handle_columns = match words.primary_column_ids.is_empty() {
        true => words.columns.iter().filter(|column| is_handle(column)).count(),
        false => words.primary_column_ids.len(),
    };
    let own = all.len().checked_sub(handle_columns).ok_or(Error::Damaged("an index with fewer columns than its handle"))?;
    if words.columns[..own].iter().any(is_handle) {
        return Err(Error::unsupported("a handle before the end of an index"));
    }
    let key_part = |column: &ScanColumn| KeyPart { id: column.id, ty: column.ty.clone(), prefix_len: None, desc: false };
    let parts = all[..own].iter().map(key_part).collect();
    let handle = match words.primary_column_ids.is_empty() {
        true => int_handle(&words.columns),
        false => HandleKind::Common { parts: all[own..].iter().map(key_part).collect() },
    };
    check_columns(&all, &handle)?;
    // It is not said which entries have their handle in the value: `unique` in words means that ranges may be single keys, found without a scan.
    let scan = IndexScan { table: TableId(words.table_id), index: IndexId(words.index_id), unique: true, parts, columns: all, handle };
    Ok(DecodedScan { scan: ScanSpec::Index(scan), desc: words.desc })
}

/// Columns that stand for one thing are of one type: it is read as what the column says.
fn check_columns(columns: &[ScanColumn], handle: &HandleKind) -> Result<()> {
    for (at, column) in columns.iter().enumerate() {
        let is_handle = column.id == HANDLE_COLUMN || matches!(handle, HandleKind::IntColumn { id } if column.id == *id);
        let is_in_bytes = is_handle && matches!(handle, HandleKind::Common { .. });
        if is_in_bytes || (is_handle && !column.ty.is_integer()) {
            return Err(Error::Damaged("a handle that is no integer"));
        }
        if columns[..at].iter().any(|other| other.id == column.id && other.ty != column.ty) {
            return Err(Error::Damaged("a column of two types"));
        }
    }
    Ok(())
}

fn is_handle(column: &tipb::ColumnInfo) -> bool {
    column.pk_handle || column.column_id == HANDLE_COLUMN.0
}

fn int_handle(columns: &[tipb::ColumnInfo]) -> HandleKind {
    match columns.iter().find(|column| column.pk_handle && column.column_id != HANDLE_COLUMN.0) {
        Some(column) => HandleKind::IntColumn { id: ColumnId(column.column_id) },
        None => HandleKind::RowId,
    }
}

/// A part of a common handle. The type of one that is not read does not matter: its end is found without it.
fn handle_part(id: i64, columns: &[ScanColumn], is_prefix: bool) -> KeyPart {
    let read = columns.iter().find(|column| column.id.0 == id);
    let ty = read.map_or_else(|| FieldType::varbinary(0), |column| column.ty.clone());
    // How long the prefix is does not matter either: the whole value stands in the row.
    KeyPart { id: ColumnId(id), ty, prefix_len: is_prefix.then_some(1), desc: false }
}

fn decode_scan_column(words: &tipb::ColumnInfo) -> Result<ScanColumn> {
    if words.column_id < HANDLE_COLUMN.0 {
        return Err(Error::unsupported(format!("the column with number {}", words.column_id)));
    }
    let ty = field_type::decode_column(words)?;
    if ty.tp == TypeKind::Null {
        return Err(Error::unsupported("a column without a type"));
    }
    let default = if words.default_val.is_empty() {
        Datum::Null
    } else {
        let mut column = Column::for_type(&ty, 1);
        datum::read_into(&mut &words.default_val[..], &ty, &mut column)?;
        column.datum(0)
    };
    Ok(ScanColumn { id: ColumnId(words.column_id), ty, default })
}

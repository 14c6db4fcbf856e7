//! Index definitions: names, parts, key lengths.

use base::IndexId;
use catalog::{ColumnInfo, IndexColumn, IndexInfo, SchemaState, TableInfo, name::eq_ignore_case};
use parser::ast::{IndexDef, IndexKey, IndexKind, IndexOption, IndexPart};
use types::{FieldType, TypeKind};

use super::names::check_index_name;
use crate::{Error, Result};

/// Most indexes of a table.
pub const MAX_KEYS: usize = 64;
/// Most parts of an index.
const MAX_PARTS: usize = 16;
/// Most bytes of an index key, as MySQL counts them.
const MAX_KEY_BYTES: u32 = 3072;

/// The definition of an index over `columns`, in state public. `taken` tells which names are in use.
pub fn build(definition: &IndexDef, id: IndexId, columns: &[ColumnInfo], taken: &dyn Fn(&str) -> bool) -> Result<IndexInfo> {
    match definition.kind {
        IndexKind::FullText => return Err(Error::not_supported("FULLTEXT indexes")),
        IndexKind::Spatial => return Err(Error::not_supported("SPATIAL indexes")),
        IndexKind::Primary | IndexKind::Unique | IndexKind::Index => {}
    }
    let primary = definition.kind == IndexKind::Primary;
    if definition.parts.len() > MAX_PARTS {
        return Err(Error::TooManyKeyParts { max: MAX_PARTS });
    }
    let mut parts = Vec::with_capacity(definition.parts.len());
    let mut key_bytes = 0;
    for part in &definition.parts {
        let (part, bytes) = build_part(part, columns, primary)?;
        if parts.iter().any(|other: &IndexColumn| other.offset == part.offset) {
            return Err(Error::DuplicateColumn { name: columns[part.offset].name.clone() });
        }
        key_bytes += bytes;
        parts.push(part);
    }
    if key_bytes > MAX_KEY_BYTES {
        return Err(Error::KeyTooLong { max: MAX_KEY_BYTES });
    }
    let name = match &definition.name {
        _ if primary => "PRIMARY".to_owned(),
        Some(name) => {
            check_index_name(name)?;
            if taken(name) {
                return Err(Error::DuplicateKeyName { name: name.to_string() });
            }
            name.to_string()
        }
        None => free_name(&columns[parts[0].offset].name, taken),
    };
    let mut index = IndexInfo {
        id,
        name,
        columns: parts,
        unique: definition.kind != IndexKind::Index,
        primary,
        state: SchemaState::Public,
        invisible: false,
        comment: String::new(),
    };
    apply_options(&definition.options, &mut index)?;
    Ok(index)
}

fn apply_options(options: &[IndexOption], index: &mut IndexInfo) -> Result<()> {
    for option in options {
        match option {
            IndexOption::Comment(comment) => index.comment.clone_from(comment),
            IndexOption::Visible(visible) if index.primary && !visible => return Err(Error::not_supported("an invisible primary key")),
            IndexOption::Visible(visible) => index.invisible = !visible,
            // Every index is ordered; InnoDB too takes USING HASH for BTREE and ignores KEY_BLOCK_SIZE.
            IndexOption::Using(kind) if kind.eq_ignore_ascii_case("rtree") => return Err(Error::not_supported("USING RTREE")),
            IndexOption::Using(_) | IndexOption::KeyBlockSize(_) => {}
            IndexOption::Parser(_) => return Err(Error::not_supported("WITH PARSER")),
            IndexOption::EngineAttribute { .. } => return Err(Error::not_supported("ENGINE_ATTRIBUTE")),
        }
    }
    Ok(())
}

/// A name after the index's first column: `c`, `c_2`, `c_3` …
fn free_name(column: &str, taken: &dyn Fn(&str) -> bool) -> String {
    let candidates = std::iter::once(column.to_owned()).chain((2..).map(|n| format!("{column}_{n}")));
    candidates.into_iter().find(|name| !taken(name) && !name.eq_ignore_ascii_case("PRIMARY")).expect("the series of names has no end")
}

fn build_part(part: &IndexPart, columns: &[ColumnInfo], primary: bool) -> Result<(IndexColumn, u32)> {
    let (name, length) = match &part.key {
        IndexKey::Column { name, length } => (name, *length),
        IndexKey::Expr(_) => return Err(Error::not_supported("functional index parts")),
    };
    let column = columns.iter().find(|column| eq_ignore_case(&column.name, name));
    let column = column.ok_or_else(|| Error::KeyColumnMissing { column: name.to_string() })?;
    let ty = &column.ty;
    let mut prefix_len = length;
    if ty.tp.is_blob() && length.is_none() {
        return Err(Error::BlobKeyWithoutLength { column: column.name.clone() });
    }
    if let Some(len) = length {
        let longer = !ty.tp.is_blob() && i64::from(len) > i64::from(ty.flen);
        if !ty.tp.is_string() || longer || len == 0 {
            return Err(Error::WrongSubKey);
        }
        if !ty.tp.is_blob() && i64::from(len) == i64::from(ty.flen) {
            prefix_len = None;
        }
    }
    if primary && prefix_len.is_some() {
        return Err(Error::not_supported("a PRIMARY KEY over a column prefix"));
    }
    if ty.tp == TypeKind::Json {
        return Err(Error::JsonUsedAsKey { column: column.name.clone() });
    }
    let bytes = key_bytes(ty, prefix_len);
    if bytes > MAX_KEY_BYTES {
        return Err(Error::KeyTooLong { max: MAX_KEY_BYTES });
    }
    Ok((IndexColumn { offset: column.offset, prefix_len, desc: part.desc }, bytes))
}

/// Bytes a column takes in a key, as MySQL counts them.
fn key_bytes(ty: &FieldType, prefix_len: Option<u32>) -> u32 {
    match ty.tp {
        TypeKind::TinyInt | TypeKind::Year => 1,
        TypeKind::SmallInt => 2,
        TypeKind::MediumInt | TypeKind::Date => 3,
        TypeKind::Int | TypeKind::Float => 4,
        TypeKind::BigInt | TypeKind::Double => 8,
        TypeKind::Time => 3 + u32::from(ty.fsp()).div_ceil(2),
        TypeKind::Timestamp => 4 + u32::from(ty.fsp()).div_ceil(2),
        TypeKind::DateTime => 5 + u32::from(ty.fsp()).div_ceil(2),
        TypeKind::Decimal => {
            let (digits, scale) = (ty.flen.max(0) as u32, ty.decimal.max(0) as u32);
            let group = |digits: u32| digits / 9 * 4 + [0, 1, 1, 2, 2, 3, 3, 4, 4][(digits % 9) as usize];
            group(digits.saturating_sub(scale)) + group(scale)
        }
        TypeKind::Bit => (ty.flen.max(1) as u32).div_ceil(8),
        TypeKind::Enum => 1 + u32::from(ty.elems.len() > 255),
        // 1, 2, 3, 4 or 8 bytes.
        TypeKind::Set => [1, 1, 2, 3, 4, 8, 8, 8, 8][ty.elems.len().div_ceil(8).min(8)],
        _ => prefix_len.unwrap_or(ty.flen.max(0) as u32).saturating_mul(ty.charset.max_bytes_per_char()),
    }
}

/// Bytes a column takes in MySQL's row format, which limits the length of rows.
pub fn row_bytes(ty: &FieldType) -> u32 {
    match ty.tp {
        _ if ty.tp.is_blob() || ty.tp == TypeKind::Json => 12,
        TypeKind::VarChar | TypeKind::VarBinary => {
            let bytes = key_bytes(ty, None);
            bytes + if bytes > 255 { 2 } else { 1 }
        }
        _ => key_bytes(ty, None),
    }
}

/// Whether an AUTO_INCREMENT column is the first part of some key.
pub fn leads_some_key(table: &TableInfo, offset: usize) -> bool {
    table.pk == (catalog::PrimaryKey::IntHandle { column: offset }) || table.indexes.iter().any(|index| index.columns[0].offset == offset)
}

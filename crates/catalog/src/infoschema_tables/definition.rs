//! How tables are defined in code: virtual tables, and the system tables that bootstrap creates.
//!
//! A definition is a list of `(name, type)` written with the short constructors of this file; a type is nullable when it is wrapped in
//! [`Type::Nullable`].

use base::{DatabaseId, TableId};
use types::{Collation, Datum, FieldType, TypeKind};

use super::VirtualContext;
use crate::model::{ColumnInfo, TableInfo};

/// Produces all rows of a table.
pub type Rows = fn(&VirtualContext<'_>) -> Vec<Vec<Datum>>;

/// A virtual table.
pub struct VirtualTable {
    /// Its database in lower case.
    pub database: &'static str,
    /// Its name in the letter case MySQL shows.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [(&'static str, Type)],
    /// Its rows; `None` when they come from the session layer, or there are none.
    pub rows: Option<Rows>,
}

/// Types of columns of tables that are defined in code.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// VARCHAR(n), compared without regard to case.
    Name(u32),
    /// VARCHAR(n), compared by bytes.
    Text(u32),
    /// CHAR(n), compared by bytes.
    Char(u32),
    /// LONGTEXT.
    LongText,
    /// INT.
    Int,
    /// BIGINT.
    BigInt,
    /// BIGINT UNSIGNED.
    Unsigned,
    /// DOUBLE.
    Double,
    /// DATETIME.
    DateTime,
    /// TIMESTAMP.
    Timestamp,
    /// ENUM of the words, compared without regard to case; stored as VARCHAR by tables that are not virtual.
    Enum(&'static [&'static str]),
    /// Nullable.
    Nullable(&'static Type),
}

impl Type {
    /// The type as the catalog knows it.
    pub fn field_type(self) -> FieldType {
        let ty = match self {
            Type::Nullable(inner) => {
                let mut ty = inner.field_type();
                ty.not_null = false;
                return ty;
            }
            Type::Name(len) => FieldType::varchar(len).with_collation(Collation::Utf8mb4GeneralCi),
            Type::Text(len) => FieldType::varchar(len).with_collation(Collation::Utf8mb4Bin),
            Type::Char(len) => FieldType::char(len).with_collation(Collation::Utf8mb4Bin),
            Type::LongText => FieldType::longtext().with_collation(Collation::Utf8mb4GeneralCi),
            Type::Int => FieldType::int(),
            Type::BigInt => FieldType::bigint(),
            Type::Unsigned => FieldType::unsigned_bigint(),
            Type::Double => FieldType::double(),
            Type::DateTime => FieldType::datetime(0),
            Type::Timestamp => FieldType::timestamp(0),
            Type::Enum(words) => {
                // Values of ENUM columns in code-defined tables travel as text.
                let longest = words.iter().map(|word| word.len()).max().unwrap_or(1);
                FieldType::new(TypeKind::VarChar).with_flen(longest as u32).with_collation(Collation::Utf8mb4GeneralCi)
            }
        };
        ty.with_not_null()
    }
}

/// The table info of a virtual table.
pub(super) fn build(id: TableId, database: DatabaseId, table: &VirtualTable) -> TableInfo {
    let mut info = TableInfo::new(id, database, table.database, table.name);
    push_columns(&mut info, table.columns);
    info
}

/// Appends columns to a table.
pub(crate) fn push_columns(table: &mut TableInfo, columns: &[(&str, Type)]) {
    for (name, ty) in columns {
        let id = table.take_column_id();
        let offset = table.columns.len();
        table.columns.push(ColumnInfo::new(id, *name, offset, ty.field_type()));
    }
}

/// A text value.
pub fn text(value: impl AsRef<str>) -> Datum {
    Datum::Bytes(value.as_ref().as_bytes().to_vec())
}

/// `YES` or `NO`.
pub fn yes_no(value: bool) -> Datum {
    text(if value { "YES" } else { "NO" })
}

/// A count.
pub fn count(value: u64) -> Datum {
    Datum::UInt(value)
}

//! Which datum becomes which bytes: in keys ([`key`]) and in row cells ([`row`]).
//!
//! | type | in a key, behind its flag | in a row cell |
//! |---|---|---|
//! | signed integers, YEAR | `INT`, 8 bytes | compact signed |
//! | unsigned integers, BIT, ENUM, SET | `UINT`, 8 bytes | compact unsigned |
//! | FLOAT, DOUBLE | `FLOAT`, 8 bytes | 8 bytes, memcomparable |
//! | DECIMAL | `DECIMAL`, precision, scale, digits | precision, scale, digits |
//! | text | `BYTES`, sort key in memcomparable groups | the text |
//! | byte strings | `BYTES`, memcomparable groups | the bytes |
//! | DATE, DATETIME, TIMESTAMP (UTC) | `UINT`, packed, 8 bytes | packed, compact unsigned |
//! | TIME | `DURATION`, nanoseconds, 8 bytes | nanoseconds, compact signed |
//! | JSON | none: it is in no index | its stored form |
//!
//! The column's type decides the form, not the datum's variant: a signed datum on its way into an unsigned column is written unsigned.

pub mod key;
pub mod row;

pub use key::{decode_key_datum, decode_key_into, encode_key_datum, skip_key_datum};
pub use row::{decode_row_value, decode_row_value_into, encode_row_value};

use crate::{
    decimal::DecimalError,
    error::Error,
    field_type::{FieldType, TypeKind},
};

/// The error of bytes that are no value of their column.
#[cold]
fn damaged(ty: &FieldType, problem: &'static str) -> Error {
    Error::DamagedValue { kind: ty.base_name(), problem }
}

fn damaged_decimal(ty: &FieldType, error: DecimalError) -> Error {
    match error {
        DecimalError::Damaged(problem) => damaged(ty, problem),
        DecimalError::Overflow | DecimalError::BadNumber => damaged(ty, "not a decimal"),
    }
}

/// The physical forms a column can have in bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Int,
    UInt,
    Float,
    Double,
    Decimal,
    Bytes,
    Time,
    Duration,
    Json,
}

#[inline]
fn form_of(ty: &FieldType) -> Form {
    match ty.tp {
        TypeKind::Year | TypeKind::Null => Form::Int,
        TypeKind::Bit | TypeKind::Enum | TypeKind::Set => Form::UInt,
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            if ty.unsigned {
                Form::UInt
            } else {
                Form::Int
            }
        }
        TypeKind::Float => Form::Float,
        TypeKind::Double => Form::Double,
        TypeKind::Decimal => Form::Decimal,
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => Form::Time,
        TypeKind::Time => Form::Duration,
        TypeKind::Json => Form::Json,
        _ => Form::Bytes,
    }
}

//! Types, in both directions.
//!
//! Collations travel as negative ids: this says that text is compared as MySQL does, and not by its bytes whatever the collation is called.
//! BIT, ENUM, SET and JSON do not travel: their values have other forms in other stores.

use proto::tipb;
use types::{Charset, Collation, EvalType, FieldType, TypeFlags, TypeKind};

use crate::{Error, Result};

/// Code of VARCHAR in column definitions of stores.
const VARCHAR: i32 = 15;

/// Number of a type, as stores know it.
fn code(tp: TypeKind) -> Result<i32> {
    Ok(match tp {
        TypeKind::Bit | TypeKind::Enum | TypeKind::Set | TypeKind::Json => {
            return Err(Error::unsupported(format!("the type {tp:?}")));
        }
        TypeKind::VarChar | TypeKind::VarBinary => VARCHAR,
        TypeKind::TinyText | TypeKind::TinyBlob => 249,
        TypeKind::MediumText | TypeKind::MediumBlob => 250,
        TypeKind::LongText | TypeKind::LongBlob => 251,
        tp => i32::from(tp.mysql_type()),
    })
}

fn kind(code: i32, is_text: bool) -> Result<TypeKind> {
    let either = |text, bytes| if is_text { text } else { bytes };
    Ok(match code {
        1 => TypeKind::TinyInt,
        2 => TypeKind::SmallInt,
        3 => TypeKind::Int,
        4 => TypeKind::Float,
        5 => TypeKind::Double,
        6 => TypeKind::Null,
        7 => TypeKind::Timestamp,
        8 => TypeKind::BigInt,
        9 => TypeKind::MediumInt,
        10 | 14 => TypeKind::Date,
        11 => TypeKind::Time,
        12 => TypeKind::DateTime,
        13 => TypeKind::Year,
        VARCHAR | 253 => either(TypeKind::VarChar, TypeKind::VarBinary),
        246 => TypeKind::Decimal,
        249 => either(TypeKind::TinyText, TypeKind::TinyBlob),
        250 => either(TypeKind::MediumText, TypeKind::MediumBlob),
        251 => either(TypeKind::LongText, TypeKind::LongBlob),
        252 => either(TypeKind::Text, TypeKind::Blob),
        254 => either(TypeKind::Char, TypeKind::Binary),
        other => return Err(Error::unsupported(format!("the type with number {other}"))),
    })
}

/// A collation's id as it travels.
pub(crate) fn collation_id(collation: Collation) -> i32 {
    -i32::from(collation.id())
}

/// How text under a collation id is compared, and its character set. Ids above zero compare bytes, whatever they are called.
pub(crate) fn collation(id: i32) -> Result<(Charset, Collation)> {
    Ok(match id {
        -63 | 63 => (Charset::Binary, Collation::Binary),
        0.. => (Charset::Utf8mb4, Collation::Binary),
        // The `_bin` collations of utf8mb4, utf8, latin1 and ascii.
        -46 | -83 | -47 | -65 => (Charset::Utf8mb4, Collation::Utf8mb4Bin),
        -45 | -33 => (Charset::Utf8mb4, Collation::Utf8mb4GeneralCi),
        -255 => (Charset::Utf8mb4, Collation::Utf8mb4_0900AiCi),
        other => return Err(Error::unsupported(format!("the collation with number {other}"))),
    })
}

fn flags(ty: &FieldType) -> u32 {
    let mut flags = TypeFlags::NONE;
    if ty.not_null {
        flags.insert(TypeFlags::NOT_NULL);
    }
    if ty.unsigned {
        flags.insert(TypeFlags::UNSIGNED);
    }
    if ty.charset == Charset::Binary {
        flags.insert(TypeFlags::BINARY);
    }
    flags.0
}

/// A type in the protocol's words.
pub(crate) fn encode(ty: &FieldType) -> Result<tipb::FieldType> {
    Ok(tipb::FieldType {
        tp: code(ty.tp)?,
        flag: flags(ty),
        flen: ty.flen,
        decimal: i32::from(ty.decimal),
        collate: collation_id(ty.collation),
        charset: ty.charset.name().to_owned(),
        elems: Vec::new(),
    })
}

/// A column of the type, without an id.
pub(crate) fn encode_column(ty: &FieldType) -> Result<tipb::ColumnInfo> {
    Ok(tipb::ColumnInfo {
        tp: code(ty.tp)?,
        collation: collation_id(ty.collation),
        column_len: ty.flen,
        decimal: i32::from(ty.decimal),
        flag: flags(ty) as i32,
        ..Default::default()
    })
}

/// The type that the protocol's words say.
pub(crate) fn decode(ty: &tipb::FieldType) -> Result<FieldType> {
    build(ty.tp, ty.collate, ty.flag, ty.flen, ty.decimal)
}

/// The type of a column.
pub(crate) fn decode_column(column: &tipb::ColumnInfo) -> Result<FieldType> {
    build(column.tp, column.collation, column.flag as u32, column.column_len, column.decimal)
}

fn build(code: i32, collate: i32, flag: u32, flen: i32, decimal: i32) -> Result<FieldType> {
    let (charset, collation) = collation(collate)?;
    let mut ty = FieldType::new(kind(code, charset != Charset::Binary)?);
    let flags = TypeFlags(flag);
    if ty.eval_type() == EvalType::String {
        (ty.charset, ty.collation) = (charset, collation);
    }
    // A YEAR is marked as unsigned and stored as signed.
    ty.unsigned = flags.contains(TypeFlags::UNSIGNED) && ty.tp != TypeKind::Year;
    ty.not_null = flags.contains(TypeFlags::NOT_NULL);
    ty.flen = flen.max(-1);
    ty.decimal = i8::try_from(decimal).unwrap_or(-1).max(-1);
    Ok(ty)
}

/// A type of a class, for NULL where a value of the class is expected.
pub(crate) fn of_class(class: EvalType) -> Result<FieldType> {
    Ok(match class {
        EvalType::Int => FieldType::bigint(),
        EvalType::Real => FieldType::double(),
        EvalType::Decimal => FieldType::decimal(65, 30),
        EvalType::String => FieldType::varbinary(0),
        EvalType::Time => FieldType::datetime(6),
        EvalType::Duration => FieldType::time(6),
        EvalType::Json => return Err(Error::unsupported("JSON")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_back_as_far_as_values_depend_on_them() {
        let types = [
            FieldType::bigint().with_not_null(),
            FieldType::int().with_unsigned(),
            FieldType::year(),
            FieldType::float(),
            FieldType::double(),
            FieldType::decimal(20, 4),
            FieldType::varchar(30).with_collation(Collation::Utf8mb4GeneralCi),
            FieldType::char(3).with_collation(Collation::Utf8mb4Bin),
            FieldType::varbinary(7),
            FieldType::text(),
            FieldType::blob(),
            FieldType::new(TypeKind::LongText),
            FieldType::date(),
            FieldType::datetime(3),
            FieldType::timestamp(6),
            FieldType::time(2),
        ];
        for ty in types {
            assert_eq!(decode(&encode(&ty).expect("has words")).expect("own words"), ty);
            assert_eq!(decode_column(&encode_column(&ty).expect("has words")).expect("own words"), ty);
        }
        assert!(encode(&FieldType::new(TypeKind::Json)).is_err());
        assert!(decode(&tipb::FieldType { tp: 245, ..Default::default() }).is_err());
    }

    #[test]
    fn only_negative_collation_ids_compare_as_mysql_does() {
        assert_eq!(encode(&FieldType::varchar(1)).expect("has words").collate, -255);
        assert_eq!(collation(46).expect("known"), (Charset::Utf8mb4, Collation::Binary));
        assert_eq!(collation(-46).expect("known"), (Charset::Utf8mb4, Collation::Utf8mb4Bin));
        assert!(collation(-8).is_err(), "latin1_swedish_ci has weights of its own");
    }
}

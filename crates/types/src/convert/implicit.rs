//! The value a NOT NULL column gets where none is given and none is declared.

use crate::{
    datum::Datum,
    decimal::Decimal,
    field_type::{FieldType, TypeKind},
    time::{Duration, Time, TimeKind},
};

/// The implicit default of a type: zero, the empty string, the zero date, the first member of an ENUM, the JSON literal null.
///
/// Source: MySQL 8.0 Reference Manual, 11.6 "Data Type Default Values".
pub fn implicit_default(ty: &FieldType) -> Datum {
    match ty.tp {
        TypeKind::Null => Datum::Null,
        TypeKind::Year => Datum::Int(0),
        TypeKind::Enum => Datum::UInt(1),
        TypeKind::Bit | TypeKind::Set => Datum::UInt(0),
        _ if ty.is_integer() && ty.unsigned => Datum::UInt(0),
        _ if ty.is_integer() => Datum::Int(0),
        TypeKind::Float => Datum::Float(0.0),
        TypeKind::Double => Datum::Double(0.0),
        TypeKind::Decimal => Datum::Decimal(Decimal::ZERO.at_scale(ty.scale().unwrap_or(0))),
        TypeKind::Json => Datum::Json(vec![0x04, 0x00]),
        TypeKind::Time => Datum::Duration(Duration::from_micros(0, ty.fsp())),
        TypeKind::Binary => Datum::Bytes(vec![0; ty.flen.max(0) as usize]),
        _ => match TimeKind::of(ty.tp) {
            Some(kind) => Datum::Time(Time::zero(kind, ty.fsp())),
            None => Datum::Bytes(Vec::new()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_manual() {
        for (ty, text) in [
            (FieldType::int(), "0"),
            (FieldType::unsigned_bigint(), "0"),
            (FieldType::decimal(5, 2), "0.00"),
            (FieldType::varchar(5), ""),
            (FieldType::binary(2), "\0\0"),
            (FieldType::datetime(1), "0000-00-00 00:00:00.0"),
            (FieldType::date(), "0000-00-00"),
            (FieldType::time(0), "00:00:00"),
            (FieldType::year(), "0000"),
        ] {
            let default = implicit_default(&ty);
            assert_eq!(default.as_ref().to_text(&ty), text.as_bytes(), "{}", ty.to_sql());
            let mut column = crate::Column::for_type(&ty, 1);
            column.push(&default);
        }
    }
}

//! Datums in the cells of a row (row format v2). NULL has no cell.

use codec::number;

use super::{
    Form, damaged, damaged_decimal, form_of,
    key::{decimal_shape, time_of},
};
use crate::{
    column::Column,
    datum::{Datum, DatumRef},
    decimal::Decimal,
    error::Result,
    field_type::FieldType,
    time::Duration,
};

/// Appends the cell of a datum of a column's type; nothing for NULL.
///
/// A value of another family than the column's has no cell; [`crate::convert::store`] comes before, so that is a bug and stops the caller.
#[inline]
pub fn encode_row_value(out: &mut Vec<u8>, datum: DatumRef<'_>, ty: &FieldType) {
    match (datum, form_of(ty)) {
        (DatumRef::Null, _) => {}
        (DatumRef::Int(value), Form::Int) => number::encode_compact_i64(out, value),
        (DatumRef::UInt(value), Form::UInt) => number::encode_compact_u64(out, value),
        (DatumRef::Bytes(value), Form::Bytes) | (DatumRef::Json(value), Form::Json) => out.extend_from_slice(value),
        (DatumRef::Time(value), Form::Time) => number::encode_compact_u64(out, value.packed()),
        (DatumRef::Duration(value), Form::Duration) => number::encode_compact_i64(out, value.nanos()),
        (DatumRef::Decimal(value), Form::Decimal) => encode_decimal(out, value, ty),
        (DatumRef::Double(value), Form::Double | Form::Float) => number::encode_f64(out, value),
        (DatumRef::Float(value), Form::Double | Form::Float) => number::encode_f64(out, f64::from(value)),
        (DatumRef::UInt(value), Form::Int) => number::encode_compact_i64(out, value as i64),
        (DatumRef::Int(value), Form::UInt) => number::encode_compact_u64(out, value as u64),
        (value, _) => panic!("the value {value:?} has no cell as {}", ty.to_sql()),
    }
}

fn encode_decimal(out: &mut Vec<u8>, value: &Decimal, ty: &FieldType) {
    let (precision, scale) = decimal_shape(ty);
    value.encode_binary(precision, scale, out);
}

/// The datum of a whole cell.
pub fn decode_row_value(cell: &[u8], ty: &FieldType) -> Result<Datum> {
    let mut column = Column::for_type(ty, 1);
    decode_row_value_into(cell, ty, &mut column)?;
    Ok(column.datum(0))
}

/// Appends the datum of a whole cell to a column of the type. On an error the column is as it was.
#[inline]
pub fn decode_row_value_into(cell: &[u8], ty: &FieldType, column: &mut Column) -> Result<()> {
    match form_of(ty) {
        Form::Int => column.push_i64(number::decode_compact_i64(cell)?),
        Form::Bytes => column.push_bytes(cell),
        Form::UInt => column.push_u64(number::decode_compact_u64(cell)?),
        Form::Time => column.push_time(time_of(number::decode_compact_u64(cell)?, ty)?),
        Form::Duration => column.push_duration(Duration::from_nanos(number::decode_compact_i64(cell)?, ty.fsp())),
        Form::Json if crate::json::validate(cell) => column.push_json(cell),
        Form::Json => return Err(damaged(ty, "not a JSON value")),
        Form::Double => column.push_f64(decode_double(cell, ty)?),
        Form::Float => column.push_f32(decode_double(cell, ty)? as f32),
        Form::Decimal => {
            let mut rest = cell;
            let value = Decimal::decode_binary(&mut rest).map_err(|error| damaged_decimal(ty, error))?;
            if !rest.is_empty() {
                return Err(damaged(ty, "bytes are left over behind the digits"));
            }
            column.push_decimal(value);
        }
    }
    Ok(())
}

fn decode_double(cell: &[u8], ty: &FieldType) -> Result<f64> {
    let mut rest = cell;
    let value = number::decode_f64(&mut rest)?;
    if rest.is_empty() && !value.is_nan() { Ok(value) } else { Err(damaged(ty, "not eight bytes of a number")) }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        collation::Collation,
        field_type::TypeKind,
        time::{Time, TimeKind, TimeParts},
    };

    fn nullable(values: impl Strategy<Value = Datum> + 'static) -> BoxedStrategy<Datum> {
        prop_oneof![1 => Just(Datum::Null), 9 => values].boxed()
    }

    fn times(kind: TimeKind, fsp: u8) -> BoxedStrategy<Datum> {
        let parts = (0u16..=9999, 0u8..=12, 0u8..=31, 0u8..24, 0u8..60, 0u8..60, 0u32..1_000_000);
        nullable(parts.prop_map(move |(year, month, day, hour, minute, second, micro)| {
            let parts = TimeParts { year, month, day, hour, minute, second, micro };
            Datum::Time(Time::from_parts(parts, kind, 6).expect("in range").truncate_to_fsp(fsp).with_kind(kind, fsp))
        }))
    }

    /// A type and two values of it.
    pub fn any_typed_pair() -> impl Strategy<Value = (FieldType, Datum, Datum)> {
        let text = || nullable("[a-cA-C éß漢 ]{0,12}".prop_map(Datum::from));
        let types: Vec<(FieldType, BoxedStrategy<Datum>)> = vec![
            (FieldType::bigint(), nullable(prop_oneof![any::<i64>(), -3i64..3].prop_map(Datum::Int))),
            (FieldType::unsigned_bigint(), nullable(prop_oneof![any::<u64>(), 0u64..300].prop_map(Datum::UInt))),
            (FieldType::year(), nullable((1901i64..2155).prop_map(Datum::Int))),
            (FieldType::new(TypeKind::Bit).with_flen(64), nullable(any::<u64>().prop_map(Datum::UInt))),
            (FieldType::double(), nullable(any::<i32>().prop_map(|n| Datum::Double(f64::from(n) / 7.0)))),
            (FieldType::float(), nullable(any::<i16>().prop_map(|n| Datum::Float(f32::from(n) / 4.0)))),
            (
                FieldType::decimal(20, 5),
                nullable((-(10i64.pow(15))..10i64.pow(15)).prop_map(|n| Datum::Decimal(Decimal::from_unscaled(i128::from(n), 5)))),
            ),
            (FieldType::decimal(65, 30), nullable(any::<i128>().prop_map(|n| Datum::Decimal(Decimal::from_unscaled(n / 1000, 30))))),
            (FieldType::varbinary(20), nullable(prop::collection::vec(0u8..3, 0..20).prop_map(Datum::Bytes))),
            (FieldType::varchar(20).with_collation(Collation::Utf8mb4Bin), text()),
            (FieldType::varchar(20).with_collation(Collation::Utf8mb4GeneralCi), text()),
            (FieldType::varchar(20).with_collation(Collation::Utf8mb4_0900AiCi), text()),
            (FieldType::date(), times(TimeKind::Date, 0)),
            (FieldType::datetime(3), times(TimeKind::DateTime, 3)),
            (FieldType::timestamp(6), times(TimeKind::Timestamp, 6)),
            (
                FieldType::time(6),
                nullable((-Duration::MAX_MICROS..=Duration::MAX_MICROS).prop_map(|n| Datum::Duration(Duration::from_micros(n, 6)))),
            ),
        ];
        prop::sample::select((0..types.len()).collect::<Vec<_>>()).prop_flat_map(move |at| {
            let (ty, values) = &types[at];
            (Just(ty.clone()), values.clone(), values.clone())
        })
    }

    proptest! {
        #[test]
        fn cells_come_back((ty, value, _) in any_typed_pair()) {
            if !value.is_null() {
                let mut cell = Vec::new();
                encode_row_value(&mut cell, value.as_ref(), &ty);
                prop_assert_eq!(decode_row_value(&cell, &ty), Ok(value));
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic((ty, ..) in any_typed_pair(), cell in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode_row_value(&cell, &ty);
        }
    }

    #[test]
    fn json_cells_are_their_stored_form_and_checked() {
        let ty = FieldType::new(TypeKind::Json);
        let stored = crate::json::parse(b"{\"a\": [1, true]}").expect("JSON").to_binary().expect("small");
        let mut cell = Vec::new();
        encode_row_value(&mut cell, DatumRef::Json(&stored), &ty);
        assert_eq!(cell, stored);
        assert_eq!(decode_row_value(&cell, &ty), Ok(Datum::Json(stored)));
        cell.pop();
        assert!(decode_row_value(&cell, &ty).is_err());
    }
}

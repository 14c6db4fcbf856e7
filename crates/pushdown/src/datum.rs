//! Values with a flag before each, and rows of them: what a request's constants and defaults are, and a store's answer unless it is asked for
//! another form.
//!
//! ```text
//!   NULL 00    INT 03 i64    UINT 04 u64    FLOAT 05 f64    DECIMAL 06 …    DURATION 07 nanoseconds
//!   COMPACT_BYTES 02 length bytes    DATE, DATETIME, TIMESTAMP: UINT of the packed fields
//!   row = datum datum …
//! ```

use codec::{bytes, flag, number};
use types::{Chunk, Column, ColumnData, DatumRef, Decimal, Duration, FieldType, Time, TimeKind};

use crate::{Error, Result};

/// Appends a value of a type.
pub fn write(out: &mut Vec<u8>, value: DatumRef<'_>, ty: &FieldType) {
    match value {
        DatumRef::Null => out.push(flag::NULL),
        DatumRef::Int(value) if ty.unsigned => write_uint(out, value as u64),
        DatumRef::Int(value) => {
            out.push(flag::INT);
            number::encode_i64(out, value);
        }
        DatumRef::UInt(value) => write_uint(out, value),
        DatumRef::Float(value) => write_real(out, f64::from(value)),
        DatumRef::Double(value) => write_real(out, value),
        DatumRef::Decimal(value) => {
            out.push(flag::DECIMAL);
            value.encode_binary_exact(out);
        }
        DatumRef::Bytes(value) => {
            out.push(flag::COMPACT_BYTES);
            number::encode_varint(out, value.len() as i64);
            out.extend_from_slice(value);
        }
        DatumRef::Time(value) => write_uint(out, value.packed()),
        DatumRef::Duration(value) => {
            out.push(flag::DURATION);
            number::encode_i64(out, value.nanos());
        }
        DatumRef::Json(value) => {
            out.push(flag::JSON);
            out.extend_from_slice(value);
        }
    }
}

fn write_uint(out: &mut Vec<u8>, value: u64) {
    out.push(flag::UINT);
    number::encode_u64(out, value);
}

fn write_real(out: &mut Vec<u8>, value: f64) {
    out.push(flag::FLOAT);
    number::encode_f64(out, value);
}

/// A value as it was found; which type it is of, the column knows.
enum Found<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Real(f64),
    Decimal(Decimal),
    Bytes(std::borrow::Cow<'a, [u8]>),
    Nanos(i64),
}

fn take<'a>(input: &mut &'a [u8]) -> Result<Found<'a>> {
    let Some((&found, rest)) = input.split_first() else { return Err(Error::Damaged("a row ends too early")) };
    *input = rest;
    Ok(match found {
        flag::NULL => Found::Null,
        flag::INT => Found::Int(number::decode_i64(input)?),
        flag::UINT => Found::UInt(number::decode_u64(input)?),
        flag::VARINT => Found::Int(number::decode_varint(input)?),
        flag::UVARINT => Found::UInt(number::decode_uvarint(input)?),
        flag::FLOAT => Found::Real(number::decode_f64(input)?),
        flag::DECIMAL => Found::Decimal(Decimal::decode_binary(input).map_err(|_| Error::Damaged("a decimal"))?),
        flag::DURATION => Found::Nanos(number::decode_i64(input)?),
        flag::BYTES => Found::Bytes(bytes::decode_bytes(input)?.into()),
        flag::COMPACT_BYTES => {
            let len = usize::try_from(number::decode_varint(input)?).map_err(|_| Error::Damaged("a string of negative length"))?;
            let Some((value, rest)) = input.split_at_checked(len) else { return Err(Error::Damaged("a string ends too early")) };
            *input = rest;
            Found::Bytes(value.into())
        }
        _ => return Err(Error::Damaged("a value of unknown kind")),
    })
}

/// Takes the value at the front of `input` and appends it to a column of the type.
pub fn read_into(input: &mut &[u8], ty: &FieldType, column: &mut Column) -> Result<()> {
    let found = take(input)?;
    match (found, column.data()) {
        (Found::Null, _) => column.push_null(),
        (Found::Int(value), ColumnData::Int(_)) => column.push_i64(value),
        (Found::UInt(value), ColumnData::Int(_)) => column.push_i64(value as i64),
        (Found::Int(value), ColumnData::UInt(_)) => column.push_u64(value as u64),
        (Found::UInt(value), ColumnData::UInt(_)) => column.push_u64(value),
        (Found::Real(value), ColumnData::Double(_)) => column.push_f64(value),
        (Found::Real(value), ColumnData::Float(_)) => column.push_f32(value as f32),
        (Found::Decimal(value), ColumnData::Decimal(_)) => column.push_decimal(value),
        (Found::Bytes(value), ColumnData::Bytes { .. }) => column.push_bytes(&value),
        (Found::UInt(packed), ColumnData::Time(_)) => column.push_time(time(packed, ty)?),
        (Found::Nanos(nanos), ColumnData::Duration(_)) => column.push_duration(Duration::from_nanos(nanos, ty.fsp())),
        _ => return Err(Error::Damaged("a value of another type than its column")),
    }
    Ok(())
}

/// The time of packed fields.
pub(crate) fn time(packed: u64, ty: &FieldType) -> Result<Time> {
    let kind = TimeKind::of(ty.tp).unwrap_or(TimeKind::DateTime);
    Time::from_packed(packed, kind, ty.fsp()).ok_or(Error::Damaged("a date with a field out of its range"))
}

/// Appends the rows of a chunk: of each, the columns at `outputs`, which are of `types`.
pub fn write_rows(out: &mut Vec<u8>, chunk: &Chunk, outputs: &[usize], types: &[FieldType]) {
    for row in chunk.iter() {
        for (&output, ty) in outputs.iter().zip(types) {
            write(out, row.get(output), ty);
        }
    }
}

/// The rows of an answer, each of columns of `types`.
pub fn read_rows(mut input: &[u8], types: &[FieldType]) -> Result<Chunk> {
    if types.is_empty() {
        return Err(Error::Damaged("rows without columns"));
    }
    let mut columns = types.iter().map(|ty| Column::for_type(ty, 0)).collect::<Vec<_>>();
    while !input.is_empty() {
        for (column, ty) in columns.iter_mut().zip(types) {
            read_into(&mut input, ty, column)?;
        }
    }
    Ok(Chunk::from_columns(columns))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use types::Datum;

    use super::*;

    fn types() -> Vec<FieldType> {
        vec![
            FieldType::bigint(),
            FieldType::unsigned_bigint(),
            FieldType::year(),
            FieldType::double(),
            FieldType::float(),
            FieldType::decimal(30, 4),
            FieldType::varchar(10),
            FieldType::datetime(3),
            FieldType::timestamp(0),
            FieldType::date(),
            FieldType::time(6),
        ]
    }

    fn row(seed: i64) -> Vec<Datum> {
        let packed = Time::date(2024, 2, 29).expect("a date").packed();
        let time = |ty: &FieldType| Datum::Time(time(packed, ty).expect("a date"));
        vec![
            Datum::Int(seed),
            Datum::UInt(seed as u64),
            Datum::Int(2000),
            Datum::Double(seed as f64 / 3.0),
            Datum::Float(seed as f32),
            Datum::Decimal(Decimal::from_unscaled(i128::from(seed), 4)),
            Datum::from(format!("text {seed}").as_str()),
            time(&FieldType::datetime(3)),
            time(&FieldType::timestamp(0)),
            time(&FieldType::date()),
            Datum::Duration(Duration::from_micros(seed % Duration::MAX_MICROS, 6)),
        ]
    }

    proptest! {
        #[test]
        fn rows_come_back(seeds in prop::collection::vec(any::<i64>(), 0..5), nulls: u16) {
            let types = types();
            let mut chunk = Chunk::new(&types, 0);
            for seed in seeds {
                let mut row = row(seed);
                for (at, value) in row.iter_mut().enumerate() {
                    if nulls >> at & 1 == 1 {
                        *value = Datum::Null;
                    }
                }
                chunk.push_row(&row);
            }
            let mut bytes = Vec::new();
            write_rows(&mut bytes, &chunk, &(0..types.len()).collect::<Vec<_>>(), &types);
            let back = read_rows(&bytes, &types).expect("own bytes");
            let rows = |chunk: &Chunk| chunk.iter().map(|row| row.to_datums()).collect::<Vec<_>>();
            prop_assert_eq!(rows(&back), rows(&chunk));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>, kind in 0u8..12) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            for ty in types() {
                let _ = read_rows(&bytes, std::slice::from_ref(&ty));
            }
        }
    }

    #[test]
    fn known_bytes_of_the_format() {
        let bytes = |value: Datum, ty: FieldType| {
            let mut out = Vec::new();
            write(&mut out, value.as_ref(), &ty);
            out
        };
        assert_eq!(bytes(Datum::Int(1), FieldType::bigint()), [3, 0x80, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bytes(Datum::Int(1), FieldType::unsigned_bigint()), [4, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bytes(Datum::from("ab"), FieldType::varchar(2)), [2, 4, b'a', b'b']);
        assert_eq!(bytes(Datum::Null, FieldType::varchar(2)), [0]);
        // Other stores write some integers with fewer bytes.
        let mut column = Column::for_type(&FieldType::bigint(), 1);
        read_into(&mut &[8, 3][..], &FieldType::bigint(), &mut column).expect("a small integer");
        assert_eq!(column.i64s(), [-2]);
    }
}

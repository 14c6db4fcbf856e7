//! Datums in keys: a flag and order-preserving bytes.
//!
//! Of text the key holds the collation's sort key, from which the text cannot be had back; of DECIMAL it holds the column's
//! precision and scale, so that all keys of a column compare. A descending column complements every byte, the flag's too: NULL then
//! comes last.

use codec::{bytes, flag, number};
use smallvec::SmallVec;

use super::{Form, damaged, damaged_decimal, form_of};
use crate::{
    column::Column,
    datum::{Datum, DatumRef},
    decimal::{self, Decimal},
    error::{Error, Result},
    field_type::FieldType,
    time::{Duration, Time, TimeKind},
};

/// Appends the key form of a datum of a column's type.
///
/// A value of another family than the column's has no key form; expressions convert before keys are built, so that is a bug and stops the caller.
#[inline]
pub fn encode_key_datum(out: &mut Vec<u8>, datum: DatumRef<'_>, ty: &FieldType, desc: bool) {
    let start = out.len();
    match (datum, form_of(ty)) {
        (DatumRef::Null, _) => out.push(flag::NULL),
        (DatumRef::Int(value), Form::Int) => encode_int(out, value),
        (DatumRef::UInt(value), Form::UInt) => encode_uint(out, value),
        (DatumRef::Bytes(value), Form::Bytes) => encode_string(out, value, ty),
        (DatumRef::Time(value), Form::Time) => encode_uint(out, value.packed()),
        (DatumRef::Duration(value), Form::Duration) => {
            out.push(flag::DURATION);
            number::encode_i64(out, value.nanos());
        }
        (DatumRef::Decimal(value), Form::Decimal) => encode_decimal(out, value, ty),
        (DatumRef::Double(value), Form::Double | Form::Float) => encode_float(out, value),
        (DatumRef::Float(value), Form::Double | Form::Float) => encode_float(out, f64::from(value)),
        (DatumRef::UInt(value), Form::Int) => encode_int(out, value as i64),
        (DatumRef::Int(value), Form::UInt) => encode_uint(out, value as u64),
        (DatumRef::Int(value), Form::Double | Form::Float) => encode_float(out, value as f64),
        (DatumRef::UInt(value), Form::Double | Form::Float) => encode_float(out, value as f64),
        (DatumRef::Int(value), Form::Decimal) => encode_decimal(out, &Decimal::from_i64(value), ty),
        (DatumRef::UInt(value), Form::Decimal) => encode_decimal(out, &Decimal::from_u64(value), ty),
        (value, _) => panic!("the value {value:?} has no key form as {}", ty.to_sql()),
    }
    if desc {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[inline]
fn encode_int(out: &mut Vec<u8>, value: i64) {
    out.push(flag::INT);
    number::encode_i64(out, value);
}

#[inline]
fn encode_uint(out: &mut Vec<u8>, value: u64) {
    out.push(flag::UINT);
    number::encode_u64(out, value);
}

#[inline]
fn encode_float(out: &mut Vec<u8>, value: f64) {
    out.push(flag::FLOAT);
    number::encode_f64(out, value);
}

fn encode_decimal(out: &mut Vec<u8>, value: &Decimal, ty: &FieldType) {
    out.push(flag::DECIMAL);
    let (precision, scale) = decimal_shape(ty);
    value.encode_binary(precision, scale, out);
}

/// Precision and scale of a DECIMAL column.
pub(super) fn decimal_shape(ty: &FieldType) -> (u8, u8) {
    let precision = if ty.flen > 0 { ty.flen.min(i32::from(decimal::MAX_PRECISION)) as u8 } else { decimal::MAX_PRECISION };
    let scale = ty.scale().unwrap_or(decimal::MAX_SCALE).min(decimal::MAX_SCALE).min(precision);
    (precision, scale)
}

#[inline]
fn encode_string(out: &mut Vec<u8>, value: &[u8], ty: &FieldType) {
    out.push(flag::BYTES);
    ty.collation.with_sort_key(value, |key| bytes::encode_bytes(out, key));
}

/// Length in bytes of the datum at the front of `input`, flag included.
#[inline]
pub fn skip_key_datum(input: &[u8], desc: bool) -> Result<usize> {
    let Some(&first) = input.first() else {
        return Err(codec::Error::Truncated { what: "key datum", needed: 1, left: 0 }.into());
    };
    let mask = if desc { 0xff } else { 0 };
    let len = match first ^ mask {
        flag::NULL => 1,
        flag::INT | flag::UINT | flag::FLOAT | flag::DURATION => 9,
        flag::BYTES if desc => 1 + skip_bytes_desc(&input[1..])?,
        flag::BYTES => 1 + bytes::skip_bytes(&input[1..])?,
        flag::DECIMAL => {
            let header = input.get(1..3).map_or([0; 2], |header| [header[0] ^ mask, header[1] ^ mask]);
            1 + decimal::decode_binary_len(&header)
                .map_err(|_| codec::Error::Malformed { what: "key datum", problem: "damaged decimal" })?
        }
        found => return Err(codec::Error::UnknownFlag { what: "flag of a key datum", found }.into()),
    };
    if input.len() < len {
        return Err(codec::Error::Truncated { what: "key datum", needed: len, left: input.len() }.into());
    }
    Ok(len)
}

fn skip_bytes_desc(input: &[u8]) -> Result<usize> {
    let groups = input.chunks_exact(9).position(|group| group[8] != 0);
    groups
        .map(|at| (at + 1) * 9)
        .ok_or_else(|| codec::Error::Truncated { what: "key datum", needed: input.len() + 1, left: input.len() }.into())
}

/// Takes the datum at the front of `input`. Of text the result is the sort key.
pub fn decode_key_datum(input: &mut &[u8], ty: &FieldType, desc: bool) -> Result<Datum> {
    let mut column = Column::for_type(ty, 1);
    decode_key_into(input, ty, desc, &mut column)?;
    Ok(column.datum(0))
}

/// Takes the datum at the front of `input` and appends it to a column of the type. Of text the result is the sort key. On an error the column is as it was.
#[inline]
pub fn decode_key_into(input: &mut &[u8], ty: &FieldType, desc: bool, column: &mut Column) -> Result<()> {
    if !desc {
        return decode_ascending(input, ty, column);
    }
    let len = skip_key_datum(input, true)?;
    let (head, rest) = input.split_at(len);
    let flipped: SmallVec<[u8; 64]> = head.iter().map(|byte| !byte).collect();
    decode_ascending(&mut &flipped[..], ty, column)?;
    *input = rest;
    Ok(())
}

#[inline]
fn decode_ascending(input: &mut &[u8], ty: &FieldType, column: &mut Column) -> Result<()> {
    let Some((&found, mut rest)) = input.split_first() else {
        return Err(codec::Error::Truncated { what: "key datum", needed: 1, left: 0 }.into());
    };
    match (found, form_of(ty)) {
        (flag::NULL, _) => column.push_null(),
        (flag::INT, Form::Int) => column.push_i64(number::decode_i64(&mut rest)?),
        // Handles of unsigned integer keys carry the signed flag in some writers' index entries.
        (flag::INT, Form::UInt) => column.push_u64(number::decode_i64(&mut rest)? as u64),
        (flag::UINT, Form::UInt) => column.push_u64(number::decode_u64(&mut rest)?),
        (flag::FLOAT, Form::Double) => column.push_f64(number::decode_f64(&mut rest)?),
        (flag::FLOAT, Form::Float) => column.push_f32(number::decode_f64(&mut rest)? as f32),
        (flag::DECIMAL, Form::Decimal) => {
            column.push_decimal(Decimal::decode_binary(&mut rest).map_err(|error| damaged_decimal(ty, error))?)
        }
        (flag::BYTES, Form::Bytes) => {
            let value = bytes::decode_bytes(&mut rest)?;
            column.push_bytes(&value);
        }
        (flag::UINT, Form::Time) => column.push_time(time_of(number::decode_u64(&mut rest)?, ty)?),
        (flag::DURATION, Form::Duration) => column.push_duration(Duration::from_nanos(number::decode_i64(&mut rest)?, ty.fsp())),
        (found, _) => return Err(Error::Codec(codec::Error::UnknownFlag { what: "flag of a key datum", found })),
    }
    *input = rest;
    Ok(())
}

/// The time of a column's packed bits.
#[inline]
pub(super) fn time_of(packed: u64, ty: &FieldType) -> Result<Time> {
    let kind = TimeKind::of(ty.tp).unwrap_or(TimeKind::DateTime);
    Time::from_packed(packed, kind, ty.fsp()).ok_or_else(|| damaged(ty, "a field of the date is out of its range"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::row::tests::any_typed_pair, *};
    use crate::collation::Collation;

    fn key(datum: &Datum, ty: &FieldType, desc: bool) -> Vec<u8> {
        let mut out = Vec::new();
        encode_key_datum(&mut out, datum.as_ref(), ty, desc);
        out
    }

    proptest! {
        #[test]
        fn keys_order_as_values_and_come_back((ty, a, b) in any_typed_pair(), desc: bool, tail: Vec<u8>) {
            let order = a.compare(&b, ty.collation);
            prop_assert_eq!(key(&a, &ty, desc).cmp(&key(&b, &ty, desc)), if desc { order.reverse() } else { order });
            let mut bytes = key(&a, &ty, desc);
            let len = bytes.len();
            bytes.extend_from_slice(&tail);
            prop_assert_eq!(skip_key_datum(&bytes, desc), Ok(len));
            let mut input = &bytes[..];
            let back = decode_key_datum(&mut input, &ty, desc).expect("own bytes");
            prop_assert_eq!(input, &tail[..]);
            if ty.collation == Collation::Binary {
                prop_assert_eq!(back.compare(&a, ty.collation), std::cmp::Ordering::Equal);
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic((ty, ..) in any_typed_pair(), mut input: Vec<u8>, desc: bool, kind in 0u8..12) {
            if let Some(first) = input.first_mut() {
                *first = if desc { !kind } else { kind };
            }
            let _ = decode_key_datum(&mut &input[..], &ty, desc);
            let _ = skip_key_datum(&input, desc);
        }
    }

    #[test]
    fn known_bytes_of_the_format() {
        assert_eq!(key(&Datum::Int(1), &FieldType::bigint(), false), [3, 0x80, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(key(&Datum::Null, &FieldType::bigint(), false), [0]);
        assert_eq!(key(&Datum::from("a"), &FieldType::varbinary(3), false), [1, b'a', 0, 0, 0, 0, 0, 0, 0, 0xf8]);
        let price = FieldType::decimal(4, 2);
        assert_eq!(key(&Datum::Decimal("12.34".parse().expect("valid")), &price, false), [6, 4, 2, 0x8c, 0x22]);
    }
}

//! Integers and floats.
//!
//! ```text
//! i64   big-endian with the sign bit flipped            memcomparable, 8 bytes
//! u64   big-endian                                      memcomparable, 8 bytes
//! f64   bits; negative: all flipped, else sign flipped  memcomparable, 8 bytes
//! *_desc the same bytes, all complemented
//! varint LEB128 of u64; i64 zig-zag                     not memcomparable, 1..=10 bytes
//! compact little-endian in 1, 2, 4 or 8 bytes           row cells only; the width is the cell's length
//! ```

use crate::error::{Error, Result, take_array};

const SIGN: u64 = 1 << 63;

/// Appends `value` so that bytes order as the integers do.
#[inline]
pub fn encode_i64(out: &mut Vec<u8>, value: i64) {
    encode_u64(out, value as u64 ^ SIGN);
}

/// Appends `value` so that bytes order opposite to the integers.
#[inline]
pub fn encode_i64_desc(out: &mut Vec<u8>, value: i64) {
    encode_u64(out, !(value as u64 ^ SIGN));
}

/// Appends `value` big-endian.
#[inline]
pub fn encode_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends `value` so that bytes order opposite to the integers.
#[inline]
pub fn encode_u64_desc(out: &mut Vec<u8>, value: u64) {
    encode_u64(out, !value);
}

/// Appends `value` so that bytes order as the numbers do; `-0.0` is written as `0.0`, for the two are equal in SQL.
#[inline]
pub fn encode_f64(out: &mut Vec<u8>, value: f64) {
    encode_u64(out, f64_to_ordered(value));
}

/// Appends `value` so that bytes order opposite to the numbers.
#[inline]
pub fn encode_f64_desc(out: &mut Vec<u8>, value: f64) {
    encode_u64(out, !f64_to_ordered(value));
}

/// The bits of `value`, changed so that they order as the numbers do.
#[inline]
fn f64_to_ordered(value: f64) -> u64 {
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

#[inline]
fn f64_from_ordered(bits: u64) -> f64 {
    f64::from_bits(if bits & SIGN != 0 { bits & !SIGN } else { !bits })
}

/// Takes what [`encode_i64`] wrote off the front of `input`.
#[inline]
pub fn decode_i64(input: &mut &[u8]) -> Result<i64> {
    Ok((decode_u64(input)? ^ SIGN) as i64)
}

/// Takes what [`encode_i64_desc`] wrote off the front of `input`.
#[inline]
pub fn decode_i64_desc(input: &mut &[u8]) -> Result<i64> {
    Ok((!decode_u64(input)? ^ SIGN) as i64)
}

/// Takes what [`encode_u64`] wrote off the front of `input`.
#[inline]
pub fn decode_u64(input: &mut &[u8]) -> Result<u64> {
    Ok(u64::from_be_bytes(take_array(input, "integer")?))
}

/// Takes what [`encode_u64_desc`] wrote off the front of `input`.
#[inline]
pub fn decode_u64_desc(input: &mut &[u8]) -> Result<u64> {
    Ok(!decode_u64(input)?)
}

/// Takes what [`encode_f64`] wrote off the front of `input`.
#[inline]
pub fn decode_f64(input: &mut &[u8]) -> Result<f64> {
    Ok(f64_from_ordered(decode_u64(input)?))
}

/// Takes what [`encode_f64_desc`] wrote off the front of `input`.
#[inline]
pub fn decode_f64_desc(input: &mut &[u8]) -> Result<f64> {
    Ok(f64_from_ordered(decode_u64_desc(input)?))
}

/// Appends `value` in seven-bit groups, lowest first.
pub fn encode_uvarint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` zig-zag, then as [`encode_uvarint`] does.
pub fn encode_varint(out: &mut Vec<u8>, value: i64) {
    encode_uvarint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Takes what [`encode_uvarint`] wrote off the front of `input`.
pub fn decode_uvarint(input: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for (i, &byte) in input.iter().enumerate().take(10) {
        if i == 9 && byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *input = &input[i + 1..];
            return Ok(value);
        }
    }
    if input.len() < 10 {
        return Err(Error::Truncated { what: "variable-width integer", needed: input.len() + 1, left: input.len() });
    }
    Err(Error::Malformed { what: "variable-width integer", problem: "longer than 64 bits" })
}

/// Takes what [`encode_varint`] wrote off the front of `input`.
pub fn decode_varint(input: &mut &[u8]) -> Result<i64> {
    let raw = decode_uvarint(input)?;
    Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
}

/// Appends `value` little-endian in the fewest of 1, 2, 4 or 8 bytes that hold it.
#[inline]
pub fn encode_compact_i64(out: &mut Vec<u8>, value: i64) {
    if let Ok(v) = i8::try_from(value) {
        out.push(v as u8);
    } else if let Ok(v) = i16::try_from(value) {
        out.extend_from_slice(&v.to_le_bytes());
    } else if let Ok(v) = i32::try_from(value) {
        out.extend_from_slice(&v.to_le_bytes());
    } else {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// Appends `value` little-endian in the fewest of 1, 2, 4 or 8 bytes that hold it.
#[inline]
pub fn encode_compact_u64(out: &mut Vec<u8>, value: u64) {
    if let Ok(v) = u8::try_from(value) {
        out.push(v);
    } else if let Ok(v) = u16::try_from(value) {
        out.extend_from_slice(&v.to_le_bytes());
    } else if let Ok(v) = u32::try_from(value) {
        out.extend_from_slice(&v.to_le_bytes());
    } else {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// Reads a whole cell that [`encode_compact_i64`] wrote.
#[inline]
pub fn decode_compact_i64(cell: &[u8]) -> Result<i64> {
    match *cell {
        [a] => Ok(i64::from(a as i8)),
        [a, b] => Ok(i64::from(i16::from_le_bytes([a, b]))),
        [a, b, c, d] => Ok(i64::from(i32::from_le_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Ok(i64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => Err(Error::Malformed { what: "integer cell", problem: "length is not 1, 2, 4 or 8" }),
    }
}

/// Reads a whole cell that [`encode_compact_u64`] wrote.
#[inline]
pub fn decode_compact_u64(cell: &[u8]) -> Result<u64> {
    match *cell {
        [a] => Ok(u64::from(a)),
        [a, b] => Ok(u64::from(u16::from_le_bytes([a, b]))),
        [a, b, c, d] => Ok(u64::from(u32::from_le_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Ok(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => Err(Error::Malformed { what: "integer cell", problem: "length is not 1, 2, 4 or 8" }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded<T>(value: T, encode: impl Fn(&mut Vec<u8>, T)) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out, value);
        out
    }

    proptest! {
        #[test]
        fn integers_order_and_come_back(a: i64, b: i64) {
            prop_assert_eq!(encoded(a, encode_i64).cmp(&encoded(b, encode_i64)), a.cmp(&b));
            prop_assert_eq!(encoded(a, encode_i64_desc).cmp(&encoded(b, encode_i64_desc)), b.cmp(&a));
            prop_assert_eq!(encoded(a as u64, encode_u64_desc).cmp(&encoded(b as u64, encode_u64_desc)), (b as u64).cmp(&(a as u64)));
            prop_assert_eq!(decode_i64(&mut &encoded(a, encode_i64)[..]), Ok(a));
            prop_assert_eq!(decode_i64_desc(&mut &encoded(a, encode_i64_desc)[..]), Ok(a));
            prop_assert_eq!(decode_u64(&mut &encoded(a as u64, encode_u64)[..]), Ok(a as u64));
            prop_assert_eq!(decode_u64_desc(&mut &encoded(a as u64, encode_u64_desc)[..]), Ok(a as u64));
            prop_assert_eq!(decode_compact_i64(&encoded(a, encode_compact_i64)), Ok(a));
            prop_assert_eq!(decode_compact_u64(&encoded(a as u64 >> (b as u64 % 64), encode_compact_u64)), Ok(a as u64 >> (b as u64 % 64)));
        }

        #[test]
        fn floats_order_and_come_back(a in prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL, b in prop::num::f64::ANY) {
            prop_assert_eq!(decode_f64(&mut &encoded(a, encode_f64)[..]), Ok(a));
            prop_assert_eq!(decode_f64_desc(&mut &encoded(a, encode_f64_desc)[..]), Ok(a));
            if let Some(order) = a.partial_cmp(&b) {
                prop_assert_eq!(encoded(a, encode_f64).cmp(&encoded(b, encode_f64)), order);
                prop_assert_eq!(encoded(a, encode_f64_desc).cmp(&encoded(b, encode_f64_desc)), order.reverse());
            }
        }

        #[test]
        fn varints_come_back(a: i64, shift in 0u32..64) {
            prop_assert_eq!(decode_varint(&mut &encoded(a >> shift, encode_varint)[..]), Ok(a >> shift));
            prop_assert_eq!(decode_uvarint(&mut &encoded(a as u64 >> shift, encode_uvarint)[..]), Ok(a as u64 >> shift));
        }

        #[test]
        fn any_bytes_are_read_without_panic(input: Vec<u8>) {
            let _ = decode_uvarint(&mut &input[..]);
            let _ = decode_f64(&mut &input[..]);
            let _ = decode_compact_i64(&input);
        }
    }

    #[test]
    fn known_bytes_of_the_format() {
        assert_eq!(encoded(1, encode_i64), [0x80, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(encoded(-1, encode_i64), [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(encoded(1.0, encode_f64), [0xbf, 0xf0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(encoded(300, encode_uvarint), [0xac, 0x02]);
        assert_eq!(encoded(-1, encode_varint), [0x01]);
        assert_eq!(encoded(128, encode_compact_i64), [0x80, 0]);
        assert_eq!(encoded(128, encode_compact_u64), [0x80]);
        assert!(decode_uvarint(&mut &[0xff; 10][..]).is_err());
    }
}

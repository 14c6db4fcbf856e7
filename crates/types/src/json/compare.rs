//! MySQL's order of JSON values, and the sort key that has the same order.
//!
//! Kinds come first, from the smallest: null, numbers, strings, objects, arrays, booleans, dates, times, datetimes, opaque values, bits, blobs.
//! Numbers of all types are compared as numbers. Arrays are compared element by element, of two that begin alike the shorter is smaller.
//! Objects are equal if all members are; which of two others is smaller is not defined by MySQL: here the one of fewer members, then the one of
//! the smaller first key, then of the smaller value.
//!
//! Source: MySQL 8.0 Reference Manual, 11.5 "Comparison and Ordering of JSON Values".

use std::cmp::Ordering;

use super::{JsonKind, JsonRef, MAX_DEPTH, binary::Scalar};
use crate::decimal::RoundMode;

/// A kind's place in the order.
fn rank(kind: JsonKind) -> u8 {
    match kind {
        JsonKind::Null => 1,
        JsonKind::Integer | JsonKind::UnsignedInteger | JsonKind::Double | JsonKind::Decimal => 2,
        JsonKind::String => 3,
        JsonKind::Object => 4,
        JsonKind::Array => 5,
        JsonKind::Boolean => 6,
        JsonKind::Date => 7,
        JsonKind::Time => 8,
        JsonKind::DateTime => 9,
        JsonKind::Opaque => 10,
        JsonKind::Bit => 11,
        JsonKind::Blob => 12,
    }
}

/// A number as double, and its integer part exactly, which orders integers that are one double.
fn number(scalar: &Scalar<'_>) -> (f64, i128) {
    match scalar {
        Scalar::Int(value) => (*value as f64, i128::from(*value)),
        Scalar::UInt(value) => (*value as f64, i128::from(*value)),
        Scalar::Double(value) => (*value + 0.0, *value as i128),
        Scalar::Decimal(value) => {
            (value.to_f64() + 0.0, value.round(0, RoundMode::Truncate).to_unscaled(0).unwrap_or(value.to_f64() as i128))
        }
        _ => (0.0, 0),
    }
}

impl JsonRef<'_> {
    /// Orders two values as MySQL does.
    pub fn compare(&self, other: &JsonRef<'_>) -> Ordering {
        compare(self, other, 1)
    }

    /// Appends bytes whose order is that of the values; equal values have the same.
    pub fn write_sort_key(&self, out: &mut Vec<u8>) {
        write_key(self, out, 1);
    }
}

fn compare(a: &JsonRef<'_>, b: &JsonRef<'_>, depth: usize) -> Ordering {
    let kinds = rank(a.kind()).cmp(&rank(b.kind()));
    if kinds.is_ne() || depth > MAX_DEPTH {
        return kinds;
    }
    match (a.scalar(), b.scalar()) {
        (Scalar::Null, _) => Ordering::Equal,
        (Scalar::String(x), Scalar::String(y)) => x.cmp(y),
        (Scalar::Bool(x), Scalar::Bool(y)) => x.cmp(&y),
        (Scalar::Time(x), Scalar::Time(y)) => x.packed().cmp(&y.packed()),
        (Scalar::Duration(x), Scalar::Duration(y)) => x.micros().cmp(&y.micros()),
        (Scalar::Opaque(x, left), Scalar::Opaque(y, right)) => x.cmp(&y).then_with(|| left.cmp(right)),
        (Scalar::Array, Scalar::Array) => {
            let pairs = a.elements().zip(b.elements());
            let differs = pairs.map(|(x, y)| compare(&x, &y, depth + 1)).find(|order| order.is_ne());
            differs.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Scalar::Object, Scalar::Object) => a.len().cmp(&b.len()).then_with(|| {
            let (x, y) = (a.members(), b.members());
            let mut pairs = x.iter().zip(&y);
            let member = |((k, v), (l, w)): (&(&str, JsonRef<'_>), &(&str, JsonRef<'_>))| k.cmp(l).then_with(|| compare(v, w, depth + 1));
            pairs.by_ref().map(member).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        }),
        (x, y) => {
            let ((x, exact_x), (y, exact_y)) = (number(&x), number(&y));
            x.total_cmp(&y).then_with(|| exact_x.cmp(&exact_y))
        }
    }
}

/// What follows in an array or object.
const MORE: u8 = 1;
const END: u8 = 0;

fn write_key(json: &JsonRef<'_>, out: &mut Vec<u8>, depth: usize) {
    out.push(rank(json.kind()));
    if depth > MAX_DEPTH {
        return;
    }
    match json.scalar() {
        Scalar::Null => {}
        Scalar::Bool(value) => out.push(u8::from(value)),
        Scalar::String(text) => codec::bytes::encode_bytes(out, text.as_bytes()),
        Scalar::Time(value) => codec::number::encode_u64(out, value.packed()),
        Scalar::Duration(value) => codec::number::encode_i64(out, value.micros()),
        Scalar::Opaque(mysql_type, bytes) => {
            out.push(mysql_type);
            codec::bytes::encode_bytes(out, bytes);
        }
        Scalar::Array => {
            for item in json.elements() {
                out.push(MORE);
                write_key(&item, out, depth + 1);
            }
            out.push(END);
        }
        Scalar::Object => {
            out.extend_from_slice(&(json.len() as u32).to_be_bytes());
            for (key, value) in json.members() {
                codec::bytes::encode_bytes(out, key.as_bytes());
                write_key(&value, out, depth + 1);
            }
        }
        scalar => {
            let (double, exact) = number(&scalar);
            codec::number::encode_f64(out, double);
            // The sign bit flipped, so that the bytes have the order of the numbers.
            out.extend_from_slice(&((exact as u128) ^ (1 << 127)).to_be_bytes());
        }
    }
}

//! Sort keys and group keys: rows as byte strings that compare as the rows do.
//!
//! ```text
//!   cell   00                      NULL: first
//!          01 {value}              integers, reals, times: eight bytes, order-preserving
//!                                  strings in sort keys: the collation's sort key, escaped so that no cell is a prefix of another
//!                                  strings in group keys: length and equality key
//!   desc   every byte of the cell inverted
//! ```
//!
//! A collation is applied once per row instead of once per comparison, and sorting, merging, top-n and grouping all become `memcmp`.
//!
//! Invariants
//! - Equal values have equal keys: -0.0 and 0.0, 1.0 and 1.00, 'a' and 'A' under a case-insensitive collation.
//! - A group key is equal for a signed and an unsigned integer of equal value, so that joins may mix them; sort keys are only
//!   compared within one column.

use codec::{bytes::encode_bytes, number};
use types::{Chunk, Collation, Column, DatumRef, Decimal, FieldType};

use crate::plan::SortKey;
use crate::{Error, Result};

const NULL: u8 = 0;
const VALUE: u8 = 1;
const NEGATIVE: u8 = 0;
const ZERO: u8 = 1;
const POSITIVE: u8 = 2;

/// Byte-string keys of consecutive rows, in one buffer.
#[derive(Clone, Debug, Default)]
pub struct KeyRows {
    data: Vec<u8>,
    ends: Vec<u32>,
}

impl KeyRows {
    /// Forgets all keys, keeps the buffers.
    pub fn clear(&mut self) {
        self.data.clear();
        self.ends.clear();
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The key of a row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.data[start..self.ends[row] as usize]
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.data.capacity() + self.ends.capacity() * 4
    }

    /// Appends one key, as `write` writes it.
    #[inline]
    pub fn push_with<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let result = write(&mut self.data);
        assert!(self.data.len() <= u32::MAX as usize, "the keys of one batch stay below 4 GiB");
        self.ends.push(self.data.len() as u32);
        result
    }
}

/// Of a string in a leading key, the bytes that are kept: they tell most strings apart.
const LEADING_BYTES: usize = 16;

/// About how long a sort key is beside its text; rather too much, for memory is reserved by it.
const KEY_BYTES_PER_BYTE: usize = 2;

/// Evaluates the keys of an order over a chunk and appends every row's sort key to `out`.
pub fn push_sort_keys(by: &[SortKey], ctx: &expr::EvalCtx, chunk: &Chunk, out: &mut KeyRows) -> Result<()> {
    push_keys(by, ctx, chunk, None, out).map(|_| ())
}

/// [`push_sort_keys`], but of a string that stands last in the order only the beginning is written: leading keys that differ are in the order
/// of their rows. Answers about how many bytes more whole keys would take; with none, rows of equal leading keys are equal.
pub fn push_leading_keys(by: &[SortKey], ctx: &expr::EvalCtx, chunk: &Chunk, out: &mut KeyRows) -> Result<usize> {
    push_keys(by, ctx, chunk, Some(LEADING_BYTES), out)
}

fn push_keys(by: &[SortKey], ctx: &expr::EvalCtx, chunk: &Chunk, limit: Option<usize>, out: &mut KeyRows) -> Result<usize> {
    let columns = by.iter().map(|key| Ok(key.expr.eval_vector(ctx, chunk)?)).collect::<Result<Vec<_>>>()?;
    let mut cut_bytes = 0;
    for row in 0..chunk.rows() {
        out.push_with(|data| {
            for (at, (key, column)) in by.iter().zip(&columns).enumerate() {
                let collation = key.expr.field_type().collation;
                match column.get(row) {
                    // Nothing follows, and a prefix is smaller: no escape is needed.
                    DatumRef::Bytes(text) if at + 1 == by.len() && !key.desc => {
                        data.push(VALUE);
                        match limit {
                            None => collation.sort_key(text, data),
                            Some(limit) if collation.leading_sort_key(text, limit, data) => cut_bytes += text.len() * KEY_BYTES_PER_BYTE,
                            Some(_) => {}
                        }
                    }
                    value => push_sort_cell(data, value, collation, key.desc),
                }
            }
        });
    }
    Ok(cut_bytes)
}

/// Appends the sort form of one value.
#[inline]
pub fn push_sort_cell(out: &mut Vec<u8>, value: DatumRef<'_>, collation: Collation, desc: bool) {
    let start = out.len();
    push_cell(out, value, collation);
    if desc {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Appends the group form of a row of columns. Answers whether a value was NULL.
#[inline]
pub fn push_group_key(out: &mut Vec<u8>, columns: &[Column], types: &[FieldType], row: usize) -> bool {
    let mut has_null = false;
    for (column, ty) in columns.iter().zip(types) {
        let value = column.datum_ref(row);
        match value {
            DatumRef::Null => has_null = true,
            DatumRef::UInt(value) if value > i64::MAX as u64 => {
                // Beyond every signed value, so it gets a tag of its own.
                out.push(VALUE + 1);
                number::encode_u64(out, value);
                continue;
            }
            DatumRef::UInt(value) => {
                push_cell(out, DatumRef::Int(value as i64), ty.collation);
                continue;
            }
            DatumRef::Bytes(text) => {
                out.push(VALUE);
                let start = out.len();
                out.extend_from_slice(&[0; 4]);
                ty.collation.equality_key(text, out);
                let len = (out.len() - start) as u32;
                out[start..start + 4].copy_from_slice(&len.to_le_bytes());
                continue;
            }
            _ => {}
        }
        push_cell(out, value, ty.collation);
    }
    has_null
}

#[inline]
fn push_cell(out: &mut Vec<u8>, value: DatumRef<'_>, collation: Collation) {
    if let DatumRef::Null = value {
        out.push(NULL);
        return;
    }
    out.push(VALUE);
    match value {
        DatumRef::Null => {}
        DatumRef::Int(value) => number::encode_i64(out, value),
        DatumRef::UInt(value) => number::encode_u64(out, value),
        DatumRef::Float(value) => push_real(out, f64::from(value)),
        DatumRef::Double(value) => push_real(out, value),
        DatumRef::Decimal(value) => push_decimal(out, value),
        DatumRef::Bytes(value) => push_string(out, value, collation),
        DatumRef::Time(value) => number::encode_u64(out, value.packed()),
        DatumRef::Duration(value) => number::encode_i64(out, value.micros()),
        DatumRef::Json(value) => types::JsonRef::new(value).write_sort_key(out),
    }
}

#[inline]
fn push_real(out: &mut Vec<u8>, value: f64) {
    // -0.0 + 0.0 is 0.0: both zeros get one key.
    number::encode_f64(out, value + 0.0);
}

fn push_string(out: &mut Vec<u8>, text: &[u8], collation: Collation) {
    if collation.sort_key_is_identity() {
        return encode_bytes(out, text);
    }
    let start = out.len();
    collation.sort_key(text, out);
    let key = out.split_off(start);
    encode_bytes(out, &key);
}

/// `{sign}{integer digits}{digits}{fraction digits without trailing zeros}{0}`, inverted for negative numbers.
fn push_decimal(out: &mut Vec<u8>, value: &Decimal) {
    let from = out.len();
    value.write_text(out);
    let mut text = [0u8; 96];
    let len = out.len() - from;
    // 65 digits, a sign and a point always fit.
    text[..len].copy_from_slice(&out[from..]);
    out.truncate(from);
    let text = &text[..len];
    let (negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, text),
    };
    let (integer, fraction) = match digits.iter().position(|byte| *byte == b'.') {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &[][..]),
    };
    let integer = &integer[integer.iter().take_while(|digit| **digit == b'0').count()..];
    let fraction = &fraction[..fraction.len() - fraction.iter().rev().take_while(|digit| **digit == b'0').count()];
    if integer.is_empty() && fraction.is_empty() {
        out.push(ZERO);
        return;
    }
    let start = out.len() + 1;
    out.push(if negative { NEGATIVE } else { POSITIVE });
    out.push(integer.len() as u8);
    out.extend_from_slice(integer);
    out.extend_from_slice(fraction);
    out.push(0);
    if negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// The types of expressions, as the key functions take them.
pub fn expr_types(exprs: &[expr::Expr]) -> Vec<FieldType> {
    exprs.iter().map(|expr| expr.field_type().clone()).collect()
}

/// A chunk of whole columns; without columns, of `rows` rows.
pub fn chunk_of(columns: Vec<Column>, rows: usize) -> Chunk {
    if columns.is_empty() { Chunk::without_columns(rows) } else { Chunk::from_columns(columns) }
}

/// Evaluates expressions over a chunk, one column each.
pub fn eval_columns(exprs: &[expr::Expr], ctx: &expr::EvalCtx, chunk: &Chunk) -> Result<Vec<Column>, Error> {
    exprs.iter().map(|expr| Ok(expr.eval_chunk(ctx, chunk)?)).collect()
}

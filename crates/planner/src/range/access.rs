//! Conditions on key columns in a form that can be evaluated to intervals for each execution.

use expr::{EvalCtx, Expr};
use types::{Datum, FieldType};

use super::{
    fit::{Fit, fit},
    interval::{Bound, IntervalSet},
};
use crate::error::Result;

/// A comparison of a key column with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// A condition on one key column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnCondition {
    Compare(Comparison, Expr),
    /// `<=>`.
    NullSafeEq(Expr),
    In(Vec<Expr>),
    IsNull,
    NotNull,
    /// `LIKE pattern`: the values that begin as the pattern begins.
    Like {
        pattern: Expr,
        escape: Option<char>,
    },
    And(Vec<ColumnCondition>),
    Or(Vec<ColumnCondition>),
}

/// How a key column is encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnKey<'a> {
    pub ty: &'a FieldType,
    pub prefix_len: Option<u32>,
}

impl ColumnCondition {
    /// Whether the condition leaves single values only, so that the next key column's condition can narrow the ranges further.
    pub fn is_points(&self) -> bool {
        match self {
            Self::Compare(Comparison::Eq, _) | Self::NullSafeEq(_) | Self::In(_) | Self::IsNull => true,
            Self::Compare(..) | Self::NotNull | Self::Like { .. } => false,
            Self::And(parts) => parts.iter().any(Self::is_points),
            Self::Or(parts) => parts.iter().all(Self::is_points),
        }
    }

    /// At most how many values `is_points` leaves.
    pub fn point_count(&self) -> usize {
        match self {
            Self::In(list) => list.len(),
            Self::And(parts) => parts.iter().filter(|part| part.is_points()).map(Self::point_count).min().unwrap_or(usize::MAX),
            Self::Or(parts) => parts.iter().map(Self::point_count).sum(),
            _ => 1,
        }
    }

    /// The values for which the condition may be true, in the column's ascending encoding.
    pub fn evaluate(&self, ctx: &EvalCtx, column: ColumnKey<'_>) -> Result<IntervalSet> {
        Ok(match self {
            Self::Compare(comparison, value) => compare(*comparison, &value.eval_const(ctx)?, column),
            Self::NullSafeEq(value) => match value.eval_const(ctx)? {
                Datum::Null => IntervalSet::null(),
                value => compare(Comparison::Eq, &value, column),
            },
            Self::In(list) => {
                let mut sets = Vec::with_capacity(list.len());
                for value in list {
                    sets.push(compare(Comparison::Eq, &value.eval_const(ctx)?, column));
                }
                IntervalSet::union_all(sets)
            }
            Self::IsNull => IntervalSet::null(),
            Self::NotNull => IntervalSet::not_null(),
            Self::Like { pattern, escape } => like(&pattern.eval_const(ctx)?, *escape, column),
            Self::And(parts) => {
                let mut set = IntervalSet::all();
                for part in parts {
                    set = set.intersect(&part.evaluate(ctx, column)?);
                }
                set
            }
            Self::Or(parts) => {
                let sets = parts.iter().map(|part| part.evaluate(ctx, column)).collect::<Result<Vec<_>>>()?;
                IntervalSet::union_all(sets)
            }
        })
    }
}

fn compare(comparison: Comparison, value: &Datum, column: ColumnKey<'_>) -> IntervalSet {
    use Comparison as C;
    let low = || Bound::after([codec::flag::NULL]);
    let high = || Bound::before([0xff]);
    let (place, exact) = match fit(value, column.ty) {
        Fit::Exact(value) => (value, true),
        Fit::After(value) => (value, false),
        Fit::Null => return IntervalSet::empty(),
        Fit::Unknown => return IntervalSet::not_null(),
        Fit::BelowAll => {
            return if matches!(comparison, C::Gt | C::Ge | C::Ne) { IntervalSet::not_null() } else { IntervalSet::empty() };
        }
        Fit::AboveAll => {
            return if matches!(comparison, C::Lt | C::Le | C::Ne) { IntervalSet::not_null() } else { IntervalSet::empty() };
        }
    };
    let (encoded, cut) = encode(&place, column);
    // Behind a cut prefix there may be values on either side of the constant: all of them stay.
    match (comparison, exact) {
        (C::Eq, true) => IntervalSet::point(encoded),
        (C::Eq, false) => IntervalSet::empty(),
        (C::Ne, true) if !cut && column.prefix_len.is_none() => {
            let below = IntervalSet::between(low(), Bound::before(encoded.clone()));
            below.union(IntervalSet::between(Bound::after(encoded), high()))
        }
        (C::Ne, _) => IntervalSet::not_null(),
        (C::Lt, true) if column.prefix_len.is_none() => IntervalSet::between(low(), Bound::before(encoded)),
        (C::Lt | C::Le, _) => IntervalSet::between(low(), Bound::after(encoded)),
        (C::Gt, _) if column.prefix_len.is_none() => IntervalSet::between(Bound::after(encoded), high()),
        (C::Ge, false) if column.prefix_len.is_none() => IntervalSet::between(Bound::after(encoded), high()),
        (C::Gt | C::Ge, _) => IntervalSet::between(Bound::before(encoded), high()),
    }
}

/// The ascending key encoding of a column's value, and whether only a prefix of it is in the key.
pub(crate) fn encode(value: &Datum, column: ColumnKey<'_>) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity(16);
    if let (Some(chars), Datum::Bytes(text)) = (column.prefix_len, value) {
        let len = column.ty.charset.prefix_len(text, chars as usize);
        types::value::encode_key_datum(&mut out, types::DatumRef::Bytes(&text[..len]), column.ty, false);
        return (out, len < text.len());
    }
    types::value::encode_key_datum(&mut out, value.as_ref(), column.ty, false);
    (out, false)
}

/// The values that begin as a LIKE pattern begins. Always a superset: the pattern itself is checked again.
fn like(pattern: &Datum, escape: Option<char>, column: ColumnKey<'_>) -> IntervalSet {
    let Datum::Bytes(pattern) = pattern else { return IntervalSet::empty() };
    let mut literal = literal_prefix(pattern, escape);
    if !column.ty.collation.is_bin() {
        // Beyond ASCII, characters may combine with or move before their neighbours, so a prefix of the text has no prefix of its key.
        literal.truncate(literal.iter().position(|byte| !byte.is_ascii()).unwrap_or(literal.len()));
    }
    let literal = match column.prefix_len {
        Some(chars) => &literal[..column.ty.charset.prefix_len(&literal, chars as usize)],
        None => &literal[..],
    };
    let mut low = vec![];
    column.ty.collation.sort_key(literal, &mut low);
    if low.is_empty() {
        return IntervalSet::not_null();
    }
    let high = base::prefix_end(&low);
    let encoded = |key: &[u8]| {
        let mut out = vec![codec::flag::BYTES];
        codec::bytes::encode_bytes(&mut out, key);
        out
    };
    let end = if high.is_empty() { Bound::before([0xff]) } else { Bound::before(encoded(&high)) };
    IntervalSet::between(Bound::before(encoded(&low)), end)
}

/// What stands before the first wildcard, escapes resolved.
pub(crate) fn literal_prefix(pattern: &[u8], escape: Option<char>) -> Vec<u8> {
    let text = String::from_utf8_lossy(pattern);
    let mut prefix = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            _ if Some(character) == escape => prefix.push(characters.next().unwrap_or(character)),
            '%' | '_' => break,
            _ => prefix.push(character),
        }
    }
    prefix.into_bytes()
}

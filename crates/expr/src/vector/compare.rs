//! Kernels of comparisons, IS NULL, IN and LIKE. Results are columns of 0 and 1.

use std::cmp::Ordering;

use types::{Bitmap, Chunk, Column, ColumnData, Datum, DatumRef, Decimal, Duration, Time};

use super::{Native, Values, Vector, merged_nulls, nulls_of, zip};
use crate::context::EvalCtx;
use crate::error::Result;
use crate::expr::{Call, CallData};
use crate::op::Op;
use crate::ops::compare::{doubles, holds, signed_unsigned};
use crate::ops::in_list;
use crate::ops::like::Pattern;

/// Calls `$f(a, b, cmp)` with the first native type that both vectors hold.
macro_rules! by_native {
    ($a:expr, $b:expr, $f:ident) => {
        if let (Some(x), Some(y)) = ($a.values::<i64>(), $b.values::<i64>()) {
            Some($f!(x, y, |p: i64, q: i64| p.cmp(&q)))
        } else if let (Some(x), Some(y)) = ($a.values::<u64>(), $b.values::<u64>()) {
            Some($f!(x, y, |p: u64, q: u64| p.cmp(&q)))
        } else if let (Some(x), Some(y)) = ($a.values::<i64>(), $b.values::<u64>()) {
            Some($f!(x, y, |p: i64, q: u64| signed_unsigned(p, q)))
        } else if let (Some(x), Some(y)) = ($a.values::<u64>(), $b.values::<i64>()) {
            Some($f!(x, y, |p: u64, q: i64| signed_unsigned(q, p).reverse()))
        } else if let (Some(x), Some(y)) = ($a.values::<f64>(), $b.values::<f64>()) {
            Some($f!(x, y, |p: f64, q: f64| doubles(p, q)))
        } else if let (Some(x), Some(y)) = ($a.values::<Decimal>(), $b.values::<Decimal>()) {
            Some($f!(x, y, |p: Decimal, q: Decimal| p.cmp(&q)))
        } else if let (Some(x), Some(y)) = ($a.values::<Time>(), $b.values::<Time>()) {
            Some($f!(x, y, |p: Time, q: Time| p.cmp(&q)))
        } else if let (Some(x), Some(y)) = ($a.values::<Duration>(), $b.values::<Duration>()) {
            Some($f!(x, y, |p: Duration, q: Duration| p.cmp(&q)))
        } else {
            None
        }
    };
}
pub(super) use by_native;

/// Calls the loop with the comparison as a closure of its own for each operator, so that it is compiled in.
#[inline]
fn ordered<A: Copy, B: Copy>(op: Op, a: Values<'_, A>, b: Values<'_, B>, rows: usize, cmp: impl Fn(A, B) -> Ordering + Copy) -> Vec<i64> {
    match op {
        Op::Eq | Op::NullEq => zip(a, b, rows, |x, y| i64::from(cmp(x, y).is_eq())),
        Op::Ne => zip(a, b, rows, |x, y| i64::from(cmp(x, y).is_ne())),
        Op::Lt => zip(a, b, rows, |x, y| i64::from(cmp(x, y).is_lt())),
        Op::Le => zip(a, b, rows, |x, y| i64::from(cmp(x, y).is_le())),
        Op::Gt => zip(a, b, rows, |x, y| i64::from(cmp(x, y).is_gt())),
        _ => zip(a, b, rows, |x, y| i64::from(cmp(x, y).is_ge())),
    }
}

/// A comparison of two vectors of the same class.
pub(super) fn compare(op: Op, call: &Call, a: &Vector<'_>, b: &Vector<'_>, rows: usize) -> Option<Column> {
    macro_rules! run {
        ($x:expr, $y:expr, $cmp:expr) => {
            ordered(op, $x, $y, rows, $cmp)
        };
    }
    let out = match by_native!(a, b, run) {
        Some(out) => out,
        None => strings(op, call, a, b, rows)?,
    };
    if op == Op::NullEq && (a.has_nulls() || b.has_nulls()) {
        let fixed = out.into_iter().enumerate().map(|(row, equal)| match (a.is_null(row), b.is_null(row)) {
            (false, false) => equal,
            (x, y) => i64::from(x && y),
        });
        return Some(i64::column(fixed.collect(), Bitmap::zeros(rows)));
    }
    Some(i64::column(out, merged_nulls(a, b, rows)))
}

/// The bytes of a vector of strings.
pub(super) enum Texts<'v> {
    One(&'v [u8]),
    Many(&'v Column),
}

impl<'v> Texts<'v> {
    pub(super) fn of(v: &'v Vector<'_>) -> Option<Texts<'v>> {
        match v.column() {
            Some(column) => matches!(column.data(), ColumnData::Bytes { .. }).then_some(Texts::Many(column)),
            None => match v.constant()? {
                Datum::Bytes(text) => Some(Texts::One(text)),
                Datum::Null => Some(Texts::One(b"")),
                _ => None,
            },
        }
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> &'v [u8] {
        match self {
            Texts::One(text) => text,
            Texts::Many(column) => match column.datum_ref(row) {
                DatumRef::Bytes(text) => text,
                _ => b"",
            },
        }
    }
}

fn strings(op: Op, call: &Call, a: &Vector<'_>, b: &Vector<'_>, rows: usize) -> Option<Vec<i64>> {
    let (x, y) = (Texts::of(a)?, Texts::of(b)?);
    let collation = call.collation;
    if matches!(op, Op::Eq | Op::NullEq | Op::Ne) && collation.sort_key_is_identity() {
        let wanted = op != Op::Ne;
        return Some((0..rows).map(|row| i64::from((x.get(row) == y.get(row)) == wanted)).collect());
    }
    Some((0..rows).map(|row| i64::from(holds(op, collation.compare(x.get(row), y.get(row))))).collect())
}

/// IS NULL of a vector.
pub(super) fn is_null(a: &Vector<'_>, rows: usize) -> Column {
    i64::column((0..rows).map(|row| i64::from(a.is_null(row))).collect(), Bitmap::zeros(rows))
}

/// LIKE: a constant pattern is analysed once.
pub(super) fn like(call: &Call, escape: Option<char>, a: &Vector<'_>, b: &Vector<'_>, rows: usize) -> Option<Column> {
    let (x, y) = (Texts::of(a)?, Texts::of(b)?);
    let out = match y {
        Texts::One(pattern) => {
            let pattern = Pattern::new(pattern, escape, call.collation);
            (0..rows).map(|row| i64::from(pattern.is_match(x.get(row)))).collect()
        }
        Texts::Many(_) => {
            (0..rows).map(|row| i64::from(crate::ops::like::matches(x.get(row), y.get(row), escape, call.collation))).collect()
        }
    };
    Some(i64::column(out, merged_nulls(a, b, rows)))
}

/// IN: by hash set, or by comparing with every constant member; a list with other members goes row by row.
pub(super) fn in_list<'a>(call: &'a Call, ctx: &'a EvalCtx, chunk: &'a Chunk) -> Result<Vector<'a>> {
    let rows = chunk.rows();
    let set = match &call.data {
        CallData::InSet(set) => Some(set),
        _ => None,
    };
    if set.is_none() && !call.args[1..].iter().all(crate::Expr::is_constant) {
        let mut column = Column::for_type(&call.ty, rows);
        for row in 0..rows {
            column.push(&in_list::eval_row(call, ctx, chunk.row(row))?);
        }
        return Ok(Vector::Owned(column));
    }
    let subject = call.args[0].eval_vector(ctx, chunk)?;
    let answers = match set {
        Some(set) => (0..rows).map(|row| if subject.is_null(row) { None } else { set.contains(subject.get(row)) }).collect(),
        None => {
            let members = call.args[1..].iter().map(|m| m.eval_const(ctx)).collect::<Result<Vec<_>>>()?;
            members_of(&subject, &members, call, rows)
        }
    };
    Ok(Vector::Owned(super::logic::column_of(answers)))
}

fn members_of(subject: &Vector<'_>, members: &[Datum], call: &Call, rows: usize) -> Vec<Option<bool>> {
    let has_null = members.iter().any(Datum::is_null);
    let missing = (!has_null).then_some(false);
    if let Some(values) = subject.values::<i64>() {
        let ints: Option<Vec<i64>> = members.iter().filter(|m| !m.is_null()).map(|m| m.as_ref()).filter_map(signed_member).collect();
        if let Some(ints) = ints {
            let nulls = nulls_of(subject, rows);
            return (0..rows)
                .map(|row| {
                    if nulls.get(row) {
                        None
                    } else if ints.contains(&values.get(row)) {
                        Some(true)
                    } else {
                        missing
                    }
                })
                .collect();
        }
    }
    (0..rows)
        .map(|row| {
            let value = subject.get(row);
            if matches!(value, DatumRef::Null) {
                return None;
            }
            let found = members.iter().any(|m| !m.is_null() && value.compare(m.as_ref(), call.collation).is_eq());
            if found { Some(true) } else { missing }
        })
        .collect()
}

/// A member of a list that signed integers are looked up in: `Some(None)` if it is no integer, nothing if none can equal it.
fn signed_member(member: DatumRef<'_>) -> Option<Option<i64>> {
    match member {
        DatumRef::Int(v) => Some(Some(v)),
        DatumRef::UInt(v) => i64::try_from(v).ok().map(Some),
        _ => Some(None),
    }
}

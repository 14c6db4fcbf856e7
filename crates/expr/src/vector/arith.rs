//! Kernels of arithmetic, bit operators and numeric casts.
//!
//! A kernel that meets an overflow returns without a result; the row loop then finds the first failing row and its error.

use types::{Bitmap, Column, Decimal, EvalType, FieldType};

use super::{Native, Values, Vector, merged_nulls, nulls_of, zip};
use crate::context::EvalCtx;
use crate::error::Result;
use crate::expr::Call;
use crate::op::Op;
use crate::ops::bits;

/// The column of an arithmetic or bit operator, or `None` if the row loop must compute it.
pub(super) fn eval(
    op: Op,
    class: EvalType,
    call: &Call,
    ctx: &EvalCtx,
    a: &Vector<'_>,
    b: &Vector<'_>,
    rows: usize,
) -> Result<Option<Column>> {
    match (op, class) {
        (Op::BitAnd | Op::BitOr | Op::BitXor | Op::Shl | Op::Shr | Op::BitNeg, EvalType::Int) => Ok(bit_words(op, a, b, rows)),
        (Op::Neg, EvalType::Real) => Ok(a.values::<f64>().map(|v| unary(v, a, rows, |x| -x))),
        (Op::Neg, EvalType::Decimal) => Ok(a.values::<Decimal>().map(|v| unary(v, a, rows, |x: Decimal| x.neg()))),
        (Op::Add | Op::Sub | Op::Mul | Op::IntDiv | Op::Mod, EvalType::Int) => ints(op, call, ctx, a, b, rows),
        (Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Mod, EvalType::Real) => reals(op, ctx, a, b, rows),
        (Op::Add | Op::Sub | Op::Mul | Op::Div, EvalType::Decimal) => decimals(op, ctx, a, b, rows),
        _ => Ok(None),
    }
}

fn unary<T: Native, R: Native>(values: Values<'_, T>, a: &Vector<'_>, rows: usize, f: impl Fn(T) -> R) -> Column {
    let out = match values {
        Values::Many(values) => values.iter().map(|v| f(*v)).collect(),
        Values::One(value) => vec![f(value); rows],
    };
    R::column(out, nulls_of(a, rows))
}

/// Runs `f` on pairs; a failure on a pair that is not NULL gives the work back to the row loop.
fn checked<A: Copy, B: Copy, R: Native>(
    a: Values<'_, A>,
    b: Values<'_, B>,
    nulls: Bitmap,
    rows: usize,
    zero: R,
    f: impl Fn(A, B) -> Option<R>,
) -> Option<Column> {
    let mut failed = false;
    let out = zip(a, b, rows, |x, y| match f(x, y) {
        Some(v) => v,
        None => {
            failed = true;
            zero
        }
    });
    if failed {
        // It may have failed only where NULL makes it meaningless.
        let real = (0..rows).any(|row| !nulls.get(row) && f(a.get(row), b.get(row)).is_none());
        if real {
            return None;
        }
    }
    Some(R::column(out, nulls))
}

fn ints(op: Op, call: &Call, ctx: &EvalCtx, a: &Vector<'_>, b: &Vector<'_>, rows: usize) -> Result<Option<Column>> {
    let mut nulls = merged_nulls(a, b, rows);
    if matches!(op, Op::IntDiv | Op::Mod) {
        zero_divisors(&mut nulls, b, ctx, rows)?;
    }
    if let (Some(x), Some(y), false) = (a.values::<i64>(), b.values::<i64>(), call.ty.unsigned) {
        let f: fn(i64, i64) -> Option<i64> = match op {
            Op::Add => return Ok(checked(x, y, nulls, rows, 0, i64::checked_add)),
            Op::Sub => return Ok(checked(x, y, nulls, rows, 0, i64::checked_sub)),
            Op::Mul => return Ok(checked(x, y, nulls, rows, 0, i64::checked_mul)),
            Op::IntDiv => i64::checked_div,
            _ => |x, y| if y == 0 { None } else { Some(x.wrapping_rem(y)) },
        };
        return Ok(checked(x, y, nulls, rows, 0, f));
    }
    if let (Some(x), Some(y), true) = (a.values::<u64>(), b.values::<u64>(), call.ty.unsigned) {
        let f: fn(u64, u64) -> Option<u64> = match op {
            Op::Add => return Ok(checked(x, y, nulls, rows, 0, u64::checked_add)),
            Op::Sub => return Ok(checked(x, y, nulls, rows, 0, u64::checked_sub)),
            Op::Mul => return Ok(checked(x, y, nulls, rows, 0, u64::checked_mul)),
            Op::IntDiv => u64::checked_div,
            _ => u64::checked_rem,
        };
        return Ok(checked(x, y, nulls, rows, 0, f));
    }
    // Division marks its zero divisors above; the row loop would warn of them again.
    if matches!(op, Op::IntDiv | Op::Mod) {
        return Ok(mixed_division(op, call.ty.unsigned, a, b, nulls, rows));
    }
    Ok(None)
}

fn wide(v: &Vector<'_>, row: usize) -> i128 {
    match v.get(row) {
        types::DatumRef::Int(v) => i128::from(v),
        types::DatumRef::UInt(v) => i128::from(v),
        _ => 0,
    }
}

fn mixed_division(op: Op, unsigned: bool, a: &Vector<'_>, b: &Vector<'_>, nulls: Bitmap, rows: usize) -> Option<Column> {
    let value = |row: usize| {
        let (x, y) = (wide(a, row), wide(b, row));
        if y == 0 {
            0
        } else if op == Op::IntDiv {
            x / y
        } else {
            x % y
        }
    };
    let fits = |v: i128| if unsigned { u64::try_from(v).is_ok() } else { i64::try_from(v).is_ok() };
    if (0..rows).any(|row| !nulls.get(row) && !fits(value(row))) {
        return None;
    }
    Some(if unsigned {
        u64::column((0..rows).map(|row| value(row) as u64).collect(), nulls)
    } else {
        i64::column((0..rows).map(|row| value(row) as i64).collect(), nulls)
    })
}

/// Marks rows with a zero divisor as NULL and warns (or fails) as the mode says.
fn zero_divisors(nulls: &mut Bitmap, b: &Vector<'_>, ctx: &EvalCtx, rows: usize) -> Result<()> {
    for row in 0..rows {
        if !nulls.get(row) && crate::ops::truth(b.get(row)) == Some(false) {
            ctx.division_by_zero()?;
            nulls.set(row, true);
        }
    }
    Ok(())
}

fn reals(op: Op, ctx: &EvalCtx, a: &Vector<'_>, b: &Vector<'_>, rows: usize) -> Result<Option<Column>> {
    let (Some(x), Some(y)) = (a.values::<f64>(), b.values::<f64>()) else { return Ok(None) };
    let mut nulls = merged_nulls(a, b, rows);
    if matches!(op, Op::Div | Op::Mod) {
        zero_divisors(&mut nulls, b, ctx, rows)?;
    }
    let out = match op {
        Op::Add => zip(x, y, rows, |x, y| x + y),
        Op::Sub => zip(x, y, rows, |x, y| x - y),
        Op::Mul => zip(x, y, rows, |x, y| x * y),
        Op::Div => zip(x, y, rows, |x, y| x / y),
        _ => zip(x, y, rows, |x, y| x % y),
    };
    let overflow = out.iter().enumerate().any(|(row, v)| !v.is_finite() && !nulls.get(row));
    Ok((!overflow).then(|| f64::column(out, nulls)))
}

fn decimals(op: Op, ctx: &EvalCtx, a: &Vector<'_>, b: &Vector<'_>, rows: usize) -> Result<Option<Column>> {
    let (Some(x), Some(y)) = (a.values::<Decimal>(), b.values::<Decimal>()) else { return Ok(None) };
    let mut nulls = merged_nulls(a, b, rows);
    let zero = Decimal::ZERO;
    Ok(match op {
        Op::Add => checked(x, y, nulls, rows, zero, |x, y| x.add(&y).ok()),
        Op::Sub => checked(x, y, nulls, rows, zero, |x, y| x.sub(&y).ok()),
        Op::Mul => checked(x, y, nulls, rows, zero, |x, y| x.mul(&y).ok()),
        _ => {
            zero_divisors(&mut nulls, b, ctx, rows)?;
            let increment = ctx.div_precision_increment;
            checked(x, y, nulls, rows, zero, |x, y| x.div(&y, increment).ok().flatten())
        }
    })
}

fn bit_words(op: Op, a: &Vector<'_>, b: &Vector<'_>, rows: usize) -> Option<Column> {
    // The bits of both signednesses are the same.
    let view = |v: &Vector<'_>| -> Option<Vec<u64>> {
        if let Some(Values::Many(values)) = v.values::<i64>() {
            return Some(values.iter().map(|x| *x as u64).collect());
        }
        match v.values::<u64>() {
            Some(Values::Many(values)) => Some(values.to_vec()),
            Some(Values::One(value)) => Some(vec![value; rows]),
            None => match v.values::<i64>() {
                Some(Values::One(value)) => Some(vec![value as u64; rows]),
                _ => None,
            },
        }
    };
    let x = view(a)?;
    if op == Op::BitNeg {
        return Some(u64::column(x.into_iter().map(|v| !v).collect(), nulls_of(a, rows)));
    }
    let y = view(b)?;
    let out = x.into_iter().zip(y).map(|(x, y)| bits::words(op, x, y)).collect();
    Some(u64::column(out, merged_nulls(a, b, rows)))
}

/// Casts between native numbers that cannot fail.
pub(super) fn cast(a: &Vector<'_>, ty: &FieldType, explicit: bool, rows: usize) -> Option<Column> {
    match ty.tp {
        types::TypeKind::Double => {
            if let Some(v) = a.values::<i64>() {
                return Some(unary(v, a, rows, |x| x as f64));
            }
            if let Some(v) = a.values::<u64>() {
                return Some(unary(v, a, rows, |x| x as f64));
            }
            if let Some(v) = a.values::<f32>() {
                return Some(unary(v, a, rows, f64::from));
            }
            a.values::<Decimal>().map(|v| unary(v, a, rows, |x: Decimal| x.to_f64()))
        }
        // The type of an implicit cast has room for all values of its operand.
        types::TypeKind::Decimal if ty.decimal == 0 && (!explicit || ty.flen >= 20) => {
            if let Some(v) = a.values::<i64>() {
                return Some(unary(v, a, rows, Decimal::from_i64));
            }
            a.values::<u64>().map(|v| unary(v, a, rows, Decimal::from_u64))
        }
        _ => None,
    }
}

//! Arithmetic on one pair of values: overflow is error 1690, division by zero is NULL.

use types::{Datum, DatumRef, Decimal, EvalType};

use crate::context::EvalCtx;
use crate::convert;
use crate::error::{Error, Result};
use crate::expr::Call;
use crate::op::Op;

/// The 1690 of a call whose result does not fit.
#[cold]
pub(crate) fn out_of_range(call: &Call) -> Error {
    let kind = match (call.ty.tp.eval_type(), call.ty.unsigned) {
        (EvalType::Int, true) => "BIGINT UNSIGNED",
        (EvalType::Int, false) => "BIGINT",
        (EvalType::Decimal, _) => "DECIMAL",
        _ => "DOUBLE",
    };
    Error::OutOfRange { kind, expression: call.to_string() }
}

/// An integer result, if it fits BIGINT of the signedness.
#[inline]
pub(crate) fn fit(value: i128, unsigned: bool) -> Option<Datum> {
    if unsigned { u64::try_from(value).ok().map(Datum::UInt) } else { i64::try_from(value).ok().map(Datum::Int) }
}

fn wide(value: DatumRef<'_>) -> i128 {
    match value {
        DatumRef::Int(v) => i128::from(v),
        DatumRef::UInt(v) => i128::from(v),
        _ => 0,
    }
}

/// A binary arithmetic operator on two values that are not NULL.
pub(crate) fn eval(op: Op, class: EvalType, call: &Call, ctx: &EvalCtx, a: DatumRef<'_>, b: DatumRef<'_>) -> Result<Datum> {
    match class {
        EvalType::Int => ints(op, call, ctx, wide(a), wide(b)),
        EvalType::Decimal => decimals(op, call, ctx, &convert::exact(a), &convert::exact(b)),
        _ => reals(op, call, ctx, convert::real(a), convert::real(b)),
    }
}

fn ints(op: Op, call: &Call, ctx: &EvalCtx, a: i128, b: i128) -> Result<Datum> {
    let value = match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        // Two unsigned factors can leave even this type.
        Op::Mul => a.checked_mul(b).ok_or_else(|| out_of_range(call))?,
        Op::IntDiv | Op::Mod if b == 0 => {
            ctx.division_by_zero()?;
            return Ok(Datum::Null);
        }
        Op::IntDiv => a / b,
        _ => a % b,
    };
    fit(value, call.ty.unsigned).ok_or_else(|| out_of_range(call))
}

fn decimals(op: Op, call: &Call, ctx: &EvalCtx, a: &Decimal, b: &Decimal) -> Result<Datum> {
    if matches!(op, Op::Div | Op::IntDiv | Op::Mod) && b.is_zero() {
        ctx.division_by_zero()?;
        return Ok(Datum::Null);
    }
    decimal_op(op, call, ctx, a, b).unwrap_or_else(|| Err(out_of_range(call)))
}

fn decimal_op(op: Op, call: &Call, ctx: &EvalCtx, a: &Decimal, b: &Decimal) -> Option<Result<Datum>> {
    let value = match op {
        Op::Add => a.add(b).ok()?,
        Op::Sub => a.sub(b).ok()?,
        Op::Mul => a.mul(b).ok()?,
        Op::Div => a.div(b, ctx.div_precision_increment).ok()??,
        Op::Mod => a.rem(b).ok()??,
        _ => {
            let quotient = a.int_div(b).ok()??;
            let fitted = if call.ty.unsigned { quotient.to_u64().ok().map(Datum::UInt) } else { quotient.to_i64().ok().map(Datum::Int) };
            return fitted.map(Ok);
        }
    };
    Some(Ok(Datum::Decimal(value)))
}

fn reals(op: Op, call: &Call, ctx: &EvalCtx, a: f64, b: f64) -> Result<Datum> {
    let value = match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        _ if b == 0.0 => {
            ctx.division_by_zero()?;
            return Ok(Datum::Null);
        }
        Op::Div => a / b,
        _ => a % b,
    };
    if value.is_finite() { Ok(Datum::Double(value)) } else { Err(out_of_range(call)) }
}

/// Unary minus of a value that is not NULL.
pub(crate) fn negate(call: &Call, a: DatumRef<'_>) -> Result<Datum> {
    match a {
        DatumRef::Int(_) | DatumRef::UInt(_) if call.ty.tp.eval_type() == EvalType::Int => {
            fit(-wide(a), call.ty.unsigned).ok_or_else(|| out_of_range(call))
        }
        DatumRef::Decimal(_) | DatumRef::Int(_) | DatumRef::UInt(_) if call.ty.tp.eval_type() == EvalType::Decimal => {
            Ok(Datum::Decimal(convert::exact(a).neg()))
        }
        _ => Ok(Datum::Double(-convert::real(a))),
    }
}

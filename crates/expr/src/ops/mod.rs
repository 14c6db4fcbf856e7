//! Operators, one row at a time. This is the definition of what they mean; `vector` computes the same for whole columns.
//!
//! AND, OR, CASE and their relatives evaluate only the operands they need: an operand that would fail or warn for a row
//! that never reaches it stays silent, as in MySQL.

pub(crate) mod arith;
pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod in_list;
pub(crate) mod like;

use types::{Datum, DatumRef, EvalType, RowRef};

pub(crate) use types::convert::to_bool as truth;

use crate::context::EvalCtx;
use crate::error::{Error, Result};
use crate::expr::{Call, Expr};
use crate::op::Op;

/// A truth value as SQL's 0, 1 or NULL.
pub(crate) fn from_truth(value: Option<bool>) -> Datum {
    value.map_or(Datum::Null, |b| Datum::Int(i64::from(b)))
}

/// AND of two truth values.
pub(crate) fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// OR of two truth values.
pub(crate) fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// What `IS NULL`, `IS TRUE`, `IS FALSE` and `IS UNKNOWN` say of a value.
pub(crate) fn is(op: Op, value: DatumRef<'_>) -> bool {
    match op {
        Op::IsTrue => truth(value) == Some(true),
        Op::IsFalse => truth(value) == Some(false),
        _ => matches!(value, DatumRef::Null),
    }
}

/// Evaluates an operator for one row.
pub(crate) fn eval_row(op: Op, class: EvalType, call: &Call, ctx: &EvalCtx, row: RowRef<'_>) -> Result<Datum> {
    let condition = |e: &Expr| -> Result<Option<bool>> {
        let mut slot = Datum::Null;
        Ok(truth(e.eval_ref(ctx, row, &mut slot)?))
    };
    match op {
        Op::And => match condition(&call.args[0])? {
            Some(false) => Ok(Datum::Int(0)),
            first => Ok(from_truth(and(first, condition(&call.args[1])?))),
        },
        Op::Or => match condition(&call.args[0])? {
            Some(true) => Ok(Datum::Int(1)),
            first => Ok(from_truth(or(first, condition(&call.args[1])?))),
        },
        Op::If => {
            let chosen = if condition(&call.args[0])? == Some(true) { 1 } else { 2 };
            call.args[chosen].eval(ctx, row)
        }
        Op::Case => {
            for pair in call.args.chunks(2) {
                match pair {
                    [when, then] if condition(when)? == Some(true) => return then.eval(ctx, row),
                    [_, _] => {}
                    rest => return rest[0].eval(ctx, row),
                }
            }
            Ok(Datum::Null)
        }
        Op::IfNull | Op::Coalesce => {
            for arg in &call.args {
                let value = arg.eval(ctx, row)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            Ok(Datum::Null)
        }
        Op::In => in_list::eval_row(call, ctx, row),
        _ => {
            let mut slots = [Datum::Null, Datum::Null];
            let [first, second] = &mut slots;
            let a = call.args[0].eval_ref(ctx, row, first)?;
            let b = match call.args.get(1) {
                Some(e) => e.eval_ref(ctx, row, second)?,
                None => DatumRef::Null,
            };
            eager(op, class, call, ctx, a, b)
        }
    }
}

/// An operator whose operands are all evaluated, given their values.
#[inline]
pub(crate) fn eager(op: Op, class: EvalType, call: &Call, ctx: &EvalCtx, a: DatumRef<'_>, b: DatumRef<'_>) -> Result<Datum> {
    // The two kinds that nearly all row-wise evaluation is about come first.
    match (op, a, b) {
        (Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge, DatumRef::Int(x), DatumRef::Int(y)) => {
            Ok(Datum::Int(i64::from(compare::holds(op, x.cmp(&y)))))
        }
        (Op::Add, DatumRef::Int(x), DatumRef::Int(y)) if !call.ty.unsigned && class == EvalType::Int => {
            x.checked_add(y).map(Datum::Int).ok_or_else(|| arith::out_of_range(call))
        }
        _ => any(op, class, call, ctx, a, b),
    }
}

#[inline(never)]
fn any(op: Op, class: EvalType, call: &Call, ctx: &EvalCtx, a: DatumRef<'_>, b: DatumRef<'_>) -> Result<Datum> {
    match op {
        Op::IsNull | Op::IsTrue | Op::IsFalse | Op::IsUnknown => Ok(Datum::Int(i64::from(is(op, a)))),
        Op::Not => Ok(from_truth(truth(a).map(|t| !t))),
        Op::NullEq => Ok(Datum::Int(i64::from(match (a, b) {
            (DatumRef::Null, DatumRef::Null) => true,
            (DatumRef::Null, _) | (_, DatumRef::Null) => false,
            _ => a.compare(b, call.collation).is_eq(),
        }))),
        Op::Neg | Op::BitNeg if matches!(a, DatumRef::Null) => Ok(Datum::Null),
        Op::Neg => arith::negate(call, a),
        Op::BitNeg => bits::eval(op, class, a, b),
        _ if matches!(a, DatumRef::Null) || matches!(b, DatumRef::Null) => Ok(Datum::Null),
        Op::Xor => Ok(from_truth(truth(a).zip(truth(b)).map(|(x, y)| x != y))),
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => Ok(Datum::Int(i64::from(compare::holds(op, a.compare(b, call.collation))))),
        Op::Like { escape } => match (a, b) {
            (DatumRef::Bytes(s), DatumRef::Bytes(p)) => Ok(Datum::Int(i64::from(like::matches(s, p, escape, call.collation)))),
            _ => Ok(Datum::Null),
        },
        Op::BitAnd | Op::BitOr | Op::BitXor | Op::Shl | Op::Shr => bits::eval(op, class, a, b),
        // A row outside of a comparison is no value.
        Op::Row => Err(Error::OperandColumns { expected: 1 }),
        _ => arith::eval(op, class, call, ctx, a, b),
    }
}

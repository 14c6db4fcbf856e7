//! Arithmetic and bit operators: in which domain they compute, and the precision of the result.
//!
//! | operands | `+ - * %` | `/` | `DIV` |
//! |---|---|---|---|
//! | integers | BIGINT, unsigned if either is | DECIMAL(scale of dividend + 4) | BIGINT |
//! | exact, one DECIMAL | DECIMAL | DECIMAL | BIGINT |
//! | anything approximate, strings | DOUBLE | DOUBLE | BIGINT, through DECIMAL |
//!
//! Temporal operands count as integers, or as DECIMAL if they have fractional seconds.

use types::{Collation, Datum, EvalType, FieldType, TypeKind};

use super::{call, cast, null_if_operand_is};
use crate::context::{BuildCtx, SqlMode};
use crate::error::Result;
use crate::expr::{Expr, Func};
use crate::op::Op;
use crate::result_type as rt;

/// The domain a value joins arithmetic in.
pub(crate) fn numeric_class(e: &Expr) -> EvalType {
    let ty = e.field_type();
    match e.eval_type() {
        EvalType::Int => EvalType::Int,
        EvalType::Decimal => EvalType::Decimal,
        EvalType::Time | EvalType::Duration if rt::fsp_of(ty) == 0 => EvalType::Int,
        EvalType::Time | EvalType::Duration => EvalType::Decimal,
        _ if ty.tp == TypeKind::Null || cast::is_hex_literal(e) => EvalType::Int,
        _ => EvalType::Real,
    }
}

fn common_class(a: &Expr, b: &Expr) -> EvalType {
    match (numeric_class(a), numeric_class(b)) {
        (EvalType::Real, _) | (_, EvalType::Real) => EvalType::Real,
        (EvalType::Decimal, _) | (_, EvalType::Decimal) => EvalType::Decimal,
        _ => EvalType::Int,
    }
}

fn is_unsigned(e: &Expr) -> bool {
    e.field_type().unsigned && e.eval_type() == EvalType::Int
}

pub(crate) fn binary(op: Op, a: Expr, b: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let (a, b) = (cast::number_of_hex(a), cast::number_of_hex(b));
    let mut class = common_class(&a, &b);
    if op == Op::Div && class == EvalType::Int {
        class = EvalType::Decimal;
    }
    if op == Op::IntDiv && class == EvalType::Real {
        class = EvalType::Decimal;
    }
    let ty = match (op, class) {
        (Op::IntDiv, _) => int_result(is_unsigned(&a) || is_unsigned(&b)),
        (_, EvalType::Real) => real_result(op, &a, &b, ctx),
        (_, EvalType::Decimal) => decimal_result(op, &a, &b, ctx),
        (Op::Mod, _) => int_result(is_unsigned(&a)),
        (Op::Sub, _) => int_result((is_unsigned(&a) || is_unsigned(&b)) && !ctx.eval.sql_mode.contains(SqlMode::NO_UNSIGNED_SUBTRACTION)),
        _ => int_result(is_unsigned(&a) || is_unsigned(&b)),
    };
    let (a, b) = match (op, class) {
        (Op::IntDiv, EvalType::Decimal) => (cast::to_exact(a, ctx)?, cast::to_exact(b, ctx)?),
        _ => (cast::to_class(a, class, ctx)?, cast::to_class(b, class, ctx)?),
    };
    let built = call(Func::Op(op, class), vec![a, b], ty);
    // Division by zero is NULL.
    Ok(if matches!(op, Op::Div | Op::IntDiv | Op::Mod) { built } else { null_if_operand_is(built) })
}

fn int_result(unsigned: bool) -> FieldType {
    if unsigned { rt::uint() } else { rt::int() }
}

/// DOUBLE shows a fixed number of places if both operands have one.
fn real_result(op: Op, a: &Expr, b: &Expr, ctx: &BuildCtx<'_>) -> FieldType {
    let places = |e: &Expr| match e.eval_type() {
        EvalType::Int => Some(0),
        EvalType::Real | EvalType::Decimal => e.field_type().scale().map(i32::from),
        _ => None,
    };
    let mut ty = rt::double();
    if let (Some(x), Some(y)) = (places(a), places(b)) {
        let sum = match op {
            Op::Mul => x + y,
            Op::Div => x.max(y) + i32::from(ctx.eval.div_precision_increment),
            _ => x.max(y),
        };
        if sum <= rt::MAX_SCALE {
            ty.decimal = sum as i8;
        }
    }
    ty
}

fn decimal_result(op: Op, a: &Expr, b: &Expr, ctx: &BuildCtx<'_>) -> FieldType {
    let ((ia, sa), (ib, sb)) = (rt::decimal_shape(a), rt::decimal_shape(b));
    match op {
        Op::Mul => rt::decimal(ia + sa + ib + sb, sa + sb),
        Op::Div => {
            let increment = i32::from(ctx.eval.div_precision_increment);
            rt::decimal(ia + sa + sb + increment, sa + increment)
        }
        Op::Mod => rt::decimal(ia.max(ib) + sa.max(sb), sa.max(sb)),
        _ => rt::decimal(ia.max(ib) + 1 + sa.max(sb), sa.max(sb)),
    }
}

pub(crate) fn negate(a: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let a = cast::number_of_hex(a);
    // A literal is negated right here: -9223372036854775808 is a BIGINT although its digits alone are not.
    if let Expr::Constant { value, ty } = &a {
        match value {
            Datum::Int(v) if *v != i64::MIN => return Ok(Expr::constant(Datum::Int(-v), signed(ty))),
            Datum::UInt(v) if *v <= 1 << 63 => return Ok(Expr::constant(Datum::Int((*v as i64).wrapping_neg()), signed(ty))),
            _ => {}
        }
    }
    let mut class = numeric_class(&a);
    if class == EvalType::Int && matches!(a.as_constant(), Some(Datum::UInt(_) | Datum::Int(_))) {
        class = EvalType::Decimal;
    }
    let ty = match class {
        EvalType::Int => rt::int(),
        EvalType::Decimal => {
            let (int, scale) = rt::decimal_shape(&a);
            rt::decimal(int + scale, scale)
        }
        _ => rt::double(),
    };
    let a = cast::to_class(a, class, ctx)?;
    super::fold::fold_if_constant(null_if_operand_is(call(Func::Op(Op::Neg, class), vec![a], ty)), ctx)
}

fn signed(ty: &FieldType) -> FieldType {
    let mut ty = ty.clone();
    ty.unsigned = false;
    ty.flen = ty.flen.saturating_add(1);
    ty
}

fn is_binary_string(e: &Expr) -> bool {
    e.eval_type() == EvalType::String && e.field_type().collation == Collation::Binary && !e.is_null_constant() && !cast::is_hex_literal(e)
}

pub(crate) fn bits(op: Op, args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let on_strings = match op {
        Op::BitAnd | Op::BitOr | Op::BitXor => args.iter().all(is_binary_string),
        _ => args.first().is_some_and(is_binary_string),
    };
    if on_strings {
        let chars = args.iter().map(|a| rt::display_chars(a.field_type())).max().unwrap_or(-1);
        let mut args = args;
        if matches!(op, Op::Shl | Op::Shr)
            && let Some(by) = args.pop()
        {
            args.push(cast::to_class(by, EvalType::Int, ctx)?);
        }
        return Ok(null_if_operand_is(call(Func::Op(op, EvalType::String), args, rt::string(chars, Collation::Binary))));
    }
    let args = args.into_iter().map(|a| cast::to_class(a, EvalType::Int, ctx)).collect::<Result<Vec<_>>>()?;
    Ok(null_if_operand_is(call(Func::Op(op, EvalType::Int), args, rt::uint())))
}

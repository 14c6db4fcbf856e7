//! Conversions: those a statement asks for (CAST, CONVERT) and those an operation needs of its operands.
//!
//! An implicit conversion is inserted only where the operand's class differs from the one wanted, and conversions of
//! constants are done on the spot where they neither warn nor fail.

use types::{Collation, Datum, EvalType, FieldType, TypeKind};

use super::fold;
use crate::collation::Coercibility;
use crate::context::BuildCtx;
use crate::error::{Error, Result};
use crate::expr::{Call, CallData, Expr, Func};
use crate::functions::Want;
use crate::result_type as rt;

/// Builds `CAST(arg AS target)`.
///
/// # Errors
/// A target that is too wide (1425, 1426), or a row operand.
pub fn build_cast(arg: Expr, target: FieldType, ctx: &BuildCtx<'_>) -> Result<Expr> {
    super::reject_row(&arg)?;
    if target.tp == TypeKind::Decimal {
        check_decimal(&target)?;
    }
    if matches!(target.tp, TypeKind::DateTime | TypeKind::Time | TypeKind::Timestamp) && target.decimal > 6 {
        let message = format!("Too-big precision {} specified for 'CAST'. Maximum is 6.", target.decimal);
        return Err(Error::BadCastTarget { code: 1426, message });
    }
    let arg = if target.tp.is_numeric() { number_of_hex(arg) } else { arg };
    let built = make(arg, target, true, ctx);
    fold::fold_if_constant(built, ctx)
}

/// The operand as INSERT and UPDATE store it into a column of the type: what only the operand's own type can tell, before
/// [`types::convert::store`](types::convert::store()) sees the bare value. Members of ENUM and SET become their texts, BIT its bytes, and values that
/// are no text JSON where JSON is stored.
///
/// # Errors
/// None that the operand does not raise when it is evaluated.
pub fn build_assignment(arg: Expr, column: &FieldType, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let from = arg.field_type();
    let is_text = column.tp.is_string() || is_named_type(column.tp);
    let bits_as_text = from.tp == TypeKind::Bit && column.tp.is_string();
    if (is_named(&arg) && (is_text || column.tp == TypeKind::Json) && (from.tp != column.tp || from.elems != column.elems)) || bits_as_text
    {
        let collation = if bits_as_text { Collation::Binary } else { from.collation };
        return to_string_always(arg, collation, ctx);
    }
    if column.tp == TypeKind::Json && !matches!(arg.eval_type(), EvalType::Json | EvalType::String) {
        return to_class(arg, EvalType::Json, ctx);
    }
    Ok(arg)
}

fn check_decimal(target: &FieldType) -> Result<()> {
    let bad = |code, message: String| Err(Error::BadCastTarget { code, message });
    if target.flen > rt::MAX_PRECISION {
        return bad(1426, format!("Too-big precision {} specified for 'CAST'. Maximum is {}.", target.flen, rt::MAX_PRECISION));
    }
    if i32::from(target.decimal) > rt::MAX_SCALE {
        return bad(1425, format!("Too big scale {} specified for column 'CAST'. Maximum is {}.", target.decimal, rt::MAX_SCALE));
    }
    if target.flen >= 0 && i32::from(target.decimal) > target.flen {
        return bad(1427, "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column 'CAST').".to_owned());
    }
    Ok(())
}

fn make(arg: Expr, mut ty: FieldType, explicit: bool, ctx: &BuildCtx<'_>) -> Expr {
    let (from, to) = (arg.eval_type(), ty.tp.eval_type());
    // A text may be no date, and a number may be none.
    let may_fail = matches!(to, EvalType::Time | EvalType::Duration) && from != to;
    ty.not_null = arg.field_type().not_null && !may_fail;
    let is_string = to == EvalType::String;
    let coercibility = match (is_string, explicit) {
        (false, _) => Coercibility::Numeric,
        (true, true) => Coercibility::Implicit,
        (true, false) => arg.coercibility(),
    };
    let collation = if is_string { ty.collation } else { ctx.eval.collation_connection };
    Expr::Call(Box::new(Call { func: Func::Cast { explicit }, args: vec![arg], ty, collation, coercibility, data: CallData::None }))
}

fn implicit(arg: Expr, ty: FieldType, ctx: &BuildCtx<'_>) -> Result<Expr> {
    if arg.is_null_constant() {
        return Ok(arg);
    }
    fold::fold_if_constant(make(arg, ty, false, ctx), ctx)
}

/// A number with all places that DECIMAL has room for: a string or DOUBLE does not say how many it has.
pub(crate) fn to_exact(arg: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    match arg.eval_type() {
        EvalType::String | EvalType::Real => implicit(arg, rt::decimal(rt::MAX_PRECISION, rt::MAX_SCALE), ctx),
        _ => to_class(arg, EvalType::Decimal, ctx),
    }
}

/// The operand as a string, of the given collation if it has to be made one.
pub(crate) fn to_string(arg: Expr, collation: Collation, ctx: &BuildCtx<'_>) -> Result<Expr> {
    if arg.eval_type() == EvalType::String && !is_named(&arg) {
        return Ok(arg);
    }
    to_string_always(arg, collation, ctx)
}

fn to_string_always(arg: Expr, collation: Collation, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let chars = rt::display_chars(arg.field_type());
    implicit(arg, rt::string(chars, collation), ctx)
}

/// A hexadecimal or bit literal is a byte string that is an unsigned number where one is wanted. It is told from other byte
/// strings by its type's `unsigned`.
pub(crate) fn is_hex_literal(arg: &Expr) -> bool {
    arg.field_type().unsigned && matches!(arg, Expr::Constant { value: Datum::Bytes(_), .. })
}

/// The number a hexadecimal literal stands for; other operands stay as they are. Of more than eight bytes the last count.
pub(crate) fn number_of_hex(arg: Expr) -> Expr {
    match &arg {
        Expr::Constant { value: Datum::Bytes(bytes), .. } if is_hex_literal(&arg) => {
            let number = bytes.iter().fold(0u64, |n, b| n << 8 | u64::from(*b));
            Expr::constant(Datum::UInt(number), rt::uint().with_not_null())
        }
        _ => arg,
    }
}

/// ENUM and SET values: numbers that count as strings.
fn is_named(arg: &Expr) -> bool {
    is_named_type(arg.field_type().tp)
}

fn is_named_type(tp: TypeKind) -> bool {
    matches!(tp, TypeKind::Enum | TypeKind::Set)
}

/// The operand in the class wanted. Strings keep their collation.
pub(crate) fn to_class(arg: Expr, class: EvalType, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let arg = match class {
        EvalType::Int | EvalType::Real | EvalType::Decimal => number_of_hex(arg),
        _ => arg,
    };
    if arg.eval_type() == class && !is_named(&arg) {
        return Ok(arg);
    }
    let ty = match class {
        EvalType::Int => {
            let mut ty = rt::int();
            ty.unsigned = arg.field_type().unsigned;
            ty
        }
        EvalType::Real => rt::double(),
        EvalType::Decimal => {
            let (int, scale) = rt::decimal_shape(&arg);
            rt::decimal(int + scale, scale)
        }
        EvalType::String => return to_string(arg, ctx.eval.collation_connection, ctx),
        EvalType::Time => rt::datetime(rt::fsp_of(arg.field_type())),
        EvalType::Duration => rt::time(rt::fsp_of(arg.field_type())),
        EvalType::Json => rt::json(),
    };
    implicit(arg, ty, ctx)
}

/// The operand as a value of the merged type of several alternatives.
pub(crate) fn to_type(arg: Expr, ty: &FieldType, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let from = arg.field_type();
    if arg.is_null_constant() {
        return Ok(arg);
    }
    let class = ty.tp.eval_type();
    let fits = from.tp.eval_type() == class
        && (from.tp == ty.tp || !is_named(&arg))
        && match class {
            EvalType::Int => from.unsigned == ty.unsigned,
            EvalType::Decimal => from.decimal == ty.decimal,
            EvalType::Real => (from.tp == TypeKind::Float) == (ty.tp == TypeKind::Float),
            EvalType::Time => from.tp == ty.tp && rt::fsp_of(from) == rt::fsp_of(ty),
            EvalType::Duration => rt::fsp_of(from) == rt::fsp_of(ty),
            _ => true,
        };
    if fits { Ok(arg) } else { implicit(arg, ty.clone(), ctx) }
}

/// The operand as a function's parameter asks for it.
pub(crate) fn to_want(arg: Expr, want: Want, collation: Collation, ctx: &BuildCtx<'_>) -> Result<Expr> {
    match want {
        Want::Any => Ok(arg),
        Want::Digits if arg.field_type().tp == TypeKind::Bit => to_string(implicit(arg, rt::uint(), ctx)?, collation, ctx),
        Want::Str | Want::Raw | Want::Digits => to_string(arg, collation, ctx),
        Want::Int => to_class(arg, EvalType::Int, ctx),
        Want::Real => to_class(arg, EvalType::Real, ctx),
        Want::Dec => to_class(arg, EvalType::Decimal, ctx),
        Want::DateTime if arg.field_type().tp == TypeKind::Timestamp => {
            let ty = rt::datetime(rt::fsp_of(arg.field_type()));
            implicit(arg, ty, ctx)
        }
        Want::DateTime => to_class(arg, EvalType::Time, ctx),
        Want::Duration => to_class(arg, EvalType::Duration, ctx),
    }
}

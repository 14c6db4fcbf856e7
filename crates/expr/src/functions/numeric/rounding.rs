//! ROUND, TRUNCATE, CEILING, FLOOR.
//!
//! Exact numbers round half away from zero, DOUBLE rounds half to even as the C library's `rint` does. The result's type
//! follows the argument: integers stay integers, DECIMAL gets the scale asked for if that is a constant.

use types::decimal::RoundMode;
use types::{Datum, DatumRef, EvalType, FieldType};

use crate::build::arithmetic::numeric_class;
use crate::build::cast;
use crate::context::BuildCtx;
use crate::error::Result;
use crate::expr::Expr;
use crate::functions::{Args, Builtin, Signature, Special, Want};
use crate::ops::arith::{fit, out_of_range};
use crate::result_type as rt;

pub(super) const SPECIALS: &[Special] = &[
    Special { name: "round", arity: (1, 2), build: |args, ctx| family(args, ctx, [&ROUND_INT, &ROUND_DECIMAL, &ROUND_REAL]) },
    Special { name: "truncate", arity: (2, 2), build: |args, ctx| family(args, ctx, [&TRUNCATE_INT, &TRUNCATE_DECIMAL, &TRUNCATE_REAL]) },
    Special { name: "ceiling", arity: (1, 1), build: |args, ctx| family(args, ctx, [&KEEP_CEIL, &CEIL_DECIMAL, &CEIL_REAL]) },
    Special { name: "floor", arity: (1, 1), build: |args, ctx| family(args, ctx, [&KEEP_FLOOR, &FLOOR_DECIMAL, &FLOOR_REAL]) },
];

static ROUND_INT: Builtin = Builtin::new("round", (1, 2), &[Want::Int, Want::Int], int_like, |a| round_int(a, true));
static ROUND_DECIMAL: Builtin =
    Builtin::new("round", (1, 2), &[Want::Dec, Want::Int], rounded_type, |a| round_decimal(a, RoundMode::HalfUp));
static ROUND_REAL: Builtin =
    Builtin::new("round", (1, 2), &[Want::Real, Want::Int], real_type, |a| Ok(Datum::Double(round_real(a.real(0), places(a)))));
static TRUNCATE_INT: Builtin = Builtin::new("truncate", (2, 2), &[Want::Int, Want::Int], int_like, |a| round_int(a, false));
static TRUNCATE_DECIMAL: Builtin =
    Builtin::new("truncate", (2, 2), &[Want::Dec, Want::Int], rounded_type, |a| round_decimal(a, RoundMode::Truncate));
static TRUNCATE_REAL: Builtin =
    Builtin::new("truncate", (2, 2), &[Want::Real, Want::Int], real_type, |a| Ok(Datum::Double(truncate_real(a.real(0), places(a)))));
static KEEP_CEIL: Builtin = Builtin::new("ceiling", (1, 1), &[Want::Int], int_like, keep);
static CEIL_DECIMAL: Builtin = Builtin::new("ceiling", (1, 1), &[Want::Dec], whole_type, |a| whole(a, RoundMode::Ceiling));
static CEIL_REAL: Builtin = Builtin::new("ceiling", (1, 1), &[Want::Real], real_type, |a| Ok(Datum::Double(a.real(0).ceil())));
static KEEP_FLOOR: Builtin = Builtin::new("floor", (1, 1), &[Want::Int], int_like, keep);
static FLOOR_DECIMAL: Builtin = Builtin::new("floor", (1, 1), &[Want::Dec], whole_type, |a| whole(a, RoundMode::Floor));
static FLOOR_REAL: Builtin = Builtin::new("floor", (1, 1), &[Want::Real], real_type, |a| Ok(Datum::Double(a.real(0).floor())));

/// The implementation for the argument's domain: integer, DECIMAL, DOUBLE.
fn family(mut args: Vec<Expr>, ctx: &BuildCtx<'_>, by_class: [&'static Builtin; 3]) -> Result<Expr> {
    let [int, decimal, real] = by_class;
    if args.len() == 2 {
        // A constant number of places decides the type, whatever type it has itself.
        let places = args.remove(1);
        args.push(cast::to_class(places, EvalType::Int, ctx)?);
    }
    match numeric_class(&args[0]) {
        // Rounding to tens may need a digit more than BIGINT has.
        EvalType::Int if std::ptr::eq(int, &ROUND_INT) && may_grow(&args) => decimal.build(args, ctx),
        EvalType::Int => int.build(args, ctx),
        EvalType::Decimal => decimal.build(args, ctx),
        _ => real.build(args, ctx),
    }
}

fn may_grow(args: &[Expr]) -> bool {
    let keeps = |e: &Expr| matches!(e.as_constant(), Some(Datum::Int(0..) | Datum::UInt(_)));
    rt::decimal_shape(&args[0]).0 >= 18 && args.get(1).is_some_and(|places| !keeps(places))
}

/// DOUBLE with as many places as a constant says.
fn real_type(s: &Signature<'_>) -> FieldType {
    let mut ty = rt::double();
    let places = if s.args.len() == 1 { Some(0) } else { s.constant_int(1) };
    if let Some(places) = places {
        ty.decimal = places.clamp(0, i64::from(rt::MAX_SCALE)) as i8;
    }
    ty
}

fn int_like(s: &Signature<'_>) -> FieldType {
    if s.args[0].field_type().unsigned { rt::uint() } else { rt::int() }
}

fn rounded_type(s: &Signature<'_>) -> FieldType {
    let (int, scale) = rt::decimal_shape(&s.args[0]);
    let wanted = match s.args.len() {
        1 => Some(0),
        _ => s.constant_int(1),
    };
    match wanted {
        Some(places) => {
            let kept = places.clamp(0, i64::from(rt::MAX_SCALE)) as i32;
            rt::decimal(int + 1 + kept, kept)
        }
        None => rt::decimal(int + 1 + scale, scale),
    }
}

/// An integer if it always fits one.
fn whole_type(s: &Signature<'_>) -> FieldType {
    let (int, _) = rt::decimal_shape(&s.args[0]);
    if int < 18 { rt::int() } else { rt::decimal(int + 1, 0) }
}

fn keep(a: &Args<'_>) -> Result<Datum> {
    Ok(a.datum(0).to_owned())
}

fn whole(a: &Args<'_>, mode: RoundMode) -> Result<Datum> {
    let value = a.decimal(0).round(0, mode);
    if a.call.ty.tp.eval_type() == EvalType::Int {
        return value.to_i64().map(Datum::Int).map_err(|_| out_of_range(a.call));
    }
    Ok(Datum::Decimal(value))
}

/// The number of places; absent counts as 0, and what is beyond any number's digits is cut.
fn places(a: &Args<'_>) -> i32 {
    if a.len() < 2 {
        return 0;
    }
    if a.is_unsigned(1) { a.bits(1).min(400) as i32 } else { a.int(1).clamp(-400, 400) as i32 }
}

fn round_int(a: &Args<'_>, half_up: bool) -> Result<Datum> {
    let value = match a.datum(0) {
        DatumRef::Int(v) => i128::from(v),
        DatumRef::UInt(v) => i128::from(v),
        _ => return Ok(Datum::Null),
    };
    let digits = -places(a);
    if digits <= 0 {
        return Ok(a.datum(0).to_owned());
    }
    if digits > 20 {
        return Ok(if a.call.ty.unsigned { Datum::UInt(0) } else { Datum::Int(0) });
    }
    let unit = 10i128.pow(digits as u32);
    let shifted = if half_up { value + value.signum() * unit / 2 } else { value };
    fit(shifted / unit * unit, a.call.ty.unsigned).ok_or_else(|| out_of_range(a.call))
}

fn round_decimal(a: &Args<'_>, mode: RoundMode) -> Result<Datum> {
    let value = a.decimal(0);
    let places = places(a).min(i32::from(a.call.ty.decimal));
    Ok(Datum::Decimal(value.round(places, mode)))
}

/// Rounds a DOUBLE to a number of places, halves to even as far as binary fractions are halves.
pub(crate) fn round_real(value: f64, places: i32) -> f64 {
    scaled(value, places, f64::round_ties_even)
}

fn truncate_real(value: f64, places: i32) -> f64 {
    scaled(value, places, f64::trunc)
}

fn scaled(value: f64, places: i32, f: fn(f64) -> f64) -> f64 {
    if places == 0 {
        return f(value);
    }
    let unit = 10f64.powi(places.abs());
    if places > 0 {
        let scaled = value * unit;
        if scaled.is_finite() { f(scaled) / unit } else { value }
    } else if unit.is_infinite() {
        0.0
    } else {
        f(value / unit) * unit
    }
}

//! ABS, SIGN, MOD, powers, logarithms and trigonometry.
//!
//! Results that are no finite number are error 1690; arguments outside a function's domain give NULL, for logarithms with
//! warning 3020.

use types::{Datum, DatumRef, EvalType};

use crate::build::{arithmetic, cast};
use crate::context::BuildCtx;
use crate::error::Result;
use crate::expr::Expr;
use crate::functions::{ANY, Args, Builtin, Special, Want};
use crate::op::Op;
use crate::ops::arith::out_of_range;
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("sign", (1, 1), &[Want::Real], |_| rt::int_of(2), sign),
    Builtin::new("pi", (0, 0), &[], |_| pi_type(), |_| Ok(Datum::Double(std::f64::consts::PI))).never_null(),
    Builtin::new("sqrt", (1, 1), &[Want::Real], |_| rt::double(), sqrt),
    Builtin::new("pow", (2, 2), &[Want::Real], |_| rt::double(), |a| finite(a, a.real(0).powf(a.real(1)))),
    Builtin::new("exp", (1, 1), &[Want::Real], |_| rt::double(), |a| finite(a, a.real(0).exp())),
    Builtin::new("ln", (1, 1), &[Want::Real], |_| rt::double(), |a| logarithm(a, 0, f64::ln)),
    Builtin::new("log", (1, 2), &[Want::Real], |_| rt::double(), log),
    Builtin::new("log2", (1, 1), &[Want::Real], |_| rt::double(), |a| logarithm(a, 0, |v| v.ln() / std::f64::consts::LN_2)),
    Builtin::new("log10", (1, 1), &[Want::Real], |_| rt::double(), |a| logarithm(a, 0, f64::log10)),
    Builtin::new("sin", (1, 1), &[Want::Real], |_| rt::double(), |a| finite(a, a.real(0).sin())),
    Builtin::new("cos", (1, 1), &[Want::Real], |_| rt::double(), |a| finite(a, a.real(0).cos())),
    Builtin::new("tan", (1, 1), &[Want::Real], |_| rt::double(), |a| finite(a, a.real(0).tan())),
    Builtin::new("cot", (1, 1), &[Want::Real], |_| rt::double(), cot),
    Builtin::new("asin", (1, 1), &[Want::Real], |_| rt::double(), |a| arc(a, f64::asin)),
    Builtin::new("acos", (1, 1), &[Want::Real], |_| rt::double(), |a| arc(a, f64::acos)),
    Builtin::new("atan", (1, 2), &[Want::Real], |_| rt::double(), atan),
    Builtin::new("atan2", (1, 2), &[Want::Real], |_| rt::double(), atan),
    Builtin::new("degrees", (1, 1), &[Want::Real], |_| rt::double(), |a| finite(a, a.real(0).to_degrees())),
    Builtin::new("radians", (1, 1), &[Want::Real], |_| rt::double(), |a| finite(a, a.real(0).to_radians())),
    Builtin::new("bit_count", (1, 1), &[Want::Int], |_| rt::int_of(2), |a| Ok(Datum::Int(i64::from(a.bits(0).count_ones())))),
];

pub(super) const SPECIALS: &[Special] = &[
    Special { name: "abs", arity: (1, 1), build: build_abs },
    Special { name: "mod", arity: (2, 2), build: build_mod },
    Special { name: "interval", arity: (2, ANY), build: build_interval },
];

static ABS_INT: Builtin = Builtin::new("abs", (1, 1), &[Want::Int], abs_int_type, abs_int);
static ABS_DECIMAL: Builtin = Builtin::new("abs", (1, 1), &[Want::Dec], decimal_like, |a| Ok(Datum::Decimal(a.decimal(0).abs())));
static ABS_REAL: Builtin = Builtin::new("abs", (1, 1), &[Want::Real], |_| rt::double(), |a| Ok(Datum::Double(a.real(0).abs())));
static INTERVAL_INT: Builtin = Builtin::new("interval", (2, ANY), &[Want::Int], |_| rt::int_of(3), interval).sees_null().never_null();
static INTERVAL_DECIMAL: Builtin = Builtin::new("interval", (2, ANY), &[Want::Dec], |_| rt::int_of(3), interval).sees_null().never_null();
static INTERVAL_REAL: Builtin = Builtin::new("interval", (2, ANY), &[Want::Real], |_| rt::int_of(3), interval).sees_null().never_null();

fn pi_type() -> types::FieldType {
    let mut ty = rt::double();
    ty.flen = 8;
    ty.decimal = 6;
    ty
}

fn decimal_like(s: &crate::functions::Signature<'_>) -> types::FieldType {
    let (int, scale) = rt::decimal_shape(&s.args[0]);
    rt::decimal(int + scale, scale)
}

/// The value, or 1690 if it is not finite.
pub(crate) fn finite(a: &Args<'_>, value: f64) -> Result<Datum> {
    if value.is_finite() { Ok(Datum::Double(value)) } else { Err(out_of_range(a.call)) }
}

fn sign(a: &Args<'_>) -> Result<Datum> {
    let v = a.real(0);
    Ok(Datum::Int(i64::from(v > 0.0) - i64::from(v < 0.0)))
}

fn sqrt(a: &Args<'_>) -> Result<Datum> {
    let v = a.real(0);
    if v < 0.0 { Ok(Datum::Null) } else { Ok(Datum::Double(v.sqrt())) }
}

fn logarithm(a: &Args<'_>, i: usize, f: fn(f64) -> f64) -> Result<Datum> {
    let v = a.real(i);
    if v <= 0.0 {
        a.warn(3020, "Invalid argument for logarithm");
        return Ok(Datum::Null);
    }
    finite(a, f(v))
}

fn log(a: &Args<'_>) -> Result<Datum> {
    if a.len() == 1 {
        return logarithm(a, 0, f64::ln);
    }
    let (base, v) = (a.real(0), a.real(1));
    if base <= 0.0 || base == 1.0 || v <= 0.0 {
        a.warn(3020, "Invalid argument for logarithm");
        return Ok(Datum::Null);
    }
    finite(a, v.ln() / base.ln())
}

fn cot(a: &Args<'_>) -> Result<Datum> {
    finite(a, 1.0 / a.real(0).tan())
}

fn arc(a: &Args<'_>, f: fn(f64) -> f64) -> Result<Datum> {
    let v = a.real(0);
    Ok(if (-1.0..=1.0).contains(&v) { Datum::Double(f(v)) } else { Datum::Null })
}

fn atan(a: &Args<'_>) -> Result<Datum> {
    finite(a, if a.len() == 2 { a.real(0).atan2(a.real(1)) } else { a.real(0).atan() })
}

fn build_abs(args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    match arithmetic::numeric_class(&args[0]) {
        EvalType::Int => ABS_INT.build(args, ctx),
        EvalType::Decimal => ABS_DECIMAL.build(args, ctx),
        _ => ABS_REAL.build(args, ctx),
    }
}

fn abs_int_type(s: &crate::functions::Signature<'_>) -> types::FieldType {
    if s.args[0].field_type().unsigned { rt::uint() } else { rt::int() }
}

fn abs_int(a: &Args<'_>) -> Result<Datum> {
    match a.datum(0) {
        DatumRef::UInt(v) => Ok(Datum::UInt(v)),
        DatumRef::Int(v) => v.checked_abs().map(Datum::Int).ok_or_else(|| out_of_range(a.call)),
        _ => Ok(Datum::Null),
    }
}

fn build_mod(args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    crate::build::build_op(Op::Mod, args, ctx)
}

fn build_interval(args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let classes: Vec<EvalType> = args.iter().map(arithmetic::numeric_class).collect();
    let builtin = if classes.contains(&EvalType::Real) {
        &INTERVAL_REAL
    } else if classes.contains(&EvalType::Decimal) {
        &INTERVAL_DECIMAL
    } else {
        &INTERVAL_INT
    };
    let args = args.into_iter().map(|a| if a.is_null_constant() { Ok(a) } else { cast::to_class(a, arithmetic_class(builtin), ctx) });
    builtin.build(args.collect::<Result<Vec<_>>>()?, ctx)
}

fn arithmetic_class(builtin: &'static Builtin) -> EvalType {
    if std::ptr::eq(builtin, &INTERVAL_REAL) {
        EvalType::Real
    } else if std::ptr::eq(builtin, &INTERVAL_DECIMAL) {
        EvalType::Decimal
    } else {
        EvalType::Int
    }
}

/// How many of the ascending bounds are at most the first argument; -1 for NULL.
fn interval(a: &Args<'_>) -> Result<Datum> {
    if a.is_null(0) {
        return Ok(Datum::Int(-1));
    }
    let value = a.datum(0);
    let above = (1..a.len()).find(|i| !a.is_null(*i) && value.compare(a.datum(*i), a.collation()).is_lt());
    Ok(Datum::Int(above.unwrap_or(a.len()) as i64 - 1))
}

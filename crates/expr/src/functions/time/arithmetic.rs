//! DATE_ADD, DATE_SUB, TIMESTAMPADD, ADDTIME, SUBTIME, TIMESTAMP.
//!
//! The result's type follows the first argument and the unit:
//!
//! | first argument | unit of days or more | smaller unit |
//! |---|---|---|
//! | DATE | DATE | DATETIME |
//! | DATETIME, TIMESTAMP | DATETIME | DATETIME |
//! | TIME | DATETIME (from today) | TIME |
//! | anything else | a text: a date if it holds one and the unit allows, else date and time | |
//!
//! Leaving the calendar is NULL with warning 1441.

use types::{DateMode, Datum, DatumRef, Duration, EvalType, FieldType, Time, TimeKind, TypeKind};

use super::interval::{Interval, IntervalUnit};
use super::{Temporal, clipped, from_total_micros, fsp_of, is_countable, print, total_micros, unit_of};
use crate::build::cast;
use crate::context::BuildCtx;
use crate::error::Result;
use crate::expr::{CallData, Expr};
use crate::functions::{Args, Builtin, Special, Want};
use crate::result_type as rt;

pub(super) const SPECIALS: &[Special] = &[
    Special { name: "date_add", arity: (3, 3), build: |args, ctx| build_add(args, ctx, false) },
    Special { name: "date_sub", arity: (3, 3), build: |args, ctx| build_add(args, ctx, true) },
    Special { name: "adddate", arity: (2, 3), build: |args, ctx| build_add(args, ctx, false) },
    Special { name: "subdate", arity: (2, 3), build: |args, ctx| build_add(args, ctx, true) },
    Special { name: "timestampadd", arity: (3, 3), build: build_timestampadd },
    Special { name: "addtime", arity: (2, 2), build: |args, ctx| build_addtime(&ADDTIME, args, ctx) },
    Special { name: "subtime", arity: (2, 2), build: |args, ctx| build_addtime(&SUBTIME, args, ctx) },
    Special { name: "timestamp", arity: (1, 2), build: build_timestamp },
];

static DATE_ADD: Builtin = Builtin::new("date_add", (2, 2), &[Want::Any], |_| rt::null(), |a| shifted(a, false));
static DATE_SUB: Builtin = Builtin::new("date_sub", (2, 2), &[Want::Any], |_| rt::null(), |a| shifted(a, true));
static ADDTIME: Builtin = Builtin::new("addtime", (2, 2), &[Want::Any], |_| rt::null(), |a| add_time(a, false));
static SUBTIME: Builtin = Builtin::new("subtime", (2, 2), &[Want::Any], |_| rt::null(), |a| add_time(a, true));
static TIMESTAMP: Builtin = Builtin::new("timestamp", (2, 2), &[Want::DateTime, Want::Duration], |_| rt::datetime(6), timestamp);

fn build_timestampadd(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    args.rotate_left(1);
    args.swap(0, 1);
    build_add(args, ctx, false)
}

fn build_add(mut args: Vec<Expr>, ctx: &BuildCtx<'_>, subtract: bool) -> Result<Expr> {
    let builtin = if subtract { &DATE_SUB } else { &DATE_ADD };
    let unit = match args.len() {
        3 => unit_of(&args.remove(2), builtin.name)?,
        _ => IntervalUnit::Day,
    };
    let value = interval_operand(args.remove(1), unit, ctx)?;
    let base = args.remove(0);
    let fraction = match unit {
        _ if unit.has_micros() => 6,
        IntervalUnit::Second => rt::fsp_of(value.field_type()),
        _ => 0,
    };
    let (base, ty) = typed_base(base, unit, fraction, ctx)?;
    let mut built = builtin.build_with(vec![base, value], ctx, CallData::Unit(unit))?;
    if let Expr::Call(call) = &mut built {
        if ty.tp.is_string() {
            call.coercibility = crate::collation::Coercibility::Coercible;
        }
        call.ty = ty;
    }
    Ok(built)
}

/// The interval's value: a text for compound units, a number with fraction for seconds, an integer else.
fn interval_operand(value: Expr, unit: IntervalUnit, ctx: &BuildCtx<'_>) -> Result<Expr> {
    if unit.is_compound() {
        return cast::to_string(value, ctx.eval.collation_connection, ctx);
    }
    match (unit, value.eval_type()) {
        (_, EvalType::Int) => Ok(value),
        (IntervalUnit::Second, EvalType::String) => {
            cast::to_type(value.clone(), &rt::decimal(rt::MAX_PRECISION, i32::from(fsp_of(&value))), ctx)
        }
        (IntervalUnit::Second, EvalType::Real) => cast::to_type(value, &rt::decimal(rt::MAX_PRECISION, 6), ctx),
        (IntervalUnit::Second, _) => cast::to_class(value, EvalType::Decimal, ctx),
        _ => cast::to_class(value, EvalType::Int, ctx),
    }
}

fn typed_base(base: Expr, unit: IntervalUnit, fraction: u8, ctx: &BuildCtx<'_>) -> Result<(Expr, FieldType)> {
    let fsp = fsp_of(&base).max(fraction);
    match (base.field_type().tp, base.eval_type()) {
        (TypeKind::Date, _) if unit.is_of_date() => Ok((base, rt::date())),
        (TypeKind::Date | TypeKind::DateTime, _) => Ok((base, rt::datetime(fsp))),
        (TypeKind::Timestamp, _) => Ok((cast::to_want(base, Want::DateTime, ctx.eval.collation_connection, ctx)?, rt::datetime(fsp))),
        (_, EvalType::Duration) if unit.is_of_date() => Ok((cast::to_class(base, EvalType::Time, ctx)?, rt::datetime(fsp))),
        (_, EvalType::Duration) => Ok((base, rt::time(fsp))),
        _ => {
            let collation = ctx.eval.collation_connection;
            Ok((cast::to_string(base, collation, ctx)?, rt::string(29, collation)))
        }
    }
}

/// The interval of an evaluation; `None` if it is longer than any time.
fn interval_of(a: &Args<'_>, unit: IntervalUnit) -> Option<Interval> {
    match a.datum(1) {
        DatumRef::Bytes(text) => Interval::parse(unit, text),
        DatumRef::Int(n) => Interval::of_count(unit, n),
        DatumRef::UInt(n) => Interval::of_count(unit, i64::try_from(n).ok()?),
        other => i64::try_from(crate::convert::exact(other).to_unscaled(6)?).ok().map(Interval::Micros),
    }
}

fn overflow(a: &Args<'_>, what: &str) -> Result<Datum> {
    a.warn(1441, format!("Datetime function: {what} field overflow"));
    Ok(Datum::Null)
}

fn not_a_date(a: &Args<'_>, text: &str) -> Result<Datum> {
    a.warn(1292, format!("Incorrect datetime value: '{text}'"));
    Ok(Datum::Null)
}

fn shifted(a: &Args<'_>, subtract: bool) -> Result<Datum> {
    let CallData::Unit(unit) = a.call.data else { return Ok(Datum::Null) };
    let Some(interval) = interval_of(a, unit) else { return overflow(a, "datetime") };
    let interval = if subtract { interval.negated() } else { interval };
    match a.datum(0) {
        DatumRef::Duration(d) => match interval {
            Interval::Micros(micros) => match d.micros().checked_add(micros).map(|m| Duration::from_micros(m, rt::fsp_of(&a.call.ty))) {
                Some(sum) if sum.in_range() => Ok(Datum::Duration(sum)),
                _ => overflow(a, "time"),
            },
            Interval::Months(_) => Ok(Datum::Null),
        },
        DatumRef::Time(t) => {
            if !is_countable(t) {
                return not_a_date(a, &t.to_string());
            }
            let kind = TimeKind::of(a.call.ty.tp).unwrap_or(TimeKind::DateTime);
            interval.after(t, kind, rt::fsp_of(&a.call.ty)).map_or_else(|| overflow(a, "datetime"), |t| Ok(Datum::Time(t)))
        }
        DatumRef::Bytes(text) => shifted_text(a, text, unit, interval),
        _ => Ok(Datum::Null),
    }
}

fn shifted_text(a: &Args<'_>, text: &[u8], unit: IntervalUnit, interval: Interval) -> Result<Datum> {
    let parsed = match Time::parse(text, TimeKind::DateTime, 6, &DateMode::default()) {
        Ok(parsed) if is_countable(parsed.time) => parsed,
        _ => return not_a_date(a, &String::from_utf8_lossy(text)),
    };
    if parsed.truncated {
        a.warn(1292, format!("Truncated incorrect datetime value: '{}'", String::from_utf8_lossy(text)));
    }
    let kind = if parsed.has_time || !unit.is_of_date() { TimeKind::DateTime } else { TimeKind::Date };
    match interval.after(parsed.time, kind, 6) {
        Some(t) => Ok(print(Temporal::At(t))),
        None => overflow(a, "datetime"),
    }
}

/// ADDTIME and SUBTIME: DATETIME stays DATETIME, TIME stays TIME, a text stays a text.
fn build_addtime(builtin: &'static Builtin, mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let collation = ctx.eval.collation_connection;
    let mut span = args.remove(1);
    if !matches!(span.eval_type(), EvalType::Duration | EvalType::String | EvalType::Time) {
        span = cast::to_string(span, collation, ctx)?;
    }
    let base = args.remove(0);
    let fsp = fsp_of(&base).max(fsp_of(&span));
    let (base, ty) = match base.eval_type() {
        EvalType::Time if base.field_type().tp == TypeKind::Date => (base, rt::string(29, collation)),
        EvalType::Time => (cast::to_want(base, Want::DateTime, collation, ctx)?, rt::datetime(fsp)),
        EvalType::Duration => (base, rt::time(fsp)),
        _ => (cast::to_string(base, collation, ctx)?, rt::string(29, collation)),
    };
    let mut built = builtin.build(vec![base, span], ctx)?;
    *built.field_type_mut() = ty;
    Ok(built)
}

fn add_time(a: &Args<'_>, subtract: bool) -> Result<Datum> {
    let zone = &a.ctx.time_zone;
    let bad = |i: usize| {
        if let DatumRef::Bytes(text) = a.datum(i) {
            a.warn(1292, format!("Truncated incorrect time value: '{}'", String::from_utf8_lossy(text)));
        }
        Ok(Datum::Null)
    };
    let Some(base) = Temporal::read(a.datum(0), zone) else { return bad(0) };
    // The second operand must be a span; a date is refused.
    let span = match Temporal::read(a.datum(1), zone) {
        Some(Temporal::Span(d)) => d.micros(),
        Some(Temporal::At(_)) => return Ok(Datum::Null),
        None => return bad(1),
    };
    let span = if subtract { -span } else { span };
    let fsp = rt::fsp_of(&a.call.ty);
    let sum = match base {
        Temporal::At(t) if !is_countable(t) => return not_a_date(a, &t.to_string()),
        Temporal::At(t) => {
            match from_total_micros(total_micros(t) + span, TimeKind::DateTime, if a.call.ty.tp.is_string() { 6 } else { fsp }) {
                Some(t) => Temporal::At(t),
                None => return overflow(a, "datetime"),
            }
        }
        Temporal::Span(d) => Temporal::Span(clipped(Duration::from_micros(d.micros() + span, fsp), a.ctx)),
    };
    Ok(match (a.call.ty.tp.is_string(), sum) {
        (true, sum) => print(sum),
        (false, Temporal::At(t)) => Datum::Time(t),
        (false, Temporal::Span(d)) => Datum::Duration(d),
    })
}

fn build_timestamp(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let fsp = args.iter().map(fsp_of).max().unwrap_or(0);
    if args.len() == 1 {
        return cast::to_type(args.remove(0), &rt::datetime(fsp), ctx);
    }
    let mut built = TIMESTAMP.build(args, ctx)?;
    *built.field_type_mut() = rt::datetime(fsp);
    Ok(built)
}

fn timestamp(a: &Args<'_>) -> Result<Datum> {
    let (Some(t), Some(d)) = (a.time(0), a.duration(1)) else { return Ok(Datum::Null) };
    let sum = from_total_micros(total_micros(t) + d.micros(), TimeKind::DateTime, rt::fsp_of(&a.call.ty));
    sum.map_or_else(|| overflow(a, "datetime"), |t| Ok(Datum::Time(t)))
}

//! UNIX_TIMESTAMP, FROM_UNIXTIME, CONVERT_TZ.

use types::time::MICROS_PER_SECOND;
use types::{Datum, Decimal, EvalType, Time, TimeKind, TimeZone, TypeKind};

use super::{fsp_of, is_countable};
use crate::build::cast;
use crate::context::BuildCtx;
use crate::error::Result;
use crate::expr::Expr;
use crate::functions::{Args, Builtin, Special, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] =
    &[Builtin::new("convert_tz", (3, 3), &[Want::DateTime, Want::Raw, Want::Raw], |s| rt::datetime(fsp_of(&s.args[0])), convert_tz)];

pub(super) const SPECIALS: &[Special] = &[
    Special { name: "unix_timestamp", arity: (0, 1), build: build_unix_timestamp },
    Special { name: "from_unixtime", arity: (1, 2), build: build_from_unixtime },
];

static UNIX_NOW: Builtin =
    Builtin::new("unix_timestamp", (0, 0), &[], |_| rt::int(), |a| Ok(Datum::Int(a.ctx.now_micros.div_euclid(MICROS_PER_SECOND))))
        .never_null()
        .of_session();
/// The argument is a TIMESTAMP or a local DATETIME; either has its moment.
static UNIX_TIMESTAMP: Builtin = Builtin::new("unix_timestamp", (1, 1), &[Want::Any], |_| rt::int(), unix_timestamp).of_session();
static FROM_UNIXTIME: Builtin = Builtin::new("from_unixtime", (1, 1), &[Want::Dec], |_| rt::datetime(6), from_unixtime).of_session();

/// The last moment MySQL 8.0.28 and later count: 3001-01-18 23:59:59 UTC.
const LAST_MICROS: i64 = 32_536_771_199 * MICROS_PER_SECOND + 999_999;

fn build_unix_timestamp(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let Some(arg) = args.pop() else { return UNIX_NOW.build(Vec::new(), ctx) };
    let fsp = fsp_of(&arg);
    let arg = if arg.field_type().tp == TypeKind::Timestamp { arg } else { cast::to_class(arg, EvalType::Time, ctx)? };
    let mut built = UNIX_TIMESTAMP.build(vec![arg], ctx)?;
    *built.field_type_mut() = if fsp == 0 { rt::int() } else { rt::decimal(11 + i32::from(fsp), i32::from(fsp)) };
    Ok(built)
}

fn unix_timestamp(a: &Args<'_>) -> Result<Datum> {
    let Some(t) = a.time(0) else { return Ok(Datum::Null) };
    let micros = match t.kind() {
        TimeKind::Timestamp => t.unix_micros(),
        // A skipped local time counts as the moment clocks were put forward.
        _ if is_countable(t) => a.ctx.time_zone.to_unix_micros(t).unwrap_or_else(|change| change),
        _ => 0,
    };
    let micros = if (0..=LAST_MICROS).contains(&micros) { micros } else { 0 };
    if a.call.ty.tp.eval_type() == EvalType::Decimal {
        return Ok(Datum::Decimal(Decimal::from_unscaled(i128::from(micros), 6).at_scale(a.call.ty.decimal.max(0) as u8)));
    }
    Ok(Datum::Int(micros / MICROS_PER_SECOND))
}

fn build_from_unixtime(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let format = if args.len() == 2 { args.pop() } else { None };
    let fsp = args.first().map_or(0, |a| rt::fsp_of(a.field_type()));
    let mut built = FROM_UNIXTIME.build(args, ctx)?;
    *built.field_type_mut() = rt::datetime(fsp);
    match format {
        Some(format) => crate::functions::build_call("date_format", vec![built, format], ctx),
        None => Ok(built),
    }
}

fn from_unixtime(a: &Args<'_>) -> Result<Datum> {
    let micros = a.decimal(0).to_unscaled(6).and_then(|m| i64::try_from(m).ok()).filter(|m| (0..=LAST_MICROS).contains(m));
    let Some(micros) = micros else { return Ok(Datum::Null) };
    let local = micros + i64::from(a.ctx.time_zone.offset_at(micros)) * MICROS_PER_SECOND;
    let time = Time::from_unix_micros(local, TimeKind::DateTime, 6).and_then(|t| t.round_to_fsp(rt::fsp_of(&a.call.ty)));
    Ok(time.map_or(Datum::Null, Datum::Time))
}

fn convert_tz(a: &Args<'_>) -> Result<Datum> {
    let zones = (TimeZone::parse(&a.text(1)), TimeZone::parse(&a.text(2)));
    let (Some(t), (Ok(from), Ok(to))) = (a.time(0), zones) else { return Ok(Datum::Null) };
    if !is_countable(t) {
        return Ok(Datum::Null);
    }
    let micros = from.to_unix_micros(t).unwrap_or_else(|change| change);
    // Outside of what a TIMESTAMP can hold, the value stays as it is.
    if !(0..=LAST_MICROS).contains(&micros) {
        return Ok(Datum::Time(t));
    }
    let local = micros + i64::from(to.offset_at(micros)) * MICROS_PER_SECOND;
    Ok(Time::from_unix_micros(local, TimeKind::DateTime, rt::fsp_of(&a.call.ty)).map_or(Datum::Null, Datum::Time))
}

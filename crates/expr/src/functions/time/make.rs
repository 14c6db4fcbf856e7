//! MAKEDATE, MAKETIME, SEC_TO_TIME, TIME_TO_SEC.

use types::time::MICROS_PER_SECOND;
use types::{Datum, Duration, EvalType, Time, TimeKind};

use super::clipped;
use crate::build::cast;
use crate::context::BuildCtx;
use crate::error::Result;
use crate::expr::Expr;
use crate::functions::{Args, Builtin, Special, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("makedate", (2, 2), &[Want::Int], |_| rt::date(), makedate),
    Builtin::new(
        "time_to_sec",
        (1, 1),
        &[Want::Duration],
        |_| rt::int_of(10),
        |a| Ok(a.duration(0).map_or(Datum::Null, |d| Datum::Int(d.micros() / MICROS_PER_SECOND))),
    ),
];

pub(super) const SPECIALS: &[Special] = &[
    Special { name: "maketime", arity: (3, 3), build: build_maketime },
    Special { name: "sec_to_time", arity: (1, 1), build: build_sec_to_time },
];

static MAKETIME: Builtin = Builtin::new("maketime", (3, 3), &[Want::Int, Want::Int, Want::Dec], |_| rt::time(6), maketime);
static SEC_TO_TIME: Builtin = Builtin::new("sec_to_time", (1, 1), &[Want::Dec], |_| rt::time(6), sec_to_time);

fn makedate(a: &Args<'_>) -> Result<Datum> {
    let year = match a.int(0) {
        y @ 0..=69 => y + 2000,
        y @ 70..=99 => y + 1900,
        y => y,
    };
    let day = a.int(1);
    if !(0..=9999).contains(&year) || !(1..=4_000_000).contains(&day) {
        return Ok(Datum::Null);
    }
    let first = types::time::calendar::day_number(year as u16, 1, 1);
    Ok(Time::from_day_and_micros(first + day - 1, 0, TimeKind::Date, 0).map_or(Datum::Null, Datum::Time))
}

/// Seconds with the digits their argument has.
fn with_seconds(e: Expr, ctx: &BuildCtx<'_>) -> Result<(Expr, u8)> {
    let fsp = rt::fsp_of(e.field_type());
    match e.eval_type() {
        EvalType::String | EvalType::Real => Ok((cast::to_type(e, &rt::decimal(rt::MAX_PRECISION, 6), ctx)?, fsp)),
        _ => Ok((e, fsp)),
    }
}

fn build_maketime(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let (seconds, fsp) = with_seconds(args.remove(2), ctx)?;
    args.push(seconds);
    let mut built = MAKETIME.build(args, ctx)?;
    *built.field_type_mut() = rt::time(fsp);
    Ok(built)
}

fn maketime(a: &Args<'_>) -> Result<Datum> {
    let (hour, minute) = (a.int(0), a.int(1));
    let micros = a.decimal(2).to_unscaled(6).and_then(|m| i64::try_from(m).ok()).unwrap_or(-1);
    if !(0..60).contains(&minute) || !(0..60 * MICROS_PER_SECOND).contains(&micros) {
        return Ok(Datum::Null);
    }
    // Far beyond the longest TIME is as good as just beyond it.
    let hours = if a.is_unsigned(0) { a.int(0).min(10_000) } else { hour.clamp(-10_000, 10_000) };
    let magnitude = (hours.abs() * 3600 + minute * 60) * MICROS_PER_SECOND + micros;
    let signed = if hours < 0 { -magnitude } else { magnitude };
    Ok(Datum::Duration(clipped(Duration::from_micros(signed, rt::fsp_of(&a.call.ty)), a.ctx)))
}

fn build_sec_to_time(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let (seconds, fsp) = with_seconds(args.remove(0), ctx)?;
    let mut built = SEC_TO_TIME.build(vec![seconds], ctx)?;
    *built.field_type_mut() = rt::time(fsp);
    Ok(built)
}

fn sec_to_time(a: &Args<'_>) -> Result<Datum> {
    let seconds = a.decimal(0);
    let micros = seconds.to_unscaled(6).and_then(|m| i64::try_from(m).ok());
    let fsp = rt::fsp_of(&a.call.ty);
    let micros = micros.unwrap_or(if seconds.is_negative() { i64::MIN / 2 } else { i64::MAX / 2 });
    Ok(Datum::Duration(clipped(Duration::from_micros(micros, fsp), a.ctx)))
}

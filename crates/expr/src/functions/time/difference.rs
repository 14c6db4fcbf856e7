//! DATEDIFF, TIMEDIFF, TIMESTAMPDIFF, PERIOD_ADD, PERIOD_DIFF, TO_DAYS, FROM_DAYS, TO_SECONDS.

use types::time::{MICROS_PER_DAY, MICROS_PER_SECOND};
use types::{Datum, Duration, EvalType, Time, TimeKind};

use super::interval::IntervalUnit;
use super::{Temporal, clipped, fsp_of, is_countable, total_micros, unit_of};
use crate::build::cast;
use crate::context::BuildCtx;
use crate::error::{Error, Result};
use crate::expr::{CallData, Expr};
use crate::functions::{Args, Builtin, Special, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("datediff", (2, 2), &[Want::DateTime], |_| rt::int_of(7), datediff),
    Builtin::new("to_days", (1, 1), &[Want::DateTime], |_| rt::int_of(6), to_days),
    Builtin::new("from_days", (1, 1), &[Want::Int], |_| rt::date(), from_days),
    Builtin::new("to_seconds", (1, 1), &[Want::DateTime], |_| rt::int(), to_seconds),
    Builtin::new("period_add", (2, 2), &[Want::Int], |_| rt::int_of(6), period_add),
    Builtin::new("period_diff", (2, 2), &[Want::Int], |_| rt::int_of(6), period_diff),
];

pub(super) const SPECIALS: &[Special] = &[
    Special { name: "timediff", arity: (2, 2), build: build_timediff },
    Special { name: "timestampdiff", arity: (3, 3), build: build_timestampdiff },
];

static TIMEDIFF: Builtin = Builtin::new("timediff", (2, 2), &[Want::Any], |_| rt::time(6), timediff);
static TIMESTAMPDIFF: Builtin = Builtin::new("timestampdiff", (2, 2), &[Want::DateTime], |_| rt::int(), timestampdiff);

/// A date that can be counted from; others are NULL.
fn countable(a: &Args<'_>, i: usize) -> Option<Time> {
    a.time(i).filter(|t| is_countable(*t))
}

fn datediff(a: &Args<'_>) -> Result<Datum> {
    Ok(match (countable(a, 0), countable(a, 1)) {
        (Some(x), Some(y)) => Datum::Int(x.day_number() - y.day_number()),
        _ => Datum::Null,
    })
}

fn to_days(a: &Args<'_>) -> Result<Datum> {
    Ok(countable(a, 0).map_or(Datum::Null, |t| Datum::Int(t.day_number())))
}

fn to_seconds(a: &Args<'_>) -> Result<Datum> {
    Ok(countable(a, 0).map_or(Datum::Null, |t| Datum::Int(total_micros(t).div_euclid(MICROS_PER_SECOND))))
}

/// Day numbers of the first year, and those behind the calendar, are the zero date.
fn from_days(a: &Args<'_>) -> Result<Datum> {
    let number = a.int(0);
    let date = if number > 365 { Time::from_day_and_micros(number, 0, TimeKind::Date, 0) } else { None };
    Ok(Datum::Time(date.unwrap_or(Time::zero(TimeKind::Date, 0))))
}

fn build_timediff(args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let fsp = args.iter().map(fsp_of).max().unwrap_or(0);
    let as_text = |e: Expr| match e.eval_type() {
        EvalType::Time | EvalType::Duration | EvalType::String => Ok(e),
        _ => cast::to_string(e, ctx.eval.collation_connection, ctx),
    };
    let args = args.into_iter().map(as_text).collect::<Result<Vec<_>>>()?;
    let mut built = TIMEDIFF.build(args, ctx)?;
    *built.field_type_mut() = rt::time(fsp);
    Ok(built)
}

/// Both must be dates with time, or both spans.
fn timediff(a: &Args<'_>) -> Result<Datum> {
    let zone = &a.ctx.time_zone;
    let micros = match (Temporal::read(a.datum(0), zone), Temporal::read(a.datum(1), zone)) {
        (Some(Temporal::At(x)), Some(Temporal::At(y))) => total_micros(x) - total_micros(y),
        (Some(Temporal::Span(x)), Some(Temporal::Span(y))) => x.micros() - y.micros(),
        _ => return Ok(Datum::Null),
    };
    let fsp = rt::fsp_of(&a.call.ty);
    Ok(Datum::Duration(clipped(Duration::from_micros(micros, fsp), a.ctx)))
}

fn build_timestampdiff(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let unit = unit_of(&args.remove(0), "timestampdiff")?;
    if unit.is_compound() {
        return Err(Error::WrongArguments { name: "timestampdiff".into() });
    }
    TIMESTAMPDIFF.build_with(args, ctx, CallData::Unit(unit))
}

/// Whole calendar months from one time to a later one.
fn months_between(from: Time, to: Time) -> i64 {
    let index = |t: Time| i64::from(t.year()) * 12 + i64::from(t.month());
    let rest = |t: Time| i64::from(t.day()) * MICROS_PER_DAY + t.micros_of_day();
    index(to) - index(from) - i64::from(rest(to) < rest(from))
}

fn timestampdiff(a: &Args<'_>) -> Result<Datum> {
    let CallData::Unit(unit) = a.call.data else { return Ok(Datum::Null) };
    let (Some(from), Some(to)) = (countable(a, 0), countable(a, 1)) else { return Ok(Datum::Null) };
    let months = || if to >= from { months_between(from, to) } else { -months_between(to, from) };
    Ok(Datum::Int(match unit {
        IntervalUnit::Month => months(),
        IntervalUnit::Quarter => months() / 3,
        IntervalUnit::Year => months() / 12,
        _ => (total_micros(to) - total_micros(from)) / unit.micros().unwrap_or(1),
    }))
}

/// Months since the year 0 of `YYMM` or `YYYYMM`; `None` if that is no period.
fn period_months(period: i64) -> Option<i64> {
    let (year, month) = (period / 100, period % 100);
    if !(1..100 * LAST_PERIOD_MONTH / 12).contains(&period) || !(1..=12).contains(&month) {
        return None;
    }
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    Some(year * 12 + month - 1)
}

/// Periods have at most 12 digits of a year.
const LAST_PERIOD_MONTH: i64 = 12_000_000_000_000;

fn bad_period(name: &str) -> Error {
    Error::WrongArguments { name: name.to_owned() }
}

fn period_add(a: &Args<'_>) -> Result<Datum> {
    let months = period_months(a.int(0)).ok_or_else(|| bad_period("period_add"))?;
    let sum = months.checked_add(a.int(1)).filter(|m| (0..LAST_PERIOD_MONTH).contains(m)).ok_or_else(|| bad_period("period_add"))?;
    Ok(Datum::Int(sum / 12 * 100 + sum % 12 + 1))
}

fn period_diff(a: &Args<'_>) -> Result<Datum> {
    let months = |i| period_months(a.int(i)).ok_or_else(|| bad_period("period_diff"));
    Ok(Datum::Int(months(0)? - months(1)?))
}

//! Parts of dates and times: YEAR … MICROSECOND, EXTRACT, the calendar's names and numbers, DATE(), TIME(), LAST_DAY.

use types::time::calendar::{self, WeekMode};
use types::{Datum, Duration, EvalType, Time, TimeKind};

use super::interval::IntervalUnit;
use super::{Temporal, fsp_of, is_countable, unit_of};
use crate::build::cast;
use crate::context::BuildCtx;
use crate::error::Result;
use crate::expr::{CallData, Expr};
use crate::functions::{Args, Builtin, Special, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("year", (1, 1), &[Want::DateTime], |_| rt::int_of(4), |a| of_date(a, |t| i64::from(t.year()))),
    Builtin::new("quarter", (1, 1), &[Want::DateTime], |_| rt::int_of(1), |a| of_date(a, |t| (i64::from(t.month()) + 2) / 3)),
    Builtin::new("month", (1, 1), &[Want::DateTime], |_| rt::int_of(2), |a| of_date(a, |t| i64::from(t.month()))),
    Builtin::new("dayofmonth", (1, 1), &[Want::DateTime], |_| rt::int_of(2), |a| of_date(a, |t| i64::from(t.day()))),
    Builtin::new("hour", (1, 1), &[Want::Duration], |_| rt::int_of(3), |a| of_span(a, |d| d.hours() as i64)),
    Builtin::new("minute", (1, 1), &[Want::Duration], |_| rt::int_of(2), |a| of_span(a, |d| i64::from(d.minutes()))),
    Builtin::new("second", (1, 1), &[Want::Duration], |_| rt::int_of(2), |a| of_span(a, |d| i64::from(d.seconds()))),
    Builtin::new("microsecond", (1, 1), &[Want::Duration], |_| rt::int_of(6), |a| of_span(a, |d| i64::from(d.micro()))),
    Builtin::new(
        "dayofweek",
        (1, 1),
        &[Want::DateTime],
        |_| rt::int_of(1),
        |a| of_day(a, |t| (i64::from(calendar::weekday(t.day_number())) + 1) % 7 + 1),
    ),
    Builtin::new("weekday", (1, 1), &[Want::DateTime], |_| rt::int_of(1), |a| of_day(a, |t| i64::from(calendar::weekday(t.day_number())))),
    Builtin::new(
        "dayofyear",
        (1, 1),
        &[Want::DateTime],
        |_| rt::int_of(3),
        |a| of_day(a, |t| i64::from(calendar::day_of_year(t.year(), t.month(), t.day()))),
    ),
    Builtin::new("week", (1, 2), &[Want::DateTime, Want::Int], |_| rt::int_of(2), week),
    Builtin::new("weekofyear", (1, 1), &[Want::DateTime], |_| rt::int_of(2), |a| of_day(a, |t| week_of(t, WeekMode::new(3)).1)),
    Builtin::new("yearweek", (1, 2), &[Want::DateTime, Want::Int], |_| rt::int_of(6), yearweek),
    Builtin::new("dayname", (1, 1), &[Want::DateTime], |s| s.connection_string(9), dayname),
    Builtin::new("monthname", (1, 1), &[Want::DateTime], |s| s.connection_string(9), monthname),
    Builtin::new("last_day", (1, 1), &[Want::DateTime], |_| rt::date(), last_day),
];

pub(super) const SPECIALS: &[Special] = &[
    Special { name: "extract", arity: (2, 2), build: build_extract },
    Special { name: "date", arity: (1, 1), build: |mut args, ctx| cast::to_type(args.remove(0), &rt::date(), ctx) },
    Special { name: "time", arity: (1, 1), build: build_time },
];

static EXTRACT: Builtin = Builtin::new("extract", (1, 1), &[Want::Any], |_| rt::int(), extract);

/// English names of the months, from January.
pub(super) const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
/// English names of the days, from Monday.
pub(super) const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

fn of_date(a: &Args<'_>, f: fn(Time) -> i64) -> Result<Datum> {
    Ok(a.time(0).map_or(Datum::Null, |t| Datum::Int(f(t))))
}

fn of_span(a: &Args<'_>, f: fn(Duration) -> i64) -> Result<Datum> {
    Ok(a.duration(0).map_or(Datum::Null, |d| Datum::Int(f(d))))
}

/// For what only a complete date has; NULL for others.
fn of_day(a: &Args<'_>, f: fn(Time) -> i64) -> Result<Datum> {
    Ok(a.time(0).filter(|t| is_countable(*t)).map_or(Datum::Null, |t| Datum::Int(f(t))))
}

/// Year and week.
pub(super) fn week_of(t: Time, mode: WeekMode) -> (i64, i64) {
    let (year, week) = calendar::week(t.year(), t.month(), t.day(), mode);
    (i64::from(year), i64::from(week))
}

fn week(a: &Args<'_>) -> Result<Datum> {
    let Some(t) = a.time(0).filter(|t| is_countable(*t)) else { return Ok(Datum::Null) };
    let mode = if a.len() == 2 { a.int(1) } else { i64::from(a.ctx.default_week_format) };
    Ok(Datum::Int(week_of(t, WeekMode::new(mode)).1))
}

fn yearweek(a: &Args<'_>) -> Result<Datum> {
    let Some(t) = a.time(0).filter(|t| is_countable(*t)) else { return Ok(Datum::Null) };
    // Weeks of YEARWEEK belong to a year in every mode.
    let mode = (if a.len() == 2 { a.int(1) } else { 0 }) | 2;
    let (year, week) = week_of(t, WeekMode::new(mode));
    Ok(Datum::Int(year * 100 + week))
}

fn name(text: &str) -> Result<Datum> {
    Ok(Datum::Bytes(text.as_bytes().to_vec()))
}

fn dayname(a: &Args<'_>) -> Result<Datum> {
    match a.time(0).filter(|t| is_countable(*t)) {
        Some(t) => name(DAYS[usize::from(calendar::weekday(t.day_number()))]),
        None => Ok(Datum::Null),
    }
}

fn monthname(a: &Args<'_>) -> Result<Datum> {
    match a.time(0).and_then(|t| MONTHS.get(usize::from(t.month()).wrapping_sub(1))) {
        Some(month) => name(month),
        None => Ok(Datum::Null),
    }
}

fn last_day(a: &Args<'_>) -> Result<Datum> {
    let date =
        a.time(0).filter(|t| t.month() != 0).and_then(|t| Time::date(t.year(), t.month(), calendar::days_in_month(t.year(), t.month())));
    Ok(date.map_or(Datum::Null, Datum::Time))
}

fn build_time(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let arg = args.remove(0);
    let fsp = fsp_of(&arg);
    cast::to_type(arg, &rt::time(fsp), ctx)
}

/// Units of dates read dates, units of times read spans; units from days down to smaller ones take what there is.
fn build_extract(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let unit = unit_of(&args.remove(0), "extract")?;
    let arg = args.remove(0);
    let arg = match arg.eval_type() {
        EvalType::Time | EvalType::Duration => arg,
        _ if unit.is_of_date() => cast::to_class(arg, EvalType::Time, ctx)?,
        _ => cast::to_string(arg, ctx.eval.collation_connection, ctx)?,
    };
    EXTRACT.build_with(vec![arg], ctx, CallData::Unit(unit))
}

fn extract(a: &Args<'_>) -> Result<Datum> {
    use IntervalUnit as U;
    let CallData::Unit(unit) = a.call.data else { return Ok(Datum::Null) };
    let Some(value) = Temporal::read(a.datum(0), &a.ctx.time_zone) else {
        a.warn(1292, format!("Truncated incorrect time value: '{}'", a.text(0)));
        return Ok(Datum::Null);
    };
    let (date, span) = match value {
        Temporal::At(t) => (t, t.to_duration()),
        Temporal::Span(_) if matches!(a.datum(0), types::DatumRef::Time(_)) => {
            (a.time(0).unwrap_or(Time::zero(TimeKind::Date, 0)), Duration::ZERO)
        }
        Temporal::Span(d) if unit.is_of_date() => match cast_today(a, d) {
            Some(t) => (t, d),
            None => return Ok(Datum::Null),
        },
        Temporal::Span(d) => (Time::zero(TimeKind::DateTime, 6), d),
    };
    let day = i64::from(date.day());
    let (hour, minute, second, micro) =
        (span.hours() as i64, i64::from(span.minutes()), i64::from(span.seconds()), i64::from(span.micro()));
    let hm = hour * 100 + minute;
    let hms = hm * 100 + second;
    let value = match unit {
        U::Year => i64::from(date.year()),
        U::Quarter => (i64::from(date.month()) + 2) / 3,
        U::Month => i64::from(date.month()),
        U::YearMonth => i64::from(date.year()) * 100 + i64::from(date.month()),
        U::Week => week_of(date, WeekMode::new(i64::from(a.ctx.default_week_format))).1,
        U::Day => day,
        U::DayHour => day * 100 + hour,
        U::DayMinute => day * 10_000 + hm,
        U::DaySecond => day * 1_000_000 + hms,
        U::DayMicrosecond => (day * 1_000_000 + hms) * 1_000_000 + micro,
        U::Hour => hour,
        U::HourMinute => hm,
        U::HourSecond => hms,
        U::HourMicrosecond => hms * 1_000_000 + micro,
        U::Minute => minute,
        U::MinuteSecond => minute * 100 + second,
        U::MinuteMicrosecond => (minute * 100 + second) * 1_000_000 + micro,
        U::Second => second,
        U::SecondMicrosecond => second * 1_000_000 + micro,
        U::Microsecond => micro,
    };
    Ok(Datum::Int(if span.is_negative() && !unit.is_of_date() { -value } else { value }))
}

/// A span as the date and time so long after today's midnight.
fn cast_today(a: &Args<'_>, d: Duration) -> Option<Time> {
    let today = crate::convert::local_now(a.ctx, 0).day_number() * types::time::MICROS_PER_DAY;
    super::from_total_micros(today + d.micros(), TimeKind::DateTime, 6)
}

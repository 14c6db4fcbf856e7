//! Date and time functions.
//!
//! Their arguments come as local DATETIME or TIME values: the build step turns TIMESTAMPs into local time, texts and
//! numbers into temporal values, and what is none of them is NULL with a warning before a function sees it. Functions
//! whose result depends on what a *text* holds (DATE_ADD, ADDTIME, TIMEDIFF) look at the text themselves.

mod arithmetic;
mod clock;
mod difference;
mod epoch;
mod extract;
mod format;
pub(crate) mod interval;
mod make;
mod str_to_date;

use types::time::{MICROS_PER_DAY, calendar};
use types::{DateMode, Datum, DatumRef, Duration, EvalType, Time, TimeKind, TypeKind};

use super::{Builtin, Special};
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::result_type as rt;
use interval::IntervalUnit;

/// The tables of this family.
pub(super) const TABLES: &[&[Builtin]] = &[difference::TABLE, epoch::TABLE, extract::TABLE, format::TABLE, make::TABLE];
/// Functions of this family that build themselves.
pub(super) const SPECIALS: &[&[Special]] = &[
    arithmetic::SPECIALS,
    clock::SPECIALS,
    difference::SPECIALS,
    epoch::SPECIALS,
    extract::SPECIALS,
    format::SPECIALS,
    make::SPECIALS,
    str_to_date::SPECIALS,
];

/// The unit named by a constant argument.
fn unit_of(e: &Expr, function: &str) -> Result<IntervalUnit> {
    let wrong = || Error::WrongArguments { name: function.to_owned() };
    match e.as_constant() {
        Some(Datum::Bytes(name)) => IntervalUnit::by_name(&String::from_utf8_lossy(name)).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

/// Digits of fractional seconds an expression has as a temporal value; a constant text has those that are written.
pub(crate) fn fsp_of(e: &Expr) -> u8 {
    match e.as_constant() {
        Some(Datum::Bytes(text)) if e.eval_type() == EvalType::String => {
            let digits =
                text.iter().rposition(|b| *b == b'.').map_or(0, |at| text[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count());
            digits.min(6) as u8
        }
        _ if e.field_type().tp == TypeKind::Null => 0,
        _ => rt::fsp_of(e.field_type()),
    }
}

/// A text is read as a date with time only if it has this many characters.
const SHORTEST_DATETIME: usize = 12;

/// A value that is a date with time, or a span of time.
#[derive(Clone, Copy)]
enum Temporal {
    At(Time),
    Span(Duration),
}

impl Temporal {
    /// Reads a value; a text is a date with time if it can be read as one. `None` for what is neither.
    fn read(value: DatumRef<'_>, zone: &types::TimeZone) -> Option<Temporal> {
        match value {
            // A date has no time of day to compute with.
            DatumRef::Time(t) if t.kind() == TimeKind::Date => Some(Temporal::Span(Duration::ZERO)),
            DatumRef::Time(t) => Some(Temporal::At(t.to_zone(zone))),
            DatumRef::Duration(d) => Some(Temporal::Span(d)),
            DatumRef::Bytes(text) => {
                if text.trim_ascii().len() >= SHORTEST_DATETIME
                    && let Ok(parsed) = Time::parse(text, TimeKind::DateTime, 6, &DateMode::default())
                    && parsed.has_time
                {
                    return Some(Temporal::At(parsed.time));
                }
                Duration::parse(text, 6).ok().map(|parsed| Temporal::Span(parsed.duration))
            }
            _ => None,
        }
    }
}

/// Microseconds since the start of day 0.
fn total_micros(t: Time) -> i64 {
    t.day_number() * MICROS_PER_DAY + t.micros_of_day()
}

/// The DATETIME that many microseconds after the start of day 0.
fn from_total_micros(micros: i64, kind: TimeKind, fsp: u8) -> Option<Time> {
    Time::from_day_and_micros(micros.div_euclid(MICROS_PER_DAY), micros.rem_euclid(MICROS_PER_DAY), kind, fsp)
}

/// The date is one that arithmetic can start from.
fn is_countable(t: Time) -> bool {
    t.month() != 0 && t.day() != 0 && t.day() <= calendar::days_in_month(t.year(), t.month())
}

/// The value as MySQL prints a computed text: six digits of a fraction, or none if it is zero.
fn print(value: Temporal) -> Datum {
    let mut out = Vec::with_capacity(26);
    match value {
        Temporal::At(t) => t.with_kind(t.kind(), if t.micro() == 0 { 0 } else { 6 }).write_text(&mut out),
        Temporal::Span(d) => d.with_fsp(if d.micro() == 0 { 0 } else { 6 }).write_text(&mut out),
    }
    Datum::Bytes(out)
}

/// The longest TIME with a warning, if the span is longer (1292).
fn clipped(d: Duration, ctx: &crate::context::EvalCtx) -> Duration {
    if d.in_range() {
        return d;
    }
    ctx.warn(1292, format!("Truncated incorrect time value: '{d}'"));
    Duration::max_value(d.is_negative(), d.fsp())
}

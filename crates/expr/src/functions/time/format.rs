//! DATE_FORMAT, TIME_FORMAT, GET_FORMAT.

use std::fmt::Write;

use types::time::calendar::{self, WeekMode};
use types::{Datum, Duration, Time};

use super::extract::{DAYS, MONTHS, week_of};
use crate::context::BuildCtx;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::functions::{Args, Builtin, Special, Want};

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("date_format", (2, 2), &[Want::DateTime, Want::Raw], |s| s.connection_string(format_chars(s)), date_format),
    Builtin::new("time_format", (2, 2), &[Want::Duration, Want::Raw], |s| s.connection_string(format_chars(s)), time_format),
];

pub(super) const SPECIALS: &[Special] = &[Special { name: "get_format", arity: (2, 2), build: build_get_format }];

/// No specifier prints more than ten times its own two characters.
fn format_chars(s: &crate::functions::Signature<'_>) -> i64 {
    let chars = s.chars(1);
    if chars < 0 { -1 } else { chars * 10 }
}

fn two_digit_hour(hour: u64) -> u64 {
    match hour % 12 {
        0 => 12,
        h => h,
    }
}

/// Writes the part of a time of day; false if the letter is none.
fn write_time_part(out: &mut String, letter: char, d: Duration) -> Option<()> {
    let (hour, minute, second, micro) = (d.hours(), d.minutes(), d.seconds(), d.micro());
    let half = if hour % 24 < 12 { "AM" } else { "PM" };
    let written = match letter {
        'f' => write!(out, "{micro:06}"),
        'H' => write!(out, "{hour:02}"),
        'k' => write!(out, "{hour}"),
        'h' | 'I' => write!(out, "{:02}", two_digit_hour(hour)),
        'l' => write!(out, "{}", two_digit_hour(hour)),
        'i' => write!(out, "{minute:02}"),
        's' | 'S' => write!(out, "{second:02}"),
        'p' => write!(out, "{half}"),
        'r' => write!(out, "{:02}:{minute:02}:{second:02} {half}", two_digit_hour(hour)),
        'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
        _ => return None,
    };
    written.ok()
}

fn ordinal_suffix(day: u8) -> &'static str {
    match (day, day % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

/// Writes the part of a date; `None` if the date has no such part (a name of month 0) or the letter is none.
fn write_date_part(out: &mut String, letter: char, t: Time) -> Option<()> {
    let month_name = || MONTHS.get(usize::from(t.month()).wrapping_sub(1)).copied();
    let day_name = || (t.month() != 0 || t.year() != 0).then(|| DAYS[usize::from(calendar::weekday(t.day_number()))]);
    let week = |mode| week_of(t, WeekMode::new(mode));
    let written = match letter {
        'Y' => write!(out, "{:04}", t.year()),
        'y' => write!(out, "{:02}", t.year() % 100),
        'm' => write!(out, "{:02}", t.month()),
        'c' => write!(out, "{}", t.month()),
        'd' => write!(out, "{:02}", t.day()),
        'e' => write!(out, "{}", t.day()),
        'D' => write!(out, "{}{}", t.day(), ordinal_suffix(t.day())),
        'M' => write!(out, "{}", month_name()?),
        'b' => write!(out, "{}", &month_name()?[..3]),
        'W' => write!(out, "{}", day_name()?),
        'a' => write!(out, "{}", &day_name()?[..3]),
        'w' => write!(out, "{}", (calendar::weekday(t.day_number()) + 1) % 7),
        'j' => write!(out, "{:03}", calendar::day_of_year(t.year(), t.month(), t.day())),
        'U' => write!(out, "{:02}", week(0).1),
        'u' => write!(out, "{:02}", week(1).1),
        'V' => write!(out, "{:02}", week(2).1),
        'v' => write!(out, "{:02}", week(3).1),
        'X' => write!(out, "{:04}", week(2).0),
        'x' => write!(out, "{:04}", week(3).0),
        _ => return None,
    };
    written.ok()
}

const DATE_LETTERS: &str = "YymcdeDMbWawjUuVvXx";
const TIME_LETTERS: &str = "fHkhIlisSprT";

fn date_format(a: &Args<'_>) -> Result<Datum> {
    let Some(t) = a.time(0) else { return Ok(Datum::Null) };
    let format = a.text(1);
    let mut out = String::with_capacity(format.len() * 2);
    let mut letters = format.chars();
    while let Some(c) = letters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match letters.next() {
            Some(l) if DATE_LETTERS.contains(l) => {
                if write_date_part(&mut out, l, t).is_none() {
                    return Ok(Datum::Null);
                }
            }
            Some(l) => {
                if write_time_part(&mut out, l, t.to_duration()).is_none() {
                    out.push(l);
                }
            }
            None => out.push('%'),
        }
    }
    Ok(Datum::Bytes(out.into_bytes()))
}

/// Specifiers of dates are NULL, except that the numeric ones are zero.
fn time_format(a: &Args<'_>) -> Result<Datum> {
    let Some(d) = a.duration(0) else { return Ok(Datum::Null) };
    let format = a.text(1);
    let mut out = String::with_capacity(format.len() * 2);
    if d.is_negative() {
        out.push('-');
    }
    let mut letters = format.chars();
    while let Some(c) = letters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match letters.next() {
            Some(l) if TIME_LETTERS.contains(l) => {
                // The half of the day is that of the hour within its day.
                let _ = write_time_part(&mut out, l, d);
            }
            Some('Y' | 'X' | 'x') => out.push_str("0000"),
            Some('y' | 'm' | 'd') => out.push_str("00"),
            Some('c' | 'e') => out.push('0'),
            Some(l) if DATE_LETTERS.contains(l) => return Ok(Datum::Null),
            Some(l) => out.push(l),
            None => out.push('%'),
        }
    }
    Ok(Datum::Bytes(out.into_bytes()))
}

const FORMATS: &[(&str, [&str; 5])] = &[
    ("DATE", ["%m.%d.%Y", "%Y-%m-%d", "%Y-%m-%d", "%d.%m.%Y", "%Y%m%d"]),
    ("DATETIME", ["%Y-%m-%d %H.%i.%s", "%Y-%m-%d %H:%i:%s", "%Y-%m-%d %H:%i:%s", "%Y-%m-%d %H.%i.%s", "%Y%m%d%H%i%s"]),
    ("TIME", ["%h:%i:%s %p", "%H:%i:%s", "%H:%i:%s", "%H.%i.%s", "%H%i%s"]),
];
const REGIONS: [&str; 5] = ["USA", "JIS", "ISO", "EUR", "INTERNAL"];

static GET_FORMAT: Builtin = Builtin::new("get_format", (2, 2), &[Want::Raw], |s| s.connection_string(17), get_format);

fn build_get_format(args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    match args[0].as_constant() {
        Some(Datum::Bytes(_)) => GET_FORMAT.build(args, ctx),
        _ => Err(Error::WrongArguments { name: "get_format".into() }),
    }
}

fn get_format(a: &Args<'_>) -> Result<Datum> {
    let kind = a.text(0).to_ascii_uppercase();
    let kind = if kind == "TIMESTAMP" { "DATETIME" } else { kind.as_str() };
    let row = FORMATS.iter().find(|(k, _)| *k == kind);
    let region = REGIONS.iter().position(|r| r.eq_ignore_ascii_case(&a.text(1)));
    Ok(match (row, region) {
        (Some((_, formats)), Some(i)) => Datum::Bytes(formats[i].as_bytes().to_vec()),
        _ => Datum::Null,
    })
}

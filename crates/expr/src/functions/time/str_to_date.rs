//! STR_TO_DATE: the inverse of DATE_FORMAT.
//!
//! The type of the result follows a constant format: DATE if it has parts of dates only, TIME if parts of times only, with
//! six digits if it has `%f`; otherwise DATETIME(6). A text that does not match is NULL with warning 1411.

use types::time::calendar;
use types::{Datum, Duration, FieldType, Time, TimeKind, TimeParts};

use super::extract::{DAYS, MONTHS};
use crate::context::{BuildCtx, SqlMode};
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::functions::{Args, Builtin, Special, Want};
use crate::result_type as rt;

pub(super) const SPECIALS: &[Special] = &[Special { name: "str_to_date", arity: (2, 2), build }];

static STR_TO_DATE: Builtin = Builtin::new("str_to_date", (2, 2), &[Want::Raw], |_| rt::datetime(6), str_to_date);

fn build(args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let ty = match args[1].as_constant() {
        Some(Datum::Bytes(format)) => type_of(&String::from_utf8_lossy(format)),
        _ => rt::datetime(6),
    };
    let mut built = STR_TO_DATE.build(args, ctx)?;
    *built.field_type_mut() = ty;
    Ok(built)
}

fn type_of(format: &str) -> FieldType {
    let (mut date, mut time, mut micro) = (false, false, false);
    let mut letters = format.chars();
    while let Some(c) = letters.next() {
        if c == '%' {
            match letters.next() {
                Some('f') => (time, micro) = (true, true),
                Some('H' | 'I' | 'h' | 'i' | 'k' | 'l' | 'p' | 'r' | 'S' | 's' | 'T') => time = true,
                Some(l) if "MVUXYWabcjmvuxyweDd".contains(l) => date = true,
                _ => {}
            }
        }
    }
    let fsp = if micro { 6 } else { 0 };
    match (date, time) {
        (true, false) => rt::date(),
        (false, true) => rt::time(fsp),
        _ => rt::datetime(fsp),
    }
}

/// What has been read so far.
#[derive(Default)]
struct Fields {
    year: Option<i64>,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micro: i64,
    afternoon: Option<bool>,
    twelve_hours: bool,
    day_of_year: Option<i64>,
    /// Day of the week from Monday = 1 to Sunday = 7.
    weekday: Option<i64>,
    /// Week with its first day: Sunday or Monday, and whether it counts within a year of weeks (`%V`, `%v`).
    week: Option<(i64, bool, bool)>,
    week_year: Option<i64>,
}

/// The text that is left to read.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn number(&mut self, max_digits: usize) -> Option<i64> {
        self.skip_spaces();
        let digits = self.rest.bytes().take(max_digits).take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        number.parse().ok()
    }

    /// The index of the name the text begins with, in full or by its first letters.
    fn name(&mut self, names: &[&str], letters: Option<usize>) -> Option<i64> {
        self.skip_spaces();
        let at = names.iter().position(|n| {
            let wanted = &n[..letters.unwrap_or(n.len())];
            self.rest.get(..wanted.len()).is_some_and(|head| head.eq_ignore_ascii_case(wanted))
        })?;
        self.rest = &self.rest[letters.unwrap_or(names[at].len())..];
        Some(at as i64)
    }

    fn literal(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(c)?;
        Some(())
    }
}

fn two_digit_year(year: i64) -> i64 {
    if year < 70 { year + 2000 } else { year + 1900 }
}

impl Fields {
    /// Reads one specifier.
    fn read(&mut self, letter: char, text: &mut Reader<'_>) -> Option<()> {
        match letter {
            'Y' => {
                let before = text.rest.trim_start().len();
                let year = text.number(4)?;
                self.year = Some(if before - text.rest.len() <= 2 { two_digit_year(year) } else { year });
            }
            'y' => self.year = Some(two_digit_year(text.number(2)?)),
            'm' | 'c' => self.month = text.number(2)?,
            'M' => self.month = text.name(&MONTHS, None)? + 1,
            'b' => self.month = text.name(&MONTHS, Some(3))? + 1,
            'd' | 'e' => self.day = text.number(2)?,
            'D' => {
                self.day = text.number(2)?;
                text.rest = text.rest.get(2..).unwrap_or("");
            }
            'H' | 'k' => self.hour = text.number(2)?,
            'h' | 'I' | 'l' => {
                self.hour = text.number(2)?;
                self.twelve_hours = true;
            }
            'i' => self.minute = text.number(2)?,
            's' | 'S' => self.second = text.number(2)?,
            'f' => self.read_micros(text)?,
            'p' => {
                self.afternoon = Some(text.name(&["AM", "PM"], None)? == 1);
                self.twelve_hours = true;
            }
            'T' => self.read_all("H:i:s", text)?,
            'r' => self.read_all("I:i:s p", text)?,
            'j' => self.day_of_year = Some(text.number(3)?),
            'W' => self.weekday = Some(text.name(&DAYS, None)? + 1),
            'a' => self.weekday = Some(text.name(&DAYS, Some(3))? + 1),
            'w' => {
                let day = text.number(1).filter(|d| *d < 7)?;
                self.weekday = Some(if day == 0 { 7 } else { day });
            }
            'U' | 'u' | 'V' | 'v' => {
                self.week = Some((text.number(2).filter(|w| *w <= 53)?, matches!(letter, 'U' | 'V'), matches!(letter, 'V' | 'v')))
            }
            'X' | 'x' => self.week_year = Some(text.number(4)?),
            '.' => text.rest = text.rest.trim_start_matches(|c: char| c.is_ascii_punctuation()),
            '@' => text.rest = text.rest.trim_start_matches(char::is_alphabetic),
            '#' => text.rest = text.rest.trim_start_matches(|c: char| c.is_ascii_digit()),
            '%' => text.literal('%')?,
            _ => return None,
        }
        Some(())
    }

    fn read_all(&mut self, letters: &str, text: &mut Reader<'_>) -> Option<()> {
        letters.chars().try_for_each(|l| match l {
            ':' => text.literal(':'),
            ' ' => {
                text.skip_spaces();
                Some(())
            }
            l => self.read(l, text),
        })
    }

    fn read_micros(&mut self, text: &mut Reader<'_>) -> Option<()> {
        let before = text.rest.trim_start().len();
        let digits = text.number(6)?;
        let read = (before - text.rest.len()) as u32;
        self.micro = digits * 10i64.pow(6 - read);
        Some(())
    }

    /// The time of day, after the half of the day is applied.
    fn finish_time(&mut self) -> Option<()> {
        if self.twelve_hours {
            if !(1..=12).contains(&self.hour) {
                return None;
            }
            self.hour = self.hour % 12 + if self.afternoon == Some(true) { 12 } else { 0 };
        }
        (self.hour <= 23 && self.minute <= 59 && self.second <= 59).then_some(())
    }

    /// A date given by the day of the year, or by week and weekday.
    fn finish_date(&mut self) -> Option<()> {
        let by_number = |fields: &mut Fields, number: i64| {
            let (year, month, day) = calendar::date_of_day(number)?;
            (fields.year, fields.month, fields.day) = (Some(i64::from(year)), i64::from(month), i64::from(day));
            Some(())
        };
        if let (Some(day), Some(year)) = (self.day_of_year.filter(|d| *d > 0), self.year) {
            return by_number(self, calendar::day_number(u16::try_from(year).ok()?, 1, 1) + day - 1);
        }
        if let (Some((week, sunday_first, of_week_year)), Some(weekday)) = (self.week, self.weekday) {
            let year = if of_week_year { self.week_year } else { self.year }?;
            let first = calendar::day_number(u16::try_from(year).ok()?, 1, 1);
            let first_weekday = i64::from(calendar::weekday(first));
            let number = if sunday_first {
                let base = (first_weekday + 1) % 7;
                first + if base == 0 { 0 } else { 7 } - base + (week - 1) * 7 + weekday % 7
            } else {
                first + if first_weekday <= 3 { 0 } else { 7 } - first_weekday + (week - 1) * 7 + weekday - 1
            };
            return by_number(self, number);
        }
        let days =
            if (1..=12).contains(&self.month) { calendar::days_in_month(self.year.unwrap_or(0) as u16, self.month as u8) } else { 31 };
        (self.month <= 12 && self.day <= i64::from(days)).then_some(())
    }
}

fn parse(text: &str, format: &str) -> Option<(Fields, bool)> {
    let mut fields = Fields::default();
    let mut reader = Reader { rest: text };
    let mut letters = format.chars();
    while let Some(c) = letters.next() {
        reader.skip_spaces();
        // A text that ends early leaves the rest of the parts at zero.
        if reader.rest.is_empty() {
            break;
        }
        match c {
            '%' => fields.read(letters.next()?, &mut reader)?,
            c if c.is_whitespace() => {}
            c => reader.literal(c)?,
        }
    }
    fields.finish_time()?;
    fields.finish_date()?;
    Some((fields, !reader.rest.trim().is_empty()))
}

fn refuse(a: &Args<'_>, kind: &'static str) -> Result<Datum> {
    let value = a.text(0).into_owned();
    if a.ctx.is_strict() {
        return Err(Error::BadFunctionValue { kind, value, function: "str_to_date" });
    }
    a.warn(1411, format!("Incorrect {kind} value: '{value}' for function str_to_date"));
    Ok(Datum::Null)
}

fn str_to_date(a: &Args<'_>) -> Result<Datum> {
    let kind = TimeKind::of(a.call.ty.tp);
    let name = kind.map_or("time", |_| "datetime");
    let Some((fields, leftover)) = parse(&a.text(0), &a.text(1)) else { return refuse(a, name) };
    if leftover {
        a.warn(1292, format!("Truncated incorrect {name} value: '{}'", a.text(0)));
    }
    let fsp = rt::fsp_of(&a.call.ty);
    let Some(kind) = kind else {
        let (h, m, s) = (fields.hour as u64, fields.minute as u64, fields.second as u64);
        return Ok(Duration::from_parts(false, h, m, s, fields.micro as u32, fsp).map_or(Datum::Null, Datum::Duration));
    };
    let year = fields.year.unwrap_or(0);
    let incomplete = year == 0 || fields.month == 0 || fields.day == 0;
    if incomplete && (a.ctx.sql_mode.contains(SqlMode::NO_ZERO_DATE) || a.ctx.sql_mode.contains(SqlMode::NO_ZERO_IN_DATE)) {
        return refuse(a, name);
    }
    let parts = TimeParts {
        year: u16::try_from(year).unwrap_or(u16::MAX),
        month: fields.month as u8,
        day: fields.day as u8,
        hour: fields.hour as u8,
        minute: fields.minute as u8,
        second: fields.second as u8,
        micro: fields.micro as u32,
    };
    match Time::from_parts(parts, kind, fsp) {
        Some(t) => Ok(Datum::Time(t)),
        None => refuse(a, name),
    }
}

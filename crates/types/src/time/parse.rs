//! Texts and numbers that mean dates and times.
//!
//! A date is written with any punctuation between its fields (`2024-1-2 3:4:5.678`, `24/1/2`), or as digits alone, whose
//! number tells the fields: 6 `YYMMDD`, 8 `YYYYMMDD`, 12 `YYMMDDhhmmss`, 14 `YYYYMMDDhhmmss`. Years of two digits are
//! 1970 to 2069. Only blanks, or a `T`, may stand between date and time. `+hh:mm` may follow the time.
//! A TIME is `[-][D ]hh:mm[:ss]`, `hhmmss` as digits alone, or a whole date and time.
//!
//! Source: MySQL 8.0 Reference Manual, 9.1.3 "Date and Time Literals", 11.2 "Date and Time Data Types".

use super::{Duration, FSP_UNIT, MAX_FSP, MICROS_PER_SECOND, Time, TimeKind, TimeParts, calendar, zone::parse_offset};

/// Years of two digits up to here are of this century.
const LAST_YEAR_OF_2000S: u32 = 69;

/// Which odd dates are accepted: the date flags of `sql_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateMode {
    /// NO_ZERO_DATE: `0000-00-00` is no date.
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE: a zero month or day is no date.
    pub no_zero_in_date: bool,
    /// ALLOW_INVALID_DATES: every month has 31 days.
    pub allow_invalid_dates: bool,
}

/// Why a value is no date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not written like one, or no day of the calendar.
    #[error("not a date or time")]
    Invalid,
    /// Beyond the type's range.
    #[error("out of the type's range")]
    OutOfRange,
    /// A local time that the time zone skipped.
    #[error("a local time that was skipped")]
    Skipped {
        /// The moment clocks were put forward, in microseconds since the Unix epoch.
        unix_micros: i64,
    },
}

/// A date or time read from a text or number.
#[derive(Clone, Copy, Debug)]
pub struct ParsedTime {
    /// The value, rounded to the precision that was asked for.
    pub time: Time,
    /// Something that does not belong to it followed.
    pub truncated: bool,
    /// A time of day was given.
    pub has_time: bool,
    /// Offset from UTC in seconds, where the text has one.
    pub offset: Option<i32>,
}

/// A TIME read from a text or number.
#[derive(Clone, Copy, Debug)]
pub struct ParsedDuration {
    /// The value, rounded to the precision that was asked for; the longest span where the value is longer.
    pub duration: Duration,
    /// Something that does not belong to it followed.
    pub truncated: bool,
    /// It was longer than the longest span.
    pub out_of_range: bool,
}

/// What the scanner found before anything is checked.
#[derive(Default)]
struct Fields {
    /// Year, month, day, hour, minute, second.
    values: [u32; 6],
    /// How many of them were there.
    count: usize,
    /// Digits the year was written with.
    year_len: usize,
    micro: u32,
    /// The digit behind the sixth of the fraction is 5 or more.
    round_up: bool,
    offset: Option<i32>,
    truncated: bool,
}

impl Time {
    /// Reads a date with or without time. The result is local time, whatever the kind: for a TIMESTAMP, read a DATETIME and convert it
    /// with [`Time::from_zone`].
    pub fn parse(text: &[u8], kind: TimeKind, fsp: u8, mode: &DateMode) -> Result<ParsedTime, TimeError> {
        let text = text.trim_ascii_start();
        let fields = scan(text)?;
        if fields.count < 3 {
            return Err(TimeError::Invalid);
        }
        let [mut year, month, day, hour, minute, second] = fields.values;
        let any_nonzero = fields.values.iter().any(|&value| value != 0) || fields.micro != 0;
        if fields.year_len == 2 && any_nonzero {
            year += if year <= LAST_YEAR_OF_2000S { 2000 } else { 1900 };
        }
        let narrow = |value: u32| u8::try_from(value).unwrap_or(u8::MAX);
        let parts = TimeParts {
            year: u16::try_from(year).unwrap_or(u16::MAX),
            month: narrow(month),
            day: narrow(day),
            hour: narrow(hour),
            minute: narrow(minute),
            second: narrow(second),
            micro: fields.micro,
        };
        let time = checked(parts, fields.round_up, kind, fsp, mode)?;
        Ok(ParsedTime { time, truncated: fields.truncated, has_time: fields.count > 3, offset: fields.offset })
    }

    /// The date of a number: `YYMMDD`, `YYYYMMDD`, `YYMMDDhhmmss` or `YYYYMMDDhhmmss`, with microseconds beside it.
    pub fn from_number(number: i64, micro: u32, kind: TimeKind, fsp: u8, mode: &DateMode) -> Result<Self, TimeError> {
        const DAY: i64 = 1_000_000;
        let full = match number {
            0 => 0,
            1..=100 => return Err(TimeError::Invalid),
            101..=691_231 => (number + 20_000_000) * DAY,
            700_101..=991_231 => (number + 19_000_000) * DAY,
            10_000_101..=99_991_231 => number * DAY,
            101_000_000..=691_231_235_959 => number + 20_000_000 * DAY,
            700_101_000_000..=991_231_235_959 => number + 19_000_000 * DAY,
            10_000_101_000_000..=99_991_231_235_959 => number,
            _ => return Err(TimeError::Invalid),
        };
        let (date, time) = (full / DAY, full % DAY);
        let parts = TimeParts {
            year: (date / 10_000) as u16,
            month: (date / 100 % 100) as u8,
            day: (date % 100) as u8,
            hour: (time / 10_000) as u8,
            minute: (time / 100 % 100) as u8,
            second: (time % 100) as u8,
            micro,
        };
        checked(parts, false, kind, fsp, mode)
    }

    /// Whether the mode accepts the date.
    pub fn check_date(self, mode: &DateMode) -> Result<(), TimeError> {
        if self.year() == 0 && self.month() == 0 && self.day() == 0 {
            return if mode.no_zero_date { Err(TimeError::Invalid) } else { Ok(()) };
        }
        if self.has_zero_in_date() {
            return if mode.no_zero_in_date { Err(TimeError::Invalid) } else { Ok(()) };
        }
        if self.day() > calendar::days_in_month(self.year(), self.month()) && !mode.allow_invalid_dates {
            return Err(TimeError::Invalid);
        }
        Ok(())
    }
}

fn checked(parts: TimeParts, round_up: bool, kind: TimeKind, fsp: u8, mode: &DateMode) -> Result<Time, TimeError> {
    // A DATE cuts off the time of day; its fields are checked all the same.
    let time = Time::from_parts(parts, TimeKind::DateTime, MAX_FSP).ok_or(TimeError::Invalid)?;
    time.check_date(mode)?;
    if kind == TimeKind::Date {
        return Ok(time.with_kind(kind, 0));
    }
    let time = if round_up && fsp >= MAX_FSP {
        let micros = time.micros_of_day() + 1;
        Time::from_day_and_micros(
            time.day_number() + micros / super::MICROS_PER_DAY,
            micros % super::MICROS_PER_DAY,
            TimeKind::DateTime,
            MAX_FSP,
        )
        .ok_or(TimeError::OutOfRange)?
    } else {
        time
    };
    Ok(time.with_kind(kind, MAX_FSP).round_to_fsp(fsp).ok_or(TimeError::OutOfRange)?.with_kind(kind, fsp))
}

/// Finds the fields of a date.
fn scan(text: &[u8]) -> Result<Fields, TimeError> {
    let leading = text.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
    if !text.first().is_some_and(u8::is_ascii_digit) {
        return Err(TimeError::Invalid);
    }
    let digits_alone = matches!(text.get(leading), None | Some(b'.'));
    let mut fields = Fields::default();
    let mut at = 0;
    while fields.count < 6 && text.get(at).is_some_and(u8::is_ascii_digit) {
        let field = fields.count;
        let limit = match field {
            _ if !digits_alone => usize::MAX,
            0 if matches!(leading, 4 | 8) || leading >= 14 => 4,
            _ => 2,
        };
        let start = at;
        let mut value = 0u32;
        while at - start < limit && text.get(at).is_some_and(u8::is_ascii_digit) {
            value = (value * 10 + u32::from(text[at] - b'0')).min(1_000_000);
            at += 1;
        }
        if field == 0 {
            fields.year_len = at - start;
        }
        fields.values[field] = value;
        fields.count += 1;
        let last_field_end = at;
        match (field, text.get(at)) {
            (2, Some(b'T')) => at += 1,
            (5, Some(b'.')) => {
                at = scan_fraction(text, at + 1, &mut fields);
                break;
            }
            (5, _) => break,
            _ if digits_alone && text.get(at) == Some(&b'.') && field >= 2 => {
                // Digits alone with a fraction: the fields end here.
                at = scan_fraction(text, at + 1, &mut fields);
                break;
            }
            _ => {
                let mut blank = false;
                while let Some(&byte) = text.get(at) {
                    if byte.is_ascii_whitespace() {
                        blank = true;
                    } else if !byte.is_ascii_punctuation() {
                        break;
                    }
                    at += 1;
                }
                if !text.get(at).is_some_and(u8::is_ascii_digit) {
                    at = last_field_end;
                    break;
                }
                // Blanks stand between date and time only.
                if blank && field != 2 {
                    return Err(TimeError::Invalid);
                }
            }
        }
    }
    finish_scan(&text[at..], fields)
}

/// What may follow: blanks, or an offset behind a complete time.
fn finish_scan(rest: &[u8], mut fields: Fields) -> Result<Fields, TimeError> {
    let rest = rest.trim_ascii();
    if rest.is_empty() {
        return Ok(fields);
    }
    if fields.count == 6 && matches!(rest[0], b'+' | b'-') {
        fields.offset = Some(parse_offset(rest).ok_or(TimeError::Invalid)?);
        return Ok(fields);
    }
    fields.truncated = true;
    Ok(fields)
}

/// Reads the digits of a fraction; returns where they end.
fn scan_fraction(text: &[u8], start: usize, fields: &mut Fields) -> usize {
    let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (micro, round_up) = fraction_micros(&text[start..start + digits]);
    (fields.micro, fields.round_up) = (micro, round_up);
    start + digits
}

/// Microseconds of a fraction's digits, and whether the seventh digit rounds up.
fn fraction_micros(digits: &[u8]) -> (u32, bool) {
    let kept = digits.len().min(usize::from(MAX_FSP));
    let value = digits[..kept].iter().fold(0, |acc, &byte| acc * 10 + u32::from(byte - b'0'));
    (value * FSP_UNIT[kept] / FSP_UNIT[MAX_FSP as usize], digits.get(kept).is_some_and(|&digit| digit >= b'5'))
}

impl Duration {
    /// Reads a TIME.
    pub fn parse(text: &[u8], fsp: u8) -> Result<ParsedDuration, TimeError> {
        let text = text.trim_ascii();
        let (negative, rest) = match text.split_first() {
            Some((b'-', rest)) => (true, rest.trim_ascii_start()),
            Some((b'+', rest)) => (false, rest),
            _ => (false, text),
        };
        if !rest.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.') {
            return Err(TimeError::Invalid);
        }
        // A text as long as a date and time is one when it can be read as such: digits alone, or a blank or `T` between the two.
        let joined = rest.iter().any(|byte| matches!(byte, b' ' | b'T')) || !rest.contains(&b':');
        if !negative
            && rest.len() >= 12
            && joined
            && let Ok(parsed) = Time::parse(rest, TimeKind::DateTime, fsp, &DateMode::default())
            && parsed.has_time
        {
            return Ok(ParsedDuration { duration: parsed.time.to_duration(), truncated: parsed.truncated, out_of_range: false });
        }
        parse_span(negative, rest, fsp)
    }

    /// The TIME of a number `hhmmss`, with microseconds beside it. A number too long for one may be a whole date and time.
    pub fn from_number(number: i64, micro: u32, fsp: u8) -> Result<ParsedDuration, TimeError> {
        let negative = number < 0;
        let magnitude = number.unsigned_abs();
        if magnitude > 8_385_959 {
            if magnitude >= 10_000_000_000
                && !negative
                && let Ok(time) = Time::from_number(number, micro, TimeKind::DateTime, fsp, &DateMode::default())
            {
                return Ok(ParsedDuration { duration: time.to_duration(), truncated: false, out_of_range: false });
            }
            return Ok(ParsedDuration { duration: Self::max_value(negative, fsp), truncated: false, out_of_range: true });
        }
        from_span_fields(negative, magnitude / 10_000, magnitude / 100 % 100, magnitude % 100, (micro, false), fsp)
    }
}

/// `[D ]hh:mm[:ss][.fraction]` or `[hh[mm]]ss[.fraction]`.
fn parse_span(negative: bool, text: &[u8], fsp: u8) -> Result<ParsedDuration, TimeError> {
    let mut at = 0;
    let number = |at: &mut usize| -> Option<u64> {
        let digits = text[*at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let value = text[*at..*at + digits].iter().fold(0u64, |acc, &byte| acc.saturating_mul(10).saturating_add(u64::from(byte - b'0')));
        *at += digits;
        (digits > 0).then_some(value)
    };
    let first = number(&mut at).unwrap_or(0);
    let blanks = text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let (mut days, mut hours, mut minutes, mut seconds) = (0, first, 0, 0);
    let mut colons = text.get(at) == Some(&b':');
    if blanks > 0 && text.get(at + blanks).is_some_and(u8::is_ascii_digit) {
        at += blanks;
        days = first;
        hours = number(&mut at).unwrap_or(0);
        colons = true;
        if text.get(at) != Some(&b':') {
            let truncated = at < text.len();
            let total = days.saturating_mul(24).saturating_add(hours);
            let mut parsed = from_span_fields(negative, total, 0, 0, (0, false), fsp)?;
            parsed.truncated |= truncated;
            return Ok(parsed);
        }
    }
    if colons {
        for field in [&mut minutes, &mut seconds] {
            let next_is_digit = text.get(at + 1).is_some_and(u8::is_ascii_digit);
            if text.get(at) == Some(&b':') && next_is_digit {
                at += 1;
                *field = number(&mut at).unwrap_or(0);
            }
        }
    } else {
        (hours, minutes, seconds) = (first / 10_000, first / 100 % 100, first % 100);
    }
    let mut fraction = (0, false);
    if text.get(at) == Some(&b'.') {
        let digits = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        fraction = fraction_micros(&text[at + 1..at + 1 + digits]);
        at += 1 + digits;
    }
    let total = days.saturating_mul(24).saturating_add(hours);
    let mut parsed = from_span_fields(negative, total, minutes, seconds, fraction, fsp)?;
    parsed.truncated |= !text[at..].trim_ascii().is_empty();
    Ok(parsed)
}

fn from_span_fields(
    negative: bool,
    hours: u64,
    minutes: u64,
    seconds: u64,
    fraction: (u32, bool),
    fsp: u8,
) -> Result<ParsedDuration, TimeError> {
    if minutes > 59 || seconds > 59 {
        return Err(TimeError::Invalid);
    }
    let (micro, round_up) = fraction;
    let magnitude = hours.saturating_mul(3600).saturating_add(minutes * 60 + seconds);
    let micros = magnitude.saturating_mul(MICROS_PER_SECOND as u64).saturating_add(u64::from(micro));
    if micros > Duration::MAX_MICROS as u64 {
        return Ok(ParsedDuration { duration: Duration::max_value(negative, fsp), truncated: false, out_of_range: true });
    }
    let micros = micros as i64 + i64::from(round_up && fsp >= MAX_FSP);
    let duration = Duration::from_micros(if negative { -micros } else { micros }, MAX_FSP).round_to_fsp(fsp);
    Ok(ParsedDuration { duration, truncated: false, out_of_range: false })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn datetime(text: &str, fsp: u8) -> String {
        match Time::parse(text.as_bytes(), TimeKind::DateTime, fsp, &DateMode::default()) {
            Ok(parsed) => format!("{}{}", parsed.time, if parsed.truncated { " truncated" } else { "" }),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn datetimes_in_all_forms() {
        for (text, fsp, expected) in [
            ("2024-01-02", 0, "2024-01-02 00:00:00"),
            ("2024-1-2 3:4:5.678", 3, "2024-01-02 03:04:05.678"),
            ("2024-1-2 3:4:5.678", 0, "2024-01-02 03:04:06"),
            ("20240102", 0, "2024-01-02 00:00:00"),
            ("240102", 0, "2024-01-02 00:00:00"),
            ("700101", 0, "1970-01-01 00:00:00"),
            ("20240102030405", 0, "2024-01-02 03:04:05"),
            ("20240102030405.5", 1, "2024-01-02 03:04:05.5"),
            ("240102030405", 0, "2024-01-02 03:04:05"),
            ("2024-01-02T03:04:05", 0, "2024-01-02 03:04:05"),
            ("20240102T030405", 0, "2024-01-02 03:04:05"),
            ("2024/01/02 03.04.05", 0, "2024-01-02 03:04:05"),
            ("2024^01@02 03+04*05", 0, "2024-01-02 03:04:05"),
            ("24-1-2", 0, "2024-01-02 00:00:00"),
            ("70-1-2", 0, "1970-01-02 00:00:00"),
            ("69-1-2", 0, "2069-01-02 00:00:00"),
            ("  2024-01-02  ", 0, "2024-01-02 00:00:00"),
            ("2024-01-02 03:04", 0, "2024-01-02 03:04:00"),
            ("2024-01-02 03", 0, "2024-01-02 03:00:00"),
            ("2024-01-02 23:59:59.9999995", 6, "2024-01-03 00:00:00.000000"),
            ("2024-12-31 23:59:59.5", 0, "2025-01-01 00:00:00"),
            ("2024-01-02 03:04:05abc", 0, "2024-01-02 03:04:05 truncated"),
            ("2024-01-02abc", 0, "2024-01-02 00:00:00 truncated"),
            ("0000-00-00", 0, "0000-00-00 00:00:00"),
            ("2024-00-00", 0, "2024-00-00 00:00:00"),
            ("2024-02-30", 0, "Invalid"),
            ("2023-02-29", 0, "Invalid"),
            ("2024-13-01", 0, "Invalid"),
            ("2024-01-02 24:00:00", 0, "Invalid"),
            ("2024-01-02 00:60:00", 0, "Invalid"),
            ("10000-01-01", 0, "Invalid"),
            ("2024-01", 0, "Invalid"),
            ("2024", 0, "Invalid"),
            ("abc", 0, "Invalid"),
            ("", 0, "Invalid"),
            ("9999-12-31 23:59:59.9", 0, "OutOfRange"),
        ] {
            assert_eq!(datetime(text, fsp), expected, "{text}");
        }
    }

    #[test]
    fn sql_mode_decides_about_odd_dates() {
        let parse =
            |text: &str, mode: DateMode| Time::parse(text.as_bytes(), TimeKind::Date, 0, &mode).map(|parsed| parsed.time.to_string());
        let strict = DateMode { no_zero_date: true, no_zero_in_date: true, allow_invalid_dates: false };
        assert_eq!(parse("0000-00-00", strict), Err(TimeError::Invalid));
        assert_eq!(parse("2024-00-01", strict), Err(TimeError::Invalid));
        assert_eq!(parse("2024-02-31", DateMode { allow_invalid_dates: true, ..strict }), Ok("2024-02-31".to_owned()));
        assert_eq!(parse("2024-02-32", DateMode { allow_invalid_dates: true, ..strict }), Err(TimeError::Invalid));
        assert_eq!(parse("2024-01-02 12:34:56.9", strict), Ok("2024-01-02".to_owned()));
    }

    #[test]
    fn offsets_behind_the_time_are_read() {
        let parsed = Time::parse(b"2024-01-02 03:04:05.5+08:00", TimeKind::DateTime, 1, &DateMode::default()).expect("valid");
        assert_eq!((parsed.offset, parsed.time.to_string()), (Some(8 * 3600), "2024-01-02 03:04:05.5".to_owned()));
        assert!(Time::parse(b"2024-01-02 03:04:05+25:00", TimeKind::DateTime, 0, &DateMode::default()).is_err());
    }

    #[test]
    fn numbers_are_dates() {
        let number = |n| Time::from_number(n, 0, TimeKind::DateTime, 0, &DateMode::default()).map(|time| time.to_string());
        for (n, expected) in [
            (20_240_102, "2024-01-02 00:00:00"),
            (240_102, "2024-01-02 00:00:00"),
            (101, "2000-01-01 00:00:00"),
            (991_231, "1999-12-31 00:00:00"),
            (20_240_102_030_405, "2024-01-02 03:04:05"),
            (240_102_030_405, "2024-01-02 03:04:05"),
            (0, "0000-00-00 00:00:00"),
        ] {
            assert_eq!(number(n).as_deref(), Ok(expected), "{n}");
        }
        for n in [1, 100, 20_241_302, -1, 691_232, 999_999_999_999_999, 20_240_102_250_000] {
            assert_eq!(number(n), Err(TimeError::Invalid), "{n}");
        }
    }

    fn time(text: &str, fsp: u8) -> String {
        match Duration::parse(text.as_bytes(), fsp) {
            Ok(parsed) => format!(
                "{}{}{}",
                parsed.duration,
                if parsed.truncated { " truncated" } else { "" },
                if parsed.out_of_range { " clipped" } else { "" }
            ),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn times_in_all_forms() {
        for (text, fsp, expected) in [
            ("12:34:56", 0, "12:34:56"),
            ("12:34", 0, "12:34:00"),
            ("1:2:3", 0, "01:02:03"),
            ("123456", 0, "12:34:56"),
            ("3456", 0, "00:34:56"),
            ("56", 0, "00:00:56"),
            ("-12:34:56.789", 2, "-12:34:56.79"),
            ("12:34:56.5", 0, "12:34:57"),
            ("2 10:00:00", 0, "58:00:00"),
            ("1 2", 0, "26:00:00"),
            ("34 22:59:59", 0, "838:59:59"),
            ("35 00:00:00", 0, "838:59:59 clipped"),
            ("-850:00:00", 0, "-838:59:59 clipped"),
            ("838:59:59.5", 1, "838:59:59.0 clipped"),
            ("2024-01-02 03:04:05", 0, "03:04:05"),
            ("12:34:56xyz", 0, "12:34:56 truncated"),
            ("12:60:00", 0, "Invalid"),
            ("xyz", 0, "Invalid"),
            ("", 0, "Invalid"),
        ] {
            assert_eq!(time(text, fsp), expected, "{text}");
        }
        let number = |n| Duration::from_number(n, 0, 0).map(|parsed| (parsed.duration.to_string(), parsed.out_of_range));
        assert_eq!(number(-123_456), Ok(("-12:34:56".to_owned(), false)));
        assert_eq!(number(9_000_000), Ok(("838:59:59".to_owned(), true)));
        assert_eq!(number(126_060), Err(TimeError::Invalid));
        assert_eq!(number(20_240_102_030_405), Ok(("03:04:05".to_owned(), false)));
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(micros in -60_000_000_000_000_000i64..250_000_000_000_000_000, span in -Duration::MAX_MICROS..=Duration::MAX_MICROS, fsp in 0u8..=6) {
            let value = Time::from_unix_micros(micros, TimeKind::DateTime, 6).expect("within the years").truncate_to_fsp(fsp);
            let back = Time::parse(value.to_string().as_bytes(), TimeKind::DateTime, fsp, &DateMode::default()).expect("own text").time;
            prop_assert_eq!((back, back.fsp()), (value, fsp));
            let span = Duration::from_micros(span, 6).truncate_to_fsp(fsp);
            let back = Duration::parse(span.to_string().as_bytes(), fsp).expect("own text");
            prop_assert_eq!((back.duration, back.truncated, back.out_of_range), (span, false, false));
        }

        #[test]
        fn any_text_is_read_without_panic(text in "[0-9:. T+-]{0,24}", bytes: Vec<u8>, number: i64) {
            for text in [text.as_bytes(), &bytes] {
                let _ = Time::parse(text, TimeKind::DateTime, 6, &DateMode { allow_invalid_dates: true, ..DateMode::default() });
                let _ = Duration::parse(text, 3);
            }
            let _ = Duration::from_number(number, 0, 0);
            let _ = Time::from_number(number, 0, TimeKind::Date, 0, &DateMode::default());
        }
    }
}

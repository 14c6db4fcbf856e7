//! Interval units and values: what stands behind INTERVAL in DATE_ADD and its relatives.
//!
//! A value of a compound unit is a text of numbers separated by anything; if there are fewer numbers than the unit has
//! parts, they are the last ones.

use std::fmt;

use types::time::{MICROS_PER_DAY as DAY, MICROS_PER_SECOND as SECOND, calendar};
use types::{Time, TimeKind, TimeParts};

/// The unit of an interval, of EXTRACT and of TIMESTAMPDIFF.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntervalUnit {
    /// `MICROSECOND`
    Microsecond,
    /// `SECOND`
    Second,
    /// `MINUTE`
    Minute,
    /// `HOUR`
    Hour,
    /// `DAY`
    Day,
    /// `WEEK`
    Week,
    /// `MONTH`
    Month,
    /// `QUARTER`
    Quarter,
    /// `YEAR`
    Year,
    /// `SECOND_MICROSECOND`
    SecondMicrosecond,
    /// `MINUTE_MICROSECOND`
    MinuteMicrosecond,
    /// `MINUTE_SECOND`
    MinuteSecond,
    /// `HOUR_MICROSECOND`
    HourMicrosecond,
    /// `HOUR_SECOND`
    HourSecond,
    /// `HOUR_MINUTE`
    HourMinute,
    /// `DAY_MICROSECOND`
    DayMicrosecond,
    /// `DAY_SECOND`
    DaySecond,
    /// `DAY_MINUTE`
    DayMinute,
    /// `DAY_HOUR`
    DayHour,
    /// `YEAR_MONTH`
    YearMonth,
}

const NAMES: &[(&str, IntervalUnit)] = &[
    ("MICROSECOND", IntervalUnit::Microsecond),
    ("SECOND", IntervalUnit::Second),
    ("MINUTE", IntervalUnit::Minute),
    ("HOUR", IntervalUnit::Hour),
    ("DAY", IntervalUnit::Day),
    ("WEEK", IntervalUnit::Week),
    ("MONTH", IntervalUnit::Month),
    ("QUARTER", IntervalUnit::Quarter),
    ("YEAR", IntervalUnit::Year),
    ("SECOND_MICROSECOND", IntervalUnit::SecondMicrosecond),
    ("MINUTE_MICROSECOND", IntervalUnit::MinuteMicrosecond),
    ("MINUTE_SECOND", IntervalUnit::MinuteSecond),
    ("HOUR_MICROSECOND", IntervalUnit::HourMicrosecond),
    ("HOUR_SECOND", IntervalUnit::HourSecond),
    ("HOUR_MINUTE", IntervalUnit::HourMinute),
    ("DAY_MICROSECOND", IntervalUnit::DayMicrosecond),
    ("DAY_SECOND", IntervalUnit::DaySecond),
    ("DAY_MINUTE", IntervalUnit::DayMinute),
    ("DAY_HOUR", IntervalUnit::DayHour),
    ("YEAR_MONTH", IntervalUnit::YearMonth),
];

impl fmt::Display for IntervalUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(_, u)| u == self).map_or("", |(n, _)| n))
    }
}

/// Microseconds of the parts of compound units, from days down.
const PART_MICROS: [i64; 5] = [DAY, 3600 * SECOND, 60 * SECOND, SECOND, 1];

impl IntervalUnit {
    /// The unit of a name; the `SQL_TSI_` prefix is allowed.
    pub fn by_name(name: &str) -> Option<IntervalUnit> {
        let upper = name.to_ascii_uppercase();
        let plain = upper.strip_prefix("SQL_TSI_").unwrap_or(&upper);
        NAMES.iter().find(|(n, _)| *n == plain).map(|(_, u)| *u)
    }

    /// For a compound unit: the first and last part, as indexes of days, hours, minutes, seconds, microseconds.
    fn parts(self) -> Option<(usize, usize)> {
        use IntervalUnit as U;
        Some(match self {
            U::SecondMicrosecond => (3, 4),
            U::MinuteMicrosecond => (2, 4),
            U::MinuteSecond => (2, 3),
            U::HourMicrosecond => (1, 4),
            U::HourSecond => (1, 3),
            U::HourMinute => (1, 2),
            U::DayMicrosecond => (0, 4),
            U::DaySecond => (0, 3),
            U::DayMinute => (0, 2),
            U::DayHour => (0, 1),
            _ => return None,
        })
    }

    /// The value is a text of several numbers.
    pub fn is_compound(self) -> bool {
        self == IntervalUnit::YearMonth || self.parts().is_some()
    }

    /// The unit changes only the date.
    pub fn is_of_date(self) -> bool {
        use IntervalUnit as U;
        matches!(self, U::Day | U::Week | U::Month | U::Quarter | U::Year | U::YearMonth)
    }

    /// The unit has microseconds.
    pub fn has_micros(self) -> bool {
        self == IntervalUnit::Microsecond || self.parts().is_some_and(|(_, last)| last == 4)
    }

    /// The unit counts months.
    fn months(self) -> Option<i64> {
        match self {
            IntervalUnit::Month => Some(1),
            IntervalUnit::Quarter => Some(3),
            IntervalUnit::Year => Some(12),
            _ => None,
        }
    }

    /// Microseconds of a simple unit that has a fixed length.
    pub fn micros(self) -> Option<i64> {
        use IntervalUnit as U;
        Some(match self {
            U::Microsecond => 1,
            U::Second => SECOND,
            U::Minute => 60 * SECOND,
            U::Hour => 3600 * SECOND,
            U::Day => DAY,
            U::Week => 7 * DAY,
            _ => return None,
        })
    }
}

/// A length of time: months and microseconds. MySQL never mixes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interval {
    /// Calendar months.
    Months(i64),
    /// Microseconds.
    Micros(i64),
}

impl Interval {
    /// `n` units; `None` if that is longer than any time.
    pub fn of_count(unit: IntervalUnit, n: i64) -> Option<Interval> {
        match unit.months() {
            Some(months) => n.checked_mul(months).map(Interval::Months),
            None => n.checked_mul(unit.micros()?).map(Interval::Micros),
        }
    }

    /// Reads the text of a compound unit; `None` if the numbers are too large.
    pub fn parse(unit: IntervalUnit, text: &[u8]) -> Option<Interval> {
        let start = text.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(text.len());
        let negative = text.get(start) == Some(&b'-');
        let wanted = match unit.parts() {
            Some((first, last)) => last - first + 1,
            None => 2,
        };
        let mut numbers = Vec::with_capacity(wanted);
        let mut last_len = 0;
        for group in text[start..].split(|b| !b.is_ascii_digit()).filter(|g| !g.is_empty()).take(wanted) {
            numbers.push(std::str::from_utf8(group).ok()?.parse::<i64>().ok()?);
            last_len = group.len();
        }
        let sign = if negative { -1 } else { 1 };
        let Some((_, last)) = unit.parts() else {
            let (years, months) = match numbers.as_slice() {
                [y, m] => (*y, *m),
                [m] => (0, *m),
                _ => (0, 0),
            };
            return years.checked_mul(12)?.checked_add(months).map(|m| Interval::Months(sign * m));
        };
        if last == 4
            && last_len < 6
            && let Some(micros) = numbers.last_mut()
        {
            // Fraction digits count from the point: '1.5' is 500000 microseconds.
            *micros *= 10i64.pow(6 - last_len as u32);
        }
        let first_given = last + 1 - numbers.len();
        let total =
            numbers.iter().zip(&PART_MICROS[first_given..]).try_fold(0i64, |sum, (n, unit)| sum.checked_add(n.checked_mul(*unit)?))?;
        Some(Interval::Micros(sign * total))
    }

    /// The opposite.
    pub fn negated(self) -> Interval {
        match self {
            Interval::Months(m) => Interval::Months(m.saturating_neg()),
            Interval::Micros(m) => Interval::Micros(m.saturating_neg()),
        }
    }

    /// The time so much later, of the given kind and precision; `None` outside of the calendar. A day that the new month does not have
    /// becomes its last.
    pub fn after(self, start: Time, kind: TimeKind, fsp: u8) -> Option<Time> {
        match self {
            Interval::Micros(micros) => {
                let total = start.day_number().checked_mul(DAY)?.checked_add(start.micros_of_day())?.checked_add(micros)?;
                Time::from_day_and_micros(total.div_euclid(DAY), total.rem_euclid(DAY), kind, fsp)
            }
            Interval::Months(months) => {
                let total = (i64::from(start.year()) * 12 + i64::from(start.month()) - 1).checked_add(months)?;
                if !(0..120_000).contains(&total) {
                    return None;
                }
                let (year, month) = ((total / 12) as u16, (total % 12 + 1) as u8);
                let day = start.day().min(calendar::days_in_month(year, month));
                Time::from_parts(TimeParts { year, month, day, ..start.parts() }, kind, fsp)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compound_values_fill_from_the_right() {
        let parse = |unit, text: &str| Interval::parse(unit, text.as_bytes());
        assert_eq!(parse(IntervalUnit::DaySecond, "1 02:03:04"), Some(Interval::Micros(DAY + 7384 * SECOND)));
        assert_eq!(parse(IntervalUnit::DaySecond, "3:4"), Some(Interval::Micros(184 * SECOND)));
        assert_eq!(parse(IntervalUnit::SecondMicrosecond, "1.5"), Some(Interval::Micros(SECOND + 500_000)));
        assert_eq!(parse(IntervalUnit::YearMonth, "-1-2"), Some(Interval::Months(-14)));
        assert_eq!(parse(IntervalUnit::MinuteSecond, "-1:1"), Some(Interval::Micros(-61 * SECOND)));
    }

    #[test]
    fn months_clip_the_day() {
        let start = Time::date(2024, 1, 31).expect("a date");
        let end = Interval::Months(1).after(start, TimeKind::Date, 0).expect("in the calendar");
        assert_eq!(end.to_string(), "2024-02-29");
        assert_eq!(Interval::Months(120_000).after(start, TimeKind::Date, 0), None);
    }
}

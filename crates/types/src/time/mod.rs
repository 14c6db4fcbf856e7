//! Temporal values: DATE, DATETIME, TIMESTAMP in [`Time`]; TIME in [`Duration`]; time zones.
//!
//! ```text
//! Time, 64 bits:   year:14 month:4 day:5 hour:5 minute:6 second:6 microsecond:20 fsp:3 kind:1
//! ```
//!
//! Comparing two values is comparing their upper 60 bits. What is stored in rows and keys is another packing, MySQL's own ([`Time::packed`]).
//!
//! **A [`TimeKind::Timestamp`] always holds UTC**, in chunks, rows, keys and constants alike. It becomes the session's local time where it leaves
//! SQL's inside: when it is converted to another type, taken apart by a function, or printed ([`Time::to_zone`]). A text or number
//! becomes a timestamp through [`Time::from_zone`]. So order and equality never depend on a time zone.
//!
//! | file | |
//! |---|---|
//! | [`calendar`] | day numbers, weekdays, weeks |
//! | `parse` | text and numbers to temporal values |
//! | [`duration`] | TIME |
//! | [`zone`] | time zones |

pub mod calendar;
pub mod duration;

mod parse;
pub mod zone;

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
};

pub use duration::Duration;
pub use parse::{DateMode, ParsedDuration, ParsedTime, TimeError};
pub use zone::TimeZone;

use crate::{decimal::Decimal, field_type::TypeKind};

/// Most digits of fractional seconds.
pub const MAX_FSP: u8 = 6;
/// Microseconds of a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// What a fraction of `fsp` digits is a multiple of, in microseconds.
pub const FSP_UNIT: [u32; 7] = [1_000_000, 100_000, 10_000, 1000, 100, 10, 1];

/// Which of the three types a [`Time`] is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeKind {
    /// DATE: no time of day.
    Date,
    /// DATETIME: no time zone.
    DateTime,
    /// TIMESTAMP: UTC.
    Timestamp,
}

impl TimeKind {
    /// The kind of a column's type; `None` for types of other families.
    pub fn of(tp: TypeKind) -> Option<Self> {
        match tp {
            TypeKind::Date => Some(Self::Date),
            TypeKind::DateTime => Some(Self::DateTime),
            TypeKind::Timestamp => Some(Self::Timestamp),
            _ => None,
        }
    }

    /// The type's name as error messages have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::DateTime | Self::Timestamp => "datetime",
        }
    }
}

/// The fields of a date and time of day. All zero is MySQL's zero date; zero months and days are possible too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeParts {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub micro: u32,
}

impl TimeParts {
    /// Whether every field is in its range. The day may still be one its month does not have.
    #[inline]
    pub fn in_range(&self) -> bool {
        self.year <= 9999
            && self.month <= 12
            && self.day <= 31
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && self.micro < 1_000_000
    }
}

/// A DATE, DATETIME or TIMESTAMP; see the module's documentation. Equality, order and hash look at the fields alone, not at kind and precision.
#[derive(Clone, Copy)]
pub struct Time(u64);

const KIND_BITS: u64 = 0xf;
/// The four low bits of a date: a precision no other kind has.
const DATE_BITS: u64 = 0b1110;

impl Time {
    /// The zero date of a kind.
    #[inline]
    pub fn zero(kind: TimeKind, fsp: u8) -> Self {
        Self(kind_bits(kind, fsp))
    }

    /// Puts fields together; `None` when one is out of its range. The time of day of a DATE is dropped.
    #[inline]
    pub fn from_parts(parts: TimeParts, kind: TimeKind, fsp: u8) -> Option<Self> {
        parts.in_range().then(|| Self(field_bits(parts) | kind_bits(kind, fsp)).without_time_of_a_date(kind))
    }

    #[inline]
    fn without_time_of_a_date(self, kind: TimeKind) -> Self {
        if kind == TimeKind::Date { Self(self.0 >> 41 << 41 | DATE_BITS) } else { self }
    }

    /// A calendar date.
    pub fn date(year: u16, month: u8, day: u8) -> Option<Self> {
        Self::from_parts(TimeParts { year, month, day, ..TimeParts::default() }, TimeKind::Date, 0)
    }

    /// All fields.
    #[inline]
    pub fn parts(self) -> TimeParts {
        TimeParts {
            year: self.year(),
            month: self.month(),
            day: self.day(),
            hour: self.hour(),
            minute: self.minute(),
            second: self.second(),
            micro: self.micro(),
        }
    }

    /// 0 to 9999.
    #[inline]
    pub fn year(self) -> u16 {
        (self.0 >> 50) as u16
    }

    /// 0 to 12.
    #[inline]
    pub fn month(self) -> u8 {
        (self.0 >> 46 & 0xf) as u8
    }

    /// 0 to 31.
    #[inline]
    pub fn day(self) -> u8 {
        (self.0 >> 41 & 0x1f) as u8
    }

    /// 0 to 23.
    #[inline]
    pub fn hour(self) -> u8 {
        (self.0 >> 36 & 0x1f) as u8
    }

    /// 0 to 59.
    #[inline]
    pub fn minute(self) -> u8 {
        (self.0 >> 30 & 0x3f) as u8
    }

    /// 0 to 59.
    #[inline]
    pub fn second(self) -> u8 {
        (self.0 >> 24 & 0x3f) as u8
    }

    /// 0 to 999,999.
    #[inline]
    pub fn micro(self) -> u32 {
        (self.0 >> 4 & 0xf_ffff) as u32
    }

    /// Which type it is of.
    #[inline]
    pub fn kind(self) -> TimeKind {
        match self.0 & KIND_BITS {
            DATE_BITS => TimeKind::Date,
            bits if bits & 1 == 1 => TimeKind::Timestamp,
            _ => TimeKind::DateTime,
        }
    }

    /// Digits of fractional seconds that are shown.
    #[inline]
    pub fn fsp(self) -> u8 {
        match self.0 & KIND_BITS {
            DATE_BITS => 0,
            bits => (bits >> 1) as u8,
        }
    }

    /// The same fields as another kind; a DATE loses its time of day. Does not convert between time zones, does not round.
    #[inline]
    #[must_use]
    pub fn with_kind(self, kind: TimeKind, fsp: u8) -> Self {
        Self(self.0 & !KIND_BITS | kind_bits(kind, fsp)).without_time_of_a_date(kind)
    }

    /// Whether all fields are zero.
    #[inline]
    pub fn is_zero(self) -> bool {
        self.0 >> 4 == 0
    }

    /// Whether month or day is zero.
    #[inline]
    pub fn has_zero_in_date(self) -> bool {
        self.month() == 0 || self.day() == 0
    }

    /// Whether the day is one of the calendar.
    #[inline]
    pub fn is_calendar_date(self) -> bool {
        self.day() != 0 && self.day() <= calendar::days_in_month(self.year(), self.month())
    }

    /// Day number (TO_DAYS).
    #[inline]
    pub fn day_number(self) -> i64 {
        calendar::day_number(self.year(), self.month(), self.day())
    }

    /// Microseconds since midnight.
    #[inline]
    pub fn micros_of_day(self) -> i64 {
        let seconds = i64::from(self.hour()) * 3600 + i64::from(self.minute()) * 60 + i64::from(self.second());
        seconds * MICROS_PER_SECOND + i64::from(self.micro())
    }

    /// Microseconds since 1970-01-01 00:00:00, as if it were UTC.
    #[inline]
    pub fn unix_micros(self) -> i64 {
        (self.day_number() - calendar::UNIX_EPOCH_DAY) * MICROS_PER_DAY + self.micros_of_day()
    }

    /// The time of microseconds since 1970-01-01 00:00:00 UTC; `None` outside of the years 0 to 9999. The fraction is not rounded.
    pub fn from_unix_micros(micros: i64, kind: TimeKind, fsp: u8) -> Option<Self> {
        let day = micros.div_euclid(MICROS_PER_DAY) + calendar::UNIX_EPOCH_DAY;
        Self::from_day_and_micros(day, micros.rem_euclid(MICROS_PER_DAY), kind, fsp)
    }

    /// The time of a day number and microseconds since midnight (less than a day); `None` outside of the years 0 to 9999.
    pub fn from_day_and_micros(day: i64, micros: i64, kind: TimeKind, fsp: u8) -> Option<Self> {
        let (year, month, day) = calendar::date_of_day(day)?;
        let seconds = micros / MICROS_PER_SECOND;
        let parts = TimeParts {
            year,
            month,
            day,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micro: (micros % MICROS_PER_SECOND) as u32,
        };
        Self::from_parts(parts, kind, fsp)
    }

    /// Rounded to `fsp` digits, half up; `None` when that leaves the year 9999.
    #[inline]
    pub fn round_to_fsp(self, fsp: u8) -> Option<Self> {
        let unit = FSP_UNIT[usize::from(fsp.min(MAX_FSP))];
        let rest = self.micro() % unit;
        let set = |time: Self| Self(time.0 & !KIND_BITS | kind_bits(self.kind(), fsp));
        if rest == 0 || self.kind() == TimeKind::Date {
            return Some(set(self));
        }
        let cut = Self(self.0 - (u64::from(rest) << 4));
        if rest * 2 < unit {
            return Some(set(cut));
        }
        if cut.micro() + unit < 1_000_000 {
            return Some(set(Self(cut.0 + (u64::from(unit) << 4))));
        }
        // A carry into the seconds. A date without month or day cannot carry beyond its day.
        let micros = cut.micros_of_day() + i64::from(unit);
        if micros < MICROS_PER_DAY {
            let carried = Self::from_day_and_micros(1, micros, self.kind(), fsp)?;
            return Some(Self(cut.0 >> 41 << 41 | carried.0 & ((1 << 41) - 1)));
        }
        if cut.has_zero_in_date() {
            return None;
        }
        Self::from_day_and_micros(cut.day_number() + 1, 0, self.kind(), fsp)
    }

    /// Cut off behind `fsp` digits.
    #[must_use]
    pub fn truncate_to_fsp(self, fsp: u8) -> Self {
        let rest = self.micro() % FSP_UNIT[usize::from(fsp.min(MAX_FSP))];
        Self((self.0 - (u64::from(rest) << 4)) & !KIND_BITS | kind_bits(self.kind(), fsp))
    }

    /// The time of day alone (the TIME of a DATETIME).
    pub fn to_duration(self) -> Duration {
        Duration::from_micros(self.micros_of_day(), self.fsp())
    }

    /// MySQL's packing, as it stands in rows and keys: ordered as the values are, without kind and precision.
    ///
    /// `((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second`, then 24 bits of microseconds.
    #[inline]
    pub fn packed(self) -> u64 {
        let ymd = (u64::from(self.year()) * 13 + u64::from(self.month())) << 5 | u64::from(self.day());
        let hms = u64::from(self.hour()) << 12 | u64::from(self.minute()) << 6 | u64::from(self.second());
        (ymd << 17 | hms) << 24 | u64::from(self.micro())
    }

    /// The time of [`packed`](Self::packed) bits; `None` when a field is out of its range.
    #[inline]
    pub fn from_packed(packed: u64, kind: TimeKind, fsp: u8) -> Option<Self> {
        if packed == 0 {
            return Some(Self::zero(kind, fsp));
        }
        let (ymdhms, micro) = (packed >> 24, (packed & 0xff_ffff) as u32);
        let (ymd, hms) = (ymdhms >> 17, ymdhms & 0x1_ffff);
        let year_month = ymd >> 5;
        let parts = TimeParts {
            year: u16::try_from(year_month / 13).ok()?,
            month: (year_month % 13) as u8,
            day: (ymd & 0x1f) as u8,
            hour: (hms >> 12) as u8,
            minute: (hms >> 6 & 0x3f) as u8,
            second: (hms & 0x3f) as u8,
            micro,
        };
        Self::from_parts(parts, kind, fsp)
    }

    /// The number `YYYYMMDD` or `YYYYMMDDhhmmss`, without fraction.
    pub fn to_i64(self) -> i64 {
        let date = i64::from(self.year()) * 10_000 + i64::from(self.month()) * 100 + i64::from(self.day());
        if self.kind() == TimeKind::Date {
            return date;
        }
        date * 1_000_000 + i64::from(self.hour()) * 10_000 + i64::from(self.minute()) * 100 + i64::from(self.second())
    }

    /// The number `YYYYMMDDhhmmss.fraction` with the fraction's shown digits.
    pub fn to_decimal(self) -> Decimal {
        let unscaled = i128::from(self.to_i64()) * 1_000_000 + i128::from(self.micro());
        Decimal::from_unscaled(unscaled, MAX_FSP).at_scale(self.fsp())
    }

    /// Appends the value as MySQL prints it: `2024-01-02`, `2024-01-02 03:04:05.678`. A timestamp is printed as it is, in UTC.
    #[inline]
    pub fn write_text(self, out: &mut Vec<u8>) {
        let year = self.year();
        push_two(out, (year / 100) as u8);
        push_two(out, (year % 100) as u8);
        out.push(b'-');
        push_two(out, self.month());
        out.push(b'-');
        push_two(out, self.day());
        if self.kind() == TimeKind::Date {
            return;
        }
        out.push(b' ');
        push_two(out, self.hour());
        out.push(b':');
        push_two(out, self.minute());
        out.push(b':');
        push_two(out, self.second());
        push_fraction(out, self.micro(), self.fsp());
    }
}

/// Appends a number below 100 with two digits.
#[inline]
pub(crate) fn push_two(out: &mut Vec<u8>, value: u8) {
    out.extend_from_slice(&[b'0' + value / 10 % 10, b'0' + value % 10]);
}

/// Appends point and fraction; nothing when `fsp` is 0.
#[inline]
pub(crate) fn push_fraction(out: &mut Vec<u8>, micro: u32, fsp: u8) {
    if fsp == 0 {
        return;
    }
    out.push(b'.');
    let mut digits = [b'0'; 6];
    let mut rest = micro;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[..usize::from(fsp.min(MAX_FSP))]);
}

#[inline]
fn kind_bits(kind: TimeKind, fsp: u8) -> u64 {
    match kind {
        TimeKind::Date => DATE_BITS,
        TimeKind::DateTime => u64::from(fsp.min(MAX_FSP)) << 1,
        TimeKind::Timestamp => u64::from(fsp.min(MAX_FSP)) << 1 | 1,
    }
}

#[inline]
fn field_bits(parts: TimeParts) -> u64 {
    u64::from(parts.year) << 50
        | u64::from(parts.month) << 46
        | u64::from(parts.day) << 41
        | u64::from(parts.hour) << 36
        | u64::from(parts.minute) << 30
        | u64::from(parts.second) << 24
        | u64::from(parts.micro) << 4
}

impl PartialEq for Time {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 >> 4 == other.0 >> 4
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0 >> 4).cmp(&(other.0 >> 4))
    }
}

impl Hash for Time {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0 >> 4).hash(state);
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(26);
        self.write_text(&mut out);
        f.write_str(std::str::from_utf8(&out).expect("digits and punctuation are ASCII"))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts() -> impl Strategy<Value = TimeParts> {
        (0u16..=9999, 0u8..=12, 0u8..=31, 0u8..24, 0u8..60, 0u8..60, 0u32..1_000_000)
            .prop_map(|(year, month, day, hour, minute, second, micro)| TimeParts { year, month, day, hour, minute, second, micro })
    }

    proptest! {
        #[test]
        fn fields_and_packed_form_come_back(a in parts(), b in parts(), fsp in 0u8..=6) {
            for kind in [TimeKind::DateTime, TimeKind::Timestamp] {
                let time = Time::from_parts(a, kind, fsp).expect("in range");
                prop_assert_eq!((time.parts(), time.kind(), time.fsp()), (a, kind, fsp));
                let back = Time::from_packed(time.packed(), kind, fsp).expect("own bits");
                prop_assert_eq!((back.parts(), back.kind(), back.fsp()), (a, kind, fsp));
                let other = Time::from_parts(b, kind, 0).expect("in range");
                prop_assert_eq!(time.cmp(&other), a.cmp(&b));
                prop_assert_eq!(time.packed().cmp(&other.packed()), a.cmp(&b));
            }
            let date = Time::from_parts(a, TimeKind::Date, 0).expect("in range");
            prop_assert_eq!((date.kind(), date.fsp(), date.micros_of_day()), (TimeKind::Date, 0, 0));
        }

        #[test]
        fn unix_time_comes_back(micros in -60_000_000_000_000_000i64..250_000_000_000_000_000) {
            let time = Time::from_unix_micros(micros, TimeKind::DateTime, 6).expect("within the years");
            prop_assert_eq!(time.unix_micros(), micros);
        }

        #[test]
        fn rounding_goes_to_the_nearest_unit(micros in 0i64..4_000_000_000_000_000, fsp in 0u8..=6) {
            let time = Time::from_unix_micros(micros, TimeKind::DateTime, 6).expect("within the years");
            let unit = i64::from(FSP_UNIT[usize::from(fsp)]);
            let rounded = time.round_to_fsp(fsp).expect("far from the year 9999");
            prop_assert_eq!(rounded.unix_micros(), (micros + unit / 2) / unit * unit);
            prop_assert_eq!(rounded.fsp(), fsp);
            prop_assert_eq!(time.truncate_to_fsp(fsp).unix_micros(), micros / unit * unit);
        }

        #[test]
        fn any_packed_bits_are_read_without_panic(bits: u64) {
            let _ = Time::from_packed(bits, TimeKind::DateTime, 0);
        }
    }

    #[test]
    fn values_print_as_in_mysql() {
        let parts = TimeParts { year: 987, month: 1, day: 2, hour: 3, minute: 4, second: 5, micro: 60_700 };
        let time = |kind, fsp| Time::from_parts(parts, kind, fsp).expect("in range").to_string();
        assert_eq!(time(TimeKind::Date, 0), "0987-01-02");
        assert_eq!(time(TimeKind::DateTime, 0), "0987-01-02 03:04:05");
        assert_eq!(time(TimeKind::Timestamp, 4), "0987-01-02 03:04:05.0607");
        assert_eq!(Time::zero(TimeKind::Date, 0).to_string(), "0000-00-00");
        let last = Time::from_parts(
            TimeParts { year: 9999, month: 12, day: 31, hour: 23, minute: 59, second: 59, micro: 500_000 },
            TimeKind::DateTime,
            6,
        );
        assert_eq!(last.expect("in range").round_to_fsp(0), None);
        let decimal = Time::from_parts(parts, TimeKind::DateTime, 3).expect("in range").to_decimal();
        assert_eq!(decimal.to_string(), "9870102030405.061");
    }
}

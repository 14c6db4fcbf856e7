//! TIME: a span of up to 838:59:59 in either direction.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
};

use super::{FSP_UNIT, MAX_FSP, MICROS_PER_SECOND, push_fraction, push_two};
use crate::decimal::Decimal;

/// A TIME value. Equality, order and hash look at the span alone, not at the precision.
///
/// Invariant: never beyond ±838:59:59 when it comes from the constructors that check; sums may be.
#[derive(Clone, Copy)]
pub struct Duration {
    micros: i64,
    fsp: u8,
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self { micros: 0, fsp: 0 };
    /// Microseconds of 838:59:59, the longest span.
    pub const MAX_MICROS: i64 = (838 * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND;

    /// A span of microseconds that shows `fsp` digits of its fraction. It is neither rounded nor checked.
    #[inline]
    pub const fn from_micros(micros: i64, fsp: u8) -> Self {
        Self { micros, fsp: if fsp > MAX_FSP { MAX_FSP } else { fsp } }
    }

    /// A span of its fields; `None` when minutes or seconds are above 59 or the span is longer than the longest.
    pub fn from_parts(negative: bool, hours: u64, minutes: u64, seconds: u64, micro: u32, fsp: u8) -> Option<Self> {
        if hours > 838 || minutes > 59 || seconds > 59 {
            return None;
        }
        let micros = (hours * 3600 + minutes * 60 + seconds) as i64 * MICROS_PER_SECOND + i64::from(micro);
        (micros <= Self::MAX_MICROS).then(|| Self::from_micros(if negative { -micros } else { micros }, fsp))
    }

    /// The longest span, with its sign.
    pub const fn max_value(negative: bool, fsp: u8) -> Self {
        Self::from_micros(if negative { -Self::MAX_MICROS } else { Self::MAX_MICROS }, fsp)
    }

    /// The span in microseconds.
    #[inline]
    pub const fn micros(self) -> i64 {
        self.micros
    }

    /// The span in nanoseconds, as it stands in rows and keys.
    #[inline]
    pub const fn nanos(self) -> i64 {
        self.micros * 1000
    }

    /// The span of nanoseconds in a row or key.
    #[inline]
    pub const fn from_nanos(nanos: i64, fsp: u8) -> Self {
        Self::from_micros(nanos / 1000, fsp)
    }

    /// Digits of fractional seconds that are shown.
    #[inline]
    pub const fn fsp(self) -> u8 {
        self.fsp
    }

    /// The same span with another precision; not rounded.
    #[must_use]
    pub const fn with_fsp(self, fsp: u8) -> Self {
        Self::from_micros(self.micros, fsp)
    }

    /// Whether the span is below zero.
    pub const fn is_negative(self) -> bool {
        self.micros < 0
    }

    /// Whether the span lies within ±838:59:59.
    pub const fn in_range(self) -> bool {
        self.micros.unsigned_abs() <= Self::MAX_MICROS as u64
    }

    /// Whole hours, without sign.
    pub const fn hours(self) -> u64 {
        self.micros.unsigned_abs() / 3_600_000_000
    }

    /// Minutes of the hour.
    pub const fn minutes(self) -> u8 {
        (self.micros.unsigned_abs() / 60_000_000 % 60) as u8
    }

    /// Seconds of the minute.
    pub const fn seconds(self) -> u8 {
        (self.micros.unsigned_abs() / 1_000_000 % 60) as u8
    }

    /// Microseconds of the second.
    pub const fn micro(self) -> u32 {
        (self.micros.unsigned_abs() % 1_000_000) as u32
    }

    /// The span in the other direction.
    #[must_use]
    pub const fn neg(self) -> Self {
        Self { micros: -self.micros, fsp: self.fsp }
    }

    /// Rounded to `fsp` digits, halves away from zero; not beyond the longest span.
    #[must_use]
    pub fn round_to_fsp(self, fsp: u8) -> Self {
        let unit = i64::from(FSP_UNIT[usize::from(fsp.min(MAX_FSP))]);
        let magnitude = (self.micros.abs() + unit / 2) / unit * unit;
        let magnitude = if self.in_range() { magnitude.min(Self::MAX_MICROS) } else { magnitude };
        Self::from_micros(magnitude * self.micros.signum(), fsp)
    }

    /// Cut off behind `fsp` digits.
    #[must_use]
    pub fn truncate_to_fsp(self, fsp: u8) -> Self {
        let unit = i64::from(FSP_UNIT[usize::from(fsp.min(MAX_FSP))]);
        Self::from_micros(self.micros / unit * unit, fsp)
    }

    /// The number `hhmmss`, without fraction.
    pub fn to_i64(self) -> i64 {
        let number = self.hours() as i64 * 10_000 + i64::from(self.minutes()) * 100 + i64::from(self.seconds());
        if self.is_negative() { -number } else { number }
    }

    /// The number `hhmmss.fraction` with the fraction's shown digits.
    pub fn to_decimal(self) -> Decimal {
        let magnitude = i128::from(self.to_i64().abs()) * 1_000_000 + i128::from(self.micro());
        Decimal::from_unscaled(if self.is_negative() { -magnitude } else { magnitude }, MAX_FSP).at_scale(self.fsp)
    }

    /// Appends the value as MySQL prints it: `-12:34:56.7`, at least two digits of hours.
    #[inline]
    pub fn write_text(self, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        let hours = self.hours();
        if hours < 100 {
            push_two(out, hours as u8);
        } else {
            out.extend_from_slice(itoa::Buffer::new().format(hours).as_bytes());
        }
        out.push(b':');
        push_two(out, self.minutes());
        out.push(b':');
        push_two(out, self.seconds());
        push_fraction(out, self.micro(), self.fsp);
    }
}

impl PartialEq for Duration {
    fn eq(&self, other: &Self) -> bool {
        self.micros == other.micros
    }
}

impl Eq for Duration {}

impl PartialOrd for Duration {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Duration {
    fn cmp(&self, other: &Self) -> Ordering {
        self.micros.cmp(&other.micros)
    }
}

impl Hash for Duration {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.micros.hash(state);
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(17);
        self.write_text(&mut out);
        f.write_str(std::str::from_utf8(&out).expect("digits and punctuation are ASCII"))
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

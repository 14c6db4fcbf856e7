//! Reading and writing text.

use std::{fmt, str::FromStr};

use super::{
    Decimal, DecimalError, MAX_DIGITS, MAX_PRECISION, MAX_SCALE, RoundMode,
    wide::{self, U256},
};

/// What reading a text from its front found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedDecimal {
    /// The number; zero when there was none, the greatest one on overflow.
    pub value: Decimal,
    /// Bytes of the text that belong to the number, leading spaces included; 0 when there was none.
    pub used: usize,
    /// The number is greater than any decimal.
    pub overflow: bool,
    /// Digits behind the last one there is room for were cut off.
    pub truncated: bool,
}

/// Digits of a number as they are read: at most [`MAX_DIGITS`] are kept.
#[derive(Default)]
struct Digits {
    magnitude: U256,
    /// Kept digits, leading zeros not counted.
    count: usize,
    /// Digits that were dropped behind the kept ones.
    dropped: usize,
    dropped_nonzero: bool,
    /// The first digit that was dropped.
    first_dropped: u8,
}

impl Digits {
    fn push(&mut self, digit: u8) {
        if self.count == 0 && digit == 0 {
            return;
        }
        if self.count == MAX_DIGITS {
            if self.dropped == 0 {
                self.first_dropped = digit;
            }
            self.dropped += 1;
            self.dropped_nonzero |= digit != 0;
            return;
        }
        let mut carry = u128::from(digit);
        for limb in &mut self.magnitude {
            carry += u128::from(*limb) * 10;
            *limb = carry as u64;
            carry >>= 64;
        }
        self.count += 1;
    }
}

impl Decimal {
    /// Reads the number at the front of `text`: spaces, sign, digits with an optional point, optional exponent.
    pub fn parse_prefix(text: &[u8]) -> ParsedDecimal {
        let none = ParsedDecimal { value: Self::ZERO, used: 0, overflow: false, truncated: false };
        let mut at = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let negative = text.get(at) == Some(&b'-');
        at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
        if let Some(parsed) = Self::parse_short(&text[at..], negative, at) {
            return parsed;
        }
        let mut digits = Digits::default();
        let mut fraction = 0usize;
        let (mut any, mut seen_point) = (false, false);
        while let Some(&byte) = text.get(at) {
            match byte {
                b'0'..=b'9' => {
                    any = true;
                    fraction += usize::from(seen_point);
                    digits.push(byte - b'0');
                }
                b'.' if !seen_point => seen_point = true,
                _ => break,
            }
            at += 1;
        }
        if !any {
            return none;
        }
        let (exponent, exponent_len) = parse_exponent(&text[at..]);
        at += exponent_len;
        Self::assemble(negative, &digits, exponent - fraction as i64 + digits.dropped as i64, at)
    }

    /// The common case: at most 18 digits without exponent.
    #[inline]
    fn parse_short(text: &[u8], negative: bool, before: usize) -> Option<ParsedDecimal> {
        let mut value = 0u64;
        let mut point = None;
        for (at, &byte) in text.iter().enumerate() {
            match byte {
                b'0'..=b'9' if at < 19 => value = value * 10 + u64::from(byte - b'0'),
                b'.' if point.is_none() => point = Some(at),
                _ => return None,
            }
        }
        let scale = point.map_or(0, |point| text.len() - point - 1);
        if text.len() - usize::from(point.is_some()) == 0 || text.len() > 19 {
            return None;
        }
        let value = Self::new(negative, [value, 0, 0, 0], scale, scale);
        Some(ParsedDecimal { value, used: before + text.len(), overflow: false, truncated: false })
    }

    /// Puts `digits * 10^exponent` together.
    fn assemble(negative: bool, digits: &Digits, exponent: i64, used: usize) -> ParsedDecimal {
        let done = |value: Self, overflow, truncated| ParsedDecimal { value, used, overflow, truncated };
        if digits.count == 0 {
            let shown = (-exponent).clamp(0, i64::from(MAX_SCALE)) as usize;
            return done(Self::new(false, [0; 4], shown, shown), false, false);
        }
        if digits.count as i64 + exponent > MAX_DIGITS as i64 {
            let max = Self::max_value(MAX_PRECISION, 0);
            return done(if negative { max.neg() } else { max }, true, false);
        }
        if exponent >= 0 {
            let magnitude = wide::mul_power(&digits.magnitude, exponent as usize).expect("at most 76 digits, as checked above");
            return done(Self::new(negative, magnitude, 0, 0), false, digits.dropped_nonzero);
        }
        // A fraction: what lies behind the digits there is room for is rounded away.
        let scale = exponent.unsigned_abs() as usize;
        let shown = scale.min(MAX_SCALE as usize);
        if scale <= shown {
            return done(Self::new(negative, digits.magnitude, scale, shown), false, digits.dropped_nonzero);
        }
        let cut = scale - shown;
        if cut > digits.count {
            return done(Self::new(false, [0; 4], shown, shown), false, true);
        }
        let (mut kept, exact) = wide::div_power(&digits.magnitude, cut - 1);
        let digit = wide::div_small(&mut kept, 10);
        if digit >= 5 {
            kept = wide::add(&kept, &wide::POWERS[0]).expect("far below 256 bits");
        }
        let lost = !exact || digit != 0 || digits.dropped_nonzero;
        done(Self::new(negative, kept, shown, shown), false, lost)
    }

    /// Reads a whole text, spaces around it allowed. Digits behind the thirtieth of the fraction are rounded away.
    pub fn parse(text: &[u8]) -> Result<Self, DecimalError> {
        let parsed = Self::parse_prefix(text);
        let rest = &text[parsed.used..];
        if parsed.used == 0 || rest.iter().any(|byte| !byte.is_ascii_whitespace()) {
            return Err(DecimalError::BadNumber);
        }
        if parsed.overflow { Err(DecimalError::Overflow) } else { Ok(parsed.value) }
    }

    /// Appends the number with its shown fraction digits.
    #[inline]
    pub fn write_text(&self, out: &mut Vec<u8>) {
        self.write_text_scaled(self.shown, out);
    }

    /// Appends the number with `scale` fraction digits, rounded half up.
    pub fn write_text_scaled(&self, scale: u8, out: &mut Vec<u8>) {
        let rounded = if scale < self.computed { self.round(i32::from(scale), RoundMode::HalfUp) } else { *self };
        if rounded.negative {
            out.push(b'-');
        }
        let have = usize::from(rounded.computed);
        let mut buffer = [b'0'; MAX_DIGITS + 4];
        let start = write_digits(&rounded.magnitude, &mut buffer);
        // At least one digit stands before the point.
        let start = start.min(buffer.len() - have - 1);
        let (int, fraction) = buffer[start..].split_at(buffer.len() - start - have);
        out.extend_from_slice(int);
        if scale > 0 {
            out.push(b'.');
            out.extend_from_slice(fraction);
            out.resize(out.len() + usize::from(scale) - have, b'0');
        }
    }
}

/// Writes the digits right-aligned; returns where they begin.
fn write_digits(magnitude: &U256, buffer: &mut [u8]) -> usize {
    let mut rest = *magnitude;
    let mut end = buffer.len();
    loop {
        let group = wide::div_small(&mut rest, wide::power_u64(19));
        let last = wide::is_zero(&rest);
        let mut text = itoa::Buffer::new();
        let text = text.format(group).as_bytes();
        if last && group == 0 {
            return end;
        }
        buffer[end - text.len()..end].copy_from_slice(text);
        if last {
            return end - text.len();
        }
        end -= 19;
    }
}

/// Value and length of an exponent at the front of `text`; length 0 when there is none.
fn parse_exponent(text: &[u8]) -> (i64, usize) {
    let Some(b'e' | b'E') = text.first() else { return (0, 0) };
    let signed = usize::from(matches!(text.get(1), Some(b'+' | b'-')));
    let digits = text[1 + signed..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return (0, 0);
    }
    let value = text[1 + signed..][..digits].iter().fold(0i64, |acc, &byte| (acc * 10 + i64::from(byte - b'0')).min(1_000_000));
    (if text[1] == b'-' { -value } else { value }, 1 + signed + digits)
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(24);
        self.write_text(&mut out);
        f.write_str(std::str::from_utf8(&out).expect("digits, sign and point are ASCII"))
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, DecimalError> {
        Self::parse(text.as_bytes())
    }
}

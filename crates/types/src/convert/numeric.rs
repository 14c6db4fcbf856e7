//! Numbers at the front of texts, and what one kind of number becomes as another.

use crate::decimal::{Decimal, ParsedDecimal};

/// A number at the front of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix<T> {
    /// The number; 0 when there was none.
    pub value: T,
    /// There was no number at all.
    pub empty: bool,
    /// Something other than blanks followed.
    pub rest: bool,
    /// The number was beyond the type's range; `value` is the nearest one.
    pub overflow: bool,
}

/// The integer at the front of a text, as CAST reads it: digits only, a fraction is rest. Negative numbers and those above `i64::MAX` share the 128 bits.
pub fn integer_prefix(text: &[u8]) -> Prefix<i128> {
    let trimmed = text.trim_ascii();
    let (negative, digits) = match trimmed.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, trimmed),
    };
    let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let magnitude = digits[..len].iter().fold(0i128, |acc, &byte| (acc * 10 + i128::from(byte - b'0')).min(1 << 100));
    let value = if negative { -magnitude } else { magnitude };
    let clamped = value.clamp(i128::from(i64::MIN), i128::from(u64::MAX));
    Prefix { value: clamped, empty: len == 0, rest: len < digits.len(), overflow: clamped != value }
}

/// The double at the front of a text.
pub fn double_prefix(text: &[u8]) -> Prefix<f64> {
    let text = text.trim_ascii_start();
    let len = float_len(text);
    let rest = !text[len..].trim_ascii().is_empty();
    if len == 0 {
        return Prefix { value: 0.0, empty: true, rest, overflow: false };
    }
    let parsed: f64 = std::str::from_utf8(&text[..len]).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let overflow = parsed.is_infinite();
    let value = if overflow { f64::MAX.copysign(parsed) } else { parsed };
    Prefix { value, empty: false, rest, overflow }
}

/// Length of `[sign] digits [. digits] [e [sign] digits]` at the front of a text; 0 when there is no digit before the exponent.
fn float_len(text: &[u8]) -> usize {
    let digits_at = |at: usize| text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let int = digits_at(at);
    at += int;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits_at(at + 1);
        at += 1 + fraction;
    }
    if int + fraction == 0 {
        return 0;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = text.get(at + 1 + sign..).map_or(0, |_| digits_at(at + 1 + sign));
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at
}

/// The decimal at the front of a text.
pub fn decimal_prefix(text: &[u8]) -> Prefix<Decimal> {
    let ParsedDecimal { value, used, overflow, .. } = Decimal::parse_prefix(text);
    Prefix { value, empty: used == 0, rest: !text[used..].trim_ascii().is_empty(), overflow }
}

/// The integer nearest to a double, halves to the even neighbour as the processor rounds; `Err` has the nearest one of the type.
pub fn double_to_i64(value: f64) -> Result<i64, i64> {
    let rounded = value.round_ties_even();
    // 2^63 is a double; i64::MAX is not.
    if rounded >= -(i64::MIN as f64) {
        return Err(i64::MAX);
    }
    if rounded < i64::MIN as f64 || rounded.is_nan() {
        return Err(if rounded.is_nan() { 0 } else { i64::MIN });
    }
    Ok(rounded as i64)
}

/// The unsigned integer nearest to a double, halves to the even neighbour; `Err` has the nearest one of the type.
pub fn double_to_u64(value: f64) -> Result<u64, u64> {
    let rounded = value.round_ties_even();
    if rounded >= u64::MAX as f64 {
        return Err(u64::MAX);
    }
    if rounded < 0.0 || rounded.is_nan() {
        return Err(0);
    }
    Ok(rounded as u64)
}

/// A double with a fixed number of fraction digits.
pub fn round_double(value: f64, scale: u8) -> f64 {
    let power = 10f64.powi(i32::from(scale));
    let scaled = value * power;
    if scaled.is_finite() { scaled.round_ties_even() / power } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_the_front_of_texts() {
        let integer = |text: &str| integer_prefix(text.as_bytes());
        assert_eq!(integer(" -12 "), Prefix { value: -12, empty: false, rest: false, overflow: false });
        assert_eq!(integer("12.7"), Prefix { value: 12, empty: false, rest: true, overflow: false });
        assert_eq!(integer("x"), Prefix { value: 0, empty: true, rest: true, overflow: false });
        assert_eq!(integer("99999999999999999999"), Prefix { value: u64::MAX.into(), empty: false, rest: false, overflow: true });
        let double = |text: &str| double_prefix(text.as_bytes());
        for (text, value, rest) in
            [("1e2", 100.0, false), ("1e", 1.0, true), (".5", 0.5, false), ("-1.5abc", -1.5, true), ("1e+", 1.0, true), ("5.", 5.0, false)]
        {
            assert_eq!(double(text), Prefix { value, empty: false, rest, overflow: false }, "{text}");
        }
        assert!(double("").empty && double("-").empty && double(".").empty && double("inf").empty);
        assert!(double("1e999").overflow);
        assert_eq!(decimal_prefix(b"1.25x").value.to_string(), "1.25");
    }

    #[test]
    fn doubles_become_integers() {
        assert_eq!((double_to_i64(2.5), double_to_i64(-3.5), double_to_i64(1e19)), (Ok(2), Ok(-4), Err(i64::MAX)));
        assert_eq!(
            (double_to_i64(9_223_372_036_854_775_808.0), double_to_i64(-9_223_372_036_854_775_808.0)),
            (Err(i64::MAX), Ok(i64::MIN))
        );
        assert_eq!(
            (double_to_u64(-1.0), double_to_u64(1.8e19), double_to_u64(1e20)),
            (Err(0), Ok(18_000_000_000_000_000_000), Err(u64::MAX))
        );
    }
}

//! From and to integers and floats.

use super::{Decimal, DecimalError, RoundMode, wide};

/// The greatest integer below which every integer is a double.
const EXACT_DOUBLE: u64 = 1 << 53;
/// The greatest power of ten that is a double exactly.
const EXACT_POWER: usize = 22;

impl Decimal {
    /// The integer as a decimal.
    #[inline]
    pub fn from_i64(value: i64) -> Self {
        Self::new(value < 0, [value.unsigned_abs(), 0, 0, 0], 0, 0)
    }

    /// The integer as a decimal.
    #[inline]
    pub fn from_u64(value: u64) -> Self {
        Self::new(false, [value, 0, 0, 0], 0, 0)
    }

    /// The shortest decimal that is read back as this double. `Err` for NaN, infinities and numbers of more than 76 digits before the point.
    pub fn from_f64(value: f64) -> Result<Self, DecimalError> {
        if !value.is_finite() {
            return Err(DecimalError::Overflow);
        }
        let mut buffer = ryu::Buffer::new();
        let parsed = Self::parse_prefix(buffer.format_finite(value).as_bytes());
        if parsed.overflow { Err(DecimalError::Overflow) } else { Ok(parsed.value.without_fraction_zeros()) }
    }

    /// The number without zeros at the end of its fraction.
    fn without_fraction_zeros(self) -> Self {
        let (magnitude, scale) = self.canonical();
        Self::new(self.negative, magnitude, usize::from(scale), usize::from(scale))
    }

    /// The nearest integer, halves away from zero; `Err` has the nearest one of the type.
    pub fn to_i64(&self) -> Result<i64, i64> {
        let rounded = self.round(0, RoundMode::HalfUp);
        let limit = i64::MAX as u64 + u64::from(rounded.negative);
        match wide::as_u64(&rounded.magnitude) {
            Some(value) if value <= limit => Ok(if rounded.negative { (value as i64).wrapping_neg() } else { value as i64 }),
            _ => Err(if rounded.negative { i64::MIN } else { i64::MAX }),
        }
    }

    /// The nearest integer, halves away from zero; `Err` has the nearest one of the type: 0 for negative numbers.
    pub fn to_u64(&self) -> Result<u64, u64> {
        let rounded = self.round(0, RoundMode::HalfUp);
        match wide::as_u64(&rounded.magnitude) {
            Some(value) if !rounded.negative => Ok(value),
            Some(0) => Ok(0),
            _ => Err(if rounded.negative { 0 } else { u64::MAX }),
        }
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        let scale = usize::from(self.computed);
        if let Some(value) = wide::as_u64(&self.magnitude)
            && value <= EXACT_DOUBLE
            && scale <= EXACT_POWER
        {
            // Both operands are exact, so the quotient is rounded once.
            let quotient = value as f64 / 10f64.powi(scale as i32);
            return if self.negative { -quotient } else { quotient };
        }
        let mut text = Vec::with_capacity(84);
        let exact = Self { shown: self.computed, ..*self };
        exact.write_text(&mut text);
        std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).expect("a decimal's text is a number")
    }

    /// `value * 10^scale` when the number has at most `scale` fraction digits and the result fits.
    pub fn to_unscaled(&self, scale: u8) -> Option<i128> {
        let rounded = self.round(i32::from(scale), RoundMode::HalfUp);
        let magnitude = i128::try_from(wide::as_u128(&rounded.magnitude)?).ok()?;
        Some(if rounded.negative { -magnitude } else { magnitude })
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self::from_i64(value)
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Self {
        Self::from_u64(value)
    }
}

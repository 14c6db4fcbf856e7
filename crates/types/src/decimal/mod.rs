//! DECIMAL: exact numbers of up to 65 digits, 30 of them behind the point.
//!
//! ```text
//! value = ± magnitude / 10^computed       magnitude: 256 bits, below 10^76
//! ```
//!
//! A number knows two counts of fraction digits. `computed` is how many it is computed with; `shown` is how many SQL says it has ([`Decimal::scale`]). They differ
//! after a division: MySQL computes quotients in groups of nine digits and shows `div_precision_increment` more than the dividend has, so that `1/3*3` is `1.0000`.
//!
//! | file | |
//! |---|---|
//! | `wide` | arithmetic of 256-bit magnitudes |
//! | `arith` | + - * / %, rounding |
//! | `text` | reading and writing text |
//! | `binary` | MySQL's binary form, as it stands in rows and keys |
//! | `number` | from and to integers and floats |
//!
//! Invariants: zero is never negative; `computed <= MAX_DIGITS`; `shown <= 30`; magnitude below `10^MAX_DIGITS`.
//! Equality, order and hash are those of the number: `1.0` equals `1.00`.

mod arith;
mod binary;
mod number;
#[cfg(test)]
mod tests;
mod text;
mod wide;

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};

use thiserror::Error;

pub use arith::RoundMode;
pub use binary::{binary_len, decode_binary_len};
pub use text::ParsedDecimal;
use wide::U256;

/// Most digits a DECIMAL column has.
pub const MAX_PRECISION: u8 = 65;
/// Most digits behind the point a DECIMAL column has.
pub const MAX_SCALE: u8 = 30;
/// Most digits of an intermediate result.
const MAX_DIGITS: usize = 76;

/// Why a decimal cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecimalError {
    /// More digits before the point than there is room for.
    #[error("decimal overflow")]
    Overflow,
    /// The text is no number.
    #[error("not a decimal number")]
    BadNumber,
    /// The bytes are no decimal.
    #[error("damaged decimal: {0}")]
    Damaged(&'static str),
}

/// An exact decimal number; see the module's documentation.
#[derive(Clone, Copy)]
pub struct Decimal {
    magnitude: U256,
    computed: u8,
    shown: u8,
    negative: bool,
}

impl Decimal {
    /// Zero without fraction digits.
    pub const ZERO: Self = Self { magnitude: [0; 4], computed: 0, shown: 0, negative: false };
    /// One.
    pub const ONE: Self = Self { magnitude: [1, 0, 0, 0], computed: 0, shown: 0, negative: false };

    #[inline]
    fn new(negative: bool, magnitude: U256, scale: usize, shown: usize) -> Self {
        debug_assert!(scale <= MAX_DIGITS && wide::digits(&magnitude) <= MAX_DIGITS);
        let negative = negative && !wide::is_zero(&magnitude);
        Self { magnitude, computed: scale as u8, shown: shown.min(MAX_SCALE as usize) as u8, negative }
    }

    /// `unscaled / 10^scale`; `scale` is at most 30.
    #[inline]
    pub fn from_unscaled(unscaled: i128, scale: u8) -> Self {
        assert!(scale <= MAX_SCALE, "scale {scale} is above {MAX_SCALE}");
        Self::new(unscaled < 0, wide::from_u128(unscaled.unsigned_abs()), usize::from(scale), usize::from(scale))
    }

    /// The greatest number of a column: `precision` nines, `scale` of them behind the point.
    pub fn max_value(precision: u8, scale: u8) -> Self {
        let precision = usize::from(precision.min(MAX_PRECISION));
        let magnitude = wide::sub(&wide::POWERS[precision], &wide::POWERS[0]);
        Self::new(false, magnitude, usize::from(scale.min(MAX_SCALE)), usize::from(scale))
    }

    /// Fraction digits SQL says it has.
    #[inline]
    pub fn scale(&self) -> u8 {
        self.shown
    }

    /// Digits before the point, leading zeros not counted.
    #[inline]
    pub fn int_digits(&self) -> u8 {
        wide::digits(&self.magnitude).saturating_sub(usize::from(self.computed)) as u8
    }

    /// Digits of the number as it is written, at least 1.
    #[inline]
    pub fn precision(&self) -> u8 {
        (self.int_digits() + self.shown).max(1)
    }

    /// Whether it is zero.
    #[inline]
    pub fn is_zero(&self) -> bool {
        wide::is_zero(&self.magnitude)
    }

    /// Whether it is below zero.
    #[inline]
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// -1, 0 or 1.
    #[inline]
    pub fn signum(&self) -> i64 {
        if self.is_zero() {
            0
        } else if self.negative {
            -1
        } else {
            1
        }
    }

    /// The number with the opposite sign.
    #[inline]
    #[must_use]
    pub fn neg(&self) -> Self {
        Self { negative: !self.negative && !self.is_zero(), ..*self }
    }

    /// The number without its sign.
    #[inline]
    #[must_use]
    pub fn abs(&self) -> Self {
        Self { negative: false, ..*self }
    }

    /// Magnitude and scale without zeros at the end of the fraction; the same for equal numbers.
    fn canonical(&self) -> (U256, u8) {
        if self.is_zero() {
            return ([0; 4], 0);
        }
        let (mut magnitude, mut scale) = (self.magnitude, self.computed);
        if let Some(mut small) = wide::as_u64(&magnitude) {
            while scale > 0 && small.is_multiple_of(10) {
                small /= 10;
                scale -= 1;
            }
            return ([small, 0, 0, 0], scale);
        }
        while scale > 0 {
            let mut shorter = magnitude;
            if wide::div_small(&mut shorter, 10) != 0 {
                break;
            }
            magnitude = shorter;
            scale -= 1;
        }
        (magnitude, scale)
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        if self.computed == other.computed {
            return wide::compare(&self.magnitude, &other.magnitude);
        }
        let (low, high, swapped) = if self.computed < other.computed { (self, other, false) } else { (other, self, true) };
        let difference = usize::from(high.computed - low.computed);
        if let (Some(a), Some(b), true) = (wide::as_u64(&low.magnitude), wide::as_u64(&high.magnitude), difference <= 19) {
            let order = (u128::from(a) * u128::from(wide::power_u64(difference))).cmp(&u128::from(b));
            return if swapped { order.reverse() } else { order };
        }
        let aligned = wide::mul(&low.magnitude, &wide::POWERS[difference]);
        let order = wide::compare(&aligned, &wide::widen(&high.magnitude));
        if swapped { order.reverse() } else { order }
    }
}

impl std::ops::Neg for Decimal {
    type Output = Self;

    fn neg(self) -> Self {
        Decimal::neg(&self)
    }
}

impl Default for Decimal {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Ord for Decimal {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.compare_magnitude(other),
            (true, true) => other.compare_magnitude(self),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

impl PartialOrd for Decimal {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.canonical(), self.negative).hash(state);
    }
}

//! Arithmetic and rounding.
//!
//! Scales of results are MySQL's: the greater one for `+`, `-` and `%`, the sum for `*`, `dividend + increment` for `/`; never above 30 shown.
//! Where digits before the point leave no room for all digits behind it, the last ones are cut off, as MySQL does with its buffer.

use std::cmp::Ordering;

use super::{
    Decimal, DecimalError, MAX_DIGITS, MAX_SCALE,
    wide::{self, U256, U512},
};

/// MySQL computes with groups of nine digits; how many digits a quotient is computed with follows from that.
const GROUP: usize = 9;

/// Sums of two numbers below this stay within `i128`.
const HALF_U128: u128 = 1 << 126;

/// Which of the two neighbours a number between them becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundMode {
    /// The nearer one; the one farther from zero when both are equally near.
    HalfUp,
    /// The one nearer to zero.
    Truncate,
    /// The greater one.
    Ceiling,
    /// The smaller one.
    Floor,
}

impl Decimal {
    /// `self + other`.
    #[inline]
    pub fn add(&self, other: &Self) -> Result<Self, DecimalError> {
        if self.computed == other.computed
            && let (Some(a), Some(b)) = (wide::as_u64(&self.magnitude), wide::as_u64(&other.magnitude))
        {
            let (a, b) = (i128::from(a), i128::from(b));
            let sum = if self.negative { -a } else { a } + if other.negative { -b } else { b };
            let shown = usize::from(self.shown.max(other.shown));
            return Ok(Self::new(sum < 0, wide::from_u128(sum.unsigned_abs()), usize::from(self.computed), shown));
        }
        self.add_wide(other)
    }

    fn add_wide(&self, other: &Self) -> Result<Self, DecimalError> {
        let shown = usize::from(self.shown.max(other.shown));
        // Long sums of one column: same scale, a bit more than 64 bits.
        if self.computed == other.computed
            && let (Some(a @ 0..HALF_U128), Some(b @ 0..HALF_U128)) = (wide::as_u128(&self.magnitude), wide::as_u128(&other.magnitude))
        {
            let (a, b) = (a as i128, b as i128);
            let sum = if self.negative { -a } else { a } + if other.negative { -b } else { b };
            return Ok(Self::new(sum < 0, wide::from_u128(sum.unsigned_abs()), usize::from(self.computed), shown));
        }
        let int_digits = usize::from(self.int_digits().max(other.int_digits())) + 1;
        let wanted = usize::from(self.computed.max(other.computed));
        let scale = wanted.min(MAX_DIGITS.saturating_sub(int_digits));
        let (a, b) = (self.magnitude_at(scale)?, other.magnitude_at(scale)?);
        if self.negative == other.negative {
            let sum = wide::add(&a, &b).ok_or(DecimalError::Overflow)?;
            return Self::checked(self.negative, sum, scale, shown);
        }
        match wide::compare(&a, &b) {
            Ordering::Less => Self::checked(other.negative, wide::sub(&b, &a), scale, shown),
            _ => Self::checked(self.negative, wide::sub(&a, &b), scale, shown),
        }
    }

    /// `self - other`.
    #[inline]
    pub fn sub(&self, other: &Self) -> Result<Self, DecimalError> {
        self.add(&other.neg())
    }

    /// `self * other`.
    #[inline]
    pub fn mul(&self, other: &Self) -> Result<Self, DecimalError> {
        let negative = self.negative != other.negative;
        let scale = usize::from(self.computed) + usize::from(other.computed);
        let shown = usize::from(self.shown) + usize::from(other.shown);
        if let (Some(a), Some(b), true) = (wide::as_u64(&self.magnitude), wide::as_u64(&other.magnitude), scale <= MAX_SCALE as usize) {
            return Ok(Self::new(negative, wide::from_u128(u128::from(a) * u128::from(b)), scale, shown));
        }
        Self::from_wide(negative, wide::mul(&self.magnitude, &other.magnitude), scale, shown)
    }

    /// `self / other` with `increment` (`div_precision_increment`) more fraction digits than `self`; `None` when `other` is zero.
    pub fn div(&self, other: &Self, increment: u8) -> Result<Option<Self>, DecimalError> {
        if other.is_zero() {
            return Ok(None);
        }
        let shown = (usize::from(self.shown) + usize::from(increment)).min(MAX_SCALE as usize);
        let in_groups = |digits: usize| digits.div_ceil(GROUP) * GROUP;
        let (from_dividend, from_divisor) = (in_groups(usize::from(self.computed)), in_groups(usize::from(other.computed)));
        let gained = from_dividend - usize::from(self.computed) + from_divisor - usize::from(other.computed);
        let mut scale = in_groups(from_dividend + from_divisor + usize::from(increment).saturating_sub(gained)).max(in_groups(shown));
        // The quotient's digits before the point need room too.
        let int_digits =
            (usize::from(self.int_digits()) + usize::from(other.computed) + 1).saturating_sub(wide::digits(&other.magnitude)).max(1);
        scale = scale.min(MAX_DIGITS.saturating_sub(int_digits));
        let negative = self.negative != other.negative;
        // quotient * 10^scale = self.magnitude * 10^(scale + other.computed - self.computed) / other.magnitude
        let shift = (scale + usize::from(other.computed)) as i64 - i64::from(self.computed);
        let quotient = if shift >= 0 {
            let mut dividend = wide::widen(&self.magnitude);
            wide::mul_power_wide(&mut dividend, shift as usize).ok_or(DecimalError::Overflow)?;
            wide::div_rem(&dividend, &other.magnitude).0
        } else {
            let (cut, _) = wide::div_power(&self.magnitude, shift.unsigned_abs() as usize);
            wide::div_rem(&wide::widen(&cut), &other.magnitude).0
        };
        Self::from_wide(negative, quotient, scale, shown).map(Some)
    }

    /// The remainder of `self / other`, with the sign of `self`; `None` when `other` is zero.
    pub fn rem(&self, other: &Self) -> Result<Option<Self>, DecimalError> {
        if other.is_zero() {
            return Ok(None);
        }
        let shown = usize::from(self.shown.max(other.shown));
        let scale = usize::from(self.computed.max(other.computed));
        let dividend = wide::mul(&self.magnitude, &wide::POWERS[scale - usize::from(self.computed)]);
        let divisor = wide::mul(&other.magnitude, &wide::POWERS[scale - usize::from(other.computed)]);
        let Some(divisor) = wide::narrow(&divisor) else {
            // A divisor of more than 77 digits at a scale where the dividend's 76 digits stand: the dividend is smaller.
            return match wide::compare(&dividend, &divisor) {
                Ordering::Less => Ok(Some(Self { shown: shown as u8, ..*self })),
                _ => Err(DecimalError::Overflow),
            };
        };
        let (_, rest) = wide::div_rem(&dividend, &divisor);
        Self::checked(self.negative, rest, scale, shown).map(Some)
    }

    /// `self / other` without fraction (operator DIV); `None` when `other` is zero.
    pub fn int_div(&self, other: &Self) -> Result<Option<Self>, DecimalError> {
        if other.is_zero() {
            return Ok(None);
        }
        let scale = usize::from(self.computed.max(other.computed));
        let dividend = wide::mul(&self.magnitude, &wide::POWERS[scale - usize::from(self.computed)]);
        let divisor = wide::mul(&other.magnitude, &wide::POWERS[scale - usize::from(other.computed)]);
        let Some(divisor) = wide::narrow(&divisor) else {
            return if wide::compare(&dividend, &divisor) == Ordering::Less { Ok(Some(Self::ZERO)) } else { Err(DecimalError::Overflow) };
        };
        let (quotient, _) = wide::div_rem(&dividend, &divisor);
        let quotient = wide::narrow(&quotient).ok_or(DecimalError::Overflow)?;
        Self::checked(self.negative != other.negative, quotient, 0, 0).map(Some)
    }

    /// The number with `scale` fraction digits; a negative `scale` makes digits before the point zero.
    #[must_use]
    pub fn round(&self, scale: i32, mode: RoundMode) -> Self {
        let target = usize::try_from(scale).unwrap_or(0).min(MAX_SCALE as usize);
        let have = i32::from(self.computed);
        if scale >= have {
            // More digits: zeros, as far as there is room for them.
            let room = MAX_DIGITS.saturating_sub(usize::from(self.int_digits()));
            let wanted = target.max(usize::from(self.computed)).min(room.max(usize::from(self.computed)));
            let magnitude = wide::mul_power(&self.magnitude, wanted - usize::from(self.computed)).unwrap_or(self.magnitude);
            return Self::new(self.negative, magnitude, wanted, target);
        }
        let cut = (have - scale.max(-(MAX_DIGITS as i32))) as usize;
        let away = match mode {
            RoundMode::HalfUp | RoundMode::Truncate => false,
            RoundMode::Ceiling => !self.negative,
            RoundMode::Floor => self.negative,
        };
        let rounded = match mode {
            RoundMode::HalfUp => {
                let (mut kept, _) = wide::div_power(&self.magnitude, cut - 1);
                let digit = wide::div_small(&mut kept, 10);
                if digit >= 5 { wide::add(&kept, &wide::POWERS[0]).unwrap_or(kept) } else { kept }
            }
            _ => {
                let (kept, exact) = wide::div_power(&self.magnitude, cut);
                if away && !exact { wide::add(&kept, &wide::POWERS[0]).unwrap_or(kept) } else { kept }
            }
        };
        if scale >= 0 {
            return Self::new(self.negative, rounded, target, target);
        }
        match wide::mul_power(&rounded, scale.unsigned_abs().min(MAX_DIGITS as u32) as usize) {
            Some(magnitude) if wide::digits(&magnitude) <= MAX_DIGITS => Self::new(self.negative, magnitude, 0, 0),
            _ => Self::ZERO,
        }
    }

    /// The number as a DECIMAL(precision, scale) holds it: rounded half up. `Err` has the nearest number of the column when it does not fit.
    pub fn fit(&self, precision: u8, scale: u8) -> Result<Self, Self> {
        let rounded = if self.computed == scale && self.shown == scale { *self } else { self.round(i32::from(scale), RoundMode::HalfUp) };
        if wide::digits(&rounded.magnitude) <= usize::from(precision) {
            return Ok(rounded);
        }
        let max = Self::max_value(precision, scale);
        Err(if self.negative { max.neg() } else { max })
    }

    /// Whether rounding to `scale` fraction digits loses any.
    pub fn loses_digits_at(&self, scale: u8) -> bool {
        self.computed > scale && !wide::div_power(&self.magnitude, usize::from(self.computed - scale)).1
    }

    /// The magnitude at another scale, digits cut off where it is smaller.
    fn magnitude_at(&self, scale: usize) -> Result<U256, DecimalError> {
        let have = usize::from(self.computed);
        if scale >= have {
            wide::mul_power(&self.magnitude, scale - have).ok_or(DecimalError::Overflow)
        } else {
            Ok(wide::div_power(&self.magnitude, have - scale).0)
        }
    }

    /// A number of a magnitude that may have become too long before the point.
    fn checked(negative: bool, magnitude: U256, scale: usize, shown: usize) -> Result<Self, DecimalError> {
        let digits = wide::digits(&magnitude);
        if digits <= MAX_DIGITS {
            return Ok(Self::new(negative, magnitude, scale, shown));
        }
        let cut = digits - MAX_DIGITS;
        if cut > scale {
            return Err(DecimalError::Overflow);
        }
        Ok(Self::new(negative, wide::div_power(&magnitude, cut).0, scale - cut, shown))
    }

    /// A number of a magnitude of twice the width; fraction digits that find no room are cut off.
    fn from_wide(negative: bool, mut magnitude: U512, mut scale: usize, shown: usize) -> Result<Self, DecimalError> {
        loop {
            let excess = match wide::narrow(&magnitude) {
                Some(low) => wide::digits(&low).saturating_sub(MAX_DIGITS),
                None => wide::excess_digits(&magnitude),
            };
            let excess = excess.max(scale.saturating_sub(MAX_DIGITS));
            if excess == 0 {
                break;
            }
            if excess > scale {
                return Err(DecimalError::Overflow);
            }
            let step = excess.min(19);
            wide::div_small(&mut magnitude, wide::power_u64(step));
            scale -= step;
        }
        let narrow = wide::narrow(&magnitude).expect("the loop above ends only with a narrow magnitude");
        Ok(Self::new(negative, narrow, scale, shown))
    }
}

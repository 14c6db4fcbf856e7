//! MySQL's binary form of decimals, as it stands in row cells and keys.
//!
//! ```text
//! {precision} {scale} {digits}
//!
//! digits: groups of nine decimal digits in four bytes, big-endian, aligned at the point; the partial groups
//!         at both ends in as few bytes as hold them
//!
//!         digits  0 1 2 3 4 5 6 7 8 9
//!         bytes   0 1 1 2 2 3 3 4 4 4
//! ```
//!
//! The first bit is flipped, and all bytes are complemented for negative numbers: two numbers of the same precision and scale order by
//! their bytes. The two leading bytes are the column's, hence equal within a column.

use super::{
    Decimal, DecimalError, MAX_PRECISION, MAX_SCALE, RoundMode,
    wide::{self, U256},
};

const GROUP: usize = 9;
/// Bytes that hold that many digits.
const BYTES: [usize; GROUP + 1] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
/// Digits rounded up to whole groups on both sides of the point: 65 and 8 more.
const MAX_ALIGNED: usize = 90;

/// Bytes of the digits of a DECIMAL(precision, scale), without the two leading bytes.
pub fn binary_len(precision: u8, scale: u8) -> usize {
    let (int, fraction) = (usize::from(precision - scale), usize::from(scale));
    int / GROUP * 4 + BYTES[int % GROUP] + fraction / GROUP * 4 + BYTES[fraction % GROUP]
}

/// Length in bytes of the encoded decimal at the front of `input`.
pub fn decode_binary_len(input: &[u8]) -> Result<usize, DecimalError> {
    let (precision, scale) = header(input)?;
    Ok(2 + binary_len(precision, scale))
}

fn header(input: &[u8]) -> Result<(u8, u8), DecimalError> {
    match *input {
        [precision, scale, ..] if (1..=MAX_PRECISION + 16).contains(&precision) && scale <= MAX_SCALE && scale <= precision => {
            Ok((precision, scale))
        }
        [_, _, ..] => Err(DecimalError::Damaged("precision or scale out of range")),
        _ => Err(DecimalError::Damaged("shorter than its header")),
    }
}

impl Decimal {
    /// Appends the number as a DECIMAL(precision, scale); it is rounded to the scale, and becomes the nearest number of the type where it does not fit.
    pub fn encode_binary(&self, precision: u8, scale: u8, out: &mut Vec<u8>) {
        let (Ok(fitted) | Err(fitted)) = self.fit(precision, scale);
        out.extend_from_slice(&[precision, scale]);
        let start = out.len();
        let (int, fraction) = (usize::from(precision - scale), usize::from(scale));
        // Digits, right-aligned at the end of the fraction.
        let mut digits = [0u8; MAX_ALIGNED];
        let mut rest = fitted.magnitude;
        let mut at = MAX_ALIGNED;
        while !wide::is_zero(&rest) {
            let mut group = wide::div_small(&mut rest, wide::power_u64(GROUP));
            for _ in 0..GROUP {
                at -= 1;
                digits[at] = (group % 10) as u8;
                group /= 10;
            }
        }
        let digits = &digits[MAX_ALIGNED - int - fraction..];
        let mut at = 0;
        let mut group = |len: usize, out: &mut Vec<u8>| {
            let value = digits[at..at + len].iter().fold(0u32, |acc, &digit| acc * 10 + u32::from(digit));
            at += len;
            out.extend_from_slice(&value.to_be_bytes()[4 - BYTES[len]..]);
        };
        group(int % GROUP, out);
        (0..int / GROUP).for_each(|_| group(GROUP, out));
        (0..fraction / GROUP).for_each(|_| group(GROUP, out));
        group(fraction % GROUP, out);
        let encoded = &mut out[start..];
        if fitted.negative {
            encoded.iter_mut().for_each(|byte| *byte = !*byte);
        }
        if let Some(first) = encoded.first_mut() {
            *first ^= 0x80;
        }
    }

    /// Appends the number with the digits it has.
    pub fn encode_binary_exact(&self, out: &mut Vec<u8>) {
        self.encode_binary(self.precision().min(MAX_PRECISION), self.shown, out);
    }

    /// Takes an encoded decimal off the front of `input`.
    pub fn decode_binary(input: &mut &[u8]) -> Result<Self, DecimalError> {
        let (precision, scale) = header(input)?;
        let len = binary_len(precision, scale);
        let bytes = input.get(2..2 + len).ok_or(DecimalError::Damaged("shorter than its digits"))?;
        let negative = bytes[0] & 0x80 == 0;
        let mask = if negative { 0xffu8 } else { 0 };
        let mut at = 0;
        let mut magnitude = U256::default();
        // Up to here all digits fit 128 bits.
        let short = precision <= 38;
        let mut short_magnitude = 0u128;
        let (int, fraction) = (usize::from(precision - scale), usize::from(scale));
        let mut group = |digits: usize| -> Result<(), DecimalError> {
            let mut value = 0u32;
            for _ in 0..BYTES[digits] {
                let byte = if at == 0 { bytes[at] ^ 0x80 } else { bytes[at] };
                value = value << 8 | u32::from(byte ^ mask);
                at += 1;
            }
            if u64::from(value) >= wide::power_u64(digits) {
                return Err(DecimalError::Damaged("a group has more digits than it should"));
            }
            if short {
                short_magnitude = short_magnitude * u128::from(wide::power_u64(digits)) + u128::from(value);
                return Ok(());
            }
            let shifted = wide::mul_power(&magnitude, digits).ok_or(DecimalError::Damaged("too many digits"))?;
            magnitude = wide::add(&shifted, &[u64::from(value), 0, 0, 0]).ok_or(DecimalError::Damaged("too many digits"))?;
            Ok(())
        };
        group(int % GROUP)?;
        (0..int / GROUP).try_for_each(|_| group(GROUP))?;
        (0..fraction / GROUP).try_for_each(|_| group(GROUP))?;
        group(fraction % GROUP)?;
        *input = &input[2 + len..];
        if short {
            magnitude = wide::from_u128(short_magnitude);
        }
        if wide::digits(&magnitude) > super::MAX_DIGITS {
            return Err(DecimalError::Damaged("too many digits"));
        }
        Ok(Self::new(negative, magnitude, fraction, fraction))
    }

    /// The number as it comes back from a DECIMAL(precision, scale).
    #[must_use]
    pub fn at_scale(&self, scale: u8) -> Self {
        self.round(i32::from(scale), RoundMode::HalfUp)
    }
}

//! Unsigned integers of 256 and 512 bits: the coefficient of a decimal, and room for its products.
//!
//! Little-endian arrays of 64-bit limbs. Almost every decimal of real data fits one limb; all operations look there first.

use std::cmp::Ordering;

/// 256 bits.
pub(super) type U256 = [u64; 4];
/// 512 bits.
pub(super) type U512 = [u64; 8];

/// Digits every 256-bit number of them fits; 10^77 is the greatest power of ten below 2^256.
pub(super) const MAX_POWER: usize = 77;

/// The powers of ten from 10^0 to 10^77.
pub(super) static POWERS: [U256; MAX_POWER + 1] = powers();

const fn powers() -> [U256; MAX_POWER + 1] {
    let mut table = [[0; 4]; MAX_POWER + 1];
    table[0][0] = 1;
    let mut n = 1;
    while n <= MAX_POWER {
        let mut carry = 0u128;
        let mut limb = 0;
        while limb < 4 {
            carry += table[n - 1][limb] as u128 * 10;
            table[n][limb] = carry as u64;
            carry >>= 64;
            limb += 1;
        }
        assert!(carry == 0);
        n += 1;
    }
    table
}

/// 10^n for n up to 19.
#[inline]
pub(super) fn power_u64(n: usize) -> u64 {
    debug_assert!(n <= 19);
    POWERS[n][0]
}

#[inline]
pub(super) const fn from_u128(value: u128) -> U256 {
    [value as u64, (value >> 64) as u64, 0, 0]
}

/// The value when it fits 64 bits.
#[inline]
pub(super) fn as_u64(a: &U256) -> Option<u64> {
    (a[1] | a[2] | a[3] == 0).then_some(a[0])
}

/// The value when it fits 128 bits.
#[inline]
pub(super) fn as_u128(a: &U256) -> Option<u128> {
    (a[2] | a[3] == 0).then_some(u128::from(a[1]) << 64 | u128::from(a[0]))
}

#[inline]
pub(super) fn is_zero(a: &[u64]) -> bool {
    a.iter().all(|&limb| limb == 0)
}

/// Orders two numbers of the same width.
#[inline]
pub(super) fn compare<const N: usize>(a: &[u64; N], b: &[u64; N]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

/// `a + b`; `None` on overflow.
#[inline]
pub(super) fn add(a: &U256, b: &U256) -> Option<U256> {
    let mut out = [0; 4];
    let mut carry = false;
    for i in 0..4 {
        let (sum, c1) = a[i].overflowing_add(b[i]);
        let (sum, c2) = sum.overflowing_add(u64::from(carry));
        out[i] = sum;
        carry = c1 | c2;
    }
    (!carry).then_some(out)
}

/// `a - b`; `a` must not be smaller.
#[inline]
pub(super) fn sub(a: &U256, b: &U256) -> U256 {
    let mut out = [0; 4];
    let mut borrow = false;
    for i in 0..4 {
        let (difference, b1) = a[i].overflowing_sub(b[i]);
        let (difference, b2) = difference.overflowing_sub(u64::from(borrow));
        out[i] = difference;
        borrow = b1 | b2;
    }
    debug_assert!(!borrow);
    out
}

/// `a * b`, which always fits.
pub(super) fn mul(a: &U256, b: &U256) -> U512 {
    let mut out = [0u64; 8];
    for (i, &x) in a.iter().enumerate().filter(|(_, x)| **x != 0) {
        let mut carry = 0u128;
        for (j, &y) in b.iter().enumerate() {
            carry += u128::from(x) * u128::from(y) + u128::from(out[i + j]);
            out[i + j] = carry as u64;
            carry >>= 64;
        }
        out[i + 4] = carry as u64;
    }
    out
}

/// The lower half when the upper one is zero.
#[inline]
pub(super) fn narrow(a: &U512) -> Option<U256> {
    is_zero(&a[4..]).then(|| [a[0], a[1], a[2], a[3]])
}

#[inline]
pub(super) fn widen(a: &U256) -> U512 {
    [a[0], a[1], a[2], a[3], 0, 0, 0, 0]
}

/// `a * 10^n`; `None` on overflow.
#[inline]
pub(super) fn mul_power(a: &U256, n: usize) -> Option<U256> {
    if n == 0 {
        return Some(*a);
    }
    if let (Some(small), true) = (as_u64(a), n <= 19) {
        return Some(from_u128(u128::from(small) * u128::from(power_u64(n))));
    }
    if is_zero(a) {
        return Some(*a);
    }
    if n > MAX_POWER {
        return None;
    }
    narrow(&mul(a, &POWERS[n]))
}

/// Multiplies in place by 10^n; `None` on overflow.
pub(super) fn mul_power_wide(a: &mut U512, n: usize) -> Option<()> {
    let mut left = n;
    while left > 0 {
        let step = left.min(19);
        let mut carry = 0u128;
        for limb in a.iter_mut() {
            carry += u128::from(*limb) * u128::from(power_u64(step));
            *limb = carry as u64;
            carry >>= 64;
        }
        if carry != 0 {
            return None;
        }
        left -= step;
    }
    Some(())
}

/// Divides in place by a small number; returns the remainder.
#[inline]
pub(super) fn div_small(a: &mut [u64], divisor: u64) -> u64 {
    let mut rest = 0u64;
    for limb in a.iter_mut().rev() {
        if rest == 0 && *limb < divisor {
            rest = *limb;
            *limb = 0;
            continue;
        }
        let current = u128::from(rest) << 64 | u128::from(*limb);
        *limb = (current / u128::from(divisor)) as u64;
        rest = (current % u128::from(divisor)) as u64;
    }
    rest
}

/// `a / 10^n`, and whether the remainder is zero.
pub(super) fn div_power(a: &U256, n: usize) -> (U256, bool) {
    let mut quotient = *a;
    let mut exact = true;
    let mut left = n;
    while left > 0 && !is_zero(&quotient) {
        let step = left.min(19);
        exact &= div_small(&mut quotient, power_u64(step)) == 0;
        left -= step;
    }
    (quotient, exact)
}

/// Number of decimal digits; 0 for zero.
#[inline]
pub(super) fn digits(a: &U256) -> usize {
    if let Some(small) = as_u64(a) {
        return small.checked_ilog10().map_or(0, |log| log as usize + 1);
    }
    if let Some(medium) = as_u128(a) {
        return medium.ilog10() as usize + 1;
    }
    POWERS.partition_point(|power| compare(power, a) != Ordering::Greater)
}

/// Digits by which a number above 256 bits is at least too long for them; never more than it is.
pub(super) fn excess_digits(a: &U512) -> usize {
    let bits = 512
        - a.iter()
            .rev()
            .try_fold(0, |zeros, limb| if *limb == 0 { Ok(zeros + 64) } else { Err(zeros + limb.leading_zeros()) })
            .unwrap_or_else(|zeros| zeros);
    // A bit is 0.30103 digits; 10^76 has 253 of them.
    ((bits as usize).saturating_sub(254) * 30_102 / 100_000).max(1)
}

/// Quotient and remainder of `a / b` by schoolbook division (Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D); `b` is not zero.
pub(super) fn div_rem(a: &U512, b: &U256) -> (U512, U256) {
    let n = 4 - b.iter().rev().take_while(|&&limb| limb == 0).count();
    assert!(n > 0, "division by zero is refused before");
    let mut quotient = [0; 8];
    if n == 1 {
        quotient = *a;
        let rest = div_small(&mut quotient, b[0]);
        return (quotient, [rest, 0, 0, 0]);
    }
    let shift = b[n - 1].leading_zeros();
    let divisor = shift_left::<4>(b, shift);
    let mut rest = [0u64; 9];
    let shifted = shift_left::<9>(&[a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], 0], shift);
    rest.copy_from_slice(&shifted);
    for j in (0..=8 - n).rev() {
        let high = u128::from(rest[j + n]) << 64 | u128::from(rest[j + n - 1]);
        let mut guess = high / u128::from(divisor[n - 1]);
        let mut left = high % u128::from(divisor[n - 1]);
        while guess >> 64 != 0 || guess * u128::from(divisor[n - 2]) > (left << 64 | u128::from(rest[j + n - 2])) {
            guess -= 1;
            left += u128::from(divisor[n - 1]);
            if left >> 64 != 0 {
                break;
            }
        }
        if subtract_product(&mut rest[j..=j + n], &divisor[..n], guess as u64) {
            guess -= 1;
            add_back(&mut rest[j..=j + n], &divisor[..n]);
        }
        quotient[j] = guess as u64;
    }
    let mut remainder = [0; 4];
    for i in 0..n {
        remainder[i] = if shift == 0 { rest[i] } else { rest[i] >> shift | rest[i + 1] << (64 - shift) };
    }
    (quotient, remainder)
}

/// `rest -= divisor * factor`; whether it fell below zero.
fn subtract_product(rest: &mut [u64], divisor: &[u64], factor: u64) -> bool {
    let mut carry = 0u128;
    let mut borrow = false;
    for (i, limb) in rest.iter_mut().enumerate() {
        carry += u128::from(divisor.get(i).copied().unwrap_or(0)) * u128::from(factor);
        let (difference, b1) = limb.overflowing_sub(carry as u64);
        let (difference, b2) = difference.overflowing_sub(u64::from(borrow));
        *limb = difference;
        borrow = b1 | b2;
        carry >>= 64;
    }
    borrow
}

fn add_back(rest: &mut [u64], divisor: &[u64]) {
    let mut carry = false;
    for (i, limb) in rest.iter_mut().enumerate() {
        let (sum, c1) = limb.overflowing_add(divisor.get(i).copied().unwrap_or(0));
        let (sum, c2) = sum.overflowing_add(u64::from(carry));
        *limb = sum;
        carry = c1 | c2;
    }
}

fn shift_left<const N: usize>(a: &[u64; N], shift: u32) -> [u64; N] {
    let mut out = *a;
    if shift > 0 {
        for i in (0..N).rev() {
            out[i] = a[i] << shift | if i > 0 { a[i - 1] >> (64 - shift) } else { 0 };
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use proptest::prelude::*;

    use super::*;

    fn big(limbs: &[u64]) -> BigUint {
        limbs.iter().rev().fold(BigUint::ZERO, |acc, &limb| (acc << 64) + limb)
    }

    /// Limbs at the borders, where carries and wrong guesses of quotient digits happen.
    fn limb() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(u64::MAX - 1), Just(1 << 63), any::<u64>()]
    }

    proptest! {
        #[test]
        fn arithmetic_is_that_of_big_integers(a in prop::array::uniform4(limb()), b in prop::array::uniform4(limb()), c in prop::array::uniform8(limb()), n in 0usize..90) {
            prop_assert_eq!(add(&a, &b).map(|sum| big(&sum)), Some(big(&a) + big(&b)).filter(|sum| sum.bits() <= 256));
            prop_assert_eq!(compare(&a, &b), big(&a).cmp(&big(&b)));
            if compare(&a, &b) != Ordering::Less {
                prop_assert_eq!(big(&sub(&a, &b)), big(&a) - big(&b));
            }
            prop_assert_eq!(big(&mul(&a, &b)), big(&a) * big(&b));
            prop_assert_eq!(mul_power(&a, n).map(|p| big(&p)), Some(big(&a) * BigUint::from(10u8).pow(n as u32)).filter(|p| p.bits() <= 256));
            let text = big(&a).to_string();
            prop_assert_eq!(digits(&a), if text == "0" { 0 } else { text.len() });
            let (quotient, exact) = div_power(&a, n);
            let power = BigUint::from(10u8).pow(n as u32);
            prop_assert_eq!((big(&quotient), exact), (big(&a) / &power, big(&a) % &power == BigUint::ZERO));
            if !is_zero(&b) {
                let (quotient, rest) = div_rem(&c, &b);
                prop_assert_eq!((big(&quotient), big(&rest)), (big(&c) / big(&b), big(&c) % big(&b)));
            }
        }
    }
}

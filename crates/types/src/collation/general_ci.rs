//! `utf8mb4_general_ci`: one 16-bit weight a character, trailing spaces ignored.
//!
//! The weight of a character of the Basic Multilingual Plane is the code point of its upper-case letter without accents; every
//! character beyond the plane weighs U+FFFD, so all of them are equal. MySQL's table was made from Unicode 3.0 and never changed; the rule that
//! gives its weights from today's Unicode:
//!
//! 1. take the letter under all accents (canonical decomposition in two, again and again: `ǖ`, `ü`, `u`), in Latin, Greek and Cyrillic; `й` is a letter of its own;
//! 2. take its upper case, if that is one character and both letters had it in Unicode 3.0;
//! 3. a few letters weigh as another one: `ß` as `S`, `ı` as `I`, `ς` and `ϲ` as `Σ`.
//!
//! No expansion, no contraction: a combining mark is a character with a weight of its own.
//! The sort key is the weights, two bytes each, big-endian.

use std::{cmp::Ordering, hash::Hasher, sync::LazyLock};

use icu_normalizer::properties::{CanonicalDecompositionBorrowed, Decomposed};

use super::{common_prefix, trim_spaces};

/// Weight of characters beyond the Basic Multilingual Plane and of bytes that are not UTF-8.
const REPLACEMENT: u16 = 0xfffd;

/// Letters that came, or got their case, after Unicode 3.0: as upper case of another letter, or themselves.
const LATER_LETTERS: &[std::ops::RangeInclusive<u32>] = &[
    0x220..=0x220,
    0x23b..=0x24f,
    0x370..=0x373,
    0x376..=0x37f,
    0x3cf..=0x3cf,
    0x3d8..=0x3d9,
    0x3f5..=0x3ff,
    0x48a..=0x48b,
    0x4c5..=0x4c6,
    0x4c9..=0x4ca,
    0x4cd..=0x4cf,
    0x4f6..=0x4f7,
    0x4fa..=0x52f,
    0x13f0..=0x13ff,
    0x1c80..=0x1cbf,
    0x1efa..=0x1eff,
    0x214e..=0x214e,
    0x2183..=0x2184,
    0x2c00..=0x2dff,
    0xa640..=0xabff,
];

static WEIGHTS: LazyLock<Box<[u16]>> = LazyLock::new(|| (0..=0xffffu32).map(weight_by_rule).collect());

fn weight_by_rule(code: u32) -> u16 {
    let Some(c) = char::from_u32(code) else { return REPLACEMENT };
    let upper = match c {
        'ß' | 'ſ' | 'ẛ' => 'S',
        'ı' => 'I',
        'ς' | 'ϲ' => 'Σ',
        'µ' => 'Μ',
        _ => base_letter(upper_case(base_letter(c))),
    };
    u16::try_from(u32::from(upper)).unwrap_or(REPLACEMENT)
}

/// The letter under all accents.
fn base_letter(c: char) -> char {
    let decompositions = CanonicalDecompositionBorrowed::new();
    let mut letter = c;
    while !matches!(letter, 'Й' | 'й')
        && let Decomposed::Expansion(first, _) = decompositions.decompose(letter)
        && is_folding_letter(first)
    {
        letter = first;
    }
    letter
}

fn is_folding_letter(c: char) -> bool {
    c.is_alphabetic() && matches!(u32::from(c), 0..=0x24f | 0x370..=0x52f | 0x1e00..=0x1fff)
}

/// The upper case of Unicode 3.0.
fn upper_case(c: char) -> char {
    let mut upper = c.to_uppercase();
    let later = |c: char| LATER_LETTERS.iter().any(|range| range.contains(&u32::from(c)));
    match (upper.next(), upper.next()) {
        (Some(single), None) if !later(c) && !later(single) => single,
        _ => c,
    }
}

#[inline]
fn ascii_weight(byte: u8) -> u16 {
    u16::from(byte.to_ascii_uppercase())
}

/// The weights of a string without its trailing spaces.
fn weights(text: &[u8]) -> impl Iterator<Item = u16> + '_ {
    let table = &**WEIGHTS;
    trim_spaces(text).utf8_chunks().flat_map(move |chunk| {
        let valid = chunk.valid().chars().map(move |c| table.get(c as usize).copied().unwrap_or(REPLACEMENT));
        valid.chain(chunk.invalid().iter().map(|_| REPLACEMENT))
    })
}

/// Orders two strings.
#[inline]
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if a.is_ascii() && b.is_ascii() {
        let (a, b) = (trim_spaces(a), trim_spaces(b));
        let skipped = common_prefix(a, b);
        return a[skipped..].iter().map(|&x| ascii_weight(x)).cmp(b[skipped..].iter().map(|&y| ascii_weight(y)));
    }
    weights(a).cmp(weights(b))
}

/// Appends the sort key.
#[inline]
pub fn sort_key(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() * 2);
    if text.is_ascii() {
        trim_spaces(text).iter().for_each(|&byte| out.extend_from_slice(&[0, byte.to_ascii_uppercase()]));
    } else {
        weights(text).for_each(|weight| out.extend_from_slice(&weight.to_be_bytes()));
    }
}

/// Feeds a hasher with the weights.
#[inline]
pub fn hash(text: &[u8], state: &mut impl Hasher) {
    if text.is_ascii() {
        trim_spaces(text).iter().for_each(|&byte| state.write_u16(ascii_weight(byte)));
    } else {
        weights(text).for_each(|weight| state.write_u16(weight));
    }
    // No weight is this one; it ends the string.
    state.write_u16(u16::MAX);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        sort_key(text, &mut out);
        out
    }

    proptest! {
        #[test]
        fn comparison_is_the_order_of_sort_keys(a in "[a-cA-C éÉßøØ漢😀]{0,5} {0,2}", b in "[a-cA-C éÉßøØ漢😀]{0,5} {0,2}") {
            prop_assert_eq!(compare(a.as_bytes(), b.as_bytes()), key(a.as_bytes()).cmp(&key(b.as_bytes())));
        }

        #[test]
        fn any_bytes_are_ordered(a: Vec<u8>, b: Vec<u8>) {
            prop_assert_eq!(compare(&a, &b), key(&a).cmp(&key(&b)));
        }
    }

    #[test]
    fn weights_stay_what_indexes_hold() {
        // FNV-1a over all weights. When this fails, new Unicode data changed a weight: add the letter to LATER_LETTERS.
        let bytes = WEIGHTS.iter().flat_map(|weight| weight.to_be_bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        assert_eq!(hash, 0x44f4_a139_f4f8_8ec2, "{hash:#x}");
    }

    #[test]
    fn ascii_folds_by_case_alone() {
        for byte in 0..128u8 {
            assert_eq!(weight_by_rule(u32::from(byte)), ascii_weight(byte), "{byte:#04x}");
        }
    }

    #[test]
    fn answers_of_mysql() {
        let equal = |a: &str, b: &str| compare(a.as_bytes(), b.as_bytes()) == Ordering::Equal;
        for (a, b) in
            [("a", "A"), ("é", "E"), ("ß", "s"), ("Ä", "a"), ("ǖ", "u"), ("я", "Я"), ("и", "И"), ("ά", "Α"), ("a", "a  "), ("😀", "😁")]
        {
            assert!(equal(a, b), "{a} {b}");
        }
        for (a, b) in [("ß", "ss"), ("ø", "o"), ("æ", "ae"), ("đ", "d"), ("a", "b"), ("が", "か"), ("Ａ", "A"), ("й", "и"), ("a ", "a_")]
        {
            assert!(!equal(a, b), "{a} {b}");
        }
    }
}

//! `utf8mb4_general_ci`: one 16-bit weight a character, trailing spaces ignored.
//!
//! The weight of a character of the Basic Multilingual Plane is the code point of its upper-case letter without accents; every
//! character beyond the plane weighs U+FFFD, so all of them are equal. MySQL's table follows Unicode as it was in its first editions: characters that got case or
//! decomposition later weigh themselves. The rule here:
//!
//! 1. the first character of the canonical decomposition, again and again (`ǖ` → `ü` → `u`), kept only inside one script's letters;
//! 2. its simple upper case;
//! 3. exceptions: `ß` weighs as `S`.
//!
//! No expansion, no contraction: a combining mark is a character with a weight of its own.
//! The sort key is the weights, two bytes each, big-endian.

use std::{cmp::Ordering, hash::Hasher, sync::LazyLock};

use icu_normalizer::properties::{CanonicalDecompositionBorrowed, Decomposed};

use super::trim_spaces;

/// Weight of characters beyond the Basic Multilingual Plane and of bytes that are not UTF-8.
const REPLACEMENT: u16 = 0xfffd;
/// Blocks that MySQL's table folds end here; behind it only Latin Extended Additional, Greek Extended and letter-like signs do.
const LAST_FOLDED: u32 = 0x1fff;

static WEIGHTS: LazyLock<Box<[u16]>> = LazyLock::new(|| (0..=0xffffu32).map(weight_by_rule).collect());

fn weight_by_rule(code: u32) -> u16 {
    let Some(c) = char::from_u32(code) else { return REPLACEMENT };
    match c {
        'ß' => return u16::from(b'S'),
        // Dotless i and long s fold with their letters in MySQL's table.
        'ı' => return u16::from(b'I'),
        'ſ' | 'ẛ' => return u16::from(b'S'),
        // The final sigma and the micro sign fold with their letters.
        'ς' => return 0x03a3,
        'µ' => return 0x039c,
        _ => {}
    }
    if code > LAST_FOLDED && !(0xff21..=0xff5a).contains(&code) && !(0x2170..=0x217f).contains(&code) && !(0x24d0..=0x24e9).contains(&code)
    {
        return code as u16;
    }
    let upper = upper_case(base_letter(c));
    u16::try_from(u32::from(base_letter(upper))).unwrap_or(REPLACEMENT)
}

/// The letter under all accents. Scripts whose marks make another letter (beyond Greek and Cyrillic) keep theirs.
fn base_letter(c: char) -> char {
    let decompositions = CanonicalDecompositionBorrowed::new();
    let mut letter = c;
    loop {
        match decompositions.decompose(letter) {
            Decomposed::Expansion(first, _) if is_folding_script(first) => letter = first,
            Decomposed::Singleton(single) if is_folding_script(single) => letter = single,
            _ => return letter,
        }
    }
}

fn is_folding_script(c: char) -> bool {
    matches!(u32::from(c), 0..=0x24f | 0x370..=0x52f | 0x1e00..=0x1fff)
}

/// The upper case when it is one character.
fn upper_case(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(single), None) => single,
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
        return trim_spaces(a).iter().map(|&x| ascii_weight(x)).cmp(trim_spaces(b).iter().map(|&y| ascii_weight(y)));
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
    fn ascii_folds_by_case_alone() {
        for byte in 0..128u8 {
            assert_eq!(weight_by_rule(u32::from(byte)), ascii_weight(byte), "{byte:#04x}");
        }
    }

    #[test]
    fn answers_of_mysql() {
        let equal = |a: &str, b: &str| compare(a.as_bytes(), b.as_bytes()) == Ordering::Equal;
        for (a, b) in
            [("a", "A"), ("é", "E"), ("ß", "s"), ("Ä", "a"), ("ǖ", "u"), ("я", "Я"), ("й", "И"), ("ά", "Α"), ("a", "a  "), ("😀", "😁")]
        {
            assert!(equal(a, b), "{a} {b}");
        }
        for (a, b) in [("ß", "ss"), ("ø", "o"), ("æ", "ae"), ("đ", "d"), ("a", "b"), ("が", "か"), ("Ａ", "A"), ("a ", "a_")] {
            assert!(!equal(a, b), "{a} {b}");
        }
    }
}

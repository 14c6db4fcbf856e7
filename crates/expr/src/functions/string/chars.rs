//! Stepping through the characters of a string's bytes.

use types::Collation;

/// Bytes of the character that `bytes` begins with; 1 for a byte that begins none.
pub fn char_width(bytes: &[u8]) -> usize {
    let Some(&first) = bytes.first() else { return 0 };
    let width = match first {
        0x00..=0x7f => return 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return 1,
    };
    if bytes.len() >= width && bytes[1..width].iter().all(|b| b & 0xc0 == 0x80) { width } else { 1 }
}

/// Number of characters.
pub fn count(bytes: &[u8], binary: bool) -> usize {
    if binary || bytes.is_ascii() {
        return bytes.len();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().count(),
        Err(_) => Chars { rest: bytes, binary }.count(),
    }
}

/// The byte position of the `n`th character, or the length if there are fewer.
pub fn offset(bytes: &[u8], n: usize, binary: bool) -> usize {
    if binary {
        return n.min(bytes.len());
    }
    let mut at = 0;
    for _ in 0..n {
        if at >= bytes.len() {
            break;
        }
        at += char_width(&bytes[at..]);
    }
    at
}

/// The characters of a string.
pub struct Chars<'a> {
    rest: &'a [u8],
    binary: bool,
}

/// Iterates over the characters, each as its bytes.
pub fn each(bytes: &[u8], binary: bool) -> Chars<'_> {
    Chars { rest: bytes, binary }
}

impl<'a> Iterator for Chars<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let width = if self.binary { 1 } else { char_width(self.rest) };
        let (head, tail) = self.rest.split_at(width);
        self.rest = tail;
        Some(head)
    }
}

/// Byte position of the first occurrence of `needle` at or after byte `from`, by the collation's equality.
pub fn find(haystack: &[u8], needle: &[u8], from: usize, collation: Collation) -> Option<usize> {
    let hay = haystack.get(from..)?;
    if needle.is_empty() {
        return Some(from);
    }
    if is_byte_exact(collation) {
        return memchr::memmem::find(hay, needle).map(|at| from + at);
    }
    if hay.is_ascii() && needle.is_ascii() {
        return hay.windows(needle.len()).position(|w| w.eq_ignore_ascii_case(needle)).map(|at| from + at);
    }
    find_by_weights(hay, needle, collation).map(|at| from + at)
}

/// Equality of strings is equality of bytes (up to padding).
pub fn is_byte_exact(collation: Collation) -> bool {
    collation == Collation::Binary || collation.name().ends_with("_bin")
}

/// Compares the weights of single characters; contractions and expansions across characters are not considered.
fn find_by_weights(hay: &[u8], needle: &[u8], collation: Collation) -> Option<usize> {
    let weights = |s: &[u8]| -> Vec<(usize, Vec<u8>)> {
        let mut at = 0;
        each(s, false)
            .map(|c| {
                let mut key = Vec::new();
                collation.sort_key(c, &mut key);
                at += c.len();
                (at - c.len(), key)
            })
            .collect()
    };
    let (h, n) = (weights(hay), weights(needle));
    if n.len() > h.len() {
        return None;
    }
    h.windows(n.len()).position(|w| w.iter().zip(&n).all(|(a, b)| a.1 == b.1)).map(|i| h[i].0)
}

//! Character sets.
//!
//! Text is UTF-8 inside; `binary` is the set of byte strings without characters.

use serde::{Deserialize, Serialize};

use crate::collation::Collation;

/// A character set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Charset {
    /// Bytes without characters.
    Binary,
    /// UTF-8 of up to four bytes a character.
    #[default]
    Utf8mb4,
}

impl Charset {
    /// All character sets, as SHOW CHARACTER SET lists them.
    pub const ALL: &'static [Self] = &[Self::Binary, Self::Utf8mb4];

    /// MySQL's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Utf8mb4 => "utf8mb4",
        }
    }

    /// What SHOW CHARACTER SET says about it.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Binary => "Binary pseudo charset",
            Self::Utf8mb4 => "UTF-8 Unicode",
        }
    }

    /// The set of a name, whatever its case.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    /// The collation a column gets that names only the set.
    pub const fn default_collation(self) -> Collation {
        match self {
            Self::Binary => Collation::Binary,
            Self::Utf8mb4 => Collation::Utf8mb4_0900AiCi,
        }
    }

    /// The `_bin` collation of the set.
    pub const fn bin_collation(self) -> Collation {
        match self {
            Self::Binary => Collation::Binary,
            Self::Utf8mb4 => Collation::Utf8mb4Bin,
        }
    }

    /// Most bytes a character takes.
    pub const fn max_bytes_per_char(self) -> u32 {
        match self {
            Self::Binary => 1,
            Self::Utf8mb4 => 4,
        }
    }

    /// Number of characters in `text`; bytes for `binary`.
    #[inline]
    pub fn char_count(self, text: &[u8]) -> usize {
        match self {
            Self::Binary => text.len(),
            // Every byte that does not continue a character begins one.
            Self::Utf8mb4 => text.iter().filter(|&&byte| (byte as i8) >= -0x40).count(),
        }
    }

    /// Length in bytes of the first `chars` characters of `text` (of all of it when it has fewer).
    #[inline]
    pub fn prefix_len(self, text: &[u8], chars: usize) -> usize {
        match self {
            Self::Binary => text.len().min(chars),
            Self::Utf8mb4 if text.len() <= chars => text.len(),
            Self::Utf8mb4 => {
                text.iter().enumerate().filter(|&(_, &byte)| (byte as i8) >= -0x40).nth(chars).map_or(text.len(), |(at, _)| at)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_not_bytes() {
        let text = "aé漢😀b".as_bytes();
        assert_eq!((Charset::Utf8mb4.char_count(text), Charset::Binary.char_count(text)), (5, 11));
        for (chars, bytes) in [(0, 0), (1, 1), (2, 3), (3, 6), (4, 10), (5, 11), (9, 11)] {
            assert_eq!(Charset::Utf8mb4.prefix_len(text, chars), bytes, "{chars}");
        }
        assert_eq!(Charset::by_name("UTF8MB4"), Some(Charset::Utf8mb4));
    }
}

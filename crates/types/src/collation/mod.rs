//! Collations: how text is compared, ordered and hashed.
//!
//! | collation | id | compares | trailing spaces |
//! |---|---|---|---|
//! | `binary` | 63 | bytes | count |
//! | `utf8mb4_general_ci` | 45 | one 16-bit weight a character, case and accents folded ([`general_ci`]) | ignored (PAD SPACE) |
//! | `utf8mb4_bin` | 46 | code points, which UTF-8 bytes order alike | ignored (PAD SPACE) |
//! | `utf8mb4_0900_ai_ci` | 255 | primary weights of the Unicode Collation Algorithm ([`uca0900`]) | count (NO PAD) |
//!
//! Invariants, for every collation and any two strings:
//! - `compare(a, b)` is the order of `sort_key(a)` and `sort_key(b)` as bytes;
//! - equal strings hash equally;
//! - a sort key depends on nothing but the string, the collation and [`WEIGHTS_VERSION`]: it is stored in indexes.
//!
//! Bytes that are not UTF-8 are ordered as if each stood for U+FFFD; they can come in only through damaged data or binary casts.

pub mod general_ci;
pub mod uca0900;

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};

use serde::{Deserialize, Serialize};

use crate::charset::Charset;

/// Version of all weights that sort keys are made of. An index stores sort keys; data written under another version must be
/// reindexed. The weights come from `icu_collator` 2.4 (CLDR 48) and Unicode 17's decompositions.
pub const WEIGHTS_VERSION: u32 = 1;

/// A collation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Collation {
    /// `binary`.
    #[serde(rename = "binary")]
    Binary,
    /// `utf8mb4_bin`.
    #[serde(rename = "utf8mb4_bin")]
    Utf8mb4Bin,
    /// `utf8mb4_general_ci`.
    #[serde(rename = "utf8mb4_general_ci")]
    Utf8mb4GeneralCi,
    /// `utf8mb4_0900_ai_ci`, the default.
    #[default]
    #[serde(rename = "utf8mb4_0900_ai_ci")]
    Utf8mb4_0900AiCi,
}

impl Collation {
    /// All collations, as SHOW COLLATION lists them.
    pub const ALL: &'static [Self] = &[Self::Binary, Self::Utf8mb4_0900AiCi, Self::Utf8mb4Bin, Self::Utf8mb4GeneralCi];

    /// MySQL's id, as it stands in the protocol.
    pub const fn id(self) -> u16 {
        match self {
            Self::Binary => 63,
            Self::Utf8mb4Bin => 46,
            Self::Utf8mb4GeneralCi => 45,
            Self::Utf8mb4_0900AiCi => 255,
        }
    }

    /// MySQL's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Utf8mb4Bin => "utf8mb4_bin",
            Self::Utf8mb4GeneralCi => "utf8mb4_general_ci",
            Self::Utf8mb4_0900AiCi => "utf8mb4_0900_ai_ci",
        }
    }

    /// The collation of a name, whatever its case.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|collation| collation.name().eq_ignore_ascii_case(name))
    }

    /// The collation of an id of the protocol.
    pub fn by_id(id: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|collation| collation.id() == id)
    }

    /// The character set it belongs to.
    pub const fn charset(self) -> Charset {
        match self {
            Self::Binary => Charset::Binary,
            _ => Charset::Utf8mb4,
        }
    }

    /// Whether it is the default of its character set.
    pub fn is_default(self) -> bool {
        self.charset().default_collation() == self
    }

    /// Whether it compares code points or bytes, so that strings are equal only when their characters are the same.
    pub const fn is_bin(self) -> bool {
        matches!(self, Self::Binary | Self::Utf8mb4Bin)
    }

    /// Whether trailing spaces do not count (PAD SPACE).
    pub const fn pad_space(self) -> bool {
        matches!(self, Self::Utf8mb4Bin | Self::Utf8mb4GeneralCi)
    }

    /// Whether a sort key is the string itself, so that nothing is lost in an index.
    pub const fn sort_key_is_identity(self) -> bool {
        matches!(self, Self::Binary)
    }

    /// Orders two strings.
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Binary => a.cmp(b),
            Self::Utf8mb4Bin => trim_spaces(a).cmp(trim_spaces(b)),
            Self::Utf8mb4GeneralCi => general_ci::compare(a, b),
            Self::Utf8mb4_0900AiCi => uca0900::compare(a, b),
        }
    }

    /// Whether two strings are equal.
    #[inline]
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        a == b || (self != Self::Binary && self.compare(a, b) == Ordering::Equal)
    }

    /// Appends the bytes whose order is the order of the strings.
    #[inline]
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Binary => out.extend_from_slice(text),
            Self::Utf8mb4Bin => out.extend_from_slice(trim_spaces(text)),
            Self::Utf8mb4GeneralCi => general_ci::sort_key(text, out),
            Self::Utf8mb4_0900AiCi => uca0900::sort_key(text, out),
        }
    }

    /// Feeds a hasher so that equal strings hash equally.
    #[inline]
    pub fn hash(self, text: &[u8], state: &mut impl Hasher) {
        match self {
            Self::Binary => text.hash(state),
            Self::Utf8mb4Bin => trim_spaces(text).hash(state),
            Self::Utf8mb4GeneralCi | Self::Utf8mb4_0900AiCi => {
                let mut key = Vec::with_capacity(text.len() * 2 + 2);
                self.sort_key(text, &mut key);
                key.hash(state);
            }
        }
    }
}

impl std::fmt::Display for Collation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// `text` without the spaces at its end.
#[inline]
pub fn trim_spaces(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let Some((b' ', head)) = text.split_last() {
        text = head;
    }
    text
}

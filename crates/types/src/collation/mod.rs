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
    cell::RefCell,
    cmp::Ordering,
    hash::{Hash, Hasher},
};

use serde::{Deserialize, Serialize};

use crate::charset::Charset;

/// Version of all weights that sort keys are made of. An index stores sort keys; data written under another version must be
/// reindexed. Tests freeze the weights: they come from the root collation of `icu_collator` 2.4 and from MySQL's table of `general_ci`.
pub const WEIGHTS_VERSION: u32 = 1;

/// Memory of a sort key that a thread keeps for the next one, in bytes.
const MAX_KEPT_KEY: usize = 64 << 10;

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

    /// Appends the first `limit` bytes of the sort key; answers whether there may be more.
    pub fn leading_sort_key(self, text: &[u8], limit: usize, out: &mut Vec<u8>) -> bool {
        if self == Self::Utf8mb4_0900AiCi {
            return uca0900::leading_sort_key(text, limit, out);
        }
        let start = out.len();
        self.sort_key(text, out);
        let cut = out.len() - start > limit;
        out.truncate(start + limit);
        cut
    }

    /// Appends bytes that are the same for two strings if, and only if, they are equal: shorter than sort keys, and in no order.
    #[inline]
    pub fn equality_key(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Utf8mb4_0900AiCi => uca0900::equality_key(text, out),
            _ => self.sort_key(text, out),
        }
    }

    /// Feeds a hasher so that equal strings hash equally.
    #[inline]
    pub fn hash(self, text: &[u8], state: &mut impl Hasher) {
        match self {
            Self::Binary => text.hash(state),
            Self::Utf8mb4Bin => trim_spaces(text).hash(state),
            Self::Utf8mb4GeneralCi => general_ci::hash(text, state),
            Self::Utf8mb4_0900AiCi => self.with_sort_key(text, |key| key.hash(state)),
        }
    }

    /// Calls `read` with the sort key, which lies in memory that is used again and again.
    #[inline]
    pub fn with_sort_key<R>(self, text: &[u8], read: impl FnOnce(&[u8]) -> R) -> R {
        thread_local! {
            static KEY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        match self {
            Self::Binary => read(text),
            Self::Utf8mb4Bin => read(trim_spaces(text)),
            // Taken out while it is used, so that `read` may ask for another key.
            _ => {
                let mut key = KEY.take();
                key.clear();
                self.sort_key(text, &mut key);
                let result = read(&key);
                if key.capacity() <= MAX_KEPT_KEY {
                    KEY.replace(key);
                }
                result
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

/// Length of the part at the front that two strings have in common; may be a few bytes short of it.
#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (a, _) = a.as_chunks::<8>();
    let (b, _) = b.as_chunks::<8>();
    a.iter().zip(b).take_while(|(x, y)| x == y).count() * 8
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use proptest::prelude::*;

    use super::*;

    fn texts() -> impl Strategy<Value = String> {
        "[a-cA-C éÉßøﬁ漢😀\u{301}\u{0}]{0,6} {0,2}"
    }

    proptest! {
        #[test]
        fn comparison_sort_keys_and_hashes_agree(a in texts(), b in texts(), collation in prop::sample::select(Collation::ALL.to_vec())) {
            let key = |text: &str| {
                let mut out = Vec::new();
                collation.sort_key(text.as_bytes(), &mut out);
                assert_eq!(collation.with_sort_key(text.as_bytes(), <[u8]>::to_vec), out);
                out
            };
            let hash = |text: &str| {
                let mut hasher = DefaultHasher::new();
                collation.hash(text.as_bytes(), &mut hasher);
                hasher.finish()
            };
            let order = collation.compare(a.as_bytes(), b.as_bytes());
            prop_assert_eq!(order, key(&a).cmp(&key(&b)));
            prop_assert_eq!(order, collation.compare(b.as_bytes(), a.as_bytes()).reverse());
            prop_assert_eq!(collation.equal(a.as_bytes(), b.as_bytes()), order == Ordering::Equal);
            prop_assert_eq!(hash(&a) == hash(&b), order == Ordering::Equal);
        }
    }

    #[test]
    fn names_and_ids_lead_to_collations() {
        for &collation in Collation::ALL {
            assert_eq!(
                (Collation::by_name(&collation.name().to_uppercase()), Collation::by_id(collation.id())),
                (Some(collation), Some(collation))
            );
        }
        assert_eq!(Collation::by_name("klingon_ci"), None);
        assert!(Collation::Utf8mb4_0900AiCi.is_default() && !Collation::Utf8mb4Bin.is_default());
    }
}

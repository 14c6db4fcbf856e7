//! Half-open ranges of user keys.

use bytes::Bytes;

/// A half-open range `[start, end)` of user keys. An empty `end` means "to the last key".
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// First key of the range.
    pub start: Bytes,
    /// First key behind the range; empty for no upper bound.
    pub end: Bytes,
}

impl KeyRange {
    /// The range `[start, end)`.
    pub fn new(start: impl Into<Bytes>, end: impl Into<Bytes>) -> Self {
        Self { start: start.into(), end: end.into() }
    }

    /// The range that holds exactly the keys beginning with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self { start: Bytes::copy_from_slice(prefix), end: prefix_end(prefix).into() }
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= &self.start[..] && (self.end.is_empty() || key < &self.end[..])
    }

    /// Whether no key can lie in the range.
    pub fn is_empty(&self) -> bool {
        !self.end.is_empty() && self.start >= self.end
    }
}

/// The smallest key greater than every key that begins with `prefix`; empty (no bound) when there is none.
pub fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_range_ends_behind_the_last_key_with_the_prefix() {
        let range = KeyRange::prefix(b"a\xff");
        assert_eq!(&range.end[..], b"b");
        assert!(range.contains(b"a\xff\xff\xff") && !range.contains(b"b"));
        assert!(KeyRange::prefix(b"\xff").end.is_empty());
    }
}

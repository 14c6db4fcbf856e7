//! What a transaction has written and not yet committed.
//!
//! An ordered map of the newest value of each key, and an undo log: while a stage is open, every write notes what it replaced.
//!
//! ```text
//!   stage 0 (statement)      stage 1 (savepoint inside)
//!   |                        |
//!   undo: a←none, b←old b    a←1, c←none            revert(stage 1) pops down to its mark and puts the old entries back
//! ```
//!
//! Invariants:
//! - Stages are closed in the opposite order of opening; closing an outer one closes the inner ones with it.
//! - Without an open stage the undo log is empty.
//! - `size_bytes` is the sum of key and value lengths of the entries.
//!
//! Locks are not kept here: a rolled back statement keeps its locks, as in InnoDB.

use std::{collections::BTreeMap, ops::Bound};

use base::KeyRange;
use bytes::Bytes;

use crate::options::{LocalValue, WriteFlags};

/// A mark in a transaction's writes to which they can be taken back. The default mark is the very beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[must_use = "a stage is ended by `release` or `revert`"]
pub struct Stage(pub(crate) usize);

/// One written key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `None` for a deletion.
    pub value: Option<Bytes>,
    pub flags: WriteFlags,
}

/// Ordered, staged buffer of writes.
#[derive(Debug, Default)]
pub(crate) struct MemBuffer {
    entries: BTreeMap<Bytes, Entry>,
    /// For each write under an open stage: the key and the entry it replaced.
    undo: Vec<(Bytes, Option<Entry>)>,
    /// Length of the undo log when each open stage began.
    stages: Vec<usize>,
    size_bytes: usize,
}

impl MemBuffer {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    pub(crate) fn write(&mut self, key: Bytes, value: Option<Bytes>, mut flags: WriteFlags) {
        if let Some(old) = self.entries.get(&key) {
            // "Must not exist" is about the state before the transaction: it stays true of a key first inserted and then updated,
            // and a key this transaction deleted and inserts again has been seen to exist.
            flags.presume_not_exists = old.flags.presume_not_exists;
        }
        self.size_bytes += key.len() + value.as_ref().map_or(0, Bytes::len);
        let undo_key = (!self.stages.is_empty()).then(|| key.clone());
        let key_len = key.len();
        let old = self.entries.insert(key, Entry { value, flags });
        if let Some(old) = &old {
            self.size_bytes -= key_len + old.value.as_ref().map_or(0, Bytes::len);
        }
        if let Some(key) = undo_key {
            self.undo.push((key, old));
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<LocalValue<'_>> {
        if self.entries.is_empty() {
            return None;
        }
        self.entries.get(key).map(Entry::as_local)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Bytes, &Entry)> {
        self.entries.iter()
    }

    pub(crate) fn range(&self, range: &KeyRange) -> impl DoubleEndedIterator<Item = (&Bytes, LocalValue<'_>)> + use<'_> {
        // `BTreeMap::range` panics on bounds in the wrong order; an empty range is a legal question here.
        let upper = match () {
            () if range.is_empty() => Bound::Excluded(range.start.clone()),
            () if range.end.is_empty() => Bound::Unbounded,
            () => Bound::Excluded(range.end.clone()),
        };
        self.entries.range((Bound::Included(range.start.clone()), upper)).map(|(key, entry)| (key, entry.as_local()))
    }

    pub(crate) fn stage(&mut self) -> Stage {
        self.stages.push(self.undo.len());
        Stage(self.stages.len() - 1)
    }

    /// Keeps what was written since `stage`; the enclosing stage can still take it back.
    pub(crate) fn release(&mut self, stage: Stage) {
        assert!(stage.0 < self.stages.len(), "stage {} is not open, {} are", stage.0, self.stages.len());
        self.stages.truncate(stage.0);
        if self.stages.is_empty() {
            self.undo.clear();
        }
    }

    /// Takes back what was written since `stage`, and closes it.
    pub(crate) fn revert(&mut self, stage: Stage) {
        assert!(stage.0 < self.stages.len(), "stage {} is not open, {} are", stage.0, self.stages.len());
        let mark = self.stages[stage.0];
        self.stages.truncate(stage.0);
        while self.undo.len() > mark {
            let (key, old) = self.undo.pop().expect("longer than the mark");
            let key_len = key.len();
            let restored = old.as_ref().map_or(0, |old| key_len + old.value.as_ref().map_or(0, Bytes::len));
            let replaced = match old {
                Some(old) => self.entries.insert(key, old),
                None => self.entries.remove(&key),
            };
            let removed = replaced.map_or(0, |entry| key_len + entry.value.as_ref().map_or(0, Bytes::len));
            self.size_bytes = self.size_bytes + restored - removed;
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Entry {
    fn as_local(&self) -> LocalValue<'_> {
        self.value.as_ref().map_or(LocalValue::Deleted, LocalValue::Put)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    fn put(buffer: &mut MemBuffer, key: &'static str, value: &'static str) {
        buffer.write(bytes(key), Some(bytes(value)), WriteFlags::default());
    }

    fn dump(buffer: &MemBuffer) -> String {
        let all = KeyRange::default();
        let pairs = buffer.range(&all).map(|(key, value)| {
            let value = value.value().map_or("-".into(), |value| value.escape_ascii().to_string());
            format!("{}={value}", key.escape_ascii())
        });
        format!("{} ({} bytes)", pairs.collect::<Vec<_>>().join(" "), buffer.size_bytes())
    }

    #[test]
    fn revert_restores_values_deletions_and_size() {
        let mut buffer = MemBuffer::default();
        put(&mut buffer, "a", "1");
        let outer = buffer.stage();
        put(&mut buffer, "a", "22");
        put(&mut buffer, "b", "1");
        let inner = buffer.stage();
        buffer.write(bytes("a"), None, WriteFlags::default());
        put(&mut buffer, "c", "333");
        assert_eq!(dump(&buffer), "a=- b=1 c=333 (7 bytes)");
        buffer.revert(inner);
        assert_eq!(dump(&buffer), "a=22 b=1 (5 bytes)");
        let inner = buffer.stage();
        put(&mut buffer, "d", "");
        buffer.release(inner);
        buffer.revert(outer);
        assert_eq!(dump(&buffer), "a=1 (2 bytes)");
    }

    #[test]
    fn reverting_an_outer_stage_closes_the_inner_ones() {
        let mut buffer = MemBuffer::default();
        let savepoint = buffer.stage();
        put(&mut buffer, "a", "1");
        let _inner = buffer.stage();
        put(&mut buffer, "a", "2");
        buffer.revert(savepoint);
        assert_eq!(dump(&buffer), " (0 bytes)");
        assert!(buffer.undo.is_empty() && buffer.stages.is_empty());
    }

    #[test]
    fn first_assertion_about_existence_is_kept() {
        let mut buffer = MemBuffer::default();
        buffer.write(bytes("new"), Some(bytes("1")), WriteFlags::INSERT);
        put(&mut buffer, "new", "2");
        buffer.write(bytes("old"), None, WriteFlags::default());
        buffer.write(bytes("old"), Some(bytes("3")), WriteFlags::INSERT);
        let flags = buffer.iter().map(|(_, entry)| entry.flags.presume_not_exists).collect::<Vec<_>>();
        assert_eq!(flags, [true, false]);
    }

    #[test]
    fn ranges_are_half_open_and_may_be_empty() {
        let mut buffer = MemBuffer::default();
        for key in ["a", "b", "c"] {
            put(&mut buffer, key, "");
        }
        let keys = |start: &'static str, end: &'static str| {
            buffer.range(&KeyRange::new(bytes(start), bytes(end))).map(|(key, _)| key.escape_ascii().to_string()).collect::<String>()
        };
        assert_eq!((keys("a", "c"), keys("b", ""), keys("c", "a")), ("ab".into(), "bc".into(), String::new()));
    }
}

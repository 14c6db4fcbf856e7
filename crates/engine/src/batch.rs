//! An ordered list of writes in one flat buffer.
//!
//! The buffer has the form in which RocksDB keeps a batch in memory and in its write-ahead log, so a commit hands it over with one copy,
//! and joining the batches of a group commit is a concatenation:
//!
//! ```text
//! header   8 bytes sequence number (RocksDB fills it in) | 4 bytes number of operations, little-endian
//! put      05 | family id | length, key | length, value       ids and lengths are LEB128
//! delete   04 | family id | length, key
//! range    0e | family id | length, first key | length, end key
//! ```
//!
//! Family id 0 is RocksDB's own `default` family, which stays empty; ours follow in the order of [`Cf::ALL`].
//! The form is versioned with the data directory: `rocks` checks the ids when it opens one.

use crate::{Cf, Error, Result};

const HEADER_LEN: usize = 12;
/// What a batch has room for from the beginning: a changed row with its old version and an index entry.
const FIRST_RESERVE: usize = 1024;
const COUNT_AT: usize = 8;
const TAG_DELETE: u8 = 0x04;
const TAG_PUT: u8 = 0x05;
const TAG_DELETE_RANGE: u8 = 0x0e;

/// One write of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOp<'a> {
    /// Sets a key.
    Put {
        /// Where.
        cf: Cf,
        /// The key.
        key: &'a [u8],
        /// Its new value.
        value: &'a [u8],
    },
    /// Removes a key.
    Delete {
        /// Where.
        cf: Cf,
        /// The key.
        key: &'a [u8],
    },
    /// Removes all keys of `[start, end)`.
    DeleteRange {
        /// Where.
        cf: Cf,
        /// The first key.
        start: &'a [u8],
        /// The first key that stays.
        end: &'a [u8],
    },
}

/// Writes that are applied together, in order: a later one wins over an earlier one of the same key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct WriteBatch {
    /// Empty, or the header and the operations.
    data: Vec<u8>,
    count: u32,
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty batch with room for `bytes` of operations.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { data: Vec::with_capacity(bytes + HEADER_LEN), count: 0 }
    }

    /// Sets a key.
    #[inline]
    pub fn put(&mut self, cf: Cf, key: &[u8], value: &[u8]) {
        self.put_parts(cf, key, &[value]);
    }

    /// Sets a key to the concatenation of `parts`, for records whose header and payload lie apart.
    #[inline]
    pub fn put_parts(&mut self, cf: Cf, key: &[u8], parts: &[&[u8]]) {
        let value_len = parts.iter().map(|part| part.len()).sum();
        self.begin(TAG_PUT, cf, key.len() + value_len);
        self.push_slice(key);
        push_varint(&mut self.data, value_len);
        parts.iter().for_each(|part| self.data.extend_from_slice(part));
    }

    /// Removes a key.
    #[inline]
    pub fn delete(&mut self, cf: Cf, key: &[u8]) {
        self.begin(TAG_DELETE, cf, key.len());
        self.push_slice(key);
    }

    /// Removes all keys of `[start, end)`.
    pub fn delete_range(&mut self, cf: Cf, start: &[u8], end: &[u8]) {
        self.begin(TAG_DELETE_RANGE, cf, start.len() + end.len());
        self.push_slice(start);
        self.push_slice(end);
    }

    /// Appends the operations of `other`.
    pub fn append(&mut self, other: &Self) {
        if other.count > 0 {
            self.ensure_header();
            self.data.extend_from_slice(&other.data[HEADER_LEN..]);
            self.count += other.count;
            self.store_count();
        }
    }

    /// The operations without the header, for a log that is replayed elsewhere; [`WriteBatch::append_operations`] reads them.
    pub fn operations(&self) -> &[u8] {
        self.data.get(HEADER_LEN..).unwrap_or_default()
    }

    /// Appends operations that came from disk or network. When they are damaged, nothing is appended.
    pub fn append_operations(&mut self, operations: &[u8]) -> Result<()> {
        let mut ops = WriteOps { rest: operations };
        let mut count = 0u32;
        while !ops.rest.is_empty() {
            ops.op().ok_or(Error::Corruption { what: "operations of a write batch", detail: "they end or go wrong in between".into() })?;
            count += 1;
        }
        if count > 0 {
            self.ensure_header();
            self.data.extend_from_slice(operations);
            self.count += count;
            self.store_count();
        }
        Ok(())
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the buffer: about what the write-ahead log will grow by.
    pub fn size_bytes(&self) -> usize {
        self.data.len()
    }

    /// Removes all operations and keeps the memory.
    pub fn clear(&mut self) {
        self.data.clear();
        self.count = 0;
    }

    /// Gives memory back beyond `bytes`, so that one huge commit does not stay allocated for ever.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        self.data.shrink_to(bytes);
    }

    /// The operations in order.
    pub fn iter(&self) -> WriteOps<'_> {
        WriteOps { rest: self.data.get(HEADER_LEN..).unwrap_or_default() }
    }

    /// The buffer with the header filled in, as RocksDB reads it.
    pub(crate) fn with_encoded<T>(&self, use_it: impl FnOnce(&[u8]) -> T) -> T {
        debug_assert!(self.data.is_empty() || self.data[COUNT_AT..HEADER_LEN] == self.count.to_le_bytes());
        if self.data.is_empty() { use_it(&[0; HEADER_LEN]) } else { use_it(&self.data) }
    }

    /// Writes the number of operations into the header.
    #[inline]
    fn store_count(&mut self) {
        self.data[COUNT_AT..HEADER_LEN].copy_from_slice(&self.count.to_le_bytes());
    }

    #[inline]
    fn ensure_header(&mut self) {
        if self.data.is_empty() {
            self.data.reserve(FIRST_RESERVE);
            self.data.extend_from_slice(&[0; HEADER_LEN]);
        }
    }

    #[inline]
    fn begin(&mut self, tag: u8, cf: Cf, payload_len: usize) {
        self.ensure_header();
        self.data.reserve(payload_len + 12);
        self.count += 1;
        self.store_count();
        self.data.push(tag);
        self.data.push(family_id(cf));
    }

    #[inline]
    fn push_slice(&mut self, slice: &[u8]) {
        push_varint(&mut self.data, slice.len());
        self.data.extend_from_slice(slice);
    }
}

impl std::fmt::Debug for WriteBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The id RocksDB knows a family by.
#[inline]
pub(crate) const fn family_id(cf: Cf) -> u8 {
    cf as u8 + 1
}

/// Iterator over the operations of a batch.
#[derive(Clone, Debug)]
pub struct WriteOps<'a> {
    rest: &'a [u8],
}

impl<'a> WriteOps<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    fn slice(&mut self) -> Option<&'a [u8]> {
        let len = take_varint(&mut self.rest)?;
        self.take(len)
    }

    fn op(&mut self) -> Option<WriteOp<'a>> {
        let &[tag, id] = self.take(2)? else { return None };
        let cf = *Cf::ALL.get(usize::from(id).checked_sub(1)?)?;
        match tag {
            TAG_PUT => Some(WriteOp::Put { cf, key: self.slice()?, value: self.slice()? }),
            TAG_DELETE => Some(WriteOp::Delete { cf, key: self.slice()? }),
            TAG_DELETE_RANGE => Some(WriteOp::DeleteRange { cf, start: self.slice()?, end: self.slice()? }),
            _ => None,
        }
    }
}

impl<'a> Iterator for WriteOps<'a> {
    type Item = WriteOp<'a>;

    fn next(&mut self) -> Option<WriteOp<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        Some(self.op().expect("only this module writes the buffer, and every operation was written whole"))
    }
}

#[inline]
fn push_varint(out: &mut Vec<u8>, mut value: usize) {
    assert!(value <= u32::MAX as usize, "a key or value of {value} bytes does not fit a batch");
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(input: &mut &[u8]) -> Option<usize> {
    let mut value = 0usize;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        value |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_back_in_order_also_after_append() {
        let long = vec![7u8; 300];
        let mut first = WriteBatch::new();
        first.put(Cf::Data, b"k", b"v");
        first.put_parts(Cf::History, b"", &[b"a", &long, b""]);
        let mut second = WriteBatch::new();
        second.delete(Cf::Lock, &long);
        second.delete_range(Cf::Txn, b"a", b"b");
        let mut joined = WriteBatch::new();
        joined.append(&WriteBatch::new());
        assert!(joined.is_empty());
        joined.append(&first);
        joined.append(&second);
        let parts: Vec<u8> = [b"a".as_slice(), &long].concat();
        let expected = [
            WriteOp::Put { cf: Cf::Data, key: b"k", value: b"v" },
            WriteOp::Put { cf: Cf::History, key: b"", value: &parts },
            WriteOp::Delete { cf: Cf::Lock, key: &long },
            WriteOp::DeleteRange { cf: Cf::Txn, start: b"a", end: b"b" },
        ];
        assert_eq!(joined.iter().collect::<Vec<_>>(), expected);
        assert_eq!(joined.len(), 4);
        joined.clear();
        assert!(joined.is_empty() && joined.iter().next().is_none());
    }

    #[test]
    fn operations_from_elsewhere_are_checked_before_they_are_taken() {
        let mut batch = WriteBatch::new();
        batch.put(Cf::Data, b"k", b"value");
        batch.delete(Cf::Lock, b"k");
        let mut copy = WriteBatch::new();
        copy.append_operations(batch.operations()).unwrap();
        copy.append_operations(&[]).unwrap();
        assert_eq!(copy, batch);
        let operations = batch.operations();
        for damaged in
            [&operations[..operations.len() - 1], &[0xff, 1, 0], &[TAG_PUT, 99, 0, 0], &[TAG_PUT, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 1]]
        {
            assert!(copy.append_operations(damaged).is_err());
            assert_eq!(copy, batch);
        }
    }

    #[test]
    fn rocksdb_reads_the_buffer_as_its_own_batch() {
        let mut batch = WriteBatch::new();
        batch.put(Cf::Data, b"key", b"value");
        batch.append(&batch.clone());
        let (count, size) = batch.with_encoded(|data| {
            let theirs = rocksdb::WriteBatch::from_data(data);
            (theirs.len(), theirs.size_in_bytes())
        });
        assert_eq!((count, size), (2, batch.size_bytes()));
    }
}

//! The records of `data`, `history` and `txn`, and the keys they lie under.
//!
//! ```text
//! data      01 | 'P' or 'D' | commit_ts, 8 bytes | start_ts, 8 bytes      | value
//!           01 | 'd'        | commit_ts, 8 bytes | start_ts, 8 bytes      | commit_ts, start_ts and value of the version that was deleted
//! history   01 | 'P' or 'D' | start_ts, 8 bytes  | superseded_ts, 8 bytes | value
//! txn       01 | 'r' rolled back, 'R' protected, 'L' lock-only, 'N' newest lock-only | commit_ts, 8 bytes | start_ts, 8 bytes
//! ```
//!
//! A mark that a key is deleted has room for the version it took the place of, which therefore needs no record in history: both are garbage
//! at the same safe point, and to delete a row or to change an index is one write less.
//!
//! Numbers are big-endian. The first byte is the version of the format, and every header has one length, so that a reader takes a value
//! apart without looking at it twice.

use base::TimeStamp;
use bytes::Bytes;
use codec::engine_key::{append_ts_desc, encode_engine_key};
use engine::{Cf, WriteBatch};

use crate::{Error, Result};

/// Version of the form of all records; the first byte of each.
pub const RECORD_FORMAT: u8 = 1;

/// Bytes before the value of a data or history record, and of a whole txn record.
pub const RECORD_HEADER_LEN: usize = 18;

/// Bytes before the value of a version that lies in the mark of its deletion.
pub(crate) const BEFORE_HEADER_LEN: usize = RECORD_HEADER_LEN + 16;

/// The tag of a deleted key with the version before.
const TAG_DELETED_WITH_BEFORE: u8 = b'd';

/// What a version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionKind {
    /// The key has a value.
    Put,
    /// The key was deleted.
    Delete,
}

/// What a transaction did to a key when it committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitKind {
    /// It wrote a value.
    Put,
    /// It deleted the key.
    Delete,
    /// It only locked the key.
    Lock,
}

impl From<VersionKind> for CommitKind {
    fn from(kind: VersionKind) -> Self {
        match kind {
            VersionKind::Put => Self::Put,
            VersionKind::Delete => Self::Delete,
        }
    }
}

impl VersionKind {
    const fn tag(self) -> u8 {
        match self {
            Self::Put => b'P',
            Self::Delete => b'D',
        }
    }

    fn from_tag(tag: u8) -> Option<Self> {
        match tag {
            b'P' => Some(Self::Put),
            b'D' => Some(Self::Delete),
            _ => None,
        }
    }
}

/// Why bytes are not a record. Turned into [`Error::Corrupted`] where the key is known.
pub(crate) type ParseResult<T> = std::result::Result<T, &'static str>;

/// The current version of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRecord<'a> {
    /// When the version became visible.
    pub commit_ts: TimeStamp,
    /// The transaction that wrote it.
    pub start_ts: TimeStamp,
    /// Put or deleted.
    pub kind: VersionKind,
    /// The value; empty when deleted.
    pub value: &'a [u8],
    /// What was deleted, unless it lies in history; its end is the commit_ts of this record.
    pub before: Option<Before<'a>>,
}

/// The version that a deletion took the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before<'a> {
    /// When it became visible.
    pub commit_ts: TimeStamp,
    /// The transaction that wrote it.
    pub start_ts: TimeStamp,
    /// Its value.
    pub value: &'a [u8],
}

/// A version that was superseded; its commit_ts is in the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryRecord<'a> {
    /// The transaction that wrote it.
    pub start_ts: TimeStamp,
    /// The commit_ts of the version that took its place: from then on this one is dead.
    pub superseded_ts: TimeStamp,
    /// Put or deleted.
    pub kind: VersionKind,
    /// The value; empty when deleted.
    pub value: &'a [u8],
}

/// What is remembered about a transaction that left no version on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnRecord {
    /// It was rolled back; a prewrite that arrives late must fail.
    RolledBack {
        /// Written by somebody who decided the fate of the transaction: it must survive until the safe point passes.
        protected: bool,
    },
    /// It committed after having only locked the key.
    LockOnly {
        /// When it committed.
        commit_ts: TimeStamp,
    },
    /// The newest lock-only commit of the key; lies under the maximal timestamp.
    NewestLockOnly {
        /// When it committed.
        commit_ts: TimeStamp,
        /// The transaction.
        start_ts: TimeStamp,
    },
}

#[inline]
fn header(tag: u8, first: TimeStamp, second: TimeStamp) -> [u8; RECORD_HEADER_LEN] {
    let mut header = [0; RECORD_HEADER_LEN];
    header[0] = RECORD_FORMAT;
    header[1] = tag;
    header[2..10].copy_from_slice(&first.0.to_be_bytes());
    header[10..].copy_from_slice(&second.0.to_be_bytes());
    header
}

#[inline]
fn split_header(bytes: &[u8]) -> ParseResult<(u8, TimeStamp, TimeStamp, &[u8])> {
    let Some((header, value)) = bytes.split_first_chunk::<RECORD_HEADER_LEN>() else {
        return Err("shorter than its header");
    };
    let [format, tag, timestamps @ ..] = header;
    if *format != RECORD_FORMAT {
        return Err("unknown format version");
    }
    let (first, second) = timestamps.split_at(8);
    Ok((*tag, timestamp(first), timestamp(second), value))
}

#[inline]
fn timestamp(bytes: &[u8]) -> TimeStamp {
    TimeStamp(bytes.iter().fold(0, |ts, byte| ts << 8 | u64::from(*byte)))
}

impl<'a> DataRecord<'a> {
    /// Writes the record.
    #[inline]
    pub fn put(&self, batch: &mut WriteBatch, engine_key: &[u8]) {
        match &self.before {
            None => batch.put_parts(Cf::Data, engine_key, &[&header(self.kind.tag(), self.commit_ts, self.start_ts), self.value]),
            Some(before) => {
                let mark = header(TAG_DELETED_WITH_BEFORE, self.commit_ts, self.start_ts);
                let (commit_ts, start_ts) = (before.commit_ts.0.to_be_bytes(), before.start_ts.0.to_be_bytes());
                batch.put_parts(Cf::Data, engine_key, &[&mark, &commit_ts, &start_ts, before.value]);
            }
        }
    }

    /// Takes a record apart.
    #[inline]
    pub(crate) fn parse(bytes: &'a [u8]) -> ParseResult<Self> {
        let (tag, commit_ts, start_ts, value) = split_header(bytes)?;
        if tag == TAG_DELETED_WITH_BEFORE {
            let (timestamps, value) = value.split_first_chunk::<16>().ok_or("shorter than the version before")?;
            let (first, second) = timestamps.split_at(8);
            let before = Before { commit_ts: timestamp(first), start_ts: timestamp(second), value };
            return Ok(Self { commit_ts, start_ts, kind: VersionKind::Delete, value: &[], before: Some(before) });
        }
        let kind = VersionKind::from_tag(tag).ok_or("unknown kind of version")?;
        Ok(Self { commit_ts, start_ts, kind, value, before: None })
    }

    /// Takes the record of `engine_key` apart.
    #[inline]
    pub fn decode(engine_key: &[u8], bytes: &'a [u8]) -> Result<Self> {
        Self::parse(bytes).map_err(|problem| corrupted(Cf::Data, engine_key, problem))
    }
}

impl<'a> HistoryRecord<'a> {
    /// The bytes before the value.
    #[inline]
    pub fn header(&self) -> [u8; RECORD_HEADER_LEN] {
        header(self.kind.tag(), self.start_ts, self.superseded_ts)
    }

    /// Takes a record apart.
    #[inline]
    pub(crate) fn parse(bytes: &'a [u8]) -> ParseResult<Self> {
        let (tag, start_ts, superseded_ts, value) = split_header(bytes)?;
        let kind = VersionKind::from_tag(tag).ok_or("unknown kind of version")?;
        Ok(Self { start_ts, superseded_ts, kind, value })
    }

    /// Takes the record under `key` apart.
    #[inline]
    pub fn decode(key: &[u8], bytes: &'a [u8]) -> Result<Self> {
        Self::parse(bytes).map_err(|problem| corrupted(Cf::History, key, problem))
    }
}

impl TxnRecord {
    /// The whole record.
    pub fn encode(&self) -> [u8; RECORD_HEADER_LEN] {
        match self {
            Self::RolledBack { protected } => header(if *protected { b'R' } else { b'r' }, TimeStamp::ZERO, TimeStamp::ZERO),
            Self::LockOnly { commit_ts } => header(b'L', *commit_ts, TimeStamp::ZERO),
            Self::NewestLockOnly { commit_ts, start_ts } => header(b'N', *commit_ts, *start_ts),
        }
    }

    /// Takes a record apart.
    pub(crate) fn parse(bytes: &[u8]) -> ParseResult<Self> {
        let (tag, commit_ts, start_ts, rest) = split_header(bytes)?;
        if !rest.is_empty() {
            return Err("longer than its header");
        }
        match tag {
            b'r' | b'R' => Ok(Self::RolledBack { protected: tag == b'R' }),
            b'L' => Ok(Self::LockOnly { commit_ts }),
            b'N' => Ok(Self::NewestLockOnly { commit_ts, start_ts }),
            _ => Err("unknown kind of transaction record"),
        }
    }

    /// Takes the record under `key` apart.
    pub fn decode(key: &[u8], bytes: &[u8]) -> Result<Self> {
        Self::parse(bytes).map_err(|problem| corrupted(Cf::Txn, key, problem))
    }
}

pub(crate) fn corrupted(cf: Cf, key: &[u8], problem: &'static str) -> Error {
    Error::Corrupted { cf, key: Bytes::copy_from_slice(key), problem }
}

/// The engine key of a user key: where its current version and its lock lie.
pub fn encode_key(user_key: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    encode_engine_key(user_key, &mut key);
    key
}

/// Where the version committed at `commit_ts` lies once it was superseded.
pub fn history_key(engine_key: &[u8], commit_ts: TimeStamp) -> Vec<u8> {
    let mut key = engine_key.to_vec();
    append_ts_desc(&mut key, commit_ts.0);
    key
}

/// Where the record of the transaction `start_ts` lies; [`TimeStamp::MAX`] for the newest lock-only commit.
pub fn txn_key(engine_key: &[u8], start_ts: TimeStamp) -> Vec<u8> {
    history_key(engine_key, start_ts)
}

#[cfg(test)]
mod tests {
    use engine::WriteOp;
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(record: &DataRecord<'_>) -> Vec<u8> {
        let mut batch = WriteBatch::new();
        record.put(&mut batch, b"k");
        match batch.iter().next() {
            Some(WriteOp::Put { value, .. }) => value.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn records_come_back(first: u64, second: u64, value: Vec<u8>, put: bool, protected: bool) {
            let kind = if put { VersionKind::Put } else { VersionKind::Delete };
            let before = Before { commit_ts: second.into(), start_ts: first.into(), value: &value };
            for data in [
                DataRecord { commit_ts: first.into(), start_ts: second.into(), kind, value: &value, before: None },
                DataRecord { commit_ts: first.into(), start_ts: second.into(), kind: VersionKind::Delete, value: b"", before: Some(before) },
            ] {
                let bytes = bytes_of(&data);
                prop_assert_eq!(DataRecord::parse(&bytes), Ok(data));
            }
            let history = HistoryRecord { start_ts: first.into(), superseded_ts: second.into(), kind, value: &value };
            let bytes = [&history.header()[..], &value].concat();
            prop_assert_eq!(HistoryRecord::parse(&bytes), Ok(history));
            let records = [
                TxnRecord::RolledBack { protected },
                TxnRecord::LockOnly { commit_ts: first.into() },
                TxnRecord::NewestLockOnly { commit_ts: first.into(), start_ts: second.into() },
            ];
            for record in records {
                prop_assert_eq!(TxnRecord::parse(&record.encode()), Ok(record));
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = (DataRecord::parse(&bytes), HistoryRecord::parse(&bytes), TxnRecord::parse(&bytes));
        }
    }

    #[test]
    fn the_form_on_disk_does_not_change_unnoticed() {
        let data = DataRecord { commit_ts: TimeStamp(0x0102), start_ts: TimeStamp(3), kind: VersionKind::Put, value: b"v", before: None };
        assert_eq!(bytes_of(&data), b"\x01P\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03v");
        let before = Some(Before { commit_ts: TimeStamp(5), start_ts: TimeStamp(4), value: b"v" });
        let data = DataRecord { commit_ts: TimeStamp(7), start_ts: TimeStamp(6), kind: VersionKind::Delete, value: b"", before };
        assert_eq!(bytes_of(&data), b"\x01d\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x04v");
        let row = HistoryRecord { start_ts: TimeStamp(3), superseded_ts: TimeStamp(4), kind: VersionKind::Delete, value: b"" };
        assert_eq!(row.header(), *b"\x01D\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04");
        let locked_only = TxnRecord::LockOnly { commit_ts: TimeStamp(7) };
        assert_eq!(locked_only.encode(), *b"\x01L\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\0");
        assert_eq!(encode_key(b"a"), b"za\0\0\0\0\0\0\0\xf8");
        assert_eq!(history_key(b"k", TimeStamp(1)), b"k\xff\xff\xff\xff\xff\xff\xff\xfe");
    }

    #[test]
    fn another_format_version_is_refused() {
        let mut bytes = TxnRecord::RolledBack { protected: true }.encode();
        bytes[0] = RECORD_FORMAT + 1;
        assert_eq!(TxnRecord::parse(&bytes), Err("unknown format version"));
    }
}

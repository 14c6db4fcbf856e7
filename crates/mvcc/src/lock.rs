//! Locks: a transaction's claim on a key, with the value to be.
//!
//! ```text
//! 01 | 'P' put, 'D' delete, 'L' lock only, 'S' pessimistic | flags | start_ts | ttl_ms | for_update_ts | min_commit_ts | txn_size
//!    | length, primary | number, (length, secondary)… | value to the end
//! ```
//!
//! Numbers of the first line are 8 bytes, lengths 4 bytes, all big-endian. Flag 1: the transaction commits asynchronously, and the
//! primary's lock lists the other keys.

use base::TimeStamp;
use bytes::Bytes;
use engine::Cf;

use crate::{
    Result,
    record::{ParseResult, RECORD_FORMAT, corrupted},
};

const FLAG_ASYNC_COMMIT: u8 = 1;

/// What a lock will become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// A new value.
    Put,
    /// A deletion.
    Delete,
    /// Nothing: the key was only locked.
    Lock,
    /// Not decided yet: taken by a statement, before the transaction knows what it will write.
    Pessimistic,
}

impl LockKind {
    const fn tag(self) -> u8 {
        match self {
            Self::Put => b'P',
            Self::Delete => b'D',
            Self::Lock => b'L',
            Self::Pessimistic => b'S',
        }
    }

    fn from_tag(tag: u8) -> Option<Self> {
        match tag {
            b'P' => Some(Self::Put),
            b'D' => Some(Self::Delete),
            b'L' => Some(Self::Lock),
            b'S' => Some(Self::Pessimistic),
            _ => None,
        }
    }
}

/// A lock of one transaction on one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// What it will become.
    pub kind: LockKind,
    /// The user key whose fate decides the transaction's.
    pub primary: Bytes,
    /// The transaction.
    pub start_ts: TimeStamp,
    /// For how long after start_ts nobody may roll it back, in milliseconds.
    pub ttl_ms: u64,
    /// At which timestamp a pessimistic transaction read the key; zero for optimistic ones.
    pub for_update_ts: TimeStamp,
    /// The lowest timestamp it may be committed at.
    pub min_commit_ts: TimeStamp,
    /// Number of keys of the transaction, as far as the client knows.
    pub txn_size: u64,
    /// The value to be; empty unless the kind is [`LockKind::Put`].
    pub value: Bytes,
    /// Whether the transaction is committed as soon as all its keys are prewritten.
    pub use_async_commit: bool,
    /// In the primary's lock of an asynchronous commit: the other user keys of the transaction.
    pub secondaries: Vec<Bytes>,
}

impl Lock {
    /// The record.
    pub fn encode(&self) -> Vec<u8> {
        let secondaries: usize = self.secondaries.iter().map(|key| 4 + key.len()).sum();
        let mut out = Vec::with_capacity(51 + self.primary.len() + secondaries + self.value.len());
        out.extend_from_slice(&[RECORD_FORMAT, self.kind.tag(), if self.use_async_commit { FLAG_ASYNC_COMMIT } else { 0 }]);
        for number in [self.start_ts.0, self.ttl_ms, self.for_update_ts.0, self.min_commit_ts.0, self.txn_size] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        push_bytes(&mut out, &self.primary);
        out.extend_from_slice(&(self.secondaries.len() as u32).to_be_bytes());
        self.secondaries.iter().for_each(|key| push_bytes(&mut out, key));
        out.extend_from_slice(&self.value);
        out
    }

    /// Takes the lock of `engine_key` apart.
    pub fn decode(engine_key: &[u8], bytes: &[u8]) -> Result<Self> {
        Self::parse(bytes).map_err(|problem| corrupted(Cf::Lock, engine_key, problem))
    }

    /// Takes a lock apart.
    pub(crate) fn parse(bytes: &[u8]) -> ParseResult<Self> {
        let mut rest = bytes;
        let &[format, tag, flags] = take(&mut rest)?;
        if format != RECORD_FORMAT {
            return Err("unknown format version");
        }
        let kind = LockKind::from_tag(tag).ok_or("unknown kind of lock")?;
        let mut number = || -> ParseResult<u64> { Ok(u64::from_be_bytes(*take(&mut rest)?)) };
        let (start_ts, ttl_ms, for_update_ts, min_commit_ts, txn_size) = (number()?, number()?, number()?, number()?, number()?);
        let primary = take_bytes(&mut rest)?;
        let count = u32::from_be_bytes(*take(&mut rest)?);
        let secondaries = (0..count).map(|_| take_bytes(&mut rest)).collect::<ParseResult<Vec<Bytes>>>()?;
        Ok(Self {
            kind,
            primary,
            start_ts: start_ts.into(),
            ttl_ms,
            for_update_ts: for_update_ts.into(),
            min_commit_ts: min_commit_ts.into(),
            txn_size,
            value: Bytes::copy_from_slice(rest),
            use_async_commit: flags & FLAG_ASYNC_COMMIT != 0,
            secondaries,
        })
    }

    /// Whether the lock may be rolled back by others at `current_ts`.
    pub fn is_expired(&self, current_ts: TimeStamp) -> bool {
        self.start_ts.physical_ms().saturating_add(self.ttl_ms) < current_ts.physical_ms()
    }

    /// Whether it belongs to a pessimistic transaction.
    pub fn is_of_pessimistic_txn(&self) -> bool {
        !self.for_update_ts.is_zero()
    }
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

fn take<'a, const N: usize>(input: &mut &'a [u8]) -> ParseResult<&'a [u8; N]> {
    let (taken, rest) = input.split_first_chunk().ok_or("ends too early")?;
    *input = rest;
    Ok(taken)
}

fn take_bytes(input: &mut &[u8]) -> ParseResult<Bytes> {
    let len = u32::from_be_bytes(*take(input)?) as usize;
    let (taken, rest) = input.split_at_checked(len).ok_or("ends too early")?;
    *input = rest;
    Ok(Bytes::copy_from_slice(taken))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_form_on_disk_does_not_change_unnoticed() {
        let lock = Lock {
            kind: LockKind::Put,
            primary: "p".into(),
            start_ts: TimeStamp(1),
            ttl_ms: 2,
            for_update_ts: TimeStamp(3),
            min_commit_ts: TimeStamp(4),
            txn_size: 5,
            value: "v".into(),
            use_async_commit: true,
            secondaries: vec!["s".into()],
        };
        let mut expected = b"\x01P\x01".to_vec();
        (1..=5u64).for_each(|number| expected.extend_from_slice(&number.to_be_bytes()));
        expected.extend_from_slice(b"\0\0\0\x01p\0\0\0\x01\0\0\0\x01sv");
        assert_eq!(lock.encode(), expected);
    }

    proptest! {
        #[test]
        fn locks_come_back(numbers: [u64; 5], primary: Vec<u8>, value: Vec<u8>, secondaries: Vec<Vec<u8>>, use_async_commit: bool) {
            let lock = Lock {
                kind: LockKind::Put,
                primary: primary.into(),
                start_ts: numbers[0].into(),
                ttl_ms: numbers[1],
                for_update_ts: numbers[2].into(),
                min_commit_ts: numbers[3].into(),
                txn_size: numbers[4],
                value: value.into(),
                use_async_commit,
                secondaries: secondaries.into_iter().map(Bytes::from).collect(),
            };
            prop_assert_eq!(Lock::parse(&lock.encode()), Ok(lock));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = Lock::parse(&bytes);
            let _ = Lock::parse(&[&[RECORD_FORMAT, b'P', 0][..], &bytes].concat());
        }
    }
}

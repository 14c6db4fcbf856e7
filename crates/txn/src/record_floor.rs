//! Which transactions need not look into the `txn` column family.
//!
//! Before a transaction locks or writes a key it must know whether it was rolled back there, and whether a lock-only commit has come after
//! its start (rule 4). Both are records of the `txn` column family, both are rare, and both have a timestamp: a rollback of transaction T the
//! start of T, a lock-only commit its commit timestamp. So it is enough to remember, for each bucket of keys, the greatest timestamp of any
//! record: a transaction that began after it finds nothing.
//!
//! Invariant: the floor of a bucket is at least the greatest timestamp of the records of its keys. It is raised before a record is
//! written, and starts at the greatest timestamp handed out before the store was opened.

use std::{
    hash::BuildHasher,
    sync::atomic::{AtomicU64, Ordering},
};

use base::TimeStamp;
use rustc_hash::FxBuildHasher;

const BUCKETS: usize = 1 << 12;

#[derive(Debug)]
pub(crate) struct TxnRecordFloor {
    buckets: Box<[AtomicU64]>,
}

impl TxnRecordFloor {
    pub(crate) fn new(floor: TimeStamp) -> Self {
        Self { buckets: (0..BUCKETS).map(|_| AtomicU64::new(floor.0)).collect() }
    }

    fn bucket(&self, key: &[u8]) -> &AtomicU64 {
        &self.buckets[(FxBuildHasher.hash_one(key) >> 32) as usize % BUCKETS]
    }

    /// A record with timestamp `ts` is about to be written for `key`.
    pub(crate) fn raise(&self, key: &[u8], ts: TimeStamp) {
        self.bucket(key).fetch_max(ts.0, Ordering::AcqRel);
    }

    /// Whether a transaction that began at `start_ts` may find a record that concerns it.
    pub(crate) fn may_concern(&self, key: &[u8], start_ts: TimeStamp) -> bool {
        start_ts.0 <= self.bucket(key).load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_transactions_that_began_before_a_record_look_for_it() {
        let floor = TxnRecordFloor::new(TimeStamp(10));
        assert!(floor.may_concern(b"a", TimeStamp(10)));
        assert!(!floor.may_concern(b"a", TimeStamp(11)));
        floor.raise(b"a", TimeStamp(20));
        assert!(floor.may_concern(b"a", TimeStamp(15)));
        assert!(!floor.may_concern(b"another key", TimeStamp(15)));
    }
}

//! Records of the store: versions, locks, fates of transactions, and the decision about garbage.

use base::TimeStamp;
use bytes::Bytes;
use engine::{Cf, Decision, WriteBatch, WriteOp};
use mvcc::{Before, DataRecord, HistoryRecord, Lock, LockKind, TxnRecord, VersionKind};

use crate::mutation::fuzz;

const KEY: &[u8] = b"zkey";

fn bytes_of(record: &DataRecord<'_>) -> Vec<u8> {
    let mut batch = WriteBatch::new();
    record.put(&mut batch, KEY);
    match batch.iter().next() {
        Some(WriteOp::Put { value, .. }) => value.to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn versions() {
    let data = DataRecord { commit_ts: TimeStamp(20), start_ts: TimeStamp(10), kind: VersionKind::Put, value: b"value", before: None };
    let before = Some(Before { commit_ts: TimeStamp(20), start_ts: TimeStamp(10), value: b"value" });
    let deleted = DataRecord { commit_ts: TimeStamp(40), start_ts: TimeStamp(30), kind: VersionKind::Delete, value: b"", before };
    let history = HistoryRecord { start_ts: TimeStamp(5), superseded_ts: TimeStamp(20), kind: VersionKind::Delete, value: b"" };
    let seeds = vec![bytes_of(&data), bytes_of(&deleted), history.header().to_vec()];
    fuzz("versions", seeds, |input| {
        let data = DataRecord::decode(KEY, input).is_ok_and(|record| {
            assert_eq!(bytes_of(&record), input);
            true
        });
        let history = HistoryRecord::decode(KEY, input).is_ok_and(|record| {
            assert_eq!([&record.header()[..], record.value].concat(), input);
            true
        });
        data || history
    });
}

#[test]
fn locks() {
    let lock = Lock {
        kind: LockKind::Put,
        primary: Bytes::from_static(b"primary"),
        start_ts: TimeStamp(10),
        ttl_ms: 3000,
        for_update_ts: TimeStamp(11),
        min_commit_ts: TimeStamp(12),
        txn_size: 3,
        value: Bytes::from_static(b"value"),
        use_async_commit: true,
        secondaries: vec![Bytes::from_static(b"a"), Bytes::from_static(b"")],
    };
    fuzz("locks", vec![lock.encode()], |input| {
        let Ok(lock) = Lock::decode(KEY, input) else { return false };
        assert_eq!(Lock::decode(KEY, &lock.encode()).expect("was just encoded"), lock);
        true
    });
}

#[test]
fn fates_of_transactions() {
    let records = [
        TxnRecord::RolledBack { protected: true },
        TxnRecord::LockOnly { commit_ts: TimeStamp(20) },
        TxnRecord::NewestLockOnly { commit_ts: TimeStamp(20), start_ts: TimeStamp(10) },
    ];
    fuzz("fates of transactions", records.iter().map(|record| record.encode().to_vec()).collect(), |input| {
        let Ok(record) = TxnRecord::decode(KEY, input) else { return false };
        assert_eq!(TxnRecord::decode(KEY, &record.encode()).expect("was just encoded"), record);
        true
    });
}

/// The filter runs on a thread of RocksDB, where a panic would end the process: whatever cannot be read is kept.
#[test]
fn garbage_decisions() {
    let data = DataRecord { commit_ts: TimeStamp(20), start_ts: TimeStamp(10), kind: VersionKind::Delete, value: b"", before: None };
    let history = HistoryRecord { start_ts: TimeStamp(5), superseded_ts: TimeStamp(20), kind: VersionKind::Put, value: b"v" };
    let txn = TxnRecord::RolledBack { protected: false };
    let mut seeds = Vec::new();
    for value in [bytes_of(&data), history.header().to_vec(), txn.encode().to_vec()] {
        let key = mvcc::txn_key(&mvcc::encode_key(b"k"), TimeStamp(10));
        seeds.push([&[key.len() as u8][..], &key, &value].concat());
    }
    fuzz("garbage decisions", seeds, |input| {
        let Some((&len, rest)) = input.split_first() else { return false };
        let (key, value) = rest.split_at(usize::from(len).min(rest.len()));
        let mut readable = false;
        for cf in Cf::ALL {
            let at = [0, 15, u64::MAX].map(|safe_point| mvcc::gc::decide(cf, key, value, safe_point));
            // A safe point that grows makes more garbage, never less, and what cannot be read stays so.
            assert!(at[0] != Decision::Remove || at[1] == Decision::Remove, "{cf}");
            assert!(at[1] != Decision::Remove || at[2] == Decision::Remove, "{cf}");
            assert!(at.iter().all(|decision| (*decision == Decision::Undecodable) == (at[0] == Decision::Undecodable)), "{cf}");
            readable |= matches!(cf, Cf::Data | Cf::History | Cf::Txn) && at[0] != Decision::Undecodable;
        }
        readable
    });
}

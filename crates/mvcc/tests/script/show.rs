//! Records, writes and answers as text.

use std::{collections::BTreeMap, fmt::Write};

use base::TimeStamp;
use bytes::Bytes;
use codec::engine_key::{decode_engine_key, split_ts_desc};
use engine::{Cf, MemEngine, WriteOp};
use mvcc::{
    DataRecord, Error, HistoryRecord, Lock, MvccTxn, TxnRecord, TxnStatus,
    steps::{CheckedTxnStatus, LockedKey, SecondaryLock},
};

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn ts(ts: TimeStamp) -> String {
    if ts.is_max() {
        "max".to_owned()
    } else if ts.0 >= TimeStamp::compose(1000, 0).0 {
        let rest = ts.logical();
        format!("{}s{}", ts.physical_ms() / 1000, if rest == 0 { String::new() } else { format!("+{rest}") })
    } else {
        ts.to_string()
    }
}

fn user_key(engine_key: &[u8]) -> String {
    text(&decode_engine_key(engine_key).expect("an engine key"))
}

fn versioned_key(key: &[u8]) -> (String, TimeStamp) {
    let (engine_key, suffix) = split_ts_desc(key).expect("a key with a timestamp");
    (user_key(engine_key), TimeStamp(suffix))
}

pub fn lock(lock: &Lock) -> String {
    let mut out = format!("{:?} start={} primary={}", lock.kind, ts(lock.start_ts), text(&lock.primary));
    let mut number = |name: &str, value: String, zero: bool| {
        if !zero {
            write!(out, " {name}={value}").expect("writes to a string");
        }
    };
    number("for_update", ts(lock.for_update_ts), lock.for_update_ts.is_zero());
    number("min_commit", ts(lock.min_commit_ts), lock.min_commit_ts.is_zero());
    number("ttl", lock.ttl_ms.to_string(), lock.ttl_ms == 0);
    number("value", text(&lock.value), lock.value.is_empty());
    if lock.use_async_commit {
        let secondaries: Vec<String> = lock.secondaries.iter().map(|key| text(key)).collect();
        write!(out, " async[{}]", secondaries.join(",")).expect("writes to a string");
    }
    out
}

pub fn record(cf: Cf, key: &[u8], value: &[u8]) -> String {
    match cf {
        Cf::Data => {
            let record = DataRecord::decode(key, value).expect("a data record");
            let before =
                record.before.map(|before| format!("before @{} by {} {}", ts(before.commit_ts), ts(before.start_ts), text(before.value)));
            let rest = before.unwrap_or_else(|| text(record.value));
            format!("data {}@{} {:?} by {} {rest}", user_key(key), ts(record.commit_ts), record.kind, ts(record.start_ts))
        }
        Cf::History => {
            let (key_text, commit_ts) = versioned_key(key);
            let row = HistoryRecord::decode(key, value).expect("a history record");
            let until = ts(row.superseded_ts);
            format!("history {key_text}@{} until {until} {:?} by {} {}", ts(commit_ts), row.kind, ts(row.start_ts), text(row.value))
        }
        Cf::Lock => format!("lock {} {}", user_key(key), lock(&Lock::decode(key, value).expect("a lock"))),
        Cf::Txn => {
            let (key_text, start_ts) = versioned_key(key);
            match TxnRecord::decode(key, value).expect("a transaction record") {
                TxnRecord::RolledBack { protected } => {
                    format!("txn {key_text}/{} rolled back{}", ts(start_ts), if protected { ", protected" } else { "" })
                }
                TxnRecord::LockOnly { commit_ts } => format!("txn {key_text}/{} locked only, committed at {}", ts(start_ts), ts(commit_ts)),
                TxnRecord::NewestLockOnly { commit_ts, start_ts } => {
                    format!("txn {key_text}/newest locked only by {}, committed at {}", ts(start_ts), ts(commit_ts))
                }
            }
        }
        Cf::Raw | Cf::Meta => panic!("mvcc writes nothing to {cf}"),
    }
    .trim_end()
    .to_owned()
}

pub fn writes(txn: &MvccTxn) -> String {
    let mut out = String::new();
    for op in txn.batch.iter() {
        match op {
            WriteOp::Put { cf, key, value } => writeln!(out, "  +{}", record(cf, key, value)),
            WriteOp::Delete { cf, key } => writeln!(out, "  -{cf} {}", user_key(key)),
            WriteOp::DeleteRange { .. } => panic!("no step deletes ranges"),
        }
        .expect("writes to a string");
    }
    for (key, written) in &txn.memory_locks {
        writeln!(out, "  +mem {} {}", text(key), lock(written)).expect("writes to a string");
    }
    for released in txn.released.iter().filter(|released| released.in_memory) {
        let note = if released.still_locked { " (locked on)" } else { "" };
        writeln!(out, "  -mem {}{note}", text(&released.key)).expect("writes to a string");
    }
    out
}

pub fn dump(engine: &MemEngine, memory: &BTreeMap<Bytes, Lock>) -> String {
    let mut out = String::new();
    for cf in Cf::ALL {
        for (key, value) in engine.dump(cf) {
            writeln!(out, "{}", record(cf, &key, &value)).expect("writes to a string");
        }
    }
    for (key, held) in memory {
        writeln!(out, "mem {} {}", text(key), lock(held)).expect("writes to a string");
    }
    out
}

pub fn status(status: &TxnStatus) -> String {
    match status {
        TxnStatus::Locked(loaded) => format!("locked {}", lock(&loaded.lock)),
        TxnStatus::Committed { commit_ts, kind } => format!("committed at {} ({kind:?})", ts(*commit_ts)),
        TxnStatus::RolledBack { protected } => format!("rolled back{}", if *protected { ", protected" } else { "" }),
        TxnStatus::Unknown => "unknown".to_owned(),
    }
}

pub fn checked(answer: &CheckedTxnStatus) -> String {
    match answer {
        CheckedTxnStatus::Uncommitted { lock: held, min_commit_ts_pushed } => {
            format!("uncommitted, {}: {}", if *min_commit_ts_pushed { "pushed" } else { "not pushed" }, lock(held))
        }
        CheckedTxnStatus::Committed { commit_ts } => format!("committed at {}", ts(*commit_ts)),
        other => format!("{other:?}"),
    }
}

pub fn secondary(answer: &SecondaryLock) -> String {
    match answer {
        SecondaryLock::Locked(held) => format!("locked {}", lock(held)),
        SecondaryLock::Committed { commit_ts } => format!("committed at {}", ts(*commit_ts)),
        SecondaryLock::RolledBack => "rolled back".to_owned(),
    }
}

pub fn locked(answer: &LockedKey) -> String {
    let mut out = if answer.locked { "locked" } else { "not locked" }.to_owned();
    if let Some(conflict_ts) = answer.conflict_ts {
        write!(out, ", conflict at {}", ts(conflict_ts)).expect("writes to a string");
    }
    match (&answer.value, answer.exists) {
        (Some(value), _) => write!(out, ", value {}", text(value)),
        (None, true) => write!(out, ", exists"),
        (None, false) => write!(out, ", does not exist"),
    }
    .expect("writes to a string");
    out
}

pub fn error(error: &Error) -> String {
    match error {
        Error::KeyIsLocked { key, lock: held } => format!("{} is locked: {}", text(key), lock(held)),
        Error::WriteConflict { conflict_start_ts, conflict_commit_ts, reason, .. } => {
            format!("write conflict with {} committed at {} ({reason:?})", ts(*conflict_start_ts), ts(*conflict_commit_ts))
        }
        Error::AlreadyExists { existing_start_ts, value, .. } => format!("exists already: {} by {}", text(value), ts(*existing_start_ts)),
        Error::TxnLockNotFound { .. } => "lock not found".to_owned(),
        Error::TxnNotFound { .. } => "transaction not found".to_owned(),
        Error::PessimisticLockNotFound { loss, .. } => format!("pessimistic lock not found ({loss:?})"),
        Error::PessimisticLockRolledBack { .. } => "the transaction was rolled back".to_owned(),
        Error::LockKindMismatch { found, .. } => format!("unexpected {found:?} lock"),
        Error::CommitTsExpired { commit_ts, min_commit_ts, .. } => format!("commit at {} is below {}", ts(*commit_ts), ts(*min_commit_ts)),
        Error::PrimaryMismatch { lock, .. } => format!("the primary is {}", text(&lock.primary)),
        Error::Committed { commit_ts, .. } => format!("committed at {}", ts(*commit_ts)),
        Error::AssertionFailed { assertion, existing_commit_ts, .. } => {
            format!("assertion {assertion:?} failed, newest commit {}", ts(*existing_commit_ts))
        }
        Error::BelowSafePoint { ts: asked, safe_point } => format!("{} is below the safe point {}", ts(*asked), ts(*safe_point)),
        Error::CommitOrderBroken { commit_ts, newest_commit_ts, .. } => {
            format!("commit order broken: {} after {}", ts(*commit_ts), ts(*newest_commit_ts))
        }
        Error::Engine(_) | Error::Corrupted { .. } => format!("{error:?}"),
    }
}

//! Which records are garbage: a stateless decision about one record at a safe point.
//!
//! | record | garbage when |
//! |---|---|
//! | data, put | never |
//! | data, deleted | commit_ts ≤ SP |
//! | history | superseded_ts ≤ SP |
//! | rolled back | start_ts ≤ SP |
//! | lock-only commit, the newest one | commit_ts ≤ SP |
//!
//! Why this is right: a reader at ts ≥ SP never sees a version that was dead at SP. Nothing that starts is at or below SP, so no conflict
//! check needs a commit at or below it. All locks at or below SP were resolved before SP was published, so nobody asks for the fate of a
//! transaction at or below it any more.

use base::TimeStamp;
use codec::engine_key::split_ts_desc;
use engine::{Cf, Decision, GcFilter};

use crate::record::{DataRecord, HistoryRecord, TxnRecord, VersionKind};

/// The filter to open an engine with; its safe point starts at zero.
pub fn filter() -> GcFilter {
    GcFilter::new(decide)
}

/// Decides about one record. Never panics; what cannot be read is kept.
pub fn decide(cf: Cf, key: &[u8], value: &[u8], safe_point: u64) -> Decision {
    let safe_point = TimeStamp(safe_point);
    let garbage = match cf {
        Cf::Data => DataRecord::parse(value).ok().map(|record| record.kind == VersionKind::Delete && record.commit_ts <= safe_point),
        Cf::History => HistoryRecord::parse(value).ok().map(|record| record.superseded_ts <= safe_point),
        Cf::Txn => txn_record_is_garbage(key, value, safe_point),
        Cf::Lock | Cf::Raw | Cf::Meta => Some(false),
    };
    match garbage {
        Some(true) => Decision::Remove,
        Some(false) => Decision::Keep,
        None => Decision::Undecodable,
    }
}

fn txn_record_is_garbage(key: &[u8], value: &[u8], safe_point: TimeStamp) -> Option<bool> {
    let (_, start_ts) = split_ts_desc(key).ok()?;
    Some(match TxnRecord::parse(value).ok()? {
        TxnRecord::RolledBack { .. } => start_ts <= safe_point.0,
        TxnRecord::LockOnly { commit_ts } | TxnRecord::NewestLockOnly { commit_ts, .. } => commit_ts <= safe_point,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecodable_records_are_kept_and_reported() {
        for cf in [Cf::Data, Cf::History, Cf::Txn] {
            assert_eq!(decide(cf, b"k", b"garbage", u64::MAX), Decision::Undecodable);
            assert_eq!(decide(cf, b"", b"", u64::MAX), Decision::Undecodable);
        }
        assert_eq!(decide(Cf::Lock, b"k", b"garbage", u64::MAX), Decision::Keep);
    }
}

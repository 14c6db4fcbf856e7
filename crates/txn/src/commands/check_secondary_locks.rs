//! Check secondary locks: whether all keys of an async commit transaction were prewritten. A key that was not never will be.

use base::TimeStamp;
use bytes::Bytes;
use engine::{Engine, SpaceUse};
use mvcc::{
    MvccTxn,
    steps::{self, SecondaryLock},
};
use proto::kvrpcpb::{CheckSecondaryLocksRequest, CheckSecondaryLocksResponse};

use crate::{
    error::{Result, key_error, lock_info},
    storage::Storage,
    write::{Command, ProcessContext},
};

#[derive(Clone)]
struct CheckSecondaryLocks {
    keys: Vec<Bytes>,
    start_ts: TimeStamp,
}

impl<E: Engine> Storage<E> {
    /// Asks the secondaries of a transaction; one that is missing decides that the transaction is rolled back.
    pub async fn check_secondary_locks(&self, request: CheckSecondaryLocksRequest) -> Result<CheckSecondaryLocksResponse> {
        self.execute(&CheckSecondaryLocks { keys: request.keys, start_ts: TimeStamp(request.start_version) }).await
    }
}

impl Command for CheckSecondaryLocks {
    type Answer = CheckSecondaryLocksResponse;

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|key| &key[..])
    }

    fn start_ts(&self) -> Option<TimeStamp> {
        Some(self.start_ts)
    }

    fn process<E: Engine>(&self, context: &mut ProcessContext<'_, E>) -> Result<CheckSecondaryLocksResponse> {
        let mut response = CheckSecondaryLocksResponse::default();
        for key in &self.keys {
            match steps::check_secondary_lock(&mut context.reader, &mut context.txn, key, self.start_ts) {
                Ok(SecondaryLock::Locked(lock)) => response.locks.push(lock_info(key.clone(), &lock)),
                Ok(SecondaryLock::Committed { commit_ts }) => {
                    response.locks.clear();
                    response.commit_ts = commit_ts.0;
                    break;
                }
                Ok(SecondaryLock::RolledBack) => {
                    response.locks.clear();
                    break;
                }
                Err(error) => {
                    context.txn = MvccTxn::new();
                    return Ok(CheckSecondaryLocksResponse { error: Some(Box::new(key_error(error)?)), ..Default::default() });
                }
            }
        }
        Ok(response)
    }

    fn space(&self) -> SpaceUse {
        SpaceUse::Essential
    }
}

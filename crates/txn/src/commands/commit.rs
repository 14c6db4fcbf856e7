//! Commit: the second phase. Locks of a transaction become versions at its commit timestamp.

use base::TimeStamp;
use bytes::Bytes;
use engine::{Engine, SpaceUse};
use mvcc::{MvccTxn, steps};
use proto::kvrpcpb::{CommitRequest, CommitResponse};

use crate::{
    error::{Result, key_error},
    storage::Storage,
    write::{Command, ProcessContext},
};

#[derive(Clone)]
struct Commit {
    keys: Vec<Bytes>,
    start_ts: TimeStamp,
    commit_ts: TimeStamp,
}

impl<E: Engine> Storage<E> {
    /// Commits prewritten keys; all of the request or none.
    pub async fn commit(&self, request: CommitRequest) -> Result<CommitResponse> {
        let CommitRequest { start_version, keys, commit_version, .. } = request;
        self.execute(&Commit { keys, start_ts: TimeStamp(start_version), commit_ts: TimeStamp(commit_version) }).await
    }
}

impl Command for Commit {
    type Answer = CommitResponse;

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|key| &key[..])
    }

    fn start_ts(&self) -> Option<TimeStamp> {
        Some(self.start_ts)
    }

    fn process<E: Engine>(&self, context: &mut ProcessContext<'_, E>) -> Result<CommitResponse> {
        let mut response = CommitResponse { commit_version: self.commit_ts.0, ..Default::default() };
        for key in &self.keys {
            if let Err(error) = steps::commit(&mut context.reader, &mut context.txn, key, self.start_ts, self.commit_ts) {
                context.txn = MvccTxn::new();
                response = CommitResponse { error: Some(Box::new(key_error(error)?)), ..Default::default() };
                break;
            }
        }
        Ok(response)
    }

    /// What was prewritten was let through; refusing its commit would only leave it lying as locks.
    fn space(&self) -> SpaceUse {
        SpaceUse::Essential
    }
}

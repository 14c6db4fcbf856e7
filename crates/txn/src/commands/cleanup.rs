//! Cleanup: rolls one key back once its lock has outlived its time; the older way of asking what became of a transaction.

use base::TimeStamp;
use bytes::Bytes;
use engine::{Engine, SpaceUse};
use mvcc::{MvccTxn, steps};
use proto::kvrpcpb::{CleanupRequest, CleanupResponse};

use crate::{
    error::{Result, key_error},
    storage::Storage,
    write::{Command, ProcessContext},
};

#[derive(Clone)]
struct Cleanup {
    key: Bytes,
    start_ts: TimeStamp,
    current_ts: TimeStamp,
}

impl<E: Engine> Storage<E> {
    /// Rolls a key back unless its lock lives or it is committed.
    pub async fn cleanup(&self, request: CleanupRequest) -> Result<CleanupResponse> {
        let CleanupRequest { key, start_version, current_ts, .. } = request;
        self.execute(&Cleanup { key, start_ts: TimeStamp(start_version), current_ts: TimeStamp(current_ts) }).await
    }
}

impl Command for Cleanup {
    type Answer = CleanupResponse;

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.key[..])
    }

    fn start_ts(&self) -> Option<TimeStamp> {
        Some(self.start_ts)
    }

    fn process<E: Engine>(&self, context: &mut ProcessContext<'_, E>) -> Result<CleanupResponse> {
        let mut response = CleanupResponse::default();
        match steps::cleanup(&mut context.reader, &mut context.txn, &self.key, self.start_ts, self.current_ts) {
            Ok(()) => {}
            Err(mvcc::Error::Committed { commit_ts, .. }) => response.commit_version = commit_ts.0,
            Err(error) => {
                context.txn = MvccTxn::new();
                response.error = Some(Box::new(key_error(error)?));
            }
        }
        Ok(response)
    }

    fn space(&self) -> SpaceUse {
        SpaceUse::Essential
    }
}

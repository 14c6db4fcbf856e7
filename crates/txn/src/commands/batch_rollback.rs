//! Batch rollback: a transaction takes its prewritten keys back. A record stays, so that a prewrite still under way finds its end.

use base::TimeStamp;
use bytes::Bytes;
use engine::{Engine, SpaceUse};
use mvcc::{MvccTxn, steps};
use proto::kvrpcpb::{BatchRollbackRequest, BatchRollbackResponse};

use crate::{
    error::{Result, key_error},
    storage::Storage,
    write::{Command, ProcessContext},
};

#[derive(Clone)]
struct BatchRollback {
    keys: Vec<Bytes>,
    start_ts: TimeStamp,
}

impl<E: Engine> Storage<E> {
    /// Rolls a transaction back on keys it may have prewritten.
    pub async fn batch_rollback(&self, request: BatchRollbackRequest) -> Result<BatchRollbackResponse> {
        self.execute(&BatchRollback { keys: request.keys, start_ts: TimeStamp(request.start_version) }).await
    }
}

impl Command for BatchRollback {
    type Answer = BatchRollbackResponse;

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|key| &key[..])
    }

    fn start_ts(&self) -> Option<TimeStamp> {
        Some(self.start_ts)
    }

    fn process<E: Engine>(&self, context: &mut ProcessContext<'_, E>) -> Result<BatchRollbackResponse> {
        let mut response = BatchRollbackResponse::default();
        for key in &self.keys {
            if let Err(error) = steps::rollback(&mut context.reader, &mut context.txn, key, self.start_ts, false) {
                context.txn = MvccTxn::new();
                response.error = Some(Box::new(key_error(error)?));
                break;
            }
        }
        Ok(response)
    }

    fn space(&self) -> SpaceUse {
        SpaceUse::Essential
    }
}

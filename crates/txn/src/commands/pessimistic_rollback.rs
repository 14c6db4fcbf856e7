//! Pessimistic rollback: a transaction gives locks back that it took for a statement, or ends without having written.

use base::TimeStamp;
use bytes::Bytes;
use engine::{Engine, SpaceUse};
use mvcc::{MvccTxn, steps};
use proto::kvrpcpb::{PessimisticRollbackRequest, PessimisticRollbackResponse};

use crate::{
    error::{Result, key_error},
    storage::Storage,
    write::{Command, ProcessContext},
};

#[derive(Clone)]
struct PessimisticRollback {
    keys: Vec<Bytes>,
    start_ts: TimeStamp,
    for_update_ts: TimeStamp,
}

impl<E: Engine> Storage<E> {
    /// Removes pessimistic locks; keys without one are no error.
    pub async fn pessimistic_rollback(&self, request: PessimisticRollbackRequest) -> Result<PessimisticRollbackResponse> {
        let PessimisticRollbackRequest { keys, start_version, for_update_ts, .. } = request;
        self.execute(&PessimisticRollback { keys, start_ts: TimeStamp(start_version), for_update_ts: TimeStamp(for_update_ts) }).await
    }
}

impl Command for PessimisticRollback {
    type Answer = PessimisticRollbackResponse;

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|key| &key[..])
    }

    fn start_ts(&self) -> Option<TimeStamp> {
        Some(self.start_ts)
    }

    fn process<E: Engine>(&self, context: &mut ProcessContext<'_, E>) -> Result<PessimisticRollbackResponse> {
        for key in &self.keys {
            let rolled_back = steps::pessimistic_rollback(&mut context.reader, &mut context.txn, key, self.start_ts, self.for_update_ts);
            if let Err(error) = rolled_back {
                context.txn = MvccTxn::new();
                return Ok(PessimisticRollbackResponse { errors: vec![key_error(error)?], ..Default::default() });
            }
        }
        Ok(PessimisticRollbackResponse::default())
    }

    fn space(&self) -> SpaceUse {
        SpaceUse::Essential
    }
}

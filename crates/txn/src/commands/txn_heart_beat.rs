//! Heart beat: a transaction that is alive renews the time to live of its primary lock.

use base::TimeStamp;
use bytes::Bytes;
use engine::Engine;
use mvcc::{MvccTxn, steps};
use proto::kvrpcpb::{TxnHeartBeatRequest, TxnHeartBeatResponse};

use crate::{
    error::{Result, key_error},
    storage::Storage,
    write::{Command, ProcessContext},
};

#[derive(Clone)]
struct HeartBeat {
    primary: Bytes,
    start_ts: TimeStamp,
    ttl_ms: u64,
}

impl<E: Engine> Storage<E> {
    /// Renews a lock's time to live.
    pub async fn txn_heart_beat(&self, request: TxnHeartBeatRequest) -> Result<TxnHeartBeatResponse> {
        let TxnHeartBeatRequest { primary_lock, start_version, advise_lock_ttl, .. } = request;
        self.execute(&HeartBeat { primary: primary_lock, start_ts: TimeStamp(start_version), ttl_ms: advise_lock_ttl }).await
    }
}

impl Command for HeartBeat {
    type Answer = TxnHeartBeatResponse;

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.primary[..])
    }

    fn start_ts(&self) -> Option<TimeStamp> {
        Some(self.start_ts)
    }

    fn process<E: Engine>(&self, context: &mut ProcessContext<'_, E>) -> Result<TxnHeartBeatResponse> {
        match steps::txn_heart_beat(&mut context.reader, &mut context.txn, &self.primary, self.start_ts, self.ttl_ms) {
            Ok(lock_ttl) => Ok(TxnHeartBeatResponse { lock_ttl, ..Default::default() }),
            Err(error) => {
                context.txn = MvccTxn::new();
                Ok(TxnHeartBeatResponse { error: Some(Box::new(key_error(error)?)), ..Default::default() })
            }
        }
    }
}

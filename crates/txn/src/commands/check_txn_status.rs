//! Check transaction status: what became of a transaction, asked at its primary.

use base::TimeStamp;
use engine::{Engine, SpaceUse};
use mvcc::{
    MvccTxn,
    steps::{self, CheckTxnStatus, CheckedTxnStatus},
};
use proto::kvrpcpb::{Action, CheckTxnStatusRequest, CheckTxnStatusResponse};

use crate::{
    error::{Result, key_error, lock_info},
    storage::Storage,
    write::{Command, ProcessContext},
};

impl<E: Engine> Storage<E> {
    /// Asks the primary; rolls the transaction back if its time to live is over.
    pub async fn check_txn_status(&self, request: CheckTxnStatusRequest) -> Result<CheckTxnStatusResponse> {
        let ask = CheckTxnStatus {
            primary: request.primary_key,
            start_ts: TimeStamp(request.lock_ts),
            caller_start_ts: TimeStamp(request.caller_start_ts),
            current_ts: TimeStamp(request.current_ts),
            rollback_if_not_exist: request.rollback_if_not_exist,
            force_sync_commit: request.force_sync_commit,
            resolving_pessimistic_lock: request.resolving_pessimistic_lock,
            verify_is_primary: request.verify_is_primary,
        };
        self.execute(&ask).await
    }
}

impl Command for CheckTxnStatus {
    type Answer = CheckTxnStatusResponse;

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.primary[..])
    }

    fn start_ts(&self) -> Option<TimeStamp> {
        Some(self.start_ts)
    }

    fn process<E: Engine>(&self, context: &mut ProcessContext<'_, E>) -> Result<CheckTxnStatusResponse> {
        // Who pushes a transaction has read past it, or will.
        context.inner.max_ts.raise(self.caller_start_ts);
        let mut response = CheckTxnStatusResponse::default();
        let action = match steps::check_txn_status(&mut context.reader, &mut context.txn, self) {
            Ok(CheckedTxnStatus::Uncommitted { lock, min_commit_ts_pushed }) => {
                response.lock_ttl = lock.ttl_ms;
                response.lock_info = Some(lock_info(self.primary.clone(), &lock));
                if min_commit_ts_pushed { Action::MinCommitTsPushed } else { Action::NoAction }
            }
            Ok(CheckedTxnStatus::Committed { commit_ts }) => {
                response.commit_version = commit_ts.0;
                Action::NoAction
            }
            Ok(CheckedTxnStatus::RolledBack) => Action::NoAction,
            Ok(CheckedTxnStatus::TtlExpired) => Action::TtlExpireRollback,
            Ok(CheckedTxnStatus::PessimisticLockExpired) => Action::TtlExpirePessimisticRollback,
            Ok(CheckedTxnStatus::NotExistRolledBack) => Action::LockNotExistRollback,
            Ok(CheckedTxnStatus::NotExistDoNothing) => Action::LockNotExistDoNothing,
            Err(error) => {
                context.txn = MvccTxn::new();
                response.error = Some(Box::new(key_error(error)?));
                Action::NoAction
            }
        };
        response.action = action as i32;
        Ok(response)
    }

    fn space(&self) -> SpaceUse {
        SpaceUse::Essential
    }
}

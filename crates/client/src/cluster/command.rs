//! The requests that go to one region, as one kind of thing: where their context is, how they are called, where a region error stands.

use std::time::Duration;

use env::BoxFuture;
use proto::{
    coprocessor, errorpb,
    kvrpcpb::*,
    tikvpb::{batch_commands_request::request::Cmd, batch_commands_response::response::Cmd as Answer},
};
use tonic::Status;

use super::stores::Connection;

/// Longer than a store needs for anything but waiting for a lock.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// Time for a pushed-down plan over a part of a region. Stores that answer in pages need much less.
const PUSHED_DOWN_TIMEOUT: Duration = Duration::from_secs(60);

/// A request to a region.
pub(super) trait Command: Clone + Send + Sync + 'static {
    /// What comes back.
    type Answer: Send + 'static;

    /// Where region, epoch and replica are written.
    fn context(&mut self) -> &mut Context;

    /// Time an answer may take.
    fn timeout(&self) -> Duration {
        CALL_TIMEOUT
    }

    /// Sends it.
    fn call(self, connection: Connection) -> BoxFuture<Result<Self::Answer, Status>>;

    /// Why it was not served.
    fn region_error(answer: &mut Self::Answer) -> Option<Box<errorpb::Error>>;
}

/// Sends a request by itself, or with others over the connection's stream.
macro_rules! call {
    ($this:ident, $connection:ident, $timeout:ident, alone $method:ident) => {{
        let mut request = tonic::Request::new($this);
        request.set_timeout($timeout);
        let mut stub = $connection.stub;
        Box::pin(async move { Ok(stub.$method(request).await?.into_inner()) })
    }};
    ($this:ident, $connection:ident, $timeout:ident, batched $variant:ident) => {{
        Box::pin(async move {
            let answer = tokio::time::timeout($timeout, $connection.batch.call(Cmd::$variant($this))).await;
            match answer.map_err(|_| Status::deadline_exceeded("no answer came in time"))?? {
                Answer::$variant(answer) => Ok(answer),
                _ => Err(Status::internal("the answer to another kind of request")),
            }
        })
    }};
}

macro_rules! commands {
    ($($request:ty => $answer:ty, $way:ident $name:ident $(, timeout: |$this:ident| $timeout:expr)?;)*) => {
        $(impl Command for $request {
            type Answer = $answer;

            fn context(&mut self) -> &mut Context {
                self.context.get_or_insert_default()
            }

            $(fn timeout(&self) -> Duration {
                let $this = self;
                $timeout
            })?

            fn call(self, connection: Connection) -> BoxFuture<Result<Self::Answer, Status>> {
                let timeout = self.timeout();
                call!(self, connection, timeout, $way $name)
            }

            fn region_error(answer: &mut Self::Answer) -> Option<Box<errorpb::Error>> {
                answer.region_error.take()
            }
        })*
    };
}

// By themselves go those that may wait long: when their caller goes, the store is told so; and those whose answers are large.
commands! {
    GetRequest => GetResponse, batched Get;
    BatchGetRequest => BatchGetResponse, batched BatchGet;
    ScanRequest => ScanResponse, alone kv_scan;
    PrewriteRequest => PrewriteResponse, batched Prewrite;
    CommitRequest => CommitResponse, batched Commit;
    PessimisticLockRequest => PessimisticLockResponse, alone kv_pessimistic_lock,
        // The store waits for the lock's owner.
        timeout: |this| CALL_TIMEOUT + Duration::from_millis(u64::try_from(this.wait_timeout).unwrap_or(0));
    PessimisticRollbackRequest => PessimisticRollbackResponse, batched PessimisticRollback;
    BatchRollbackRequest => BatchRollbackResponse, batched BatchRollback;
    CheckTxnStatusRequest => CheckTxnStatusResponse, batched CheckTxnStatus;
    CheckSecondaryLocksRequest => CheckSecondaryLocksResponse, batched CheckSecondaryLocks;
    ResolveLockRequest => ResolveLockResponse, batched ResolveLock;
    TxnHeartBeatRequest => TxnHeartBeatResponse, batched TxnHeartBeat;
    ScanLockRequest => ScanLockResponse, alone kv_scan_lock;
    coprocessor::Request => coprocessor::Response, alone coprocessor, timeout: |_this| PUSHED_DOWN_TIMEOUT;
}

//! The gRPC service: every call is one command. What went wrong stands in the answers; a gRPC status is for what the protocol has no place for.

use engine::Engine;
use proto::{
    coprocessor,
    kvrpcpb::*,
    raft_serverpb::{Done, RaftMessage, SnapshotChunk},
    tikvpb::{BatchCommandsRequest, BatchCommandsResponse, BatchRaftMessage, tikv_server::Tikv},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::commands::{Kv, answered};

type Answered<T> = Result<Response<T>, Status>;

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident($request:ty) -> $response:ty = |$storage:ident, $r:ident| $call:expr;)*) => {
        impl<E: Engine> Kv<E> {
            $(
                $(#[$doc])*
                pub async fn $name(&self, request: $request) -> $response {
                    self.run(request, |$storage, $r| async move { $call.await }).await
                }
            )*
        }
    };
}

commands! {
    /// Reads one key.
    get(GetRequest) -> GetResponse = |storage, r| storage.get(r);
    /// Reads several keys.
    batch_get(BatchGetRequest) -> BatchGetResponse = |storage, r| storage.batch_get(r);
    /// Reads a page of a range.
    scan(ScanRequest) -> ScanResponse = |storage, r| storage.scan(r);
    /// First phase of a commit, or all of it.
    prewrite(PrewriteRequest) -> PrewriteResponse = |storage, r| storage.prewrite(&r);
    /// Takes pessimistic locks.
    pessimistic_lock(PessimisticLockRequest) -> PessimisticLockResponse = |storage, r| storage.pessimistic_lock(&r);
    /// Gives pessimistic locks back.
    pessimistic_rollback(PessimisticRollbackRequest) -> PessimisticRollbackResponse = |storage, r| storage.pessimistic_rollback(r);
    /// Renews a transaction's time to live.
    txn_heart_beat(TxnHeartBeatRequest) -> TxnHeartBeatResponse = |storage, r| storage.txn_heart_beat(r);
    /// Asks a primary key what became of its transaction.
    check_txn_status(CheckTxnStatusRequest) -> CheckTxnStatusResponse = |storage, r| storage.check_txn_status(r);
    /// Asks the secondaries of an async commit transaction.
    check_secondary_locks(CheckSecondaryLocksRequest) -> CheckSecondaryLocksResponse = |storage, r| storage.check_secondary_locks(r);
    /// Second phase of a commit.
    commit(CommitRequest) -> CommitResponse = |storage, r| storage.commit(r);
    /// Rolls a key back once its lock has outlived its time.
    cleanup(CleanupRequest) -> CleanupResponse = |storage, r| storage.cleanup(r);
    /// Rolls back prewritten keys.
    batch_rollback(BatchRollbackRequest) -> BatchRollbackResponse = |storage, r| storage.batch_rollback(r);
    /// Lists locks.
    scan_lock(ScanLockRequest) -> ScanLockResponse = |storage, r| storage.scan_lock(r);
    /// Commits or rolls back locks of decided transactions.
    resolve_lock(ResolveLockRequest) -> ResolveLockResponse = |storage, r| storage.resolve_lock(r);
    /// Removes a range on all replicas.
    delete_range(DeleteRangeRequest) -> DeleteRangeResponse = |storage, r| storage.delete_range(r);
}

impl<E: Engine> Kv<E> {
    /// The older way of collecting garbage: the safe point is the placement driver's by now, and stores fetch it there.
    pub async fn gc(&self, request: GcRequest) -> GcResponse {
        answered(self.enter(&request).await.map(|_| GcResponse::default()))
    }

    /// Runs a pushed-down plan.
    pub async fn coprocessor(&self, request: coprocessor::Request) -> coprocessor::Response {
        answered(self.run_pushed_down(request).await)
    }

    /// Splits a region.
    pub async fn split(&self, request: SplitRegionRequest) -> SplitRegionResponse {
        answered(self.split_region(request).await)
    }

    /// The index up to which a follower must have applied before it serves a read that begins now.
    pub async fn read_index(&self, request: ReadIndexRequest) -> ReadIndexResponse {
        let index = async {
            let entered = self.enter(&request).await?;
            let read_index = self.raft().read_index(entered.permit.region_id(), entered.permit.version()).await?;
            Ok(ReadIndexResponse { read_index, ..Default::default() })
        };
        answered(index.await)
    }
}

macro_rules! unary {
    ($self:ident, $request:ident, $command:ident) => {
        Ok(Response::new($self.$command($request.into_inner()).await))
    };
}

#[tonic::async_trait]
impl<E: Engine> Tikv for Kv<E> {
    async fn kv_get(&self, request: Request<GetRequest>) -> Answered<GetResponse> {
        unary!(self, request, get)
    }

    async fn kv_scan(&self, request: Request<ScanRequest>) -> Answered<ScanResponse> {
        unary!(self, request, scan)
    }

    async fn kv_prewrite(&self, request: Request<PrewriteRequest>) -> Answered<PrewriteResponse> {
        unary!(self, request, prewrite)
    }

    async fn kv_pessimistic_lock(&self, request: Request<PessimisticLockRequest>) -> Answered<PessimisticLockResponse> {
        unary!(self, request, pessimistic_lock)
    }

    async fn kv_pessimistic_rollback(&self, request: Request<PessimisticRollbackRequest>) -> Answered<PessimisticRollbackResponse> {
        unary!(self, request, pessimistic_rollback)
    }

    async fn kv_txn_heart_beat(&self, request: Request<TxnHeartBeatRequest>) -> Answered<TxnHeartBeatResponse> {
        unary!(self, request, txn_heart_beat)
    }

    async fn kv_check_txn_status(&self, request: Request<CheckTxnStatusRequest>) -> Answered<CheckTxnStatusResponse> {
        unary!(self, request, check_txn_status)
    }

    async fn kv_check_secondary_locks(&self, request: Request<CheckSecondaryLocksRequest>) -> Answered<CheckSecondaryLocksResponse> {
        unary!(self, request, check_secondary_locks)
    }

    async fn kv_commit(&self, request: Request<CommitRequest>) -> Answered<CommitResponse> {
        unary!(self, request, commit)
    }

    async fn kv_cleanup(&self, request: Request<CleanupRequest>) -> Answered<CleanupResponse> {
        unary!(self, request, cleanup)
    }

    async fn kv_batch_get(&self, request: Request<BatchGetRequest>) -> Answered<BatchGetResponse> {
        unary!(self, request, batch_get)
    }

    async fn kv_batch_rollback(&self, request: Request<BatchRollbackRequest>) -> Answered<BatchRollbackResponse> {
        unary!(self, request, batch_rollback)
    }

    async fn kv_scan_lock(&self, request: Request<ScanLockRequest>) -> Answered<ScanLockResponse> {
        unary!(self, request, scan_lock)
    }

    async fn kv_resolve_lock(&self, request: Request<ResolveLockRequest>) -> Answered<ResolveLockResponse> {
        unary!(self, request, resolve_lock)
    }

    async fn kv_gc(&self, request: Request<GcRequest>) -> Answered<GcResponse> {
        unary!(self, request, gc)
    }

    async fn kv_delete_range(&self, request: Request<DeleteRangeRequest>) -> Answered<DeleteRangeResponse> {
        unary!(self, request, delete_range)
    }

    async fn raw_get(&self, request: Request<RawGetRequest>) -> Answered<RawGetResponse> {
        unary!(self, request, raw_get)
    }

    async fn raw_batch_get(&self, request: Request<RawBatchGetRequest>) -> Answered<RawBatchGetResponse> {
        unary!(self, request, raw_batch_get)
    }

    async fn raw_put(&self, request: Request<RawPutRequest>) -> Answered<RawPutResponse> {
        unary!(self, request, raw_put)
    }

    async fn raw_batch_put(&self, request: Request<RawBatchPutRequest>) -> Answered<RawBatchPutResponse> {
        unary!(self, request, raw_batch_put)
    }

    async fn raw_delete(&self, request: Request<RawDeleteRequest>) -> Answered<RawDeleteResponse> {
        unary!(self, request, raw_delete)
    }

    async fn raw_batch_delete(&self, request: Request<RawBatchDeleteRequest>) -> Answered<RawBatchDeleteResponse> {
        unary!(self, request, raw_batch_delete)
    }

    async fn raw_scan(&self, request: Request<RawScanRequest>) -> Answered<RawScanResponse> {
        unary!(self, request, raw_scan)
    }

    async fn raw_delete_range(&self, request: Request<RawDeleteRangeRequest>) -> Answered<RawDeleteRangeResponse> {
        unary!(self, request, raw_delete_range)
    }

    async fn raw_batch_scan(&self, request: Request<RawBatchScanRequest>) -> Answered<RawBatchScanResponse> {
        unary!(self, request, raw_batch_scan)
    }

    async fn raw_get_key_ttl(&self, request: Request<RawGetKeyTtlRequest>) -> Answered<RawGetKeyTtlResponse> {
        unary!(self, request, raw_get_key_ttl)
    }

    async fn raw_compare_and_swap(&self, request: Request<RawCasRequest>) -> Answered<RawCasResponse> {
        unary!(self, request, raw_compare_and_swap)
    }

    async fn raw_checksum(&self, request: Request<RawChecksumRequest>) -> Answered<RawChecksumResponse> {
        unary!(self, request, raw_checksum)
    }

    async fn unsafe_destroy_range(&self, request: Request<UnsafeDestroyRangeRequest>) -> Answered<UnsafeDestroyRangeResponse> {
        Ok(Response::new(self.destroy_range(request.into_inner()).await))
    }

    async fn get_store_safe_ts(&self, _: Request<StoreSafeTsRequest>) -> Answered<StoreSafeTsResponse> {
        // Replicas other than leaders serve no reads at old timestamps: zero says so.
        Ok(Response::new(StoreSafeTsResponse::default()))
    }

    async fn get_lock_wait_info(&self, _: Request<GetLockWaitInfoRequest>) -> Answered<GetLockWaitInfoResponse> {
        Ok(Response::new(self.lock_wait_info()))
    }

    async fn coprocessor(&self, request: Request<coprocessor::Request>) -> Answered<coprocessor::Response> {
        unary!(self, request, coprocessor)
    }

    async fn raft(&self, request: Request<Streaming<RaftMessage>>) -> Answered<Done> {
        self.receive_messages(request.into_inner()).await
    }

    async fn batch_raft(&self, request: Request<Streaming<BatchRaftMessage>>) -> Answered<Done> {
        self.receive_batches(request.into_inner()).await
    }

    async fn snapshot(&self, request: Request<Streaming<SnapshotChunk>>) -> Answered<Done> {
        self.receive_snapshot(request.into_inner()).await
    }

    async fn split_region(&self, request: Request<SplitRegionRequest>) -> Answered<SplitRegionResponse> {
        unary!(self, request, split)
    }

    async fn read_index(&self, request: Request<ReadIndexRequest>) -> Answered<ReadIndexResponse> {
        unary!(self, request, read_index)
    }

    type BatchCommandsStream = ReceiverStream<Result<BatchCommandsResponse, Status>>;

    async fn batch_commands(&self, request: Request<Streaming<BatchCommandsRequest>>) -> Answered<Self::BatchCommandsStream> {
        Ok(Response::new(self.serve_batches(request.into_inner())))
    }
}

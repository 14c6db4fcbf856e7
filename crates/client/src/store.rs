//! The way to the store: request structs in, answers out.
//!
//! In one process a request is a function call on the same structs that gRPC would carry. Which engine is under the store is decided here
//! once, so that nothing above has a type parameter for it.

use base::{KeyRange, TimeStamp};
use engine::{MemEngine, RocksEngine};
use proto::kvrpcpb::{
    BatchGetRequest, BatchGetResponse, BatchRollbackRequest, BatchRollbackResponse, CheckSecondaryLocksRequest,
    CheckSecondaryLocksResponse, CheckTxnStatusRequest, CheckTxnStatusResponse, CommitRequest, CommitResponse, GetRequest, GetResponse,
    PessimisticLockRequest, PessimisticLockResponse, PessimisticRollbackRequest, PessimisticRollbackResponse, PrewriteRequest,
    PrewriteResponse, ResolveLockRequest, ResolveLockResponse, ScanLockRequest, ScanLockResponse, ScanRequest, ScanResponse,
    TxnHeartBeatRequest, TxnHeartBeatResponse, UnsafeDestroyRangeRequest, UnsafeDestroyRangeResponse,
};
use txn::Storage;

use crate::error::Result;

/// A store that can be asked.
#[derive(Clone)]
pub enum Store {
    /// RocksDB in this process.
    Rocks(Storage<RocksEngine>),
    /// The in-memory reference engine in this process.
    Memory(Storage<MemEngine>),
}

impl From<Storage<RocksEngine>> for Store {
    fn from(storage: Storage<RocksEngine>) -> Self {
        Self::Rocks(storage)
    }
}

impl From<Storage<MemEngine>> for Store {
    fn from(storage: Storage<MemEngine>) -> Self {
        Self::Memory(storage)
    }
}

/// Evaluates an expression with the storage bound, whichever engine it has.
macro_rules! with_storage {
    ($store:expr, $storage:ident => $body:expr) => {
        match $store {
            Store::Rocks($storage) => $body,
            Store::Memory($storage) => $body,
        }
    };
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($request:ty) -> $response:ty;)*) => {
        impl Store {
            $(
                $(#[$doc])*
                pub async fn $name(&self, request: $request) -> Result<$response> {
                    Ok(with_storage!(self, storage => storage.$name(request).await)?)
                }
            )*
        }
    };
}

calls! {
    /// Reads one key.
    get(GetRequest) -> GetResponse;
    /// Reads several keys.
    batch_get(BatchGetRequest) -> BatchGetResponse;
    /// Reads a page of a range.
    scan(ScanRequest) -> ScanResponse;
    /// Second phase of a commit.
    commit(CommitRequest) -> CommitResponse;
    /// Gives pessimistic locks back.
    pessimistic_rollback(PessimisticRollbackRequest) -> PessimisticRollbackResponse;
    /// Rolls back prewritten keys.
    batch_rollback(BatchRollbackRequest) -> BatchRollbackResponse;
    /// Asks a primary key what became of its transaction.
    check_txn_status(CheckTxnStatusRequest) -> CheckTxnStatusResponse;
    /// Asks the secondaries of an async commit transaction.
    check_secondary_locks(CheckSecondaryLocksRequest) -> CheckSecondaryLocksResponse;
    /// Commits or rolls back locks of decided transactions.
    resolve_lock(ResolveLockRequest) -> ResolveLockResponse;
    /// Renews a transaction's time to live.
    txn_heart_beat(TxnHeartBeatRequest) -> TxnHeartBeatResponse;
    /// Lists locks.
    scan_lock(ScanLockRequest) -> ScanLockResponse;
    /// Removes a range for good.
    unsafe_destroy_range(UnsafeDestroyRangeRequest) -> UnsafeDestroyRangeResponse;
}

impl Store {
    /// Takes pessimistic locks. Borrowed: the caller sends it again when it has to look after the owner of a lock.
    pub async fn pessimistic_lock(&self, request: &PessimisticLockRequest) -> Result<PessimisticLockResponse> {
        Ok(with_storage!(self, storage => storage.pessimistic_lock(request).await)?)
    }

    /// First phase of a commit, or all of it. Borrowed: the caller sends it again when a lock of another transaction is in the way.
    pub async fn prewrite(&self, request: &PrewriteRequest) -> Result<PrewriteResponse> {
        Ok(with_storage!(self, storage => storage.prewrite(request).await)?)
    }

    /// The oldest timestamp that can be read.
    pub fn safe_point(&self) -> TimeStamp {
        with_storage!(self, storage => storage.safe_point())
    }

    /// About how many bytes the current versions of a range take on disk.
    pub fn approximate_size(&self, range: &KeyRange) -> Result<u64> {
        Ok(with_storage!(self, storage => storage.approximate_size(range))?)
    }

    /// Waits for the commits in flight that a scan of `range` at `ts` must see.
    pub(crate) async fn prepare_scan(&self, range: &KeyRange, ts: TimeStamp) -> Result<()> {
        Ok(with_storage!(self, storage => storage.prepare_scan(range, ts).await)?)
    }

    /// Refuses writes of transactions that began at or before `safe_point` from now on; see [`txn::Storage::raise_write_floor`].
    pub(crate) async fn raise_write_floor(&self, safe_point: TimeStamp) {
        with_storage!(self, storage => storage.raise_write_floor(safe_point).await);
    }

    /// Lets compaction collect what nobody at or above `safe_point` can see.
    pub(crate) async fn publish_safe_point(&self, safe_point: TimeStamp) -> Result<()> {
        Ok(with_storage!(self, storage => storage.publish_safe_point(safe_point).await)?)
    }

    /// Compacts ranges that hold much garbage; returns how many were compacted.
    pub(crate) async fn compact_garbage(&self) -> Result<usize> {
        Ok(with_storage!(self, storage => storage.compact_garbage().await)?)
    }
}

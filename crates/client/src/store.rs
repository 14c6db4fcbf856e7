//! The way to the store: request structs in, answers out.
//!
//! In one process a request is a function call on the same structs that gRPC carries to the stores of a cluster. Which engine is under the store,
//! and whether there is one in this process, is decided here once, so that nothing above has a type parameter for it.

use base::{KeyRange, TimeStamp};
use bytes::Bytes;
use engine::{MemEngine, RocksEngine};
use proto::kvrpcpb::{
    BatchGetRequest, BatchGetResponse, BatchRollbackRequest, BatchRollbackResponse, CheckSecondaryLocksRequest,
    CheckSecondaryLocksResponse, CheckTxnStatusRequest, CheckTxnStatusResponse, CommitRequest, CommitResponse, GetRequest, GetResponse,
    PessimisticLockRequest, PessimisticLockResponse, PessimisticRollbackRequest, PessimisticRollbackResponse, PrewriteRequest,
    PrewriteResponse, ResolveLockRequest, ResolveLockResponse, ScanLockRequest, ScanLockResponse, ScanRequest, ScanResponse,
    TxnHeartBeatRequest, TxnHeartBeatResponse, UnsafeDestroyRangeRequest, UnsafeDestroyRangeResponse,
};
use txn::Storage;

use crate::{
    cluster::ClusterStore,
    error::{Result, WaitEdge},
};

/// A store that can be asked.
#[derive(Clone)]
pub enum Store {
    /// RocksDB in this process.
    Rocks(Storage<RocksEngine>),
    /// The in-memory reference engine in this process.
    Memory(Storage<MemEngine>),
    /// The stores of a cluster, in other processes.
    Cluster(ClusterStore),
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

/// Evaluates an expression with the storage bound, whichever engine it has, or another one with the stores of a cluster.
macro_rules! with_storage {
    ($store:expr, $storage:ident => $body:expr, $cluster:ident => $remote:expr) => {
        match $store {
            Store::Rocks($storage) => $body,
            Store::Memory($storage) => $body,
            Store::Cluster($cluster) => $remote,
        }
    };
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($request:ty) -> $response:ty;)*) => {
        impl Store {
            $(
                $(#[$doc])*
                pub async fn $name(&self, request: $request) -> Result<$response> {
                    // Boxed: what goes over the network is large, and rare where speed is counted in single microseconds.
                    with_storage!(self, storage => Ok(storage.$name(request).await?), cluster => Box::pin(cluster.$name(request)).await)
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
        with_storage!(self, storage => Ok(storage.pessimistic_lock(request).await?), cluster => Box::pin(cluster.pessimistic_lock(request)).await)
    }

    /// First phase of a commit, or all of it. Borrowed: the caller sends it again when a lock of another transaction is in the way.
    pub async fn prewrite(&self, request: &PrewriteRequest) -> Result<PrewriteResponse> {
        with_storage!(self, storage => Ok(storage.prewrite(request).await?), cluster => Box::pin(cluster.prewrite(request)).await)
    }

    /// The oldest timestamp that can be read.
    pub fn safe_point(&self) -> TimeStamp {
        with_storage!(self, storage => storage.safe_point(), cluster => cluster.safe_point())
    }

    /// Whether the store is in this process: one request then holds all keys that it names.
    #[inline]
    pub fn is_embedded(&self) -> bool {
        !matches!(self, Self::Cluster(_))
    }

    /// Resolves all locks of a decided transaction that can be found without its keys: in one process all, in a cluster those in the region of
    /// `near`. The others are met by their readers, or by garbage collection.
    pub(crate) async fn resolve_locks_around(&self, near: &Bytes, request: ResolveLockRequest) -> Result<ResolveLockResponse> {
        with_storage!(self, storage => Ok(storage.resolve_lock(request).await?), cluster => cluster.resolve_locks_around(near.clone(), request).await)
    }

    /// Who waits for whose locks in the stores of a cluster; one store sees its deadlocks by itself.
    pub(crate) async fn lock_waits(&self) -> Result<Vec<WaitEdge>> {
        with_storage!(self, _storage => Ok(Vec::new()), cluster => cluster.lock_waits().await)
    }

    /// Who waits for whose locks, in this process or a cluster's stores.
    pub(crate) async fn all_lock_waits(&self) -> Result<Vec<WaitEdge>> {
        with_storage!(self, storage => Ok(storage.lock_waits().into_iter().map(WaitEdge::from).collect()), cluster => cluster.lock_waits().await)
    }

    /// Waits for the commits in flight that a scan of `range` at `ts` must see. The stores of a cluster do so when a page is asked for.
    pub(crate) async fn prepare_scan(&self, range: &KeyRange, ts: TimeStamp) -> Result<()> {
        with_storage!(self, storage => Ok(storage.prepare_scan(range, ts).await?), _cluster => Ok(()))
    }

    /// Refuses writes of transactions that began at or before `safe_point` from now on; see [`txn::Storage::raise_write_floor`]. The stores of a
    /// cluster take the safe point from the placement driver.
    pub(crate) async fn raise_write_floor(&self, safe_point: TimeStamp) {
        with_storage!(self, storage => storage.raise_write_floor(safe_point).await, _cluster => ());
    }

    /// Lets compaction collect what nobody at or above `safe_point` can see. The stores of a cluster take it from the placement driver.
    pub(crate) async fn publish_safe_point(&self, safe_point: TimeStamp) -> Result<()> {
        with_storage!(self, storage => Ok(storage.publish_safe_point(safe_point).await?), _cluster => Ok(()))
    }

    /// Compacts ranges that hold much garbage; returns how many were compacted. The stores of a cluster look after themselves.
    pub(crate) async fn compact_garbage(&self) -> Result<usize> {
        with_storage!(self, storage => Ok(storage.compact_garbage().await?), _cluster => Ok(0))
    }
}

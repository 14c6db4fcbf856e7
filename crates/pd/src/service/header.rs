//! Headers of requests and answers.

use proto::pdpb::{self, ErrorType, RequestHeader, ResponseHeader};
use tonic::Status;

use crate::Error;

/// A request with a header.
pub(super) trait Asked {
    /// The cluster the caller believes to talk to; 0 when it did not say.
    fn cluster_id(&self) -> u64;
}

/// An answer with a header.
pub(super) trait Answer: Default {
    /// An answer that says what went wrong.
    fn failed(error: pdpb::Error) -> Self;

    /// Names the cluster.
    fn with_cluster_id(self, cluster_id: u64) -> Self;
}

macro_rules! asked {
    ($($name:ident),* $(,)?) => {
        $(impl Asked for pdpb::$name {
            fn cluster_id(&self) -> u64 {
                self.header.as_ref().map_or(0, |header: &RequestHeader| header.cluster_id)
            }
        })*
    };
}

macro_rules! answers {
    ($($name:ident),* $(,)?) => {
        $(// Some answers consist of a header only.
        #[allow(clippy::field_reassign_with_default)]
        impl Answer for pdpb::$name {
            fn failed(error: pdpb::Error) -> Self {
                let mut answer = Self::default();
                answer.header = Some(ResponseHeader { cluster_id: 0, error: Some(error) });
                answer
            }

            fn with_cluster_id(mut self, cluster_id: u64) -> Self {
                self.header.get_or_insert_default().cluster_id = cluster_id;
                self
            }
        })*
    };
}

asked!(
    GetMinTsRequest,
    BootstrapRequest,
    IsBootstrappedRequest,
    AllocIdRequest,
    IsSnapshotRecoveringRequest,
    GetClusterConfigRequest,
    PutClusterConfigRequest,
    GetStoreRequest,
    PutStoreRequest,
    GetAllStoresRequest,
    StoreHeartbeatRequest,
    RegionHeartbeatRequest,
    GetRegionRequest,
    GetRegionByIdRequest,
    QueryRegionRequest,
    ScanRegionsRequest,
    BatchScanRegionsRequest,
    SyncRegionRequest,
    AskSplitRequest,
    ReportSplitRequest,
    AskBatchSplitRequest,
    ReportBatchSplitRequest,
    SplitRegionsRequest,
    SplitAndScatterRegionsRequest,
    ScatterRegionRequest,
    GetOperatorRequest,
    GetGcSafePointRequest,
    UpdateGcSafePointRequest,
    UpdateServiceGcSafePointRequest,
    ReportMinResolvedTsRequest,
    ReportBucketsRequest,
    TsoRequest,
);

answers!(
    GetMinTsResponse,
    BootstrapResponse,
    IsBootstrappedResponse,
    AllocIdResponse,
    IsSnapshotRecoveringResponse,
    GetClusterConfigResponse,
    PutClusterConfigResponse,
    GetStoreResponse,
    PutStoreResponse,
    GetAllStoresResponse,
    StoreHeartbeatResponse,
    RegionHeartbeatResponse,
    GetRegionResponse,
    QueryRegionResponse,
    ScanRegionsResponse,
    BatchScanRegionsResponse,
    SyncRegionResponse,
    AskSplitResponse,
    ReportSplitResponse,
    AskBatchSplitResponse,
    ReportBatchSplitResponse,
    SplitRegionsResponse,
    SplitAndScatterRegionsResponse,
    ScatterRegionResponse,
    GetOperatorResponse,
    GetGcSafePointResponse,
    UpdateGcSafePointResponse,
    UpdateServiceGcSafePointResponse,
    ReportMinResolvedTsResponse,
    TsoResponse,
);

/// The typed error for an answer's header; a status where this member cannot answer at all.
pub(super) fn error_of(error: Error) -> Result<pdpb::Error, Status> {
    let kind = match &error {
        Error::NoLeader | Error::Stopped | Error::Engine(_) | Error::Log(_) | Error::Raft(_) | Error::File { .. } => {
            return Err(Status::unavailable(error.to_string()));
        }
        Error::WrongCluster { .. } => return Err(Status::failed_precondition(error.to_string())),
        Error::NotBootstrapped => ErrorType::NotBootstrapped,
        Error::AlreadyBootstrapped => ErrorType::AlreadyBootstrapped,
        Error::StoreTombstone(_) => ErrorType::StoreTombstone,
        Error::DuplicateAddress { .. } => ErrorType::DuplicatedEntry,
        Error::StoreNotFound(_) => ErrorType::EntryNotFound,
        // Clients that wait for an operator take this for its end.
        Error::RegionNotFound(_) | Error::NoRegionForKey | Error::NoOperator(_) => ErrorType::RegionNotFound,
        Error::RegionsHaveHoles => ErrorType::RegionsNotContainAllKeyRange,
        Error::Invalid(_) | Error::ServiceTooLate { .. } => ErrorType::InvalidValue,
        Error::Corrupted { .. }
        | Error::StoreState { .. }
        | Error::StaleRegion { .. }
        | Error::NotScheduled { .. }
        | Error::Member { .. }
        | Error::Damaged { .. }
        | Error::Address { .. }
        | Error::Unreachable { .. } => ErrorType::Unknown,
    };
    Ok(pdpb::Error { r#type: kind as i32, message: error.to_string() })
}

//! The placement driver's gRPC services.
//!
//! ```text
//!   request ─▶ (follower: passed on to the leader, see `forward`) ─▶ header check ─▶ one function ─▶ answer with header
//! ```
//!
//! | module | calls |
//! |---|---|
//! | `members` | who the members are; health; membership |
//! | `tso` | timestamps |
//! | `bootstrap` | the first store, ids, cluster configuration |
//! | `stores` | stores and their heartbeats |
//! | `regions` | look-ups of regions |
//! | `heartbeat` | streams of region heartbeats and orders |
//! | `splits` | splits |
//! | `safe_points` | garbage collection |
//! | `peer` | the other members |
//!
//! What a caller did wrong stands in the answer's header with its type; a gRPC status says that this member cannot answer now
//! (`Unavailable`) or is of another cluster (`FailedPrecondition`).

mod bootstrap;
mod header;
mod heartbeat;
mod members;
mod peer;
mod regions;
mod safe_points;
mod splits;
mod stores;
mod tso;

use std::{pin::Pin, sync::Arc};

use proto::pdpb::{self, pd_server::Pd};
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

pub use members::{ClusterService, HealthService, MetaStorageService};
pub use peer::PeerService;

use crate::{Error, Result, node::Node};
use header::{Answer, Asked};

/// `pdpb.PD` of one member.
#[derive(Clone, Debug)]
pub struct PdService {
    node: Arc<Node>,
}

/// A stream of answers.
type AnswerStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl PdService {
    /// The service of a member.
    pub fn new(node: Arc<Node>) -> Self {
        Self { node }
    }

    /// Checks the request's header, calls, and puts a header on what comes out.
    async fn answer<Q: Asked, A: Answer, F>(&self, request: Request<Q>, call: impl FnOnce(Arc<Node>, Q) -> F) -> Result<Response<A>, Status>
    where
        F: Future<Output = Result<A>>,
    {
        let request = request.into_inner();
        check_cluster(&self.node, request.cluster_id())?;
        let answer = match call(self.node.clone(), request).await {
            Ok(answer) => answer,
            Err(error) => A::failed(header::error_of(error)?),
        };
        Ok(Response::new(answer.with_cluster_id(self.node.cluster_id())))
    }
}

/// Callers that know the cluster's id must mean this one. Zero is "any", for the first calls of a new store.
fn check_cluster(node: &Node, asked: u64) -> Result<(), Status> {
    let ours = node.cluster_id();
    if asked != 0 && ours != 0 && asked != ours {
        return Err(Status::failed_precondition(Error::WrongCluster { asked, ours }.to_string()));
    }
    Ok(())
}

/// One line a call: the functions are in the modules named above.
#[tonic::async_trait]
impl Pd for PdService {
    async fn get_cluster_info(&self, _: Request<pdpb::GetClusterInfoRequest>) -> Result<Response<pdpb::GetClusterInfoResponse>, Status> {
        Ok(Response::new(members::cluster_info(&self.node)))
    }

    async fn get_members(&self, _: Request<pdpb::GetMembersRequest>) -> Result<Response<pdpb::GetMembersResponse>, Status> {
        members::get_members(&self.node).map(Response::new).map_err(|error| Status::unavailable(error.to_string()))
    }

    type TsoStream = AnswerStream<pdpb::TsoResponse>;

    async fn tso(&self, request: Request<Streaming<pdpb::TsoRequest>>) -> Result<Response<Self::TsoStream>, Status> {
        Ok(Response::new(tso::stream(self.node.clone(), request.into_inner())))
    }

    async fn get_min_ts(&self, request: Request<pdpb::GetMinTsRequest>) -> Result<Response<pdpb::GetMinTsResponse>, Status> {
        self.answer(request, tso::min_ts).await
    }

    async fn bootstrap(&self, request: Request<pdpb::BootstrapRequest>) -> Result<Response<pdpb::BootstrapResponse>, Status> {
        self.answer(request, bootstrap::bootstrap).await
    }

    async fn is_bootstrapped(
        &self,
        request: Request<pdpb::IsBootstrappedRequest>,
    ) -> Result<Response<pdpb::IsBootstrappedResponse>, Status> {
        self.answer(request, bootstrap::is_bootstrapped).await
    }

    async fn alloc_id(&self, request: Request<pdpb::AllocIdRequest>) -> Result<Response<pdpb::AllocIdResponse>, Status> {
        self.answer(request, bootstrap::alloc_id).await
    }

    async fn is_snapshot_recovering(
        &self,
        request: Request<pdpb::IsSnapshotRecoveringRequest>,
    ) -> Result<Response<pdpb::IsSnapshotRecoveringResponse>, Status> {
        self.answer(request, |_, _| async { Ok(pdpb::IsSnapshotRecoveringResponse::default()) }).await
    }

    async fn get_cluster_config(
        &self,
        request: Request<pdpb::GetClusterConfigRequest>,
    ) -> Result<Response<pdpb::GetClusterConfigResponse>, Status> {
        self.answer(request, bootstrap::get_cluster_config).await
    }

    async fn put_cluster_config(
        &self,
        request: Request<pdpb::PutClusterConfigRequest>,
    ) -> Result<Response<pdpb::PutClusterConfigResponse>, Status> {
        self.answer(request, bootstrap::put_cluster_config).await
    }

    async fn get_store(&self, request: Request<pdpb::GetStoreRequest>) -> Result<Response<pdpb::GetStoreResponse>, Status> {
        self.answer(request, stores::get_store).await
    }

    async fn put_store(&self, request: Request<pdpb::PutStoreRequest>) -> Result<Response<pdpb::PutStoreResponse>, Status> {
        self.answer(request, stores::put_store).await
    }

    async fn get_all_stores(&self, request: Request<pdpb::GetAllStoresRequest>) -> Result<Response<pdpb::GetAllStoresResponse>, Status> {
        self.answer(request, stores::get_all_stores).await
    }

    async fn store_heartbeat(
        &self,
        request: Request<pdpb::StoreHeartbeatRequest>,
    ) -> Result<Response<pdpb::StoreHeartbeatResponse>, Status> {
        self.answer(request, stores::store_heartbeat).await
    }

    type RegionHeartbeatStream = AnswerStream<pdpb::RegionHeartbeatResponse>;

    async fn region_heartbeat(
        &self,
        request: Request<Streaming<pdpb::RegionHeartbeatRequest>>,
    ) -> Result<Response<Self::RegionHeartbeatStream>, Status> {
        heartbeat::stream(&self.node, request.into_inner()).map(Response::new)
    }

    async fn get_region(&self, request: Request<pdpb::GetRegionRequest>) -> Result<Response<pdpb::GetRegionResponse>, Status> {
        self.answer(request, regions::get_region).await
    }

    async fn get_prev_region(&self, request: Request<pdpb::GetRegionRequest>) -> Result<Response<pdpb::GetRegionResponse>, Status> {
        self.answer(request, regions::get_prev_region).await
    }

    async fn get_region_by_id(&self, request: Request<pdpb::GetRegionByIdRequest>) -> Result<Response<pdpb::GetRegionResponse>, Status> {
        self.answer(request, regions::get_region_by_id).await
    }

    type QueryRegionStream = AnswerStream<pdpb::QueryRegionResponse>;

    async fn query_region(
        &self,
        request: Request<Streaming<pdpb::QueryRegionRequest>>,
    ) -> Result<Response<Self::QueryRegionStream>, Status> {
        Ok(Response::new(regions::query_stream(self.node.clone(), request.into_inner())))
    }

    async fn scan_regions(&self, request: Request<pdpb::ScanRegionsRequest>) -> Result<Response<pdpb::ScanRegionsResponse>, Status> {
        self.answer(request, regions::scan_regions).await
    }

    async fn batch_scan_regions(
        &self,
        request: Request<pdpb::BatchScanRegionsRequest>,
    ) -> Result<Response<pdpb::BatchScanRegionsResponse>, Status> {
        self.answer(request, regions::batch_scan_regions).await
    }

    type SyncRegionsStream = AnswerStream<pdpb::SyncRegionResponse>;

    async fn sync_regions(
        &self,
        request: Request<Streaming<pdpb::SyncRegionRequest>>,
    ) -> Result<Response<Self::SyncRegionsStream>, Status> {
        Ok(Response::new(regions::sync_stream(self.node.clone(), request.into_inner())))
    }

    async fn ask_split(&self, request: Request<pdpb::AskSplitRequest>) -> Result<Response<pdpb::AskSplitResponse>, Status> {
        self.answer(request, splits::ask_split).await
    }

    async fn report_split(&self, request: Request<pdpb::ReportSplitRequest>) -> Result<Response<pdpb::ReportSplitResponse>, Status> {
        self.answer(request, splits::report_split).await
    }

    async fn ask_batch_split(&self, request: Request<pdpb::AskBatchSplitRequest>) -> Result<Response<pdpb::AskBatchSplitResponse>, Status> {
        self.answer(request, splits::ask_batch_split).await
    }

    async fn report_batch_split(
        &self,
        request: Request<pdpb::ReportBatchSplitRequest>,
    ) -> Result<Response<pdpb::ReportBatchSplitResponse>, Status> {
        self.answer(request, splits::report_batch_split).await
    }

    async fn split_regions(&self, request: Request<pdpb::SplitRegionsRequest>) -> Result<Response<pdpb::SplitRegionsResponse>, Status> {
        self.answer(request, splits::split_regions).await
    }

    async fn split_and_scatter_regions(
        &self,
        request: Request<pdpb::SplitAndScatterRegionsRequest>,
    ) -> Result<Response<pdpb::SplitAndScatterRegionsResponse>, Status> {
        self.answer(request, splits::split_and_scatter).await
    }

    async fn scatter_region(&self, request: Request<pdpb::ScatterRegionRequest>) -> Result<Response<pdpb::ScatterRegionResponse>, Status> {
        self.answer(request, splits::scatter).await
    }

    async fn get_operator(&self, request: Request<pdpb::GetOperatorRequest>) -> Result<Response<pdpb::GetOperatorResponse>, Status> {
        self.answer(request, splits::get_operator).await
    }

    async fn get_gc_safe_point(
        &self,
        request: Request<pdpb::GetGcSafePointRequest>,
    ) -> Result<Response<pdpb::GetGcSafePointResponse>, Status> {
        self.answer(request, safe_points::get).await
    }

    async fn update_gc_safe_point(
        &self,
        request: Request<pdpb::UpdateGcSafePointRequest>,
    ) -> Result<Response<pdpb::UpdateGcSafePointResponse>, Status> {
        self.answer(request, safe_points::update).await
    }

    async fn update_service_gc_safe_point(
        &self,
        request: Request<pdpb::UpdateServiceGcSafePointRequest>,
    ) -> Result<Response<pdpb::UpdateServiceGcSafePointResponse>, Status> {
        self.answer(request, safe_points::update_service).await
    }

    async fn report_min_resolved_ts(
        &self,
        request: Request<pdpb::ReportMinResolvedTsRequest>,
    ) -> Result<Response<pdpb::ReportMinResolvedTsResponse>, Status> {
        // Nothing in the cluster asks for it.
        self.answer(request, |_, _| async { Ok(pdpb::ReportMinResolvedTsResponse::default()) }).await
    }

    async fn report_buckets(
        &self,
        request: Request<Streaming<pdpb::ReportBucketsRequest>>,
    ) -> Result<Response<pdpb::ReportBucketsResponse>, Status> {
        heartbeat::take_buckets(&self.node, request.into_inner()).await.map(Response::new)
    }
}

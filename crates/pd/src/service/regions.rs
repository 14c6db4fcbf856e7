//! Look-ups of regions. Answered from what the leader knows; what a client does with an old answer, the store refuses by its epoch.

use std::{collections::HashMap, sync::Arc};

use proto::pdpb::{
    BatchScanRegionsRequest, BatchScanRegionsResponse, GetRegionByIdRequest, GetRegionRequest, GetRegionResponse, QueryRegionRequest,
    QueryRegionResponse, RegionResponse, RegionStat, ResponseHeader, ScanRegionsRequest, ScanRegionsResponse, SyncRegionRequest,
    SyncRegionResponse,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::{
    AnswerStream, check_cluster,
    header::{self, Asked},
};
use crate::{
    Error, Result,
    core::{Cluster, RegionInfo},
    node::Node,
};

/// Regions in one message of a synchronisation.
const SYNC_AT_A_TIME: usize = 512;

fn look<T>(node: &Node, look: impl FnOnce(&Cluster) -> Result<T>) -> Result<T> {
    node.leading()?;
    node.read(|cluster| if cluster.state.bootstrapped { look(cluster) } else { Err(Error::NotBootstrapped) })
}

/// A region that is not known is an answer without region, not an error: clients wait and ask again.
fn response(info: Option<&RegionInfo>, buckets: bool) -> GetRegionResponse {
    let Some(info) = info else { return GetRegionResponse::default() };
    let region = info.to_answer();
    GetRegionResponse {
        header: None,
        region: region.region,
        leader: region.leader,
        down_peers: region.down_peers,
        pending_peers: region.pending_peers,
        buckets: region.buckets.filter(|_| buckets),
    }
}

pub(super) async fn get_region(node: Arc<Node>, request: GetRegionRequest) -> Result<GetRegionResponse> {
    look(&node, |cluster| Ok(response(cluster.state.regions.by_key(&request.region_key), request.need_buckets)))
}

pub(super) async fn get_prev_region(node: Arc<Node>, request: GetRegionRequest) -> Result<GetRegionResponse> {
    look(&node, |cluster| Ok(response(cluster.state.regions.before_key(&request.region_key), request.need_buckets)))
}

pub(super) async fn get_region_by_id(node: Arc<Node>, request: GetRegionByIdRequest) -> Result<GetRegionResponse> {
    look(&node, |cluster| Ok(response(cluster.state.regions.get(request.region_id), request.need_buckets)))
}

fn limit(limit: i32) -> usize {
    usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX)
}

pub(super) async fn scan_regions(node: Arc<Node>, request: ScanRegionsRequest) -> Result<ScanRegionsResponse> {
    look(&node, |cluster| {
        let mut answer = ScanRegionsResponse::default();
        for info in cluster.state.regions.scan(&request.start_key, &request.end_key).take(limit(request.limit)) {
            answer.region_metas.push(info.meta.clone());
            answer.leaders.push(info.leader.unwrap_or_default());
            answer.regions.push(info.to_answer());
        }
        Ok(answer)
    })
}

pub(super) async fn batch_scan_regions(node: Arc<Node>, request: BatchScanRegionsRequest) -> Result<BatchScanRegionsResponse> {
    look(&node, |cluster| {
        let tree = &cluster.state.regions;
        let mut regions = Vec::new();
        let mut last = 0;
        for range in &request.ranges {
            let left = limit(request.limit).saturating_sub(regions.len());
            let before = regions.len();
            for info in tree.scan(&range.start_key, &range.end_key).take(left) {
                // Neighbouring ranges may meet in one region.
                if info.id() != last {
                    last = info.id();
                    let mut region = info.to_answer();
                    region.buckets = region.buckets.filter(|_| request.need_buckets);
                    regions.push(region);
                }
            }
            let cut = regions.len() - before == left;
            if request.contain_all_key_range && !cut && !tree.covers(&range.start_key, &range.end_key) {
                return Err(Error::RegionsHaveHoles);
            }
        }
        Ok(BatchScanRegionsResponse { regions, ..BatchScanRegionsResponse::default() })
    })
}

/// One answer for each request of the stream.
pub(super) fn query_stream(node: Arc<Node>, mut requests: Streaming<QueryRegionRequest>) -> AnswerStream<QueryRegionResponse> {
    let (answers, receiver) = mpsc::channel(16);
    node.env().clone().spawn(async move {
        while let Ok(Some(request)) = requests.message().await {
            let answer = query(&node, &request);
            let failed = answer.is_err();
            if answers.send(answer).await.is_err() || failed {
                return;
            }
        }
    });
    Box::pin(ReceiverStream::new(receiver))
}

fn query(node: &Node, request: &QueryRegionRequest) -> Result<QueryRegionResponse, Status> {
    check_cluster(node, request.cluster_id())?;
    let found = look(node, |cluster| {
        let tree = &cluster.state.regions;
        let mut found: HashMap<u64, RegionResponse> = HashMap::new();
        let mut note = |info: Option<&RegionInfo>| {
            let Some(info) = info else { return 0 };
            found.entry(info.id()).or_insert_with(|| {
                let region = info.to_answer();
                RegionResponse {
                    region: region.region,
                    leader: region.leader,
                    down_peers: region.down_peers,
                    pending_peers: region.pending_peers,
                    buckets: region.buckets.filter(|_| request.need_buckets),
                }
            });
            info.id()
        };
        let key_id_map = request.keys.iter().map(|key| note(tree.by_key(key))).collect();
        let prev_key_id_map = request.prev_keys.iter().map(|key| note(tree.before_key(key))).collect();
        for id in &request.ids {
            note(tree.get(*id));
        }
        Ok(QueryRegionResponse { header: None, key_id_map, prev_key_id_map, regions_by_id: found })
    });
    let mut header = ResponseHeader { cluster_id: node.cluster_id(), error: None };
    match found {
        Ok(answer) => Ok(QueryRegionResponse { header: Some(header), ..answer }),
        Err(error) => {
            header.error = Some(header::error_of(error)?);
            Ok(QueryRegionResponse { header: Some(header), ..QueryRegionResponse::default() })
        }
    }
}

/// All regions, once for each request of the stream, in several messages.
pub(super) fn sync_stream(node: Arc<Node>, mut requests: Streaming<SyncRegionRequest>) -> AnswerStream<SyncRegionResponse> {
    let (answers, receiver) = mpsc::channel(4);
    node.env().clone().spawn(async move {
        while let Ok(Some(request)) = requests.message().await {
            if let Err(status) = check_cluster(&node, request.cluster_id()) {
                // The stream is over either way.
                let _ = answers.send(Err(status)).await;
                return;
            }
            let mut next_key = Some(bytes::Bytes::new());
            let mut index = request.start_index;
            while let Some(key) = next_key {
                let (mut message, behind) = sync_message(&node, &key);
                message.start_index = index;
                index += message.regions.len() as u64;
                next_key = behind;
                if answers.send(Ok(message)).await.is_err() {
                    return;
                }
            }
        }
    });
    Box::pin(ReceiverStream::new(receiver))
}

fn sync_message(node: &Node, start: &[u8]) -> (SyncRegionResponse, Option<bytes::Bytes>) {
    let header = ResponseHeader { cluster_id: node.cluster_id(), error: None };
    let mut message = SyncRegionResponse { header: Some(header), ..SyncRegionResponse::default() };
    let behind = node.read(|cluster| {
        let mut last = None;
        for info in cluster.state.regions.scan(start, b"").take(SYNC_AT_A_TIME) {
            message.regions.push(info.meta.clone());
            message.region_leaders.push(info.leader.unwrap_or_default());
            let (bytes_written, bytes_read) = (info.measured.write_rate, info.measured.read_rate);
            message.region_stats.push(RegionStat { bytes_written, bytes_read, ..RegionStat::default() });
            last = Some(info.end_key().clone());
        }
        last.filter(|end| !end.is_empty() && message.regions.len() == SYNC_AT_A_TIME)
    });
    (message, behind)
}

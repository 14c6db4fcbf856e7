//! Streams of region heartbeats: news in, orders out.

use std::sync::Arc;

use proto::pdpb::{RegionHeartbeatRequest, RegionHeartbeatResponse, ReportBucketsRequest, ReportBucketsResponse, ResponseHeader};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::{
    AnswerStream, check_cluster,
    header::{self, Asked},
};
use crate::{
    Error, Result,
    node::{Leading, Node},
};

/// Orders that may wait for one store.
const ORDERS: usize = 1024;

/// Serves one store's stream while this member leads.
pub(super) fn stream(
    node: &Arc<Node>,
    mut requests: Streaming<RegionHeartbeatRequest>,
) -> Result<AnswerStream<RegionHeartbeatResponse>, Status> {
    let leading = node.leading().map_err(|error| Status::unavailable(error.to_string()))?;
    let (orders, mut waiting) = mpsc::channel::<RegionHeartbeatResponse>(ORDERS);
    let (answers, receiver) = mpsc::channel(16);
    let node = node.clone();
    node.env().clone().spawn(async move {
        let mut store_id = 0;
        loop {
            let answer = tokio::select! {
                request = requests.message() => match request {
                    Ok(Some(request)) => {
                        let from = request.leader.map_or(0, |leader| leader.store_id);
                        if from != store_id && from != 0 {
                            store_id = from;
                            leading.open_stream(store_id, orders.clone());
                        }
                        take(&node, &leading, &request).await
                    }
                    Ok(None) | Err(_) => return,
                },
                Some(order) = waiting.recv() => Some(Ok(order)),
                _ = leading.ended.cancelled() => Some(Err(Status::unavailable(Error::NoLeader.to_string()))),
            };
            let Some(answer) = answer else { continue };
            let failed = answer.is_err();
            if answers.send(answer).await.is_err() || failed {
                return;
            }
        }
    });
    Ok(Box::pin(ReceiverStream::new(receiver)))
}

/// Takes one heartbeat in. News that are refused are answered with the reason; others only when there is an order.
async fn take(
    node: &Arc<Node>,
    leading: &Arc<Leading>,
    request: &RegionHeartbeatRequest,
) -> Option<Result<RegionHeartbeatResponse, Status>> {
    if let Err(status) = check_cluster(node, request.cluster_id()) {
        return Some(Err(status));
    }
    let now = node.now();
    match node.write(|cluster| cluster.on_region_heartbeat(request, now)) {
        Ok(effects) => {
            leading.carry_out(node, effects);
            None
        }
        Err(error) => {
            tracing::debug!(region = request.region.as_ref().map_or(0, |region| region.id), %error, "a region heartbeat was refused");
            let error = match header::error_of(error) {
                Ok(error) => error,
                Err(status) => return Some(Err(status)),
            };
            let header = ResponseHeader { cluster_id: node.cluster_id(), error: Some(error) };
            let region_id = request.region.as_ref().map_or(0, |region| region.id);
            Some(Ok(RegionHeartbeatResponse { header: Some(header), region_id, ..RegionHeartbeatResponse::default() }))
        }
    }
}

/// Takes in the borders of buckets until the stream ends.
pub(super) async fn take_buckets(node: &Node, mut requests: Streaming<ReportBucketsRequest>) -> Result<ReportBucketsResponse, Status> {
    while let Some(request) = requests.message().await? {
        check_cluster(node, request.cluster_id())?;
        node.leading().map_err(|error| Status::unavailable(error.to_string()))?;
        if let Some(buckets) = request.buckets {
            node.write(|cluster| cluster.state.regions.set_buckets(buckets.region_id, buckets));
        }
    }
    Ok(ReportBucketsResponse { header: Some(ResponseHeader { cluster_id: node.cluster_id(), error: None }) })
}

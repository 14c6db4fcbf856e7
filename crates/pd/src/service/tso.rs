//! Timestamps: one answer for each request of a stream, in order, each with as many timestamps as were asked for.

use std::sync::Arc;

use base::TimeStamp;
use proto::pdpb::{GetMinTsRequest, GetMinTsResponse, ResponseHeader, Timestamp, TsoRequest, TsoResponse};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::{AnswerStream, check_cluster, header};
use crate::{Error, Result, node::Node};

fn timestamp(ts: TimeStamp) -> Timestamp {
    Timestamp { physical: ts.physical_ms() as i64, logical: ts.logical() as i64, suffix_bits: 0 }
}

/// Serves one stream. It ends with an error when this member leads no more; the client asks the next leader.
pub(super) fn stream(node: Arc<Node>, mut requests: Streaming<TsoRequest>) -> AnswerStream<TsoResponse> {
    let (answers, receiver) = mpsc::channel(16);
    node.env().clone().spawn(async move {
        while let Ok(Some(request)) = requests.message().await {
            let answer = answer(&node, &request).await;
            let failed = answer.is_err();
            if answers.send(answer).await.is_err() || failed {
                return;
            }
        }
    });
    Box::pin(ReceiverStream::new(receiver))
}

async fn answer(node: &Arc<Node>, request: &TsoRequest) -> Result<TsoResponse, Status> {
    check_cluster(node, request.header.as_ref().map_or(0, |header| header.cluster_id))?;
    if !matches!(request.dc_location.as_str(), "" | "global") {
        return Err(Status::invalid_argument("timestamps of one place only are not offered"));
    }
    let header = ResponseHeader { cluster_id: node.cluster_id(), error: None };
    match node.timestamps(u64::from(request.count)).await {
        Ok(ts) => Ok(TsoResponse { header: Some(header), count: request.count, timestamp: Some(timestamp(ts)) }),
        Err(error @ Error::Invalid(_)) => Err(Status::invalid_argument(error.to_string())),
        Err(error) => Err(header::error_of(error).map_or_else(|status| status, |error| Status::unknown(error.message))),
    }
}

/// A timestamp that is not above any that will be handed out: all come from one oracle, so a fresh one serves.
pub(super) async fn min_ts(node: Arc<Node>, _: GetMinTsRequest) -> Result<GetMinTsResponse> {
    let ts = node.timestamps(1).await?;
    Ok(GetMinTsResponse { timestamp: Some(timestamp(ts)), ..GetMinTsResponse::default() })
}

//! How far garbage may be collected.

use std::sync::Arc;

use proto::{
    pdpb::{
        GetGcSafePointRequest, GetGcSafePointResponse, UpdateGcSafePointRequest, UpdateGcSafePointResponse,
        UpdateServiceGcSafePointRequest, UpdateServiceGcSafePointResponse,
    },
    pdstate::{SetServiceSafePoint, UpdateGcSafePoint, command::Kind},
};

use crate::{Error, Result, core::Answer, node::Node};

/// Who answers for the safe point when no service holds it back.
const COLLECTOR: &str = "gc_worker";

pub(super) async fn get(node: Arc<Node>, _: GetGcSafePointRequest) -> Result<GetGcSafePointResponse> {
    node.confirm().await?;
    let safe_point = node.read(|cluster| cluster.state.gc_safe_point().0);
    Ok(GetGcSafePointResponse { safe_point, ..GetGcSafePointResponse::default() })
}

pub(super) async fn update(node: Arc<Node>, request: UpdateGcSafePointRequest) -> Result<UpdateGcSafePointResponse> {
    node.leading()?;
    let command = UpdateGcSafePoint { safe_point: request.safe_point, wall_ms: node.env().wall_ms() };
    let Answer::SafePoint(safe_point) = node.propose(Kind::UpdateGcSafePoint(command)).await? else {
        return Err(Error::Invalid("not a safe point"));
    };
    Ok(UpdateGcSafePointResponse { new_safe_point: safe_point.0, ..UpdateGcSafePointResponse::default() })
}

pub(super) async fn update_service(node: Arc<Node>, request: UpdateServiceGcSafePointRequest) -> Result<UpdateServiceGcSafePointResponse> {
    node.leading()?;
    let service = String::from_utf8(request.service_id.to_vec()).map_err(|_| Error::Invalid("a service's name is not UTF-8"))?;
    let wall_ms = node.env().wall_ms();
    let expires_ms = if request.ttl > 0 { wall_ms.saturating_add((request.ttl as u64).saturating_mul(1000)) } else { 0 };
    let command = SetServiceSafePoint { service, safe_point: request.safe_point, expires_ms, wall_ms };
    node.propose(Kind::SetServiceSafePoint(command)).await?;
    // The service finds out by comparing whether it came in time.
    Ok(node.read(|cluster| {
        let (name, safe_point, expires_ms) =
            cluster.state.safe_point_holder(wall_ms).unwrap_or((COLLECTOR, cluster.state.gc_safe_point(), u64::MAX));
        UpdateServiceGcSafePointResponse {
            header: None,
            service_id: name.as_bytes().to_vec().into(),
            ttl: i64::try_from(expires_ms.saturating_sub(wall_ms) / 1000).unwrap_or(i64::MAX),
            min_safe_point: safe_point.0,
        }
    }))
}

//! The first store, ids, and the cluster's configuration.

use std::sync::Arc;

use proto::{
    metapb::Cluster,
    pdpb::{
        AllocIdRequest, AllocIdResponse, BootstrapRequest, BootstrapResponse, GetClusterConfigRequest, GetClusterConfigResponse,
        IsBootstrappedRequest, IsBootstrappedResponse, PutClusterConfigRequest, PutClusterConfigResponse,
    },
    pdstate::{Bootstrap, command::Kind},
};

use crate::{Error, Result, node::Node};

pub(super) async fn bootstrap(node: Arc<Node>, request: BootstrapRequest) -> Result<BootstrapResponse> {
    node.leading()?;
    node.propose(Kind::Bootstrap(Bootstrap { store: request.store, region: request.region })).await?;
    Ok(BootstrapResponse::default())
}

pub(super) async fn is_bootstrapped(node: Arc<Node>, _: IsBootstrappedRequest) -> Result<IsBootstrappedResponse> {
    node.confirm().await?;
    let bootstrapped = node.read(|cluster| cluster.state.bootstrapped);
    Ok(IsBootstrappedResponse { bootstrapped, ..IsBootstrappedResponse::default() })
}

pub(super) async fn alloc_id(node: Arc<Node>, _: AllocIdRequest) -> Result<AllocIdResponse> {
    let id = node.allocate_ids(1).await?;
    Ok(AllocIdResponse { id, ..AllocIdResponse::default() })
}

pub(super) async fn get_cluster_config(node: Arc<Node>, _: GetClusterConfigRequest) -> Result<GetClusterConfigResponse> {
    node.confirm().await?;
    let cluster = node.read(|cluster| {
        let state = &cluster.state;
        state.bootstrapped.then_some(Cluster { id: state.cluster_id, max_peer_count: state.config.replication.max_replicas as u32 })
    });
    let cluster = cluster.ok_or(Error::NotBootstrapped)?;
    Ok(GetClusterConfigResponse { cluster: Some(cluster), ..GetClusterConfigResponse::default() })
}

pub(super) async fn put_cluster_config(node: Arc<Node>, request: PutClusterConfigRequest) -> Result<PutClusterConfigResponse> {
    let cluster = request.cluster.ok_or(Error::Invalid("no configuration"))?;
    node.change_config(|config| {
        if cluster.max_peer_count > 0 {
            config.replication.max_replicas = u64::from(cluster.max_peer_count);
        }
    })
    .await?;
    Ok(PutClusterConfigResponse::default())
}

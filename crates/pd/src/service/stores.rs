//! Stores and their heartbeats.

use std::sync::Arc;

use proto::{
    metapb::StoreState,
    pdpb::{
        GetAllStoresRequest, GetAllStoresResponse, GetStoreRequest, GetStoreResponse, PutStoreRequest, PutStoreResponse,
        StoreHeartbeatRequest, StoreHeartbeatResponse,
    },
    pdstate::{PutStore, command::Kind},
};

use crate::{Error, Result, node::Node};

pub(super) async fn get_store(node: Arc<Node>, request: GetStoreRequest) -> Result<GetStoreResponse> {
    node.confirm().await?;
    node.read(|cluster| {
        let store = cluster.state.stores.get(&request.store_id).ok_or(Error::StoreNotFound(request.store_id))?;
        let stats = cluster.live.stores.get(&request.store_id).map(|live| live.stats.clone());
        Ok(GetStoreResponse { store: Some(store.clone()), stats, ..GetStoreResponse::default() })
    })
}

pub(super) async fn put_store(node: Arc<Node>, request: PutStoreRequest) -> Result<PutStoreResponse> {
    node.leading()?;
    node.propose(Kind::PutStore(PutStore { store: request.store })).await?;
    Ok(PutStoreResponse::default())
}

pub(super) async fn get_all_stores(node: Arc<Node>, request: GetAllStoresRequest) -> Result<GetAllStoresResponse> {
    node.confirm().await?;
    let stores = node.read(|cluster| {
        let wanted = |state| state != StoreState::Tombstone || !request.exclude_tombstone_stores;
        cluster.state.stores.values().filter(|store| wanted(store.state())).cloned().collect()
    });
    Ok(GetAllStoresResponse { stores, ..GetAllStoresResponse::default() })
}

pub(super) async fn store_heartbeat(node: Arc<Node>, request: StoreHeartbeatRequest) -> Result<StoreHeartbeatResponse> {
    node.leading()?;
    let stats = request.stats.ok_or(Error::Invalid("a store heartbeat without statistics"))?;
    let now = node.now();
    node.write(|cluster| {
        let store_id = stats.store_id;
        cluster.on_store_heartbeat(stats, now)?;
        let state = cluster.state.stores.get(&store_id).map_or(0, |store| store.node_state);
        Ok(StoreHeartbeatResponse { cluster_version: env!("CARGO_PKG_VERSION").to_owned(), state, ..StoreHeartbeatResponse::default() })
    })
}

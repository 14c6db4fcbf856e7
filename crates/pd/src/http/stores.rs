//! Pages about stores.

use std::collections::HashMap;

use axum::{
    Json,
    extract::{Path, Query, State},
};
use proto::{
    metapb::{Store, StoreLabel, StoreState},
    pdstate::{RemoveTombstones, SetStoreLabels, SetStoreState, command::Kind},
};
use serde_json::{Value, json};

use super::{Member, Page};
use crate::{
    Error,
    core::{Cluster, store::Health},
    node::Node,
};

fn page(node: &Node, cluster: &Cluster, store: &Store) -> Value {
    let health = cluster.health(store.id, node.now());
    let state_name = match (store.state(), health) {
        (StoreState::Up, Health::Up) => "Up",
        (StoreState::Up, Health::Disconnected) => "Disconnected",
        (StoreState::Up, Health::Down) => "Down",
        (StoreState::Offline, _) => "Offline",
        (StoreState::Tombstone, _) => "Tombstone",
    };
    let regions = cluster.state.regions.on_store(store.id).cloned().unwrap_or_default();
    let live = cluster.live.stores.get(&store.id);
    let stats = live.map(|live| live.stats.clone()).unwrap_or_default();
    let silence = live.filter(|live| live.last_heartbeat.is_some()).map(|live| live.silence(node.now()).as_secs_f64());
    json!({
        "store": {
            "id": store.id,
            "address": store.address,
            "peer_address": store.peer_address,
            "status_address": store.status_address,
            "version": store.version,
            "labels": store.labels.iter().map(|label| json!({ "key": label.key, "value": label.value })).collect::<Vec<_>>(),
            "state": store.state,
            "state_name": state_name,
            "start_timestamp": store.start_timestamp,
            "physically_destroyed": store.physically_destroyed,
        },
        "status": {
            "capacity": stats.capacity,
            "available": stats.available,
            "used_size": stats.used_size,
            "leader_count": regions.leaders.len(),
            "leader_size": regions.leader_weight,
            "region_count": regions.count(),
            "region_size": regions.weight,
            "pending_peer_count": regions.pending,
            "sending_snap_count": stats.sending_snap_count,
            "receiving_snap_count": stats.receiving_snap_count,
            "is_busy": stats.is_busy,
            "seconds_since_heartbeat": silence,
        },
    })
}

pub(super) async fn list(State(node): Member, Query(query): Query<HashMap<String, String>>) -> Page {
    node.leading()?;
    // Tombstones are shown when asked for: `state=2`.
    let tombstones = query.get("state").is_some_and(|state| state == "2" || state.eq_ignore_ascii_case("tombstone"));
    let stores: Vec<Value> = node.read(|cluster| {
        let wanted = |store: &&Store| (store.state() == StoreState::Tombstone) == tombstones;
        cluster.state.stores.values().filter(wanted).map(|store| page(&node, cluster, store)).collect()
    });
    Ok(Json(json!({ "count": stores.len(), "stores": stores })))
}

pub(super) async fn one(State(node): Member, Path(id): Path<u64>) -> Page {
    node.leading()?;
    let page = node.read(|cluster| cluster.state.stores.get(&id).map(|store| page(&node, cluster, store)));
    Ok(Json(page.ok_or(Error::StoreNotFound(id))?))
}

async fn change(node: &Node, store_id: u64, state: StoreState, physically_destroyed: bool) -> Page {
    node.leading()?;
    node.propose(Kind::SetStoreState(SetStoreState { store_id, state: state as i32, physically_destroyed })).await?;
    Ok(Json(json!("The store's state is updated.")))
}

/// Begins to empty a store; `force=true` says that its disk is lost.
pub(super) async fn take_offline(State(node): Member, Path(id): Path<u64>, Query(query): Query<HashMap<String, String>>) -> Page {
    let destroyed = query.get("force").is_some_and(|force| force == "true" || force.is_empty());
    change(&node, id, StoreState::Offline, destroyed).await
}

pub(super) async fn set_state(State(node): Member, Path(id): Path<u64>, Query(query): Query<HashMap<String, String>>) -> Page {
    let state = match query.get("state").map(String::as_str) {
        Some("Up") => StoreState::Up,
        Some("Offline") => StoreState::Offline,
        Some("Tombstone") => StoreState::Tombstone,
        _ => return Err(Error::Invalid("state must be Up, Offline or Tombstone").into()),
    };
    change(&node, id, state, false).await
}

pub(super) async fn set_labels(State(node): Member, Path(id): Path<u64>, Json(labels): Json<HashMap<String, String>>) -> Page {
    node.leading()?;
    let labels = labels.into_iter().map(|(key, value)| StoreLabel { key, value }).collect();
    node.propose(Kind::SetStoreLabels(SetStoreLabels { store_id: id, labels, replace: false })).await?;
    Ok(Json(json!("The store's labels are updated.")))
}

pub(super) async fn remove_tombstones(State(node): Member) -> Page {
    node.leading()?;
    node.propose(Kind::RemoveTombstones(RemoveTombstones {})).await?;
    Ok(Json(json!("Tombstones are removed.")))
}

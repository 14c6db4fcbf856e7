//! Pages about stores.

use std::collections::{BTreeSet, HashMap};

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
    let silence = live.filter(|live| live.last_heartbeat.is_some()).map(|live| live.silence(node.now()));
    let heard = silence.map(|silence| node.env().wall_ms().saturating_sub(u64::try_from(silence.as_millis()).unwrap_or(u64::MAX)));
    json!({
        "store": {
            "id": store.id,
            "address": store.address,
            "peer_address": store.peer_address,
            "status_address": store.status_address,
            "version": store.version,
            "git_hash": store.git_hash,
            "labels": store.labels.iter().map(|label| json!({ "key": label.key, "value": label.value })).collect::<Vec<_>>(),
            "state": store.state,
            "state_name": state_name,
            "start_timestamp": store.start_timestamp,
            "physically_destroyed": store.physically_destroyed,
        },
        "status": {
            "capacity": size(stats.capacity),
            "available": size(stats.available),
            "used_size": size(stats.used_size),
            "leader_count": regions.leaders.len(),
            "leader_size": regions.leader_weight,
            "region_count": regions.count(),
            "region_size": regions.weight,
            "pending_peer_count": regions.pending,
            "sending_snap_count": stats.sending_snap_count,
            "receiving_snap_count": stats.receiving_snap_count,
            "is_busy": stats.is_busy,
            "start_ts": moment(u64::try_from(store.start_timestamp).unwrap_or(0).saturating_mul(1000)),
            "last_heartbeat_ts": heard.and_then(moment),
        },
    })
}

/// A number of bytes as operators' programs expect it: four digits at most and the largest unit, `1.968TiB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let places = if value >= 1000.0 {
        0
    } else if value >= 100.0 {
        1
    } else if value >= 10.0 {
        2
    } else {
        3
    };
    let text = format!("{value:.places$}");
    let text = if places > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{}", UNITS[unit])
}

/// A moment as text (RFC 3339).
fn moment(wall_ms: u64) -> Option<String> {
    jiff::Timestamp::from_millisecond(i64::try_from(wall_ms).ok()?).ok().map(|moment| moment.to_string())
}

/// Whether a store is one of those asked for, by number or name of its state.
fn is_wanted(page: &Value, states: &[&str]) -> bool {
    let store = &page["store"];
    let (number, name) = (store["state"].as_i64(), store["state_name"].as_str().unwrap_or_default());
    let is = |wanted: &&str| wanted.parse().is_ok_and(|wanted| number == Some(wanted)) || name.eq_ignore_ascii_case(wanted);
    if states.is_empty() { store["state"] != StoreState::Tombstone as i32 } else { states.iter().any(is) }
}

pub(super) async fn list(State(node): Member, Query(query): Query<HashMap<String, String>>) -> Page {
    node.leading()?;
    // Tombstones are shown when they are asked for: `state=2`, `state=Tombstone,Offline`.
    let states: Vec<&str> = query.get("state").map(|states| states.split(',').collect()).unwrap_or_default();
    let mut stores: Vec<Value> = node.read(|cluster| cluster.state.stores.values().map(|store| page(&node, cluster, store)).collect());
    stores.retain(|page| is_wanted(page, &states));
    Ok(Json(json!({ "count": stores.len(), "stores": stores })))
}

/// All labels that stores have.
pub(super) async fn labels(State(node): Member) -> Page {
    node.leading()?;
    let labels: BTreeSet<(String, String)> = node.read(|cluster| {
        let labels = cluster.state.stores.values().flat_map(|store| &store.labels);
        labels.map(|label| (label.key.clone(), label.value.clone())).collect()
    });
    Ok(Json(labels.into_iter().map(|(key, value)| json!({ "key": key, "value": value })).collect()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_the_programs_of_operators_read_them() {
        assert_eq!([0, 1000, 1024, 1536].map(size), ["0B", "1000B", "1KiB", "1.5KiB"]);
        assert_eq!([123_456_789, 100 << 30, u64::MAX].map(size), ["117.7MiB", "100GiB", "16EiB"]);
    }

    #[test]
    fn stores_are_found_by_number_and_by_name_of_their_state() {
        let page = |state: StoreState, name: &str| json!({ "store": { "state": state as i32, "state_name": name } });
        let (up, gone) = (page(StoreState::Up, "Disconnected"), page(StoreState::Tombstone, "Tombstone"));
        assert_eq!((is_wanted(&up, &[]), is_wanted(&gone, &[])), (true, false));
        assert!(is_wanted(&up, &["0"]) && is_wanted(&up, &["Down", "disconnected"]) && !is_wanted(&up, &["Up"]));
        assert!(is_wanted(&gone, &["2"]) && is_wanted(&gone, &["tombstone"]));
    }
}

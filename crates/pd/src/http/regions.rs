//! Pages about regions.

use std::collections::{BTreeMap, HashMap};

use axum::{
    Json,
    extract::{Path, Query, State},
};
use proto::metapb::Peer;
use serde_json::{Value, json};

use super::{Member, Page, from_hex, hex};
use crate::{
    Error,
    core::{RegionInfo, region::MIB},
};

/// Regions on one page unless `limit` says otherwise.
const PAGE: usize = 1000;

fn peer(peer: &Peer) -> Value {
    json!({ "id": peer.id, "store_id": peer.store_id, "role": peer.role, "role_name": peer.role().as_str_name() })
}

fn one(info: &RegionInfo) -> Value {
    let epoch = info.epoch();
    json!({
        "id": info.id(),
        "start_key": hex(info.start_key()),
        "end_key": hex(info.end_key()),
        "epoch": { "conf_ver": epoch.conf_ver, "version": epoch.version },
        "peers": info.meta.peers.iter().map(peer).collect::<Vec<_>>(),
        "leader": info.leader.as_ref().map(peer),
        "pending_peers": info.measured.pending_peers.iter().map(peer).collect::<Vec<_>>(),
        "down_peers": info.measured.down_peers.iter()
            .map(|down| json!({ "peer": down.peer.as_ref().map(peer), "down_seconds": down.down_seconds })).collect::<Vec<_>>(),
        "approximate_size": info.measured.size_bytes / MIB,
        "approximate_keys": info.measured.keys,
        // The reference system counts since the last report of the region; here it is bytes a second.
        "written_bytes": info.measured.write_rate,
        "read_bytes": info.measured.read_rate,
    })
}

/// As many regions as `limit` asks for, or else `most`.
pub(super) fn several<'a>(regions: impl Iterator<Item = &'a RegionInfo>, query: &HashMap<String, String>, most: usize) -> Value {
    let limit = query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(most);
    let pages: Vec<Value> = regions.take(limit).map(one).collect();
    json!({ "count": pages.len(), "regions": pages })
}

pub(super) async fn list(State(node): Member, Query(query): Query<HashMap<String, String>>) -> Page {
    node.leading()?;
    Ok(Json(node.read(|cluster| several(cluster.state.regions.iter(), &query, PAGE))))
}

fn key_of(query: &HashMap<String, String>, name: &str) -> Result<Vec<u8>, Error> {
    query.get(name).map_or(Ok(Vec::new()), |text| from_hex(text))
}

/// `regions/key?key=HEX&end_key=HEX&limit=N`
pub(super) async fn range(State(node): Member, Query(query): Query<HashMap<String, String>>) -> Page {
    node.leading()?;
    let (start, end) = (key_of(&query, "key")?, key_of(&query, "end_key")?);
    Ok(Json(node.read(|cluster| several(cluster.state.regions.scan(&start, &end), &query, PAGE))))
}

pub(super) async fn of_store(State(node): Member, Path(id): Path<u64>, Query(query): Query<HashMap<String, String>>) -> Page {
    node.leading()?;
    Ok(Json(node.read(|cluster| {
        let tree = &cluster.state.regions;
        let ids = tree.on_store(id).into_iter().flat_map(|regions| regions.leaders.iter().chain(&regions.followers));
        several(ids.filter_map(|id| tree.get(*id)), &query, PAGE)
    })))
}

/// The regions before and behind one.
pub(super) async fn siblings(State(node): Member, Path(id): Path<u64>) -> Page {
    node.leading()?;
    let found = node.read(|cluster| {
        let tree = &cluster.state.regions;
        let region = tree.get(id)?;
        let before = tree.before_key(region.start_key());
        // An empty end is that of the last region, not the beginning of the first.
        let behind = if region.end_key().is_empty() { None } else { tree.by_key(region.end_key()) };
        Some(several(before.into_iter().chain(behind), &HashMap::new(), PAGE))
    });
    Ok(Json(found.ok_or(Error::RegionNotFound(id))?))
}

pub(super) async fn by_id(State(node): Member, Path(id): Path<u64>) -> Page {
    node.leading()?;
    Ok(Json(node.read(|cluster| cluster.state.regions.get(id).map(one)).ok_or(Error::RegionNotFound(id))?))
}

pub(super) async fn by_key(State(node): Member, Path(key): Path<String>) -> Page {
    node.leading()?;
    let key = from_hex(&key)?;
    Ok(Json(node.read(|cluster| cluster.state.regions.by_key(&key).map(one)).ok_or(Error::NoRegionForKey)?))
}

/// `stats/region?start_key=HEX&end_key=HEX`: sums over a range.
pub(super) async fn stats(State(node): Member, Query(query): Query<HashMap<String, String>>) -> Page {
    node.leading()?;
    let (start, end) = (key_of(&query, "start_key")?, key_of(&query, "end_key")?);
    Ok(Json(node.read(|cluster| {
        let (mut count, mut empty, mut size, mut keys) = (0, 0, 0, 0);
        let (mut leaders, mut peers): (BTreeMap<u64, u64>, BTreeMap<u64, u64>) = Default::default();
        for info in cluster.state.regions.scan(&start, &end) {
            count += 1;
            empty += u64::from(info.measured.size_bytes < MIB);
            size += info.measured.size_bytes / MIB;
            keys += info.measured.keys;
            *leaders.entry(info.leader_store()).or_default() += 1;
            for peer in &info.meta.peers {
                *peers.entry(peer.store_id).or_default() += 1;
            }
        }
        json!({
            "count": count,
            "empty_count": empty,
            "storage_size": size,
            "storage_keys": keys,
            "store_leader_count": leaders,
            "store_peer_count": peers,
        })
    })))
}

//! Pages that pick regions: the first by some measure, and those something is amiss with.
//!
//! | `regions/…` | first |
//! |---|---|
//! | `size`, `keys` | the largest |
//! | `writeflow`, `readflow` | those with most load |
//! | `confver`, `version` | those whose members or borders changed most often |

use std::{cmp::Reverse, collections::HashMap};

use axum::{
    Json,
    extract::{Path, Query, State},
};
use proto::metapb::StoreState;

use super::{Member, Page, regions::several};
use crate::{
    Error,
    core::{Cluster, RegionInfo, region::MIB},
};

/// Regions on one page unless `limit` says otherwise.
const PAGE: usize = 16;

/// What a region is measured by.
fn measure(order: &str) -> Option<fn(&RegionInfo) -> u64> {
    Some(match order {
        "size" => |region: &RegionInfo| region.measured.size_bytes,
        "keys" => |region: &RegionInfo| region.measured.keys,
        "writeflow" => |region: &RegionInfo| region.measured.write_rate,
        "readflow" => |region: &RegionInfo| region.measured.read_rate,
        "confver" => |region: &RegionInfo| region.epoch().conf_ver,
        "version" => |region: &RegionInfo| region.epoch().version,
        _ => return None,
    })
}

/// The regions that come first in some order.
pub(super) async fn top(State(node): Member, Path(order): Path<String>, Query(query): Query<HashMap<String, String>>) -> Page {
    node.leading()?;
    let measure = measure(&order).ok_or(Error::Invalid("no order of that name"))?;
    Ok(Json(node.read(|cluster| {
        let mut regions: Vec<&RegionInfo> = cluster.state.regions.iter().collect();
        regions.sort_by_cached_key(|region| (Reverse(measure(region)), region.id()));
        several(regions.into_iter(), &query, PAGE)
    })))
}

/// Whether something is amiss with a region.
type Amiss = fn(&Cluster, &RegionInfo) -> bool;

fn amiss(what: &str) -> Option<Amiss> {
    Some(match what {
        "miss-peer" => {
            |cluster: &Cluster, region: &RegionInfo| (region.meta.peers.len() as u64) < cluster.state.config.replication.max_replicas
        }
        "extra-peer" => {
            |cluster: &Cluster, region: &RegionInfo| region.meta.peers.len() as u64 > cluster.state.config.replication.max_replicas
        }
        "down-peer" => |_: &Cluster, region: &RegionInfo| !region.measured.down_peers.is_empty(),
        "pending-peer" => |_: &Cluster, region: &RegionInfo| !region.measured.pending_peers.is_empty(),
        "learner-peer" => |_: &Cluster, region: &RegionInfo| region.learners().next().is_some(),
        "offline-peer" => |cluster: &Cluster, region: &RegionInfo| {
            let store = |id| cluster.state.stores.get(&id);
            region.meta.peers.iter().any(|peer| store(peer.store_id).is_none_or(|store| store.state() != StoreState::Up))
        },
        "empty-region" => |_: &Cluster, region: &RegionInfo| region.measured.size_bytes < MIB,
        _ => return None,
    })
}

/// Regions something is amiss with: `miss-peer`, `extra-peer`, `down-peer`, `pending-peer`, `learner-peer`, `offline-peer`, `empty-region`.
pub(super) async fn check(State(node): Member, Path(what): Path<String>, Query(query): Query<HashMap<String, String>>) -> Page {
    node.leading()?;
    let amiss = amiss(&what).ok_or(Error::Invalid("no check of that name"))?;
    Ok(Json(node.read(|cluster| several(cluster.state.regions.iter().filter(|region| amiss(cluster, region)), &query, usize::MAX))))
}

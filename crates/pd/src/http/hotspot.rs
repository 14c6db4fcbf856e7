//! Pages about load.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use serde_json::{Value, json};

use super::{Member, Page};
use crate::{core::hot::Flow, node::Node};

fn hot(node: &Node, flow: Flow) -> Page {
    node.leading()?;
    Ok(Json(node.read(|cluster| {
        let hits = cluster.state.config.schedule.hot_region_cache_hits_threshold;
        let mut stores: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
        for (id, hot) in cluster.live.hot.hottest(flow, hits) {
            stores.entry(hot.store_id).or_default().push(json!({ "region_id": id, "flow_bytes": hot.rate, "hot_degree": hot.hits }));
        }
        json!({ "as_leader": stores })
    })))
}

pub(super) async fn reads(State(node): Member) -> Page {
    hot(&node, Flow::Read)
}

pub(super) async fn writes(State(node): Member) -> Page {
    hot(&node, Flow::Write)
}

pub(super) async fn stores(State(node): Member) -> Page {
    node.leading()?;
    Ok(Json(node.read(|cluster| {
        let rate = |bytes: u64, stats: &proto::pdpb::StoreStats| {
            let seconds = stats.interval.map_or(0, |interval| interval.end_timestamp.saturating_sub(interval.start_timestamp));
            bytes / seconds.max(1)
        };
        let stores = cluster.live.stores.iter();
        let (mut writes, mut reads): (BTreeMap<u64, u64>, BTreeMap<u64, u64>) = Default::default();
        for (id, live) in stores {
            writes.insert(*id, rate(live.stats.bytes_written, &live.stats));
            reads.insert(*id, rate(live.stats.bytes_read, &live.stats));
        }
        json!({ "bytes-write-rate": writes, "bytes-read-rate": reads })
    })))
}

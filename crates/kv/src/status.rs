//! The status page: what operators and probes read over HTTP.
//!
//! | path | |
//! |---|---|
//! | `/status` | lives, and since when |
//! | `/regions` | the replicas here, as JSON |
//! | `/metrics` | figures, as text |
//! | `/config` | settings of replication, as JSON |

use std::{fmt::Write as _, net::SocketAddr};

use axum::{Json, Router, routing::get};
use engine::{Cf, Engine as _, RocksEngine};
use proto::metapb::Store;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::commands::Kv;

/// The running status server.
pub(crate) struct StatusServer {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl StatusServer {
    pub(crate) fn start(listener: TcpListener, address: SocketAddr, kv: Kv<RocksEngine>, store: Store) -> Self {
        let about = json!({
            "id": store.id, "address": store.address, "version": store.version, "start_timestamp": store.start_timestamp,
            "labels": store.labels.iter().map(|label| (label.key.clone(), Value::from(label.value.clone()))).collect::<serde_json::Map<_, _>>(),
        });
        let (for_regions, for_metrics, for_config) = (kv.clone(), kv.clone(), kv);
        let router = Router::new()
            .route("/status", get(move || async move { Json(about) }))
            .route("/regions", get(move || async move { Json(regions(&for_regions)) }))
            .route("/metrics", get(move || async move { metrics(&for_metrics) }))
            .route("/config", get(move || async move { Json(config(&for_config)) }));
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the status server has ended");
            }
        });
        Self { address, task }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn stop(self) {
        self.task.abort();
    }
}

fn regions(kv: &Kv<RocksEngine>) -> Value {
    let mut views = kv.raft().views();
    views.sort_by_key(|view| view.region.id);
    let one = |view: &raftstore::RegionView| {
        let epoch = raftstore::region::epoch(&view.region);
        json!({
            "id": view.region.id,
            "start_key": view.region.start_key.escape_ascii().to_string(),
            "end_key": view.region.end_key.escape_ascii().to_string(),
            "conf_ver": epoch.conf_ver, "version": epoch.version, "term": view.term, "is_leader": view.is_leader,
            "peers": view.region.peers.iter().map(|peer| json!({ "id": peer.id, "store_id": peer.store_id, "role": peer.role })).collect::<Vec<_>>(),
        })
    };
    views.iter().map(|view| one(view)).collect()
}

fn metrics(kv: &Kv<RocksEngine>) -> String {
    let views = kv.raft().views();
    let disk = kv.raft().engine().disk_stats();
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, value: u64| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
    };
    gauge("trine_raft_regions", "Replicas on this store.", views.len() as u64);
    gauge("trine_raft_leaders", "Regions led from here.", views.iter().filter(|view| view.is_leader).count() as u64);
    gauge("trine_engine_live_bytes", "Bytes of table and blob files in use.", disk.live_bytes);
    gauge("trine_engine_write_buffer_bytes", "Bytes in write buffers.", disk.write_buffer_bytes);
    gauge("trine_engine_block_cache_bytes", "Bytes the block cache holds.", disk.block_cache_bytes);
    gauge("trine_engine_pending_compaction_bytes", "Bytes compaction has still to rewrite.", disk.pending_compaction_bytes);
    for (cf, keys) in Cf::ALL.iter().zip(disk.estimated_keys) {
        gauge(&format!("trine_engine_keys_{cf}"), "Estimated number of keys.", keys);
    }
    let mut counter = |name: &str, help: &str, value: u64| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}");
    };
    let [plans, scanned, answered] = kv.inner().pushed_down.counts();
    counter("trine_coprocessor_requests_total", "Pushed-down plans run, in pages.", plans);
    counter("trine_coprocessor_scanned_rows_total", "Rows that pushed-down plans have read.", scanned);
    counter("trine_coprocessor_answered_rows_total", "Rows that pushed-down plans have answered.", answered);
    text
}

fn config(kv: &Kv<RocksEngine>) -> Value {
    let config = kv.raft().config();
    json!({
        "raftstore": {
            "sync-log": config.sync_log,
            "store-pool-size": config.store_pool_size,
            "apply-pool-size": config.apply_pool_size,
            "raft-base-tick-interval-ms": config.tick.as_millis() as u64,
            "raft-election-timeout-ticks": config.election_ticks,
            "raft-heartbeat-ticks": config.heartbeat_ticks,
            "region-split-size": config.region_split_bytes,
            "region-split-keys": config.region_split_keys,
        }
    })
}

//! A store as a node of the cluster: the gRPC services over the replicated storage, its ports and its talk with the placement driver.
//!
//! ```text
//!   clients ─ gRPC ─▶ service, batch ─▶ commands ─▶ permission of the region (raftstore) ─▶ Storage of the region (txn) ─▶ answer
//!   stores ── gRPC ─▶ receive ────────▶ raftstore ─▶ transport ─▶ stores
//!   placement driver ◀─ heartbeats ── placement ◀── raftstore
//! ```
//!
//! | module | what |
//! |---|---|
//! | `service`, `batch`, `receive` | the calls of `tikvpb.Tikv` |
//! | `routed`, `refusal` | which region a request is for; why it is not served |
//! | `commands`, `storages`, `raw` | running requests |
//! | `coprocessor` | pushed-down plans |
//! | `transport`, `pd_client`, `placement` | to other stores and the placement driver |
//! | `node`, `status` | the process |
//!
//! Invariants:
//! - Nothing is read, and no lock granted, without the permission of the region's leader; reads are confirmed after they have ended.
//! - A write is computed and proposed under one permission: in one term and one version of the region.
//! - A storage opens with a timestamp above all that was read under its predecessors.

mod batch;
mod commands;
mod coprocessor;
mod error;
mod node;
mod pd_client;
mod placement;
mod raw;
mod receive;
mod refusal;
mod routed;
mod service;
mod status;
mod storages;
mod transport;

pub use commands::{Kv, SplitIdSource};
pub use error::{Error, Result};
pub use node::{Node, NodeConfig};
pub use pd_client::PdClient;
pub use placement::Reports;
pub use storages::Oracle;
pub use transport::GrpcTransport;

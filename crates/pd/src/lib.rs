//! The placement driver: cluster identity, timestamps, ids, where regions are and where they should be, and how far garbage may be collected.
//!
//! Two shapes stand on the same pure cores:
//!
//! - [`EmbeddedPd`], the part that a single process needs: it keeps its state in the `meta` column family of the process's own engine;
//! - [`Node`], one of 1, 3 or 5 members that replicate their state among each other and serve `pdpb.PD`.
//!
//! | module | what it is |
//! |---|---|
//! | `oracle` | the timestamp oracle: pure, windows as data |
//! | `ids` | the id allocator of one process: pure, windows as data |
//! | `safe_points` | the cluster's and the services' safe points |
//! | `meta`, `embedded` | all of it in one process |
//! | [`core`] | what the placement driver knows and decides: pure |
//! | [`group`] | replication among members: consensus with effects as data, log, snapshots |
//! | [`node`] | one member: drives its group, leads or follows |
//! | `service`, `http`, [`server`] | gRPC, HTTP, ports, forwarding to the leader |
//!
//! Invariants:
//! - A timestamp or id is handed out only below a bound that is already on disk (of a majority); after a restart or under another leader
//!   counting goes on at that bound.
//! - Timestamps grow strictly, whatever the wall clock does and whoever leads.
//! - The cluster id is chosen once and never changes.

pub mod core;
mod embedded;
mod error;
pub mod group;
mod http;
mod ids;
mod logging;
mod meta;
pub mod node;
mod oracle;
mod safe_points;
pub mod server;
mod service;

pub use embedded::EmbeddedPd;
pub use error::{Error, Result};
pub use node::{GrpcTransport, Node, NodeOptions, Parts};
pub use oracle::{NextTimestamp, TimestampOracle};
pub use server::Listeners;

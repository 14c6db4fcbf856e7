//! The replicated store: every region's writes go through a Raft log of its own, and come out on every store that has a replica.
//!
//! ```text
//!   kv (requests)                                      other stores
//!     │ write, read, split …                              │ ▲
//!     ▼                                                   ▼ │ messages, snapshots
//!   ┌─ store: mailboxes of regions ── pollers ─────────────────────┐
//!   │            peer (pure) ─ entries of all regions polled together ─▶ one log batch, one sync     (log)
//!   │                 │ committed entries                                                          │
//!   │            apply pool ─ apply ─▶ engine batch with the applied index ─▶ callers are told      │
//!   └──────────────────────────────────────────────────────────────┘
//! ```
//!
//! | module | what |
//! |---|---|
//! | `peer` | one replica: inputs in, effects out |
//! | `apply` | committed entries to engine batches; splits, merges and changes of members |
//! | `log`, `peer_storage` | the log on disk, and as the consensus library sees it |
//! | `store` | threads, mailboxes, routing, snapshots, keeping logs short |
//! | `region_engine` | the engine as one region sees it, and the queue its writes go into |
//!
//! Invariants:
//! - Nothing is acknowledged that a majority does not have on disk (unless `sync_log` is off).
//! - A read is served by a leader that has applied all its predecessors' entries, under its lease or after a majority confirmed it; the
//!   permission is looked at again after the read.
//! - A write carries the term and the version of the region it was computed in; it is made in these or not at all.
//! - What is on disk for a region is always one state: the old one, the new one, or a note that a snapshot has to be put in place again.
//!
//! Left out on purpose: what keys and values mean, and where replicas should be.

mod apply;
mod config;
mod entry;
mod error;
pub mod local_state;
pub mod log;
mod peer;
mod peer_storage;
pub mod region;
mod region_engine;
mod snapshot;
mod store;

pub use apply::{Applier, CatchUp, NoSources, Sources};
pub use config::Config;
pub use error::{Error, Result};
pub use peer::{
    AdminDone, Applied, ApplyTask, Done, Effects, Origin, Peer, PeerReport, Proposal, ReadDone, RegionChange, RegionView, SplitFrom,
    WriteProposal,
};
pub use region_engine::RegionEngine;
pub use snapshot::{SnapshotDirectory, SnapshotId, describe_snapshot};
pub use store::{Placement, RaftStore, ReadPermit, RegionReport, RegionWrites, SplitIds, StoreOptions, Transport};

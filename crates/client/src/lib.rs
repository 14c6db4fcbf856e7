//! The transaction client: what SQL calls to read and write the store.
//!
//! ```text
//!   session / exec
//!        │  Transaction (buffer, locks)      Snapshot (get, scan, dag)
//!        ▼                                        │
//!   commit: 1PC → async commit → 2PC              │
//!        │                                        ▼
//!        └────────── request structs (proto) ── Store ── function call ──▶ txn::Storage     (one process)
//!                                                  └──── gRPC ───────────▶ stores           (cluster)
//!   Client ── timestamps ──▶ pd
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | `client` | the handle: timestamps, snapshots, transactions, range operations, background tasks |
//! | `snapshot`, `scanner`, `dag` | reading at a timestamp: keys, pages, pushed-down plans |
//! | `pushed_down`, `remote_pages` | pushed-down plans over stores in other processes; rows of those that stores cannot run |
//! | `transaction`, `membuffer` | a transaction: its writes, stages, pessimistic locks |
//! | `committer` | the commit protocols |
//! | `resolver`, `backoff`, `deadlock` | what to do about other transactions' locks |
//! | `active`, `gc` | timestamps in use; renewing locks; garbage collection |
//! | `store`, `placement` | the way to the store and the placement driver, in this process or another |
//! | `topology` | what a cluster is made of, for people to look at |
//! | `cluster` | stores and placement driver in other processes: regions, connections, asking again |
//!
//! Invariants:
//! - A transaction that was told "committed" is visible to every timestamp fetched afterwards, and survives a crash.
//! - A transaction's writes become visible all at once or not at all.
//! - Nothing here waits without watching the caller's cancel token and deadline, except a commit that has begun.

mod active;
mod backoff;
mod client;
mod cluster;
mod committer;
mod dag;
mod deadlock;
mod error;
mod gc;
mod membuffer;
mod options;
mod placement;
mod pushed_down;
mod remote_pages;
mod resolver;
mod scanner;
mod snapshot;
mod store;
mod topology;
mod transaction;

pub use client::{Client, ClientOptions};
pub use cluster::{ClusterStore, PageError, PdClient, PdPages};
pub use dag::DagStream;
pub use env::{CancelReason, CancelToken};
pub use error::{Error, Result, WaitEdge};
pub use gc::{GcOptions, GcReport};
pub use membuffer::Stage;
pub use options::{
    CommitOptions, CommitOutcome, Isolation, LocalValue, LockOutcome, LockRequest, LockWait, ScanOptions, SnapshotOptions, TxnOptions,
    WriteFlags,
};
pub use placement::PlacementDriver;
pub use scanner::{Pair, Scanner, TxnScanner};
pub use snapshot::Snapshot;
pub use store::Store;
pub use topology::{DownPeerPage, EpochPage, LabelPage, MemberPage, PeerPage, RegionPage, StoreMeta, StorePage, StoreStatus};
pub use transaction::Transaction;

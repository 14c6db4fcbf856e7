//! The key-value engine under the store: six ordered column families, atomic batches, snapshots, iterators.
//!
//! ```text
//!            mvcc, txn (readers)                 txn (writers)
//!                   │                                 │
//!   get / iter ─────┤                     CommitQueue │  one thread, one write, one sync for all that wait
//!                   ▼                                 ▼
//!            EngineRead  ◄── snapshot ──  Engine::write(batch, sync)
//!                   │                                 │
//!            ┌──────┴──────────┐              ┌───────┴─────────┐
//!            │ RocksEngine     │              │ MemEngine       │   the reference: a sorted map of versions
//!            └─────────────────┘              └─────────────────┘
//! ```
//!
//! Invariants:
//! - A batch becomes visible and durable as a whole, over all column families.
//! - A write that returned `Ok` with `sync` is never lost, whatever happens to the process or the power.
//! - All syncs of user writes are decided in one place, [`CommitQueue`]; `RocksEngine` itself only does as it is told.
//! - After a failed sync nothing is written any more: what the kernel dropped cannot be asked for again.
//! - [`ReadTier::CacheOnly`] never waits for the disk: it answers [`Error::WouldBlock`] instead.
//! - Garbage is what the [`GcFilter`] says while files are compacted. The engine does not know what records mean; a record the filter
//!   cannot read is kept and counted.
//!
//! Left out on purpose: transactions, versions, and anything that knows what a key means.

mod batch;
mod cf;
mod commit_queue;
mod config;
mod disk_account;
mod disk_guard;
mod error;
mod filter;
mod gather;
mod memory;
mod rocks;
mod traits;
mod write_queue;

pub use batch::{WriteBatch, WriteOp};
pub use cf::Cf;
pub use commit_queue::{CommitFuture, CommitMetrics, CommitOptions, CommitQueue};
pub use config::{CfConfig, Compression, EngineConfig, MIN_BLOCK_CACHE};
pub use disk_guard::{DiskGuard, DiskGuardOptions, Room, SpaceUse};
pub use error::{Error, Result};
pub use filter::{Decision, GcCounters, GcFilter};
pub use memory::{MemEngine, MemIter, MemSnapshot, MemValue};
pub use rocks::{RocksEngine, RocksIter, RocksSnapshot, RocksValue};
pub use traits::{DiskStats, Engine, EngineIter, EngineRead, IterOptions, ReadTier};
pub use write_queue::{WriteDone, WriteQueue};

//! The Raft log of all regions of a store: one append-only file set, one batch and one sync for every round of a poller.
//!
//! ```text
//!   region 1: entries, hard state ─┐
//!   region 2: entries, hard state ─┼─ LogBatch ─ one write, one sync ─▶ RaftLog
//!   region 7: hard state          ─┘
//! ```
//!
//! Invariants:
//! - A batch is on disk as a whole or not at all.
//! - Entries of a region are contiguous; appending at an index removes what was there from that index on.

mod disk;
mod memory;

pub use disk::{DiskLog, DiskLogOptions};
pub use memory::MemLog;
use raft::eraftpb::{Entry, HardState};

use crate::Result;

/// One change of a region's log.
#[derive(Clone, Debug, PartialEq)]
pub enum LogOp {
    /// Entries, contiguous, in the place of all that have their indexes or greater ones.
    Append(Vec<Entry>),
    /// Term, vote and commit index.
    HardState(HardState),
    /// Entries below this index are not needed any more.
    CompactTo(u64),
    /// The region is gone, with its hard state.
    Clean,
}

/// Changes of many regions that are made together, in order.
#[derive(Clone, Debug, Default)]
pub struct LogBatch {
    /// Region, and what happens to its log.
    pub ops: Vec<(u64, LogOp)>,
}

impl LogBatch {
    /// Adds a change.
    pub fn push(&mut self, region_id: u64, op: LogOp) {
        self.ops.push((region_id, op));
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}

/// Where the logs of all regions are kept.
pub trait RaftLog: Send + Sync + 'static {
    /// Makes the changes of a batch; with `sync` they are on disk when this returns.
    fn write(&self, batch: LogBatch, sync: bool) -> Result<()>;

    /// Term, vote and commit index of a region, if it has a log.
    fn hard_state(&self, region_id: u64) -> Result<Option<HardState>>;

    /// First and last index of a region's entries, if there are any.
    fn bounds(&self, region_id: u64) -> Option<(u64, u64)>;

    /// Appends entries `[low, high)` to `out`, at least one, then until they take more than `max_bytes`.
    fn entries(&self, region_id: u64, low: u64, high: u64, max_bytes: Option<u64>, out: &mut Vec<Entry>) -> Result<()>;

    /// Regions that have a log.
    fn regions(&self) -> Vec<u64>;

    /// Gives disk space back that entries do not need any more; answers regions whose old entries hold back much of it.
    fn purge(&self) -> Result<Vec<u64>>;
}

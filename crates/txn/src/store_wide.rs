//! What all storages of one process have in common, where there are several: one for each region that is led from here.
//!
//! Locks of different regions can be part of one circle of waiting transactions, and garbage is collected for the store as a whole.

use std::sync::{Arc, atomic::AtomicU64};

use base::TimeStamp;
use engine::{Cf, Engine, EngineRead, ReadTier, WriteBatch};

use crate::{
    deadlock::WaitEdge,
    error::{Error, Result},
    lock_wait::LockWaitQueues,
    safe_point::SafePoints,
};

/// Where the published safe point is kept in the `meta` column family: u64, big-endian.
pub(crate) const SAFE_POINT_KEY: &[u8] = b"txn/safe-point";

/// Queues of waiting transactions, and the floors of garbage collection; cheap to clone.
#[derive(Clone, Debug)]
pub struct StoreWide {
    pub(crate) waits: LockWaitQueues,
    pub(crate) safe_points: Arc<SafePoints>,
}

impl StoreWide {
    /// Reads the persisted safe point; `filter` is that of the engine's compaction filter ([`engine::GcFilter::safe_point`]).
    pub fn open(engine: &impl EngineRead, filter: Arc<AtomicU64>) -> Result<Self> {
        let safe_point = match engine.get(Cf::Meta, SAFE_POINT_KEY, ReadTier::Any)? {
            None => TimeStamp::ZERO,
            Some(bytes) => match <[u8; 8]>::try_from(&bytes[..]) {
                Ok(bytes) => TimeStamp(u64::from_be_bytes(bytes)),
                Err(_) => return Err(Error::InvalidRequest("the safe point on disk is damaged")),
            },
        };
        Ok(Self { waits: LockWaitQueues::default(), safe_points: Arc::new(SafePoints::new(safe_point, filter)) })
    }

    /// The oldest timestamp that can be read.
    pub fn safe_point(&self) -> TimeStamp {
        self.safe_points.readable_floor()
    }

    /// Transactions that wait for locks.
    pub fn lock_waits(&self) -> Vec<WaitEdge> {
        self.waits.edges()
    }

    /// Refuses writes of transactions that began at or before `safe_point` from now on. Those let through before may still be at work:
    /// each storage knows when they are done ([`crate::Storage::raise_write_floor`]).
    pub fn raise_write_floor(&self, safe_point: TimeStamp) {
        self.safe_points.raise_write_floor(safe_point);
    }

    /// Persists a safe point whose locks have been resolved everywhere, and publishes it: see [`crate::Storage::publish_safe_point`].
    /// Waits for the disk.
    pub fn publish(&self, engine: &impl Engine, safe_point: TimeStamp) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.put(Cf::Meta, SAFE_POINT_KEY, &safe_point.0.max(self.safe_point().0).to_be_bytes());
        engine.write(batch, true)?;
        self.safe_points.publish(safe_point);
        Ok(())
    }
}

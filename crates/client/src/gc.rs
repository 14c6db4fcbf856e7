//! The background work of a client: renewing locks, and garbage collection.
//!
//! Garbage collection, one round (the numbers are rules of the version layout):
//!
//! ```text
//!   safe point SP = min(now − life time, oldest timestamp in use, service safe points) − 1 step below anything in use
//!     1. the store refuses writes of transactions with start_ts ≤ SP                (rule 2)
//!     2. every lock with start_ts ≤ SP, stored or in memory, is resolved            (rule 1)
//!     3. the placement driver remembers SP; the store refuses reads below SP        (rule 2)
//!     4. compaction may collect what nobody at or above SP can see; ranges with much garbage are compacted (rule 11)
//! ```
//!
//! Invariants:
//! - The safe point never goes backwards, and each step of a round ends before the next begins.
//! - A round that fails anywhere leaves the old safe point published.

use std::time::Duration;

use base::TimeStamp;
use bytes::Bytes;
use proto::kvrpcpb::{ScanLockRequest, TxnHeartBeatRequest};

use crate::{
    client::Client,
    error::{Error, Result},
    placement::PlacementDriver,
    resolver::group_by_txn,
    scanner::successor,
};

/// The service under whose name the ecosystem's collectors speak for the safe point itself.
const COLLECTOR: &str = "gc_worker";

/// Locks listed at a time.
const SCAN_LOCK_BATCH: u32 = 1024;

/// How often and how far garbage is collected.
#[derive(Clone, Debug)]
pub struct GcOptions {
    /// How long old versions are kept; `tidb_gc_life_time`.
    pub life_time: Duration,
    /// Time between two rounds; `tidb_gc_run_interval`.
    pub run_interval: Duration,
}

impl Default for GcOptions {
    fn default() -> Self {
        Self { life_time: Duration::from_secs(600), run_interval: Duration::from_secs(60) }
    }
}

/// What a round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcReport {
    /// The safe point published, or the old one if it could not move.
    pub safe_point: TimeStamp,
    /// Locks of old transactions that were resolved.
    pub resolved_locks: usize,
    /// Ranges that were compacted because they held much garbage.
    pub compacted_ranges: usize,
}

impl Client {
    /// Starts renewing locks and collecting garbage until the client's runtime goes down.
    pub fn start_background(&self, options: GcOptions) {
        let client = self.clone();
        self.env().spawn(async move {
            let pause = client.options().lock_ttl / 3;
            loop {
                client.env().sleep(pause).await;
                client.renew_locks().await;
            }
        });
        let client = self.clone();
        self.env().spawn(async move {
            loop {
                client.env().sleep(options.run_interval).await;
                match client.run_gc(options.life_time).await {
                    Ok(report) => tracing::debug!(?report, "garbage collection"),
                    Err(error) => tracing::warn!(%error, "garbage collection failed; the next round tries again"),
                }
            }
        });
    }

    /// Renews the time to live of every transaction that holds locks.
    pub async fn renew_locks(&self) {
        for (start_ts, primary) in self.active().lock_holders() {
            let age_ms = self.env().wall_ms().saturating_sub(start_ts.physical_ms());
            let request = TxnHeartBeatRequest {
                context: None,
                primary_lock: primary,
                start_version: start_ts.0,
                advise_lock_ttl: age_ms + self.options().lock_ttl.as_millis() as u64,
            };
            match self.store().txn_heart_beat(request).await {
                // The lock may just have been committed or released: its owner knows.
                Ok(response) if response.error.is_some() => tracing::trace!(%start_ts, "no lock to renew"),
                Ok(_) => {}
                Err(error) => tracing::warn!(%start_ts, %error, "could not renew a lock"),
            }
        }
    }

    /// The safe point a round may publish now.
    async fn next_safe_point(&self, life_time: Duration) -> Result<TimeStamp> {
        let now = self.timestamp().await?;
        let mut safe_point = TimeStamp::compose(now.physical_ms().saturating_sub(life_time.as_millis() as u64), 0);
        if let Some(oldest) = self.oldest_active() {
            // A transaction must begin above the safe point to write.
            safe_point = safe_point.min(TimeStamp(oldest.0.saturating_sub(1)));
        }
        match self.pd() {
            PlacementDriver::Embedded(pd) => Ok(pd.min_service_safe_point().map_or(safe_point, |service| safe_point.min(service))),
            // All SQL servers have said what they still use; see `hold_safe_point`.
            PlacementDriver::Cluster(pd) => Ok(safe_point.min(pd.update_service_safe_point(COLLECTOR, safe_point, Duration::MAX).await?)),
        }
    }

    /// Tells the cluster's placement driver, for `ttl`, which versions this process still reads, under the name of `server`. In one process
    /// the collector sees that by itself.
    pub async fn hold_safe_point(&self, server: &str, ttl: Duration) -> Result<()> {
        let PlacementDriver::Cluster(pd) = self.pd() else { return Ok(()) };
        // Asked for first: what begins afterwards is above it.
        let now = self.timestamp().await?;
        let oldest = self.oldest_active().map_or(now, |oldest| oldest.min(now));
        pd.update_service_safe_point(server, TimeStamp(oldest.0.saturating_sub(1)), ttl).await?;
        Ok(())
    }

    /// One round of garbage collection. In a cluster each SQL server may run it: every step can be made twice.
    pub async fn run_gc(&self, life_time: Duration) -> Result<GcReport> {
        if let PlacementDriver::Cluster(pd) = self.pd() {
            pd.gc_safe_point().await?;
        }
        let safe_point = self.next_safe_point(life_time).await?;
        let mut report = GcReport { safe_point: self.safe_point(), ..Default::default() };
        if safe_point > report.safe_point {
            self.store().raise_write_floor(safe_point).await;
            report.resolved_locks = self.resolve_locks_up_to(safe_point).await?;
            self.pd().update_gc_safe_point(safe_point).await?;
            self.store().publish_safe_point(safe_point).await?;
            report.safe_point = safe_point;
        }
        report.compacted_ranges = self.store().compact_garbage().await?;
        Ok(report)
    }

    /// Resolves every lock, stored or in memory, of transactions that began at or before `safe_point`.
    pub async fn resolve_locks_up_to(&self, safe_point: TimeStamp) -> Result<usize> {
        let mut start_key = Bytes::new();
        let mut resolved = 0;
        loop {
            let request = ScanLockRequest {
                context: None,
                max_version: safe_point.0,
                start_key: start_key.clone(),
                limit: SCAN_LOCK_BATCH,
                end_key: Bytes::new(),
            };
            let response = self.store().scan_lock(request).await?;
            if let Some(error) = response.error {
                // A lock in memory, which a store may report in the place of all others.
                let lock = Error::from_key_error(*error)?;
                self.resolve_for_gc(lock.lock_version, vec![lock]).await?;
                continue;
            }
            let locks = response.locks;
            let Some(last) = locks.last() else { return Ok(resolved) };
            start_key = successor(&last.key);
            resolved += locks.len();
            for (start_ts, locks) in group_by_txn(locks) {
                self.resolve_for_gc(start_ts, locks).await?;
            }
        }
    }
}

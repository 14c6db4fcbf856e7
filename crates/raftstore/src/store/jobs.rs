//! Work that takes long and nobody waits for: snapshots, cutting logs, measuring regions.

use std::{sync::Arc, time::Duration};

use engine::Engine;
use env::Instant;
use proto::{metapb::Region, raft_serverpb::RaftApplyState};

use super::{
    RaftStore,
    cell::{Cell, PeerMessage},
    measure::{MEASURED, Measured, measure},
    size::RegionSize,
};
use crate::{
    Result, SnapshotId, describe_snapshot,
    log::{LogBatch, LogOp},
    region,
};

pub(super) enum Job<S> {
    MakeSnapshot { cell: Arc<Cell>, region: Region, state: RaftApplyState, data: S },
    CutLog { region_id: u64, index: u64 },
    CheckSize { cell: Arc<Cell> },
    Measure { cell: Arc<Cell> },
}

/// Spreads the bytes of snapshots over time.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    /// When what was let through so far would have been through at the allowed rate.
    free_at: Instant,
}

impl Throttle {
    /// How long to wait before `bytes` may go on.
    pub(super) fn delay(&mut self, now: Instant, bytes: usize, bytes_per_second: u64) -> Duration {
        if bytes_per_second == 0 {
            return Duration::ZERO;
        }
        let start = self.free_at.max(now);
        self.free_at = start + Duration::from_secs_f64(bytes as f64 / bytes_per_second as f64);
        start.since(now)
    }
}

impl<E: Engine> RaftStore<E> {
    /// Does a job; waits for one if told so. False when the store stops.
    pub fn run_job(&self, wait: bool) -> bool {
        let Some(jobs) = self.inner.jobs.take(1, wait) else { return false };
        let Some(job) = jobs.into_iter().next() else { return false };
        let done = match job {
            Job::MakeSnapshot { cell, region, state, data } => {
                self.make_snapshot(&cell, &region, &state, &data);
                Ok(())
            }
            Job::CutLog { region_id, index } => self.cut_log(region_id, index),
            Job::CheckSize { cell } => self.check_size(&cell),
            Job::Measure { cell } => self.measure_through(&cell).map(|_| ()),
        };
        if let Err(error) = done {
            self.inner.fatal(&error);
            return false;
        }
        true
    }

    /// A snapshot that cannot be made is asked for again; nothing else depends on it.
    fn make_snapshot(&self, cell: &Arc<Cell>, region: &Region, state: &RaftApplyState, data: &E::Snapshot) {
        let id = SnapshotId { region_id: region.id, term: state.applied_term, index: state.applied_index };
        let throttle = |bytes: usize| {
            let delay = self.inner.throttle.lock().delay(self.inner.env.now(), bytes, self.inner.config.snapshot_bytes_per_second);
            if !delay.is_zero() {
                std::thread::sleep(delay);
            }
        };
        let snapshot = match self.inner.snapshots.make(data, region, &id, &throttle) {
            Ok(size) => Some(Box::new(describe_snapshot(region, state, size))),
            Err(error) => {
                tracing::warn!(region_id = region.id, %error, "a snapshot could not be made");
                None
            }
        };
        self.inner.post(cell, PeerMessage::SnapshotMade(snapshot));
    }

    /// Cuts a region's log: the engine must have on disk what the entries say before they go.
    fn cut_log(&self, region_id: u64, index: u64) -> Result<()> {
        if self.inner.config.sync_log {
            self.inner.engine.sync_log()?;
        }
        self.inner.log.write(LogBatch { ops: vec![(region_id, LogOp::CompactTo(index))] }, false)?;
        // Regions that hold old files back are cut by their leaders when their logs have grown long.
        self.inner.log.purge()?;
        Ok(())
    }

    /// Asks for a split of a region that has grown too large.
    fn check_size(&self, cell: &Arc<Cell>) -> Result<()> {
        let region = cell.view().region.clone();
        let size = self.approximate_size(cell, &region)?;
        if size < self.inner.config.region_split_bytes {
            return Ok(());
        }
        let measured = self.measure_through(cell)?;
        let config = &self.inner.config;
        let too_large = measured.size.bytes >= config.region_split_bytes || measured.size.keys >= config.region_split_keys;
        if too_large && !measured.borders.is_empty() {
            tracing::info!(region_id = region.id, size, parts = measured.borders.len() + 1, "a region has grown large");
            self.inner.placement.ask_split((*region).clone(), measured.borders);
        }
        Ok(())
    }

    /// About how many bytes the current versions of a region take.
    fn approximate_size(&self, cell: &Cell, region: &Region) -> Result<u64> {
        Ok(self.size_on_disk(region)?.max(cell.size.lock().bytes()))
    }

    /// What the engine says of that, without its write buffers and with garbage.
    pub(super) fn size_on_disk(&self, region: &Region) -> Result<u64> {
        let (start, end) = region::engine_range(region);
        let mut bytes = 0;
        for cf in MEASURED {
            bytes += self.inner.engine.approximate_size(cf, &start, &end)?;
        }
        Ok(bytes)
    }

    /// Reads a region through, and has it reported when nobody knew how much it holds.
    fn measure_through(&self, cell: &Arc<Cell>) -> Result<Measured> {
        let region = cell.view().region.clone();
        let (start, end) = region::engine_range(&region);
        let on_disk = self.size_on_disk(&region)?;
        let parts = RegionSize { bytes: self.inner.config.region_split_bytes * 2 / 3, keys: self.inner.config.region_split_keys * 2 / 3 };
        let measured = measure(&self.inner.engine, &start, &end, parts)?;
        let mut size = cell.size.lock();
        let is_news = size.estimate().is_none();
        // With other borders by now it is measured again, as a region nobody knows.
        if cell.view().region.region_epoch == region.region_epoch {
            size.measured(measured.size, on_disk);
        } else {
            size.forget();
        }
        drop(size);
        if is_news {
            self.inner.post(cell, PeerMessage::Report);
        }
        Ok(measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spread_over_time() {
        let mut throttle = Throttle::default();
        let now = Instant(Duration::from_secs(10));
        assert_eq!(throttle.delay(now, 100, 100), Duration::ZERO);
        assert_eq!(throttle.delay(now, 50, 100), Duration::from_secs(1));
        assert_eq!(throttle.delay(now, 1, 100), Duration::from_millis(1500));
        assert_eq!(throttle.delay(now + Duration::from_secs(5), 1, 100), Duration::ZERO);
    }
}

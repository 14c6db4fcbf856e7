//! Settings of replication.
//!
//! Relations that keep reads right, checked by [`Config::validate`]:
//!
//! ```text
//!   lease ≤ (election_ticks − 3) × tick      a new leader cannot be elected while the old one serves reads under its lease
//!   heartbeat_ticks × 2 < election_ticks     one lost heartbeat starts no election
//! ```
//!
//! Three ticks are given away because a follower counts ticks, not time: the first may come at once, one that was late may be followed by the
//! next at once, and one is for clocks that do not run alike.

use std::time::Duration;

use crate::{Error, Result};

/// How regions of a store are replicated.
#[derive(Clone, Debug)]
pub struct Config {
    /// The unit of the times below.
    pub tick: Duration,
    /// Ticks between heartbeats of a leader.
    pub heartbeat_ticks: usize,
    /// Ticks without a leader before a follower asks for votes; up to twice that, by chance.
    pub election_ticks: usize,
    /// How long a leader may serve reads after a majority has heard from it.
    pub lease: Duration,
    /// Ticks without anything to do before a region goes to rest; 0 for never.
    pub hibernate_after_ticks: usize,
    /// Whether log entries are synced before they count.
    pub sync_log: bool,
    /// Largest entry.
    pub max_entry_bytes: u64,
    /// Bytes of entries in one message.
    pub max_message_bytes: u64,
    /// Messages with entries a follower may not have answered.
    pub max_inflight_messages: usize,
    /// Threads that step regions.
    pub store_pool_size: usize,
    /// Threads that apply committed entries.
    pub apply_pool_size: usize,
    /// Regions stepped together by one thread: they share a log batch and a sync.
    pub max_regions_per_round: usize,
    /// Entries kept in the log at least for followers that lag, before it is cut.
    pub log_gc_entries: u64,
    /// Bytes of a region's log after which it is cut, whoever lags.
    pub log_gc_max_bytes: u64,
    /// Size at which a region is split.
    pub region_split_bytes: u64,
    /// Number of keys at which a region is split.
    pub region_split_keys: u64,
    /// Entries a replica may lack of a region that is to be merged: they travel in one entry of the region it becomes a part of.
    pub merge_max_log_gap: u64,
    /// Bytes of snapshots sent or received in a second.
    pub snapshot_bytes_per_second: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(250),
            heartbeat_ticks: 2,
            election_ticks: 10,
            lease: Duration::from_millis(1750),
            hibernate_after_ticks: 60,
            sync_log: true,
            max_entry_bytes: 8 << 20,
            max_message_bytes: 1 << 20,
            max_inflight_messages: 256,
            store_pool_size: 2,
            apply_pool_size: 2,
            max_regions_per_round: 256,
            log_gc_entries: 4096,
            log_gc_max_bytes: 64 << 20,
            region_split_bytes: 96 << 20,
            region_split_keys: 960_000,
            merge_max_log_gap: 1024,
            snapshot_bytes_per_second: 100 << 20,
        }
    }
}

impl Config {
    /// Whether the settings keep the relations above.
    pub fn validate(&self) -> Result<()> {
        if self.lease > self.tick * self.election_ticks.saturating_sub(3) as u32 {
            return Err(Error::InvalidRequest("the lease must end before an election can begin"));
        }
        if self.heartbeat_ticks == 0 || self.heartbeat_ticks * 2 >= self.election_ticks {
            return Err(Error::InvalidRequest("an election must take more than two heartbeats"));
        }
        if self.store_pool_size == 0 || self.apply_pool_size == 0 || self.max_regions_per_round == 0 {
            return Err(Error::InvalidRequest("the pools need a thread each"));
        }
        Ok(())
    }

    /// How long an election takes at least.
    pub fn election_timeout(&self) -> Duration {
        self.tick * self.election_ticks as u32
    }
}

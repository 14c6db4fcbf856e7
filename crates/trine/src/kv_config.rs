//! The configuration file of `trine kv`: TOML under the names that operators of the reference system know. Flags win over it.

use std::{collections::BTreeMap, path::Path, time::Duration};

use base::{ReadableDuration, ReadableSize};
use engine::EngineConfig;
use serde::{Deserialize, Serialize};

use crate::config::{self, ConfigError, LogSection};

/// Everything a file can say.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct KvConfig {
    /// Least severe level that is logged; `[log]` says the same.
    pub log_level: String,
    /// Logging.
    pub log: LogSection,
    /// The network side.
    pub server: ServerSection,
    /// Where the placement driver is.
    pub pd: PdSection,
    /// The data directory.
    pub storage: StorageSection,
    /// Threads for reads that wait for the disk.
    pub readpool: ReadPoolSection,
    /// Replication.
    pub raftstore: RaftStoreSection,
    /// When regions are split.
    pub coprocessor: SplitSection,
    /// The KV engine.
    pub rocksdb: EngineConfig,
}

/// `[server]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ServerSection {
    /// Where to listen.
    pub addr: String,
    /// What others are told; empty for `addr`.
    pub advertise_addr: String,
    /// Where the status page is; empty for nowhere.
    pub status_addr: String,
    /// Threads that serve requests.
    pub grpc_concurrency: usize,
    /// Where the store stands: keys and values.
    pub labels: BTreeMap<String, String>,
}

impl Default for ServerSection {
    fn default() -> Self {
        Self {
            addr: "127.0.0.1:20160".to_owned(),
            advertise_addr: String::new(),
            status_addr: "127.0.0.1:20180".to_owned(),
            grpc_concurrency: 4,
            labels: BTreeMap::new(),
        }
    }
}

/// `[pd]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct PdSection {
    /// Client addresses of its members.
    pub endpoints: Vec<String>,
}

impl Default for PdSection {
    fn default() -> Self {
        Self { endpoints: vec!["127.0.0.1:2379".to_owned()] }
    }
}

/// `[storage]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct StorageSection {
    /// The data directory.
    pub data_dir: String,
}

impl Default for StorageSection {
    fn default() -> Self {
        Self { data_dir: "trine-kv".to_owned() }
    }
}

/// `[readpool]`
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ReadPoolSection {
    /// For point reads and small scans.
    pub storage: ReadPool,
}

/// One pool of reading threads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ReadPool {
    /// Number of threads; 0 chooses by the machine.
    pub normal_concurrency: usize,
}

/// `[raftstore]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RaftStoreSection {
    /// Whether log entries are on disk before they are acknowledged. Switched off, a power failure of several machines can lose commits.
    pub sync_log: bool,
    /// Threads that step regions.
    pub store_pool_size: usize,
    /// Threads that apply committed entries.
    pub apply_pool_size: usize,
    /// The unit of the other times.
    pub raft_base_tick_interval: ReadableDuration,
    /// Ticks between heartbeats of a leader.
    pub raft_heartbeat_ticks: usize,
    /// Ticks without a leader before an election.
    pub raft_election_timeout_ticks: usize,
    /// How long a leader may serve reads after a majority has heard from it.
    pub raft_store_max_leader_lease: ReadableDuration,
    /// Whether regions with nothing to do stop ticking.
    pub hibernate_regions: bool,
    /// Largest entry.
    pub raft_entry_max_size: ReadableSize,
    /// Bytes of snapshots written in a second.
    pub snap_io_max_bytes_per_sec: ReadableSize,
}

impl Default for RaftStoreSection {
    fn default() -> Self {
        let raft = raftstore::Config::default();
        Self {
            sync_log: raft.sync_log,
            store_pool_size: raft.store_pool_size,
            apply_pool_size: raft.apply_pool_size,
            raft_base_tick_interval: ReadableDuration(raft.tick),
            raft_heartbeat_ticks: raft.heartbeat_ticks,
            raft_election_timeout_ticks: raft.election_ticks,
            raft_store_max_leader_lease: ReadableDuration(raft.lease),
            hibernate_regions: true,
            raft_entry_max_size: ReadableSize(raft.max_entry_bytes),
            snap_io_max_bytes_per_sec: ReadableSize(raft.snapshot_bytes_per_second),
        }
    }
}

/// `[coprocessor]`: the reference system keeps these settings there.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct SplitSection {
    /// Size at which a region is split.
    pub region_split_size: ReadableSize,
    /// Number of keys at which a region is split.
    pub region_split_keys: u64,
}

impl Default for SplitSection {
    fn default() -> Self {
        let raft = raftstore::Config::default();
        Self { region_split_size: ReadableSize(raft.region_split_bytes), region_split_keys: raft.region_split_keys }
    }
}

impl KvConfig {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        config::load(path, Self::parse)
    }

    fn parse(text: &str) -> Result<Self, String> {
        config::parse_checked(text, &config::OPTIONAL_ENGINE_KEYS)
    }

    /// Settings of replication.
    pub fn raft(&self) -> raftstore::Config {
        let section = &self.raftstore;
        let defaults = raftstore::Config::default();
        raftstore::Config {
            sync_log: section.sync_log,
            store_pool_size: section.store_pool_size,
            apply_pool_size: section.apply_pool_size,
            tick: section.raft_base_tick_interval.0.max(Duration::from_millis(1)),
            heartbeat_ticks: section.raft_heartbeat_ticks,
            election_ticks: section.raft_election_timeout_ticks,
            lease: section.raft_store_max_leader_lease.0,
            hibernate_after_ticks: if section.hibernate_regions { defaults.hibernate_after_ticks } else { 0 },
            max_entry_bytes: section.raft_entry_max_size.0,
            snapshot_bytes_per_second: section.snap_io_max_bytes_per_sec.0,
            region_split_bytes: self.coprocessor.region_split_size.0,
            region_split_keys: self.coprocessor.region_split_keys,
            ..defaults
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_files_are_accepted_as_they_are() {
        let text = "log-level = \"error\"\n[server]\nstatus-addr = \"0.0.0.0:20180\"\ngrpc-concurrency = 6\n[readpool.storage]\n\
                    normal-concurrency = 10\n[rocksdb.defaultcf]\nblock-cache-size = \"14GB\"\n[rocksdb.writecf]\nblock-cache-size = \"8GB\"\n\
                    [rocksdb.lockcf]\nblock-cache-size = \"1GB\"\n[raftstore]\napply-pool-size = 3\nstore-pool-size = 3\n";
        let config = KvConfig::parse(text).expect("the file of the reports");
        assert_eq!((config.raft().store_pool_size, config.server.grpc_concurrency), (3, 6));
        assert_eq!(config.log.level_under(&config.log_level), "error");
        let relaxed = KvConfig::parse("[raftstore]\nsync-log = false").expect("valid");
        assert!(!relaxed.raft().sync_log);
        let error = KvConfig::parse("[raftstore]\nstore-pol-size = 3").expect_err("unknown");
        assert!(error.contains("raftstore.store-pool-size"), "{error}");
    }
}

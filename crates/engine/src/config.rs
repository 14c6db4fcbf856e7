//! Options of the engine, under the names operators of the reference system know (`[rocksdb]`, `[rocksdb.defaultcf]` …).
//!
//! | section | column family |
//! |---|---|
//! | `defaultcf` | data, raw |
//! | `writecf` | history |
//! | `lockcf` | lock, txn |
//!
//! Every default suits a laptop. What a file asks for beyond the machine is cut by [`EngineConfig::fit_to`], which says what it changed.
//! The column families share one block cache: the sizes of the sections are added up.

use base::{ReadableDuration, ReadableSize};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The smallest block cache that is ever used.
pub const MIN_BLOCK_CACHE: ReadableSize = ReadableSize::mib(8);

/// Of the machine's memory, the share a block cache may have when a file asks for more, in percent.
const BLOCK_CACHE_LIMIT_PERCENT: u64 = 60;
/// Of the machine's memory, the share of the block cache when nothing is asked for, in percent.
const BLOCK_CACHE_DEFAULT_PERCENT: u64 = 30;
/// Of the machine's memory, the share all write buffers together may have, in percent.
const WRITE_BUFFER_LIMIT_PERCENT: u64 = 15;
/// One write buffer takes at most this part of the disk, so that a nearly full one can still take what is in memory.
const WRITE_BUFFER_DISK_PART: u64 = 64;
/// The write-ahead logs together take at most this part of the disk.
const WAL_DISK_PART: u64 = 16;
/// On a disk smaller than this a single finished log is kept to be overwritten: logs keep the size they once had.
const FEW_LOGS_DISK_BYTES: u64 = 8 << 30;
/// The first level takes at most this part of the disk, and the others are multiples of it: a compaction needs room for its inputs a second
/// time, so what it takes at once must be small beside the disk.
const LEVEL_BASE_DISK_PART: u64 = 32;
/// One table takes at most this part of the disk: dropping a table of SQL gives back whole files, and those of the next level that one
/// overlaps are compacted with it.
const TABLE_FILE_DISK_PART: u64 = 128;
/// One blob file takes at most this part of the disk.
const BLOB_FILE_DISK_PART: u64 = 64;

/// How blocks of a level are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// Not at all.
    No,
    /// Fast.
    Lz4,
    /// Dense.
    Zstd,
}

/// Options of one column family section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct CfConfig {
    /// This section's part of the shared block cache; the default is a share of the machine's memory.
    pub block_cache_size: Option<ReadableSize>,
    /// Uncompressed size of a block.
    pub block_size: ReadableSize,
    /// Size at which a write buffer is closed and flushed.
    pub write_buffer_size: ReadableSize,
    /// How many write buffers may exist before writers wait.
    pub max_write_buffer_number: u32,
    /// Bits per key of the bloom filters.
    pub bloom_filter_bits_per_key: f64,
    /// Compression of all levels but the first two, which are not compressed, and the last.
    pub compression: Compression,
    /// Compression of the last level.
    pub bottommost_level_compression: Compression,
    /// Size of a table file of the first level.
    pub target_file_size_base: ReadableSize,
    /// Size of the first level.
    pub max_bytes_for_level_base: ReadableSize,
    /// Files in level 0 that start a compaction.
    pub level0_file_num_compaction_trigger: u32,
    /// Files in level 0 that slow writers down.
    pub level0_slowdown_writes_trigger: u32,
    /// Files in level 0 that stop writers.
    pub level0_stop_writes_trigger: u32,
    /// Files older than this are compacted even when nothing else asks for it, so that cold garbage goes. Zero switches it off.
    pub periodic_compaction: ReadableDuration,
    /// Values from this size on lie in blob files, which compaction of keys does not rewrite. Zero switches blob files off.
    pub min_blob_size: ReadableSize,
    /// Size at which a blob file is closed.
    pub blob_file_size: ReadableSize,
}

impl CfConfig {
    fn data() -> Self {
        Self {
            block_cache_size: None,
            block_size: ReadableSize::kib(8),
            write_buffer_size: ReadableSize::mib(64),
            max_write_buffer_number: 4,
            bloom_filter_bits_per_key: 10.0,
            compression: Compression::Lz4,
            // A third more space than zstd on rows, for a fifth of its time to unpack.
            bottommost_level_compression: Compression::Lz4,
            target_file_size_base: ReadableSize::mib(32),
            max_bytes_for_level_base: ReadableSize::mib(256),
            level0_file_num_compaction_trigger: 4,
            level0_slowdown_writes_trigger: 20,
            level0_stop_writes_trigger: 36,
            periodic_compaction: "7d".parse().expect("a valid duration"),
            min_blob_size: ReadableSize::kib(4),
            blob_file_size: ReadableSize::mib(256),
        }
    }

    fn history() -> Self {
        Self { block_size: ReadableSize::kib(16), write_buffer_size: ReadableSize::mib(32), ..Self::data() }
    }

    fn lock() -> Self {
        Self {
            block_size: ReadableSize::kib(8),
            write_buffer_size: ReadableSize::mib(16),
            compression: Compression::No,
            bottommost_level_compression: Compression::No,
            target_file_size_base: ReadableSize::mib(8),
            max_bytes_for_level_base: ReadableSize::mib(64),
            min_blob_size: ReadableSize(0),
            ..Self::data()
        }
    }
}

impl Default for CfConfig {
    fn default() -> Self {
        Self::data()
    }
}

/// Options of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct EngineConfig {
    /// Section `defaultcf`: the current versions.
    #[serde(rename = "defaultcf", deserialize_with = "data_section")]
    pub data: CfConfig,
    /// Section `writecf`: superseded versions.
    #[serde(rename = "writecf", deserialize_with = "history_section")]
    pub history: CfConfig,
    /// Section `lockcf`: locks and transaction records.
    #[serde(rename = "lockcf", deserialize_with = "lock_section")]
    pub lock: CfConfig,
    /// Size of the shared block cache; overrides the sizes of the sections.
    pub block_cache_size: Option<ReadableSize>,
    /// Threads that flush and compact; zero chooses by the machine.
    pub max_background_jobs: u32,
    /// Threads one large compaction may be split over.
    pub max_sub_compactions: u32,
    /// Table files kept open; -1 keeps all of them open, zero chooses by the process's limit.
    pub max_open_files: i32,
    /// All write buffers together: beyond it the largest is flushed.
    pub db_write_buffer_size: ReadableSize,
    /// All write-ahead logs together: beyond it the column families that hold the oldest one back are flushed.
    pub max_total_wal_size: ReadableSize,
    /// Finished logs kept to be overwritten: syncing an overwritten block costs less than half of syncing a new one.
    pub recycle_log_file_num: u32,
    /// Written table files are handed to the disk in pieces of this size, to keep a sync of the log from waiting for a whole file.
    pub bytes_per_sync: ReadableSize,
    /// Bytes per second flushes and compactions may write together; zero is no limit.
    pub rate_bytes_per_sec: ReadableSize,
    /// Size at which RocksDB's own log file is rotated.
    pub info_log_max_size: ReadableSize,
    /// How many of RocksDB's own log files are kept.
    pub info_log_keep_log_file_num: u32,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            data: CfConfig::data(),
            history: CfConfig::history(),
            lock: CfConfig::lock(),
            block_cache_size: None,
            max_background_jobs: 0,
            max_sub_compactions: 1,
            max_open_files: 0,
            db_write_buffer_size: ReadableSize::mib(384),
            max_total_wal_size: ReadableSize::mib(256),
            recycle_log_file_num: 4,
            bytes_per_sync: ReadableSize::mib(1),
            rate_bytes_per_sec: ReadableSize(0),
            info_log_max_size: ReadableSize::mib(4),
            info_log_keep_log_file_num: 2,
        }
    }
}

impl EngineConfig {
    /// The size of the shared block cache on a machine with `memory` bytes.
    pub fn block_cache_bytes(&self, memory: ReadableSize) -> ReadableSize {
        let sections = [&self.data, &self.history, &self.lock];
        let asked = self.block_cache_size.or_else(|| {
            let sizes: Vec<u64> = sections.iter().filter_map(|section| section.block_cache_size).map(|size| size.0).collect();
            (!sizes.is_empty()).then(|| ReadableSize(sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size))))
        });
        asked.unwrap_or(ReadableSize(memory.0 / 100 * BLOCK_CACHE_DEFAULT_PERCENT)).max(MIN_BLOCK_CACHE)
    }

    /// Cuts sizes to what a machine with `memory` and a disk of `disk` bytes can bear; returns a sentence for each option that was changed.
    pub fn fit_to(&mut self, memory: ReadableSize, disk: ReadableSize) -> Vec<String> {
        let mut changes = Vec::new();
        let cache = self.block_cache_bytes(memory);
        let cache_limit = whole_mib(memory.0 / 100 * BLOCK_CACHE_LIMIT_PERCENT).max(MIN_BLOCK_CACHE);
        if cache > cache_limit {
            changes.push(format!("rocksdb block-cache-size: {cache} does not fit the machine, {cache_limit} is used"));
        }
        self.block_cache_size = Some(cache.min(cache_limit));
        let mut cut = |name: &str, size: &mut ReadableSize, limit: u64, reason: &str| {
            let limit = whole_mib(limit).max(ReadableSize::mib(1));
            if *size > limit {
                changes.push(format!("rocksdb {name}: {size} does not fit the {reason}, {limit} is used"));
                *size = limit;
            }
        };
        cut("db-write-buffer-size", &mut self.db_write_buffer_size, memory.0 / 100 * WRITE_BUFFER_LIMIT_PERCENT, "machine");
        cut("db-write-buffer-size", &mut self.db_write_buffer_size, disk.0 / WRITE_BUFFER_DISK_PART * 4, "disk");
        cut("max-total-wal-size", &mut self.max_total_wal_size, disk.0 / WAL_DISK_PART, "disk");
        let largest = self.db_write_buffer_size.0.min(disk.0 / WRITE_BUFFER_DISK_PART);
        for (name, section) in [
            ("defaultcf.write-buffer-size", &mut self.data),
            ("writecf.write-buffer-size", &mut self.history),
            ("lockcf.write-buffer-size", &mut self.lock),
        ] {
            cut(name, &mut section.write_buffer_size, largest, "machine");
        }
        self.fit_files_to(disk);
        changes
    }

    /// On a small disk everything that is written, kept or rewritten at once is small. It is nothing to warn about: no option that a file
    /// is likely to name, and no promise of it is broken.
    fn fit_files_to(&mut self, disk: ReadableSize) {
        let limit = |size: &mut ReadableSize, part: u64| *size = (*size).min(ReadableSize((disk.0 / part).max(256 << 10)));
        for section in [&mut self.data, &mut self.history, &mut self.lock] {
            limit(&mut section.max_bytes_for_level_base, LEVEL_BASE_DISK_PART);
            limit(&mut section.target_file_size_base, TABLE_FILE_DISK_PART);
            limit(&mut section.blob_file_size, BLOB_FILE_DISK_PART);
        }
        if disk.0 < FEW_LOGS_DISK_BYTES {
            self.recycle_log_file_num = self.recycle_log_file_num.min(1);
        }
    }

    /// Refuses options that contradict each other.
    pub fn validate(&self) -> Result<()> {
        let config = |option, problem| Err(Error::Config { option, problem });
        for section in [&self.data, &self.history, &self.lock] {
            if section.block_size.0 < 1 << 10 || section.block_size.0 > 4 << 20 {
                return config("block-size", "must be between 1KB and 4MB");
            }
            if section.write_buffer_size.0 < 64 << 10 {
                return config("write-buffer-size", "must be at least 64KB");
            }
            if section.max_write_buffer_number < 2 {
                return config("max-write-buffer-number", "must be at least 2");
            }
            if !(0.0..=100.0).contains(&section.bloom_filter_bits_per_key) {
                return config("bloom-filter-bits-per-key", "must be between 0 and 100");
            }
            if section.level0_file_num_compaction_trigger == 0
                || section.level0_slowdown_writes_trigger < section.level0_file_num_compaction_trigger
                || section.level0_stop_writes_trigger < section.level0_slowdown_writes_trigger
            {
                return config(
                    "level0-stop-writes-trigger",
                    "must not be below level0-slowdown-writes-trigger, nor that below level0-file-num-compaction-trigger",
                );
            }
        }
        if self.max_open_files != -1 && self.max_open_files != 0 && self.max_open_files < 32 {
            return config("max-open-files", "must be -1, 0 or at least 32");
        }
        Ok(())
    }
}

fn whole_mib(bytes: u64) -> ReadableSize {
    ReadableSize(bytes >> 20 << 20)
}

/// Reads a section over defaults of its own: what a file leaves out keeps the value of this column family.
macro_rules! section {
    ($name:ident, $defaults:expr) => {
        fn $name<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<CfConfig, D::Error> {
            Ok(PartialCfConfig::deserialize(deserializer)?.over($defaults))
        }
    };
}

section!(data_section, CfConfig::data());
section!(history_section, CfConfig::history());
section!(lock_section, CfConfig::lock());

macro_rules! partial {
    ($($field:ident: $type:ty),* $(,)?) => {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        struct PartialCfConfig {
            block_cache_size: Option<ReadableSize>,
            $($field: Option<$type>,)*
        }

        impl PartialCfConfig {
            fn over(self, defaults: CfConfig) -> CfConfig {
                CfConfig {
                    block_cache_size: self.block_cache_size.or(defaults.block_cache_size),
                    $($field: self.$field.unwrap_or(defaults.$field),)*
                }
            }
        }
    };
}

partial! {
    block_size: ReadableSize,
    write_buffer_size: ReadableSize,
    max_write_buffer_number: u32,
    bloom_filter_bits_per_key: f64,
    compression: Compression,
    bottommost_level_compression: Compression,
    target_file_size_base: ReadableSize,
    max_bytes_for_level_base: ReadableSize,
    level0_file_num_compaction_trigger: u32,
    level0_slowdown_writes_trigger: u32,
    level0_stop_writes_trigger: u32,
    periodic_compaction: ReadableDuration,
    min_blob_size: ReadableSize,
    blob_file_size: ReadableSize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_keep_their_own_defaults_and_refuse_unknown_keys() {
        let config: EngineConfig =
            toml::from_str("[defaultcf]\nblock-cache-size = \"14GB\"\n[writecf]\nblock-cache-size = \"8GB\"").expect("valid");
        assert_eq!(config.history.write_buffer_size, CfConfig::history().write_buffer_size);
        assert_eq!(config.block_cache_bytes(ReadableSize::gib(64)), ReadableSize::gib(22));
        assert!(toml::from_str::<EngineConfig>("[defaultcf]\nblock-cash-size = \"1GB\"").is_err());
    }

    #[test]
    fn what_does_not_fit_the_machine_is_cut_and_told() {
        let mut config: EngineConfig = toml::from_str("[defaultcf]\nblock-cache-size = \"24GB\"").expect("valid");
        let changes = config.fit_to(ReadableSize::gib(4), ReadableSize::gib(100));
        assert_eq!(changes, ["rocksdb block-cache-size: 24GB does not fit the machine, 2457MB is used"]);
        assert_eq!(config.block_cache_size, Some(ReadableSize::mib(2457)));
        let mut small = EngineConfig::default();
        small.fit_to(ReadableSize::gib(4), ReadableSize::mib(256));
        assert_eq!((small.data.write_buffer_size, small.max_total_wal_size), (ReadableSize::mib(4), ReadableSize::mib(16)));
        assert!(small.validate().is_ok());
    }

    #[test]
    fn contradictions_are_refused() {
        let mut config = EngineConfig::default();
        config.history.level0_stop_writes_trigger = 1;
        assert!(matches!(config.validate(), Err(Error::Config { option: "level0-stop-writes-trigger", .. })));
    }
}

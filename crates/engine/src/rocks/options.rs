//! RocksDB's options from ours.
//!
//! - Point reads: whole-key bloom filters in table files and write buffers, a hash index inside blocks, index and filter blocks charged to
//!   the shared cache and pinned in it, so that an exact get looks into the cache once per file that may have the key.
//! - Idle cost: statistics, their dumps and their persistence are off; no thread wakes up without work.
//! - Large values lie in blob files: compaction of keys moves their references.

use rocksdb::{
    BlockBasedOptions, BlockBasedTablePinningTier, Cache, CompactionPri, DBCompressionType, DBRecoveryMode, DataBlockIndexType, LogLevel,
    Options,
};

use super::filter::GcFilterFactory;
use crate::{Cf, CfConfig, Compression, EngineConfig, GcFilter, disk_account::BLOB_SHARES};

/// The families whose large values lie in blob files. Those among the oldest share of files are moved when compaction meets them.
pub(super) const BLOB_FAMILIES: [Cf; 3] = [Cf::Data, Cf::History, Cf::Raw];
/// Share of garbage in the oldest blob files that starts a compaction of its own.
const BLOB_GC_FORCE_THRESHOLD: f64 = 0.5;
/// Fast level of zstd: half the time of its default for nearly the same size on rows.
const ZSTD_LEVEL: i32 = 1;
/// Keys between two full ones in a block. The hash index leads to a full key, from where entries are decoded one by one: few are left to
/// decode, and on rows the shared prefixes lost this way are hardly seen in the size.
const RESTART_INTERVAL: i32 = 4;
/// RocksDB's default window.
const ZSTD_WINDOW_BITS: i32 = -14;
/// Below this limit of open files the number of open tables is bounded, so that connections find descriptors too.
const MANY_FILES: u64 = 65_536;

/// The block cache all column families share. A lookup in a clock cache takes no lock and moves no list entry, which the LRU cache does; the
/// charge of zero lets its table grow with what it holds.
pub(super) fn block_cache(bytes: u64) -> Cache {
    Cache::new_hyper_clock_cache(to_usize(bytes), 0)
}

/// Options of the database as a whole.
pub(super) fn database(config: &EngineConfig) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    options.set_recycle_log_file_num(config.recycle_log_file_num as usize);
    options.set_max_total_wal_size(config.max_total_wal_size.0);
    // All families are flushed together: a small one with a handful of records would otherwise hold back every log since it was written
    // to, and logs that are held back cannot be recycled.
    options.set_atomic_flush(true);
    options.set_db_write_buffer_size(to_usize(config.db_write_buffer_size.0));
    options.set_max_background_jobs(background_jobs(config.max_background_jobs));
    options.set_max_subcompactions(config.max_sub_compactions.max(1));
    options.set_max_open_files(open_files(config.max_open_files));
    options.set_bytes_per_sync(config.bytes_per_sync.0);
    if config.rate_bytes_per_sec.0 > 0 {
        options.set_ratelimiter(i64::try_from(config.rate_bytes_per_sec.0).unwrap_or(i64::MAX), 100_000, 10);
    }
    // One thread writes at a time: the machinery for concurrent writers would only cost.
    options.set_allow_concurrent_memtable_write(false);
    options.set_enable_write_thread_adaptive_yield(false);
    options.set_avoid_unnecessary_blocking_io(true);
    options.set_skip_stats_update_on_db_open(true);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options.set_log_level(LogLevel::Warn);
    options.set_max_log_file_size(to_usize(config.info_log_max_size.0));
    options.set_keep_log_file_num(config.info_log_keep_log_file_num.max(1) as usize);
    options
}

/// Options of a column family.
pub(super) fn column_family(cf: Cf, config: &EngineConfig, cache: &Cache, filter: Option<&GcFilter>) -> Options {
    let section = section(cf, config);
    let mut options = Options::default();
    options.set_block_based_table_factory(&tables(section, cache));
    // Old versions are looked for by cursors, which ask no filter for whole keys.
    let has_filter = !matches!(cf, Cf::Meta | Cf::History);
    options.set_memtable_whole_key_filtering(has_filter);
    options.set_memtable_prefix_bloom_ratio(if has_filter { 0.02 } else { 0.0 });
    // Small families must not hold back the logs of large ones with buffers that never fill.
    options.set_write_buffer_size(to_usize(if matches!(cf, Cf::Meta | Cf::Raw) {
        section.write_buffer_size.0.min(8 << 20)
    } else {
        section.write_buffer_size.0
    }));
    options.set_max_write_buffer_number(to_int(section.max_write_buffer_number));
    options.set_min_write_buffer_number_to_merge(1);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_target_file_size_base(section.target_file_size_base.0);
    options.set_max_bytes_for_level_base(section.max_bytes_for_level_base.0);
    options.set_max_compaction_bytes(max_compaction_bytes(section));
    options.set_compaction_pri(CompactionPri::MinOverlappingRatio);
    options.set_level_zero_file_num_compaction_trigger(to_int(section.level0_file_num_compaction_trigger));
    options.set_level_zero_slowdown_writes_trigger(to_int(section.level0_slowdown_writes_trigger));
    options.set_level_zero_stop_writes_trigger(to_int(section.level0_stop_writes_trigger));
    options.set_periodic_compaction_seconds(section.periodic_compaction.0.as_secs());
    super::ffi::drop_blocks_of_obsolete_files(&mut options);
    compression(&mut options, section);
    if section.min_blob_size.0 > 0 && BLOB_FAMILIES.contains(&cf) {
        options.set_enable_blob_files(true);
        options.set_min_blob_size(section.min_blob_size.0);
        options.set_blob_compression_type(compression_type(section.compression));
        options.set_enable_blob_gc(true);
        options.set_blob_gc_age_cutoff(BLOB_SHARES[0]);
        options.set_blob_file_size(section.blob_file_size.0);
        options.set_blob_gc_force_threshold(BLOB_GC_FORCE_THRESHOLD);
        options.set_blob_cache(cache);
    }
    if let Some(filter) = filter.filter(|_| GcFilter::applies_to(cf)) {
        options.set_compaction_filter_factory(GcFilterFactory { cf, filter: filter.clone() });
    }
    options
}

/// Compactions below level 0 are cut to this size where they can be: RocksDB's default, and less with the small levels of a small disk.
fn max_compaction_bytes(section: &CfConfig) -> u64 {
    (section.target_file_size_base.0.saturating_mul(25)).min(section.max_bytes_for_level_base.0.saturating_mul(4))
}

pub(super) fn section(cf: Cf, config: &EngineConfig) -> &CfConfig {
    match cf {
        Cf::Data | Cf::Raw => &config.data,
        Cf::History => &config.history,
        Cf::Lock | Cf::Txn | Cf::Meta => &config.lock,
    }
}

fn tables(section: &CfConfig, cache: &Cache) -> BlockBasedOptions {
    let mut tables = BlockBasedOptions::default();
    tables.set_block_cache(cache);
    tables.set_block_size(to_usize(section.block_size.0));
    tables.set_format_version(6);
    if section.bloom_filter_bits_per_key > 0.0 {
        tables.set_bloom_filter(section.bloom_filter_bits_per_key, false);
        tables.set_whole_key_filtering(true);
        tables.set_optimize_filters_for_memory(true);
    }
    tables.set_cache_index_and_filter_blocks(true);
    tables.set_cache_index_and_filter_blocks_with_high_priority(true);
    tables.set_unpartitioned_pinning_tier(BlockBasedTablePinningTier::All);
    tables.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    tables.set_data_block_hash_ratio(0.75);
    tables.set_block_restart_interval(RESTART_INTERVAL);
    tables
}

fn compression(options: &mut Options, section: &CfConfig) {
    let middle = compression_type(section.compression);
    options.set_compression_type(middle);
    // With dynamic level sizes the second entry is the first level that holds data below level 0, whatever its number.
    options.set_compression_per_level(&[DBCompressionType::None, DBCompressionType::None, middle, middle, middle, middle, middle]);
    options.set_bottommost_compression_type(compression_type(section.bottommost_level_compression));
    if section.bottommost_level_compression == Compression::Zstd {
        options.set_bottommost_compression_options(ZSTD_WINDOW_BITS, ZSTD_LEVEL, 0, 0, true);
    }
}

fn compression_type(compression: Compression) -> DBCompressionType {
    match compression {
        Compression::No => DBCompressionType::None,
        Compression::Lz4 => DBCompressionType::Lz4,
        Compression::Zstd => DBCompressionType::Zstd,
    }
}

/// One thread flushes beside those that compact.
fn background_jobs(configured: u32) -> i32 {
    let cpus = std::thread::available_parallelism().map_or(2, |cpus| cpus.get() as u32);
    to_int(if configured > 0 { configured } else { cpus.clamp(2, 8) })
}

fn open_files(configured: i32) -> i32 {
    if configured != 0 {
        return configured;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid structure to be filled.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
    if !known || limit.rlim_cur >= MANY_FILES { -1 } else { i32::try_from(limit.rlim_cur / 2).unwrap_or(i32::MAX).max(32) }
}

fn to_int(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

fn to_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

//! [`RocksEngine`]: writing, maintenance, and the handles the hot paths need ready-made.

use std::{path::PathBuf, sync::Arc};

use rocksdb::{Cache, ColumnFamily, CompactOptions, DB, FlushOptions, IngestExternalFileOptions, ReadOptions, WriteOptions};

use super::{
    directory::Directory,
    read::{self, RocksIter, RocksSnapshot, RocksValue},
    space::Space,
};
use crate::{Cf, DiskStats, Engine, EngineRead, Error, GcFilter, IterOptions, ReadTier, Result, Room, WriteBatch};

/// The engine on RocksDB. Clones share the database; it closes when the last clone, snapshot and iterator is gone.
#[derive(Clone)]
pub struct RocksEngine {
    pub(super) db: Arc<Database>,
}

/// The open database with what exact gets need: family handles without a look-up by name, and read options made once.
pub(super) struct Database {
    pub(super) db: DB,
    handles: [Handle; Cf::ALL.len()],
    any: ReadOptions,
    cache_only: ReadOptions,
    synced: WriteOptions,
    unsynced: WriteOptions,
    cache: Cache,
    filter: Option<GcFilter>,
    /// How large a log is made before it is recycled for the first time; 0: logs are not recycled.
    filled_log_bytes: u64,
    /// Where a guard watches the disk.
    space: Option<Arc<Space>>,
    /// Declared last: the directory is given back after RocksDB has closed.
    directory: Directory,
}

/// What a database is made of besides RocksDB.
pub(super) struct Parts {
    pub(super) directory: Directory,
    pub(super) cache: Cache,
    pub(super) filter: Option<GcFilter>,
    pub(super) filled_log_bytes: u64,
    pub(super) space: Option<Arc<Space>>,
}

/// A column family handle that lives as long as the database beside it.
#[derive(Clone, Copy)]
struct Handle(*const ColumnFamily);

// SAFETY: `ColumnFamily` is Send and Sync, and the pointer is only followed while the owning `DB` is alive (see `Database::handle`).
unsafe impl Send for Handle {}
// SAFETY: as above; nothing is ever written through it.
unsafe impl Sync for Handle {}

impl Database {
    pub(super) fn new(db: DB, parts: Parts) -> Self {
        let handles = Cf::ALL.map(|cf| Handle(db.cf_handle(cf.name()).expect("every column family was opened")));
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        let Parts { directory, cache, filter, filled_log_bytes, space } = parts;
        Self {
            db,
            handles,
            any: read::read_options(ReadTier::Any),
            cache_only: read::read_options(ReadTier::CacheOnly),
            synced,
            unsynced: WriteOptions::default(),
            cache,
            filter,
            filled_log_bytes,
            space,
            directory,
        }
    }

    #[inline]
    pub(super) fn handle(&self, cf: Cf) -> &ColumnFamily {
        // SAFETY: the handle lies in a heap node of the map inside `self.db`. That map changes only when families are created or
        // dropped, which needs `&mut DB` and never happens after opening; so the pointer stays good as long as `self`.
        unsafe { &*self.handles[cf.index()].0 }
    }

    pub(super) fn property(&self, cf: Cf, name: &std::ffi::CStr) -> u64 {
        self.db.property_int_value_cf(self.handle(cf), name).ok().flatten().unwrap_or(0)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(space) = &self.space {
            space.closing();
        }
        self.db.cancel_all_background_work(true);
    }
}

impl RocksEngine {
    /// The data directory.
    pub fn path(&self) -> &std::path::Path {
        self.db.directory.path()
    }

    /// The garbage filter the engine was opened with.
    pub fn filter(&self) -> Option<&GcFilter> {
        self.db.filter.as_ref()
    }
}

impl EngineRead for RocksEngine {
    type Value<'a> = RocksValue<'a>;
    type Iter = RocksIter;

    #[inline]
    fn get(&self, cf: Cf, key: &[u8], tier: ReadTier) -> Result<Option<RocksValue<'_>>> {
        let options = match tier {
            ReadTier::Any => &self.db.any,
            ReadTier::CacheOnly => &self.db.cache_only,
        };
        read::get(&self.db, cf, key, options)
    }

    fn iter(&self, cf: Cf, options: IterOptions) -> Result<RocksIter> {
        Ok(RocksIter::new(self.db.clone(), None, cf, options))
    }
}

impl Engine for RocksEngine {
    type Snapshot = RocksSnapshot;

    fn snapshot(&self) -> RocksSnapshot {
        RocksSnapshot::new(self.db.clone())
    }

    fn write_ref(&self, batch: &WriteBatch, sync: bool) -> Result<()> {
        let options = if sync { &self.db.synced } else { &self.db.unsynced };
        let batch = batch.with_encoded(rocksdb::WriteBatch::from_data);
        self.db.db.write_opt(batch, options).map_err(|error| Error::storage("writing a batch", error))
    }

    fn sync_log(&self) -> Result<()> {
        self.db.db.flush_wal(true).map_err(|error| Error::storage("syncing the log", error))
    }

    fn flush(&self) -> Result<()> {
        let families = Cf::ALL.map(|cf| self.db.handle(cf));
        let mut options = FlushOptions::default();
        options.set_wait(true);
        self.db.db.flush_cfs_opt(&families, &options).map_err(|error| Error::storage("flushing write buffers", error))
    }

    fn compact_range(&self, cf: Cf, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        let mut options = CompactOptions::default();
        // The filter has to see the bottommost level too, where most garbage lies; concurrent automatic compactions may go on.
        options.set_bottommost_level_compaction(rocksdb::BottommostLevelCompaction::ForceOptimized);
        options.set_exclusive_manual_compaction(false);
        self.db.db.compact_range_cf_opt(self.db.handle(cf), start, end, &options);
        Ok(())
    }

    fn delete_files_in_range(&self, cf: Cf, start: &[u8], end: &[u8]) -> Result<()> {
        if start >= end {
            return Ok(());
        }
        self.db
            .db
            .delete_file_in_range_cf(self.db.handle(cf), start, end)
            .map_err(|error| Error::storage("deleting files in a range", error))
    }

    fn is_short_of_space(&self) -> bool {
        let Some(guard) = self.db.space.as_ref().and_then(|space| space.guard()) else { return false };
        guard.refresh();
        guard.room() > Room::Ample
    }

    /// On a disk that is short of space nothing else would make a write buffer be flushed or files be compacted: new rows are refused.
    fn give_space_back(&self, start: &[u8], end: &[u8]) -> Result<()> {
        if !self.is_short_of_space() {
            return Ok(());
        }
        self.flush()?;
        Cf::REGION_LOCAL.iter().try_for_each(|cf| self.compact_range(*cf, Some(start), Some(end)))
    }

    fn ingest(&self, cf: Cf, files: &[PathBuf]) -> Result<()> {
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        self.db
            .db
            .ingest_external_file_cf_opts(self.db.handle(cf), &options, files.iter().collect())
            .map_err(|error| Error::storage("ingesting table files", error))
    }

    fn approximate_size(&self, cf: Cf, start: &[u8], end: &[u8]) -> Result<u64> {
        if start >= end {
            return Ok(0);
        }
        Ok(self.db.db.get_approximate_sizes_cf(self.db.handle(cf), &[rocksdb::Range::new(start, end)]).iter().sum())
    }

    fn prepare_for_load(&self, stop: &dyn Fn() -> bool) -> Result<()> {
        self.fill_log(self.db.filled_log_bytes, stop)
    }

    fn disk_stats(&self) -> DiskStats {
        let sum = |name: &std::ffi::CStr| Cf::ALL.iter().map(|cf| self.db.property(*cf, name)).sum();
        DiskStats {
            path: Some(self.path().to_owned()),
            live_bytes: sum(c"rocksdb.live-sst-files-size") + sum(c"rocksdb.live-blob-file-size"),
            write_buffer_bytes: sum(c"rocksdb.cur-size-all-mem-tables"),
            block_cache_bytes: self.db.cache.get_usage() as u64,
            pending_compaction_bytes: sum(c"rocksdb.estimate-pending-compaction-bytes"),
            write_stopped: self.db.property(Cf::Data, c"rocksdb.is-write-stopped") != 0,
            estimated_keys: Cf::ALL.map(|cf| self.db.property(cf, c"rocksdb.estimate-num-keys")),
        }
    }
}

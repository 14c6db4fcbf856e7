//! Opening a data directory.

use std::{path::Path, sync::Arc};

use base::ReadableSize;
use rocksdb::{ColumnFamilyDescriptor, DB};

use super::{
    db::{Database, Parts, RocksEngine},
    directory::Directory,
    options,
    space::Space,
};
use crate::{Cf, DiskGuard, DiskGuardOptions, EngineConfig, Error, GcFilter, Result, batch::family_id, disk_guard::disk_space};

/// A log is filled up to this size before it is recycled for the first time; beyond it, it grows.
const MAX_FILLED_LOG_BYTES: u64 = 64 << 20;

impl RocksEngine {
    /// Opens (or creates) the data directory `path` without garbage collection.
    pub fn open(path: impl AsRef<Path>, config: &EngineConfig) -> Result<Self> {
        Ok(Self::open_in(Directory::open(path.as_ref())?, config, None, false)?.0)
    }

    /// Opens (or creates) the data directory `path`; compaction collects what `filter` says.
    pub fn open_with_filter(path: impl AsRef<Path>, config: &EngineConfig, filter: GcFilter) -> Result<Self> {
        Ok(Self::open_in(Directory::open(path.as_ref())?, config, Some(filter), false)?.0)
    }

    /// [`RocksEngine::open_with_filter`] with a guard over the disk that knows what flushes and compactions have still to write, and that
    /// compactions obey.
    pub fn open_guarded(
        path: impl AsRef<Path>,
        config: &EngineConfig,
        filter: GcFilter,
        options: Option<DiskGuardOptions>,
    ) -> Result<(Self, Arc<DiskGuard>)> {
        let directory = Directory::open(path.as_ref())?;
        // Before recovery, which may need what the reserve takes.
        let guard = Arc::new(DiskGuard::prepare(directory.path(), options)?);
        let (engine, space) = Self::open_in(directory, config, Some(filter), true)?;
        if let Some(space) = space {
            space.opened(&engine.db, &guard)?;
        }
        Ok((engine, guard))
    }

    fn open_in(directory: Directory, config: &EngineConfig, filter: Option<GcFilter>, guarded: bool) -> Result<(Self, Option<Arc<Space>>)> {
        config.validate()?;
        let mut config = config.clone();
        let (capacity, _) = disk_space(directory.path())?;
        for change in config.fit_to(machine_memory(), ReadableSize(capacity)) {
            tracing::warn!("{change}");
        }
        let cache = options::block_cache(config.block_cache_bytes(machine_memory()).0);
        let families =
            Cf::ALL.map(|cf| ColumnFamilyDescriptor::new(cf.name(), options::column_family(cf, &config, &cache, filter.as_ref())));
        let mut database_options = options::database(&config);
        let blob_file_bytes = options::BLOB_FAMILIES.map(|cf| options::section(cf, &config).blob_file_size.0);
        let space = if guarded { Some(Space::register(&mut database_options, blob_file_bytes)?) } else { None };
        let default = ColumnFamilyDescriptor::new(rocksdb::DEFAULT_COLUMN_FAMILY_NAME, rocksdb::Options::default());
        let db = DB::open_cf_descriptors(&database_options, directory.db_path(), [default].into_iter().chain(families))
            .map_err(|error| Error::storage("opening the store", error))?;
        check_family_ids(&db)?;
        keep_new_blocks_cached(&db)?;
        let filled_log_bytes = match config.recycle_log_file_num {
            0 => 0,
            _ => config.data.write_buffer_size.0.min(config.max_total_wal_size.0 / 2).min(MAX_FILLED_LOG_BYTES),
        };
        let parts = Parts { directory, cache, filter, filled_log_bytes, space: space.clone() };
        Ok((Self { db: Arc::new(Database::new(db, parts)) }, space))
    }
}

/// What a flush or compaction writes of the current versions goes to the block cache too, as the first to give way when the cache is full:
/// otherwise the first read of each new block would wait for the disk and unpack it, on another thread. (RocksDB has this option of its
/// tables in no other form that the `rocksdb` crate reaches.)
fn keep_new_blocks_cached(db: &DB) -> Result<()> {
    let handle = db.cf_handle(Cf::Data.name()).expect("every column family was opened");
    db.set_options_cf(handle, &[("block_based_table_factory", "{prepopulate_block_cache=kFlushAndCompaction;}")])
        .map_err(|error| Error::storage("setting up the block cache", error))
}

/// Batches name families by number; RocksDB numbers them in the order of their creation, which a damaged directory may have changed.
fn check_family_ids(db: &DB) -> Result<()> {
    for cf in Cf::ALL {
        let id = db.cf_handle(cf.name()).map(|handle| db.get_column_family_metadata_cf(handle).name);
        if id.as_deref() != Some(cf.name()) {
            return Err(Error::Corruption { what: "column families", detail: format!("{cf} is missing").into() });
        }
    }
    let mut probe = rocksdb::WriteBatch::default();
    for cf in Cf::ALL {
        let handle = db.cf_handle(cf.name()).expect("its name was just asked for");
        probe.put_cf(handle, b"", b"");
    }
    let mut found = FamilyIds::default();
    probe.iterate_cf(&mut found);
    if found.0 != Cf::ALL.map(|cf| u32::from(family_id(cf))) {
        return Err(Error::Corruption { what: "column families", detail: format!("unexpected numbers {:?}", found.0).into() });
    }
    Ok(())
}

#[derive(Default)]
struct FamilyIds(Vec<u32>);

impl rocksdb::WriteBatchIteratorCf for FamilyIds {
    fn put_cf(&mut self, cf_id: u32, _key: &[u8], _value: &[u8]) {
        self.0.push(cf_id);
    }

    fn delete_cf(&mut self, _cf_id: u32, _key: &[u8]) {}

    fn merge_cf(&mut self, _cf_id: u32, _key: &[u8], _value: &[u8]) {}
}

/// Bytes of memory this process may use: the machine's, or less where a control group says so.
fn machine_memory() -> ReadableSize {
    // SAFETY: sysconf takes no pointers.
    let (pages, page_size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let physical = u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(page_size).unwrap_or(0));
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    let bytes = if physical == 0 { 1 << 30 } else { physical };
    ReadableSize(group.map_or(bytes, |limit: u64| limit.min(bytes)))
}

//! What the layers above may ask of an engine.
//!
//! Iterators and snapshots own what they need (they keep the database open), so that a scan can be parked in a task between two pages.
//! Values of exact gets are borrowed from the engine: RocksDB pins the block instead of copying it.

use std::{ops::Deref, path::PathBuf};

use crate::{Cf, Result, WriteBatch};

/// How far a read may go for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReadTier {
    /// Memory only; [`Error::WouldBlock`](crate::Error::WouldBlock) when the block would have to be read from disk.
    CacheOnly,
    /// Memory, then disk.
    #[default]
    Any,
}

/// Bounds and habits of an iterator.
#[derive(Clone, Debug, Default)]
pub struct IterOptions {
    /// First key that may be returned.
    pub lower: Option<Vec<u8>>,
    /// First key that may not be returned any more.
    pub upper: Option<Vec<u8>>,
    /// How far blocks may be fetched from.
    pub tier: ReadTier,
    /// Whether blocks read for this iterator stay out of the cache (garbage collection, checksums).
    pub skip_cache: bool,
}

/// A cursor over one column family.
///
/// After a failure [`EngineIter::valid`] is false and [`EngineIter::status`] has the error; a caller that meets the end must ask for it.
pub trait EngineIter: Send {
    /// Moves to the first key at or behind `key`.
    fn seek(&mut self, key: &[u8]);
    /// Moves to the last key at or before `key`.
    fn seek_for_prev(&mut self, key: &[u8]);
    /// Moves to the first key of the bounds.
    fn seek_to_first(&mut self);
    /// Moves to the last key of the bounds.
    fn seek_to_last(&mut self);
    /// Moves forward. The cursor must be valid.
    fn next(&mut self);
    /// Moves backward. The cursor must be valid.
    fn prev(&mut self);
    /// Whether the cursor stands on a key.
    fn valid(&self) -> bool;
    /// The key; the cursor must be valid.
    fn key(&self) -> &[u8];
    /// The value; the cursor must be valid.
    fn value(&self) -> &[u8];
    /// Why the cursor is not valid: `Ok` at the end of the bounds.
    fn status(&self) -> Result<()>;
}

/// Reading: an engine as it is now, or a snapshot of it.
pub trait EngineRead: Send + Sync {
    /// A value, borrowed from the engine where that saves a copy.
    type Value<'a>: Deref<Target = [u8]> + Send
    where
        Self: 'a;
    /// A cursor; owns what it reads from.
    type Iter: EngineIter + 'static;

    /// The value of `key`.
    fn get(&self, cf: Cf, key: &[u8], tier: ReadTier) -> Result<Option<Self::Value<'_>>>;

    /// A cursor that stands nowhere yet; it sees one state of the engine however long it lives.
    fn iter(&self, cf: Cf, options: IterOptions) -> Result<Self::Iter>;
}

/// Sizes and counts for the status page; all from memory, none exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// The data directory, if there is one.
    pub path: Option<PathBuf>,
    /// Bytes of table and blob files that are in use.
    pub live_bytes: u64,
    /// Bytes in write buffers.
    pub write_buffer_bytes: u64,
    /// Bytes the block cache holds.
    pub block_cache_bytes: u64,
    /// Bytes compaction has still to rewrite.
    pub pending_compaction_bytes: u64,
    /// Whether RocksDB has stopped writes until compaction catches up.
    pub write_stopped: bool,
    /// Estimated number of keys by column family, in the order of [`Cf::ALL`].
    pub estimated_keys: [u64; Cf::ALL.len()],
}

/// A store of column families.
pub trait Engine: EngineRead + Clone + Send + Sync + 'static {
    /// A state of the engine that does not change. Holds back nothing but the removal of old files; keep it no longer than a statement.
    type Snapshot: EngineRead + Clone + Send + Sync + 'static;

    /// The state as it is now.
    fn snapshot(&self) -> Self::Snapshot;

    /// Applies a batch as a whole; with `sync` it is on disk when this returns. Calls must not overlap for batches whose order matters.
    fn write(&self, batch: WriteBatch, sync: bool) -> Result<()> {
        self.write_ref(&batch, sync)
    }

    /// [`Engine::write`] for a caller that goes on using the batch.
    fn write_ref(&self, batch: &WriteBatch, sync: bool) -> Result<()>;

    /// Syncs everything written so far without `sync`.
    fn sync_log(&self) -> Result<()>;

    /// Writes all write buffers to table files.
    fn flush(&self) -> Result<()>;

    /// Rewrites the files of `[start, end)` (`None`: unbounded), passing every record through the garbage filter.
    fn compact_range(&self, cf: Cf, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()>;

    /// Drops whole files that lie inside `[start, end)`; what is left in the range must be removed by a batch. Snapshots lose the keys too.
    fn delete_files_in_range(&self, cf: Cf, start: &[u8], end: &[u8]) -> Result<()>;

    /// Removes `[start, end)` from every region-local column family, ignoring snapshots and versions: for ranges nobody reads any more.
    fn unsafe_destroy_range(&self, start: &[u8], end: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::new();
        for cf in Cf::REGION_LOCAL {
            self.delete_files_in_range(cf, start, end)?;
            batch.delete_range(cf, start, end);
        }
        self.write(batch, true)?;
        self.give_space_back(start, end)
    }

    /// Whether the disk is so full that writes are refused.
    fn is_short_of_space(&self) -> bool {
        false
    }

    /// Called when `[start, end)` was destroyed: an engine that is short of space rewrites the files that still have keys of it.
    fn give_space_back(&self, start: &[u8], end: &[u8]) -> Result<()> {
        let _ = (start, end);
        Ok(())
    }

    /// Adds finished table files; the range must be fenced and empty, for an ingested file is newer than everything.
    fn ingest(&self, cf: Cf, files: &[PathBuf]) -> Result<()>;

    /// About how many bytes `[start, end)` takes, write buffers included.
    fn approximate_size(&self, cf: Cf, start: &[u8], end: &[u8]) -> Result<u64>;

    /// Sizes and counts for the status page.
    fn disk_stats(&self) -> DiskStats;

    /// Makes synced writes cheaper for a server under load, where the engine has something to prepare for that. Takes seconds, beside all other
    /// work; ends early when `stop` says so.
    fn prepare_for_load(&self, stop: &dyn Fn() -> bool) -> Result<()> {
        let _ = stop;
        Ok(())
    }
}

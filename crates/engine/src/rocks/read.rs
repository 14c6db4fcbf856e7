//! Values, snapshots and cursors of RocksDB.
//!
//! Snapshots and cursors of the `rocksdb` crate borrow the database. Ours own a share of it instead, so that a scan can rest between two
//! pages without borrowing from anything: the borrow is stretched to `'static` and the owner is kept beside it, to be dropped after it.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use rocksdb::{DB, DBPinnableSlice, DBRawIterator, ReadOptions, Snapshot};

use super::db::Database;
use crate::{Cf, EngineIter, EngineRead, Error, IterOptions, ReadTier, Result};

/// A value pinned in the block cache or a write buffer.
pub struct RocksValue<'a>(DBPinnableSlice<'a>);

impl Deref for RocksValue<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

pub(super) fn read_options(tier: ReadTier) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_read_tier(match tier {
        ReadTier::CacheOnly => rocksdb::ReadTier::BlockCache,
        ReadTier::Any => rocksdb::ReadTier::All,
    });
    options
}

#[inline]
pub(super) fn get<'a>(db: &'a Database, cf: Cf, key: &[u8], options: &ReadOptions) -> Result<Option<RocksValue<'a>>> {
    match db.db.get_pinned_cf_opt(db.handle(cf), key, options) {
        Ok(value) => Ok(value.map(RocksValue)),
        Err(error) => Err(Error::storage("reading a key", error)),
    }
}

pub(super) struct HeldSnapshot {
    /// Options of exact gets at this snapshot; most snapshots are made for cursors and never need them.
    any: OnceLock<ReadOptions>,
    cache_only: OnceLock<ReadOptions>,
    /// Borrows from `db`; declared before it, so dropped before it.
    snapshot: Snapshot<'static>,
    db: Arc<Database>,
}

impl HeldSnapshot {
    fn options(&self, tier: ReadTier) -> &ReadOptions {
        let cell = match tier {
            ReadTier::Any => &self.any,
            ReadTier::CacheOnly => &self.cache_only,
        };
        cell.get_or_init(|| {
            let mut options = read_options(tier);
            options.set_snapshot(&self.snapshot);
            options
        })
    }
}

/// A state of the database.
#[derive(Clone)]
pub struct RocksSnapshot {
    held: Arc<HeldSnapshot>,
}

impl RocksSnapshot {
    pub(super) fn new(db: Arc<Database>) -> Self {
        let snapshot = stretch(&db).snapshot();
        Self { held: Arc::new(HeldSnapshot { any: OnceLock::new(), cache_only: OnceLock::new(), snapshot, db }) }
    }
}

impl EngineRead for RocksSnapshot {
    type Value<'a> = RocksValue<'a>;
    type Iter = RocksIter;

    fn get(&self, cf: Cf, key: &[u8], tier: ReadTier) -> Result<Option<RocksValue<'_>>> {
        get(&self.held.db, cf, key, self.held.options(tier))
    }

    fn iter(&self, cf: Cf, options: IterOptions) -> Result<RocksIter> {
        Ok(RocksIter::new(self.held.db.clone(), Some(self.held.clone()), cf, options))
    }
}

/// A cursor of RocksDB.
pub struct RocksIter {
    /// Borrows from `_snapshot` and `_db`; declared before them, so dropped before them.
    cursor: DBRawIterator<'static>,
    _snapshot: Option<Arc<HeldSnapshot>>,
    _db: Arc<Database>,
}

impl RocksIter {
    pub(super) fn new(db: Arc<Database>, snapshot: Option<Arc<HeldSnapshot>>, cf: Cf, options: IterOptions) -> Self {
        let mut read = read_options(options.tier);
        read.fill_cache(!options.skip_cache);
        // Files that became obsolete while the cursor lived are removed by a background thread, not by the reader.
        read.set_background_purge_on_iterator_cleanup(true);
        if let Some(lower) = options.lower {
            read.set_iterate_lower_bound(lower);
        }
        if let Some(upper) = options.upper {
            read.set_iterate_upper_bound(upper);
        }
        if let Some(held) = &snapshot {
            read.set_snapshot(&held.snapshot);
        }
        let cursor = stretch(&db).raw_iterator_cf_opt(db.handle(cf), read);
        Self { cursor, _snapshot: snapshot, _db: db }
    }
}

/// The database with the lifetime its shared owner could give it.
///
/// Private to this file: what is made from the answer must be stored in front of a clone of `db` and dropped before it.
fn stretch(db: &Arc<Database>) -> &'static DB {
    // SAFETY: the database lies in the heap at an address that does not change while any clone of the `Arc` lives, and both callers keep
    // a clone behind the borrow (fields drop in the order of their declaration).
    unsafe { &*std::ptr::from_ref(&db.db) }
}

const NOT_VALID: &str = "the caller has checked valid()";

impl EngineIter for RocksIter {
    #[inline]
    fn seek(&mut self, key: &[u8]) {
        self.cursor.seek(key);
    }

    #[inline]
    fn seek_for_prev(&mut self, key: &[u8]) {
        self.cursor.seek_for_prev(key);
    }

    fn seek_to_first(&mut self) {
        self.cursor.seek_to_first();
    }

    fn seek_to_last(&mut self) {
        self.cursor.seek_to_last();
    }

    #[inline]
    fn next(&mut self) {
        self.cursor.next();
    }

    #[inline]
    fn prev(&mut self) {
        self.cursor.prev();
    }

    #[inline]
    fn valid(&self) -> bool {
        self.cursor.valid()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.cursor.key().expect(NOT_VALID)
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.cursor.value().expect(NOT_VALID)
    }

    fn status(&self) -> Result<()> {
        self.cursor.status().map_err(|error| Error::storage("moving a cursor", error))
    }
}

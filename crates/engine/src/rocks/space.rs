//! What RocksDB has still to write, and how its compactions are held back: its side of the [`DiskGuard`].
//!
//! ```text
//!   begin, end of flushes and compactions ──▶ Space ──▶ DiskGuard::refresh
//!   DiskGuard asks ◀── files, unflushed write buffers, inputs of running compactions less what they have written
//!   DiskGuard says ──▶ how large the inputs of compactions may be, how many blobs they may move
//! ```
//!
//! RocksDB refuses a compaction when `files + inputs of those that run + its inputs + buffer > limit`, tries again every second, and stops
//! all writing when `files` alone reach the limit. So the limit lies out of reach, and the buffer is what is left of it:
//!
//! ```text
//!   0 ├─ files now ─┤├─ inputs that fit ─┤├──────────────── buffer ─────────────────┤ OUT_OF_REACH
//! ```
//!
//! Files deleted and made between two looks move the border by themselves.
//!
//! Invariants:
//! - A compaction is counted from its beginning to its end, with all of its inputs and all blobs compactions may move.
//! - The database is asked only while it is open: it takes its pointer back before it closes.

use std::{
    collections::HashMap,
    path::Path,
    ptr::NonNull,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use rocksdb::Options;

use super::{
    db::Database,
    ffi::{self, BackgroundListener, FileManager},
    options::BLOB_FAMILIES,
};
use crate::{
    Cf, DiskGuard, Error, Result,
    disk_account::{BLOB_SHARES, BlobFiles, Outstanding},
    disk_guard::BackgroundWriter,
};

/// More bytes than files can ever have, and few enough to add some.
const OUT_OF_REACH: u64 = 1 << 62;

/// RocksDB's side of the disk guard.
pub(super) struct Space {
    files: FileManager,
    jobs: Mutex<Jobs>,
    /// What a compaction that begins now may move, in bytes of blobs.
    moved_blobs: AtomicU64,
    /// Size at which a blob file of each of [`BLOB_FAMILIES`] is closed.
    blob_file_bytes: [u64; BLOB_FAMILIES.len()],
    database: Mutex<Option<OpenDatabase>>,
    guard: OnceLock<Weak<DiskGuard>>,
}

/// Points to the database that owns the `Space`.
struct OpenDatabase(NonNull<Database>);

// SAFETY: `Database` is Sync, and the pointer is only followed under the lock of `Space::database`, which the database takes to clear it
// before it is dropped.
unsafe impl Send for OpenDatabase {}

/// Compactions that run.
#[derive(Default)]
struct Jobs {
    /// Inputs and blobs by job number.
    bytes: HashMap<i32, u64>,
    /// All of them.
    total: u64,
    /// Table and blob files when the first of them began, and what was flushed since: files beyond that are outputs.
    files_before: u64,
}

impl Space {
    /// Registers with the options of a database that is yet to be opened.
    pub(super) fn register(options: &mut Options, blob_file_bytes: [u64; BLOB_FAMILIES.len()]) -> Result<Arc<Self>> {
        let space = Arc::new(Self {
            files: FileManager::register(options)?,
            jobs: Mutex::default(),
            moved_blobs: AtomicU64::new(0),
            blob_file_bytes,
            database: Mutex::new(None),
            guard: OnceLock::new(),
        });
        ffi::listen(options, space.clone());
        Ok(space)
    }

    /// The database is open, and `guard` wants to know about it.
    pub(super) fn opened(self: &Arc<Self>, database: &Arc<Database>, guard: &Arc<DiskGuard>) -> Result<()> {
        *self.database.lock() = Some(OpenDatabase(NonNull::from(&**database)));
        // A second guard would be a second engine, which has a `Space` of its own.
        let _ = self.guard.set(Arc::downgrade(guard));
        guard.watch(self.clone())
    }

    /// The database is about to close.
    pub(super) fn closing(&self) {
        *self.database.lock() = None;
    }

    /// The guard that was told about the database.
    pub(super) fn guard(&self) -> Option<Arc<DiskGuard>> {
        self.guard.get().and_then(Weak::upgrade)
    }

    fn refresh(&self) {
        if let Some(guard) = self.guard() {
            guard.refresh();
        }
    }

    /// Asks the database unless it is not open yet, or not any more.
    fn ask<T>(&self, question: impl FnOnce(&Database) -> T) -> Option<T> {
        let database = self.database.lock();
        // SAFETY: the database clears the pointer, under this lock, before it is dropped.
        database.as_ref().map(|open| question(unsafe { open.0.as_ref() }))
    }

    fn blob_files(&self, database: &Database) -> Vec<BlobFiles> {
        let families = BLOB_FAMILIES.iter().zip(self.blob_file_bytes);
        let files = families.map(|(cf, file_bytes)| BlobFiles {
            count: database.property(*cf, c"rocksdb.num-blob-files"),
            bytes: database.property(*cf, c"rocksdb.live-blob-file-size"),
            file_bytes,
        });
        files.filter(|files| files.count > 0).collect()
    }
}

impl BackgroundWriter for Space {
    fn outstanding(&self) -> Outstanding {
        let asked = self.ask(|database| {
            let unflushed = Cf::ALL.iter().map(|cf| database.property(*cf, c"rocksdb.cur-size-all-mem-tables")).sum();
            (unflushed, self.blob_files(database))
        });
        let (unflushed, blobs) = asked.unwrap_or_default();
        let jobs = self.jobs.lock();
        let stored = self.files.total_bytes();
        let compacted = if jobs.total > 0 { stored.saturating_sub(jobs.files_before) } else { 0 };
        Outstanding { stored, unflushed, compacting: jobs.total, compacted, blobs }
    }

    fn limit_compactions(&self, stored: u64, inputs: Option<u64>, moved_blobs: u64) {
        self.moved_blobs.store(moved_blobs, Ordering::Relaxed);
        match inputs {
            Some(inputs) => self.files.limit(OUT_OF_REACH, OUT_OF_REACH.saturating_sub(stored.saturating_add(inputs))),
            None => self.files.limit(0, 0),
        }
    }

    fn move_blobs(&self, share: usize) -> Result<()> {
        let share = BLOB_SHARES[share].to_string();
        let set = |database: &Database| {
            let options = [("blob_garbage_collection_age_cutoff", share.as_str())];
            BLOB_FAMILIES.iter().try_for_each(|cf| database.db.set_options_cf(database.handle(*cf), &options))
        };
        self.ask(set).unwrap_or(Ok(())).map_err(|error| Error::storage("changing how many blobs compactions move", error))
    }
}

impl BackgroundListener for Space {
    fn compaction_begins<'a>(&self, job: i32, family: &[u8], inputs: impl Iterator<Item = &'a Path>) {
        let has_blobs = BLOB_FAMILIES.iter().any(|cf| cf.name().as_bytes() == family);
        let blobs = if has_blobs { self.moved_blobs.load(Ordering::Relaxed) } else { 0 };
        let bytes = blobs + inputs.map(file_bytes).sum::<u64>();
        let mut jobs = self.jobs.lock();
        if jobs.bytes.is_empty() {
            jobs.files_before = self.files.total_bytes();
        }
        jobs.total += bytes;
        if let Some(replaced) = jobs.bytes.insert(job, bytes) {
            jobs.total -= replaced;
        }
        drop(jobs);
        self.refresh();
    }

    fn compaction_ended(&self, job: i32) {
        let mut jobs = self.jobs.lock();
        jobs.total -= jobs.bytes.remove(&job).unwrap_or(0);
        drop(jobs);
        self.refresh();
    }

    fn flushed(&self, table: &Path, blob_bytes: u64) {
        self.jobs.lock().files_before += file_bytes(table) + blob_bytes;
        self.refresh();
    }
}

/// Bytes of a file; none when it has gone meanwhile.
fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

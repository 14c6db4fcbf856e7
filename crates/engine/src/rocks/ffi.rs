//! Options and objects that RocksDB's C interface has and the `rocksdb` crate does not.
//!
//! Invariants: callbacks run on RocksDB's threads while it holds no lock of its own, and must not panic; the listener's state is dropped
//! with the options and databases that share it.

use std::{
    ffi::{OsStr, c_char, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::Arc,
};

use librocksdb_sys as sys;
use rocksdb::{AsRawPtr, Env, Options};

use crate::{Error, Result};

/// How many lookups a file that was compacted away may cost to find its blocks in the cache, relative to RocksDB's scale (0 to 10,000):
/// enough to drop what is cached, without walking through files that are not.
const UNCACHE_AGGRESSIVENESS: u32 = 100;

/// Removes the blocks of files that were compacted away from the cache, where they would lie until something else pushes them out.
pub(super) fn drop_blocks_of_obsolete_files(options: &mut Options) {
    // SAFETY: the options are alive, and the call only stores a number in them.
    unsafe { sys::rocksdb_options_set_uncache_aggressiveness(options.as_raw_ptr(), UNCACHE_AGGRESSIVENESS) }
}

/// RocksDB's account of table and blob files: how large they are, and how large they may get.
pub(super) struct FileManager(*mut sys::rocksdb_sst_file_manager_t);

// SAFETY: the object behind the pointer is shared by all of RocksDB's threads and guarded by a lock of its own.
unsafe impl Send for FileManager {}
// SAFETY: as above.
unsafe impl Sync for FileManager {}

impl FileManager {
    /// Registers a new manager with the options of a database that is yet to be opened.
    pub(super) fn register(options: &mut Options) -> Result<Self> {
        let env = Env::new().map_err(|error| Error::storage("finding the default environment", error))?;
        // SAFETY: the objects are alive; the options take a share of the manager, and the manager one of the default environment, which is
        // never destroyed.
        unsafe {
            let manager = sys::rocksdb_sst_file_manager_create(env.as_raw_ptr());
            sys::rocksdb_options_set_sst_file_manager(options.as_raw_ptr(), manager);
            Ok(Self(manager))
        }
    }

    /// Bytes of all table and blob files that were finished and not deleted.
    pub(super) fn total_bytes(&self) -> u64 {
        // SAFETY: the manager lives until `self` is dropped.
        unsafe { sys::rocksdb_sst_file_manager_get_total_size(self.0) }
    }

    /// Compactions are begun only if files, inputs of those that run, its own inputs and `beside` stay within `limit`; 0 and 0 for always.
    /// `limit` alone also bounds the files themselves, with an error that stops all writing.
    pub(super) fn limit(&self, limit: u64, beside: u64) {
        // SAFETY: as above. Between the two calls the bounds are too strict or too wide for one compaction that is asked for just then.
        unsafe {
            sys::rocksdb_sst_file_manager_set_compaction_buffer_size(self.0, beside);
            sys::rocksdb_sst_file_manager_set_max_allowed_space_usage(self.0, limit);
        }
    }
}

impl Drop for FileManager {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's own; the manager itself lives on in the database.
        unsafe { sys::rocksdb_sst_file_manager_destroy(self.0) }
    }
}

/// Told about work in the background, on the thread that does it.
pub(super) trait BackgroundListener: Send + Sync + 'static {
    /// A compaction of a family begins: its number and its input files.
    fn compaction_begins<'a>(&self, job: i32, family: &[u8], inputs: impl Iterator<Item = &'a Path>);
    /// A compaction is over, well or not.
    fn compaction_ended(&self, job: i32);
    /// A flush has made a table, and so many bytes of blobs.
    fn flushed(&self, table: &Path, blob_bytes: u64);
}

/// Registers a listener with the options of a database that is yet to be opened.
pub(super) fn listen<T: BackgroundListener>(options: &mut Options, listener: Arc<T>) {
    let state = Arc::into_raw(listener).cast_mut().cast::<c_void>();
    // SAFETY: the state is given back by `forget`, the last call the listener makes; the options own the listener from here on. Every
    // callback is set, for RocksDB calls them without asking.
    unsafe {
        let listener = sys::rocksdb_eventlistener_create(
            state,
            Some(forget::<T>),
            Some(ignore_flush),
            Some(flush_completed::<T>),
            Some(compaction_begin::<T>),
            Some(compaction_completed::<T>),
            Some(ignore_subcompaction),
            Some(ignore_subcompaction),
            Some(ignore_ingestion),
            Some(ignore_error),
            Some(ignore_stall),
            Some(ignore_memtable),
        );
        sys::rocksdb_options_add_eventlistener(options.as_raw_ptr(), listener);
    }
}

unsafe extern "C" fn forget<T>(state: *mut c_void) {
    // SAFETY: `state` came from `Arc::into_raw` of the same type, and this is called once.
    drop(unsafe { Arc::from_raw(state.cast_const().cast::<T>()) });
}

unsafe extern "C" fn compaction_begin<T: BackgroundListener>(
    state: *mut c_void,
    _db: *mut sys::rocksdb_t,
    info: *const sys::rocksdb_compactionjobinfo_t,
) {
    // SAFETY: RocksDB keeps `state` and `info` alive for the call; strings come with their lengths and live as long as `info`.
    unsafe {
        let listener = &*state.cast_const().cast::<T>();
        let mut len = 0;
        let family = bytes(sys::rocksdb_compactionjobinfo_cf_name(info, &mut len), len);
        let inputs = (0..sys::rocksdb_compactionjobinfo_input_files_count(info)).map(|position| {
            let mut len = 0;
            path(sys::rocksdb_compactionjobinfo_input_file_at(info, position, &mut len), len)
        });
        listener.compaction_begins(sys::rocksdb_compactionjobinfo_job_id(info), family, inputs);
    }
}

unsafe extern "C" fn compaction_completed<T: BackgroundListener>(
    state: *mut c_void,
    _db: *mut sys::rocksdb_t,
    info: *const sys::rocksdb_compactionjobinfo_t,
) {
    // SAFETY: as above.
    unsafe { (*state.cast_const().cast::<T>()).compaction_ended(sys::rocksdb_compactionjobinfo_job_id(info)) }
}

unsafe extern "C" fn flush_completed<T: BackgroundListener>(
    state: *mut c_void,
    _db: *mut sys::rocksdb_t,
    info: *const sys::rocksdb_flushjobinfo_t,
) {
    // SAFETY: as above.
    unsafe {
        let mut len = 0;
        let table = path(sys::rocksdb_flushjobinfo_file_path(info, &mut len), len);
        let blobs = (0..sys::rocksdb_flushjobinfo_blob_file_addition_infos_count(info)).map(|position| {
            let blob_file = sys::rocksdb_flushjobinfo_blob_file_addition_info_at(info, position);
            sys::rocksdb_blob_file_addition_info_total_blob_bytes(blob_file)
        });
        (*state.cast_const().cast::<T>()).flushed(table, blobs.sum());
    }
}

unsafe extern "C" fn ignore_flush(_: *mut c_void, _: *mut sys::rocksdb_t, _: *const sys::rocksdb_flushjobinfo_t) {}

unsafe extern "C" fn ignore_subcompaction(_: *mut c_void, _: *const sys::rocksdb_subcompactionjobinfo_t) {}

unsafe extern "C" fn ignore_ingestion(_: *mut c_void, _: *mut sys::rocksdb_t, _: *const sys::rocksdb_externalfileingestioninfo_t) {}

unsafe extern "C" fn ignore_error(_: *mut c_void, _: u32, _: *mut sys::rocksdb_status_ptr_t) {}

unsafe extern "C" fn ignore_stall(_: *mut c_void, _: *const sys::rocksdb_writestallinfo_t) {}

unsafe extern "C" fn ignore_memtable(_: *mut c_void, _: *const sys::rocksdb_memtableinfo_t) {}

/// Bytes RocksDB lends for the time of a call.
///
/// # Safety
/// `data` must be valid for `len` bytes as long as the result is used, or null.
unsafe fn bytes<'a>(data: *const c_char, len: usize) -> &'a [u8] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) }
}

/// # Safety
/// As for [`bytes`].
unsafe fn path<'a>(data: *const c_char, len: usize) -> &'a Path {
    // SAFETY: see above.
    Path::new(OsStr::from_bytes(unsafe { bytes(data, len) }))
}

const _: () = assert!(size_of::<c_int>() == size_of::<i32>());

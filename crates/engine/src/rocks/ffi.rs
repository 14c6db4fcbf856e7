//! Options that RocksDB's C interface has and the `rocksdb` crate does not.

use librocksdb_sys as sys;
use rocksdb::{AsRawPtr, Env, Options};

/// How many lookups a file that was compacted away may cost to find its blocks in the cache, relative to RocksDB's scale (0 to 10,000):
/// enough to drop what is cached, without walking through files that are not.
const UNCACHE_AGGRESSIVENESS: u32 = 100;

/// Lets a flush or compaction that met a full disk be tried again once there is space, instead of refusing writes until a restart.
pub(super) fn recover_from_full_disk(options: &mut Options) {
    let Ok(env) = Env::new() else { return };
    // SAFETY: the three objects are alive; the options take a share of the manager, and the manager one of the default environment (which
    // is never destroyed), so our handle on it can be given back at once.
    unsafe {
        let manager = sys::rocksdb_sst_file_manager_create(env.as_raw_ptr());
        sys::rocksdb_options_set_sst_file_manager(options.as_raw_ptr(), manager);
        sys::rocksdb_sst_file_manager_destroy(manager);
    }
}

/// Removes the blocks of files that were compacted away from the cache, where they would lie until something else pushes them out.
pub(super) fn drop_blocks_of_obsolete_files(options: &mut Options) {
    // SAFETY: the options are alive, and the call only stores a number in them.
    unsafe { sys::rocksdb_options_set_uncache_aggressiveness(options.as_raw_ptr(), UNCACHE_AGGRESSIVENESS) }
}

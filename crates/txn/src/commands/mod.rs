//! The commands of the key-value API, one file each.
//!
//! | file | reads | writes |
//! |---|---|---|
//! | `get`, `batch_get`, `scan` | versions at a timestamp | – |
//! | `scan_lock` | locks, stored and in memory | – |
//! | `pessimistic_lock`, `pessimistic_rollback` | newest versions | locks in memory |
//! | `prewrite` | newest versions, fates | locks, or, in one phase, versions |
//! | `commit`, `resolve_lock` | locks, newest versions | versions in the place of locks |
//! | `batch_rollback`, `cleanup` | locks, fates | rollback records |
//! | `check_txn_status`, `check_secondary_locks` | fates | rollback records, pushed locks |
//! | `txn_heart_beat` | a lock | its time to live |
//! | `store_locks` | locks in memory | the same locks, into the engine |
//! | `destroy_range` | – | removes everything |

mod batch_get;
mod batch_rollback;
mod check_secondary_locks;
mod check_txn_status;
mod cleanup;
mod commit;
mod destroy_range;
mod get;
mod pessimistic_lock;
mod pessimistic_rollback;
mod prewrite;
mod resolve_lock;
mod scan;
mod scan_lock;
mod store_locks;
mod txn_heart_beat;

//! The engine on RocksDB.
//!
//! ```text
//! <data directory>/LOCK      held while a process uses the directory; holds its number
//! <data directory>/FORMAT    "trine store format 1"
//! <data directory>/RESERVE   space given back when the disk is nearly full (see `disk_guard`)
//! <data directory>/db/       RocksDB: tables, blob files, write-ahead log
//! ```
//!
//! How a write becomes durable: the batch is appended to the log, the log is synced when the caller asks for it, then the batch goes to
//! the write buffers and becomes visible. Logs are recycled, so most syncs overwrite blocks that exist. Recovery runs in RocksDB's
//! point-in-time mode: it replays up to the first record that is not whole. A synced write has every log before it synced too, so it always
//! lies before that record; what is cut off was never acknowledged. (The stricter modes cannot tell the tail of a recycled log from
//! damage; RocksDB would silently switch recycling off.)
//!
//! The parts: `directory` and `open` prepare the directory, `options` translates [`EngineConfig`](crate::EngineConfig), `filter` is the factory of
//! compaction filters, `read` has values, snapshots and cursors, `space` says what has still to be written and holds compactions back.

mod db;
mod directory;
mod ffi;
mod filter;
mod logs;
mod open;
mod options;
mod read;
mod space;

pub use db::RocksEngine;
pub use read::{RocksIter, RocksSnapshot, RocksValue};

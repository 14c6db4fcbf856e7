//! Transactions on one store: commands in, answers out, and what must be remembered in memory between them.
//!
//! ```text
//!   read  ─▶ raise max_ts ─▶ commits in flight? ─▶ lock → data → history ─▶ still above the safe point? ─▶ answer
//!
//!   write ─▶ latches ─▶ step (mvcc) ─▶ publish in flight ─▶ commit queue ─▶ applied:
//!                                                            locks in memory change, waiters wake, latches go, the caller is told
//! ```
//!
//! | in memory | what for | lost in a crash? |
//! |---|---|---|
//! | `latch` | commands on one key run one after the other | yes, with the commands |
//! | `in_flight` | readers see commits whose timestamp is decided and whose write is not applied | yes, with the commits |
//! | `max_ts` | commit timestamps decided here are above every read | starts above all timestamps handed out |
//! | `pessimistic_locks` | locks of running transactions | yes, with the transactions |
//! | `recent` | records that statements have just read, for the commits that replace them | rebuilt |
//! | `lock_wait`, `deadlock` | who waits for whom, in which order | yes |
//! | `record_floor`, lock count, `garbage` | lookups and compactions that can be saved | rebuilt, or start cautious |
//! | `safe_point` | what may not be read or begun any more | persisted |
//!
//! One file for each command is in `commands`. Requests and responses are those of the key-value API ([`proto::kvrpcpb`]), taken by value in
//! the same process; errors about keys travel in the responses, [`Error`] is about the store.
//!
//! Invariants:
//! - A command's latches are held from before it reads until its write has been applied and its effects in memory have been made.
//! - Nothing here blocks a thread of the async runtime: reads that miss the cache are repeated on the read pool, writes go through the commit
//!   queue, waiting for locks is asynchronous.
//! - Dropping a command's future at any point leaves no lock, latch or queue entry behind, except what its write, once submitted, makes.
//!
//! Left out on purpose: regions and replication (one region spans the store), and everything about what keys mean.

mod commands;
mod deadlock;
mod error;
mod garbage;
mod in_flight;
mod latch;
mod lock_wait;
mod max_ts;
mod pessimistic_locks;
mod range_scanner;
mod recent;
mod record_floor;
mod safe_point;
mod storage;
mod store_wide;
mod write;

pub use deadlock::WaitEdge;
pub use error::{Error, Result};
pub use range_scanner::{RangeScanner, ScanSettings};
pub use storage::{Storage, StorageOptions};
pub use store_wide::StoreWide;

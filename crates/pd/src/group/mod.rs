//! Replication of the placement driver's state among 1, 3 or 5 members.
//!
//! ```text
//!   proposal ─▶ RaftGroup ─▶ Turn { send, write, … } ─▶ disk ─▶ RaftGroup ─▶ committed entries ─▶ State::apply
//!                 ▲  messages of the other members
//! ```
//!
//! `RaftGroup` is the consensus library with its effects as data: it is told ticks, messages and proposals, and says what is to be sent,
//! what must be on disk before more is sent, and what is committed. [`GroupDisk`] is where it is put; the node drives both.
//!
//! Invariants:
//! - A vote, a term or an entry is on disk before any message that rests on it leaves.
//! - The log begins right behind the snapshot on disk; entries go only when a newer snapshot is on disk.

mod disk;
mod log_cache;
mod raft_group;

pub use disk::{FileDisk, GroupDisk, LogWrite, MemoryDisk, Recovered};
pub use log_cache::LogCache;
pub use raft_group::{ELECTION_TICKS, GroupStatus, HEARTBEAT_TICKS, RaftGroup, Turn};

/// Index and term at which a group's life begins: what stands before is the list of its first members.
pub const FIRST_INDEX: u64 = 5;

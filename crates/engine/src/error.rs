//! What can go wrong in the engine.
//!
//! | error | retry? | meaning for the server |
//! |---|---|---|
//! | `WouldBlock` | yes, on the read pool with [`ReadTier::Any`](crate::ReadTier::Any) | none |
//! | `Busy` | yes, after a while | writes come faster than they can be stored |
//! | `DiskFull` | yes, once space was freed | reads go on |
//! | `Displaced` | yes, by whoever leads the keys' region now | none |
//! | `Poisoned`, `ShutDown` | no | the process must stop (has stopped) writing |
//! | `InUse`, `FormatVersion`, `Config` | no | the process cannot start |
//! | `Corruption`, `Io` | no | bytes on disk are damaged, or the disk does not answer |

use std::{path::PathBuf, sync::Arc};

use thiserror::Error as ThisError;

/// The result of engine calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the engine. Cheap to clone: one failed group commit is the answer to everybody in it.
#[derive(Debug, Clone, ThisError)]
pub enum Error {
    /// The answer is not in memory and the read must not wait for the disk.
    #[error("the block is not in the cache")]
    WouldBlock,
    /// The queue of writes is full.
    #[error("the write queue is full: {queued_bytes} bytes are waiting, {limit_bytes} are allowed")]
    Busy {
        /// Bytes that wait for the commit thread.
        queued_bytes: u64,
        /// How many may wait.
        limit_bytes: u64,
    },
    /// The file system is nearly full; only writes that free space are let through.
    #[error(
        "the disk of {path} is nearly full: {available_bytes} bytes are left, {needed_bytes} are kept free; \
         reads, DELETE, DROP and TRUNCATE go on; free space on that disk or enlarge it"
    )]
    DiskFull {
        /// The data directory.
        path: PathBuf,
        /// Bytes a process without privileges can still use.
        available_bytes: u64,
        /// Bytes below which writes are refused.
        needed_bytes: u64,
    },
    /// The keys' region is led from elsewhere or has other borders by now. The write was refused, or its fate is unknown here: whoever
    /// leads the region can be asked.
    #[error("the keys are led from elsewhere by now")]
    Displaced,
    /// An earlier write or sync failed; what reached the disk is unknown and nothing more is written.
    #[error("writes are refused because an earlier one failed: {cause}")]
    Poisoned {
        /// The first failure.
        cause: Arc<Error>,
    },
    /// The commit queue was closed.
    #[error("the store is shutting down")]
    ShutDown,
    /// Another process has the data directory open.
    #[error("data directory {path} is in use{}", .pid.map_or(String::new(), |pid| format!(" by process {pid}")))]
    InUse {
        /// The data directory.
        path: PathBuf,
        /// The process that holds it, when it left its number.
        pid: Option<u32>,
    },
    /// The data directory was written by a version this program cannot read.
    #[error("data directory {path} has format version {found}, this program reads {supported}")]
    FormatVersion {
        /// The data directory.
        path: PathBuf,
        /// The version found.
        found: String,
        /// The version this program writes and reads.
        supported: u32,
    },
    /// An option does not make sense.
    #[error("{option}: {problem}")]
    Config {
        /// Name of the option as it is written in a configuration file.
        option: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Bytes on disk do not have the form they must have.
    #[error("corrupted data in {what}: {detail}")]
    Corruption {
        /// Where.
        what: &'static str,
        /// What the storage layer says about it.
        detail: Arc<str>,
    },
    /// A call to the file system failed.
    #[error("{what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<std::io::Error>,
    },
    /// RocksDB refused or failed.
    #[error("{what}: {detail}")]
    Storage {
        /// What was tried.
        what: &'static str,
        /// The kind of failure.
        kind: rocksdb::ErrorKind,
        /// RocksDB's own words.
        detail: Arc<str>,
    },
}

impl Error {
    /// Whether the same call may succeed later without anybody repairing anything.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::WouldBlock | Self::Busy { .. } | Self::DiskFull { .. })
    }

    /// An error of a file system call.
    pub(crate) fn io(what: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { what, path: path.into(), source: Arc::new(source) }
    }

    /// An error RocksDB answered while `what` was done.
    pub(crate) fn storage(what: &'static str, error: rocksdb::Error) -> Self {
        let kind = error.kind();
        match kind {
            rocksdb::ErrorKind::Incomplete => Self::WouldBlock,
            rocksdb::ErrorKind::Corruption => Self::Corruption { what, detail: error.into_string().into() },
            _ => Self::Storage { what, kind, detail: error.into_string().into() },
        }
    }
}

//! What a request to a region, or the store itself, may come to other than success.
//!
//! | error | who acts |
//! |---|---|
//! | `NotLeader`, `RegionNotFound`, `EpochNotMatch`, `KeyNotInRegion`, `StoreNotMatch` | the client: it asks elsewhere |
//! | `StaleCommand`, `ReadIndexNotReady`, `ProposalRefused`, `Merging` | the client: it asks again |
//! | `EntryTooLarge`, `InvalidRequest` | nobody: the request cannot be served |
//! | `Engine`, `Log`, `Raft`, `Snapshot`, `Corrupted` | the store; a failed write stops it |

use std::sync::Arc;

use bytes::Bytes;
use proto::metapb::{Peer, Region};

/// The result of requests to a region.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a region or of the store. Cheap to clone.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// This replica does not lead the region.
    #[error("region {region_id} is not led from here")]
    NotLeader {
        /// The region.
        region_id: u64,
        /// Who leads it, as far as is known here.
        leader: Option<Peer>,
    },
    /// The region is not on this store.
    #[error("region {0} is not on this store")]
    RegionNotFound(u64),
    /// The region was split, merged or given other members since the caller looked.
    #[error("the region has changed; it is now {current:?}")]
    EpochNotMatch {
        /// The regions that lie where the caller believed the region to be.
        current: Vec<Region>,
    },
    /// A key lies outside the region.
    #[error("key {key:02x?} is not in region {}", .region.id)]
    KeyNotInRegion {
        /// The key.
        key: Bytes,
        /// The region.
        region: Box<Region>,
    },
    /// The request was meant for another replica than the one here.
    #[error("peer {requested} was asked for, peer {found} is here")]
    PeerNotMatch {
        /// The replica the caller means.
        requested: u64,
        /// The replica that is here.
        found: u64,
    },
    /// The leader has changed while the request was under way. Whether a write was made is unknown here.
    #[error("the command is stale")]
    StaleCommand,
    /// The leader is new and has not caught up with its own log.
    #[error("region {0} cannot serve reads yet")]
    ReadIndexNotReady(u64),
    /// The leader takes no proposals at the moment: it is handing over, or too much is uncommitted.
    #[error("region {0} takes no proposals at the moment")]
    ProposalRefused(u64),
    /// The region is about to become a part of another one, or not; until that is clear it serves nothing.
    #[error("region {0} is being merged into another one")]
    Merging(u64),
    /// A write is larger than an entry of the log may be.
    #[error("a write of {bytes} bytes does not fit an entry of region {region_id}; {limit} are allowed")]
    EntryTooLarge {
        /// The region.
        region_id: u64,
        /// Size of the write.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A request that makes no sense for the region as it is.
    #[error("invalid request: {0}")]
    InvalidRequest(&'static str),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The Raft log could not be written or read.
    #[error("raft log: {0}")]
    Log(Arc<raft_engine::Error>),
    /// The consensus library refused.
    #[error("raft: {0}")]
    Raft(Arc<raft::Error>),
    /// A snapshot file could not be written, read or sent.
    #[error("snapshot {what} {path}: {source}")]
    Snapshot {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: std::path::PathBuf,
        /// What the operating system said.
        source: Arc<std::io::Error>,
    },
    /// Bytes from disk or network do not have the form they must have.
    #[error("corrupted {what} of region {region_id}")]
    Corrupted {
        /// What.
        what: &'static str,
        /// Whose.
        region_id: u64,
    },
    /// The data directory belongs to another cluster or store.
    #[error("the data directory belongs to store {found_store} of cluster {found_cluster}, not to store {store} of cluster {cluster}")]
    WrongStore {
        /// The cluster asked for.
        cluster: u64,
        /// The store asked for.
        store: u64,
        /// The cluster found.
        found_cluster: u64,
        /// The store found.
        found_store: u64,
    },
    /// The store is going down.
    #[error("the store has stopped")]
    Stopped,
}

impl From<raft::Error> for Error {
    fn from(error: raft::Error) -> Self {
        Self::Raft(Arc::new(error))
    }
}

impl From<raft_engine::Error> for Error {
    fn from(error: raft_engine::Error) -> Self {
        Self::Log(Arc::new(error))
    }
}

impl Error {
    /// Whether the error says only that the request came to the wrong place or at the wrong moment.
    pub fn is_about_routing(&self) -> bool {
        matches!(
            self,
            Self::NotLeader { .. }
                | Self::RegionNotFound(_)
                | Self::EpochNotMatch { .. }
                | Self::KeyNotInRegion { .. }
                | Self::PeerNotMatch { .. }
                | Self::StaleCommand
                | Self::ReadIndexNotReady(_)
                | Self::ProposalRefused(_)
                | Self::Merging(_)
        )
    }
}

//! What can go wrong in the placement driver.

use base::TimeStamp;

/// An error of the placement driver.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Its state could not be read or written.
    #[error("the placement driver's state: {0}")]
    Engine(#[from] engine::Error),
    /// Its state does not have the form it must have.
    #[error("the placement driver's state is damaged: {key} has {len} bytes")]
    Corrupted {
        /// The key.
        key: &'static str,
        /// Length of its value.
        len: usize,
    },
    /// A service asked for a safe point that garbage collection has passed.
    #[error("service {service} wants to keep versions from {wanted} on, but the safe point is {safe_point} already")]
    ServiceTooLate {
        /// The service.
        service: String,
        /// What it asked for.
        wanted: TimeStamp,
        /// The cluster's safe point.
        safe_point: TimeStamp,
    },
    /// The process is going down.
    #[error("the placement driver has stopped")]
    Stopped,
    /// No member leads, or the leader cannot reach a majority.
    #[error("no leader of the placement driver is known")]
    NoLeader,
    /// The caller believes in another cluster.
    #[error("cluster id {asked} is not this cluster's, which is {ours}")]
    WrongCluster {
        /// What the caller sent.
        asked: u64,
        /// The id of this cluster.
        ours: u64,
    },
    /// The cluster has no first store yet.
    #[error("cluster is not bootstrapped")]
    NotBootstrapped,
    /// The cluster has its first store already.
    #[error("cluster is bootstrapped already")]
    AlreadyBootstrapped,
    /// No such store.
    #[error("store {0} is not known")]
    StoreNotFound(u64),
    /// The store was removed for good.
    #[error("store {0} is a tombstone")]
    StoreTombstone(u64),
    /// Two stores with one address.
    #[error("address {address} is that of store {store_id} already")]
    DuplicateAddress {
        /// The address.
        address: String,
        /// The store that has it.
        store_id: u64,
    },
    /// A store cannot change in this way.
    #[error("store {store_id} cannot become {wanted} now: {reason}")]
    StoreState {
        /// The store.
        store_id: u64,
        /// The state asked for.
        wanted: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// No such region.
    #[error("region {0} is not known")]
    RegionNotFound(u64),
    /// No region with the key is known.
    #[error("no region is known for the key")]
    NoRegionForKey,
    /// The regions known leave a hole in a range that was to be covered.
    #[error("the known regions do not contain the whole range")]
    RegionsHaveHoles,
    /// News about a region that are older than what is known.
    #[error("news of region {region_id} are older than what is known of region {known_id}")]
    StaleRegion {
        /// The region they were about.
        region_id: u64,
        /// The region known.
        known_id: u64,
    },
    /// An operator cannot be made.
    #[error("region {region_id} cannot be scheduled: {reason}")]
    NotScheduled {
        /// The region.
        region_id: u64,
        /// Why.
        reason: &'static str,
    },
    /// No operator is or was under way.
    #[error("region {0} has no operator")]
    NoOperator(u64),
    /// A request without a part it must have, or with one that makes no sense.
    #[error("invalid request: {0}")]
    Invalid(&'static str),
    /// A member cannot be changed in this way.
    #[error("member {member}: {reason}")]
    Member {
        /// Name or id.
        member: String,
        /// Why not.
        reason: &'static str,
    },
    /// A file of the data directory cannot be read or written.
    #[error("{what} {path}: {source}")]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        source: std::sync::Arc<std::io::Error>,
    },
    /// A file of the data directory is damaged.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The log of the group cannot be read or written.
    #[error("the log of the placement driver: {0}")]
    Log(std::sync::Arc<raft_engine::Error>),
    /// The consensus library refuses.
    #[error("replication: {0}")]
    Raft(std::sync::Arc<raft::Error>),
    /// An address cannot be used.
    #[error("address {address:?}: {reason}")]
    Address {
        /// The address.
        address: String,
        /// Why not.
        reason: String,
    },
    /// Another member could not be reached.
    #[error("member at {url}: {status}")]
    Unreachable {
        /// Its address.
        url: String,
        /// What the connection said.
        status: String,
    },
}

impl From<raft::Error> for Error {
    fn from(error: raft::Error) -> Self {
        Self::Raft(std::sync::Arc::new(error))
    }
}

impl From<raft_engine::Error> for Error {
    fn from(error: raft_engine::Error) -> Self {
        Self::Log(std::sync::Arc::new(error))
    }
}

/// Result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

//! What keeps a store from starting or from reaching the placement driver. Errors of single requests travel in their answers: see `refusal`.

use std::sync::Arc;

/// The result of a node's own work.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a node.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The replicated store.
    #[error(transparent)]
    Raft(#[from] raftstore::Error),
    /// The transactional storage.
    #[error(transparent)]
    Txn(#[from] txn::Error),
    /// No member of the placement driver leads, or none answers.
    #[error("no placement driver answers at {endpoints}: {reason}")]
    NoPlacementDriver {
        /// Where it was looked for.
        endpoints: String,
        /// What the last one said.
        reason: String,
    },
    /// The placement driver refused.
    #[error("the placement driver refused {what}: {message} (error type {kind})")]
    Refused {
        /// What was asked.
        what: &'static str,
        /// Its kind of error, a number of the protocol.
        kind: i32,
        /// Its words.
        message: String,
    },
    /// An address that cannot be used.
    #[error("{address}: {reason}")]
    Address {
        /// The address.
        address: String,
        /// Why not.
        reason: String,
    },
    /// A file that cannot be used.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// What the operating system said.
        source: Arc<std::io::Error>,
    },
    /// The node is going down.
    #[error("the store has stopped")]
    Stopped,
}

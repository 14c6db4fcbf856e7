//! What can go wrong in the placement driver.

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
        wanted: base::TimeStamp,
        /// The cluster's safe point.
        safe_point: base::TimeStamp,
    },
    /// The process is going down.
    #[error("the placement driver has stopped")]
    Stopped,
}

/// Result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

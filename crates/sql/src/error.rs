//! What can keep a server from starting.

use std::net::SocketAddr;

/// An error of the server itself; errors of connections and statements end there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on {address} for {purpose}: {source}; {advice}")]
    Bind {
        /// What was asked for.
        address: SocketAddr,
        /// `MySQL clients` or `the status port`.
        purpose: &'static str,
        /// What the operating system said.
        source: std::io::Error,
        /// What to do about it.
        advice: &'static str,
    },
    /// The host of a listen address is no address.
    #[error("cannot listen on {host:?}: {source}")]
    Host {
        /// As configured.
        host: String,
        /// Why it could not be resolved.
        source: std::io::Error,
    },
    /// The system refuses threads for serving connections.
    #[error("cannot start a thread for serving connections: {source}; raise the limits of processes and open files")]
    Thread {
        /// What the operating system said.
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn bind(address: SocketAddr, purpose: &'static str, source: std::io::Error) -> Self {
        let advice = match source.kind() {
            std::io::ErrorKind::AddrInUse => "another process listens there; choose another port (--port, --status-port)",
            std::io::ErrorKind::PermissionDenied => "ports below 1024 need privileges; choose another port",
            std::io::ErrorKind::AddrNotAvailable => "this machine has no such address; choose another --host",
            _ => "check --host and the ports",
        };
        Self::Bind { address, purpose, source, advice }
    }
}

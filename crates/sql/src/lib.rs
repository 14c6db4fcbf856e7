//! The SQL server: accepts MySQL clients, runs their commands on sessions, answers; a status port beside it.
//!
//! ```text
//! accept ─► handshake (handshake.rs) ─► command loop (connection.rs) ─► session ─► rows (answer.rs) ─► socket
//!                                             ▲
//!                      KILL, shutdown ────────┘  per connection, never through a lock that all connections share
//! ```
//!
//! Invariants:
//! - One task a connection, on one event loop for life. A point query costs one read and one write system call on it, and no hop to another
//!   thread.
//! - Rows stream: at most one chunk and one send buffer of an answer are in memory; a slow reader stops its own query only.
//! - Shutdown refuses new statements at once, lets running ones finish within a bound, then cancels them.
//!
//! Left out on purpose: what a statement means (`session`), how packets look (`wire`).

mod answer;
mod commands;
mod connection;
mod error;
mod handshake;
mod metrics;
mod prepared;
mod server;
mod status;
mod throttle;
mod wakes;
mod workers;

pub use error::Error;
pub use metrics::Metrics;
pub use server::{Server, ServerConfig};
pub use status::StatusServer;
pub use workers::WorkerOptions;

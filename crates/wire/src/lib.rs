//! The MySQL client/server protocol, server side: packets, handshake, authentication, commands, results. No SQL.
//!
//! ```text
//!   Stream (socket or TLS) ── [frames] ── PacketReader ──► payload ──► Command / HandshakeResponse / execute parameters
//!   Stream (socket or TLS) ◄─ [frames] ◄─ PacketWriter ◄── payload ◄── OK, ERR, column definitions, text and binary rows
//!                             compressed, if agreed on
//! ```
//!
//! Invariants:
//! - Bytes from the network are never trusted: every decoder reads through [`cursor::Cursor`], which returns
//!   [`Error::Malformed`] instead of running past the end.
//! - The writer owns one buffer per connection. Nothing is sent before [`packet::PacketWriter::flush`], so a point query costs
//!   one `write` system call.
//! - Sequence numbers restart with every command and count the packets of both directions.
//!
//! Left out on purpose: everything that knows SQL.
//!
//! Source: MySQL 8.0 source documentation, "Client/Server Protocol".

pub mod auth;
pub mod command;
pub mod compression;
pub mod cursor;
mod error;
pub mod handshake;
pub mod packet;
pub mod params;
pub mod result;
mod row;
mod session_change;
mod stream;
pub mod tls;

pub use error::Error;
pub use mysql_common::constants::{CapabilityFlags, StatusFlags};
pub use result::ColumnDefinition;
pub use row::{write_binary_row, write_text_row};
pub use session_change::SessionChange;
pub use stream::Stream;

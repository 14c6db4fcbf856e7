//! Functions about the session and the server, user variables, control and network addresses.

mod network;
mod session;
mod uuid;
mod variables;

use super::{Builtin, Special};

/// The tables of this family.
pub(super) const TABLES: &[&[Builtin]] = &[session::TABLE, network::TABLE, uuid::TABLE];
/// Functions of this family that build themselves.
pub(super) const SPECIALS: &[&[Special]] = &[variables::SPECIALS, session::SPECIALS];

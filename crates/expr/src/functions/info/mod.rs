//! Functions about the session and the server, user variables, control, locks by name and network addresses.

mod network;
mod session;
mod user_locks;
mod uuid;
mod variables;

use super::{Builtin, Special};

/// The tables of this family.
pub(super) const TABLES: &[&[Builtin]] = &[session::TABLE, user_locks::TABLE, network::TABLE, uuid::TABLE];
/// Functions of this family that build themselves.
pub(super) const SPECIALS: &[&[Special]] = &[variables::SPECIALS, session::SPECIALS];

//! Date and time functions.

pub(crate) mod interval;

use super::{Builtin, Special};

/// The tables of this family.
pub(super) const TABLES: &[&[Builtin]] = &[];
/// Functions of this family that build themselves.
pub(super) const SPECIALS: &[&[Special]] = &[];

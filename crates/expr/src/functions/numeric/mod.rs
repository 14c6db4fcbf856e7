//! Numeric functions.

mod greatest;
mod math;
pub(crate) mod rand;
pub(crate) mod rounding;

use super::{Builtin, Special};

/// The tables of this family.
pub(super) const TABLES: &[&[Builtin]] = &[math::TABLE, rand::TABLE];
/// Functions of this family that build themselves.
pub(super) const SPECIALS: &[&[Special]] = &[math::SPECIALS, rounding::SPECIALS, greatest::SPECIALS];

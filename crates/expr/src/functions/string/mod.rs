//! String functions. Positions and lengths count characters of the string's character set, or bytes for binary strings.
//!
//! Bytes that are not valid UTF-8 count as one character each, so that no function can fail or panic on stored data.

pub(crate) mod aes;
mod build;
pub(crate) mod chars;
mod digest;
pub(crate) mod encode;
mod length;
pub(crate) mod regexp;
mod search;
mod substring;

use super::{Builtin, Special};

/// The tables of this family.
pub(super) const TABLES: &[&[Builtin]] =
    &[aes::TABLE, build::TABLE, digest::TABLE, encode::TABLE, length::TABLE, regexp::TABLE, search::TABLE, substring::TABLE];
/// Functions of this family that build themselves.
pub(super) const SPECIALS: &[&[Special]] = &[search::SPECIALS, encode::SPECIALS];

//! From a parsed statement to a physical plan: bind, rewrite, choose, emit.

pub mod physical;
pub mod range;

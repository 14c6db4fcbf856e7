//! Whole stores in one thread, seeded: regions are split and merged while clients write and read, stores die, messages are lost, and appliers
//! are slow.

#![allow(clippy::unwrap_used)]

mod merge;
mod split;
mod world;

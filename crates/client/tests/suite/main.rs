//! The client against a store in the process. One program, because each links all the crates below it.

#![allow(clippy::unwrap_used)]

mod cluster;
mod commit_protocols;
mod garbage_collection;
mod isolation;
mod lock_waiting;
mod pushed_down;
mod workloads;

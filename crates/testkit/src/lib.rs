//! Tools of the tests that run the real binary: server processes that can be killed, disks that lose power or are too small, networks that are cut, SQL
//! scripts, the check of recorded histories, random numbers that a failure can be repeated with.
//!
//! Waits are on conditions with a bound, never plain sleeps. Every server listens on a free loopback port and keeps its data in a
//! directory of its own; a test that fails keeps nothing running, because dropping a [`Server`] kills it.

mod disk;
pub mod history;
mod network;
mod random;
mod script;
mod server;

pub use disk::{Ext4Disk, SmallDisk, with_private_mounts};
pub use network::{Direction, Network, with_private_network};
pub use random::Random;
pub use script::{Connect, Matrix, run_scripts};
pub use server::{Server, ServerOptions, wait_until};

/// The MySQL client library the tests use.
pub use mysql;

//! What the system knows about processes, the machine and its disk.

pub mod machine;
pub mod process;
pub mod servers;
pub mod sync;

//! The vocabulary every other crate shares: ids as newtypes, keys and ranges, timestamps, and sizes/durations as they are written in configuration files.
//!
//! Nothing here does I/O, takes locks or knows SQL. A type belongs here only when crates of at least two layers need it.

mod id;
mod range;
mod readable;
mod timestamp;

pub use id::*;
pub use range::{KeyRange, prefix_end};
pub use readable::{ParseReadableError, ReadableDuration, ReadableSize};
pub use timestamp::TimeStamp;

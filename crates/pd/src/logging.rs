//! The consensus library logs through `slog`; its lines go where ours go.

use slog::{Drain, Level, Logger, OwnedKVList, Record};

struct ToTracing;

impl Drain for ToTracing {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), slog::Never> {
        match record.level() {
            Level::Critical | Level::Error => tracing::error!(target: "raft", "{}", record.msg()),
            Level::Warning => tracing::warn!(target: "raft", "{}", record.msg()),
            // What the library calls information is of interest to its developers.
            _ => tracing::debug!(target: "raft", "{}", record.msg()),
        }
        Ok(())
    }
}

/// A logger for a group.
pub(crate) fn raft_logger() -> Logger {
    Logger::root(ToTracing.fuse(), slog::o!())
}

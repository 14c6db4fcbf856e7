//! What every role does as a process: it asks for descriptors, waits for signals, says where it is and ends within a bound.

use std::{
    future::Future,
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use tokio::{
    runtime::Runtime,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{config::LogSection, logging};

/// Exit code of a process that stopped because its store failed.
pub const EXIT_STORE_FAILED: i32 = 3;

/// How long threads that are still busy may hold up the end of the process.
const THREADS_END_WITHIN: Duration = Duration::from_secs(2);

/// Starts logging and takes what the system allows.
pub fn prepare(log_level: &str, log: &LogSection) -> Result<()> {
    logging::start(log.level_under(log_level), &log.format)?;
    raise_descriptor_limit();
    Ok(())
}

/// Serves until `role` ends.
pub fn run(runtime: Runtime, role: impl Future<Output = Result<()>>) -> Result<()> {
    let served = runtime.block_on(role);
    runtime.shutdown_timeout(THREADS_END_WITHIN);
    served
}

/// Every connection takes a descriptor, and so does every table file.
fn raise_descriptor_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a pointer to a local variable of the type they want.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// What tells a process to stop.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Signals that come from now on do not end the process by themselves.
    pub fn listen() -> Result<Self> {
        let terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
        let interrupt = signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?;
        Ok(Self { terminate, interrupt })
    }

    /// The next signal's name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// Puts the flags that were given over the file's settings.
pub fn override_settings<const N: usize>(flags: [(&Option<String>, &mut String); N]) {
    for (flag, setting) in flags {
        if let Some(value) = flag {
            setting.clone_from(value);
        }
    }
}

/// Tells whoever started the process that it is ready. They may have closed its output: that is no reason not to serve.
pub fn announce(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
    let _ = std::io::stdout().flush();
}

/// A directory as it is shown: absolute, wherever the process was started.
pub fn shown(directory: &Path) -> PathBuf {
    std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned())
}

/// What is said behind the data directory of a store that may lose commits.
pub fn durability_note(sync_log: bool) -> &'static str {
    if sync_log { "" } else { " (relaxed durability: sync-log = false)" }
}

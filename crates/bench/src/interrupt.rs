//! Ctrl-C and SIGTERM: what has been started is stopped, what has been measured is kept.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crate::Error;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From now on signals are noted instead of ending the process; a second one ends it.
pub fn listen() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: all zeros is a valid value of the structure, its handler only stores to an atomic, and the flag takes the handler away after
        // the first signal.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as *const () as usize;
            action.sa_flags = libc::SA_RESETHAND;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// An error once a signal has come.
pub fn check() -> Result<(), Error> {
    if INTERRUPTED.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
}

/// Sleeps, but not through a signal.
pub fn sleep(time: Duration) -> Result<(), Error> {
    let end = Instant::now() + time;
    loop {
        check()?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}

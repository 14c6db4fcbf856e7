//! What only the session can do for a running statement's functions: wait (SLEEP), say whether it was told to stop, take locks by name.

use std::{
    future::Future as _,
    sync::Arc,
    task::{Context, Wake, Waker},
    thread::Thread,
    time::{Duration, Instant},
};

use env::CancelToken;
use expr::{LockWait, StatementHost};

use crate::user_locks::UserLocks;

/// The host of one connection's statements.
pub(crate) struct Host {
    pub cancel: CancelToken,
    /// The connection that has the locks by name.
    pub connection: u64,
    pub locks: Arc<UserLocks>,
}

impl StatementHost for Host {
    fn sleep(&self, duration: Duration) -> bool {
        // Statements that wait have a thread of their own, which may be parked.
        let thread = Waker::from(Arc::new(Unpark(std::thread::current())));
        // Not counted as work of the task: whoever has used its share up must not be told to come back at once.
        let mut told = std::pin::pin!(tokio::task::unconstrained(self.cancel.cancelled()));
        let end = Instant::now() + duration;
        loop {
            if told.as_mut().poll(&mut Context::from_waker(&thread)).is_ready() {
                return true;
            }
            match end.checked_duration_since(Instant::now()) {
                None | Some(Duration::ZERO) => return false,
                Some(left) => std::thread::park_timeout(left),
            }
        }
    }

    fn is_interrupted(&self) -> bool {
        self.cancel.check().is_err()
    }

    fn get_lock(&self, name: &str, timeout: Option<Duration>) -> LockWait {
        self.locks.get(self.connection, name, timeout, &|| self.is_interrupted())
    }

    fn release_lock(&self, name: &str) -> Option<bool> {
        self.locks.release(self.connection, name)
    }

    fn release_all_locks(&self) -> u64 {
        self.locks.release_all(self.connection)
    }

    fn lock_owner(&self, name: &str) -> Option<u64> {
        self.locks.owner(name)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.locks.release_all(self.connection);
    }
}

/// Wakes a parked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

//! What only the session can do for a running statement's functions: wait (SLEEP), and say whether it was told to stop.

use std::{
    future::Future as _,
    sync::Arc,
    task::{Context, Wake, Waker},
    thread::Thread,
    time::{Duration, Instant},
};

use env::CancelToken;
use expr::StatementHost;

/// The host of one connection's statements.
pub(crate) struct Host {
    pub cancel: CancelToken,
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
}

/// Wakes a parked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

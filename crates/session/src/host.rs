//! What only the session can do for a running statement's functions: wait (SLEEP), and say whether it was told to stop.

use std::time::Duration;

use env::CancelToken;
use expr::StatementHost;

/// The host of one connection's statements.
pub(crate) struct Host {
    pub cancel: CancelToken,
}

impl StatementHost for Host {
    fn sleep(&self, duration: Duration) -> bool {
        // The other tasks of this worker move to another thread meanwhile.
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                tokio::select! {
                    () = tokio::time::sleep(duration) => false,
                    _ = self.cancel.cancelled() => true,
                }
            })
        })
    }

    fn is_interrupted(&self) -> bool {
        self.cancel.check().is_err()
    }
}

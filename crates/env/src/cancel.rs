//! Cancellation of a running statement: every operator, scan and wait looks at its token.
//!
//! One token belongs to one statement (or to a connection, which then clones it into every statement it starts). It goes
//! from "running" to "cancelled with a reason" once and never back; the first reason stays.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use tokio::sync::Notify;

/// Why a statement is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CancelReason {
    /// `KILL QUERY`: the statement ends, the connection stays.
    KillQuery = 1,
    /// `KILL [CONNECTION]`: the connection ends.
    KillConnection = 2,
    /// The statement ran longer than `max_execution_time` allows.
    Timeout = 3,
    /// The client has gone away.
    Disconnected = 4,
    /// The server is stopping.
    Shutdown = 5,
    /// The statement took more memory than its quota.
    MemoryQuota = 6,
}

impl CancelReason {
    fn from_u8(value: u8) -> Option<Self> {
        Some(match value {
            1 => Self::KillQuery,
            2 => Self::KillConnection,
            3 => Self::Timeout,
            4 => Self::Disconnected,
            5 => Self::Shutdown,
            6 => Self::MemoryQuota,
            _ => return None,
        })
    }
}

/// The work was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled(pub CancelReason);

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cancelled: {:?}", self.0)
    }
}

impl std::error::Error for Cancelled {}

/// Tells a statement to stop; cheap to clone and to look at. The default token can never be cancelled.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Option<Arc<State>>);

#[derive(Debug, Default)]
struct State {
    reason: AtomicU8,
    cancelled: Notify,
}

impl CancelToken {
    /// A token that can be cancelled.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// A token that can never be cancelled.
    pub const fn never() -> Self {
        Self(None)
    }

    /// Cancels; the first reason stays. Returns whether this call was the first.
    pub fn cancel(&self, reason: CancelReason) -> bool {
        let Some(state) = &self.0 else { return false };
        let first = state.reason.compare_exchange(0, reason as u8, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if first {
            state.cancelled.notify_waiters();
        }
        first
    }

    /// Makes the token usable for the connection's next statement, unless the whole connection is to end.
    ///
    /// Only for the owner of a connection's token, between statements: `KILL QUERY` must not hit the statement after.
    pub fn reset(&self) {
        if let Some(state) = &self.0 {
            for reason in [CancelReason::KillQuery, CancelReason::Timeout, CancelReason::MemoryQuota] {
                // Fails when the reason is another one, which is the intent.
                let _ = state.reason.compare_exchange(reason as u8, 0, Ordering::AcqRel, Ordering::Acquire);
            }
        }
    }

    /// Why the work is to stop, if it is.
    pub fn reason(&self) -> Option<CancelReason> {
        self.0.as_ref().and_then(|state| CancelReason::from_u8(state.reason.load(Ordering::Acquire)))
    }

    /// `Err` once cancelled.
    pub fn check(&self) -> Result<(), Cancelled> {
        self.reason().map_or(Ok(()), |reason| Err(Cancelled(reason)))
    }

    /// Completes when the token is cancelled; never, for a token that cannot be.
    pub async fn cancelled(&self) -> CancelReason {
        let Some(state) = &self.0 else { return std::future::pending().await };
        loop {
            let notified = state.cancelled.notified();
            tokio::pin!(notified);
            // Registered before the reason is read, so that a cancellation in between is not missed.
            notified.as_mut().enable();
            if let Some(reason) = self.reason() {
                return reason;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_stays_and_wakes_waiters() {
        let token = CancelToken::new();
        let waiter = tokio::spawn({
            let token = token.clone();
            async move { token.cancelled().await }
        });
        assert!(token.check().is_ok());
        assert!(token.cancel(CancelReason::KillQuery));
        assert!(!token.cancel(CancelReason::Shutdown));
        assert_eq!(waiter.await.unwrap(), CancelReason::KillQuery);
        assert_eq!(token.check(), Err(Cancelled(CancelReason::KillQuery)));
    }

    #[test]
    fn reset_forgives_a_killed_query_but_not_a_killed_connection() {
        let token = CancelToken::new();
        token.cancel(CancelReason::KillQuery);
        token.reset();
        assert!(token.check().is_ok());
        token.cancel(CancelReason::KillConnection);
        token.reset();
        assert!(token.check().is_err());
        assert!(!CancelToken::never().cancel(CancelReason::Shutdown));
    }
}

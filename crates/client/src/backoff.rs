//! Waiting between attempts: exponential, with jitter, bounded by a total, a deadline and a cancel token.

use std::time::Duration;

use env::{CancelReason, CancelToken, Env, Instant};

use crate::error::{Error, Result};

const FIRST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(200);

/// State of one retried operation.
#[derive(Debug)]
pub(crate) struct Backoff<'a> {
    env: &'a Env,
    cancel: &'a CancelToken,
    deadline: Option<Instant>,
    next: Duration,
    spent: Duration,
    budget: Duration,
}

impl<'a> Backoff<'a> {
    pub(crate) fn new(env: &'a Env, cancel: &'a CancelToken, deadline: Option<Instant>, budget: Duration) -> Self {
        Self { env, cancel, deadline, next: FIRST, spent: Duration::ZERO, budget }
    }

    /// `Err` if the operation was cancelled or is out of time.
    pub(crate) fn check(&self) -> Result<()> {
        self.cancel.check()?;
        if self.deadline.is_some_and(|deadline| self.env.now() >= deadline) {
            return Err(Error::Cancelled(CancelReason::Timeout));
        }
        Ok(())
    }

    /// Waits before the next attempt; `false` when the budget is used up.
    pub(crate) async fn wait(&mut self) -> Result<bool> {
        self.check()?;
        if self.spent >= self.budget {
            return Ok(false);
        }
        // Half fixed, half random, so that those who collided do not collide again.
        let half = self.next / 2;
        let jitter = Duration::from_nanos(self.env.random() % (half.as_nanos().max(1) as u64));
        let mut pause = half + jitter;
        if let Some(deadline) = self.deadline {
            pause = pause.min(deadline.since(self.env.now()));
        }
        tokio::select! {
            () = self.env.sleep(pause) => {}
            reason = self.cancel.cancelled() => return Err(Error::Cancelled(reason)),
        }
        self.spent += pause;
        self.next = (self.next * 2).min(LONGEST);
        self.check()?;
        Ok(true)
    }
}

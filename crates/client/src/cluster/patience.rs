//! How long one operation goes on trying, and how long it rests between two attempts.
//!
//! Pauses grow from [`FIRST`] to [`LONGEST`], half of each random, so that those who met at one store do not meet there again. The time for all
//! attempts together is longer than the election of a new leader takes.

use std::time::Duration;

use env::{Env, Instant};

use crate::error::{Error, Result};

const FIRST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_millis(250);
/// Time for one operation.
const LIMIT: Duration = Duration::from_secs(30);

/// State of one operation that is tried again and again.
#[derive(Clone)]
pub(super) struct Patience {
    env: Env,
    began: Instant,
    until: Instant,
    next: Duration,
    attempts: u32,
    unanswered: bool,
}

impl Patience {
    pub(super) fn new(env: &Env) -> Self {
        let began = env.now();
        Self { env: env.clone(), began, until: began + LIMIT, next: FIRST, attempts: 0, unanswered: false }
    }

    /// When the first attempt was made.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// Attempts that have failed.
    pub(super) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// A request was sent, and may have been carried out, but no answer came.
    pub(super) fn note_unanswered(&mut self) {
        self.unanswered = true;
    }

    /// Counts a failed attempt that taught where to ask next: no rest is needed.
    pub(super) fn go_on(&mut self, reason: &str) -> Result<()> {
        self.attempts += 1;
        match self.env.now() >= self.until {
            true => Err(Error::StoreUnavailable { reason: reason.to_owned(), unanswered: self.unanswered }),
            false => Ok(()),
        }
    }

    /// Rests before the next attempt, at least for `least`; an error when the time for the operation is over.
    pub(super) async fn pause(&mut self, least: Duration, reason: &str) -> Result<()> {
        self.go_on(reason)?;
        let half = self.next / 2;
        let jitter = Duration::from_nanos(self.env.random() % (half.as_nanos().max(1) as u64));
        self.env.sleep((half + jitter).max(least)).await;
        self.next = (self.next * 2).min(LONGEST);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use env::{ManualClock, SeededRng, TokioSpawn};

    use super::*;

    #[test]
    fn who_gives_up_says_whether_something_may_have_been_done() {
        let clock = ManualClock::new(1_000_000);
        let env = Env::new(Arc::new(clock.clone()), Arc::new(SeededRng::new(1)), Arc::new(TokioSpawn));
        let mut patience = Patience::new(&env);
        assert!(patience.go_on("not the leader").is_ok());
        let mut sent = patience.clone();
        sent.note_unanswered();
        clock.advance(LIMIT);
        assert!(matches!(patience.go_on("gone"), Err(Error::StoreUnavailable { unanswered: false, .. })));
        assert!(matches!(sent.go_on("gone"), Err(Error::StoreUnavailable { unanswered: true, .. })));
        assert_eq!(sent.attempts(), 2);
    }
}

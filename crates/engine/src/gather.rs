//! How long the commit thread lets a group gather.
//!
//! ```text
//!   group of 3 synced, 5 wait ──▶ 8 clients are about: the 3 are told, and come back in a moment
//!   without gathering: 5, 3, 5, 3 … a sync each          with it: 8, 8, 8 …
//! ```
//!
//! A sync costs the same for one commit as for a hundred, and so does waking everybody it concerns. Those who were told last will often commit
//! again at once, so the thread waits for them: for at most half of what a sync takes, and less each time they did not come. A client that
//! is alone is never waited for.
//!
//! Invariant: the wait is at most [`LONGEST`], whatever was learnt.

use std::time::Duration;

/// No commit waits longer for others.
const LONGEST: Duration = Duration::from_micros(500);
/// Below this a wait is not worth its two switches of threads.
const SHORTEST: Duration = Duration::from_micros(20);
/// After so many groups that were not waited for, waiting is tried again.
const TRY_AGAIN: u32 = 64;

/// What the last groups taught.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    /// Commits that are expected: of those just told and those that waited meanwhile.
    expected: usize,
    /// Mean time of a sync.
    sync: Duration,
    /// How long to wait; zero: not at all.
    patience: Duration,
    /// Groups since the last wait.
    idle: u32,
}

impl Gather {
    /// A group was written and synced in `took`, and its members told; `waiting` others had gathered by then.
    pub(crate) fn written(&mut self, members: usize, waiting: usize, took: Duration) {
        self.expected = members + waiting;
        self.sync = if self.sync.is_zero() { took } else { (self.sync * 7 + took) / 8 };
    }

    /// With `here` commits gathered: how many to wait for, and how long.
    pub(crate) fn wait_for(&mut self, here: usize) -> Option<(usize, Duration)> {
        if here >= self.expected {
            return None;
        }
        if self.patience < SHORTEST {
            self.idle += 1;
            if self.idle < TRY_AGAIN {
                return None;
            }
            self.patience = SHORTEST * 2;
        }
        self.idle = 0;
        Some((self.expected, self.patience))
    }

    /// The wait that began with `before` commits of the expected ended with `here`.
    pub(crate) fn waited(&mut self, before: usize, here: usize) {
        let came = here.saturating_sub(before);
        let missing = self.expected.saturating_sub(before);
        self.patience = if came * 2 >= missing { (self.patience * 2).min(self.sync / 2).min(LONGEST) } else { self.patience / 2 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: Duration = Duration::from_micros(400);

    /// Groups of `clients` that all come back while the thread waits.
    fn settle(gather: &mut Gather, clients: usize) {
        for _ in 0..TRY_AGAIN * 2 {
            gather.written(clients / 2, clients - clients / 2, SYNC);
            if gather.wait_for(clients - clients / 2).is_some() {
                gather.waited(clients - clients / 2, clients);
            }
        }
    }

    #[test]
    fn a_client_that_is_alone_is_not_waited_for() {
        let mut gather = Gather::default();
        for _ in 0..TRY_AGAIN * 2 {
            gather.written(1, 0, SYNC);
            assert_eq!(gather.wait_for(1), None);
        }
    }

    #[test]
    fn clients_that_come_back_are_waited_for_up_to_half_a_sync() {
        let mut gather = Gather::default();
        settle(&mut gather, 8);
        gather.written(3, 5, SYNC);
        assert_eq!(gather.wait_for(5), Some((8, SYNC / 2)));
        gather.written(8, 0, Duration::from_secs(1));
        gather.waited(1, 8);
        assert!(gather.wait_for(1).is_some_and(|(_, patience)| patience <= LONGEST));
    }

    #[test]
    fn clients_that_think_are_soon_not_waited_for() {
        let mut gather = Gather::default();
        settle(&mut gather, 8);
        let mut waits = 0;
        for _ in 0..TRY_AGAIN {
            gather.written(4, 1, SYNC);
            if gather.wait_for(1).is_some() {
                waits += 1;
                gather.waited(1, 1);
            }
        }
        assert!((1..8).contains(&waits), "{waits}");
    }
}

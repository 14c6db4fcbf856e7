//! How long the commit thread lets a group gather.
//!
//! ```text
//!   group of 3 synced, 5 wait ──▶ 8 clients are about: the 3 are told, and come back in a moment
//!   without gathering: 5, 3, 5, 3 … a sync each          with it: 8, 8, 8 …
//! ```
//!
//! A sync costs the same for one commit as for a hundred, and so does waking everybody it concerns. Those who were told last will often commit
//! again at once, so the thread waits for them, as long as more commits are made that way: to have waited `w` for `c` more beside `h` that were
//! here, when a sync takes `s`, pays where
//!
//! ```text
//!   (h + c) / (s + w) ≥ h / s        that is        c · s ≥ h · w
//! ```
//!
//! A wait that did not pay makes the next one half as long, until there is none; now and then waiting is tried again. A client that is alone is
//! never waited for.
//!
//! Invariant: the wait is at most a sync long, and at most [`LONGEST`], whatever was learnt.

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
            self.patience = self.limit();
        }
        self.idle = 0;
        Some((self.expected, self.patience))
    }

    /// The wait that began with `before` commits of the expected took so long and ended with `here`.
    pub(crate) fn waited(&mut self, before: usize, here: usize, took: Duration) {
        let came = here.saturating_sub(before);
        let pays = self.sync.as_nanos() * came as u128 >= took.as_nanos() * before as u128;
        self.patience = if pays { self.limit() } else { self.patience / 2 };
    }

    fn limit(&self) -> Duration {
        self.sync.min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: Duration = Duration::from_micros(400);
    const MOMENT: Duration = Duration::from_micros(200);

    /// Groups of `clients`, half of which are told while the others wait, and come back `after` that.
    fn settle(gather: &mut Gather, clients: usize, after: Duration) -> Option<(usize, Duration)> {
        let mut last = None;
        for _ in 0..TRY_AGAIN * 2 {
            gather.written(clients / 2, clients - clients / 2, SYNC);
            last = gather.wait_for(clients - clients / 2);
            if let Some((_, patience)) = last {
                let here = if after <= patience { clients } else { clients - clients / 2 };
                gather.waited(clients - clients / 2, here, after.min(patience));
            }
        }
        last
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
    fn clients_that_come_back_in_time_are_waited_for() {
        assert_eq!(settle(&mut Gather::default(), 8, MOMENT), Some((8, SYNC)));
        assert_eq!(settle(&mut Gather::default(), 8, SYNC * 2), None);
        let mut gather = Gather::default();
        settle(&mut gather, 8, MOMENT);
        gather.written(8, 0, Duration::from_secs(1));
        gather.waited(1, 8, MOMENT);
        assert_eq!(gather.wait_for(1), Some((8, LONGEST)));
    }

    #[test]
    fn few_who_come_late_are_not_worth_the_wait_of_many() {
        let mut gather = Gather::default();
        settle(&mut gather, 8, MOMENT);
        let mut waits = 0;
        for _ in 0..TRY_AGAIN {
            gather.written(2, 6, SYNC);
            if gather.wait_for(6).is_some() {
                waits += 1;
                gather.waited(6, 7, MOMENT);
            }
        }
        assert!((1..8).contains(&waits), "{waits}");
    }
}

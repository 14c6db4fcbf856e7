//! Schedulers: each looks at the whole cluster and wants one small thing done.
//!
//! | name | wants |
//! |---|---|
//! | `balance-leader-scheduler` | as many leaders on each store |
//! | `balance-region-scheduler` | as much data on each store |
//! | `balance-hot-region-scheduler` | as much load on each store |
//! | `evict-leader-scheduler` | no leaders on the stores named, nor on those that refuse writes |
//!
//! A scheduler that finds nothing to do is asked less and less often, up to every few seconds: an idle cluster costs nothing.

mod balance_leader;
mod balance_region;
mod evict_leader;
mod hot_region;
pub mod scatter;

use std::time::Duration;

use env::Instant;

use super::{
    hot::HotCache,
    operator::{Operator, OperatorKind},
    view::{Dice, IdPool, View},
};

/// Pause after a scheduler found something.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause of one that finds nothing.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// One scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// As many leaders on each store.
    BalanceLeader,
    /// As much data on each store.
    BalanceRegion,
    /// As much load on each store.
    HotRegion,
    /// No leaders on some stores.
    EvictLeader,
}

impl Scheduler {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::EvictLeader, Self::HotRegion, Self::BalanceLeader, Self::BalanceRegion];

    /// The name operators know.
    pub fn name(self) -> &'static str {
        match self {
            Self::BalanceLeader => "balance-leader-scheduler",
            Self::BalanceRegion => "balance-region-scheduler",
            Self::HotRegion => "balance-hot-region-scheduler",
            Self::EvictLeader => "evict-leader-scheduler",
        }
    }

    /// What its operators are counted as.
    pub fn kind(self) -> OperatorKind {
        match self {
            Self::BalanceLeader | Self::EvictLeader => OperatorKind::Leader,
            Self::BalanceRegion => OperatorKind::Region,
            Self::HotRegion => OperatorKind::HotRegion,
        }
    }

    /// What it wants done now.
    pub fn schedule(self, view: &View<'_>, hot: &HotCache, ids: &mut IdPool, dice: &mut Dice) -> Option<Operator> {
        match self {
            Self::BalanceLeader => balance_leader::schedule(view, dice),
            Self::BalanceRegion => balance_region::schedule(view, ids, dice),
            Self::HotRegion => hot_region::schedule(view, hot, ids),
            Self::EvictLeader => evict_leader::schedule(view, dice),
        }
    }
}

/// A scheduler and when it is asked next.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The scheduler.
    pub scheduler: Scheduler,
    next: Instant,
    pause: Duration,
    /// Somebody wants nothing of it until then.
    halted_until: Option<Instant>,
}

impl Slot {
    /// A scheduler that is asked at once.
    pub fn new(scheduler: Scheduler, now: Instant) -> Self {
        Self { scheduler, next: now, pause: MIN_PAUSE, halted_until: None }
    }

    /// Whether it is time to ask.
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next && !self.is_halted(now)
    }

    /// Does not ask until `until`; with `None` it asks again.
    pub fn halt(&mut self, until: Option<Instant>) {
        self.halted_until = until;
    }

    /// Whether it is not asked because somebody wanted it so.
    pub fn is_halted(&self, now: Instant) -> bool {
        self.halted_until.is_some_and(|until| now < until)
    }

    /// Something has changed that concerns it: it is asked at once.
    pub fn wake(&mut self, now: Instant) {
        *self = Self::new(self.scheduler, now);
    }

    /// Notes whether it found something.
    pub fn asked(&mut self, found: bool, now: Instant) {
        self.pause = if found { MIN_PAUSE } else { (self.pause * 13 / 10).min(MAX_PAUSE) };
        self.next = now + self.pause;
    }
}

/// Random picks from a set until one suits, a few times.
fn pick<T>(set: &indexmap::IndexSet<u64>, dice: &mut Dice, mut suits: impl FnMut(u64) -> Option<T>) -> Option<T> {
    const TRIES: usize = 10;
    if set.len() <= TRIES {
        let begin = if set.is_empty() { return None } else { dice.below(set.len()) };
        return (0..set.len()).find_map(|n| suits(set[(begin + n) % set.len()]));
    }
    (0..TRIES).find_map(|_| suits(set[dice.below(set.len())]))
}

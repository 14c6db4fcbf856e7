//! What the leading member sees of a store: when it was heard of, what it reported, and how much more may be put on it.
//!
//! | health | silent for | what follows |
//! |---|---|---|
//! | `Up` | less than 20 s | |
//! | `Disconnected` | 20 s | it is given no leaders and no replicas |
//! | `Down` | `max-store-down-time` | its replicas are made anew elsewhere |
//!
//! Silence is counted from the moment this member began to lead at the earliest: nobody is blamed for what a predecessor heard.

use std::time::Duration;

use env::Instant;
use proto::{
    metapb::{Store, StoreState},
    pdpb::StoreStats,
};

use super::config::ScheduleConfig;

/// Silence after which a store is not counted on.
const DISCONNECTED_AFTER: Duration = Duration::from_secs(20);

/// Whether a store is heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It reports.
    Up,
    /// It has been silent for a while.
    Disconnected,
    /// It has been silent for so long that it is not waited for.
    Down,
}

/// A store as the leading member sees it.
#[derive(Clone, Debug)]
pub struct LiveStore {
    /// What it reported last.
    pub stats: StoreStats,
    /// When it did.
    pub last_heartbeat: Option<Instant>,
    /// When this member began to listen.
    known_since: Instant,
    /// Replicas it may be given or relieved of at once; grows with time.
    budget: f64,
    budget_at: Instant,
}

impl LiveStore {
    /// A store not heard of yet.
    pub fn new(now: Instant) -> Self {
        Self { stats: StoreStats::default(), last_heartbeat: None, known_since: now, budget: f64::INFINITY, budget_at: now }
    }

    /// Takes in a heartbeat.
    pub fn heard(&mut self, stats: StoreStats, now: Instant) {
        self.stats = stats;
        self.last_heartbeat = Some(now);
    }

    /// For how long the store has been silent.
    pub fn silence(&self, now: Instant) -> Duration {
        now.since(self.last_heartbeat.unwrap_or(self.known_since))
    }

    /// Whether the store is heard of.
    pub fn health(&self, now: Instant, max_down_time: Duration) -> Health {
        match self.silence(now) {
            silence if silence >= max_down_time => Health::Down,
            silence if silence >= DISCONNECTED_AFTER => Health::Disconnected,
            _ => Health::Up,
        }
    }

    /// Share of the disk that is in use; 0 where it is not known.
    pub fn used_ratio(&self) -> f64 {
        if self.stats.capacity == 0 { 0.0 } else { 1.0 - self.stats.available as f64 / self.stats.capacity as f64 }
    }

    /// Whether the store can spare the work of one more replica now, given `per_minute` of them.
    pub fn has_budget(&self, now: Instant, per_minute: f64) -> bool {
        self.budget_now(now, per_minute) >= 1.0
    }

    fn budget_now(&self, now: Instant, per_minute: f64) -> f64 {
        let earned = now.since(self.budget_at).as_secs_f64() / 60.0 * per_minute;
        (self.budget + earned).min(per_minute)
    }

    /// Takes the work of one replica of `weight` mebibytes off the budget; small ones cost less.
    pub fn spend(&mut self, weight: u64, now: Instant, per_minute: f64) {
        self.budget = self.budget_now(now, per_minute) - if weight < 20 { 0.2 } else { 1.0 };
        self.budget_at = now;
    }

    /// Whether it may be given more replicas, as far as its reports and settings go.
    pub fn can_take_replicas(&self, meta: &Store, pending: u64, now: Instant, config: &ScheduleConfig) -> bool {
        let stats = &self.stats;
        meta.state() == StoreState::Up
            && self.health(now, config.max_store_down_time.0) == Health::Up
            && self.last_heartbeat.is_some()
            && !stats.is_busy
            && !stats.is_stopping
            && u64::from(stats.sending_snap_count) <= config.max_snapshot_count
            && u64::from(stats.receiving_snap_count) <= config.max_snapshot_count
            && u64::from(stats.applying_snap_count) <= config.max_snapshot_count
            && pending <= config.max_pending_peer_count
            && self.used_ratio() <= config.low_space_ratio
    }

    /// Whether it lives and has said that it refuses writes.
    pub fn refuses_writes(&self, now: Instant, config: &ScheduleConfig) -> bool {
        self.stats.is_busy && self.health(now, config.max_store_down_time.0) == Health::Up
    }

    /// Whether it may be given leaders.
    pub fn can_take_leaders(&self, meta: &Store, now: Instant, config: &ScheduleConfig) -> bool {
        meta.state() == StoreState::Up
            && self.last_heartbeat.is_some()
            && self.health(now, config.max_store_down_time.0) == Health::Up
            && !self.stats.is_busy
            && !self.stats.is_stopping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant(Duration::from_secs(seconds))
    }

    #[test]
    fn a_silent_store_is_first_disconnected_then_down() {
        let mut store = LiveStore::new(at(100));
        let health = |store: &LiveStore, seconds| store.health(at(seconds), Duration::from_secs(1800));
        assert_eq!((health(&store, 110), health(&store, 121)), (Health::Up, Health::Disconnected));
        store.heard(StoreStats::default(), at(121));
        assert_eq!((health(&store, 130), health(&store, 121 + 1800)), (Health::Up, Health::Down));
    }

    #[test]
    fn a_budget_is_spent_and_comes_back_with_time() {
        let mut store = LiveStore::new(at(0));
        for _ in 0..60 {
            assert!(store.has_budget(at(0), 60.0));
            store.spend(96, at(0), 60.0);
        }
        assert!(!store.has_budget(at(0), 60.0));
        assert!(store.has_budget(at(1), 60.0));
    }

    #[test]
    fn a_store_that_is_full_busy_or_silent_is_given_nothing() {
        let config = ScheduleConfig::default();
        let meta = Store { id: 1, ..Store::default() };
        let mut store = LiveStore::new(at(0));
        let good = StoreStats { capacity: 100, available: 50, ..StoreStats::default() };
        store.heard(good.clone(), at(0));
        assert!(store.can_take_replicas(&meta, 0, at(1), &config) && store.can_take_leaders(&meta, at(1), &config));
        assert!(!store.can_take_replicas(&meta, 65, at(1), &config));
        assert!(!store.can_take_leaders(&meta, at(30), &config));
        store.heard(StoreStats { available: 10, ..good.clone() }, at(0));
        assert!(!store.can_take_replicas(&meta, 0, at(1), &config) && store.can_take_leaders(&meta, at(1), &config));
        store.heard(StoreStats { is_busy: true, ..good }, at(0));
        assert!(!store.can_take_leaders(&meta, at(1), &config));
    }
}

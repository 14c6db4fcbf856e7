//! Time: a monotonic clock for timeouts and deadlines, a wall clock for timestamps, and sleeping.

use std::{ops, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::spawn::BoxFuture;

/// A point of the monotonic clock: time since the clock was made. Only differences of one clock's instants mean anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub Duration);

impl Instant {
    /// A deadline that never comes.
    pub const FAR_FUTURE: Self = Self(Duration::MAX);

    /// Time from `earlier` to here; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl ops::Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

/// Source of time.
pub trait Clock: Send + Sync + 'static {
    /// The monotonic clock.
    fn now(&self) -> Instant;

    /// The wall clock, milliseconds since the Unix epoch; may jump in either direction.
    fn wall_ms(&self) -> u64;

    /// Completes once `duration` has passed on the monotonic clock.
    fn sleep(&self, duration: Duration) -> BoxFuture<()>;
}

/// The operating system's clocks and tokio's timer.
#[derive(Debug)]
pub struct SystemClock {
    origin: std::time::Instant,
}

impl SystemClock {
    /// A clock whose monotonic part starts now.
    pub fn new() -> Self {
        Self { origin: std::time::Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant(self.origin.elapsed())
    }

    fn wall_ms(&self) -> u64 {
        // A clock set before 1970 reads as zero; the timestamp oracle copes with any value.
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// A clock that moves only when told to; wall and monotonic time can be moved apart.
#[derive(Clone, Debug)]
pub struct ManualClock {
    state: Arc<ManualState>,
}

#[derive(Debug)]
struct ManualState {
    /// Monotonic time, wall milliseconds.
    time: Mutex<(Instant, u64)>,
    moved: Notify,
}

impl ManualClock {
    /// A clock that stands at `wall_ms`.
    pub fn new(wall_ms: u64) -> Self {
        Self { state: Arc::new(ManualState { time: Mutex::new((Instant::default(), wall_ms)), moved: Notify::new() }) }
    }

    /// Lets `duration` pass on both clocks.
    pub fn advance(&self, duration: Duration) {
        {
            let mut time = self.state.time.lock();
            time.0 = time.0 + duration;
            time.1 += duration.as_millis() as u64;
        }
        self.state.moved.notify_waiters();
    }

    /// Sets the wall clock, as an operator or a time daemon would; the monotonic clock stays.
    pub fn set_wall_ms(&self, wall_ms: u64) {
        self.state.time.lock().1 = wall_ms;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.state.time.lock().0
    }

    fn wall_ms(&self) -> u64 {
        self.state.time.lock().1
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        let state = self.state.clone();
        let until = self.now() + duration;
        Box::pin(async move {
            loop {
                let moved = state.moved.notified();
                tokio::pin!(moved);
                // Registered before the clock is read, so that a move in between is not missed.
                moved.as_mut().enable();
                if state.time.lock().0 >= until {
                    return;
                }
                moved.await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn manual_sleep_ends_when_the_clock_is_moved_past_it() {
        let clock = ManualClock::new(1000);
        let sleeper = tokio::spawn(clock.sleep(Duration::from_millis(50)));
        clock.advance(Duration::from_millis(60));
        sleeper.await.unwrap();
        assert_eq!(clock.wall_ms(), 1060);
        clock.set_wall_ms(5);
        assert_eq!(clock.wall_ms(), 5);
        assert_eq!(clock.now(), Instant(Duration::from_millis(60)));
    }
}

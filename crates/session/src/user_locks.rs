//! The named locks of GET_LOCK: one table a server, locks that belong to connections and may be taken several times.
//!
//! Invariants: a lock is in the table exactly while somebody has it; a connection waits for at most one lock; no circle of connections waits.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use expr::LockWait;
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;

/// How long a waiter sleeps before it looks whether its statement was told to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Who has a lock, and how often it was taken.
#[derive(Clone, Copy, Debug)]
struct Held {
    owner: u64,
    times: u64,
}

#[derive(Debug, Default)]
struct State {
    held: FxHashMap<Arc<str>, Held>,
    /// The lock each waiting connection waits for.
    waiting: FxHashMap<u64, Arc<str>>,
}

impl State {
    /// Whether `connection`, waiting for the lock, would close a circle.
    fn would_deadlock(&self, connection: u64, name: &str) -> bool {
        let mut owner = self.held.get(name).map(|held| held.owner);
        // Without circles no chain is longer than there are waiters.
        for _ in 0..=self.waiting.len() {
            match owner {
                Some(owner) if owner == connection => return true,
                Some(waiter) => owner = self.waiting.get(&waiter).and_then(|next| self.held.get(next)).map(|held| held.owner),
                None => return false,
            }
        }
        false
    }
}

/// The locks of a server.
#[derive(Debug, Default)]
pub(crate) struct UserLocks {
    state: Mutex<State>,
    freed: Condvar,
}

impl UserLocks {
    /// Takes a lock for a connection, waiting for `timeout` (forever without one) on the calling thread.
    pub fn get(&self, connection: u64, name: &str, timeout: Option<Duration>, interrupted: &dyn Fn() -> bool) -> LockWait {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let name: Arc<str> = name.into();
        let mut state = self.state.lock();
        loop {
            match state.held.get_mut(&name) {
                None => {
                    state.held.insert(name, Held { owner: connection, times: 1 });
                    return LockWait::Taken;
                }
                Some(held) if held.owner == connection => {
                    held.times += 1;
                    return LockWait::Taken;
                }
                Some(_) => {}
            }
            let left = end.map_or(LOOK, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return LockWait::TimedOut;
            }
            if interrupted() {
                return LockWait::Interrupted;
            }
            if state.would_deadlock(connection, &name) {
                return LockWait::Deadlock;
            }
            state.waiting.insert(connection, name.clone());
            self.freed.wait_for(&mut state, left.min(LOOK));
            state.waiting.remove(&connection);
        }
    }

    /// Gives a lock back once; whether it was the connection's, `None` if nobody has it.
    pub fn release(&self, connection: u64, name: &str) -> Option<bool> {
        let mut state = self.state.lock();
        let held = state.held.get_mut(name)?;
        if held.owner != connection {
            return Some(false);
        }
        held.times -= 1;
        if held.times == 0 {
            state.held.remove(name);
            self.freed.notify_all();
        }
        Some(true)
    }

    /// Gives everything back that the connection has; how often it had taken locks.
    pub fn release_all(&self, connection: u64) -> u64 {
        let mut state = self.state.lock();
        let mut released = 0;
        state.held.retain(|_, held| {
            let own = held.owner == connection;
            released += if own { held.times } else { 0 };
            !own
        });
        if released > 0 {
            self.freed.notify_all();
        }
        released
    }

    /// The connection that has a lock.
    pub fn owner(&self, name: &str) -> Option<u64> {
        self.state.lock().held.get(name).map(|held| held.owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Option<Duration> = Some(Duration::ZERO);

    #[test]
    fn a_lock_is_given_back_as_often_as_it_was_taken() {
        let locks = UserLocks::default();
        let never = || false;
        assert_eq!(locks.get(1, "a", NOW, &never), LockWait::Taken);
        assert_eq!(locks.get(1, "a", NOW, &never), LockWait::Taken);
        assert_eq!(locks.get(2, "a", NOW, &never), LockWait::TimedOut);
        assert_eq!((locks.release(2, "a"), locks.release(1, "a"), locks.owner("a")), (Some(false), Some(true), Some(1)));
        assert_eq!((locks.release(1, "a"), locks.release(1, "a"), locks.owner("a")), (Some(true), None, None));
        locks.get(1, "b", NOW, &never);
        locks.get(1, "c", NOW, &never);
        assert_eq!((locks.release_all(1), locks.owner("b")), (2, None));
    }

    #[test]
    fn a_waiter_gets_the_lock_stops_when_told_and_never_waits_in_a_circle() {
        let locks = UserLocks::default();
        let never = || false;
        locks.get(1, "a", NOW, &never);
        locks.get(2, "b", NOW, &never);
        assert_eq!(locks.get(2, "a", None, &|| true), LockWait::Interrupted);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| locks.get(2, "a", None, &never));
            while locks.state.lock().waiting.is_empty() {
                std::thread::yield_now();
            }
            assert_eq!(locks.get(1, "b", None, &never), LockWait::Deadlock);
            locks.release(1, "a");
            assert_eq!(waiter.join().expect("no panic"), LockWait::Taken);
        });
    }
}

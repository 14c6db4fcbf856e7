//! Waiting for locks, first come, first served.
//!
//! ```text
//!   key ─▶ [turn: T5] T7 T9 T6          T5 was woken and tries; the others wait behind it, newcomers at the end
//! ```
//!
//! When a lock is released, the first waiter gets the *turn*: it tries to lock again (the key may have a newer version now), and
//! nobody who asks later may take the key before it. The turn passes on when its holder fails or goes away.
//!
//! Invariants:
//! - A key that is not locked has an empty queue or an outstanding turn: whoever removes a lock calls [`LockWaitQueues::wake`] while it
//!   still holds the key's latch, and whoever joins a queue holds it too. So no wake-up is lost.
//! - The edges of the deadlock detector are those of the waiters here.
//! - Keys without waiters cost one atomic load.

use std::{
    collections::VecDeque,
    hash::BuildHasher,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use base::TimeStamp;
use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};
use tokio::sync::oneshot;

use crate::deadlock::{DeadlockDetector, WaitEdge};

const SHARDS: usize = 64;

#[derive(Debug)]
struct Waiter {
    start_ts: TimeStamp,
    turn: oneshot::Sender<Turn>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The woken transaction that has not tried yet.
    turn: Option<TimeStamp>,
    waiters: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Shared {
    shards: [Mutex<FxHashMap<Bytes, Queue>>; SHARDS],
    /// Queues there are.
    queues: AtomicUsize,
    detector: DeadlockDetector,
}

impl Default for Shared {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), queues: AtomicUsize::new(0), detector: DeadlockDetector::default() }
    }
}

/// The queues of all keys of a store; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockWaitQueues {
    shared: Arc<Shared>,
}

/// The right to try next; passes on when dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    /// `None` once it was used or handed on.
    queues: Option<LockWaitQueues>,
    key: Bytes,
    start_ts: TimeStamp,
}

/// Why a transaction has not joined a queue.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotJoined {
    /// It would close this circle of waiting transactions.
    Circle(Vec<WaitEdge>),
    /// The turn it would have waited for has ended meanwhile: the key may be free.
    TurnEnded,
}

/// A place in a queue; left when dropped.
#[derive(Debug)]
pub(crate) struct Waiting {
    queues: LockWaitQueues,
    start_ts: TimeStamp,
    turn: oneshot::Receiver<Turn>,
}

impl LockWaitQueues {
    fn shard(&self, key: &[u8]) -> &Mutex<FxHashMap<Bytes, Queue>> {
        &self.shared.shards[(FxBuildHasher.hash_one(key) >> 32) as usize % SHARDS]
    }

    /// The transaction whose turn it is on `key`, if somebody other than `start_ts` has been promised it.
    pub(crate) fn reserved_for(&self, key: &[u8], start_ts: TimeStamp) -> Option<TimeStamp> {
        if self.shared.queues.load(Ordering::SeqCst) == 0 {
            return None;
        }
        self.shard(key).lock().get(key).and_then(|queue| queue.turn).filter(|turn| *turn != start_ts)
    }

    /// Joins the queue of `key`, whose lock `holder` has; at its head for one who had the turn already. The caller holds the key's latch,
    /// so the lock cannot go before the queue is joined.
    pub(crate) fn join(&self, key: &Bytes, start_ts: TimeStamp, holder: TimeStamp, turn: Option<Turn>) -> Result<Waiting, NotJoined> {
        self.shared.detector.wait_for(start_ts, holder, key).map_err(NotJoined::Circle)?;
        let (sender, receiver) = oneshot::channel();
        let waiter = Waiter { start_ts, turn: sender };
        {
            let mut shard = self.shard(key).lock();
            let queue = shard.entry(key.clone()).or_insert_with(|| {
                self.shared.queues.fetch_add(1, Ordering::SeqCst);
                Queue::default()
            });
            match turn {
                Some(mut turn) => {
                    turn.queues = None;
                    queue.turn = None;
                    queue.waiters.push_front(waiter);
                }
                None => queue.waiters.push_back(waiter),
            }
        }
        Ok(Waiting { queues: self.clone(), start_ts, turn: receiver })
    }

    /// Joins the queue of `key`, which is not locked, behind `holder`, whose turn it is. A turn may end without the key's latch.
    pub(crate) fn join_behind_turn(&self, key: &Bytes, start_ts: TimeStamp, holder: TimeStamp) -> Result<Waiting, NotJoined> {
        self.shared.detector.wait_for(start_ts, holder, key).map_err(NotJoined::Circle)?;
        let (sender, receiver) = oneshot::channel();
        let waiting = Waiting { queues: self.clone(), start_ts, turn: receiver };
        let mut shard = self.shard(key).lock();
        match shard.get_mut(key) {
            Some(queue) if queue.turn.is_some() => queue.waiters.push_back(Waiter { start_ts, turn: sender }),
            _ => {
                drop(shard);
                return Err(NotJoined::TurnEnded);
            }
        }
        drop(shard);
        Ok(waiting)
    }

    /// The lock of `key` has gone: gives the turn to the first who still waits. The caller holds the key's latch.
    pub(crate) fn wake(&self, key: &[u8]) {
        if self.shared.queues.load(Ordering::SeqCst) > 0 {
            self.pass_on(key, None);
        }
    }

    /// Ends the turn of `from` (or, if nobody has it, begins one) with the first who still waits.
    fn pass_on(&self, key: &[u8], from: Option<TimeStamp>) {
        loop {
            let (waiter, turn) = {
                let mut shard = self.shard(key).lock();
                let Some(queue) = shard.get_mut(key) else { return };
                if queue.turn != from {
                    // Somebody has been promised the key; he tries, and passes the turn on himself.
                    return;
                }
                let Some(waiter) = queue.waiters.pop_front() else {
                    shard.remove(key);
                    self.shared.queues.fetch_sub(1, Ordering::SeqCst);
                    return;
                };
                queue.turn = Some(waiter.start_ts);
                let key = Bytes::copy_from_slice(key);
                let turn = Turn { queues: Some(self.clone()), key, start_ts: waiter.start_ts };
                (waiter.turn, turn)
            };
            match waiter.send(turn) {
                Ok(()) => return,
                Err(mut returned) => {
                    // He has gone away: the turn is taken back, and the next one gets it.
                    returned.queues = None;
                    let mut shard = self.shard(key).lock();
                    if let Some(queue) = shard.get_mut(key) {
                        queue.turn = from;
                    }
                }
            }
        }
    }

    /// Everybody who waits, for the table of lock waits.
    pub(crate) fn edges(&self) -> Vec<WaitEdge> {
        self.shared.detector.edges()
    }
}

impl Turn {
    /// The turn was used: its holder has locked the key. The others go on waiting, now for it.
    pub(crate) fn used(mut self) {
        let Some(queues) = self.queues.take() else { return };
        let mut shard = queues.shard(&self.key).lock();
        let Some(queue) = shard.get_mut(&self.key) else { return };
        queue.turn = None;
        queue.waiters.retain(|waiter| !waiter.turn.is_closed());
        if queue.waiters.is_empty() {
            shard.remove(&self.key);
            queues.shared.queues.fetch_sub(1, Ordering::SeqCst);
        } else {
            queues.shared.detector.moved_to(queue.waiters.iter().map(|waiter| waiter.start_ts), self.start_ts, &self.key);
        }
    }

    /// The key it is about.
    pub(crate) fn key(&self) -> &Bytes {
        &self.key
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(queues) = self.queues.take() {
            queues.pass_on(&self.key, Some(self.start_ts));
        }
    }
}

impl Waiting {
    /// The transaction that waits.
    pub(crate) fn start_ts(&self) -> TimeStamp {
        self.start_ts
    }

    /// Completes with the turn. Safe to drop and call again.
    pub(crate) async fn turn(&mut self) -> Option<Turn> {
        (&mut self.turn).await.ok()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.queues.shared.detector.stop_waiting(self.start_ts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Bytes = Bytes::from_static(b"k");

    fn join(queues: &LockWaitQueues, start_ts: u64, holder: u64) -> Waiting {
        queues.join(&KEY, TimeStamp(start_ts), TimeStamp(holder), None).unwrap()
    }

    #[tokio::test]
    async fn turns_are_given_in_the_order_of_arrival_and_pass_on() {
        let queues = LockWaitQueues::default();
        let (mut a, mut b, c) = (join(&queues, 2, 1), join(&queues, 3, 1), join(&queues, 4, 1));
        queues.wake(&KEY);
        let turn = a.turn().await.unwrap();
        drop(a);
        assert_eq!(queues.reserved_for(&KEY, TimeStamp(9)), Some(TimeStamp(2)));
        assert_eq!(queues.reserved_for(&KEY, TimeStamp(2)), None);
        // A second release while somebody has the turn wakes nobody else.
        queues.wake(&KEY);
        // The second in the queue has gone away; giving up the turn reaches the third.
        drop(c);
        drop(turn);
        b.turn().await.unwrap().used();
        drop(b);
        assert_eq!(queues.reserved_for(&KEY, TimeStamp(9)), None);
        assert_eq!(queues.shared.queues.load(Ordering::SeqCst), 0);
        assert!(queues.edges().is_empty());
    }

    #[tokio::test]
    async fn one_who_must_wait_again_keeps_the_first_place() {
        let queues = LockWaitQueues::default();
        let (mut a, mut b) = (join(&queues, 2, 1), join(&queues, 3, 1));
        queues.wake(&KEY);
        let turn = a.turn().await.unwrap();
        drop(a);
        let mut a = queues.join(&KEY, TimeStamp(2), TimeStamp(8), Some(turn)).unwrap();
        queues.wake(&KEY);
        a.turn().await.unwrap().used();
        drop(a);
        // The other one now waits for the new holder.
        assert_eq!(queues.edges(), [WaitEdge { waiter: TimeStamp(3), holder: TimeStamp(2), key: KEY }]);
        queues.wake(&KEY);
        b.turn().await.unwrap().used();
    }

    #[test]
    fn a_circle_is_reported_instead_of_joined() {
        let queues = LockWaitQueues::default();
        let _waiting = join(&queues, 1, 2);
        let circle = queues.join(&Bytes::from_static(b"other"), TimeStamp(2), TimeStamp(1), None).unwrap_err();
        let NotJoined::Circle(circle) = circle else { panic!("a circle") };
        assert_eq!(circle.len(), 2);
    }

    #[tokio::test]
    async fn nobody_queues_behind_a_turn_that_has_ended() {
        let queues = LockWaitQueues::default();
        let mut first = join(&queues, 2, 1);
        queues.wake(&KEY);
        let turn = first.turn().await.unwrap();
        drop(first);
        let mut second = queues.join_behind_turn(&KEY, TimeStamp(3), TimeStamp(2)).unwrap();
        drop(turn);
        second.turn().await.unwrap().used();
        let refused = queues.join_behind_turn(&KEY, TimeStamp(4), TimeStamp(3)).unwrap_err();
        assert_eq!(refused, NotJoined::TurnEnded);
        drop(second);
        assert!(queues.edges().is_empty());
    }
}

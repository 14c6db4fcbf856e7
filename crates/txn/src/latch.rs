//! Latches: two commands that write the same key run one after the other.
//!
//! ```text
//!   key ─hash─▶ slot 0..SLOTS ─▶ free, or held with a queue of those who wait
//! ```
//!
//! A latch is held from before a command reads until its write has been applied, so what it has read is still true when its batch takes
//! effect. There is one small mutex for each slot and none over all of them; it is held for a few instructions, never while waiting.
//!
//! Invariants:
//! - A command takes its slots in ascending order, so commands never wait for each other in a circle.
//! - A slot is handed directly to the first one waiting: nobody overtakes.
//! - A guard that is sent to a waiter who has gone away releases the slot again when it is dropped.

use std::{collections::VecDeque, hash::BuildHasher, sync::Arc};

use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use tokio::sync::oneshot;

/// Number of slots; false sharing between keys is rare as long as it is far above the number of keys in flight.
const SLOTS: usize = 1 << 14;

#[derive(Debug, Default)]
struct Slot {
    held: bool,
    waiting: VecDeque<oneshot::Sender<HeldSlot>>,
}

/// The latches of a store; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Latches {
    slots: Arc<[Mutex<Slot>]>,
}

/// One slot held; released when dropped.
#[derive(Debug)]
struct HeldSlot {
    /// `None` once the slot was handed on.
    latches: Option<Latches>,
    slot: u32,
}

/// The latches of one command; released when dropped.
#[derive(Debug, Default)]
pub(crate) struct LatchGuard {
    /// Held for its destructor.
    _held: SmallVec<[HeldSlot; 8]>,
}

impl Latches {
    pub(crate) fn new() -> Self {
        Self { slots: (0..SLOTS).map(|_| Mutex::default()).collect() }
    }

    /// Takes the latches of `keys`, waiting where another command holds one.
    pub(crate) async fn acquire<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) -> LatchGuard {
        let mut slots: SmallVec<[u32; 8]> = keys.map(|key| slot_of(key) as u32).collect();
        slots.sort_unstable();
        slots.dedup();
        let mut held = SmallVec::with_capacity(slots.len());
        for slot in slots {
            held.push(self.acquire_slot(slot).await);
        }
        LatchGuard { _held: held }
    }

    async fn acquire_slot(&self, slot: u32) -> HeldSlot {
        loop {
            let handed_over = {
                let mut state = self.slots[slot as usize].lock();
                if !state.held {
                    state.held = true;
                    return HeldSlot { latches: Some(self.clone()), slot };
                }
                let (sender, receiver) = oneshot::channel();
                state.waiting.push_back(sender);
                receiver
            };
            if let Ok(held) = handed_over.await {
                return held;
            }
        }
    }

    /// Returns once every command that held a latch when this was called has released it.
    pub(crate) async fn wait_for_running(&self) {
        for slot in 0..SLOTS as u32 {
            drop(self.acquire_slot(slot).await);
        }
    }
}

impl Drop for HeldSlot {
    fn drop(&mut self) {
        let Some(latches) = self.latches.take() else { return };
        let mut held = Self { latches: Some(latches.clone()), slot: self.slot };
        loop {
            let next = {
                let mut state = latches.slots[self.slot as usize].lock();
                let Some(next) = state.waiting.pop_front() else {
                    state.held = false;
                    held.latches = None;
                    return;
                };
                next
            };
            match next.send(held) {
                Ok(()) => return,
                // The waiter has gone away; the next one gets the slot.
                Err(returned) => held = returned,
            }
        }
    }
}

fn slot_of(key: &[u8]) -> usize {
    // The upper bits of this hash are the well mixed ones.
    (FxBuildHasher.hash_one(key) >> 32) as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn keys<'a>(keys: &'a [&'a str]) -> impl Iterator<Item = &'a [u8]> {
        keys.iter().map(|key| key.as_bytes())
    }

    #[tokio::test]
    async fn waiters_get_the_latch_in_the_order_they_came() {
        let latches = Latches::new();
        let first = latches.acquire(keys(&["a", "b", "a"])).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..5 {
            let (latches, order) = (latches.clone(), order.clone());
            tasks.push(tokio::spawn(async move {
                let _guard = latches.acquire(keys(&["b", "a"])).await;
                order.lock().push(number);
            }));
            tokio::task::yield_now().await;
        }
        assert!(order.lock().is_empty());
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock(), [0, 1, 2, 3, 4]);
    }

    #[tokio::test]
    async fn a_waiter_that_goes_away_does_not_keep_the_latch() {
        let latches = Latches::new();
        let first = latches.acquire(keys(&["a"])).await;
        for _ in 0..2 {
            let waiter = tokio::spawn({
                let latches = latches.clone();
                async move { latches.acquire(keys(&["a"])).await }
            });
            tokio::task::yield_now().await;
            waiter.abort();
            let _ = waiter.await;
        }
        drop(first);
        drop(latches.acquire(keys(&["a"])).await);
        latches.wait_for_running().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn only_one_holder_at_a_time() {
        let latches = Latches::new();
        let inside = Arc::new(AtomicU32::new(0));
        let mut tasks = Vec::new();
        for number in 0..8u32 {
            let (latches, inside) = (latches.clone(), inside.clone());
            tasks.push(tokio::spawn(async move {
                for round in 0..200 {
                    let others = ["x", "y", "z"][(number + round) as usize % 3];
                    let _guard = latches.acquire(keys(&["hot", others])).await;
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    }
}

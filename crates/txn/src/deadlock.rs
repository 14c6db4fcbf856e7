//! Deadlock detection: a graph of which transaction waits for which.
//!
//! ```text
//!   T1 ──key a──▶ T2 ──key b──▶ T3 ──key c──▶ T1      the edge that would close the circle is refused
//! ```
//!
//! A transaction waits for one lock at a time, so each node has at most one outgoing edge and looking for a circle is following a
//! chain. The transaction whose new edge closes a circle is the victim, as it is the one that can be told at once.
//!
//! Invariant: the graph has no circle. Only transactions that really wait take the mutex here.

use base::TimeStamp;
use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// One transaction waiting for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitEdge {
    /// The transaction that waits.
    pub waiter: TimeStamp,
    /// The transaction that holds the lock.
    pub holder: TimeStamp,
    /// The user key of the lock.
    pub key: Bytes,
}

/// The graph of waiting transactions.
#[derive(Debug, Default)]
pub(crate) struct DeadlockDetector {
    edges: Mutex<FxHashMap<TimeStamp, (TimeStamp, Bytes)>>,
}

impl DeadlockDetector {
    /// Notes that `waiter` waits for `holder`, in place of what it waited for before; `Err` has the circle this would close, beginning
    /// with the new edge.
    pub(crate) fn wait_for(&self, waiter: TimeStamp, holder: TimeStamp, key: &Bytes) -> Result<(), Vec<WaitEdge>> {
        let mut edges = self.edges.lock();
        let mut chain = vec![WaitEdge { waiter, holder, key: key.clone() }];
        let mut at = holder;
        while at != waiter {
            let Some((next, key)) = edges.get(&at) else {
                edges.insert(waiter, (holder, key.clone()));
                return Ok(());
            };
            chain.push(WaitEdge { waiter: at, holder: *next, key: key.clone() });
            at = *next;
        }
        Err(chain)
    }

    /// The key `waiter` waits for has gone from one transaction to another, which does not wait itself.
    pub(crate) fn moved_to(&self, waiters: impl Iterator<Item = TimeStamp>, holder: TimeStamp, key: &Bytes) {
        let mut edges = self.edges.lock();
        for waiter in waiters.filter(|waiter| *waiter != holder) {
            if let Some(edge) = edges.get_mut(&waiter)
                && edge.1 == *key
            {
                edge.0 = holder;
            }
        }
    }

    /// `waiter` does not wait any more.
    pub(crate) fn stop_waiting(&self, waiter: TimeStamp) {
        self.edges.lock().remove(&waiter);
    }

    /// Everything that waits now.
    pub(crate) fn edges(&self) -> Vec<WaitEdge> {
        let edges = self.edges.lock();
        edges.iter().map(|(waiter, (holder, key))| WaitEdge { waiter: *waiter, holder: *holder, key: key.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edge_that_closes_a_circle_is_refused_with_the_chain() {
        let detector = DeadlockDetector::default();
        let [a, b, c] = ["a", "b", "c"].map(|key| Bytes::from_static(key.as_bytes()));
        let [t1, t2, t3] = [1, 2, 3].map(TimeStamp);
        assert_eq!(detector.wait_for(t1, t2, &a), Ok(()));
        assert_eq!(detector.wait_for(t2, t3, &b), Ok(()));
        let chain = detector.wait_for(t3, t1, &c).unwrap_err();
        assert_eq!(chain.iter().map(|edge| (edge.waiter.0, edge.holder.0)).collect::<Vec<_>>(), [(3, 1), (1, 2), (2, 3)]);
        // The victim gives way; the others can go on waiting.
        detector.stop_waiting(t2);
        assert_eq!(detector.wait_for(t3, t1, &c), Ok(()));
        assert_eq!(detector.edges().len(), 2);
    }

    #[test]
    fn a_lock_that_changes_hands_takes_its_waiters_along() {
        let detector = DeadlockDetector::default();
        let [k, other] = ["k", "o"].map(|key| Bytes::from_static(key.as_bytes()));
        let [t1, t2, t3] = [1, 2, 3].map(TimeStamp);
        // Both wait for the lock of t1 on k; then t2 gets it.
        assert_eq!(detector.wait_for(t2, t1, &k), Ok(()));
        assert_eq!(detector.wait_for(t3, t1, &k), Ok(()));
        detector.stop_waiting(t2);
        detector.moved_to([t3].into_iter(), t2, &k);
        // t2 now wants something of t3, which waits for t2.
        assert!(detector.wait_for(t2, t3, &other).is_err());
    }
}

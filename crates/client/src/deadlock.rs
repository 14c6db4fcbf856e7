//! Deadlocks over several stores: each store sees the circles of its own waiters only, so who has waited for a while asks all of them who waits
//! for whom, and looks for itself behind the transaction it waits for.
//!
//! ```text
//!   this transaction ─▶ holder of the lock ─▶ … edges of all stores … ─▶ this transaction?
//!                                              the youngest of the circle gives way, the others go on waiting
//! ```
//!
//! The edges are not all of one moment, so a circle may be found that is none any more: a transaction then gives way for nothing, which its client
//! has to expect anyhow. Every circle that stays is found by its youngest transaction.

use std::collections::hash_map::Entry;

use base::TimeStamp;
use bytes::Bytes;
use rustc_hash::FxHashMap;

use crate::error::WaitEdge;

/// The circle from `waiter` (which waits for `holder` on `key`) back to itself, if there is one and `waiter` is the youngest in it.
pub(crate) fn circle_to_leave(waiter: TimeStamp, holder: TimeStamp, key: Bytes, edges: &[WaitEdge]) -> Option<Vec<WaitEdge>> {
    let mut behind: FxHashMap<TimeStamp, Vec<&WaitEdge>> = FxHashMap::default();
    for edge in edges {
        behind.entry(edge.waiter).or_default().push(edge);
    }
    // How each transaction was reached; the first one from `waiter` itself.
    let mut reached: FxHashMap<TimeStamp, WaitEdge> = FxHashMap::default();
    reached.insert(holder, WaitEdge { waiter, holder, key });
    let mut left = vec![holder];
    while let Some(txn) = left.pop() {
        if txn == waiter {
            break;
        }
        for edge in behind.get(&txn).into_iter().flatten() {
            if let Entry::Vacant(place) = reached.entry(edge.holder) {
                place.insert((*edge).clone());
                left.push(edge.holder);
            }
        }
    }
    let mut circle = vec![reached.get(&waiter)?.clone()];
    while let Some(edge) = circle.last().filter(|edge| edge.waiter != waiter) {
        let before = reached.get(&edge.waiter)?.clone();
        circle.push(before);
    }
    circle.reverse();
    circle.iter().all(|edge| edge.waiter <= waiter).then_some(circle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(waiter: u64, holder: u64) -> WaitEdge {
        WaitEdge { waiter: TimeStamp(waiter), holder: TimeStamp(holder), key: Bytes::from_static(b"k") }
    }

    fn leaves(waiter: u64, holder: u64, edges: &[WaitEdge]) -> Option<Vec<(u64, u64)>> {
        let circle = circle_to_leave(TimeStamp(waiter), TimeStamp(holder), Bytes::from_static(b"k"), edges)?;
        Some(circle.into_iter().map(|edge| (edge.waiter.0, edge.holder.0)).collect())
    }

    #[test]
    fn the_youngest_of_a_circle_leaves_it_and_nobody_else() {
        let edges = [edge(1, 3), edge(3, 2), edge(2, 1), edge(2, 9), edge(7, 1)];
        assert_eq!(leaves(3, 2, &edges), Some(vec![(3, 2), (2, 1), (1, 3)]));
        assert_eq!(leaves(2, 1, &edges), None, "an older one stays");
        assert_eq!(leaves(7, 1, &edges), None, "who waits for a circle is not in it");
        assert_eq!(leaves(5, 4, &[]), None);
    }

    #[test]
    fn its_own_edge_need_not_be_known_to_any_store() {
        assert_eq!(leaves(8, 4, &[edge(4, 8)]), Some(vec![(8, 4), (4, 8)]));
    }
}

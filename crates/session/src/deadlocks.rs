//! The last deadlocks that statements of this server ran into: the table DEADLOCKS.

use std::collections::VecDeque;

use client::WaitEdge;
use parking_lot::Mutex;

use crate::Error;

/// How many are remembered, as many as the reference system does.
const REMEMBERED: usize = 10;

/// One deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deadlock {
    pub id: u64,
    /// When, in milliseconds since the epoch.
    pub wall_ms: u64,
    /// The circle.
    pub edges: Vec<WaitEdge>,
}

/// The last deadlocks, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct DeadlockHistory {
    known: Mutex<(u64, VecDeque<Deadlock>)>,
}

impl DeadlockHistory {
    /// Takes a statement's error down if it is a deadlock whose circle is known.
    pub(crate) fn note(&self, error: &Error, wall_ms: u64) {
        let (Error::Client(client::Error::Deadlock { wait_chain, .. })
        | Error::Exec(exec::Error::Client(client::Error::Deadlock { wait_chain, .. }))) = error
        else {
            return;
        };
        if wait_chain.is_empty() {
            return;
        }
        let mut known = self.known.lock();
        let (last, deadlocks) = &mut *known;
        *last += 1;
        deadlocks.push_back(Deadlock { id: *last, wall_ms, edges: wait_chain.clone() });
        if deadlocks.len() > REMEMBERED {
            deadlocks.pop_front();
        }
    }

    /// The last deadlocks, the oldest first.
    pub(crate) fn all(&self) -> Vec<Deadlock> {
        self.known.lock().1.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use base::TimeStamp;
    use bytes::Bytes;

    use super::*;

    #[test]
    fn the_last_ones_are_remembered_and_other_errors_are_not() {
        let history = DeadlockHistory::default();
        let edge = WaitEdge { waiter: TimeStamp(2), holder: TimeStamp(1), key: Bytes::from_static(b"k") };
        let deadlock = client::Error::Deadlock { key: edge.key.clone(), holder: edge.holder, wait_chain: vec![edge] };
        history.note(&Error::Client(client::Error::StoreBusy), 1);
        for wall_ms in 1..=12 {
            history.note(&Error::Exec(exec::Error::Client(deadlock.clone())), wall_ms);
        }
        let all = history.all();
        assert_eq!((all.len(), all[0].id, all[9].wall_ms), (REMEMBERED, 3, 12));
    }
}

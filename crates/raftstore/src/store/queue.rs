//! Work that waits for a thread.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

pub(super) struct WorkQueue<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    closed: bool,
}

impl<T> Default for WorkQueue<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { items: VecDeque::new(), closed: false }), arrived: Condvar::new() }
    }
}

impl<T> WorkQueue<T> {
    pub(super) fn push(&self, item: T) {
        self.state.lock().items.push_back(item);
        self.arrived.notify_one();
    }

    /// Up to `limit` items, waiting for the first if told so; `None` when the queue is closed.
    pub(super) fn take(&self, limit: usize, wait: bool) -> Option<Vec<T>> {
        let mut state = self.state.lock();
        while wait && state.items.is_empty() && !state.closed {
            self.arrived.wait(&mut state);
        }
        if state.closed {
            return None;
        }
        let count = state.items.len().min(limit);
        let taken = state.items.drain(..count).collect();
        if !state.items.is_empty() {
            // One signal may have stood for several items.
            self.arrived.notify_one();
        }
        Some(taken)
    }

    /// Wakes everybody for good.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.arrived.notify_all();
    }
}

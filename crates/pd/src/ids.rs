//! The id allocator: ids are handed out from a persisted window, so that most allocations write nothing.
//!
//! Invariant: an id is handed out once, also over restarts. Ids of a window that was not used up are lost.

/// Ids of one window.
const WINDOW: u64 = 1000;

/// Counts ids within a persisted window.
#[derive(Debug)]
pub(crate) struct IdAllocator {
    next: u64,
    limit: u64,
}

impl IdAllocator {
    /// An allocator that goes on at the limit persisted by its predecessor.
    pub(crate) fn new(persisted_limit: u64) -> Self {
        // Zero is no id.
        let next = persisted_limit.max(1);
        Self { next, limit: next }
    }

    /// The next id, and the limit that must be persisted before it is used, if a new window was begun.
    pub(crate) fn allocate(&mut self) -> (u64, Option<u64>) {
        let begun = (self.next >= self.limit).then(|| {
            self.limit = self.next + WINDOW;
            self.limit
        });
        let id = self.next;
        self.next += 1;
        (id, begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_over_restarts() {
        let mut ids = IdAllocator::new(0);
        let (first, limit) = ids.allocate();
        let limit = limit.unwrap();
        assert_eq!((first, ids.allocate()), (1, (2, None)));
        assert_eq!(IdAllocator::new(limit).allocate().0, limit);
    }
}

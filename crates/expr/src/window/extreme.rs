//! MIN and MAX over frames that move: the rows that may still become the extreme, in their order.
//!
//! A row is dropped when a better one comes behind it, or when the frame leaves it; the first one kept is the extreme. Of equal values the
//! earliest is kept, as in an aggregation.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;

use types::{Collation, Datum, DatumRef, EvalType};

use crate::aggregate::{AggDesc, AggKind};
use crate::vector::Vector;

/// The candidates of one frame.
pub(super) struct MovingExtreme {
    wanted: Ordering,
    collation: Collation,
    rows: VecDeque<usize>,
}

impl MovingExtreme {
    pub(super) fn new(desc: &AggDesc) -> Self {
        let wanted = if desc.kind == AggKind::Max { Ordering::Greater } else { Ordering::Less };
        let collation = if desc.ty.tp.eval_type() == EvalType::String { desc.ty.collation } else { Collation::Binary };
        Self { wanted, collation, rows: VecDeque::new() }
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }

    pub(super) fn add(&mut self, values: &Vector<'_>, rows: Range<usize>) {
        for row in rows {
            let value = values.get(row);
            if let DatumRef::Null = value {
                continue;
            }
            while self.rows.back().is_some_and(|last| value.compare(values.get(*last), self.collation) == self.wanted) {
                self.rows.pop_back();
            }
            self.rows.push_back(row);
        }
    }

    /// Forgets the rows before `start`.
    pub(super) fn leave(&mut self, start: usize) {
        while self.rows.front().is_some_and(|row| *row < start) {
            self.rows.pop_front();
        }
    }

    pub(super) fn value(&self, values: &Vector<'_>) -> Datum {
        self.rows.front().map_or(Datum::Null, |row| values.get(*row).to_owned())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<usize>()
    }
}

//! The first rows in an order, without sorting all rows.
//!
//! A max-heap holds the sort keys of the best rows so far; a row that is not better than the worst of them is dropped before anything is copied.
//! Rows of replaced entries stay in the buffer until they outnumber the live ones, then the buffer is compacted.
//!
//! Invariants
//! - The heap never holds more than `limit` entries, and the buffer never more than twice that and a chunk.
//! - Rows of equal keys keep the order of arrival.

use std::collections::BinaryHeap;

use expr::EvalCtx;
use types::{Chunk, FieldType};

use crate::Result;
use crate::plan::SortKey;
use crate::sort_key::{KeyRows, push_sort_keys};

/// Slack of the row buffer before it is compacted.
const COMPACT_SLACK_ROWS: usize = 1024;

/// A candidate; ordered by key, then by arrival.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: Vec<u8>,
    arrival: u64,
    row: u32,
}

/// A running top-n.
#[derive(Debug)]
pub struct TopN {
    limit: usize,
    heap: BinaryHeap<Entry>,
    rows: Chunk,
    keys: KeyRows,
    arrivals: u64,
    key_bytes: usize,
    /// The result in order, once draining has begun, and how much of it was handed out.
    sorted: Option<(Vec<u32>, usize)>,
}

impl TopN {
    /// A top-n of rows of the given types.
    pub fn new(limit: u64, types: &[FieldType]) -> Self {
        Self {
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            heap: BinaryHeap::new(),
            rows: Chunk::new(types, 0),
            keys: KeyRows::default(),
            arrivals: 0,
            key_bytes: 0,
            sorted: None,
        }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes() + self.key_bytes + self.heap.len() * size_of::<Entry>()
    }

    /// Considers the rows of a chunk, in the order `by`, which must be the same in every call.
    pub fn push(&mut self, by: &[SortKey], chunk: &Chunk, ctx: &EvalCtx) -> Result<()> {
        if self.limit == 0 {
            return Ok(());
        }
        self.keys.clear();
        push_sort_keys(by, ctx, chunk, &mut self.keys)?;
        for row in 0..chunk.rows() {
            let key = self.keys.get(row);
            self.arrivals += 1;
            let at = self.rows.rows() as u32;
            if self.heap.len() < self.limit {
                self.key_bytes += key.len();
                self.heap.push(Entry { key: key.to_vec(), arrival: self.arrivals, row: at });
            } else {
                let Some(mut worst) = self.heap.peek_mut() else { continue };
                if key >= &worst.key[..] {
                    continue;
                }
                worst.key.clear();
                worst.key.extend_from_slice(key);
                worst.arrival = self.arrivals;
                worst.row = at;
            }
            self.rows.push_row_ref(chunk.row(row));
        }
        if self.rows.rows() > self.heap.len().saturating_mul(2) + COMPACT_SLACK_ROWS {
            self.compact();
        }
        Ok(())
    }

    fn compact(&mut self) {
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        let live = entries.iter().map(|entry| entry.row).collect::<Vec<_>>();
        self.rows = self.rows.gather(&live);
        for (at, entry) in entries.iter_mut().enumerate() {
            entry.row = at as u32;
        }
        self.heap = entries.into();
    }

    /// The next rows of the result, at most `max_rows`; nothing may be pushed any more.
    pub fn drain(&mut self, max_rows: usize) -> Option<Chunk> {
        if self.sorted.is_none() {
            let entries = std::mem::take(&mut self.heap).into_sorted_vec();
            self.sorted = Some((entries.iter().map(|entry| entry.row).collect(), 0));
        }
        let (order, taken) = self.sorted.as_mut()?;
        let rows = &order[*taken..order.len().min(*taken + max_rows)];
        if rows.is_empty() {
            return None;
        }
        *taken += rows.len();
        Some(self.rows.gather(rows))
    }
}

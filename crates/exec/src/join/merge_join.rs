//! Merge join: two inputs in the order of the keys, in step.
//!
//! ```text
//!   left chunk   k3 ──────────────── k9
//!   right rows   … k2 | k3 … … … … k9 | k9' …       the window [first left key, last left key] becomes a build table
//! ```
//!
//! Invariants
//! - The left order is kept: a left outer join works on runs of equal left keys, so that unmatched rows come in their place.
//! - Right rows are kept from the last left key on, because the next left chunk may begin with it.

use async_trait::async_trait;
use copr::sort_key::{KeyRows, push_sort_cell};
use planner::physical::{JoinKind, Side};
use types::Chunk;

use crate::join::build_table::BuildTable;
use crate::join::probe::Probe;
use crate::join::shape::JoinShape;
use crate::memory::Reservation;
use crate::operator::{BoxOperator, Operator};
use crate::{ExecCtx, Result};

/// Joins ordered inputs.
pub(crate) struct MergeJoin {
    shape: JoinShape,
    desc: bool,
    left: BoxOperator,
    right: BoxOperator,
    right_done: bool,
    /// Left rows not probed yet, with their keys.
    pending: Option<(Chunk, KeyRows)>,
    /// Right rows that may still match.
    buffer: Chunk,
    buffer_keys: KeyRows,
    probe: Option<(Probe, BuildTable)>,
    reservation: Option<Reservation>,
}

impl MergeJoin {
    pub(crate) fn new(shape: JoinShape, desc: bool, left: BoxOperator, right: BoxOperator) -> Self {
        let buffer = Chunk::new(&shape.right_types, 0);
        Self {
            shape,
            desc,
            left,
            right,
            right_done: false,
            pending: None,
            buffer,
            buffer_keys: KeyRows::default(),
            probe: None,
            reservation: None,
        }
    }

    fn push_keys(&self, side: Side, chunk: &Chunk, ctx: &ExecCtx, out: &mut KeyRows) -> Result<()> {
        let columns = self.shape.key_columns(side, chunk, &ctx.eval)?;
        for row in 0..chunk.rows() {
            out.push_with(|data| {
                for (at, column) in columns.iter().enumerate() {
                    // One collation for both sides, so that their keys compare.
                    let collation = self.shape.keys[at].left.field_type().collation;
                    push_sort_cell(data, column.datum_ref(row), collation, self.desc);
                }
            });
        }
        Ok(())
    }

    /// Reads right rows until one lies behind `last`.
    async fn fill_buffer(&mut self, last: &[u8], ctx: &ExecCtx) -> Result<()> {
        while !self.right_done && (self.buffer_keys.is_empty() || self.buffer_keys.get(self.buffer_keys.len() - 1) <= last) {
            ctx.checkpoint().await?;
            match self.right.next(ctx).await? {
                None => self.right_done = true,
                Some(chunk) => {
                    let mut keys = std::mem::take(&mut self.buffer_keys);
                    self.push_keys(Side::Right, &chunk, ctx, &mut keys)?;
                    self.buffer_keys = keys;
                    self.buffer.append(&chunk);
                    let bytes = self.buffer.memory_bytes() + self.buffer_keys.memory_bytes();
                    self.reservation.get_or_insert_with(|| ctx.memory.reserve("MergeJoin")).set(bytes)?;
                }
            }
        }
        Ok(())
    }

    /// The first buffered row whose key is not below (`inclusive`) or is above `key`.
    fn position(&self, key: &[u8], inclusive: bool) -> usize {
        let (mut low, mut high) = (0, self.buffer_keys.len());
        while low < high {
            let middle = (low + high) / 2;
            let found = self.buffer_keys.get(middle);
            if found < key || (!inclusive && found == key) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Takes the left rows to probe next and builds the right rows they may match.
    async fn next_window(&mut self, ctx: &ExecCtx) -> Result<bool> {
        let (chunk, keys) = match self.pending.take() {
            Some(pending) => pending,
            None => {
                let Some(chunk) = self.left.next(ctx).await? else { return Ok(false) };
                let mut keys = KeyRows::default();
                self.push_keys(Side::Left, &chunk, ctx, &mut keys)?;
                (chunk, keys)
            }
        };
        let rows = chunk.rows();
        let end = match self.shape.kind {
            JoinKind::LeftOuter => (1..rows).find(|row| keys.get(*row) != keys.get(0)).unwrap_or(rows),
            _ => rows,
        };
        let (first, last) = (keys.get(0).to_vec(), keys.get(end - 1).to_vec());
        self.fill_buffer(&last, ctx).await?;
        let window = self.buffer.slice(self.position(&first, true), self.position(&last, false));
        let mut table = BuildTable::new(&self.shape);
        if window.rows() > 0 {
            table.push(&window, &self.shape, &ctx.eval)?;
        }
        let keep = self.position(&last, true);
        if keep > 0 {
            self.buffer = self.buffer.slice(keep, self.buffer.rows());
            let mut keys = KeyRows::default();
            self.push_keys(Side::Right, &self.buffer, ctx, &mut keys)?;
            self.buffer_keys = keys;
        }
        let probed = if end == rows {
            chunk
        } else {
            let rest = chunk.slice(end, rows);
            let mut rest_keys = KeyRows::default();
            (end..rows).for_each(|row| rest_keys.push_with(|out| out.extend_from_slice(keys.get(row))));
            self.pending = Some((rest, rest_keys));
            chunk.slice(0, end)
        };
        self.probe = Some((Probe::new(probed, &self.shape, &ctx.eval)?, table));
        Ok(true)
    }
}

#[async_trait]
impl Operator for MergeJoin {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        loop {
            ctx.checkpoint().await?;
            if let Some((probe, table)) = &mut self.probe {
                if let Some(chunk) = probe.next(&self.shape, table, ctx.vars.chunk_rows, &ctx.eval)? {
                    return Ok(Some(chunk));
                }
                self.probe = None;
            }
            if !self.next_window(ctx).await? {
                return Ok(None);
            }
        }
    }
}

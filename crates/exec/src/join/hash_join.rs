//! Hash join: one side in memory, the other streams past it.
//!
//! Without keys this is a nested loop over the built side. The built side must fit the statement's quota; there is a clear error otherwise.
//!
//! Invariant: nothing is handed up before the build side has been read to its end.

use async_trait::async_trait;
use planner::physical::{JoinKind, Side};
use types::Chunk;

use crate::join::build_table::BuildTable;
use crate::join::probe::Probe;
use crate::join::shape::JoinShape;
use crate::memory::Reservation;
use crate::operator::{BoxOperator, Operator};
use crate::{ExecCtx, Result};

/// Joins by hashing.
pub(crate) struct HashJoin {
    shape: JoinShape,
    build: Option<BoxOperator>,
    probe: BoxOperator,
    state: Option<Running>,
}

struct Running {
    table: BuildTable,
    current: Option<Probe>,
    probe_done: bool,
    /// The next build row to look at for unmatched ones.
    unmatched_from: usize,
    /// Given back with the table.
    _reservation: Reservation,
}

impl HashJoin {
    /// `left` and `right` are the children; the shape says which is built.
    pub(crate) fn new(shape: JoinShape, left: BoxOperator, right: BoxOperator) -> Self {
        let (build, probe) = match shape.build {
            Side::Left => (left, right),
            Side::Right => (right, left),
        };
        Self { shape, build: Some(build), probe, state: None }
    }

    async fn build(&mut self, ctx: &ExecCtx) -> Result<Running> {
        let mut table = BuildTable::new(&self.shape);
        let mut reservation = ctx.memory.reserve("HashJoin");
        if let Some(mut build) = self.build.take() {
            while let Some(chunk) = build.next(ctx).await? {
                ctx.checkpoint().await?;
                table.push(&chunk, &self.shape, &ctx.eval)?;
                reservation.set(table.memory_bytes())?;
            }
        }
        if self.keeps_unmatched_build() {
            table.matched = vec![false; table.len()];
        }
        // An inner or semi join with nothing to find need not read the other side.
        let probe_done = table.len() == 0 && matches!(self.shape.kind, JoinKind::Inner | JoinKind::Semi);
        Ok(Running { table, current: None, probe_done, unmatched_from: 0, _reservation: reservation })
    }

    fn keeps_unmatched_build(&self) -> bool {
        self.shape.kind == JoinKind::LeftOuter && self.shape.build == Side::Left
    }
}

#[async_trait]
impl Operator for HashJoin {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        if self.state.is_none() {
            self.state = Some(self.build(ctx).await?);
        }
        let keeps_unmatched = self.keeps_unmatched_build();
        let Some(state) = &mut self.state else { return Ok(None) };
        loop {
            ctx.checkpoint().await?;
            if let Some(probe) = &mut state.current {
                if let Some(chunk) = probe.next(&self.shape, &mut state.table, ctx.vars.chunk_rows, &ctx.eval)? {
                    return Ok(Some(chunk));
                }
                state.current = None;
            }
            if !state.probe_done {
                match self.probe.next(ctx).await? {
                    Some(chunk) => state.current = Some(Probe::new(chunk, &self.shape, &ctx.eval)?),
                    None => state.probe_done = true,
                }
                continue;
            }
            if !keeps_unmatched {
                return Ok(None);
            }
            return Ok(state.next_unmatched(&self.shape, ctx.vars.chunk_rows));
        }
    }
}

impl Running {
    /// Build rows of a left outer join that no probe row matched.
    fn next_unmatched(&mut self, shape: &JoinShape, chunk_rows: usize) -> Option<Chunk> {
        let mut rows = Vec::new();
        while self.unmatched_from < self.table.len() && rows.len() < chunk_rows {
            if !self.table.matched[self.unmatched_from] {
                rows.push(self.unmatched_from as u32);
            }
            self.unmatched_from += 1;
        }
        (!rows.is_empty()).then(|| shape.pad_right(self.table.rows.gather(&rows)))
    }
}

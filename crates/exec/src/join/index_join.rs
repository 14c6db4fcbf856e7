//! Index join: the inner rows of a batch of outer rows are looked up by ranges made from the outer rows' values.
//!
//! ```text
//!   outer batch ──▶ lookup values, distinct ──▶ ranges ──▶ inner reader ──▶ build table ──▶ probe with the batch
//! ```
//!
//! Invariant: the ranges may cover more than the batch needs (equal under a collation, neighbouring ranges merged); the keys decide what matches.

use async_trait::async_trait;
use base::KeyRange;
use planner::physical::{IndexJoin as Plan, Node};
use rustc_hash::FxHashSet;
use types::{Chunk, Datum};

use crate::build::build_with_ranges;
use crate::join::build_table::BuildTable;
use crate::join::probe::Probe;
use crate::join::shape::JoinShape;
use crate::memory::Reservation;
use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::{Error, ExecCtx, Result};

/// Outer rows of the first batch: a LIMIT above often needs no more.
const FIRST_BATCH_ROWS: usize = 32;

/// Joins by index lookups.
pub(crate) struct IndexJoin {
    plan: PlanRef<Plan>,
    inner: PlanRef<Node>,
    shape: JoinShape,
    outer: BoxOperator,
    outer_done: bool,
    batch_rows: usize,
    table: Option<(BuildTable, Reservation)>,
    probe: Option<Probe>,
}

impl IndexJoin {
    pub(crate) fn new(plan: PlanRef<Plan>, inner: PlanRef<Node>, shape: JoinShape, outer: BoxOperator) -> Self {
        Self { plan, inner, shape, outer, outer_done: false, batch_rows: FIRST_BATCH_ROWS, table: None, probe: None }
    }

    /// The next batch of outer rows.
    async fn next_batch(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        let wanted = self.batch_rows.min(ctx.vars.join_batch_rows.max(1));
        self.batch_rows = (self.batch_rows * 4).min(ctx.vars.join_batch_rows.max(1));
        let mut batch: Option<Chunk> = None;
        while !self.outer_done && batch.as_ref().is_none_or(|batch| batch.rows() < wanted) {
            match self.outer.next(ctx).await? {
                None => self.outer_done = true,
                Some(chunk) => match &mut batch {
                    None => batch = Some(chunk),
                    Some(batch) => batch.append(&chunk),
                },
            }
        }
        Ok(batch)
    }

    /// Reads the inner rows that the batch may match.
    async fn look_up(&mut self, batch: &Chunk, ctx: &ExecCtx) -> Result<()> {
        let columns = copr::sort_key::eval_columns(&self.plan.lookup, &ctx.eval, batch)?;
        let types = copr::sort_key::expr_types(&self.plan.lookup);
        let mut seen = FxHashSet::default();
        let mut rows: Vec<Vec<Datum>> = Vec::new();
        for row in 0..batch.rows() {
            let mut key = Vec::new();
            let has_null = copr::sort_key::push_group_key(&mut key, &columns, &types, row);
            if has_null && !self.shape.keys.iter().any(|key| key.null_safe) {
                continue;
            }
            if seen.insert(key) {
                rows.push(columns.iter().map(|column| column.datum(row)).collect());
            }
        }
        let builder = match &self.inner.op {
            planner::physical::Op::TableReader(reader) => &reader.ranges,
            planner::physical::Op::IndexReader(reader) => &reader.ranges,
            planner::physical::Op::IndexLookup(lookup) => &lookup.ranges,
            _ => return Err(Error::InvalidPlan("the inner side of an index join is a reader")),
        };
        let mut ranges = Vec::with_capacity(rows.len());
        for row in &rows {
            ranges.extend(builder.lookup_range(row)?);
        }
        let ranges = disjoint(ranges);
        let mut reservation = ctx.memory.reserve("IndexJoin");
        let mut table = BuildTable::new(&self.shape);
        if !ranges.is_empty() {
            let mut inner = build_with_ranges(&self.inner, ranges, ctx)?;
            while let Some(chunk) = inner.next(ctx).await? {
                ctx.checkpoint().await?;
                table.push(&chunk, &self.shape, &ctx.eval)?;
                reservation.set(table.memory_bytes())?;
            }
        }
        self.table = Some((table, reservation));
        Ok(())
    }
}

/// Sorts ranges and merges those that overlap (values that are equal under the key's collation give one range).
fn disjoint(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort_unstable_by(|a, b| a.start.cmp(&b.start));
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if last.end.is_empty() => {}
            Some(last) if range.start < last.end => {
                if range.end.is_empty() || range.end > last.end {
                    last.end = range.end;
                }
            }
            _ => merged.push(range),
        }
    }
    merged
}

#[async_trait]
impl Operator for IndexJoin {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        loop {
            ctx.checkpoint().await?;
            if let (Some(probe), Some((table, _))) = (&mut self.probe, &mut self.table) {
                if let Some(chunk) = probe.next(&self.shape, table, ctx.vars.chunk_rows, &ctx.eval)? {
                    return Ok(Some(chunk));
                }
                self.probe = None;
                self.table = None;
            }
            let Some(batch) = self.next_batch(ctx).await? else { return Ok(None) };
            self.look_up(&batch, ctx).await?;
            self.probe = Some(Probe::new(batch, &self.shape, &ctx.eval)?);
        }
    }
}

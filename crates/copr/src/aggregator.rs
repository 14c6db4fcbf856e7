//! Grouping and aggregating, without I/O: chunks in, one row per group out.
//!
//! ```text
//!   chunk ─▶ group keys ─▶ group numbers ─▶ each aggregate: state.update_groups(chunk, numbers)
//! ```
//!
//! Invariants
//! - Output columns are the group-by values (of the first row of each group), then the columns of each aggregate; rows are in order of first
//!   appearance.
//! - Without group-by expressions there is one group, which is there even without input.

use std::cmp::Ordering;

use expr::{AggDesc, AggState, EvalCtx, Expr};
use types::{Chunk, Column, FieldType};

use crate::Result;
use crate::group_table::GroupTable;
use crate::sort_key::{eval_columns, expr_types};

/// Groups and their states.
pub struct Aggregator {
    groups: GroupTable,
    has_keys: bool,
    states: Vec<AggState>,
    numbers: Vec<u32>,
}

impl Aggregator {
    /// An aggregator without rows.
    pub fn new(group_by: &[Expr], aggs: &[AggDesc]) -> Self {
        Self {
            groups: GroupTable::new(expr_types(group_by)),
            has_keys: !group_by.is_empty(),
            states: aggs.iter().map(expr::new_state).collect(),
            numbers: Vec::new(),
        }
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        if self.has_keys { self.groups.len() } else { 1 }
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.groups.memory_bytes() + self.states.iter().map(AggState::memory_bytes).sum::<usize>()
    }

    /// The groups.
    pub fn groups(&self) -> &GroupTable {
        &self.groups
    }

    /// Adds the rows of a chunk.
    pub fn update(&mut self, group_by: &[Expr], aggs: &[AggDesc], ctx: &EvalCtx, chunk: &Chunk) -> Result<()> {
        if !self.has_keys {
            for (state, desc) in self.states.iter_mut().zip(aggs) {
                state.update_all(desc, ctx, chunk)?;
            }
            return Ok(());
        }
        let columns = eval_columns(group_by, ctx, chunk)?;
        self.update_keyed(&columns, aggs, ctx, chunk)
    }

    /// As [`Aggregator::update`] with the group-by columns evaluated already.
    pub fn update_keyed(&mut self, columns: &[Column], aggs: &[AggDesc], ctx: &EvalCtx, chunk: &Chunk) -> Result<()> {
        self.numbers.clear();
        self.groups.assign(columns, chunk.rows(), &mut self.numbers);
        for (state, desc) in self.states.iter_mut().zip(aggs) {
            state.grow(self.groups.len());
            state.update_groups(desc, ctx, chunk, &self.numbers)?;
        }
        Ok(())
    }

    /// The result rows of the groups `from..to`.
    pub fn result(&self, aggs: &[AggDesc], ctx: &EvalCtx, from: usize, to: usize) -> Result<Chunk> {
        let rows = to - from;
        let mut columns = Vec::with_capacity(self.groups.values().len() + aggs.len());
        for values in self.groups.values() {
            let mut column = values.empty_like(rows);
            column.extend_range(values, from, to);
            columns.push(column);
        }
        for (state, desc) in self.states.iter().zip(aggs) {
            let mut out = desc.output_types().iter().map(|ty| Column::for_type(ty, rows)).collect::<Vec<_>>();
            for group in from..to {
                state.append(desc, ctx, group, &mut out)?;
            }
            columns.extend(out);
        }
        Ok(crate::sort_key::chunk_of(columns, rows))
    }
}

/// Aggregates input whose rows come ordered by the group keys: at most one group and one chunk's groups are held.
pub struct OrderedAggregator {
    running: Aggregator,
}

impl OrderedAggregator {
    /// An aggregator without rows.
    pub fn new(group_by: &[Expr], aggs: &[AggDesc]) -> Self {
        Self { running: Aggregator::new(group_by, aggs) }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.running.memory_bytes()
    }

    /// Adds the rows of a chunk; answers the groups that are complete.
    pub fn update(&mut self, group_by: &[Expr], aggs: &[AggDesc], ctx: &EvalCtx, chunk: &Chunk) -> Result<Option<Chunk>> {
        let columns = eval_columns(group_by, ctx, chunk)?;
        self.update_keyed(&columns, group_by, aggs, ctx, chunk)
    }

    /// As [`OrderedAggregator::update`] with the group-by columns evaluated already.
    pub fn update_keyed(
        &mut self,
        columns: &[Column],
        group_by: &[Expr],
        aggs: &[AggDesc],
        ctx: &EvalCtx,
        chunk: &Chunk,
    ) -> Result<Option<Chunk>> {
        let rows = chunk.rows();
        if group_by.is_empty() || rows == 0 {
            self.running.update(group_by, aggs, ctx, chunk)?;
            return Ok(None);
        }
        let types = expr_types(group_by);
        let same = |a: usize, b: usize| {
            columns.iter().zip(&types).all(|(column, ty)| column.compare_rows(a, column, b, ty.collation) == Ordering::Equal)
        };
        // Where the chunk's last group begins; everything before is complete.
        let last = (1..rows).rev().find(|row| !same(row - 1, *row)).unwrap_or(0);
        if last == 0 && self.continues(columns, &types) {
            self.running.update_keyed(columns, aggs, ctx, chunk)?;
            return Ok(None);
        }
        if last > 0 {
            self.running.update_keyed(&part(columns, 0, last), aggs, ctx, &chunk.slice(0, last))?;
        }
        let done = self.take_all(group_by, aggs, ctx)?;
        self.running.update_keyed(&part(columns, last, rows), aggs, ctx, &chunk.slice(last, rows))?;
        Ok(done)
    }

    /// Whether the first row belongs to the group that is held, or none is.
    fn continues(&self, columns: &[Column], types: &[FieldType]) -> bool {
        let mut key = Vec::new();
        crate::sort_key::push_group_key(&mut key, columns, types, 0);
        self.running.is_empty() || self.running.groups().find(&key).is_some()
    }

    /// The groups that are left when there is no more input.
    pub fn finish(&mut self, group_by: &[Expr], aggs: &[AggDesc], ctx: &EvalCtx) -> Result<Option<Chunk>> {
        self.take_all(group_by, aggs, ctx)
    }

    fn take_all(&mut self, group_by: &[Expr], aggs: &[AggDesc], ctx: &EvalCtx) -> Result<Option<Chunk>> {
        if self.running.is_empty() {
            return Ok(None);
        }
        let full = std::mem::replace(&mut self.running, Aggregator::new(group_by, aggs));
        full.result(aggs, ctx, 0, full.len()).map(Some)
    }
}

fn part(columns: &[Column], from: usize, to: usize) -> Vec<Column> {
    let cut = |column: &Column| {
        let mut part = column.empty_like(to - from);
        part.extend_range(column, from, to);
        part
    };
    columns.iter().map(cut).collect()
}

/// The types of an aggregation's output.
pub fn output_types(group_by: &[Expr], aggs: &[AggDesc]) -> Vec<FieldType> {
    group_by.iter().map(|expr| expr.field_type().clone()).chain(aggs.iter().flat_map(AggDesc::output_types)).collect()
}

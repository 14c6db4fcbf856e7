//! Hash aggregation, spilling rows of new groups when the statement is over its quota.
//!
//! ```text
//!   within the quota      every row updates its group in memory
//!   over it               rows of groups in memory still update them; rows of other groups go to 8 files by the hash of their key
//!   input at its end      groups in memory are handed up; then each file is an input of its own, partitioned by the next bits
//! ```
//!
//! Invariants
//! - All rows of a group meet in one pass: either the group was in memory when spilling began, or all of its rows are in one file.
//! - The depth of recursion is bounded by the bits of the hash; beyond it the statement fails with a clear error.

use async_trait::async_trait;
use copr::aggregator::Aggregator;
use copr::group_table::hash_key;
use copr::sort_key::{eval_columns, expr_types, push_group_key};
use planner::physical::Aggregate as Plan;
use types::{Chunk, Column, FieldType};

use crate::memory::Reservation;
use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::spill::{SpillFile, SpillWriter};
use crate::{ExecCtx, Result};

const OPERATOR: &str = "HashAgg";
/// Files of one pass, as bits of the hash.
const PARTITION_BITS: u32 = 3;
/// Passes until the bits of the hash are used up.
const MAX_DEPTH: u32 = 16;

/// Groups by hashing.
pub(crate) struct HashAgg {
    plan: PlanRef<Plan>,
    child_types: PlanRef<[FieldType]>,
    child: Option<BoxOperator>,
    /// Groups being handed up, and how many have been.
    emitting: Option<(Aggregator, usize)>,
    /// Files still to be read, with their depth.
    pending: Vec<(SpillFile, u32)>,
    reservation: Option<Reservation>,
}

/// One pass over an input.
struct Pass {
    groups: Aggregator,
    files: Option<Vec<SpillWriter>>,
    /// Size of the groups when spilling began.
    spilled_at: usize,
    depth: u32,
}

impl HashAgg {
    pub(crate) fn new(plan: PlanRef<Plan>, child_types: PlanRef<[FieldType]>, child: BoxOperator) -> Self {
        Self { plan, child_types, child: Some(child), emitting: None, pending: Vec::new(), reservation: None }
    }

    fn finish(&mut self, pass: Pass, reservation: Reservation) -> Result<()> {
        for writer in pass.files.into_iter().flatten() {
            if writer.rows() > 0 {
                self.pending.push((writer.finish()?, pass.depth + 1));
            }
        }
        self.emitting = Some((pass.groups, 0));
        self.reservation = Some(reservation);
        Ok(())
    }

    async fn read_child(&mut self, mut child: BoxOperator, ctx: &ExecCtx) -> Result<()> {
        let mut pass = Pass::new(&self.plan, 0);
        let mut reservation = ctx.memory.reserve(OPERATOR);
        while let Some(chunk) = child.next(ctx).await? {
            ctx.checkpoint().await?;
            pass.push(&chunk, &self.plan, &self.child_types, &mut reservation, ctx)?;
        }
        self.finish(pass, reservation)
    }

    async fn read_file(&mut self, file: SpillFile, depth: u32, ctx: &ExecCtx) -> Result<()> {
        let (plan, types, context) = (self.plan.clone(), self.child_types.clone(), ctx.clone());
        let job = move || {
            let mut pass = Pass::new(&plan, depth);
            let mut reservation = context.memory.reserve(OPERATOR);
            let mut reader = file.read()?;
            while let Some(chunk) = reader.next_chunk(context.vars.chunk_rows)? {
                context.check()?;
                pass.push(&chunk, &plan, &types, &mut reservation, &context)?;
            }
            Ok((pass, reservation))
        };
        let (pass, reservation) = ctx.run_blocking(OPERATOR, job).await?;
        self.finish(pass, reservation)
    }
}

impl Pass {
    fn new(plan: &Plan, depth: u32) -> Self {
        Self { groups: Aggregator::new(&plan.group_by, &plan.aggs), files: None, spilled_at: 0, depth }
    }

    fn push(&mut self, chunk: &Chunk, plan: &Plan, types: &[FieldType], reservation: &mut Reservation, ctx: &ExecCtx) -> Result<()> {
        if self.files.is_some() {
            self.push_spilling(chunk, plan, ctx)?;
            reservation.set_quietly(self.groups.memory_bytes());
            // States of known groups (DISTINCT, GROUP_CONCAT) may grow without bound; that cannot be spilled.
            return if self.groups.memory_bytes() > self.spilled_at.saturating_mul(2) + (1 << 20) {
                Err(reservation.over_quota())
            } else {
                Ok(())
            };
        }
        self.groups.update(&plan.group_by, &plan.aggs, &ctx.eval, chunk)?;
        if reservation.set_quietly(self.groups.memory_bytes()) {
            return Ok(());
        }
        if !ctx.vars.spill || plan.group_by.is_empty() || self.depth == MAX_DEPTH {
            return Err(reservation.over_quota());
        }
        self.spilled_at = self.groups.memory_bytes();
        self.files = Some((0..1 << PARTITION_BITS).map(|_| SpillWriter::create(OPERATOR, types)).collect::<Result<_>>()?);
        Ok(())
    }

    /// Rows of known groups update them, the others go to files.
    fn push_spilling(&mut self, chunk: &Chunk, plan: &Plan, ctx: &ExecCtx) -> Result<()> {
        let columns = eval_columns(&plan.group_by, &ctx.eval, chunk)?;
        let types = expr_types(&plan.group_by);
        let mut known = Vec::new();
        let mut key = Vec::new();
        let Some(files) = &mut self.files else { return Ok(()) };
        for row in 0..chunk.rows() {
            key.clear();
            push_group_key(&mut key, &columns, &types, row);
            if self.groups.groups().find(&key).is_some() {
                known.push(row as u32);
                continue;
            }
            // The upper bits choose the hash table's slots; take others for each depth.
            let partition = (hash_key(&key).rotate_left(7) >> (self.depth * PARTITION_BITS)) & ((1 << PARTITION_BITS) - 1);
            files[partition as usize].write(&[], chunk.columns(), row)?;
        }
        if known.is_empty() {
            return Ok(());
        }
        let columns = columns.iter().map(|column| gather(column, &known)).collect::<Vec<_>>();
        Ok(self.groups.update_keyed(&columns, &plan.aggs, &ctx.eval, &chunk.gather(&known))?)
    }
}

fn gather(column: &Column, rows: &[u32]) -> Column {
    let mut out = column.empty_like(rows.len());
    out.extend_gather(column, rows);
    out
}

#[async_trait]
impl Operator for HashAgg {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        loop {
            ctx.checkpoint().await?;
            if let Some(child) = self.child.take() {
                self.read_child(child, ctx).await?;
            }
            if let Some((groups, from)) = &mut self.emitting {
                let to = groups.len().min(*from + ctx.vars.chunk_rows);
                if *from < to {
                    let chunk = groups.result(&self.plan.aggs, &ctx.eval, *from, to)?;
                    *from = to;
                    return Ok(Some(chunk));
                }
                self.emitting = None;
                self.reservation = None;
            }
            let Some((file, depth)) = self.pending.pop() else { return Ok(None) };
            self.read_file(file, depth, ctx).await?;
        }
    }
}

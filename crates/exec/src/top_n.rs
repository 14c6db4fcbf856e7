//! Top-n: the first rows of an order, without sorting all rows.
//!
//! A very large offset makes the heap as large as a sort, which could not spill; such plans run as a sort and a limit (see `build`).

use async_trait::async_trait;
use planner::physical::TopN as Plan;
use types::Chunk;

use crate::memory::Reservation;
use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// Hands up the first rows of an order.
pub(crate) struct TopN {
    plan: PlanRef<Plan>,
    child: BoxOperator,
    types: PlanRef<[types::FieldType]>,
    state: Option<(copr::top_n::TopN, Reservation)>,
    skip: u64,
}

impl TopN {
    pub(crate) fn new(plan: PlanRef<Plan>, types: PlanRef<[types::FieldType]>, child: BoxOperator) -> Self {
        Self { plan, child, types, state: None, skip: 0 }
    }

    async fn collect(&mut self, ctx: &ExecCtx) -> Result<(copr::top_n::TopN, Reservation)> {
        self.skip = self.plan.limit.offset(&ctx.eval)?;
        let mut top = copr::top_n::TopN::new(self.plan.limit.total(&ctx.eval)?, &self.types);
        let mut reservation = ctx.memory.reserve("TopN");
        while let Some(chunk) = self.child.next(ctx).await? {
            ctx.checkpoint().await?;
            top.push(&self.plan.by, &chunk, &ctx.eval)?;
            reservation.set(top.memory_bytes())?;
        }
        Ok((top, reservation))
    }
}

#[async_trait]
impl Operator for TopN {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        if self.state.is_none() {
            self.state = Some(self.collect(ctx).await?);
        }
        let Some((top, _)) = &mut self.state else { return Ok(None) };
        while let Some(chunk) = top.drain(ctx.vars.chunk_rows) {
            let rows = chunk.rows() as u64;
            if rows <= self.skip {
                self.skip -= rows;
                continue;
            }
            let skip = std::mem::take(&mut self.skip) as usize;
            return Ok(Some(if skip > 0 { chunk.slice(skip, rows as usize) } else { chunk }));
        }
        Ok(None)
    }
}

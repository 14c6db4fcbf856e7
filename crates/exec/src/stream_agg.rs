//! Stream aggregation: input ordered by the group keys, one group held.

use async_trait::async_trait;
use copr::aggregator::{Aggregator, OrderedAggregator};
use planner::physical::Aggregate as Plan;
use types::Chunk;

use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// Groups ordered input.
pub(crate) struct StreamAgg {
    plan: PlanRef<Plan>,
    child: BoxOperator,
    running: OrderedAggregator,
    done: bool,
}

impl StreamAgg {
    pub(crate) fn new(plan: PlanRef<Plan>, child: BoxOperator) -> Self {
        let running = OrderedAggregator::new(&plan.group_by, &plan.aggs);
        Self { plan, child, running, done: false }
    }
}

#[async_trait]
impl Operator for StreamAgg {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        if self.done {
            return Ok(None);
        }
        let (group_by, aggs) = (&self.plan.group_by, &self.plan.aggs);
        let mut empty = true;
        while let Some(chunk) = self.child.next(ctx).await? {
            ctx.checkpoint().await?;
            empty = false;
            if let Some(groups) = self.running.update(group_by, aggs, &ctx.eval, &chunk)? {
                return Ok(Some(groups));
            }
        }
        self.done = true;
        let last = self.running.finish(group_by, aggs, &ctx.eval)?;
        if last.is_none() && empty && group_by.is_empty() {
            // One group is there even without input.
            return Ok(Some(Aggregator::new(group_by, aggs).result(aggs, &ctx.eval, 0, 1)?));
        }
        Ok(last)
    }
}

//! Projection: columns computed from columns.

use async_trait::async_trait;
use copr::sort_key::chunk_of;
use planner::physical::Projection as Plan;
use types::Chunk;

use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// Computes one column for each expression.
pub(crate) struct Projection {
    plan: PlanRef<Plan>,
    child: BoxOperator,
}

impl Projection {
    pub(crate) fn new(plan: PlanRef<Plan>, child: BoxOperator) -> Self {
        Self { plan, child }
    }
}

#[async_trait]
impl Operator for Projection {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        let Some(chunk) = self.child.next(ctx).await? else { return Ok(None) };
        let columns = copr::sort_key::eval_columns(&self.plan.exprs, &ctx.eval, &chunk)?;
        Ok(Some(chunk_of(columns, chunk.rows())))
    }
}

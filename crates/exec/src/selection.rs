//! Selection: a filter that could not be pushed down.

use async_trait::async_trait;
use planner::physical::Selection as Plan;
use types::Chunk;

use crate::filter::filtered;
use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// Keeps the rows of its child for which all conditions are true.
pub(crate) struct Selection {
    plan: PlanRef<Plan>,
    child: BoxOperator,
    /// Conditions without columns, checked once: false means no row at all.
    constant_checked: bool,
}

impl Selection {
    pub(crate) fn new(plan: PlanRef<Plan>, child: BoxOperator) -> Self {
        Self { plan, child, constant_checked: false }
    }

    fn is_never_true(&self, ctx: &ExecCtx) -> Result<bool> {
        for condition in self.plan.conditions.iter().filter(|condition| condition.is_constant()) {
            let mut row = vec![0];
            condition.filter(&ctx.eval, &Chunk::without_columns(1), &mut row)?;
            if row.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[async_trait]
impl Operator for Selection {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        if !self.constant_checked {
            self.constant_checked = true;
            if self.is_never_true(ctx)? {
                return Ok(None);
            }
        }
        while let Some(chunk) = self.child.next(ctx).await? {
            ctx.checkpoint().await?;
            let chunk = filtered(&self.plan.conditions, &ctx.eval, chunk)?;
            if chunk.rows() > 0 {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }
}

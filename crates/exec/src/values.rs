//! Rows of constant expressions: `SELECT 1`, VALUES, the empty result of a false WHERE.

use async_trait::async_trait;
use planner::physical::Values as Plan;
use types::{Chunk, FieldType};

use crate::operator::Operator;
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// Hands up computed rows.
pub(crate) struct Values {
    plan: PlanRef<Plan>,
    types: PlanRef<[FieldType]>,
    next: usize,
}

impl Values {
    pub(crate) fn new(plan: PlanRef<Plan>, types: PlanRef<[FieldType]>) -> Self {
        Self { plan, types, next: 0 }
    }
}

#[async_trait]
impl Operator for Values {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        ctx.check()?;
        let end = self.plan.rows.len().min(self.next.saturating_add(ctx.vars.chunk_rows));
        let rows = &self.plan.rows[self.next..end];
        self.next = end;
        if rows.is_empty() {
            return Ok(None);
        }
        let mut chunk = Chunk::new(&self.types, rows.len());
        for row in rows {
            for (at, value) in row.iter().enumerate() {
                chunk.columns_mut()[at].push(&value.eval_const(&ctx.eval)?);
            }
        }
        chunk.set_rows(rows.len());
        Ok(Some(chunk))
    }
}

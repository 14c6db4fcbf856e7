//! Virtual tables: rows computed by the server.

use async_trait::async_trait;
use expr::Expr;
use planner::physical::MemTable as Plan;
use types::{Chunk, Datum};

use crate::context::VirtualScan;
use crate::filter::filtered;
use crate::operator::Operator;
use crate::plan_ref::PlanRef;
use crate::{Error, ExecCtx, Result};

/// Hands up the rows of a virtual table.
pub(crate) struct MemTable {
    plan: PlanRef<Plan>,
    chunks: Option<std::vec::IntoIter<Chunk>>,
}

impl MemTable {
    pub(crate) fn new(plan: PlanRef<Plan>) -> Self {
        Self { plan, chunks: None }
    }

    /// `column = constant` conditions, for the provider.
    fn equals(&self, ctx: &ExecCtx) -> Result<Vec<(usize, Datum)>> {
        let mut equals = Vec::new();
        for filter in &self.plan.filters {
            let Some((expr::Op::Eq, [left, right])) = filter.as_op() else { continue };
            let (column, value) = match (left, right) {
                (Expr::Column { index, .. }, value) | (value, Expr::Column { index, .. }) if value.is_constant() => (*index, value),
                _ => continue,
            };
            equals.push((self.plan.columns[column], value.eval_const(&ctx.eval)?));
        }
        Ok(equals)
    }
}

#[async_trait]
impl Operator for MemTable {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        if self.chunks.is_none() {
            let provider = ctx.virtual_tables.as_ref().ok_or(Error::InvalidPlan("nobody computes virtual tables here"))?;
            let scan = VirtualScan { table: self.plan.table.clone(), database: self.plan.database.clone(), equals: self.equals(ctx)? };
            self.chunks = Some(provider.rows(&scan, ctx).await?.into_iter());
        }
        while let Some(chunk) = self.chunks.as_mut().and_then(Iterator::next) {
            ctx.checkpoint().await?;
            let chunk = filtered(&self.plan.filters, &ctx.eval, chunk.project(&self.plan.columns))?;
            if chunk.rows() > 0 {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }
}

//! Limit: skips the offset, hands up the count, then stops its child.

use async_trait::async_trait;
use copr::RowLimit;
use types::Chunk;

use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// Hands up a window of its child's rows.
pub(crate) struct Limit {
    limit: PlanRef<RowLimit>,
    child: BoxOperator,
    /// Rows still to skip and to hand up.
    window: Option<(u64, u64)>,
}

impl Limit {
    pub(crate) fn new(limit: PlanRef<RowLimit>, child: BoxOperator) -> Self {
        Self { limit, child, window: None }
    }
}

#[async_trait]
impl Operator for Limit {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        let (mut skip, mut take) = match self.window {
            Some(window) => window,
            None => (self.limit.offset(&ctx.eval)?, self.limit.count(&ctx.eval)?),
        };
        let mut result = None;
        while take > 0 {
            let Some(mut chunk) = self.child.next(ctx).await? else {
                take = 0;
                break;
            };
            let rows = chunk.rows() as u64;
            if rows <= skip {
                skip -= rows;
                continue;
            }
            if skip > 0 {
                chunk = chunk.slice(skip as usize, rows as usize);
                skip = 0;
            }
            chunk.truncate(take.min(chunk.rows() as u64) as usize);
            take -= chunk.rows() as u64;
            result = Some(chunk);
            break;
        }
        self.window = Some((skip, take));
        Ok(result)
    }
}

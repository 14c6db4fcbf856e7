//! Projection: columns computed from columns.

use async_trait::async_trait;
use copr::sort_key::chunk_of;
use expr::Expr;
use planner::physical::Projection as Plan;
use types::Chunk;

use crate::operator::{BoxOperator, CHUNK_BYTES, Operator};
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// Rows that are computed first to learn how long results are.
const FIRST_ROWS: usize = 16;
/// Results that cannot be longer are computed for whole chunks.
const SHORT_BYTES: u32 = 4096;

/// Computes one column for each expression. Where results can be long, a chunk is computed in parts, so that short rows do not become
/// a chunk of a gigabyte (`REPEAT(c, 1000000)`).
pub(crate) struct Projection {
    plan: PlanRef<Plan>,
    child: BoxOperator,
    /// Some expression may give long results.
    grows: bool,
    /// Bytes of a computed row, as learnt from the part before.
    row_bytes: Option<usize>,
    /// A chunk of which some rows are computed.
    started: Option<(Chunk, usize)>,
}

impl Projection {
    pub(crate) fn new(plan: PlanRef<Plan>, child: BoxOperator) -> Self {
        let grows = plan.exprs.iter().any(|expr| {
            let is_given = matches!(expr, Expr::Column { .. } | Expr::Constant { .. } | Expr::Param { .. });
            !is_given && expr.field_type().column_length() > SHORT_BYTES
        });
        Self { plan, child, grows, row_bytes: None, started: None }
    }

    /// Rows to compute together.
    fn part(&self) -> usize {
        match self.row_bytes {
            _ if !self.grows => usize::MAX,
            None => FIRST_ROWS,
            Some(bytes) => (CHUNK_BYTES / bytes.max(1)).max(1),
        }
    }
}

#[async_trait]
impl Operator for Projection {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        let (chunk, start) = match self.started.take() {
            Some(started) => started,
            None => match self.child.next(ctx).await? {
                Some(chunk) => (chunk, 0),
                None => return Ok(None),
            },
        };
        let end = chunk.rows().min(start.saturating_add(self.part()));
        let whole = end - start == chunk.rows();
        let part = if whole { None } else { Some(chunk.slice(start, end)) };
        let rows = part.as_ref().unwrap_or(&chunk);
        let computed = chunk_of(copr::sort_key::eval_columns(&self.plan.exprs, &ctx.eval, rows)?, rows.rows());
        if self.grows {
            self.row_bytes = Some(computed.memory_bytes() / computed.rows().max(1));
        }
        if end < chunk.rows() {
            self.started = Some((chunk, end));
        }
        Ok(Some(computed))
    }
}

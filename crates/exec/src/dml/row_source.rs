//! The rows that a statement changes, streamed where the statement cannot see its own writes, collected first where it could.
//!
//! A reader sees the transaction's writes as they were when it was opened, and meets each row once. A join may come back to a table after
//! the statement has changed it, so its rows are collected before the first write.

use planner::physical::{Node, Op};
use types::Chunk;

use crate::build::build;
use crate::memory::Reservation;
use crate::operator::BoxOperator;
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// Where the rows to change come from.
pub(crate) enum RowSource {
    /// Straight from the operator.
    Streamed(BoxOperator),
    /// Collected; the next one last.
    Collected {
        chunks: Vec<Chunk>,
        /// Given back with the chunks.
        _reservation: Reservation,
    },
}

impl RowSource {
    pub(crate) async fn open(node: &PlanRef<Node>, ctx: &ExecCtx) -> Result<Self> {
        let mut operator = build(node, ctx)?;
        if !reads_twice(node) {
            return Ok(Self::Streamed(operator));
        }
        let mut reservation = ctx.memory.reserve("rows to change");
        let mut chunks = Vec::new();
        let mut bytes = 0;
        while let Some(chunk) = operator.next(ctx).await? {
            ctx.checkpoint().await?;
            bytes += chunk.memory_bytes();
            reservation.set(bytes)?;
            chunks.push(chunk);
        }
        chunks.reverse();
        Ok(Self::Collected { chunks, _reservation: reservation })
    }

    pub(crate) async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        match self {
            Self::Streamed(operator) => operator.next(ctx).await,
            Self::Collected { chunks, .. } => Ok(chunks.pop()),
        }
    }

    /// Whether a row may come more than once.
    pub(crate) fn may_repeat_rows(node: &Node) -> bool {
        has_join(node)
    }
}

fn has_join(node: &Node) -> bool {
    matches!(node.op, Op::HashJoin(_) | Op::IndexJoin(_) | Op::MergeJoin(_) | Op::Apply(_)) || node.children().into_iter().any(has_join)
}

/// Whether rows may be read after the statement has begun to write.
fn reads_twice(node: &Node) -> bool {
    // An index lookup fetches rows long after it has read the index; only a plain row or table read is over before its rows are written.
    has_join(node) || has_lookup(node)
}

fn has_lookup(node: &Node) -> bool {
    matches!(node.op, Op::UnionAll(_)) || node.children().into_iter().any(has_lookup)
}

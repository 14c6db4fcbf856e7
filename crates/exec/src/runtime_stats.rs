//! What an execution really did, for EXPLAIN ANALYZE: rows, calls and time of each operator.
//!
//! Nothing is measured unless the context carries [`RuntimeStats`]; operators are wrapped only then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use planner::physical::NodeId;
use types::Chunk;

use crate::operator::{BoxOperator, Operator};
use crate::{ExecCtx, Result};

/// Figures of one operator, over all its executions.
#[derive(Debug, Default)]
pub struct NodeStats {
    /// Rows handed up.
    pub rows: AtomicU64,
    /// Chunks asked for.
    pub loops: AtomicU64,
    /// How often the operator was started (more than once below an apply or an index join).
    pub starts: AtomicU64,
    /// Time spent in the operator and below, in nanoseconds.
    pub nanos: AtomicU64,
}

impl NodeStats {
    /// Time spent in the operator and below.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }
}

/// Figures of all operators of a plan, by node id.
#[derive(Debug)]
pub struct RuntimeStats {
    nodes: Vec<NodeStats>,
}

impl RuntimeStats {
    /// Room for the nodes `0..=max_id`.
    pub fn new(max_id: NodeId) -> Self {
        Self { nodes: (0..=max_id).map(|_| NodeStats::default()).collect() }
    }

    /// The figures of a node.
    pub fn node(&self, id: NodeId) -> Option<&NodeStats> {
        self.nodes.get(id as usize)
    }
}

/// An operator that is measured.
struct Measured {
    id: NodeId,
    inner: BoxOperator,
}

/// Wraps an operator when the execution is measured.
pub(crate) fn measured(id: NodeId, inner: BoxOperator, ctx: &ExecCtx) -> BoxOperator {
    match &ctx.stats {
        Some(stats) => {
            if let Some(node) = stats.node(id) {
                node.starts.fetch_add(1, Ordering::Relaxed);
            }
            Box::new(Measured { id, inner })
        }
        None => inner,
    }
}

#[async_trait]
impl Operator for Measured {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        let start = Instant::now();
        let result = self.inner.next(ctx).await;
        if let Some(node) = ctx.stats.as_ref().and_then(|stats| stats.node(self.id)) {
            node.nanos.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
            node.loops.fetch_add(1, Ordering::Relaxed);
            if let Ok(Some(chunk)) = &result {
                node.rows.fetch_add(chunk.rows() as u64, Ordering::Relaxed);
            }
        }
        result
    }
}

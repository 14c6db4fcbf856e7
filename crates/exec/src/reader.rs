//! Table and index readers: a pushed-down plan over the key ranges of this execution.

use std::sync::Arc;

use async_trait::async_trait;
use base::KeyRange;
use copr::{DagOp, DagPlan};
use planner::range::RangeBuilder;
use types::Chunk;

use crate::operator::Operator;
use crate::plan_ref::PlanRef;
use crate::source::{DagSource, SourceOptions};
use crate::{ExecCtx, Result};

/// Reads the rows of a [`DagPlan`] over ranges.
pub(crate) struct Reader {
    dag: Arc<DagPlan>,
    ranges: Ranges,
    desc: bool,
    source: Option<DagSource>,
}

/// Where a reader's ranges come from.
pub(crate) enum Ranges {
    /// Built from the parameters when the reader is opened.
    Built(PlanRef<RangeBuilder>),
    /// Given, as by an index join.
    Given(Vec<KeyRange>),
}

impl Ranges {
    pub(crate) fn resolve(&mut self, ctx: &ExecCtx) -> Result<Vec<KeyRange>> {
        match self {
            Ranges::Built(builder) => Ok(builder.ranges(&ctx.eval)?),
            Ranges::Given(ranges) => Ok(std::mem::take(ranges)),
        }
    }
}

impl Reader {
    pub(crate) fn new(dag: Arc<DagPlan>, ranges: Ranges, desc: bool) -> Self {
        Self { dag, ranges, desc, source: None }
    }
}

/// The limit of a plan that begins with one, as a hint for the size of pages.
fn limit_hint(dag: &DagPlan, ctx: &ExecCtx) -> Result<Option<u64>> {
    for op in &dag.ops {
        match op {
            DagOp::Limit(limit) => return Ok(Some(limit.total(&ctx.eval)?)),
            DagOp::Projection(_) => {}
            DagOp::Aggregate { .. } | DagOp::TopN { .. } => return Ok(None),
        }
    }
    Ok(None)
}

#[async_trait]
impl Operator for Reader {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        ctx.checkpoint().await?;
        if self.source.is_none() {
            let ranges = self.ranges.resolve(ctx)?;
            let options = SourceOptions { desc: self.desc, limit_hint: limit_hint(&self.dag, ctx)? };
            self.source = Some(DagSource::open(&self.dag, ranges, options, ctx).await?);
        }
        match &mut self.source {
            Some(source) => source.next(ctx).await,
            None => Ok(None),
        }
    }
}

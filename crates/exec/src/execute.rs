//! Running a plan.
//!
//! ```text
//!   execute ─┬ root is a point get                     one get, one row                     RowStream
//!            ├ scalar subqueries ─▶ parameters ─┬ query    operators, pulled by the caller  RowStream
//!            └                                  └ change   runs to its end                  Affected
//! ```

use std::sync::Arc;

use env::Env;
use planner::physical::{Node, Op, PhysicalPlan, ScalarKind, ScalarSubquery};
use types::{Chunk, Datum};

use crate::build::build;
use crate::context::ReadTs;
use crate::dml::{self, Affected};
use crate::operator::BoxOperator;
use crate::plan_ref::PlanRef;
use crate::point_get::{point_get, reads_one_key};
use crate::{Error, ExecCtx, Result};

/// A running or finished statement.
pub enum Execution {
    /// A query; its rows are computed as they are asked for.
    Rows(RowStream),
    /// A change of rows, which is done (in the transaction's buffer).
    Affected(Affected),
}

/// The rows of a query.
pub struct RowStream {
    rows: Rows,
    /// Computing rows may keep a thread: it is done on one of its own.
    waits: bool,
}

enum Rows {
    /// All there is, at most one row.
    One(Option<Chunk>),
    Operator(BoxOperator, Box<ExecCtx>),
    Finished,
}

impl RowStream {
    fn new(rows: Rows) -> Self {
        Self { rows, waits: false }
    }

    /// The next chunk, with at least one row; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Chunk>> {
        match &mut self.rows {
            Rows::Operator(_, ctx) if self.waits => {
                let env = ctx.env.clone();
                let mut rows = std::mem::replace(&mut self.rows, Rows::Finished);
                let (rows, chunk) = on_thread_of_its_own(&env, async move {
                    let chunk = rows.next().await;
                    (rows, chunk)
                })
                .await?;
                self.rows = rows;
                chunk
            }
            rows => rows.next().await,
        }
    }

    /// All rows that are left, for callers that know there are few.
    pub async fn collect(&mut self) -> Result<Vec<Chunk>> {
        let mut chunks = Vec::new();
        while let Some(chunk) = self.next().await? {
            chunks.push(chunk);
        }
        Ok(chunks)
    }
}

impl Rows {
    async fn next(&mut self) -> Result<Option<Chunk>> {
        match self {
            Self::One(chunk) => Ok(chunk.take()),
            Self::Finished => Ok(None),
            Self::Operator(operator, ctx) => {
                ctx.checkpoint().await?;
                let chunk = operator.next(ctx).await?;
                if chunk.is_none() {
                    *self = Self::Finished;
                }
                Ok(chunk)
            }
        }
    }
}

/// Runs a future that may keep its thread where it holds up nobody else.
async fn on_thread_of_its_own<T: Send + 'static>(env: &Env, future: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let runtime = tokio::runtime::Handle::current();
    env.run_blocking(move || runtime.block_on(future)).await.ok_or(Error::ThreadEnded)
}

/// Runs a plan with the parameters of `ctx.eval`.
pub async fn execute(plan: &Arc<PhysicalPlan>, mut ctx: ExecCtx) -> Result<Execution> {
    if let Op::PointGet(get) = &plan.root.op
        && ctx.stats.is_none()
        && plan.scalar_subqueries.is_empty()
        && !plan.waits
    {
        if !reads_one_key(get) {
            ctx.fix_read_ts().await?;
        }
        return Ok(Execution::Rows(RowStream::new(Rows::One(point_get(get, &plan.root.output, &ctx).await?))));
    }
    if !plan.waits {
        return Box::pin(execute_here(plan, ctx)).await;
    }
    let (env, plan) = (ctx.env.clone(), plan.clone());
    let mut execution = Box::pin(on_thread_of_its_own(&env, async move { execute_here(&plan, ctx).await })).await??;
    if let Execution::Rows(stream) = &mut execution {
        stream.waits = true;
    }
    Ok(execution)
}

/// Anything but a plain point get; in a future of its own allocation, so that the callers' stay small.
async fn execute_here(plan: &Arc<PhysicalPlan>, mut ctx: ExecCtx) -> Result<Execution> {
    if ctx.read_ts == ReadTs::Newest && reads_tables(plan) {
        ctx.fix_read_ts().await?;
    }
    let plan = PlanRef::new(plan.clone());
    if plan.slots > ctx.eval.params.len() {
        let mut params = ctx.eval.params.to_vec();
        params.resize(plan.slots, Datum::Null);
        ctx = ctx.with_params(params.into());
    }
    for at in 0..plan.scalar_subqueries.len() {
        let subquery = plan.map(|plan| &plan.scalar_subqueries[at]);
        let value = Box::pin(scalar_value(&subquery, &ctx)).await?;
        let mut params = ctx.eval.params.to_vec();
        let slot = params.get_mut(subquery.slot).ok_or(Error::InvalidPlan("a subquery's slot is beyond the plan's slots"))?;
        *slot = value;
        ctx = ctx.with_params(params.into());
    }
    let root = plan.map(|plan| &plan.root);
    if dml::is_write(&root.op) {
        return Ok(Execution::Affected(dml::run(root, &ctx).await?));
    }
    let operator = build(&root, &ctx)?;
    Ok(Execution::Rows(RowStream::new(Rows::Operator(operator, Box::new(ctx)))))
}

fn reads_tables(plan: &PhysicalPlan) -> bool {
    fn reads(node: &Node) -> bool {
        !matches!(node.op, Op::Values(_) | Op::MemTable(_)) && (node.children().is_empty() || node.children().into_iter().any(reads))
    }
    reads(&plan.root) || plan.scalar_subqueries.iter().any(|subquery| reads(&subquery.plan))
}

/// The value of a subquery that does not depend on outer rows.
async fn scalar_value(subquery: &PlanRef<ScalarSubquery>, ctx: &ExecCtx) -> Result<Datum> {
    let mut operator = build(&subquery.map(|subquery| &*subquery.plan), ctx)?;
    let Some(chunk) = operator.next(ctx).await? else {
        return Ok(match subquery.kind {
            ScalarKind::Value => Datum::Null,
            ScalarKind::Exists => Datum::Int(0),
        });
    };
    match subquery.kind {
        ScalarKind::Exists => Ok(Datum::Int(1)),
        ScalarKind::Value if chunk.rows() > 1 || operator.next(ctx).await?.is_some() => Err(Error::SubqueryRows),
        ScalarKind::Value => Ok(chunk.columns().first().map_or(Datum::Null, |column| column.datum(0))),
    }
}

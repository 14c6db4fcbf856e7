//! Apply: the inner plan runs anew for each outer row, with the outer row's values as parameters.
//!
//! Equal bindings are common (a correlated subquery over few distinct values), so the inner rows of the last binding are kept and used
//! again when the next outer row binds the same values.

use std::sync::Arc;

use async_trait::async_trait;
use planner::physical::{Apply as Plan, Node};
use types::{Chunk, Datum};

use crate::build::build;
use crate::join::build_table::BuildTable;
use crate::join::probe::Probe;
use crate::join::shape::JoinShape;
use crate::memory::Reservation;
use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// A nested loop with bindings.
pub(crate) struct Apply {
    plan: PlanRef<Plan>,
    inner: PlanRef<Node>,
    shape: JoinShape,
    outer: BoxOperator,
    /// Outer rows that are left of the current chunk.
    current: Option<(Chunk, usize)>,
    probe: Option<Probe>,
    /// The inner rows and the values they were computed for.
    table: Option<(BuildTable, Vec<Datum>, Reservation)>,
}

impl Apply {
    pub(crate) fn new(plan: PlanRef<Plan>, inner: PlanRef<Node>, shape: JoinShape, outer: BoxOperator) -> Self {
        Self { plan, inner, shape, outer, current: None, probe: None, table: None }
    }

    /// Runs the inner plan for an outer row, unless the last run had the same values.
    async fn run_inner(&mut self, row: &Chunk, ctx: &ExecCtx) -> Result<()> {
        let values = self.plan.bindings.iter().map(|(_, column)| row.column(*column).datum(0)).collect::<Vec<_>>();
        if self.table.as_ref().is_some_and(|(_, known, _)| *known == values) && self.is_repeatable() {
            return Ok(());
        }
        self.table = None;
        let mut params = ctx.eval.params.to_vec();
        for ((slot, _), value) in self.plan.bindings.iter().zip(&values) {
            if params.len() <= *slot {
                params.resize(*slot + 1, Datum::Null);
            }
            params[*slot] = value.clone();
        }
        let inner_ctx = ctx.with_params(Arc::from(params));
        let mut reservation = ctx.memory.reserve("Apply");
        let mut table = BuildTable::new(&self.shape);
        let mut inner = build(&self.inner, &inner_ctx)?;
        while let Some(chunk) = inner.next(&inner_ctx).await? {
            inner_ctx.checkpoint().await?;
            table.push(&chunk, &self.shape, &inner_ctx.eval)?;
            reservation.set(table.memory_bytes())?;
        }
        self.table = Some((table, values, reservation));
        Ok(())
    }

    /// Whether running the inner plan again with the same values yields the same rows.
    fn is_repeatable(&self) -> bool {
        !self.plan.bindings.is_empty()
    }
}

#[async_trait]
impl Operator for Apply {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        loop {
            ctx.checkpoint().await?;
            if let (Some(probe), Some((table, ..))) = (&mut self.probe, &mut self.table) {
                if let Some(chunk) = probe.next(&self.shape, table, ctx.vars.chunk_rows, &ctx.eval)? {
                    return Ok(Some(chunk));
                }
                self.probe = None;
            }
            let row = match &mut self.current {
                Some((chunk, next)) if *next < chunk.rows() => {
                    *next += 1;
                    chunk.slice(*next - 1, *next)
                }
                _ => match self.outer.next(ctx).await? {
                    Some(chunk) => {
                        self.current = Some((chunk, 0));
                        continue;
                    }
                    None => return Ok(None),
                },
            };
            self.run_inner(&row, ctx).await?;
            self.probe = Some(Probe::new(row, &self.shape, &ctx.eval)?);
        }
    }
}

//! Rows by way of an index: handles from the index, in batches, then the rows they lead to.
//!
//! ```text
//!   index ranges ──▶ index_dag ──▶ handles ──(batch)──▶ sort unless keep_order ──▶ get rows ──▶ table_dag ──▶ chunks
//! ```
//!
//! Batches grow from one chunk to `lookup_rows`, so that a LIMIT above does not fetch thousands of rows it never asks for.
//!
//! Invariants
//! - With `keep_order`, rows come in index order; otherwise the handles of a batch are sorted, which the store rewards.
//! - Index and rows are read at one timestamp, so every handle has its row; a missing one is damage, not a race.

use async_trait::async_trait;
use bytes::Bytes;
use codec::Handle;
use copr::{DagExecution, DagRequest, Step};
use planner::physical::IndexLookup as Plan;
use types::Chunk;

use crate::fetch::fetch;
use crate::layout::{handle_from_value, handle_text};
use crate::operator::Operator;
use crate::plan_ref::PlanRef;
use crate::reader::Ranges;
use crate::source::{DagSource, SourceOptions};
use crate::{Error, ExecCtx, Result};

/// Handles of the first batch.
const FIRST_BATCH: usize = 64;

/// Reads rows by way of an index.
pub(crate) struct IndexLookup {
    plan: PlanRef<Plan>,
    ranges: Ranges,
    state: Option<Running>,
}

struct Running {
    index: DagSource,
    index_done: bool,
    table: DagExecution,
    table_finished: bool,
    batch: usize,
    /// Handles still to skip and to take, when the plan has a limit.
    skip: u64,
    take: u64,
    keys: Vec<Bytes>,
}

impl IndexLookup {
    pub(crate) fn new(plan: PlanRef<Plan>, ranges: Ranges) -> Self {
        Self { plan, ranges, state: None }
    }

    async fn open(&mut self, ctx: &ExecCtx) -> Result<Running> {
        let (skip, take) = match &self.plan.limit {
            Some(limit) => (limit.offset(&ctx.eval)?, limit.count(&ctx.eval)?),
            None => (0, u64::MAX),
        };
        let ranges = self.ranges.resolve(ctx)?;
        let limit_hint = self.plan.limit.as_ref().map(|_| skip.saturating_add(take));
        let index = DagSource::open(&self.plan.index_dag, ranges, SourceOptions { desc: self.plan.desc, limit_hint }, ctx).await?;
        let table = DagExecution::new(&DagRequest {
            plan: self.plan.table_dag.clone(),
            ranges: Vec::new(),
            desc: false,
            eval: ctx.eval.clone(),
            limit_hint: None,
            chunk_rows: ctx.vars.chunk_rows,
        })?;
        Ok(Running { index, index_done: take == 0, table, table_finished: false, batch: FIRST_BATCH, skip, take, keys: Vec::new() })
    }
}

impl Running {
    /// Collects the keys of the next batch of rows.
    async fn collect_keys(&mut self, plan: &Plan, ctx: &ExecCtx) -> Result<()> {
        self.keys.clear();
        let wanted = self.batch.min(ctx.vars.lookup_rows).max(1);
        self.batch = (self.batch * 4).min(ctx.vars.lookup_rows.max(1));
        while self.keys.len() < wanted && !self.index_done {
            let Some(chunk) = self.index.next(ctx).await? else {
                self.index_done = true;
                break;
            };
            let handles = chunk.columns().last().ok_or(Error::InvalidPlan("an index lookup reads at least the handle"))?;
            for row in 0..chunk.rows() {
                if self.skip > 0 {
                    self.skip -= 1;
                    continue;
                }
                if self.take == 0 {
                    break;
                }
                self.take -= 1;
                let handle = handle_from_value(handles.datum_ref(row))?.ok_or(Error::InvalidPlan("an index entry always has a handle"))?;
                self.keys.push(codec::table::record_key(plan.table.id, &handle).into());
            }
            self.index_done |= self.take == 0;
        }
        if !plan.keep_order {
            self.keys.sort_unstable();
        }
        Ok(())
    }

    /// Fetches the rows of the batch and feeds them to the table side.
    async fn feed_rows(&mut self, plan: &Plan, ctx: &ExecCtx) -> Result<()> {
        let values = fetch(&self.keys, ctx).await?;
        for (key, value) in self.keys.iter().zip(values) {
            let Some(value) = value else { return Err(missing_row(plan, key)) };
            if self.table.feed(key, &value)? == Step::Done {
                self.index_done = true;
                self.keys.clear();
                break;
            }
        }
        Ok(())
    }

    async fn next(&mut self, plan: &Plan, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        loop {
            if let Some(chunk) = self.table.take_chunk()? {
                return Ok(Some(chunk));
            }
            if self.table_finished {
                return Ok(None);
            }
            ctx.checkpoint().await?;
            self.collect_keys(plan, ctx).await?;
            if self.keys.is_empty() {
                self.table.finish()?;
                self.table_finished = true;
            } else {
                self.feed_rows(plan, ctx).await?;
            }
        }
    }
}

fn missing_row(plan: &Plan, key: &[u8]) -> Error {
    let handle = match codec::table::decode_record_key(key) {
        Ok((_, handle)) => handle,
        Err(_) => Handle::Common(Bytes::copy_from_slice(key)),
    };
    Error::MissingRow {
        table: plan.table.name.clone(),
        index: plan.table.indexes.get(plan.index).map_or_else(String::new, |index| index.name.clone()),
        handle: handle_text(&plan.table, &handle),
    }
}

#[async_trait]
impl Operator for IndexLookup {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        if self.state.is_none() {
            self.state = Some(self.open(ctx).await?);
        }
        match &mut self.state {
            Some(state) => state.next(&self.plan, ctx).await,
            None => Ok(None),
        }
    }
}

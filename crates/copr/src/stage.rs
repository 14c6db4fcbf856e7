//! The operators of a pushed-down plan, pushed chunk by chunk.
//!
//! | stage | push | drain |
//! |---|---|---|
//! | projection | the computed columns | nothing |
//! | limit | what is left of the limit | nothing |
//! | aggregate | nothing, or partial groups when there are too many | the groups |
//! | ordered aggregate | the finished groups | the last group |
//! | top-n | nothing | the rows in order |

use expr::{AggDesc, AggMode, EvalCtx, Expr};
use types::{Chunk, FieldType};

use crate::aggregator::{Aggregator, OrderedAggregator, output_types};
use crate::plan::DagOp;
use crate::sort_key::{chunk_of, eval_columns, expr_types};
use crate::top_n::TopN;
use crate::{Error, Result};

/// Partial groups are handed up when they take more memory than this; the consumer merges groups that come again.
const PARTIAL_GROUP_BYTES: usize = 8 << 20;

/// What one operator of a pushed-down plan holds. The operator itself comes with each call, because the plan owns it.
pub(crate) enum Stage {
    Projection,
    Limit { left: u64 },
    TopN(Box<TopN>),
    Aggregate(Box<Groups>),
    OrderedAggregate { running: Box<OrderedAggregator>, finished: bool },
}

/// A running aggregation over unordered input.
pub(crate) struct Groups {
    running: Aggregator,
    /// Groups that were handed up while draining.
    drained: usize,
    /// Groups may come more than once: the consumer merges them.
    partial: bool,
}

impl Stage {
    /// Prepares an operator over rows of `types`, and replaces `types` by those of its output.
    pub(crate) fn new(op: &DagOp, types: &mut Vec<FieldType>, ctx: &EvalCtx) -> Result<Self> {
        Ok(match op {
            DagOp::Projection(exprs) => {
                *types = expr_types(exprs);
                Stage::Projection
            }
            DagOp::Limit(limit) => Stage::Limit { left: limit.total(ctx)? },
            DagOp::TopN { limit, .. } => Stage::TopN(Box::new(TopN::new(limit.total(ctx)?, types))),
            DagOp::Aggregate { group_by, aggs, streamed } => {
                *types = output_types(group_by, aggs);
                if *streamed && !group_by.is_empty() {
                    Stage::OrderedAggregate { running: Box::new(OrderedAggregator::new(group_by, aggs)), finished: false }
                } else {
                    let partial = !group_by.is_empty() && !aggs.is_empty() && aggs.iter().all(|agg| agg.mode == AggMode::Partial);
                    Stage::Aggregate(Box::new(Groups { running: Aggregator::new(group_by, aggs), drained: 0, partial }))
                }
            }
        })
    }

    /// Takes a chunk; answers what is to be handed on at once.
    pub(crate) fn push(&mut self, op: &DagOp, mut chunk: Chunk, ctx: &EvalCtx) -> Result<Option<Chunk>> {
        match (self, op) {
            (Stage::Projection, DagOp::Projection(exprs)) => {
                let columns = eval_columns(exprs, ctx, &chunk)?;
                Ok(Some(chunk_of(columns, chunk.rows())))
            }
            (Stage::Limit { left }, _) => {
                if chunk.rows() as u64 > *left {
                    chunk.truncate(*left as usize);
                }
                *left -= chunk.rows() as u64;
                Ok((chunk.rows() > 0).then_some(chunk))
            }
            (Stage::TopN(top), DagOp::TopN { by, .. }) => {
                top.push(by, &chunk, ctx)?;
                Ok(None)
            }
            (Stage::Aggregate(groups), DagOp::Aggregate { group_by, aggs, .. }) => groups.push(group_by, aggs, &chunk, ctx),
            (Stage::OrderedAggregate { running, .. }, DagOp::Aggregate { group_by, aggs, .. }) => {
                running.update(group_by, aggs, ctx, &chunk)
            }
            _ => Err(Error::InvalidPlan("an operator changed its kind")),
        }
    }

    /// The next chunk of what is held, once there is no more input.
    pub(crate) fn drain(&mut self, op: &DagOp, chunk_rows: usize, ctx: &EvalCtx) -> Result<Option<Chunk>> {
        match (self, op) {
            (Stage::TopN(top), _) => Ok(top.drain(chunk_rows)),
            (Stage::Aggregate(groups), DagOp::Aggregate { aggs, .. }) => groups.drain(aggs, chunk_rows, ctx),
            (Stage::OrderedAggregate { running, finished }, DagOp::Aggregate { group_by, aggs, .. }) if !*finished => {
                *finished = true;
                running.finish(group_by, aggs, ctx)
            }
            _ => Ok(None),
        }
    }

    /// Whether no further input can change the result.
    pub(crate) fn is_satisfied(&self) -> bool {
        matches!(self, Stage::Limit { left: 0 })
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Stage::Projection | Stage::Limit { .. } => 0,
            Stage::TopN(top) => top.memory_bytes(),
            Stage::Aggregate(groups) => groups.running.memory_bytes(),
            Stage::OrderedAggregate { running, .. } => running.memory_bytes(),
        }
    }
}

impl Groups {
    fn push(&mut self, group_by: &[Expr], aggs: &[AggDesc], chunk: &Chunk, ctx: &EvalCtx) -> Result<Option<Chunk>> {
        self.running.update(group_by, aggs, ctx, chunk)?;
        if !self.partial || self.running.memory_bytes() <= PARTIAL_GROUP_BYTES {
            return Ok(None);
        }
        let full = std::mem::replace(&mut self.running, Aggregator::new(group_by, aggs));
        full.result(aggs, ctx, 0, full.len()).map(Some)
    }

    fn drain(&mut self, aggs: &[AggDesc], chunk_rows: usize, ctx: &EvalCtx) -> Result<Option<Chunk>> {
        let end = self.running.len().min(self.drained + chunk_rows);
        if self.drained >= end {
            return Ok(None);
        }
        let out = self.running.result(aggs, ctx, self.drained, end)?;
        self.drained = end;
        Ok(Some(out))
    }
}

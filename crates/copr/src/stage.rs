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

use crate::Result;
use crate::aggregator::{Aggregator, OrderedAggregator, output_types};
use crate::plan::DagOp;
use crate::sort_key::{chunk_of, eval_columns, expr_types};
use crate::top_n::TopN;

/// Partial groups are handed up when they take more memory than this; the consumer merges groups that come again.
const PARTIAL_GROUP_BYTES: usize = 8 << 20;

/// One operator of a pushed-down plan.
pub(crate) enum Stage {
    Projection(Vec<Expr>),
    Limit { left: u64 },
    TopN(Box<TopN>),
    Aggregate(Box<Groups>),
    OrderedAggregate(Box<OrderedGroups>),
}

/// A running aggregation over unordered input.
pub(crate) struct Groups {
    group_by: Vec<Expr>,
    aggs: Vec<AggDesc>,
    running: Aggregator,
    /// Groups that were handed up while draining.
    drained: usize,
    /// Groups may come more than once: the consumer merges them.
    partial: bool,
}

/// A running aggregation over ordered input.
pub(crate) struct OrderedGroups {
    group_by: Vec<Expr>,
    aggs: Vec<AggDesc>,
    running: OrderedAggregator,
    finished: bool,
}

impl Stage {
    /// Prepares an operator over rows of `types`, and replaces `types` by those of its output.
    pub(crate) fn new(op: &DagOp, types: &mut Vec<FieldType>, ctx: &EvalCtx) -> Result<Self> {
        Ok(match op {
            DagOp::Projection(exprs) => {
                *types = expr_types(exprs);
                Stage::Projection(exprs.clone())
            }
            DagOp::Limit(limit) => Stage::Limit { left: limit.total(ctx)? },
            DagOp::TopN { by, limit } => Stage::TopN(Box::new(TopN::new(by.clone(), limit.total(ctx)?, types))),
            DagOp::Aggregate { group_by, aggs, streamed } => {
                *types = output_types(group_by, aggs);
                if *streamed && !group_by.is_empty() {
                    Stage::OrderedAggregate(Box::new(OrderedGroups {
                        running: OrderedAggregator::new(group_by, aggs),
                        group_by: group_by.clone(),
                        aggs: aggs.clone(),
                        finished: false,
                    }))
                } else {
                    Stage::Aggregate(Box::new(Groups {
                        running: Aggregator::new(group_by, aggs),
                        group_by: group_by.clone(),
                        partial: !aggs.is_empty() && aggs.iter().all(|agg| agg.mode == AggMode::Partial),
                        aggs: aggs.clone(),
                        drained: 0,
                    }))
                }
            }
        })
    }

    /// Takes a chunk; answers what is to be handed on at once.
    pub(crate) fn push(&mut self, mut chunk: Chunk, ctx: &EvalCtx) -> Result<Option<Chunk>> {
        match self {
            Stage::Projection(exprs) => {
                let columns = eval_columns(exprs, ctx, &chunk)?;
                Ok(Some(chunk_of(columns, chunk.rows())))
            }
            Stage::Limit { left } => {
                if chunk.rows() as u64 > *left {
                    chunk.truncate(*left as usize);
                }
                *left -= chunk.rows() as u64;
                Ok((chunk.rows() > 0).then_some(chunk))
            }
            Stage::TopN(top) => {
                top.push(&chunk, ctx)?;
                Ok(None)
            }
            Stage::Aggregate(groups) => groups.push(&chunk, ctx),
            Stage::OrderedAggregate(groups) => groups.running.update(&groups.group_by, &groups.aggs, ctx, &chunk),
        }
    }

    /// The next chunk of what is held, once there is no more input.
    pub(crate) fn drain(&mut self, chunk_rows: usize, ctx: &EvalCtx) -> Result<Option<Chunk>> {
        match self {
            Stage::Projection(_) | Stage::Limit { .. } => Ok(None),
            Stage::TopN(top) => Ok(top.drain(chunk_rows)),
            Stage::Aggregate(groups) => groups.drain(chunk_rows, ctx),
            Stage::OrderedAggregate(groups) if groups.finished => Ok(None),
            Stage::OrderedAggregate(groups) => {
                groups.finished = true;
                groups.running.finish(&groups.group_by, &groups.aggs, ctx)
            }
        }
    }

    /// Whether no further input can change the result.
    pub(crate) fn is_satisfied(&self) -> bool {
        matches!(self, Stage::Limit { left: 0 })
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Stage::Projection(_) | Stage::Limit { .. } => 0,
            Stage::TopN(top) => top.memory_bytes(),
            Stage::Aggregate(groups) => groups.running.memory_bytes(),
            Stage::OrderedAggregate(groups) => groups.running.memory_bytes(),
        }
    }
}

impl Groups {
    fn push(&mut self, chunk: &Chunk, ctx: &EvalCtx) -> Result<Option<Chunk>> {
        self.running.update(&self.group_by, &self.aggs, ctx, chunk)?;
        let full = self.partial && !self.group_by.is_empty() && self.running.memory_bytes() > PARTIAL_GROUP_BYTES;
        if full { self.take_all(ctx).map(Some) } else { Ok(None) }
    }

    fn take_all(&mut self, ctx: &EvalCtx) -> Result<Chunk> {
        let full = std::mem::replace(&mut self.running, Aggregator::new(&self.group_by, &self.aggs));
        full.result(&self.aggs, ctx, 0, full.len())
    }

    fn drain(&mut self, chunk_rows: usize, ctx: &EvalCtx) -> Result<Option<Chunk>> {
        let end = self.running.len().min(self.drained + chunk_rows);
        if self.drained >= end {
            return Ok(None);
        }
        let out = self.running.result(&self.aggs, ctx, self.drained, end)?;
        self.drained = end;
        Ok(Some(out))
    }
}

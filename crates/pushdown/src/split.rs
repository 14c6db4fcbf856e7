//! Which part of a plan a store is asked to do, and what is left.
//!
//! ```text
//!   filters   those with words ─▶ selection              the others ─▶ rest; then no operator travels
//!   ops       TopN, Limit      ─▶ asked for, and done again over what the stores hand up
//!             Aggregate        ─▶ partial aggregates; whoever reads the plan merges them
//!             Projection       ─▶ rest, with all that follows
//! ```
//!
//! Invariants:
//! - What comes of the rest, fed with the rows of all stores in scan order, is what the whole plan would hand up; but for groups of aggregates, which
//!   may come again.
//! - A scan whose rows would all travel anyway is not asked for: plain scans have a simpler request.

use copr::{DagOp, DagPlan};
use expr::EvalCtx;
use proto::tipb;
use types::FieldType;

use crate::expression::Encoder;
use crate::{Error, Result, aggregate, scan};

/// `InSelectStmt`, `TruncateAsWarning` and `IgnoreZeroInDate`: reading never fails where MySQL's does not.
const FLAGS: u64 = 1 << 5 | 1 << 1 | 1 << 7;
/// Warnings an answer may carry.
const MAX_WARNINGS: u64 = 64;

/// A part of a plan in the protocol's words, and the rest.
#[derive(Clone, Debug)]
pub struct PushedPlan {
    /// What stores are asked for.
    pub request: tipb::DagRequest,
    /// The types of the columns of a store's rows.
    pub columns: Vec<FieldType>,
    /// What is left to do over these rows. Its scan is that of the whole plan.
    pub rest: DagPlan,
    /// Whether stores hand up a part of the rows they read that may be small: groups, the first rows.
    pub is_blocking: bool,
}

impl PushedPlan {
    /// Splits a plan for one execution; `None` when stores would do no more than read rows.
    pub fn of(plan: &DagPlan, desc: bool, eval: &EvalCtx) -> Option<Self> {
        let may_help = !plan.filters.is_empty() || matches!(plan.ops.first(), Some(DagOp::Aggregate { .. } | DagOp::TopN { .. }));
        if !may_help {
            return None;
        }
        let scanned = scan::encode(&plan.scan, desc).ok()?;
        let encoder = Encoder { positions: &scanned.positions, eval };
        let mut executors = vec![scanned.executor];
        let mut left = Vec::new();
        let mut conditions = Vec::new();
        for filter in &plan.filters {
            match encoder.condition(filter) {
                Ok(condition) => conditions.push(condition),
                Err(_) => left.push(filter.clone()),
            }
        }
        let is_filtered = !conditions.is_empty();
        if is_filtered {
            let tp = tipb::ExecType::TypeSelection as i32;
            executors.push(tipb::Executor { tp, selection: Some(tipb::Selection { conditions }), ..Default::default() });
        }
        let operator = match plan.ops.first() {
            Some(op) if left.is_empty() => encode_operator(op, &encoder).ok(),
            _ => None,
        };
        let is_blocking = operator.as_ref().is_some_and(|operator| operator.limit.is_none());
        if !is_filtered && !is_blocking {
            return None;
        }
        executors.extend(operator.clone());
        let mut columns: Vec<FieldType> = plan.scan.columns().iter().map(|column| column.ty.clone()).collect();
        let mut output_offsets = scanned.positions;
        let mut ops = plan.ops.clone();
        if operator.is_some()
            && let Some(DagOp::Aggregate { group_by, aggs, .. }) = plan.ops.first()
        {
            // The functions' columns come first there, the groups' first here.
            columns = copr::aggregator::output_types(group_by, aggs);
            let (groups, all) = (group_by.len() as u32, columns.len() as u32);
            output_offsets = (all - groups..all).chain(0..all - groups).collect();
            ops.remove(0);
        }
        let request = tipb::DagRequest {
            executors,
            flags: FLAGS,
            output_offsets,
            max_warning_count: MAX_WARNINGS,
            time_zone_name: "UTC".to_owned(),
            div_precision_increment: u32::from(eval.div_precision_increment),
            ..Default::default()
        };
        let rest = DagPlan { scan: plan.scan.clone(), filters: left, ops, output: plan.output.clone() };
        Some(Self { request, columns, rest, is_blocking })
    }
}

fn encode_operator(op: &DagOp, encoder: &Encoder<'_>) -> Result<tipb::Executor> {
    let total = |limit: &copr::RowLimit| limit.total(encoder.eval).map_err(|_| Error::unsupported("a limit that is no number"));
    match op {
        DagOp::Projection(_) => Err(Error::unsupported("a projection")),
        DagOp::Limit(limit) => {
            let limit = tipb::Limit { limit: total(limit)? };
            Ok(tipb::Executor { tp: tipb::ExecType::TypeLimit as i32, limit: Some(limit), ..Default::default() })
        }
        DagOp::TopN { by, limit } => {
            let item = |key: &copr::SortKey| Ok(tipb::ByItem { expr: Some(encoder.expr(&key.expr)?), desc: key.desc });
            let order_by = by.iter().map(item).collect::<Result<_>>()?;
            let top_n = tipb::TopN { order_by, limit: total(limit)? };
            Ok(tipb::Executor { tp: tipb::ExecType::TypeTopN as i32, top_n: Some(top_n), ..Default::default() })
        }
        DagOp::Aggregate { group_by, aggs, streamed } => {
            let aggregation = tipb::Aggregation {
                group_by: group_by.iter().map(|key| encoder.expr(key)).collect::<Result<_>>()?,
                agg_func: aggs.iter().map(|desc| aggregate::encode(desc, encoder)).collect::<Result<_>>()?,
                streamed: *streamed,
            };
            let tp = if *streamed { tipb::ExecType::TypeStreamAgg } else { tipb::ExecType::TypeAggregation } as i32;
            Ok(tipb::Executor { tp, aggregation: Some(aggregation), ..Default::default() })
        }
    }
}

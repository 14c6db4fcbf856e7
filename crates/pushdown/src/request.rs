//! A store's side: the plan that a request's words say, checked.
//!
//! Aggregates put out their functions' columns before those of the groups in the protocol, behind them here: `outputs` says where each column of the
//! answer stands.

use copr::{DagOp, DagPlan, RowLimit, ScanSpec, SortKey};
use expr::{EvalCtx, Expr};
use proto::tipb::{self, ExecType};
use types::{Datum, EvalType, FieldType, TimeZone};

use crate::{Error, Result, aggregate, expression, scan};

/// What a store is asked to run.
#[derive(Debug)]
pub struct StoreRequest {
    /// The plan.
    pub plan: DagPlan,
    /// From the last key to the first.
    pub desc: bool,
    /// Where each column of the answer stands in what the plan hands up.
    pub outputs: Vec<usize>,
    /// The types of the answer's columns.
    pub columns: Vec<FieldType>,
    /// The context of evaluation.
    pub eval: EvalCtx,
}

impl StoreRequest {
    /// Reads a request.
    pub fn decode(request: &tipb::DagRequest) -> Result<Self> {
        let (first, others) = request.executors.split_first().ok_or(Error::Damaged("a plan without a scan"))?;
        let scan::DecodedScan { scan, desc } = scan::decode(first)?;
        let eval = context(request)?;
        let mut pipeline = Pipeline::over(&scan);
        for executor in others {
            pipeline.add(executor, &eval)?;
        }
        let Pipeline { filters, ops, types, swapped } = pipeline;
        let place = |offset: &u32| {
            let offset = *offset as usize;
            match swapped {
                // Functions first in the protocol, groups first here.
                Some(groups) if offset < types.len() - groups => Some(offset + groups),
                Some(groups) => (offset < types.len()).then(|| offset - (types.len() - groups)),
                None => (offset < types.len()).then_some(offset),
            }
        };
        let outputs: Option<Vec<usize>> = request.output_offsets.iter().map(place).collect();
        let outputs = outputs.filter(|outputs| !outputs.is_empty()).ok_or(Error::Damaged("columns that the plan does not have"))?;
        let columns = outputs.iter().map(|&at| types[at].clone()).collect();
        let plan = DagPlan { scan, filters, ops, output: types };
        Ok(Self { plan, desc, outputs, columns, eval })
    }
}

/// Offset of the time zone that a request names. Zones with rules come by name, others by their offset in seconds.
fn time_zone(request: &tipb::DagRequest) -> Result<TimeZone> {
    let name = match (&request.time_zone_name[..], request.time_zone_offset) {
        ("" | "System", 0) => return Ok(TimeZone::UTC),
        ("" | "System", offset) => {
            let sign = if offset < 0 { '-' } else { '+' };
            format!("{sign}{:02}:{:02}", offset.abs() / 3600, offset.abs() / 60 % 60)
        }
        (name, _) => name.to_owned(),
    };
    TimeZone::parse(&name).map_err(|_| Error::unsupported(format!("the time zone {name}")))
}

fn context(request: &tipb::DagRequest) -> Result<EvalCtx> {
    let mut eval = EvalCtx { time_zone: time_zone(request)?, ..EvalCtx::default() };
    if let Ok(increment) = u8::try_from(request.div_precision_increment)
        && (1..=30).contains(&increment)
    {
        eval.div_precision_increment = increment;
    }
    Ok(eval)
}

/// The plan as far as it is read.
struct Pipeline {
    filters: Vec<Expr>,
    ops: Vec<DagOp>,
    /// Of the columns that are handed up.
    types: Vec<FieldType>,
    /// Behind an aggregation: the number of its groups' columns.
    swapped: Option<usize>,
}

impl Pipeline {
    fn over(scan: &ScanSpec) -> Self {
        let types = scan.columns().iter().map(|column| column.ty.clone()).collect();
        Self { filters: Vec::new(), ops: Vec::new(), types, swapped: None }
    }

    fn add(&mut self, executor: &tipb::Executor, eval: &EvalCtx) -> Result<()> {
        if self.swapped.is_some() {
            return Err(Error::unsupported("an operator behind an aggregation"));
        }
        let exprs = |exprs: &[tipb::Expr]| exprs.iter().map(|expr| expression::decode(expr, &self.types)).collect::<Result<Vec<_>>>();
        let missing = Error::Damaged("an operator without its part");
        let tp = ExecType::try_from(executor.tp).map_err(|_| Error::unsupported(format!("the operator with number {}", executor.tp)))?;
        match tp {
            ExecType::TypeSelection => {
                let conditions = exprs(&executor.selection.as_ref().ok_or(missing)?.conditions)?;
                if !self.ops.is_empty() {
                    return Err(Error::unsupported("a selection behind another operator"));
                }
                conditions.iter().try_for_each(check_condition)?;
                self.filters.extend(conditions);
            }
            ExecType::TypeProjection => {
                let exprs = exprs(&executor.projection.as_ref().ok_or(missing)?.exprs)?;
                self.types = exprs.iter().map(|expr| expr.field_type().clone()).collect();
                self.ops.push(DagOp::Projection(exprs));
            }
            ExecType::TypeLimit => self.ops.push(DagOp::Limit(row_limit(executor.limit.as_ref().ok_or(missing)?.limit))),
            ExecType::TypeTopN => {
                let words = executor.top_n.as_ref().ok_or(missing)?;
                let key = |item: &tipb::ByItem| {
                    let expr = item.expr.as_ref().ok_or(Error::Damaged("an order without an expression"))?;
                    Ok(SortKey { expr: expression::decode(expr, &self.types)?, desc: item.desc })
                };
                let by = words.order_by.iter().map(key).collect::<Result<_>>()?;
                self.ops.push(DagOp::TopN { by, limit: row_limit(words.limit) });
            }
            ExecType::TypeAggregation | ExecType::TypeStreamAgg => {
                let words = executor.aggregation.as_ref().ok_or(missing)?;
                let group_by = exprs(&words.group_by)?;
                let desc = |expr: &tipb::Expr| aggregate::decode(expr, &self.types, eval);
                let aggs = words.agg_func.iter().map(desc).collect::<Result<Vec<_>>>()?;
                self.swapped = Some(group_by.len());
                self.types = copr::aggregator::output_types(&group_by, &aggs);
                self.ops.push(DagOp::Aggregate { group_by, aggs, streamed: tp == ExecType::TypeStreamAgg });
            }
            tp => return Err(Error::unsupported(format!("the operator {}", tp.as_str_name()))),
        }
        Ok(())
    }
}

fn check_condition(condition: &Expr) -> Result<()> {
    match condition.eval_type() {
        EvalType::Int | EvalType::Real | EvalType::Decimal => Ok(()),
        class => Err(Error::unsupported(format!("a condition of class {class:?}"))),
    }
}

fn row_limit(count: u64) -> RowLimit {
    RowLimit { offset: None, count: Expr::constant(Datum::UInt(count), FieldType::unsigned_bigint()) }
}

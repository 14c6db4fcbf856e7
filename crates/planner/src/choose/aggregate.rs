//! Aggregations: by hash table or streamed over ordered input, and in two phases with the first one beside the data.

use copr::DagOp;
use expr::{AggDesc, Expr};
use types::FieldType;

use super::{Chooser, OrderColumn, Physical, Want, cost, open_dag};
use crate::{
    logical::{Aggregate, Col},
    physical::{self, Op},
    rules::Rule,
};

/// Grouping beside the data pays when it leaves at most this share of the rows.
pub(super) const WORTH_PUSHING: f64 = 0.5;

impl Chooser<'_> {
    pub(super) fn choose_aggregate(&self, agg: &Aggregate, want: &Want) -> Physical {
        let child = self.choose(&agg.child, &Want::default());
        let hashed = self.grouped(agg, child, false);
        let hashed = self.sorted(hashed, want);
        let Some(order) = self.stream_order(agg, want) else { return hashed };
        let child = self.choose(&agg.child, &Want { order: order.clone(), limit: None });
        let mut streamed = self.grouped(agg, child, true);
        if let Some(limit) = want.limit
            && streamed.is_ordered(&want.order)
        {
            // Only as many groups are made as are read.
            let share = (limit / streamed.rows().max(1.0)).min(1.0);
            streamed.node.cost *= share.max(0.01);
        }
        let streamed = self.sorted(streamed, want);
        if streamed.cost() < hashed.cost() { streamed } else { hashed }
    }

    /// An order of the input in which groups are contiguous: the wanted order as far as it is one of group keys, then the other keys.
    fn stream_order(&self, agg: &Aggregate, want: &Want) -> Option<Vec<OrderColumn>> {
        if !self.is_on(Rule::StreamAggregate) || agg.group_by.is_empty() {
            return None;
        }
        let keys: Vec<Col> = agg.group_by.iter().map(|(col, expr)| expr.as_column().filter(|own| own == col)).collect::<Option<_>>()?;
        let mut order: Vec<OrderColumn> = want.order.iter().copied().take_while(|(col, _)| keys.contains(col)).collect();
        for key in keys {
            if !order.iter().any(|(col, _)| *col == key) {
                order.push((key, false));
            }
        }
        Some(order)
    }

    fn grouped(&self, agg: &Aggregate, mut child: Physical, streamed: bool) -> Physical {
        let groups = self.estimator.groups(&agg.group_by, child.rows(), self.columns);
        let group_by: Vec<Expr> = agg.group_by.iter().map(|(_, expr)| child.resolve(expr)).collect();
        let aggs: Vec<AggDesc> = agg.aggs.iter().map(|(_, desc)| resolve_desc(&child, desc)).collect();
        let columns: Vec<Col> = agg.group_by.iter().map(|(col, _)| *col).chain(agg.aggs.iter().map(|(col, _)| *col)).collect();
        let pushed = self.push_partial(&mut child, &group_by, &aggs, groups, streamed);
        let (group_by, aggs) = pushed.unwrap_or((group_by, aggs));

        let per_row = if streamed || group_by.is_empty() { cost::STREAM } else { cost::HASH_BUILD };
        let cost = child.cost() + child.rows() * (per_row + cost::COMPUTE * aggs.len() as f64) + groups * cost::COMPUTE;
        let output = group_by.iter().map(|key| key.field_type().clone()).chain(aggs.iter().map(|desc| desc.ty.clone())).collect();
        let keys: Vec<Col> = agg.group_by.iter().map(|(col, _)| *col).collect();
        let mut order = child.order;
        order.truncate(if streamed { order.iter().take_while(|(col, _)| keys.contains(col)).count() } else { 0 });
        let mut constant = child.constant;
        constant.retain(|col| keys.contains(col));
        let streams = streamed || group_by.is_empty();
        let aggregate = physical::Aggregate { child: Box::new(child.node), group_by, aggs };
        let op = if streams { Op::StreamAgg(aggregate) } else { Op::HashAgg(aggregate) };
        let node = self.node(op, output, groups, cost);
        Physical { node, columns, order, constant }
    }

    /// Puts the first phase into the reader's DAG; the group keys and functions of the second phase, over its output.
    pub(super) fn push_partial(
        &self,
        child: &mut Physical,
        group_by: &[Expr],
        aggs: &[AggDesc],
        groups: f64,
        streamed: bool,
    ) -> Option<(Vec<Expr>, Vec<AggDesc>)> {
        let worthwhile = groups <= child.rows() * WORTH_PUSHING || group_by.is_empty();
        if !self.is_on(Rule::PushDownAggregates) || !worthwhile || !aggs.iter().all(AggDesc::can_split) {
            return None;
        }
        let task = self.task(groups);
        let rows = child.rows();
        let (dag, tasks) = open_dag(&mut child.node)?;
        let Phases { partials, output, final_keys, finals } = Phases::of(group_by, aggs)?;
        dag.ops.push(DagOp::Aggregate { group_by: group_by.to_vec(), aggs: partials, streamed });
        dag.output = output.clone();
        tasks.push(task);
        let per_row = if streamed || group_by.is_empty() { cost::STREAM } else { cost::HASH_BUILD };
        child.node.output = output;
        child.node.cost += rows * per_row - (rows - groups) * cost::HAND_UP;
        child.node.rows = groups;
        Some((final_keys, finals))
    }
}

/// An aggregation in two phases.
pub(super) struct Phases {
    /// The functions of the first phase.
    pub partials: Vec<AggDesc>,
    /// The types of its output: the group keys, then partial columns.
    pub output: Vec<FieldType>,
    /// The group keys of the second phase, over the first one's output.
    pub final_keys: Vec<Expr>,
    /// … and its functions.
    pub finals: Vec<AggDesc>,
}

impl Phases {
    /// `None` when some function needs all rows at once.
    pub fn of(group_by: &[Expr], aggs: &[AggDesc]) -> Option<Self> {
        let mut output: Vec<FieldType> = group_by.iter().map(|key| key.field_type().clone()).collect();
        let final_keys = output.iter().enumerate().map(|(i, ty)| Expr::column(i, ty.clone())).collect();
        let (mut partials, mut finals) = (vec![], vec![]);
        for desc in aggs {
            let (partial, last) = desc.split(output.len())?;
            output.extend(partial.output_types());
            partials.push(partial);
            finals.push(last);
        }
        Some(Self { partials, output, final_keys, finals })
    }
}

pub(super) fn resolve_desc(child: &Physical, desc: &AggDesc) -> AggDesc {
    let mut desc = desc.clone();
    for arg in desc.args.iter_mut().chain(desc.order_by.iter_mut().map(|key| &mut key.expr)) {
        *arg = child.resolve(arg);
    }
    desc
}

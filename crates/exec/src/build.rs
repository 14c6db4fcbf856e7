//! From plan nodes to running operators.

use async_trait::async_trait;
use base::KeyRange;
use planner::physical::{JoinKind, Node, Op, Side};
use types::Chunk;

use crate::hash_agg::HashAgg;
use crate::index_lookup::IndexLookup;
use crate::join::apply::Apply;
use crate::join::hash_join::HashJoin;
use crate::join::index_join::IndexJoin;
use crate::join::merge_join::MergeJoin;
use crate::join::shape::JoinShape;
use crate::limit::Limit;
use crate::max_one_row::MaxOneRow;
use crate::mem_table::MemTable;
use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::point_get::{batch_point_get, point_get};
use crate::projection::Projection;
use crate::reader::{Ranges, Reader};
use crate::rollup_agg::RollupAgg;
use crate::runtime_stats::measured;
use crate::select_lock::SelectLock;
use crate::selection::Selection;
use crate::sort::Sort;
use crate::stream_agg::StreamAgg;
use crate::top_n::TopN;
use crate::union_all::UnionAll;
use crate::values::Values;
use crate::window::Window;
use crate::{Error, ExecCtx, Result};

/// A top-n of more rows than this runs as a sort, which can spill, and a limit.
const MAX_TOP_ROWS: u64 = 1 << 20;

/// A part of an operator of one kind.
macro_rules! part {
    ($node:expr, $kind:ident, $plan:ident => $part:expr) => {
        $node
            .try_map(|node| if let Op::$kind($plan) = &node.op { Some($part) } else { None })
            .ok_or(Error::InvalidPlan("the operator changed its kind"))?
    };
}

/// Builds the operator of a node.
pub(crate) fn build(node: &PlanRef<Node>, ctx: &ExecCtx) -> Result<BoxOperator> {
    let operator: BoxOperator = match &node.op {
        Op::PointGet(_) => Box::new(PointGet { node: node.clone(), done: false }),
        Op::BatchPointGet(_) => Box::new(BatchPointGet { node: node.clone(), chunks: None }),
        Op::TableReader(plan) => {
            let ranges = Ranges::Built(part!(node, TableReader, plan => &plan.ranges));
            Box::new(Reader::new(plan.dag.clone(), ranges, plan.desc))
        }
        Op::IndexReader(plan) => {
            let ranges = Ranges::Built(part!(node, IndexReader, plan => &plan.ranges));
            Box::new(Reader::new(plan.dag.clone(), ranges, plan.desc))
        }
        Op::IndexLookup(_) => {
            let ranges = Ranges::Built(part!(node, IndexLookup, plan => &plan.ranges));
            Box::new(IndexLookup::new(part!(node, IndexLookup, plan => plan), ranges))
        }
        Op::MemTable(_) => Box::new(MemTable::new(part!(node, MemTable, plan => plan))),
        Op::Values(_) => Box::new(Values::new(part!(node, Values, plan => plan), output(node))),
        Op::Selection(_) => {
            let child = build(&part!(node, Selection, plan => &*plan.child), ctx)?;
            Box::new(Selection::new(part!(node, Selection, plan => plan), child))
        }
        Op::Projection(_) => {
            let child = build(&part!(node, Projection, plan => &*plan.child), ctx)?;
            Box::new(Projection::new(part!(node, Projection, plan => plan), child))
        }
        Op::HashAgg(_) => {
            let child = part!(node, HashAgg, plan => &*plan.child);
            Box::new(HashAgg::new(part!(node, HashAgg, plan => plan), output(&child), build(&child, ctx)?))
        }
        Op::StreamAgg(_) => {
            let child = build(&part!(node, StreamAgg, plan => &*plan.child), ctx)?;
            Box::new(StreamAgg::new(part!(node, StreamAgg, plan => plan), child))
        }
        Op::RollupAgg(_) => {
            let child = build(&part!(node, RollupAgg, plan => &*plan.child), ctx)?;
            Box::new(RollupAgg::new(part!(node, RollupAgg, plan => plan), output(node), child))
        }
        Op::Window(_) => {
            let child = part!(node, Window, plan => &*plan.child);
            Box::new(Window::new(part!(node, Window, plan => plan), output(&child), build(&child, ctx)?))
        }
        Op::HashJoin(_) | Op::IndexJoin(_) | Op::MergeJoin(_) | Op::Apply(_) => build_join(node, ctx)?,
        Op::Sort(_) => {
            let child = build(&part!(node, Sort, plan => &*plan.child), ctx)?;
            Box::new(Sort::new(part!(node, Sort, plan => &plan.by[..]), output(node), child))
        }
        Op::TopN(plan) => {
            let child = build(&part!(node, TopN, plan => &*plan.child), ctx)?;
            if plan.limit.total(&ctx.eval)? > MAX_TOP_ROWS {
                let sort = Sort::new(part!(node, TopN, plan => &plan.by[..]), output(node), child);
                Box::new(Limit::new(part!(node, TopN, plan => &plan.limit), Box::new(sort)))
            } else {
                Box::new(TopN::new(part!(node, TopN, plan => plan), output(node), child))
            }
        }
        Op::Limit(_) => {
            let child = build(&part!(node, Limit, plan => &*plan.child), ctx)?;
            Box::new(Limit::new(part!(node, Limit, plan => &plan.limit), child))
        }
        Op::UnionAll(plan) => {
            let children = (0..plan.children.len())
                .map(|at| build(&part!(node, UnionAll, plan => &plan.children[at]), ctx))
                .collect::<Result<Vec<_>>>()?;
            Box::new(UnionAll::new(children))
        }
        Op::SelectLock(_) => {
            let child = build(&part!(node, SelectLock, plan => &*plan.child), ctx)?;
            Box::new(SelectLock::new(part!(node, SelectLock, plan => plan), child))
        }
        Op::MaxOneRow(_) => Box::new(MaxOneRow::new(build(&part!(node, MaxOneRow, plan => &*plan.child), ctx)?)),
        Op::Insert(_) | Op::Update(_) | Op::Delete(_) => {
            return Err(Error::InvalidPlan("a statement that changes rows stands at the root"));
        }
    };
    Ok(measured(node.id, operator, ctx))
}

/// Builds a reader over given ranges instead of those of its plan.
pub(crate) fn build_with_ranges(node: &PlanRef<Node>, ranges: Vec<KeyRange>, ctx: &ExecCtx) -> Result<BoxOperator> {
    let ranges = Ranges::Given(ranges);
    let operator: BoxOperator = match &node.op {
        Op::TableReader(plan) => Box::new(Reader::new(plan.dag.clone(), ranges, plan.desc)),
        Op::IndexReader(plan) => Box::new(Reader::new(plan.dag.clone(), ranges, plan.desc)),
        Op::IndexLookup(_) => Box::new(IndexLookup::new(part!(node, IndexLookup, plan => plan), ranges)),
        _ => return Err(Error::InvalidPlan("only readers take ranges")),
    };
    Ok(measured(node.id, operator, ctx))
}

fn output(node: &PlanRef<Node>) -> PlanRef<[types::FieldType]> {
    node.map(|node| &node.output[..])
}

fn build_join(node: &PlanRef<Node>, ctx: &ExecCtx) -> Result<BoxOperator> {
    let shape = |kind: JoinKind, build: Side, keys, conditions, null_aware_keys, left: &PlanRef<Node>, right: &PlanRef<Node>| JoinShape {
        kind,
        build,
        keys,
        conditions,
        null_aware_keys,
        left_types: output(left),
        right_types: output(right),
    };
    Ok(match &node.op {
        Op::HashJoin(plan) => {
            let (left, right) = (part!(node, HashJoin, plan => &*plan.left), part!(node, HashJoin, plan => &*plan.right));
            let keys = part!(node, HashJoin, plan => &plan.keys[..]);
            let conditions = part!(node, HashJoin, plan => &plan.conditions[..]);
            let shape = shape(plan.kind, plan.build, keys, conditions, plan.null_aware_keys, &left, &right);
            Box::new(HashJoin::new(shape, build(&left, ctx)?, build(&right, ctx)?))
        }
        Op::IndexJoin(plan) => {
            let (outer, inner) = (part!(node, IndexJoin, plan => &*plan.outer), part!(node, IndexJoin, plan => &*plan.inner));
            let keys = part!(node, IndexJoin, plan => &plan.keys[..]);
            let conditions = part!(node, IndexJoin, plan => &plan.conditions[..]);
            let shape = shape(plan.kind, Side::Right, keys, conditions, 0, &outer, &inner);
            Box::new(IndexJoin::new(part!(node, IndexJoin, plan => plan), inner, shape, build(&outer, ctx)?))
        }
        Op::MergeJoin(plan) => {
            let (left, right) = (part!(node, MergeJoin, plan => &*plan.left), part!(node, MergeJoin, plan => &*plan.right));
            let keys = part!(node, MergeJoin, plan => &plan.keys[..]);
            let conditions = part!(node, MergeJoin, plan => &plan.conditions[..]);
            let shape = shape(plan.kind, Side::Right, keys, conditions, 0, &left, &right);
            Box::new(MergeJoin::new(shape, plan.desc, build(&left, ctx)?, build(&right, ctx)?))
        }
        Op::Apply(plan) => {
            let (outer, inner) = (part!(node, Apply, plan => &*plan.outer), part!(node, Apply, plan => &*plan.inner));
            let keys = part!(node, Apply, plan => &plan.keys[..]);
            let conditions = part!(node, Apply, plan => &plan.conditions[..]);
            let null_aware = if plan.null_aware { plan.keys.len() } else { 0 };
            let shape = shape(plan.kind, Side::Right, keys, conditions, null_aware, &outer, &inner);
            Box::new(Apply::new(part!(node, Apply, plan => plan), inner, shape, build(&outer, ctx)?))
        }
        _ => return Err(Error::InvalidPlan("a join was expected")),
    })
}

/// A point get below other operators; at the root it runs without any.
struct PointGet {
    node: PlanRef<Node>,
    done: bool,
}

#[async_trait]
impl Operator for PointGet {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        match &self.node.op {
            Op::PointGet(plan) => point_get(plan, &self.node.output, ctx).await,
            _ => Err(Error::InvalidPlan("a point get was expected")),
        }
    }
}

/// A batch point get; all rows are fetched at the first call.
struct BatchPointGet {
    node: PlanRef<Node>,
    chunks: Option<std::vec::IntoIter<Chunk>>,
}

#[async_trait]
impl Operator for BatchPointGet {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        if self.chunks.is_none() {
            let Op::BatchPointGet(plan) = &self.node.op else { return Err(Error::InvalidPlan("a batch point get was expected")) };
            self.chunks = Some(batch_point_get(plan, &self.node.output, ctx).await?.into_iter());
        }
        Ok(self.chunks.as_mut().and_then(Iterator::next))
    }
}

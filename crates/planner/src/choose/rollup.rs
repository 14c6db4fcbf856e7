//! GROUP BY … WITH ROLLUP: one pass over input in the order of the group keys, which makes the groups of all levels.
//!
//! ```text
//! RollupAgg (final)                 RollupAgg
//! └─ Sort by the keys               └─ input in the order of the keys: an index, or a sort
//!    └─ first phase: beside the
//!       data, or by hashing here
//! ```
//!
//! Where all functions can be computed in parts and grouping leaves few rows, only the groups of the finest level are sorted, and the other
//! levels are made of their partial results. DISTINCT, GROUP_CONCAT and the JSON aggregates need all rows on every level.

use copr::SortKey;
use expr::{AggDesc, Expr};

use super::{
    Chooser, OrderColumn, Physical, Want,
    aggregate::{Phases, WORTH_PUSHING, resolve_desc},
    cost,
};
use crate::{
    logical::{Aggregate, Col},
    physical::{self, Node, Op},
    rules::Rule,
};

/// How many rows all levels have together, for each group of the finest one.
const ROWS_PER_GROUP: f64 = 1.5;

/// Input in the order of the group keys, and what is computed over it.
struct Grouped {
    node: Node,
    keys: Vec<Expr>,
    aggs: Vec<AggDesc>,
}

impl Chooser<'_> {
    pub(super) fn choose_rollup(&self, agg: &Aggregate, kept_keys: Col, want: &Want) -> Physical {
        let Grouped { node: child, keys, aggs } = self.rollup_in_parts(agg).unwrap_or_else(|| self.rollup_of_rows(agg));
        let mut columns: Vec<Col> = agg.group_by.iter().map(|(col, _)| *col).collect();
        let mut output = self.types(&columns);
        output.extend(aggs.iter().map(|desc| desc.ty.clone()));
        output.push(self.columns.meta(kept_keys).ty.clone());
        columns.extend(agg.aggs.iter().map(|(col, _)| *col).chain([kept_keys]));

        let groups = self.estimator.groups(&agg.group_by, child.rows, self.columns);
        let levels = keys.len() as f64 + 1.0;
        let cost = child.cost + child.rows * levels * (cost::STREAM + cost::COMPUTE * aggs.len() as f64);
        let op = Op::RollupAgg(physical::Aggregate { child: Box::new(child), group_by: keys, aggs });
        let node = self.node(op, output, groups * ROWS_PER_GROUP, cost);
        self.sorted(Physical { node, columns, order: vec![], constant: vec![] }, want)
    }

    /// The finest groups' partial results, sorted by their keys.
    fn rollup_in_parts(&self, agg: &Aggregate) -> Option<Grouped> {
        if !self.is_on(Rule::PushDownAggregates) {
            return None;
        }
        let mut child = self.choose(&agg.child, &Want::default());
        let group_by: Vec<Expr> = agg.group_by.iter().map(|(_, key)| child.resolve(key)).collect();
        let aggs: Vec<AggDesc> = agg.aggs.iter().map(|(_, desc)| resolve_desc(&child, desc)).collect();
        let groups = self.estimator.groups(&agg.group_by, child.rows(), self.columns);
        if let Some((keys, aggs)) = self.push_partial(&mut child, &group_by, &aggs, groups, false) {
            return Some(Grouped { node: self.sort_by(child.node, &keys), keys, aggs });
        }
        let Phases { partials, output, final_keys, finals } = Phases::of(&group_by, &aggs)?;
        if groups > child.rows() * WORTH_PUSHING {
            return None;
        }
        let cost = child.cost() + child.rows() * (cost::HASH_BUILD + cost::COMPUTE * partials.len() as f64);
        let first = Op::HashAgg(physical::Aggregate { child: Box::new(child.node), group_by, aggs: partials });
        let first = self.node(first, output, groups, cost);
        Some(Grouped { node: self.sort_by(first, &final_keys), keys: final_keys, aggs: finals })
    }

    /// All rows, in the order of the keys; keys that are no columns are computed first.
    fn rollup_of_rows(&self, agg: &Aggregate) -> Grouped {
        let bare: Option<Vec<OrderColumn>> = agg.group_by.iter().map(|(_, key)| Some((key.as_column()?, false))).collect();
        if let Some(mut order) = bare {
            let mut seen = vec![];
            order.retain(|(col, _)| {
                !seen.contains(col) && {
                    seen.push(*col);
                    true
                }
            });
            let child = self.choose(&agg.child, &Want { order, limit: None });
            let keys = agg.group_by.iter().map(|(_, key)| child.resolve(key)).collect();
            let aggs = agg.aggs.iter().map(|(_, desc)| resolve_desc(&child, desc)).collect();
            return Grouped { node: child.node, keys, aggs };
        }
        let child = self.choose(&agg.child, &Want::default());
        let aggs = agg.aggs.iter().map(|(_, desc)| resolve_desc(&child, desc)).collect();
        let mut exprs: Vec<Expr> = child.node.output.iter().enumerate().map(|(at, ty)| Expr::column(at, ty.clone())).collect();
        let first_key = exprs.len();
        exprs.extend(agg.group_by.iter().map(|(_, key)| child.resolve(key)));
        let output: Vec<_> = exprs.iter().map(|expr| expr.field_type().clone()).collect();
        let keys: Vec<Expr> = (first_key..exprs.len()).map(|at| Expr::column(at, output[at].clone())).collect();
        let (rows, cost) = (child.rows(), child.cost() + child.rows() * cost::COMPUTE * keys.len() as f64);
        let computed = self.node(Op::Projection(physical::Projection { child: Box::new(child.node), exprs }), output, rows, cost);
        Grouped { node: self.sort_by(computed, &keys), keys, aggs }
    }

    fn sort_by(&self, child: Node, keys: &[Expr]) -> Node {
        let by = keys.iter().map(|key| SortKey { expr: key.clone(), desc: false }).collect();
        let (output, rows, cost) = (child.output.clone(), child.rows, child.cost + cost::sort(child.rows));
        self.node(Op::Sort(physical::Sort { child: Box::new(child), by }), output, rows, cost)
    }
}

//! Sort, limit and their combination.

use copr::{DagOp, RowLimit, SortKey};

use super::{Chooser, OrderColumn, Physical, Want, cost, open_dag, order_columns};
use crate::{
    logical::{Limit, Plan, Sort},
    physical::{self, Op},
    rules::Rule,
};

impl Chooser<'_> {
    pub(super) fn choose_sort(&self, sort: &Sort, want: &Want) -> Physical {
        let columns = order_columns(&sort.by);
        let chosen = match &columns {
            Some(order) => self.choose(&sort.child, &Want { order: order.clone(), limit: want.limit }),
            None => {
                let child = self.choose(&sort.child, &Want::default());
                self.explicit_sort(child, &sort.by, &[])
            }
        };
        self.sorted(chosen, want)
    }

    /// A sort whatever order the child has.
    pub(super) fn explicit_sort(&self, child: Physical, by: &[SortKey], order: &[OrderColumn]) -> Physical {
        let by = resolve_keys(&child, by);
        let (output, rows) = (child.node.output.clone(), child.rows());
        let cost = child.cost() + cost::sort(rows);
        let Physical { node, columns, constant, .. } = child;
        let node = self.node(Op::Sort(physical::Sort { child: Box::new(node), by }), output, rows, cost);
        Physical { node, columns, order: order.to_vec(), constant }
    }

    pub(super) fn choose_limit(&self, limit: &Limit) -> Physical {
        let count = self.estimator.row_count(&limit.limit.count);
        let total = count + limit.limit.offset.as_ref().map_or(0.0, |offset| self.estimator.row_count(offset));
        let Plan::Sort(sort) = &*limit.child else {
            let child = self.choose(&limit.child, &Want::limited(Some(total)));
            return self.limit(child, &limit.limit, count, total);
        };
        let top_n = self.top_n(sort, &limit.limit, count, total);
        if !self.is_on(Rule::OrderedScan) {
            return top_n;
        }
        let Some(order) = order_columns(&sort.by) else { return top_n };
        let ordered = self.choose(&sort.child, &Want { order, limit: Some(total) });
        if matches!(ordered.node.op, Op::Sort(_)) {
            return top_n;
        }
        let ordered = self.limit(ordered, &limit.limit, count, total);
        if ordered.cost() <= top_n.cost() { ordered } else { top_n }
    }

    fn limit(&self, mut child: Physical, limit: &RowLimit, count: f64, total: f64) -> Physical {
        let rows = child.rows().min(count).max(1.0);
        if self.is_on(Rule::PushDownLimits) {
            let task = self.task(child.rows().min(total));
            let reached = child.rows().min(total);
            let mut pushed = false;
            if let Some((dag, tasks)) = open_dag(&mut child.node) {
                dag.ops.push(DagOp::Limit(limit.clone()));
                tasks.push(task);
                pushed = true;
            } else if let Op::IndexLookup(lookup) = &mut child.node.op
                && lookup.table_dag.filters.is_empty()
                && lookup.limit.is_none()
            {
                // The index side alone decides which rows come: it skips and stops, and nothing is left to do above.
                lookup.limit = Some(limit.clone());
                child.node.rows = rows;
                return child;
            }
            if pushed {
                child.node.rows = reached;
            }
        }
        let output = child.node.output.clone();
        let cost = child.cost();
        let Physical { node, columns, order, constant } = child;
        let node = self.node(Op::Limit(physical::Limit { child: Box::new(node), limit: limit.clone() }), output, rows, cost);
        Physical { node, columns, order, constant }
    }

    fn top_n(&self, sort: &Sort, limit: &RowLimit, count: f64, total: f64) -> Physical {
        let mut child = self.choose(&sort.child, &Want::default());
        let by = resolve_keys(&child, &sort.by);
        let mut cost = child.cost() + cost::top_n(child.rows(), total);
        if self.is_on(Rule::PushDownTopN) {
            let kept = child.rows().min(total);
            let saved = (child.rows() - kept) * cost::HAND_UP;
            let task = self.task(kept);
            if let Some((dag, tasks)) = open_dag(&mut child.node) {
                dag.ops.push(DagOp::TopN { by: by.clone(), limit: limit.clone() });
                tasks.push(task);
                child.node.rows = kept;
                cost -= saved;
            }
        }
        let rows = child.rows().min(count).max(1.0);
        let output = child.node.output.clone();
        let Physical { node, columns, constant, .. } = child;
        let node = self.node(Op::TopN(physical::TopN { child: Box::new(node), by, limit: limit.clone() }), output, rows, cost);
        Physical { node, columns, order: order_columns(&sort.by).unwrap_or_default(), constant }
    }
}

fn resolve_keys(child: &Physical, by: &[SortKey]) -> Vec<SortKey> {
    by.iter().map(|key| SortKey { expr: child.resolve(&key.expr), desc: key.desc }).collect()
}

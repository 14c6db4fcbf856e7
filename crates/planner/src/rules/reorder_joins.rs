//! Rule `reorder_joins`: orders a group of inner joins greedily by estimated size.
//!
//! It starts with the smallest input and adds, one after the other, the input whose join with what is there is smallest; inputs that no
//! condition connects come last. (Which side is built or looked up is chosen later, by cost.) STRAIGHT_JOIN keeps its order.

use expr::Expr;

use super::RuleCx;
use crate::{
    logical::{Join, Plan, covered},
    physical::JoinKind,
};

pub(super) fn apply(plan: Plan, cx: &mut RuleCx<'_>) -> Plan {
    if !is_reorderable(&plan) {
        return plan.map_children(&mut |child| apply(child, cx));
    }
    let (mut inputs, mut conditions) = (vec![], vec![]);
    flatten(plan, &mut inputs, &mut conditions);
    let inputs: Vec<Plan> = inputs.into_iter().map(|input| apply(input, cx)).collect();
    order(inputs, conditions, cx)
}

fn is_reorderable(plan: &Plan) -> bool {
    matches!(plan, Plan::Join(join) if join.kind == JoinKind::Inner && !join.straight && !join.apply)
}

fn flatten(plan: Plan, inputs: &mut Vec<Plan>, conditions: &mut Vec<Expr>) {
    match plan {
        Plan::Join(join) if join.kind == JoinKind::Inner && !join.straight && !join.apply => {
            conditions.extend(join.conditions);
            flatten(join.left, inputs, conditions);
            flatten(join.right, inputs, conditions);
        }
        other => inputs.push(other),
    }
}

fn order(mut inputs: Vec<Plan>, mut conditions: Vec<Expr>, cx: &mut RuleCx<'_>) -> Plan {
    let rows: Vec<f64> = inputs.iter().map(|input| cx.estimator.rows(input, cx.columns)).collect();
    let keep_first = inputs.len() == 2;
    let first = if keep_first { 0 } else { smallest(&rows) };
    let mut tree = inputs.remove(first);
    while !inputs.is_empty() {
        let candidates: Vec<(bool, f64, usize)> = inputs
            .iter()
            .enumerate()
            .map(|(i, input)| {
                let joined = join(tree.clone(), input.clone(), &conditions).0;
                let connected = matches!(&joined, Plan::Join(join) if !join.conditions.is_empty());
                (!connected, cx.estimator.rows(&joined, cx.columns), i)
            })
            .collect();
        let best = candidates.into_iter().min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        let next = inputs.remove(best.map_or(0, |(_, _, i)| i));
        (tree, conditions) = join(tree, next, &conditions);
    }
    tree.filtered(conditions)
}

fn smallest(rows: &[f64]) -> usize {
    rows.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(i, _)| i)
}

/// The join of two inputs by the conditions that it can decide, and the conditions left over.
fn join(left: Plan, right: Plan, conditions: &[Expr]) -> (Plan, Vec<Expr>) {
    let mut columns = left.columns();
    columns.extend(right.columns());
    let (here, later): (Vec<Expr>, Vec<Expr>) = conditions.iter().cloned().partition(|condition| covered(condition, &columns));
    let join = Join {
        kind: JoinKind::Inner,
        left,
        right,
        conditions: here,
        in_conditions: vec![],
        mark: None,
        apply: false,
        bindings: vec![],
        straight: false,
    };
    (Plan::Join(Box::new(join)), later)
}

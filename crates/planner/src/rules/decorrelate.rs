//! Rule `decorrelate`: an `Apply` whose dependence is a plain condition becomes a join.
//!
//! ```text
//! Apply semi (slot := o.a)                 Semi join on i.x = o.a
//! ├─ o                              →      ├─ o
//! └─ Filter i.x = slot, i.y > 1            └─ Filter i.y > 1
//!    └─ i                                     └─ i
//! ```
//!
//! For EXISTS and IN (semi, anti and mark joins): the projection and order of the subquery do not matter, and conditions of its topmost
//! filter that read the outer row can as well be conditions of the match. When something below still depends on the outer row, the
//! `Apply` stays as it was.

use expr::Expr;

use super::RuleCx;
use crate::{
    logical::{Col, Columns, Join, Plan, covered, substitute},
    physical::JoinKind,
};

pub(super) fn apply(plan: Plan, cx: &mut RuleCx<'_>) -> Plan {
    let mut plan = plan.map_children(&mut |child| apply(child, cx));
    if let Plan::Join(join) = &mut plan
        && join.apply
    {
        // Without bindings of its own it depends on an outer `Apply` alone, which evaluates all of this anew anyway.
        if !reads_slots(&mut join.right, &join.bindings) {
            join.apply = false;
            join.bindings.clear();
        } else if matches!(join.kind, JoinKind::Semi | JoinKind::AntiSemi | JoinKind::Mark)
            && let Some(pulled) = pull_up(join, cx.columns)
        {
            **join = pulled;
        }
    }
    plan
}

fn pull_up(join: &Join, columns: &Columns) -> Option<Join> {
    let mut join = join.clone();
    loop {
        join.right = match join.right {
            Plan::Project(project) => {
                let map = project.exprs;
                for condition in join.conditions.iter_mut().chain(&mut join.in_conditions) {
                    let old = std::mem::replace(condition, Expr::constant(types::Datum::Null, types::FieldType::null()));
                    *condition = with_outer_columns(substitute(old, &map), &join.bindings, columns);
                }
                *project.child
            }
            Plan::Sort(sort) => *sort.child,
            Plan::Limit(limit) if limit.limit.offset.is_none() && keeps_a_row(&limit.limit.count) && join.in_conditions.is_empty() => {
                *limit.child
            }
            Plan::Filter(filter) => {
                let (moved, kept): (Vec<Expr>, Vec<Expr>) =
                    filter.conditions.into_iter().partition(|condition| reads(condition, &join.bindings));
                join.conditions.extend(moved.into_iter().map(|condition| with_outer_columns(condition, &join.bindings, columns)));
                join.right = filter.child.filtered(kept);
                break;
            }
            other => {
                join.right = other;
                break;
            }
        };
    }
    if reads_slots(&mut join.right, &join.bindings) || !join.in_conditions.iter().all(|condition| is_separable(condition, &join)) {
        return None;
    }
    join.apply = false;
    join.bindings.clear();
    Some(join)
}

/// Whether each operand of an IN's comparison reads one side of the join only, as a key of a hash join must.
fn is_separable(condition: &Expr, join: &Join) -> bool {
    let (left, right) = (join.left.columns(), join.right.columns());
    let operands = condition.as_op().map_or(std::slice::from_ref(condition), |(_, operands)| operands);
    operands.iter().all(|operand| covered(operand, &left) || covered(operand, &right))
}

fn keeps_a_row(count: &Expr) -> bool {
    matches!(count.as_constant(), Some(types::Datum::Int(count)) if *count > 0)
}

fn reads(expr: &Expr, bindings: &[(usize, Col)]) -> bool {
    let mut found = false;
    expr.walk(&mut |node| found |= matches!(node, Expr::Param { index, .. } if bindings.iter().any(|(slot, _)| slot == index)));
    found
}

/// Whether anything in the plan reads one of the slots.
fn reads_slots(plan: &mut Plan, bindings: &[(usize, Col)]) -> bool {
    plan.expressions_mut().iter().any(|expr| reads(expr, bindings))
        || plan.children_mut().into_iter().any(|child| reads_slots(child, bindings))
}

/// Slots of the outer row as its columns.
fn with_outer_columns(expr: Expr, bindings: &[(usize, Col)], columns: &Columns) -> Expr {
    expr.transform(&mut |node| match &node {
        Expr::Param { index, .. } => match bindings.iter().find(|(slot, _)| slot == index) {
            Some((_, col)) => columns.expr(*col),
            None => node,
        },
        _ => node,
    })
}

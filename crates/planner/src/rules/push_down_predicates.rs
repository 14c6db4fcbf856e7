//! Rule `push_down_predicates`: conditions move towards the tables they are about.
//!
//! | operator | which conditions from above go below |
//! |---|---|
//! | projection | all, with its expressions put in, unless those are volatile |
//! | aggregation | those about group keys; none WITH ROLLUP, whose rows of all levels they concern |
//! | window functions | those about what they are partitioned by |
//! | inner join | those about one side; the others become conditions of the match |
//! | left join | those about the left side; conditions of the match about the right side go right |
//! | semi, anti, mark join | all but those about the mark go left |
//! | union | all, into every child |
//! | sort, lock | all |
//! | limit, at most one row | none |
//! | scan | all that are deterministic |

use expr::Expr;

use super::RuleCx;
use crate::{
    logical::{Aggregate, Col, Join, Plan, columns_of, covered, substitute},
    physical::JoinKind,
};

pub(super) fn apply(plan: Plan, cx: &mut RuleCx<'_>) -> Plan {
    push(plan, vec![], cx)
}

/// The plan with `conditions` on its output.
fn push(plan: Plan, mut conditions: Vec<Expr>, cx: &mut RuleCx<'_>) -> Plan {
    match plan {
        Plan::Filter(filter) => {
            let mut all = filter.conditions;
            all.append(&mut conditions);
            push(*filter.child, all, cx)
        }
        Plan::Scan(mut scan) => {
            let (deterministic, volatile): (Vec<_>, Vec<_>) = conditions.into_iter().partition(Expr::is_deterministic);
            for condition in deterministic {
                if !scan.conditions.contains(&condition) {
                    scan.conditions.push(condition);
                }
            }
            Plan::Scan(scan).filtered(volatile)
        }
        Plan::Project(mut project) => {
            let volatile: Vec<Col> = project.exprs.iter().filter(|(_, expr)| !expr.is_deterministic()).map(|(col, _)| *col).collect();
            let (stay, go): (Vec<_>, Vec<_>) =
                conditions.into_iter().partition(|condition| columns_of(condition).iter().any(|col| volatile.contains(col)));
            let go = go.into_iter().map(|condition| substitute(condition, &project.exprs)).collect();
            project.child = Box::new(push(*project.child, go, cx));
            Plan::Project(project).filtered(stay)
        }
        Plan::Aggregate(agg) => push_through_aggregate(agg, conditions, cx),
        Plan::Window(mut window) => {
            // A condition on what makes a partition takes whole partitions away.
            let (go, stay): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|condition| {
                condition.is_deterministic() && !columns_of(condition).is_empty() && covered(condition, &window.partition_by)
            });
            window.child = Box::new(push(*window.child, go, cx));
            Plan::Window(window).filtered(stay)
        }
        Plan::Join(join) => push_into_join(*join, conditions, cx),
        Plan::Sort(mut sort) => {
            sort.child = Box::new(push(*sort.child, conditions, cx));
            Plan::Sort(sort)
        }
        Plan::Lock(mut lock) => {
            lock.child = Box::new(push(*lock.child, conditions, cx));
            Plan::Lock(lock)
        }
        Plan::Union(mut union) => {
            for (child, inputs) in union.children.iter_mut().zip(&union.inputs) {
                let map: Vec<(Col, Expr)> = union.columns.iter().zip(inputs).map(|(col, input)| (*col, cx.columns.expr(*input))).collect();
                let conditions = conditions.iter().map(|condition| substitute(condition.clone(), &map)).collect();
                let old = std::mem::replace(child, Plan::empty());
                *child = push(old, conditions, cx);
            }
            Plan::Union(union)
        }
        Plan::Limit(_) | Plan::MaxOneRow(_) | Plan::Values(_) => {
            plan.map_children(&mut |child| push(child, vec![], cx)).filtered(conditions)
        }
    }
}

fn push_through_aggregate(mut agg: Aggregate, conditions: Vec<Expr>, cx: &mut RuleCx<'_>) -> Plan {
    let keys: Vec<Col> = agg.group_by.iter().map(|(col, _)| *col).collect();
    // Without groups there is always one row; a condition below would not take it away.
    let (go, stay): (Vec<_>, Vec<_>) = conditions
        .into_iter()
        .partition(|condition| agg.rollup.is_none() && !keys.is_empty() && covered(condition, &keys) && !columns_of(condition).is_empty());
    let go = go.into_iter().map(|condition| substitute(condition, &agg.group_by)).collect();
    agg.child = Box::new(push(*agg.child, go, cx));
    Plan::Aggregate(agg).filtered(stay)
}

fn push_into_join(mut join: Join, conditions: Vec<Expr>, cx: &mut RuleCx<'_>) -> Plan {
    let left_columns = join.left.columns();
    let right_columns = join.right.columns();
    let (mut left, mut right, mut matched, mut above) = (vec![], vec![], vec![], vec![]);
    for condition in conditions {
        if !condition.is_deterministic() {
            above.push(condition);
        } else if covered(&condition, &left_columns) {
            left.push(condition);
        } else if join.kind == JoinKind::Inner {
            if covered(&condition, &right_columns) { right.push(condition) } else { matched.push(condition) }
        } else {
            above.push(condition);
        }
    }
    for condition in std::mem::take(&mut join.conditions) {
        let on_left = covered(&condition, &left_columns);
        let on_right = covered(&condition, &right_columns);
        if !condition.is_deterministic() {
            matched.push(condition);
        } else if on_left && matches!(join.kind, JoinKind::Inner | JoinKind::Semi) {
            left.push(condition);
        } else if on_right && !on_left {
            right.push(condition);
        } else {
            matched.push(condition);
        }
    }
    join.conditions = matched;
    join.left = push(join.left, left, cx);
    join.right = push(join.right, right, cx);
    Plan::Join(Box::new(join)).filtered(above)
}

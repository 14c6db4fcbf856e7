//! Rule `propagate_constants`: what holds for one side of an equality holds for the other.
//!
//! In a group of inner joins, `a = b` together with `a < 5` (or any comparison of `a` with a constant) implies `b < 5`. For a left join with
//! `a = b` in its condition, a comparison of `a` on the left side may be added to the condition of the match. The new conditions stand
//! above the join; `push_down_predicates` takes them to their tables.

use expr::{Expr, Func, Op};

use super::RuleCx;
use crate::{
    logical::{Col, Join, Plan, columns_of, substitute},
    physical::JoinKind,
};

pub(super) fn apply(plan: Plan, cx: &mut RuleCx<'_>) -> Plan {
    match plan {
        Plan::Join(join) => {
            let implied = implied(&join, cx);
            match join.kind {
                JoinKind::Inner => Plan::Join(join).map_children(&mut |child| apply(child, cx)).filtered(implied),
                _ => {
                    let mut join = join;
                    join.conditions.extend(implied);
                    Plan::Join(join).map_children(&mut |child| apply(child, cx))
                }
            }
        }
        other => other.map_children(&mut |child| apply(child, cx)),
    }
}

fn implied(join: &Join, cx: &RuleCx<'_>) -> Vec<Expr> {
    if join.apply || !matches!(join.kind, JoinKind::Inner | JoinKind::LeftOuter | JoinKind::Semi) {
        return vec![];
    }
    let mut known = vec![];
    collect_facts(&join.left, &mut known);
    if join.kind == JoinKind::Inner {
        collect_facts(&join.right, &mut known);
    }
    let constants: Vec<Expr> = known.iter().filter(|condition| is_comparison_with_constant(condition)).cloned().collect();
    let right = join.right.columns();
    let mut implied: Vec<Expr> = vec![];
    let equalities = join.conditions.iter().chain(known.iter().filter(|_| join.kind == JoinKind::Inner));
    for (a, b) in equalities.filter_map(equal_columns) {
        for (from, to) in [(a, b), (b, a)] {
            if !same_type(from, to, cx) || (join.kind != JoinKind::Inner && !right.contains(&to)) {
                continue;
            }
            for condition in &constants {
                if columns_of(condition) == [from] {
                    let copy = substitute(condition.clone(), &[(from, cx.columns.expr(to))]);
                    if !known.contains(&copy) && !implied.contains(&copy) && !join.conditions.contains(&copy) {
                        implied.push(copy);
                    }
                }
            }
        }
    }
    implied
}

/// Conditions that hold for every row of the plan.
fn collect_facts(plan: &Plan, out: &mut Vec<Expr>) {
    match plan {
        Plan::Scan(scan) => out.extend(scan.conditions.iter().cloned()),
        Plan::Filter(filter) => {
            out.extend(filter.conditions.iter().cloned());
            collect_facts(&filter.child, out);
        }
        Plan::Join(join) => {
            if join.kind == JoinKind::Inner {
                out.extend(join.conditions.iter().cloned());
                collect_facts(&join.right, out);
            }
            collect_facts(&join.left, out);
        }
        Plan::Lock(lock) => collect_facts(&lock.child, out),
        _ => {}
    }
}

fn is_comparison_with_constant(condition: &Expr) -> bool {
    let Some((op, args)) = condition.as_op() else { return false };
    match (op, args) {
        (op, [a, b]) if op.is_comparison() && op != Op::NullEq => {
            (a.as_column().is_some() && b.is_constant()) || (b.as_column().is_some() && a.is_constant())
        }
        (Op::In, [subject, list @ ..]) => subject.as_column().is_some() && list.iter().all(Expr::is_constant),
        _ => false,
    }
}

fn equal_columns(condition: &Expr) -> Option<(Col, Col)> {
    match (condition.as_call()?.func, &condition.as_call()?.args[..]) {
        (Func::Op(Op::Eq, _), [a, b]) => Some((a.as_column()?, b.as_column()?)),
        _ => None,
    }
}

fn same_type(a: Col, b: Col, cx: &RuleCx<'_>) -> bool {
    let (a, b) = (&cx.columns.meta(a).ty, &cx.columns.meta(b).ty);
    a.tp == b.tp && a.unsigned == b.unsigned && a.collation == b.collation && a.decimal == b.decimal
}

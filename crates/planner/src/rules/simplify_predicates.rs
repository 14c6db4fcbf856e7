//! Rule `simplify_predicates`: conditions in their simplest form.
//!
//! - `NOT` moves inwards (`NOT (a < b OR c)` → `a >= b AND NOT c`; NULL stays NULL);
//! - constants are folded and conjunctions split, true and repeated conditions are dropped;
//! - a filter or inner join that can never be true yields no rows.

use expr::{Expr, Func, Op, build_op, fold_constants};
use types::{Datum, convert::to_bool};

use super::RuleCx;
use crate::{
    logical::{Plan, Values},
    physical::JoinKind,
};

pub(super) fn apply(plan: Plan, cx: &mut RuleCx<'_>) -> Plan {
    let mut plan = plan.map_children(&mut |child| apply(child, cx));
    let never = match &mut plan {
        Plan::Filter(filter) => simplify(&mut filter.conditions, cx),
        Plan::Scan(scan) => simplify(&mut scan.conditions, cx),
        Plan::Join(join) => {
            let never = simplify(&mut join.conditions, cx);
            if never && join.kind == JoinKind::Inner {
                true
            } else {
                if never {
                    let ty = types::FieldType::boolean().with_not_null();
                    join.conditions = vec![Expr::constant(Datum::Int(0), ty)];
                }
                false
            }
        }
        _ => false,
    };
    if never {
        return Plan::Values(Values { columns: plan.columns(), rows: vec![] });
    }
    match plan {
        Plan::Filter(filter) if filter.conditions.is_empty() => *filter.child,
        plan => plan,
    }
}

/// Simplifies a conjunction; whether it can never be true.
fn simplify(conditions: &mut Vec<Expr>, cx: &RuleCx<'_>) -> bool {
    let mut simple: Vec<Expr> = vec![];
    for condition in std::mem::take(conditions) {
        let folded = fold_constants(push_not(condition, false, cx), &cx.build);
        let mut parts = vec![];
        folded.split_conjunction(&mut parts);
        for part in parts {
            match part.as_constant().map(|value| to_bool(value.as_ref()) == Some(true)) {
                Some(true) => {}
                Some(false) => return true,
                None if simple.contains(&part) && part.is_deterministic() => {}
                None => simple.push(part),
            }
        }
    }
    *conditions = simple;
    false
}

/// Moves a negation inwards as far as it goes.
fn push_not(expr: Expr, negate: bool, cx: &RuleCx<'_>) -> Expr {
    let Expr::Call(mut call) = expr else { return wrap(expr, negate, cx) };
    let Func::Op(op, class) = call.func else { return wrap(Expr::Call(call), negate, cx) };
    match op {
        // `NOT x` yields 0 or 1; where x is a condition itself, two negations cancel out.
        Op::Not if is_condition(&call.args[0]) => push_not(call.args.remove(0), !negate, cx),
        Op::And | Op::Or => {
            call.args = std::mem::take(&mut call.args).into_iter().map(|arg| push_not(arg, negate, cx)).collect();
            if negate && call.args.iter().all(is_condition) {
                call.func = Func::Op(if op == Op::And { Op::Or } else { Op::And }, class);
                return Expr::Call(call);
            }
            if negate {
                // Operands that are no conditions were wrapped in NOT, which makes them conditions.
                call.func = Func::Op(if op == Op::And { Op::Or } else { Op::And }, class);
            }
            Expr::Call(call)
        }
        _ if negate => match op.negated() {
            Some(opposite) => {
                call.func = Func::Op(opposite, class);
                Expr::Call(call)
            }
            None => wrap(Expr::Call(call), true, cx),
        },
        _ => Expr::Call(call),
    }
}

fn wrap(expr: Expr, negate: bool, cx: &RuleCx<'_>) -> Expr {
    if !negate {
        return expr;
    }
    build_op(Op::Not, vec![expr.clone()], &cx.build).unwrap_or(expr)
}

/// The expression yields 0, 1 or NULL.
fn is_condition(expr: &Expr) -> bool {
    expr.as_op().is_some_and(|(op, _)| {
        op.is_comparison()
            || matches!(
                op,
                Op::And | Op::Or | Op::Xor | Op::Not | Op::In | Op::Like { .. } | Op::IsNull | Op::IsTrue | Op::IsFalse | Op::IsUnknown
            )
    })
}

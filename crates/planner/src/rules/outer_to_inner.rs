//! Rule `outer_to_inner`: a left join whose unmatched rows a condition above refuses is an inner join.
//!
//! A condition *rejects* NULL in a column when it cannot be true while the column is NULL: comparisons other than `<=>`, LIKE, IN and IS
//! NOT NULL of expressions that are NULL when the column is.

use expr::{Expr, Func, Op};

use crate::{
    logical::{Col, Plan, substitute},
    physical::JoinKind,
};

pub(super) fn apply(plan: Plan) -> Plan {
    visit(plan, &[])
}

/// `above`: conditions that every row handed up must satisfy.
fn visit(plan: Plan, above: &[Expr]) -> Plan {
    match plan {
        Plan::Filter(mut filter) => {
            let mut conditions = filter.conditions.clone();
            conditions.extend_from_slice(above);
            filter.child = Box::new(visit(*filter.child, &conditions));
            Plan::Filter(filter)
        }
        Plan::Project(mut project) => {
            let conditions: Vec<Expr> = above.iter().map(|condition| substitute(condition.clone(), &project.exprs)).collect();
            project.child = Box::new(visit(*project.child, &conditions));
            Plan::Project(project)
        }
        Plan::Sort(mut sort) => {
            sort.child = Box::new(visit(*sort.child, above));
            Plan::Sort(sort)
        }
        Plan::Join(mut join) => {
            if join.kind == JoinKind::LeftOuter && !join.apply {
                let right = join.right.columns();
                if above.iter().any(|condition| rejects_null(condition, &right)) {
                    join.kind = JoinKind::Inner;
                }
            }
            let empty = Plan::empty;
            let mut conditions = above.to_vec();
            conditions.extend(join.conditions.iter().cloned());
            let both = join.kind == JoinKind::Inner;
            let left_conditions = if both || join.kind == JoinKind::Semi { &conditions[..] } else { above };
            let left = std::mem::replace(&mut join.left, empty());
            join.left = visit(left, left_conditions);
            let right = std::mem::replace(&mut join.right, empty());
            // A row of the right side that fails the condition of the match is not seen, whatever the kind of the join.
            let right_conditions = if both { &conditions[..] } else { &join.conditions[..] };
            join.right = visit(right, right_conditions);
            Plan::Join(join)
        }
        other => other.map_children(&mut |child| visit(child, &[])),
    }
}

/// Whether the condition cannot be true when all of `columns` are NULL.
pub(crate) fn rejects_null(condition: &Expr, columns: &[Col]) -> bool {
    match condition.as_op() {
        Some((Op::And, args)) => args.iter().any(|arg| rejects_null(arg, columns)),
        Some((Op::Or, args)) => args.iter().all(|arg| rejects_null(arg, columns)),
        Some((Op::IsTrue, [arg])) => rejects_null(arg, columns),
        Some((Op::Not, [arg])) => match arg.as_op() {
            Some((Op::IsNull, [inner])) => is_strict(inner, columns),
            _ => is_strict(arg, columns),
        },
        Some((Op::In, [subject, ..])) => is_strict(subject, columns),
        _ => is_strict(condition, columns),
    }
}

/// Whether the expression is NULL when all of `columns` are.
fn is_strict(expr: &Expr, columns: &[Col]) -> bool {
    match expr {
        Expr::Column { index, .. } => columns.contains(index),
        Expr::Constant { .. } | Expr::Param { .. } => false,
        Expr::Call(call) => match call.func {
            Func::Cast { .. } => call.args.iter().any(|arg| is_strict(arg, columns)),
            Func::Op(op, _) => {
                let strict = matches!(
                    op,
                    Op::Add
                        | Op::Sub
                        | Op::Mul
                        | Op::Div
                        | Op::IntDiv
                        | Op::Mod
                        | Op::Neg
                        | Op::Eq
                        | Op::Ne
                        | Op::Lt
                        | Op::Le
                        | Op::Gt
                        | Op::Ge
                        | Op::Like { .. }
                        | Op::BitAnd
                        | Op::BitOr
                        | Op::BitXor
                        | Op::Shl
                        | Op::Shr
                        | Op::BitNeg
                );
                match op {
                    Op::In => call.args.first().is_some_and(|subject| is_strict(subject, columns)),
                    _ => strict && call.args.iter().any(|arg| is_strict(arg, columns)),
                }
            }
            Func::Builtin(_) => false,
        },
    }
}

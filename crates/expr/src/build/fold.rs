//! Evaluating constant expressions once, while the plan is made.
//!
//! A constant whose evaluation warns or fails stays as it is: the condition belongs to every execution of the plan, and
//! only if the expression is reached at all.

use std::sync::Arc;

use crate::context::{BuildCtx, EvalCtx};
use crate::error::Result;
use crate::expr::{Expr, Func};
use crate::op::Op;

impl EvalCtx {
    /// A context with the same settings and a warnings sink of its own.
    pub(crate) fn scratch(&self) -> EvalCtx {
        EvalCtx { warnings: Arc::default(), host: None, ..self.clone() }
    }
}

/// The call's value as a constant, if it is one and computing it neither warns nor fails.
pub(crate) fn fold_if_constant(e: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let Expr::Call(call) = &e else { return Ok(e) };
    // COLLATE stays, because its strength would be lost; a row is no value.
    if call.func.name() == "collate" || call.func.op() == Some(Op::Row) || !e.is_foldable() {
        return Ok(e);
    }
    let scratch = ctx.eval.scratch();
    match e.eval_const(&scratch) {
        Ok(value) if scratch.warnings.count() == 0 => {
            let mut ty = e.field_type().clone();
            ty.not_null = !value.is_null();
            Ok(Expr::constant(value, ty))
        }
        _ => Ok(e),
    }
}

/// Replaces constant subexpressions by their values, and conditions decided by a constant operand.
pub fn fold_constants(e: Expr, ctx: &BuildCtx<'_>) -> Expr {
    e.transform(&mut |node| match fold_if_constant(node.clone(), ctx) {
        Ok(folded) => simplify(folded),
        Err(_) => node,
    })
}

/// `x AND true` is not `x` (it is 0, 1 or NULL), but a constant false decides an AND and a constant true an OR.
fn simplify(e: Expr) -> Expr {
    let Expr::Call(call) = &e else { return e };
    let Func::Op(op @ (Op::And | Op::Or), _) = call.func else { return e };
    let decides = op == Op::Or;
    let decided = call.args.iter().any(|a| a.as_constant().is_some_and(|v| crate::ops::truth(v.as_ref()) == Some(decides)));
    if decided && call.args.iter().all(Expr::is_deterministic) {
        return Expr::constant(types::Datum::Int(i64::from(decides)), call.ty.clone());
    }
    // A condition that is already 0, 1 or NULL absorbs a neutral constant.
    let neutral = call.args.iter().position(|a| a.as_constant().is_some_and(|v| crate::ops::truth(v.as_ref()) == Some(!decides)));
    if let Some(at) = neutral
        && let [a, b] = call.args.as_slice()
    {
        let other = if at == 0 { b } else { a };
        let is_truth_value = other.as_op().is_some_and(|(op, _)| {
            op.is_comparison()
                || matches!(
                    op,
                    Op::And | Op::Or | Op::Xor | Op::Not | Op::In | Op::Like { .. } | Op::IsNull | Op::IsTrue | Op::IsFalse | Op::IsUnknown
                )
        });
        if is_truth_value {
            return other.clone();
        }
    }
    e
}

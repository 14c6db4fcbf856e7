//! Going through expressions.

use super::{Expr, JsonOnResponse};

impl Expr {
    /// Calls `f` with each direct operand, in the order they are written. Queries inside of expressions are not entered.
    pub fn operands_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Literal(..)
            | Expr::Param(_)
            | Expr::Column(_)
            | Expr::UserVar(_)
            | Expr::SystemVar { .. }
            | Expr::Exists(_)
            | Expr::Subquery(_)
            | Expr::TemporalLiteral { .. }
            | Expr::Default(_)
            | Expr::Values(_) => {}
            Expr::AssignUserVar { value: expr, .. }
            | Expr::Unary { expr, .. }
            | Expr::Is { expr, .. }
            | Expr::InSubquery { expr, .. }
            | Expr::Quantified { left: expr, .. }
            | Expr::ConvertUsing { expr, .. }
            | Expr::Collate { expr, .. }
            | Expr::Extract { expr, .. }
            | Expr::WeightString { expr, .. }
            | Expr::GetFormat { expr, .. } => f(expr),
            Expr::Binary { left, right, .. } => [left, right].into_iter().for_each(|operand| f(operand)),
            Expr::Between { expr, low, high, .. } => [expr, low, high].into_iter().for_each(|operand| f(operand)),
            Expr::InList { expr, list, .. } => {
                f(expr);
                list.iter_mut().for_each(f);
            }
            // What escapes in a pattern is a literal, and part of the operator.
            Expr::Like { expr, pattern, .. } => [expr, pattern].into_iter().for_each(|operand| f(operand)),
            Expr::Regexp { expr, pattern, .. } => [expr, pattern].into_iter().for_each(|operand| f(operand)),
            Expr::Row(values) | Expr::Char { args: values, .. } => values.iter_mut().for_each(f),
            Expr::Case(case) => {
                case.operand.iter_mut().for_each(&mut *f);
                for (when, then) in &mut case.whens {
                    f(when);
                    f(then);
                }
                case.otherwise.iter_mut().for_each(f);
            }
            Expr::Func(call) => call.args.iter_mut().for_each(f),
            Expr::Aggregate(call) => call.args.iter_mut().for_each(f),
            Expr::Window(call) => call.args.iter_mut().for_each(f),
            Expr::Cast(cast) => f(&mut cast.expr),
            Expr::DateArith(arith) => {
                f(&mut arith.date);
                f(&mut arith.amount);
            }
            Expr::TimestampAdd { amount, expr, .. } => [amount, expr].into_iter().for_each(|operand| f(operand)),
            Expr::TimestampDiff { from, to, .. } => [from, to].into_iter().for_each(|operand| f(operand)),
            Expr::Trim { remove, expr, .. } => {
                if let Some(remove) = remove {
                    f(remove);
                }
                f(expr);
            }
            Expr::MatchAgainst(m) => f(&mut m.against),
            Expr::JsonValue(call) => {
                f(&mut call.doc);
                f(&mut call.path);
                for response in [&mut call.on_empty, &mut call.on_error].into_iter().flatten() {
                    if let JsonOnResponse::Default(value) = response {
                        f(value);
                    }
                }
            }
        }
    }

    /// Calls `f` with the expression and everything below it, outside first.
    pub fn walk_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        f(self);
        self.operands_mut(&mut |operand| operand.walk_mut(f));
    }
}

//! Building typed expressions out of operators and operands.
//!
//! The planner resolves names and hands operands over; what comes out has every implicit conversion of MySQL spelled out
//! as a cast, and the class of every operation fixed:
//!
//! | file | operators |
//! |---|---|
//! | `arithmetic` | `+ - * / DIV % -x & \| ^ << >> ~` |
//! | `comparison` | `= <=> <> < <= > >=`, rows, `IN`, `BETWEEN` |
//! | `condition` | `AND OR XOR NOT`, `IS …`, `LIKE`, `REGEXP`, `CASE IF IFNULL NULLIF COALESCE` |
//! | `cast` | CAST, CONVERT and the implicit conversions |
//! | `fold` | evaluation of constants while planning |

pub(crate) mod arithmetic;
pub(crate) mod cast;
pub(crate) mod comparison;
pub(crate) mod condition;
pub(crate) mod fold;

use types::{Collation, EvalType, FieldType};

use crate::collation::Coercibility;
use crate::context::BuildCtx;
use crate::error::{Error, Result};
use crate::expr::{Call, CallData, Expr, Func};
use crate::op::Op;

/// Builds the application of an operator; see [`Op`] for the shapes of operands.
///
/// # Errors
/// Illegal mixes of collations, rows where scalars are needed, constants that are no value of the type they are compared with.
///
/// # Panics
/// If the number of operands is not the operator's: that is a defect of the caller, not of a statement.
pub fn build_op(op: Op, args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let takes_rows = op.is_comparison() || matches!(op, Op::In | Op::Between | Op::Row);
    if !takes_rows {
        args.iter().try_for_each(reject_row)?;
    }
    match op {
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::IntDiv | Op::Mod => {
            let [a, b] = operands(op, args);
            arithmetic::binary(op, a, b, ctx)
        }
        Op::Neg => {
            let [a] = operands(op, args);
            arithmetic::negate(a, ctx)
        }
        Op::BitAnd | Op::BitOr | Op::BitXor | Op::Shl | Op::Shr | Op::BitNeg => arithmetic::bits(op, args, ctx),
        Op::Eq | Op::NullEq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
            let [a, b] = operands(op, args);
            comparison::compare(op, a, b, ctx)
        }
        Op::In => comparison::in_list(args, ctx),
        Op::Between => {
            let [x, low, high] = operands(op, args);
            let above = comparison::compare(Op::Ge, x.clone(), low, ctx)?;
            let below = comparison::compare(Op::Le, x, high, ctx)?;
            condition::logic(Op::And, vec![above, below], ctx)
        }
        Op::And | Op::Or | Op::Xor | Op::Not => condition::logic(op, args, ctx),
        Op::IsNull | Op::IsTrue | Op::IsFalse | Op::IsUnknown => {
            let [a] = operands(op, args);
            condition::is(op, a, ctx)
        }
        Op::Like { .. } => {
            let [a, b] = operands(op, args);
            condition::like(op, a, b, ctx)
        }
        Op::Regexp => crate::functions::build_call("regexp_like", args, ctx),
        Op::Case => condition::case(args, ctx),
        Op::If => {
            let [c, a, b] = operands(op, args);
            condition::choose(c, a, b, ctx)
        }
        Op::IfNull | Op::Coalesce => condition::coalesce(op, args, ctx),
        Op::NullIf => {
            let [a, b] = operands(op, args);
            condition::null_if(a, b, ctx)
        }
        Op::Row => Ok(call(Func::Op(Op::Row, EvalType::Int), args, crate::result_type::null())),
    }
}

fn operands<const N: usize>(op: Op, args: Vec<Expr>) -> [Expr; N] {
    let given = args.len();
    args.try_into().unwrap_or_else(|_| panic!("operator {op} takes {N} operands, not {given}"))
}

/// A call whose strings, if any, are compared as bytes and whose result is no string.
pub(crate) fn call(func: Func, args: Vec<Expr>, ty: FieldType) -> Expr {
    Expr::Call(Box::new(Call { func, args, ty, collation: Collation::Binary, coercibility: Coercibility::Numeric, data: CallData::None }))
}

/// The elements, if the expression is a row constructor.
pub(crate) fn row_elements(e: &Expr) -> Option<&[Expr]> {
    match e.as_op() {
        Some((Op::Row, elements)) => Some(elements),
        _ => None,
    }
}

/// Refuses a row constructor where a scalar is needed.
pub(crate) fn reject_row(e: &Expr) -> Result<()> {
    if row_elements(e).is_some() { Err(Error::OperandColumns { expected: 1 }) } else { Ok(()) }
}

/// Marks the call's result as never NULL if none of its operands is.
pub(crate) fn null_if_operand_is(mut e: Expr) -> Expr {
    if let Expr::Call(call) = &mut e {
        call.ty.not_null = call.args.iter().all(|a| a.field_type().not_null);
    }
    e
}

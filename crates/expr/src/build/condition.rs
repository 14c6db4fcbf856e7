//! Conditions and choices: three-valued logic, IS, LIKE, CASE and its relatives.

use types::{Collation, EvalType, FieldType};

use super::{call, cast, comparison, null_if_operand_is};
use crate::collation::{self, Coercibility};
use crate::context::BuildCtx;
use crate::error::Result;
use crate::expr::{Call, CallData, Expr, Func};
use crate::op::Op;
use crate::result_type as rt;

/// What may stand where a truth value is wanted: numbers and temporal values as they are, strings as DOUBLE.
fn truth_operand(e: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    match e.eval_type() {
        EvalType::String if !e.is_null_constant() => cast::to_class(e, EvalType::Real, ctx),
        _ => Ok(e),
    }
}

pub(crate) fn logic(op: Op, args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let args = args.into_iter().map(|a| truth_operand(a, ctx)).collect::<Result<Vec<_>>>()?;
    if op == Op::Not
        && let [Expr::Call(inner)] = args.as_slice()
        && let Func::Op(inner_op, class) = inner.func
        && let Some(negated) = inner_op.negated()
    {
        let mut flipped = inner.clone();
        flipped.func = Func::Op(negated, class);
        return Ok(Expr::Call(flipped));
    }
    let join = |operands| null_if_operand_is(call(Func::Op(op, EvalType::Int), operands, rt::boolean()));
    if args.len() <= 2 {
        return Ok(join(args));
    }
    let joined = args.into_iter().reduce(|left, right| join(vec![left, right]));
    Ok(joined.expect("there are at least three operands"))
}

pub(crate) fn is(op: Op, a: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let a = if op == Op::IsNull { a } else { truth_operand(a, ctx)? };
    let class = a.eval_type();
    let mut ty = rt::boolean();
    ty.not_null = true;
    Ok(call(Func::Op(op, class), vec![a], ty))
}

pub(crate) fn like(op: Op, a: Expr, pattern: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let derived = collation::aggregate("like", &[&a, &pattern], ctx.eval.collation_connection, true)?;
    let a = cast::to_string(a, derived.collation, ctx)?;
    let pattern = cast::to_string(pattern, derived.collation, ctx)?;
    let mut built = null_if_operand_is(call(Func::Op(op, EvalType::String), vec![a, pattern], rt::boolean()));
    if let Expr::Call(c) = &mut built {
        c.collation = derived.collation;
    }
    Ok(built)
}

/// The merged type of alternatives, the collation and strength of a string result, and the alternatives cast to it.
struct Merged {
    ty: FieldType,
    coercibility: Coercibility,
    args: Vec<Expr>,
}

fn merge_alternatives(name: &str, args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Merged> {
    let mut ty = merged_type(&args);
    let mut coercibility = Coercibility::Numeric;
    if ty.tp.eval_type() == EvalType::String {
        let strings: Vec<&Expr> = args.iter().filter(|a| !a.is_null_constant()).collect();
        let derived = collation::aggregate(name, &strings, ctx.eval.collation_connection, false)?;
        ty = rt::string(if ty.flen < 0 { -1 } else { i64::from(ty.flen) }, derived.collation);
        coercibility = derived.coercibility;
    }
    ty.not_null = args.iter().all(|a| a.field_type().not_null);
    let args = args.into_iter().map(|a| cast::to_type(a, &ty, ctx)).collect::<Result<Vec<_>>>()?;
    Ok(Merged { ty, coercibility, args })
}

/// Integer constants take the room of their digits, so that `IF(c, 1, 0)` is a small number.
fn merged_type(args: &[Expr]) -> FieldType {
    rt::merge_types(args.iter().filter(|a| !a.is_null_constant()).map(Expr::field_type))
}

fn choice(func: Func, args: Vec<Expr>, ty: FieldType, coercibility: Coercibility) -> Expr {
    let collation = if ty.tp.eval_type() == EvalType::String { ty.collation } else { Collation::Binary };
    Expr::Call(Box::new(Call { func, args, ty, collation, coercibility, data: CallData::None }))
}

pub(crate) fn case(args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let has_else = args.len() % 2 == 1;
    let pairs = args.len() / 2;
    let mut conditions = Vec::with_capacity(pairs);
    let mut results = Vec::with_capacity(pairs + 1);
    for (i, arg) in args.into_iter().enumerate() {
        if i < pairs * 2 && i % 2 == 0 { conditions.push(truth_operand(arg, ctx)?) } else { results.push(arg) }
    }
    let merged = merge_alternatives("case", results, ctx)?;
    let mut ty = merged.ty;
    ty.not_null &= has_else;
    let mut results = merged.args.into_iter();
    let mut args = Vec::with_capacity(pairs * 2 + 1);
    for condition in conditions {
        args.push(condition);
        args.extend(results.next());
    }
    args.extend(results);
    let class = ty.tp.eval_type();
    Ok(choice(Func::Op(Op::Case, class), args, ty, merged.coercibility))
}

pub(crate) fn choose(condition: Expr, a: Expr, b: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let condition = truth_operand(condition, ctx)?;
    let merged = merge_alternatives("if", vec![a, b], ctx)?;
    let class = merged.ty.tp.eval_type();
    let args = std::iter::once(condition).chain(merged.args).collect();
    Ok(choice(Func::Op(Op::If, class), args, merged.ty, merged.coercibility))
}

pub(crate) fn coalesce(op: Op, args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let never_null = args.iter().any(|a| a.field_type().not_null);
    let merged = merge_alternatives(op.symbol(), args, ctx)?;
    let mut ty = merged.ty;
    ty.not_null = never_null;
    let class = ty.tp.eval_type();
    Ok(choice(Func::Op(op, class), merged.args, ty, merged.coercibility))
}

/// NULLIF(a, b) is `IF(a = b, NULL, a)` with the type of `a`.
pub(crate) fn null_if(a: Expr, b: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let mut ty = a.field_type().clone();
    ty.not_null = false;
    let coercibility = a.coercibility();
    let equal = comparison::compare(Op::Eq, a.clone(), b, ctx)?;
    let class = ty.tp.eval_type();
    let null = Expr::constant(types::Datum::Null, rt::null());
    Ok(choice(Func::Op(Op::If, class), vec![equal, null, a], ty, coercibility))
}

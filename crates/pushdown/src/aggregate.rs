//! Aggregate functions, in both directions. They travel as partial ones: what a store answers is to be merged with what others answer.

use expr::{AggDesc, AggKind, AggMode, BuildCtx, EvalCtx};
use proto::tipb::{self, ExprType};
use types::{Datum, EvalType, FieldType};

use crate::expression::{self, Encoder};
use crate::{Error, Result, field_type};

const KINDS: &[(AggKind, ExprType)] = &[
    (AggKind::Count, ExprType::Count),
    (AggKind::Sum, ExprType::Sum),
    (AggKind::Avg, ExprType::Avg),
    (AggKind::Min, ExprType::Min),
    (AggKind::Max, ExprType::Max),
    (AggKind::FirstRow, ExprType::First),
    (AggKind::AnyValue, ExprType::First),
    (AggKind::BitAnd, ExprType::AggBitAnd),
    (AggKind::BitOr, ExprType::AggBitOr),
    (AggKind::BitXor, ExprType::AggBitXor),
];

/// Whether stores compute the aggregate over arguments of the class.
fn fits(kind: AggKind, class: EvalType) -> bool {
    match kind {
        AggKind::Sum | AggKind::Avg => matches!(class, EvalType::Int | EvalType::Real | EvalType::Decimal),
        AggKind::BitAnd | AggKind::BitOr | AggKind::BitXor => class == EvalType::Int,
        _ => true,
    }
}

/// An aggregate in the protocol's words.
pub(crate) fn encode(desc: &AggDesc, encoder: &Encoder<'_>) -> Result<tipb::Expr> {
    let unknown = || Error::unsupported(format!("the aggregate {}", desc.kind.name()));
    let (_, tp) = KINDS.iter().find(|(kind, _)| *kind == desc.kind).ok_or_else(unknown)?;
    let fitting = desc.args.iter().all(|arg| fits(desc.kind, arg.eval_type()));
    if desc.mode != AggMode::Partial || desc.distinct || !fitting {
        return Err(unknown());
    }
    let child = match &desc.args[..] {
        [] => expression::constant(&Datum::Int(1), &FieldType::bigint())?,
        [arg] => encoder.expr(arg)?,
        _ => return Err(unknown()),
    };
    // Of an average the type is that of its sum.
    let ty = desc.partial_types().pop().ok_or_else(unknown)?;
    Ok(tipb::Expr { tp: *tp as i32, children: vec![child], field_type: Some(field_type::encode(&ty)?), ..Default::default() })
}

/// Reads an aggregate over columns of the types given.
pub(crate) fn decode(expr: &tipb::Expr, columns: &[FieldType], eval: &EvalCtx) -> Result<AggDesc> {
    let tp = ExprType::try_from(expr.tp).map_err(|_| Error::unsupported(format!("the aggregate with number {}", expr.tp)))?;
    let unknown = || Error::unsupported(format!("the aggregate {}", tp.as_str_name()));
    let (kind, _) = KINDS.iter().find(|(_, known)| *known == tp).ok_or_else(unknown)?;
    let [child] = &expr.children[..] else { return Err(unknown()) };
    let arg = expression::decode(child, columns)?;
    if expr.has_distinct || !fits(*kind, arg.eval_type()) {
        return Err(unknown());
    }
    let desc = AggDesc::new(*kind, vec![arg], false, &BuildCtx::new(eval))?;
    Ok(AggDesc { mode: AggMode::Partial, ..desc })
}

//! Comparisons: in which domain two operands meet (manual, "Type Conversion in Expression Evaluation").
//!
//! | operands | domain |
//! |---|---|
//! | two strings | string, by the aggregated collation |
//! | two integers | integer; one DECIMAL, other exact: DECIMAL |
//! | a temporal value and a temporal value or a string | DATETIME, or TIME if both are times |
//! | anything else | DOUBLE |
//!
//! An integer column compared with a constant of another type is compared as integer where that gives the same answer,
//! so that an index on the column can be used.

use types::decimal::RoundMode;
use types::{Datum, Decimal, EvalType, TypeKind};

use super::{arithmetic, call, cast, condition, fold, null_if_operand_is, row_elements};
use crate::collation;
use crate::context::BuildCtx;
use crate::error::{Error, Result};
use crate::expr::{CallData, Expr, Func};
use crate::op::Op;
use crate::ops::in_list::InSet;
use crate::result_type as rt;

/// Lists at least this long are looked up in a hash set, if all their members are constants.
const HASHED_LIST_LEN: usize = 8;

/// The domain in which two operands are compared.
pub(crate) fn comparison_class(a: &Expr, b: &Expr) -> EvalType {
    use EvalType as E;
    if a.is_null_constant() || b.is_null_constant() {
        return if a.is_null_constant() { b.eval_type() } else { a.eval_type() };
    }
    match (a.eval_type(), b.eval_type()) {
        (E::Json, _) | (_, E::Json) => E::Json,
        (E::String, E::String) => E::String,
        (E::Int, E::Int) => E::Int,
        (E::Int | E::Decimal, E::Int | E::Decimal) => E::Decimal,
        (E::Duration, E::Duration | E::String) | (E::String, E::Duration) => E::Duration,
        (E::Time, E::Time | E::Duration | E::String) | (E::Duration | E::String, E::Time) => E::Time,
        (E::Time | E::Duration, E::Int | E::Decimal) | (E::Int | E::Decimal, E::Time | E::Duration) => {
            match (arithmetic::numeric_class(a), arithmetic::numeric_class(b)) {
                (E::Int, E::Int) => E::Int,
                _ => E::Decimal,
            }
        }
        _ => E::Real,
    }
}

pub(crate) fn compare(op: Op, a: Expr, b: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    match (row_elements(&a), row_elements(&b)) {
        (Some(x), Some(y)) => return compare_rows(op, x, y, ctx),
        (Some(x), None) => return Err(Error::OperandColumns { expected: x.len() }),
        (None, Some(_)) => return Err(Error::OperandColumns { expected: 1 }),
        (None, None) => {}
    }
    let is_number = |e: &Expr| matches!(e.eval_type(), EvalType::Int | EvalType::Real | EvalType::Decimal);
    let (a, b) = if is_number(&a) || is_number(&b) { (cast::number_of_hex(a), cast::number_of_hex(b)) } else { (a, b) };
    let (op, a, b) = match refine_integer(op, a, b)? {
        Refined::Decided(e) => return Ok(e),
        Refined::Compare(op, a, b) => (op, a, b),
    };
    if matches!(op, Op::Eq | Op::NullEq | Op::Ne)
        && let Some((a, b)) = as_members(&a, &b).or_else(|| as_members(&b, &a))
    {
        return Ok(compared(op, EvalType::Int, a, b, ctx.eval.collation_connection));
    }
    let class = comparison_class(&a, &b);
    let (a, b, collation) = domain(class, a, b, op.symbol(), ctx)?;
    Ok(compared(op, class, a, b, collation))
}

fn compared(op: Op, class: EvalType, a: Expr, b: Expr, collation: types::Collation) -> Expr {
    let mut built = call(Func::Op(op, class), vec![a, b], rt::boolean());
    if let Expr::Call(c) = &mut built {
        c.collation = collation;
        c.ty.not_null = op == Op::NullEq || c.args.iter().all(|a| a.field_type().not_null);
    }
    built
}

/// An ENUM column that is tested for being equal to one of its members, as numbers: so that an index on the column can be used.
fn as_members(column: &Expr, member: &Expr) -> Option<(Expr, Expr)> {
    let ty = column.field_type();
    let is_column = matches!(column, Expr::Column { .. }) && ty.tp == TypeKind::Enum;
    let Some(Datum::Bytes(text)) = member.as_constant().filter(|_| is_column && member.field_type().is_text()) else { return None };
    let at = ty.elems.iter().position(|own| ty.collation.equal(own.as_bytes(), text))?;
    Some((column.clone(), Expr::constant(Datum::UInt(at as u64 + 1), rt::uint().with_not_null())))
}

fn domain(class: EvalType, a: Expr, b: Expr, operation: &str, ctx: &BuildCtx<'_>) -> Result<(Expr, Expr, types::Collation)> {
    if class == EvalType::String {
        let derived = collation::aggregate(operation, &[&a, &b], ctx.eval.collation_connection, true)?;
        return Ok((cast::to_string(a, derived.collation, ctx)?, cast::to_string(b, derived.collation, ctx)?, derived.collation));
    }
    let connection = ctx.eval.collation_connection;
    if matches!(class, EvalType::Time | EvalType::Duration) {
        let (ka, kb) = (a.field_type().tp, b.field_type().tp);
        let (a, b) = (to_temporal(a, class, kb, ctx)?, to_temporal(b, class, ka, ctx)?);
        let (a, b) = if class == EvalType::Time { same_clock(a, b, ctx)? } else { (a, b) };
        return Ok((a, b, connection));
    }
    Ok((cast::to_class(a, class, ctx)?, cast::to_class(b, class, ctx)?, connection))
}

/// A constant compared with a temporal value must be one itself (1525); other strings only warn when they are read.
fn to_temporal(e: Expr, class: EvalType, other: TypeKind, ctx: &BuildCtx<'_>) -> Result<Expr> {
    if e.eval_type() == class || e.is_null_constant() {
        return Ok(e);
    }
    let text = match e.as_constant() {
        Some(Datum::Bytes(text)) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    };
    let built = match class {
        EvalType::Time => cast::to_type(e, &rt::datetime(6), ctx)?,
        _ => cast::to_type(e, &rt::time(6), ctx)?,
    };
    match text {
        Some(value) if class == EvalType::Time && is_no_value(&built, ctx) => {
            let kind = match other {
                TypeKind::Date => "DATE",
                TypeKind::Timestamp => "TIMESTAMP",
                _ => "DATETIME",
            };
            Err(Error::WrongTemporalConstant { kind, value })
        }
        _ => Ok(built),
    }
}

/// The conversion of a constant gives NULL. One that only warns stays, and warns at every execution.
fn is_no_value(converted: &Expr, ctx: &BuildCtx<'_>) -> bool {
    converted.as_constant().is_none() && converted.eval_const(&ctx.eval.scratch()).is_ok_and(|v| v.is_null())
}

/// A TIMESTAMP holds UTC, a DATETIME local time. A constant beside a TIMESTAMP becomes one, so that an index can be used, if it is a
/// moment a TIMESTAMP can hold; otherwise the TIMESTAMP becomes local time.
fn same_clock(a: Expr, b: Expr, ctx: &BuildCtx<'_>) -> Result<(Expr, Expr)> {
    let is_utc = |e: &Expr| e.field_type().tp == TypeKind::Timestamp;
    match (is_utc(&a), is_utc(&b)) {
        (true, false) => match as_timestamp(&b, ctx)? {
            Some(b) => Ok((a, b)),
            None => Ok((to_local(a, ctx)?, b)),
        },
        (false, true) => match as_timestamp(&a, ctx)? {
            Some(a) => Ok((a, b)),
            None => Ok((a, to_local(b, ctx)?)),
        },
        _ => Ok((a, b)),
    }
}

fn as_timestamp(e: &Expr, ctx: &BuildCtx<'_>) -> Result<Option<Expr>> {
    if e.as_constant().is_none_or(Datum::is_null) {
        return Ok(None);
    }
    let converted = cast::to_type(e.clone(), &types::FieldType::timestamp(6), ctx)?;
    Ok(converted.as_constant().is_some_and(|v| !v.is_null()).then_some(converted))
}

/// As [`same_clock`] for the subject and the members of a list.
fn same_clock_all(operands: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Vec<Expr>> {
    let is_utc = |e: &Expr| e.field_type().tp == TypeKind::Timestamp;
    if !operands.iter().any(is_utc) {
        return Ok(operands);
    }
    let utc = |e: &Expr| if is_utc(e) || e.is_null_constant() { Ok(Some(e.clone())) } else { as_timestamp(e, ctx) };
    match operands.iter().map(utc).collect::<Result<Option<Vec<_>>>>()? {
        Some(all) => Ok(all),
        None => operands.into_iter().map(|e| if is_utc(&e) { to_local(e, ctx) } else { Ok(e) }).collect(),
    }
}

fn to_local(e: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let fsp = rt::fsp_of(e.field_type());
    cast::to_type(e, &rt::datetime(fsp), ctx)
}

/// What became of a comparison of an integer column with a constant.
enum Refined {
    Compare(Op, Expr, Expr),
    Decided(Expr),
}

fn refine_integer(op: Op, a: Expr, b: Expr) -> Result<Refined> {
    let is_int_column = |e: &Expr| matches!(e, Expr::Column { .. }) && e.eval_type() == EvalType::Int && e.field_type().tp != TypeKind::Bit;
    if is_int_column(&b)
        && a.as_constant().is_some()
        && let Some(commuted) = op.commuted()
    {
        return refine_integer(commuted, b, a);
    }
    if !is_int_column(&a) || matches!(b.eval_type(), EvalType::Int) {
        return Ok(Refined::Compare(op, a, b));
    }
    let Some(exact) = b.as_constant().and_then(exact_number) else { return Ok(Refined::Compare(op, a, b)) };
    if let Some(int) = exact_integer(&exact) {
        let ty = if matches!(int, Datum::UInt(_)) { rt::uint() } else { rt::int() };
        return Ok(Refined::Compare(op, a, Expr::constant(int, ty)));
    }
    // A constant between two integers: the comparison moves to the neighbour on the side that decides.
    let (floor, ceil) = (exact.round(0, RoundMode::Floor), exact.round(0, RoundMode::Ceiling));
    let refined = match op {
        Op::Gt | Op::Ge => exact_integer(&ceil).map(|v| (Op::Ge, v)),
        Op::Lt | Op::Le => exact_integer(&floor).map(|v| (Op::Le, v)),
        Op::NullEq => {
            let mut ty = rt::boolean();
            ty.not_null = true;
            return Ok(Refined::Decided(Expr::constant(Datum::Int(0), ty)));
        }
        _ => None,
    };
    Ok(match refined {
        Some((op, value)) => {
            let ty = if matches!(value, Datum::UInt(_)) { rt::uint() } else { rt::int() };
            Refined::Compare(op, a, Expr::constant(value, ty))
        }
        None => Refined::Compare(op, a, b),
    })
}

/// The number a constant stands for, if reading it as one loses nothing.
fn exact_number(value: &Datum) -> Option<Decimal> {
    match value {
        Datum::Decimal(d) => Some(*d),
        Datum::Double(v) if v.fract() == 0.0 && v.abs() < 9.0e15 => Some(Decimal::from(*v as i64)),
        Datum::Bytes(text) => {
            let text = std::str::from_utf8(text).ok()?.trim();
            // Beyond 15 digits DOUBLE, in which MySQL compares a string with a number, is no longer exact.
            let plain = text.len() <= 15 && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.'));
            if plain { text.parse().ok() } else { None }
        }
        _ => None,
    }
}

fn exact_integer(d: &Decimal) -> Option<Datum> {
    if *d != d.round(0, RoundMode::Floor) {
        return None;
    }
    match d.to_i64() {
        Ok(v) => Some(Datum::Int(v)),
        Err(_) => d.to_u64().ok().map(Datum::UInt),
    }
}

fn compare_rows(op: Op, a: &[Expr], b: &[Expr], ctx: &BuildCtx<'_>) -> Result<Expr> {
    if a.len() != b.len() {
        return Err(Error::OperandColumns { expected: a.len() });
    }
    let pair = |op: Op, i: usize| compare(op, a[i].clone(), b[i].clone(), ctx);
    let all = |op: Op, join: Op| -> Result<Expr> {
        let parts = (0..a.len()).map(|i| pair(op, i)).collect::<Result<Vec<_>>>()?;
        join_all(join, parts, ctx)
    };
    match op {
        Op::Eq | Op::NullEq => all(op, Op::And),
        Op::Ne => all(Op::Ne, Op::Or),
        _ => {
            // (a, b) < (x, y)  is  a < x OR (a = x AND b < y)
            let strict = match op {
                Op::Le => Op::Lt,
                Op::Ge => Op::Gt,
                other => other,
            };
            let last = a.len() - 1;
            let mut built = pair(op, last)?;
            for i in (0..last).rev() {
                let tie = condition::logic(Op::And, vec![pair(Op::Eq, i)?, built], ctx)?;
                built = condition::logic(Op::Or, vec![pair(strict, i)?, tie], ctx)?;
            }
            Ok(built)
        }
    }
}

fn join_all(op: Op, mut parts: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    match parts.len() {
        1 => Ok(parts.remove(0)),
        _ => condition::logic(op, parts, ctx),
    }
}

/// `subject IN (list)`. If the members are compared in different domains, it becomes an OR of equalities.
pub(crate) fn in_list(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let list = args.split_off(1);
    let subject = args.remove(0);
    if list.len() == 1 || row_elements(&subject).is_some() {
        let parts = list.into_iter().map(|item| compare(Op::Eq, subject.clone(), item, ctx)).collect::<Result<Vec<_>>>()?;
        return join_all(Op::Or, parts, ctx);
    }
    list.iter().try_for_each(super::reject_row)?;
    if let Some(members) = list.iter().map(|item| as_members(&subject, item)).collect::<Option<Vec<_>>>() {
        let operands = std::iter::once(subject).chain(members.into_iter().map(|(_, number)| number)).collect();
        return Ok(null_if_operand_is(call(Func::Op(Op::In, EvalType::Int), operands, rt::boolean())));
    }
    let mut members = Vec::with_capacity(list.len());
    let mut class = None;
    let mut mixed = false;
    for item in list {
        // An integer column against '5' or 5.0 is an integer comparison, as for `=`. With a constant subject the sides would change places.
        let item = match subject.as_constant() {
            Some(_) => item,
            None => match refine_integer(Op::Eq, subject.clone(), item)? {
                Refined::Compare(_, _, item) => item,
                Refined::Decided(e) => return Ok(e),
            },
        };
        if !item.is_null_constant() {
            let own = comparison_class(&subject, &item);
            mixed |= class.is_some_and(|c| c != own);
            class = Some(own);
        }
        members.push(item);
    }
    if mixed {
        let parts = members.into_iter().map(|item| compare(Op::Eq, subject.clone(), item, ctx)).collect::<Result<Vec<_>>>()?;
        return join_all(Op::Or, parts, ctx);
    }
    let class = class.unwrap_or_else(|| subject.eval_type());
    let all: Vec<&Expr> = std::iter::once(&subject).chain(&members).collect();
    let collation = match class {
        EvalType::String => collation::aggregate("in", &all, ctx.eval.collation_connection, true)?.collation,
        _ => ctx.eval.collation_connection,
    };
    let kind = subject.field_type().tp;
    let convert = |e: Expr, other: TypeKind| match class {
        EvalType::Time | EvalType::Duration => to_temporal(e, class, other, ctx),
        EvalType::String => cast::to_string(e, collation, ctx),
        _ => cast::to_class(e, class, ctx),
    };
    let mut operands = vec![convert(subject, TypeKind::DateTime)?];
    for item in members {
        let item = convert(item, kind)?;
        operands.push(fold::fold_if_constant(item, ctx)?);
    }
    if class == EvalType::Time {
        operands = same_clock_all(operands, ctx)?;
    }
    let set = if operands.len() > HASHED_LIST_LEN { InSet::of_constants(class, collation, &operands[1..]) } else { None };
    let mut built = null_if_operand_is(call(Func::Op(Op::In, class), operands, rt::boolean()));
    if let Expr::Call(c) = &mut built {
        c.collation = collation;
        c.data = set.map_or(CallData::None, |s| CallData::InSet(std::sync::Arc::new(s)));
    }
    Ok(built)
}

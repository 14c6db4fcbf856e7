//! Types and checks of window function calls.

use types::{Datum, EvalType, FieldType};

use super::{Offset, RangeOffset, WindowFunc};
use crate::aggregate::{AggDesc, AggKind};
use crate::build::{arithmetic, build_op, cast};
use crate::context::BuildCtx;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::functions::build_call;
use crate::functions::time::interval::IntervalUnit;
use crate::op::Op;
use crate::result_type as rt;

/// The functions that are only window functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
}

/// The SQL names of [`WindowKind`], in upper case, with how many arguments they take.
const NAMES: &[(&str, &str, WindowKind)] = &[
    ("ROW_NUMBER", "0", WindowKind::RowNumber),
    ("RANK", "0", WindowKind::Rank),
    ("DENSE_RANK", "0", WindowKind::DenseRank),
    ("PERCENT_RANK", "0", WindowKind::PercentRank),
    ("CUME_DIST", "0", WindowKind::CumeDist),
    ("NTILE", "1", WindowKind::Ntile),
    ("LAG", "1 to 3", WindowKind::Lag),
    ("LEAD", "1 to 3", WindowKind::Lead),
    ("FIRST_VALUE", "1", WindowKind::FirstValue),
    ("LAST_VALUE", "1", WindowKind::LastValue),
    ("NTH_VALUE", "2", WindowKind::NthValue),
];

impl WindowKind {
    /// The SQL names of all window functions that are no aggregates, in upper case, with how many arguments they take.
    pub fn function_names() -> impl Iterator<Item = (&'static str, &'static str)> {
        NAMES.iter().map(|(name, arity, _)| (*name, *arity))
    }
}

/// A call of a window function, typed; its arguments are as many as the function takes.
///
/// # Errors
/// A number of buckets or rows that is no constant or out of range (1210); row operands.
pub fn build_window(kind: WindowKind, args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<(WindowFunc, FieldType)> {
    args.iter().try_for_each(crate::build::reject_row)?;
    let counter = || rt::uint().with_not_null();
    let share = || rt::double().with_not_null();
    let mut args = args.into_iter();
    let mut next = || args.next();
    let arity = |name: &str| Error::WrongArity { name: name.to_owned() };
    Ok(match kind {
        WindowKind::RowNumber => (WindowFunc::RowNumber, counter()),
        WindowKind::Rank => (WindowFunc::Rank, counter()),
        WindowKind::DenseRank => (WindowFunc::DenseRank, counter()),
        WindowKind::PercentRank => (WindowFunc::PercentRank, share()),
        WindowKind::CumeDist => (WindowFunc::CumeDist, share()),
        WindowKind::Ntile => {
            let buckets = next().ok_or_else(|| arity("ntile"))?;
            check_count("ntile", &buckets, 1)?;
            (WindowFunc::Ntile(buckets), counter())
        }
        WindowKind::Lag | WindowKind::Lead => {
            let ahead = kind == WindowKind::Lead;
            let name = if ahead { "lead" } else { "lag" };
            let value = next().ok_or_else(|| arity(name))?;
            let distance = next().unwrap_or_else(|| Expr::constant(Datum::Int(1), rt::int().with_not_null()));
            check_count(name, &distance, 0)?;
            let (value, default, ty) = with_default(value, next(), ctx)?;
            (WindowFunc::Neighbour { ahead, value, distance, default }, ty)
        }
        WindowKind::FirstValue | WindowKind::LastValue => {
            let value = next().ok_or_else(|| arity("first_value"))?;
            let ty = nullable(value.field_type());
            (if kind == WindowKind::FirstValue { WindowFunc::FirstValue(value) } else { WindowFunc::LastValue(value) }, ty)
        }
        WindowKind::NthValue => {
            let value = next().ok_or_else(|| arity("nth_value"))?;
            let n = next().ok_or_else(|| arity("nth_value"))?;
            check_count("nth_value", &n, 1)?;
            let ty = nullable(value.field_type());
            (WindowFunc::NthValue(value, n), ty)
        }
    })
}

/// An aggregate as a window function.
///
/// # Errors
/// DISTINCT and GROUP_CONCAT, which MySQL has not as window functions either (1235).
pub fn build_aggregate_window(desc: AggDesc) -> Result<(WindowFunc, FieldType)> {
    if desc.kind == AggKind::GroupConcat {
        return Err(Error::NotSupported { feature: "group_concat as window function".to_owned() });
    }
    if desc.distinct {
        return Err(Error::NotSupported { feature: "<window function>(DISTINCT ..)".to_owned() });
    }
    let ty = desc.ty.clone();
    Ok((WindowFunc::Aggregate(desc), ty))
}

/// Value and default of LAG and LEAD in one type.
fn with_default(value: Expr, default: Option<Expr>, ctx: &BuildCtx<'_>) -> Result<(Expr, Expr, FieldType)> {
    let Some(default) = default else {
        let ty = nullable(value.field_type());
        return Ok((value, Expr::constant(Datum::Null, ty.clone()), ty));
    };
    let both = build_op(Op::IfNull, vec![value.clone(), default.clone()], ctx)?;
    let ty = nullable(both.field_type());
    Ok((cast::to_type(value, &ty, ctx)?, cast::to_type(default, &ty, ctx)?, ty))
}

fn nullable(ty: &FieldType) -> FieldType {
    let mut ty = ty.clone();
    ty.not_null = false;
    ty
}

/// A number of rows or buckets: it reads no column, and a value that is known already must fit.
fn check_count(function: &'static str, arg: &Expr, least: u64) -> Result<()> {
    let wrong = || Error::WrongArguments { name: function.to_owned() };
    if !arg.columns_used().is_empty() {
        return Err(wrong());
    }
    match arg.as_constant() {
        Some(value) => count(value, least).map(|_| ()).ok_or_else(wrong),
        None => Ok(()),
    }
}

/// The value as a number of rows or buckets.
pub(super) fn count(value: &Datum, least: u64) -> Option<u64> {
    let count = match value {
        Datum::Int(value) => u64::try_from(*value).ok()?,
        Datum::UInt(value) => *value,
        _ => return None,
    };
    (count >= least && i64::try_from(count).is_ok()).then_some(count)
}

impl Offset {
    /// `n PRECEDING` or `n FOLLOWING` by an order key that is a number: exact for exact numbers, so that unsigned ones cannot fall below 0.
    ///
    /// # Errors
    /// Of casts.
    pub fn of_number(key: Expr, desc: bool, amount: Expr, following: bool, ctx: &BuildCtx<'_>) -> Result<Self> {
        let approximate = [&key, &amount].into_iter().any(|side| arithmetic::numeric_class(side) == EvalType::Real);
        let class = if approximate { EvalType::Real } else { EvalType::Decimal };
        let key = cast::to_class(key, class, ctx)?;
        let distance = cast::to_class(amount.clone(), class, ctx)?;
        let op = if following == desc { Op::Sub } else { Op::Add };
        let limit = build_op(op, vec![key.clone(), distance], ctx)?;
        Ok(Self::Range(Box::new(RangeOffset { amount, key, limit, desc })))
    }

    /// `INTERVAL n unit PRECEDING` or `… FOLLOWING` by an order key that is a date or time.
    ///
    /// # Errors
    /// Of casts.
    pub fn of_interval(key: Expr, desc: bool, amount: Expr, unit: &str, following: bool, ctx: &BuildCtx<'_>) -> Result<Self> {
        let Some(unit) = IntervalUnit::by_name(unit) else {
            return Err(Error::WrongArguments { name: unit.to_owned() });
        };
        let name = unit.to_string();
        let text = Datum::Bytes(name.clone().into_bytes());
        let unit = Expr::constant(text, FieldType::varchar(name.len() as u32).with_collation(ctx.eval.collation_connection));
        let function = if following == desc { "date_sub" } else { "date_add" };
        let limit = build_call(function, vec![key.clone(), amount.clone(), unit], ctx)?;
        let key = cast::to_type(key, limit.field_type(), ctx)?;
        Ok(Self::Range(Box::new(RangeOffset { amount, key, limit, desc })))
    }
}

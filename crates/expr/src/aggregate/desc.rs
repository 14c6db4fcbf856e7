//! What an aggregate computes, over which arguments, with which type.

use std::fmt;

use types::{EvalType, FieldType, TypeKind};

use crate::build::{arithmetic, cast};
use crate::collation;
use crate::context::BuildCtx;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::result_type as rt;

/// The aggregate functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AggKind {
    /// COUNT; without arguments COUNT(*).
    Count,
    /// SUM
    Sum,
    /// AVG
    Avg,
    /// MIN
    Min,
    /// MAX
    Max,
    /// GROUP_CONCAT
    GroupConcat,
    /// JSON_ARRAYAGG
    JsonArrayAgg,
    /// JSON_OBJECTAGG
    JsonObjectAgg,
    /// BIT_AND
    BitAnd,
    /// BIT_OR
    BitOr,
    /// BIT_XOR
    BitXor,
    /// ANY_VALUE
    AnyValue,
    /// The value of the group's first row: a column that is not aggregated.
    FirstRow,
    /// STD, STDDEV, STDDEV_POP
    StddevPop,
    /// STDDEV_SAMP
    StddevSamp,
    /// VARIANCE, VAR_POP
    VarPop,
    /// VAR_SAMP
    VarSamp,
}

const NAMES: &[(&str, AggKind)] = &[
    ("count", AggKind::Count),
    ("sum", AggKind::Sum),
    ("avg", AggKind::Avg),
    ("min", AggKind::Min),
    ("max", AggKind::Max),
    ("group_concat", AggKind::GroupConcat),
    ("json_arrayagg", AggKind::JsonArrayAgg),
    ("json_objectagg", AggKind::JsonObjectAgg),
    ("bit_and", AggKind::BitAnd),
    ("bit_or", AggKind::BitOr),
    ("bit_xor", AggKind::BitXor),
    ("any_value", AggKind::AnyValue),
    ("first_row", AggKind::FirstRow),
    ("std", AggKind::StddevPop),
    ("stddev", AggKind::StddevPop),
    ("stddev_pop", AggKind::StddevPop),
    ("stddev_samp", AggKind::StddevSamp),
    ("variance", AggKind::VarPop),
    ("var_pop", AggKind::VarPop),
    ("var_samp", AggKind::VarSamp),
];

impl AggKind {
    /// The kind of an SQL name in any case.
    pub fn by_name(name: &str) -> Option<AggKind> {
        NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, k)| *k)
    }

    /// The SQL names of all aggregate functions.
    pub fn function_names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(|(_, kind)| *kind != AggKind::FirstRow).map(|(name, _)| *name)
    }

    /// The name in EXPLAIN.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, k)| *k == self).map_or("", |(n, _)| n)
    }
}

/// Which part of the computation is done here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AggMode {
    /// From rows to results.
    Complete,
    /// From rows to partial columns.
    Partial,
    /// From partial columns to results.
    Final,
}

/// One key of GROUP_CONCAT's ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// What is sorted by.
    pub expr: Expr,
    /// Descending.
    pub desc: bool,
}

/// An aggregate to be computed.
#[derive(Clone, Debug, PartialEq)]
pub struct AggDesc {
    /// Which function.
    pub kind: AggKind,
    /// Its arguments over the input chunk; in [`AggMode::Final`], the partial columns.
    pub args: Vec<Expr>,
    /// Equal values (of a group) count once.
    pub distinct: bool,
    /// The type of the result.
    pub ty: FieldType,
    /// Which part is done here.
    pub mode: AggMode,
    /// GROUP_CONCAT: the order of the values.
    pub order_by: Vec<SortKey>,
    /// GROUP_CONCAT: what stands between values.
    pub separator: Vec<u8>,
}

impl AggDesc {
    /// An aggregate from rows to results, typed, with its arguments cast to what it computes on.
    ///
    /// # Errors
    /// A number of arguments that the function does not take; row operands; illegal mixes of collations.
    pub fn new(kind: AggKind, args: Vec<Expr>, distinct: bool, ctx: &BuildCtx<'_>) -> Result<AggDesc> {
        args.iter().try_for_each(crate::build::reject_row)?;
        let arity_ok = match kind {
            AggKind::Count => distinct || args.len() <= 1,
            AggKind::GroupConcat => !args.is_empty(),
            AggKind::JsonObjectAgg => args.len() == 2,
            _ => args.len() == 1,
        };
        if !arity_ok {
            return Err(Error::WrongArity { name: kind.name().to_ascii_uppercase() });
        }
        let (args, ty) = typed(kind, args, ctx)?;
        // These are the same with and without DISTINCT.
        let idle = matches!(kind, AggKind::Min | AggKind::Max | AggKind::AnyValue | AggKind::FirstRow | AggKind::BitAnd | AggKind::BitOr);
        let distinct = distinct && !idle;
        Ok(AggDesc { kind, args, distinct, ty, mode: AggMode::Complete, order_by: Vec::new(), separator: b",".to_vec() })
    }

    /// GROUP_CONCAT with its clauses.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn group_concat(
        args: Vec<Expr>,
        distinct: bool,
        order_by: Vec<SortKey>,
        separator: Vec<u8>,
        ctx: &BuildCtx<'_>,
    ) -> Result<AggDesc> {
        let desc = AggDesc::new(AggKind::GroupConcat, args, distinct, ctx)?;
        Ok(AggDesc { order_by, separator, ..desc })
    }

    /// Whether the aggregate can be computed in parts.
    pub fn can_split(&self) -> bool {
        let whole = matches!(self.kind, AggKind::GroupConcat | AggKind::JsonArrayAgg | AggKind::JsonObjectAgg);
        !self.distinct && !whole && self.mode == AggMode::Complete
    }

    /// The types of the partial columns.
    pub fn partial_types(&self) -> Vec<FieldType> {
        let count = || rt::int().with_not_null();
        match self.kind {
            AggKind::Count => vec![count()],
            AggKind::Avg => vec![count(), sum_type_of_average(&self.ty)],
            AggKind::StddevPop | AggKind::StddevSamp | AggKind::VarPop | AggKind::VarSamp => vec![count(), rt::double(), rt::double()],
            _ => vec![self.ty.clone()],
        }
    }

    /// The two halves of a split aggregate; the final half reads its partial columns from `first_column` on.
    /// `None` if it cannot be split.
    pub fn split(&self, first_column: usize) -> Option<(AggDesc, AggDesc)> {
        if !self.can_split() {
            return None;
        }
        let partial = AggDesc { mode: AggMode::Partial, ..self.clone() };
        let columns = self.partial_types().into_iter().enumerate().map(|(i, ty)| Expr::column(first_column + i, ty)).collect();
        let last = AggDesc { mode: AggMode::Final, args: columns, ..self.clone() };
        Some((partial, last))
    }

    /// The types of the columns this aggregate puts out: one, or its partial columns.
    pub fn output_types(&self) -> Vec<FieldType> {
        match self.mode {
            AggMode::Partial => self.partial_types(),
            _ => vec![self.ty.clone()],
        }
    }
}

/// The sum behind an average has the digits of any sum, at the average's scale or less.
fn sum_type_of_average(average: &FieldType) -> FieldType {
    match average.tp {
        TypeKind::Decimal => rt::decimal(rt::MAX_PRECISION, i32::from(average.decimal)),
        _ => rt::double(),
    }
}

fn typed(kind: AggKind, mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<(Vec<Expr>, FieldType)> {
    let ty = match kind {
        AggKind::Count => rt::int_of(21).with_not_null(),
        AggKind::JsonArrayAgg | AggKind::JsonObjectAgg => rt::json(),
        AggKind::BitAnd | AggKind::BitOr | AggKind::BitXor => {
            args = args.into_iter().map(|a| cast::to_class(a, EvalType::Int, ctx)).collect::<Result<_>>()?;
            rt::uint().with_not_null()
        }
        AggKind::StddevPop | AggKind::StddevSamp | AggKind::VarPop | AggKind::VarSamp => {
            args = args.into_iter().map(|a| cast::to_class(a, EvalType::Real, ctx)).collect::<Result<_>>()?;
            rt::double()
        }
        AggKind::Sum | AggKind::Avg => {
            let arg = numeric(args.remove(0), ctx)?;
            let ty = match arg.eval_type() {
                EvalType::Real => rt::double(),
                _ => {
                    let (int, scale) = rt::decimal_shape(&arg);
                    let more = if kind == AggKind::Avg { i32::from(ctx.eval.div_precision_increment) } else { 0 };
                    let digits = if kind == AggKind::Sum { 22 } else { more };
                    rt::decimal(int + scale + digits, scale + more)
                }
            };
            args.push(arg);
            ty
        }
        AggKind::Min | AggKind::Max | AggKind::AnyValue | AggKind::FirstRow => {
            // ENUM and SET are ordered as the texts they stand for.
            if matches!(kind, AggKind::Min | AggKind::Max) && matches!(args[0].field_type().tp, TypeKind::Enum | TypeKind::Set) {
                let collation = args[0].field_type().collation;
                args = args.into_iter().map(|a| cast::to_string(a, collation, ctx)).collect::<Result<_>>()?;
            }
            let mut ty = args[0].field_type().clone();
            // An empty input without GROUP BY gives NULL.
            ty.not_null = kind == AggKind::FirstRow && ty.not_null;
            ty
        }
        AggKind::GroupConcat => {
            let refs: Vec<&Expr> = args.iter().collect();
            let derived = collation::aggregate("group_concat", &refs, ctx.eval.collation_connection, false)?;
            args = args.into_iter().map(|a| cast::to_string(a, derived.collation, ctx)).collect::<Result<_>>()?;
            let bytes = i64::try_from(ctx.eval.group_concat_max_len).unwrap_or(i64::MAX);
            rt::string(bytes, derived.collation)
        }
    };
    Ok((args, ty))
}

/// The argument in its numeric domain; temporal values count as numbers.
fn numeric(arg: Expr, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let class = arithmetic::numeric_class(&arg);
    cast::to_class(arg, class, ctx)
}

impl fmt::Display for AggDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.kind.name())?;
        if self.distinct {
            f.write_str("distinct ")?;
        }
        if self.kind == AggKind::Count && self.args.is_empty() {
            f.write_str("*")?;
        }
        for (i, arg) in self.args.iter().enumerate() {
            write!(f, "{}{arg}", if i > 0 { ", " } else { "" })?;
        }
        for (i, key) in self.order_by.iter().enumerate() {
            write!(f, "{}{}{}", if i > 0 { ", " } else { " order by " }, key.expr, if key.desc { " desc" } else { "" })?;
        }
        if self.kind == AggKind::GroupConcat && self.separator != b"," {
            write!(f, " separator '{}'", String::from_utf8_lossy(&self.separator))?;
        }
        f.write_str(")")
    }
}

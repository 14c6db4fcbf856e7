//! Takes the conditions that a key's leading columns can answer out of a conjunction.
//!
//! A condition is usable for a key column when the comparison it makes has the order of the key: the column bare (or an integer column
//! cast to a type of the same order), the other side constant, strings compared by the column's own collation.
//!
//! | comparison made as | column | exact |
//! |---|---|---|
//! | integer, decimal | integer (perhaps cast), decimal | yes |
//! | double | float, double | yes |
//! | double | integer cast to double | no: several integers are one double beyond 2^53 |
//! | string | string of the same collation | yes, unless only a prefix is in the key |
//! | datetime, time | DATE, DATETIME, TIME | yes |
//!
//! Conditions that are not exact narrow the ranges and are checked again on the rows.

use expr::{Call, Expr, Func, Op};
use types::{Collation, EvalType, FieldType, TypeKind};

use super::{Access, ColumnCondition, Comparison};
use crate::logical::Col;

/// At most this many ranges are made of combinations of listed values.
const MAX_POINTS: usize = 4096;

/// A column of a key, as conditions see it.
#[derive(Clone, Debug)]
pub(crate) struct KeyColumn {
    /// The column's number; `None` when the query does not read it (so no condition can be on it).
    pub col: Option<Col>,
    pub ty: FieldType,
    /// Only a prefix of the value is in the key.
    pub is_prefix: bool,
}

/// What [`detach`] found.
#[derive(Clone, Debug)]
pub(crate) struct Detached {
    pub access: Access,
    /// The conditions that still have to be checked on the rows.
    pub rest: Vec<Expr>,
    /// The conditions that the ranges answer, in whole or in part.
    pub used: Vec<Expr>,
    /// How many leading key columns are fixed to single values.
    pub equal_columns: usize,
    /// Every used condition is answered exactly.
    pub exact: bool,
}

impl Detached {
    /// The combinations of values when the ranges are single values of all `columns` key columns, each by plain equality.
    pub fn points(&self, columns: usize) -> Option<Vec<Vec<Expr>>> {
        if !self.exact {
            return None;
        }
        let points = access_points(&self.access, columns)?;
        (points.len() <= MAX_POINTS).then_some(points)
    }
}

fn access_points(access: &Access, columns: usize) -> Option<Vec<Vec<Expr>>> {
    match access {
        Access::Full | Access::Lookup => None,
        Access::Union(members) => {
            let points = members.iter().map(|member| access_points(member, columns)).collect::<Option<Vec<_>>>()?;
            Some(points.into_iter().flatten().collect())
        }
        Access::Columns(conditions) => column_points(conditions, columns),
    }
}

fn column_points(conditions: &[ColumnCondition], columns: usize) -> Option<Vec<Vec<Expr>>> {
    if conditions.len() != columns {
        return None;
    }
    let mut points: Vec<Vec<Expr>> = vec![vec![]];
    for condition in conditions {
        let values = equal_values(condition)?;
        if points.len() * values.len() > MAX_POINTS {
            return None;
        }
        points = points.iter().flat_map(|point| values.iter().map(move |value| point.iter().chain([value]).cloned().collect())).collect();
    }
    Some(points)
}

/// The values of a condition that is nothing but equalities.
fn equal_values(condition: &ColumnCondition) -> Option<Vec<Expr>> {
    match condition {
        ColumnCondition::Compare(Comparison::Eq, value) => Some(vec![value.clone()]),
        ColumnCondition::In(list) => Some(list.clone()),
        ColumnCondition::Or(parts) => {
            let parts = parts.iter().map(equal_values).collect::<Option<Vec<_>>>()?;
            Some(parts.into_iter().flatten().collect())
        }
        _ => None,
    }
}

/// Splits a conjunction into ranges over `key` and the rest.
pub(crate) fn detach(conditions: &[Expr], key: &[KeyColumn]) -> Detached {
    let by_columns = detach_columns(conditions, key);
    if by_columns.exact && by_columns.access != Access::Full {
        return by_columns;
    }
    match detach_disjunction(conditions, key) {
        // `(a, b) IN ((1, 2), (3, 4))`: each member alone says more than its members' parts on the first column.
        Some(disjunction) if by_columns.access == Access::Full || disjunction.exact => disjunction,
        _ => by_columns,
    }
}

fn detach_columns(conditions: &[Expr], key: &[KeyColumn]) -> Detached {
    let mut accessed: Vec<ColumnCondition> = vec![];
    let mut answered = vec![false; conditions.len()];
    let mut used = vec![false; conditions.len()];
    let mut equal_columns = 0;
    let mut points = 1usize;
    let mut exact = true;
    for column in key {
        let mut parts = vec![];
        for (i, condition) in conditions.iter().enumerate() {
            let Some((part, part_exact)) = column_condition(condition, column) else { continue };
            parts.push(part);
            used[i] = true;
            let part_exact = part_exact && !column.is_prefix;
            answered[i] |= part_exact;
            exact &= part_exact;
        }
        let condition = match parts.len() {
            0 => break,
            1 => parts.remove(0),
            _ => ColumnCondition::And(parts),
        };
        let is_points = condition.is_points();
        if is_points {
            points = points.saturating_mul(condition.point_count());
            if equal_columns == accessed.len() && condition.point_count() == 1 {
                equal_columns += 1;
            }
        }
        accessed.push(condition);
        if !is_points || points > MAX_POINTS || column.is_prefix {
            break;
        }
    }
    let pick = |flags: &[bool], wanted: bool| -> Vec<Expr> {
        conditions.iter().zip(flags).filter(|(_, flag)| **flag == wanted).map(|(condition, _)| condition.clone()).collect()
    };
    let access = if accessed.is_empty() { Access::Full } else { Access::Columns(accessed) };
    Detached { access, rest: pick(&answered, false), used: pick(&used, true), equal_columns, exact }
}

/// An OR whose every member gives ranges: their union.
fn detach_disjunction(conditions: &[Expr], key: &[KeyColumn]) -> Option<Detached> {
    for (i, condition) in conditions.iter().enumerate() {
        let mut members = vec![];
        disjuncts(condition, &mut members);
        if members.len() < 2 {
            continue;
        }
        let mut accesses = vec![];
        let mut exact = true;
        for member in members {
            let mut parts = vec![];
            member.clone().split_conjunction(&mut parts);
            let detached = detach_columns(&parts, key);
            if detached.access == Access::Full {
                accesses.clear();
                break;
            }
            exact &= detached.rest.is_empty() && detached.exact;
            accesses.push(detached.access);
        }
        if accesses.is_empty() {
            continue;
        }
        let rest = conditions.iter().enumerate().filter(|(j, _)| *j != i || !exact).map(|(_, condition)| condition.clone()).collect();
        return Some(Detached { access: Access::Union(accesses), rest, used: vec![condition.clone()], equal_columns: 0, exact });
    }
    None
}

fn disjuncts<'e>(condition: &'e Expr, out: &mut Vec<&'e Expr>) {
    match condition.as_op() {
        Some((Op::Or, args)) => args.iter().for_each(|arg| disjuncts(arg, out)),
        _ => out.push(condition),
    }
}

/// The condition as one on this key column, and whether it says all that the expression says.
pub(crate) fn column_condition(condition: &Expr, column: &KeyColumn) -> Option<(ColumnCondition, bool)> {
    let call = condition.as_call()?;
    let Func::Op(op, class) = call.func else { return None };
    match (op, &call.args[..]) {
        (Op::And, args) => {
            let parts: Vec<_> = args.iter().filter_map(|arg| column_condition(arg, column)).collect();
            let exact = parts.len() == args.len() && parts.iter().all(|(_, exact)| *exact);
            let parts: Vec<_> = parts.into_iter().map(|(part, _)| part).collect();
            (!parts.is_empty()).then_some((ColumnCondition::And(parts), exact))
        }
        (Op::Or, args) => {
            let mut parts = vec![];
            let mut exact = true;
            for arg in args {
                let (part, part_exact) = column_condition(arg, column)?;
                exact &= part_exact;
                // A chain of ORs is one flat list.
                match part {
                    ColumnCondition::Or(inner) => parts.extend(inner),
                    part => parts.push(part),
                }
            }
            Some((ColumnCondition::Or(parts), exact))
        }
        (Op::IsNull, [arg]) if is_column(arg, column) => Some((ColumnCondition::IsNull, true)),
        (Op::Not, [arg]) => match arg.as_op() {
            Some((Op::IsNull, [inner])) if is_column(inner, column) => Some((ColumnCondition::NotNull, true)),
            _ => None,
        },
        (Op::In, [subject, list @ ..]) if list.iter().all(Expr::is_constant) => {
            let exact = comparable(subject, call, class, column)?;
            Some((ColumnCondition::In(list.to_vec()), exact))
        }
        (Op::Like { escape }, [subject, pattern])
            if is_column(subject, column) && pattern.is_constant() && column.ty.tp.is_string() && call.collation == column.ty.collation =>
        {
            Some((ColumnCondition::Like { pattern: pattern.clone(), escape }, false))
        }
        (op, [a, b]) if op.is_comparison() => {
            if b.is_constant()
                && let Some(exact) = comparable(a, call, class, column)
            {
                return Some((compare(op, b)?, exact));
            }
            if a.is_constant()
                && let Some(exact) = comparable(b, call, class, column)
            {
                return Some((compare(op.commuted()?, a)?, exact));
            }
            None
        }
        _ => None,
    }
}

/// The constant that a condition says the key column is equal to.
pub(crate) fn fixed_value(condition: &Expr, column: &KeyColumn) -> Option<Expr> {
    match column_condition(condition, column)? {
        (ColumnCondition::Compare(Comparison::Eq, value), true) => Some(value),
        _ => None,
    }
}

fn compare(op: Op, value: &Expr) -> Option<ColumnCondition> {
    let comparison = match op {
        Op::Eq => Comparison::Eq,
        Op::Ne => Comparison::Ne,
        Op::Lt => Comparison::Lt,
        Op::Le => Comparison::Le,
        Op::Gt => Comparison::Gt,
        Op::Ge => Comparison::Ge,
        Op::NullEq => return Some(ColumnCondition::NullSafeEq(value.clone())),
        _ => return None,
    };
    Some(ColumnCondition::Compare(comparison, value.clone()))
}

fn is_column(expr: &Expr, column: &KeyColumn) -> bool {
    column.col.is_some() && expr.as_column() == column.col
}

/// Whether a comparison made in `class` has the order of the key column; then, whether exactly.
fn comparable(subject: &Expr, call: &Call, class: EvalType, column: &KeyColumn) -> Option<bool> {
    if is_column(subject, column) {
        return match class {
            EvalType::String => (column.ty.tp.is_string() && comparable_strings(call.collation, &column.ty)).then_some(true),
            EvalType::Time => matches!(column.ty.tp, TypeKind::Date | TypeKind::DateTime).then_some(true),
            EvalType::Int => (column.ty.eval_type() == EvalType::Int || column.ty.tp == TypeKind::Enum).then_some(true),
            EvalType::Decimal | EvalType::Real | EvalType::Duration => (column.ty.eval_type() == class).then_some(true),
            EvalType::Json => None,
        };
    }
    let cast = subject.as_call().filter(|call| matches!(call.func, Func::Cast { .. }))?;
    let [inner] = &cast.args[..] else { return None };
    if !is_column(inner, column) || !column.ty.is_integer() {
        return None;
    }
    match class {
        EvalType::Decimal => Some(true),
        EvalType::Real => Some(false),
        _ => None,
    }
}

/// A binary comparison of text sees what a `…_bin` collation with padding does not, so collations must be the same.
fn comparable_strings(collation: Collation, ty: &FieldType) -> bool {
    collation == ty.collation
}

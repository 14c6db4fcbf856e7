//! What the comparison operators make of the order of two values.

use std::cmp::Ordering;

use crate::op::Op;

/// Whether the comparison holds for operands in this order.
#[inline]
pub(crate) fn holds(op: Op, order: Ordering) -> bool {
    match op {
        Op::Eq | Op::NullEq => order.is_eq(),
        Op::Ne => order.is_ne(),
        Op::Lt => order.is_lt(),
        Op::Le => order.is_le(),
        Op::Gt => order.is_gt(),
        Op::Ge => order.is_ge(),
        _ => false,
    }
}

/// Integers of any signedness.
#[inline]
pub(crate) fn signed_unsigned(a: i64, b: u64) -> Ordering {
    if a < 0 { Ordering::Less } else { (a as u64).cmp(&b) }
}

/// Doubles; there is no NaN in SQL.
#[inline]
pub(crate) fn doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

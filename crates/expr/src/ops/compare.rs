//! Order of two values of the same class.

use std::cmp::Ordering;

use types::{Collation, DatumRef};

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

/// Two values that are not NULL. Numbers of different classes meet in DECIMAL if exact and in DOUBLE otherwise; NULL sorts first.
pub(crate) fn datums(a: DatumRef<'_>, b: DatumRef<'_>, collation: Collation) -> Ordering {
    use DatumRef as D;
    match (a, b) {
        (D::Null, D::Null) => Ordering::Equal,
        (D::Null, _) => Ordering::Less,
        (_, D::Null) => Ordering::Greater,
        (D::Int(x), D::Int(y)) => x.cmp(&y),
        (D::UInt(x), D::UInt(y)) => x.cmp(&y),
        (D::Int(x), D::UInt(y)) => signed_unsigned(x, y),
        (D::UInt(x), D::Int(y)) => signed_unsigned(y, x).reverse(),
        (D::Bytes(x), D::Bytes(y)) => collation.compare(x, y),
        (D::Decimal(x), D::Decimal(y)) => x.cmp(y),
        (D::Time(x), D::Time(y)) => x.cmp(&y),
        (D::Duration(x), D::Duration(y)) => x.cmp(&y),
        (D::Decimal(x), D::Int(_) | D::UInt(_)) => x.cmp(&crate::convert::exact(b)),
        (D::Int(_) | D::UInt(_), D::Decimal(y)) => crate::convert::exact(a).cmp(y),
        _ => doubles(crate::convert::real(a), crate::convert::real(b)),
    }
}

//! Bit operators: on 64-bit unsigned integers, or byte by byte on binary strings.

use types::{Datum, DatumRef, EvalType};

use crate::error::{Error, Result};
use crate::op::Op;

fn word(value: DatumRef<'_>) -> u64 {
    match value {
        DatumRef::Int(v) => v as u64,
        DatumRef::UInt(v) => v,
        _ => 0,
    }
}

/// A bit operator on integers.
#[inline]
pub(crate) fn words(op: Op, a: u64, b: u64) -> u64 {
    match op {
        Op::BitAnd => a & b,
        Op::BitOr => a | b,
        Op::BitXor => a ^ b,
        Op::Shl if b < 64 => a << b,
        Op::Shr if b < 64 => a >> b,
        Op::Shl | Op::Shr => 0,
        _ => !a,
    }
}

/// A bit operator on values that are not NULL.
pub(crate) fn eval(op: Op, class: EvalType, a: DatumRef<'_>, b: DatumRef<'_>) -> Result<Datum> {
    match (class, a) {
        (EvalType::String, DatumRef::Bytes(a)) => strings(op, a, b).map(Datum::Bytes),
        _ => Ok(Datum::UInt(words(op, word(a), word(b)))),
    }
}

fn strings(op: Op, a: &[u8], b: DatumRef<'_>) -> Result<Vec<u8>> {
    match (op, b) {
        (Op::BitNeg, _) => Ok(a.iter().map(|x| !x).collect()),
        (Op::Shl | Op::Shr, by) => Ok(shift(op, a, word(by))),
        (_, DatumRef::Bytes(b)) if a.len() == b.len() => {
            Ok(a.iter().zip(b).map(|(x, y)| words(op, u64::from(*x), u64::from(*y)) as u8).collect())
        }
        _ => Err(Error::BitStringLengths),
    }
}

fn shift(op: Op, a: &[u8], by: u64) -> Vec<u8> {
    let mut out = vec![0; a.len()];
    let Ok(bytes) = usize::try_from(by / 8) else { return out };
    let bits = (by % 8) as u32;
    for (i, shifted) in out.iter_mut().enumerate() {
        // The two source bytes that meet in this one.
        let (near, far) = match op {
            Op::Shl => (i.checked_add(bytes), i.checked_add(bytes + 1)),
            _ => (i.checked_sub(bytes), i.checked_sub(bytes + 1)),
        };
        let at = |index: Option<usize>| index.and_then(|i| a.get(i)).map_or(0u32, |b| u32::from(*b));
        *shifted = match op {
            Op::Shl => (at(near) << bits | at(far) >> (8 - bits)) as u8,
            _ => (at(near) >> bits | at(far) << (8 - bits)) as u8,
        };
    }
    out
}

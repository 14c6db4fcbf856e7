//! Narrowing a selection: the rows of a chunk for which a condition is true.
//!
//! ANDs narrow one condition after the other, so that a later condition is evaluated only for rows the earlier ones kept.
//! Comparisons of native values and strings look at the selected rows only and build no column.

use std::cmp::Ordering;

use types::{Chunk, Decimal, Duration, Time};

use super::compare::{Texts, by_native};
use super::{SPECULATION_SHARE, Values, Vector};
use crate::context::EvalCtx;
use crate::error::Result;
use crate::expr::{Call, Expr, Func};
use crate::op::Op;
use crate::ops;
use crate::ops::compare::{doubles, holds, signed_unsigned};

impl Expr {
    /// Keeps the rows of the selection for which the condition is true.
    ///
    /// # Errors
    /// As [`eval`](Self::eval), for a selected row.
    pub fn filter(&self, ctx: &EvalCtx, chunk: &Chunk, sel: &mut Vec<u32>) -> Result<()> {
        if sel.is_empty() {
            return Ok(());
        }
        if let Expr::Call(call) = self {
            if call.func.op() == Some(Op::And) {
                return call.args.iter().try_for_each(|arg| arg.filter(ctx, chunk, sel));
            }
            if call.filter_native(ctx, chunk, sel)? {
                return Ok(());
            }
        }
        let narrow = |values: &Vector<'_>, sel: &mut Vec<u32>| match values.values::<i64>() {
            Some(ints) if !values.has_nulls() => sel.retain(|row| ints.get(*row as usize) != 0),
            _ => sel.retain(|row| ops::truth(values.get(*row as usize)) == Some(true)),
        };
        if sel.len() == chunk.rows() {
            narrow(&self.eval_vector(ctx, chunk)?, sel);
            return Ok(());
        }
        if sel.len() * SPECULATION_SHARE >= chunk.rows() && self.speculate(ctx, chunk, |values| narrow(&values, sel)).is_some() {
            return Ok(());
        }
        let mut kept = Vec::with_capacity(sel.len());
        for row in sel.iter() {
            if self.is_true(ctx, chunk.row(*row as usize))? {
                kept.push(*row);
            }
        }
        *sel = kept;
        Ok(())
    }
}

/// A column, constant or parameter: evaluated without work.
fn is_leaf(e: &Expr) -> bool {
    !matches!(e, Expr::Call(_))
}

impl Call {
    /// Narrows the selection by a comparison of leaves; false if this is none.
    fn filter_native(&self, ctx: &EvalCtx, chunk: &Chunk, sel: &mut Vec<u32>) -> Result<bool> {
        let Func::Op(op, _) = self.func else { return Ok(false) };
        match (op, self.args.as_slice()) {
            (_, [a, b]) if op.is_comparison() && op != Op::NullEq && is_leaf(a) && (is_leaf(b) || b.is_constant()) => {
                let a = a.eval_vector(ctx, chunk)?;
                let b = b.eval_vector(ctx, chunk)?;
                Ok(narrow(op, self, &a, &b, sel))
            }
            (Op::IsNull, [a]) if is_leaf(a) => {
                let a = a.eval_vector(ctx, chunk)?;
                sel.retain(|row| a.is_null(*row as usize));
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

#[inline]
fn retain<A: Copy, B: Copy>(op: Op, a: Values<'_, A>, b: Values<'_, B>, sel: &mut Vec<u32>, cmp: impl Fn(A, B) -> Ordering) {
    match op {
        Op::Eq => sel.retain(|r| cmp(a.get(*r as usize), b.get(*r as usize)).is_eq()),
        Op::Ne => sel.retain(|r| cmp(a.get(*r as usize), b.get(*r as usize)).is_ne()),
        Op::Lt => sel.retain(|r| cmp(a.get(*r as usize), b.get(*r as usize)).is_lt()),
        Op::Le => sel.retain(|r| cmp(a.get(*r as usize), b.get(*r as usize)).is_le()),
        Op::Gt => sel.retain(|r| cmp(a.get(*r as usize), b.get(*r as usize)).is_gt()),
        _ => sel.retain(|r| cmp(a.get(*r as usize), b.get(*r as usize)).is_ge()),
    }
}

fn narrow(op: Op, call: &Call, a: &Vector<'_>, b: &Vector<'_>, sel: &mut Vec<u32>) -> bool {
    for v in [a, b] {
        if v.has_nulls() {
            sel.retain(|row| !v.is_null(*row as usize));
        }
    }
    if sel.is_empty() {
        return true;
    }
    macro_rules! run {
        ($x:expr, $y:expr, $cmp:expr) => {
            retain(op, $x, $y, sel, $cmp)
        };
    }
    if by_native!(a, b, run).is_some() {
        return true;
    }
    let (Some(x), Some(y)) = (Texts::of(a), Texts::of(b)) else { return false };
    if matches!(op, Op::Eq | Op::Ne) && call.collation.sort_key_is_identity() {
        sel.retain(|row| (x.get(*row as usize) == y.get(*row as usize)) == (op == Op::Eq));
    } else {
        sel.retain(|row| holds(op, call.collation.compare(x.get(*row as usize), y.get(*row as usize))));
    }
    true
}

//! Kernels of three-valued logic.

use types::{Bitmap, Chunk, Column};

use super::{Native, SPECULATION_SHARE, Vector};
use crate::context::EvalCtx;
use crate::error::Result;
use crate::expr::{Call, Expr, Func};
use crate::op::Op;
use crate::ops;

/// The truth values of a vector.
pub(super) fn truths(v: &Vector<'_>, rows: usize) -> Vec<Option<bool>> {
    if let Some(constant) = v.constant() {
        return vec![ops::truth(constant.as_ref()); rows];
    }
    if let Some(values) = v.values::<i64>() {
        if !v.has_nulls() {
            return (0..rows).map(|row| Some(values.get(row) != 0)).collect();
        }
        return (0..rows).map(|row| (!v.is_null(row)).then(|| values.get(row) != 0)).collect();
    }
    (0..rows).map(|row| ops::truth(v.get(row))).collect()
}

/// A column of 0, 1 and NULL.
pub(super) fn column_of(answers: Vec<Option<bool>>) -> Column {
    let mut nulls = Bitmap::zeros(answers.len());
    let values = answers.iter().enumerate().map(|(row, answer)| {
        if answer.is_none() {
            nulls.set(row, true);
        }
        i64::from(*answer == Some(true))
    });
    let values = values.collect();
    i64::column(values, nulls)
}

/// NOT, XOR and the IS operators: their operands are always evaluated.
pub(super) fn eager(op: Op, a: &Vector<'_>, b: &Vector<'_>, rows: usize) -> Option<Column> {
    let x = truths(a, rows);
    let answers = match op {
        Op::Not => x.into_iter().map(|t| t.map(|t| !t)).collect(),
        Op::Xor => x.into_iter().zip(truths(b, rows)).map(|(x, y)| Some(x? != y?)).collect(),
        Op::IsTrue => x.into_iter().map(|t| Some(t == Some(true))).collect(),
        Op::IsFalse => x.into_iter().map(|t| Some(t == Some(false))).collect(),
        Op::IsUnknown => x.into_iter().map(|t| Some(t.is_none())).collect(),
        _ => return None,
    };
    Some(column_of(answers))
}

/// AND and OR. The second operand is evaluated for the rows the first leaves open; for all rows only if nobody can tell.
pub(super) fn and_or<'a>(call: &'a Call, ctx: &'a EvalCtx, chunk: &'a Chunk) -> Result<Vector<'a>> {
    let rows = chunk.rows();
    let is_or = matches!(call.func, Func::Op(Op::Or, _));
    let mut answers = truths(&call.args[0].eval_vector(ctx, chunk)?, rows);
    let join = if is_or { ops::or } else { ops::and };
    let second: &Expr = &call.args[1];
    let open = answers.iter().filter(|a| **a != Some(is_or)).count();
    if open == 0 {
        return Ok(Vector::Owned(column_of(answers)));
    }
    let other = if open == rows {
        Some(truths(&second.eval_vector(ctx, chunk)?, rows))
    } else if open * SPECULATION_SHARE >= rows {
        second.speculate(ctx, chunk, |values| truths(&values, rows))
    } else {
        None
    };
    if let Some(other) = other {
        for (answer, other) in answers.iter_mut().zip(other) {
            *answer = join(*answer, other);
        }
    } else {
        for (row, answer) in answers.iter_mut().enumerate().filter(|(_, a)| **a != Some(is_or)) {
            let mut slot = types::Datum::Null;
            let other = ops::truth(second.eval_ref(ctx, chunk.row(row), &mut slot)?);
            *answer = join(*answer, other);
        }
    }
    Ok(Vector::Owned(column_of(answers)))
}

//! IF, CASE, IFNULL and COALESCE over columns: which alternative each row takes, then its value from that alternative's
//! vector. Alternatives that no row takes are not evaluated; the others are evaluated for all rows, on trial.

use types::{Chunk, Column, DatumRef};

use super::Vector;
use super::logic::truths;
use crate::context::EvalCtx;
use crate::expr::{Call, Expr};
use crate::op::Op;

/// No alternative: NULL.
const NONE: u32 = u32::MAX;

/// The column of a choice, or `None` if an operand warned or failed on trial, so that rows must be evaluated one by one.
pub(super) fn choose(call: &Call, ctx: &EvalCtx, chunk: &Chunk) -> Option<Column> {
    match call.func.op()? {
        Op::If => {
            let takes = call.args[0].speculate(ctx, chunk, |c| truths(&c, chunk.rows()))?;
            let picks = takes.into_iter().map(|t| if t == Some(true) { 0 } else { 1 }).collect();
            pick(call, &[&call.args[1], &call.args[2]], picks, ctx, chunk)
        }
        Op::Case => case(call, ctx, chunk),
        _ => coalesce(call, ctx, chunk),
    }
}

fn case(call: &Call, ctx: &EvalCtx, chunk: &Chunk) -> Option<Column> {
    let mut results = Vec::new();
    let mut picks = vec![NONE; chunk.rows()];
    let mut open = chunk.rows();
    for pair in call.args.chunks(2) {
        let alternative = results.len() as u32;
        match pair {
            [when, then] => {
                results.push(then);
                if open == 0 {
                    continue;
                }
                let truths = when.speculate(ctx, chunk, |c| truths(&c, chunk.rows()))?;
                for (pick, truth) in picks.iter_mut().zip(truths) {
                    if *pick == NONE && truth == Some(true) {
                        *pick = alternative;
                        open -= 1;
                    }
                }
            }
            rest => {
                results.extend(rest);
                picks.iter_mut().filter(|p| **p == NONE).for_each(|p| *p = alternative);
            }
        }
    }
    pick(call, &results, picks, ctx, chunk)
}

/// Each row's value from the alternative it takes.
fn pick(call: &Call, alternatives: &[&Expr], picks: Vec<u32>, ctx: &EvalCtx, chunk: &Chunk) -> Option<Column> {
    let mut columns = Vec::with_capacity(alternatives.len());
    for (i, alternative) in alternatives.iter().enumerate() {
        let taken = picks.contains(&(i as u32));
        columns.push(if taken { Some(values_of(alternative, ctx, chunk)?) } else { None });
    }
    let mut out = Column::for_type(&call.ty, picks.len());
    for (row, pick) in picks.into_iter().enumerate() {
        match columns.get(pick as usize).and_then(Option::as_ref) {
            Some(values) => out.push_ref(values.get(row)),
            None => out.push_null(),
        }
    }
    Some(out)
}

/// The values of an alternative, detached from the context they were tried in.
enum Values<'a> {
    One(types::Datum),
    Borrowed(&'a Column),
    Owned(Column),
}

impl Values<'_> {
    fn get(&self, row: usize) -> DatumRef<'_> {
        match self {
            Values::One(value) => value.as_ref(),
            Values::Borrowed(column) => column.datum_ref(row),
            Values::Owned(column) => column.datum_ref(row),
        }
    }
}

fn values_of<'a>(e: &Expr, ctx: &EvalCtx, chunk: &'a Chunk) -> Option<Values<'a>> {
    if let Expr::Column { index, .. } = e {
        return Some(Values::Borrowed(chunk.column(*index)));
    }
    e.speculate(ctx, chunk, |values| match values {
        Vector::Const(value) => Values::One(value),
        Vector::ConstRef(value) => Values::One(value.clone()),
        Vector::Owned(column) => Values::Owned(column),
        Vector::Borrowed(column) => Values::Owned(column.clone()),
    })
}

fn coalesce(call: &Call, ctx: &EvalCtx, chunk: &Chunk) -> Option<Column> {
    let mut vectors: Vec<Values<'_>> = Vec::with_capacity(call.args.len());
    let mut picks = vec![NONE; chunk.rows()];
    let mut open = chunk.rows();
    for arg in &call.args {
        if open == 0 {
            break;
        }
        let values = values_of(arg, ctx, chunk)?;
        let alternative = vectors.len() as u32;
        for (row, pick) in picks.iter_mut().enumerate().filter(|(_, p)| **p == NONE) {
            if !matches!(values.get(row), DatumRef::Null) {
                *pick = alternative;
                open -= 1;
            }
        }
        vectors.push(values);
    }
    let mut out = Column::for_type(&call.ty, chunk.rows());
    for (row, pick) in picks.into_iter().enumerate() {
        match vectors.get(pick as usize) {
            Some(values) => out.push_ref(values.get(row)),
            None => out.push_null(),
        }
    }
    Some(out)
}

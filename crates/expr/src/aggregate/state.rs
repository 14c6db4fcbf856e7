//! The states of one aggregate for all groups of an aggregation.

use std::ops::Range;

use types::{Chunk, Column, Datum};

use super::basic::{AnyValue, Bits, Count};
use super::distinct::Distinct;
use super::extreme;
use super::group_concat::GroupConcat;
use super::json::Documents;
use super::moments::Moments;
use super::sum;
use super::{Accumulator, AggDesc, AggKind, AggMode, Rows};
use crate::context::EvalCtx;
use crate::error::Result;
use crate::vector::Vector;

/// The states of one aggregate: fed with chunks, asked for results group by group.
///
/// Group numbers are given by the caller; [`grow`](Self::grow) must have been called with a number above every group
/// that is fed or asked for. A new state has group 0.
pub struct AggState {
    accumulator: Box<dyn Accumulator>,
    distinct: Option<Distinct>,
    groups: usize,
}

/// A state for the aggregate, with the empty group 0.
pub fn new_state(desc: &AggDesc) -> AggState {
    let mut accumulator: Box<dyn Accumulator> = match desc.kind {
        AggKind::Count => Box::new(Count::default()),
        AggKind::Sum | AggKind::Avg => sum::accumulator(desc),
        AggKind::Min | AggKind::Max => extreme::accumulator(desc),
        AggKind::JsonArrayAgg | AggKind::JsonObjectAgg => Box::new(Documents::default()),
        AggKind::GroupConcat => Box::new(GroupConcat::default()),
        AggKind::BitAnd | AggKind::BitOr | AggKind::BitXor => Box::new(Bits::new(desc.kind)),
        AggKind::AnyValue | AggKind::FirstRow => Box::new(AnyValue::default()),
        AggKind::StddevPop | AggKind::StddevSamp | AggKind::VarPop | AggKind::VarSamp => Box::new(Moments::default()),
    };
    accumulator.grow(1);
    AggState { accumulator, distinct: desc.distinct.then(Distinct::default), groups: 1 }
}

impl AggState {
    /// Makes room for groups 0 to `groups`.
    pub fn grow(&mut self, groups: usize) {
        if groups > self.groups {
            self.accumulator.grow(groups);
            self.groups = groups;
        }
    }

    /// Feeds rows of a chunk to group 0.
    ///
    /// # Errors
    /// Of the argument's evaluation; overflow of a sum.
    pub fn update(&mut self, desc: &AggDesc, ctx: &EvalCtx, chunk: &Chunk, rows: &[u32]) -> Result<()> {
        if rows.len() == chunk.rows() {
            return self.update_all(desc, ctx, chunk);
        }
        if rows.is_empty() {
            return Ok(());
        }
        if desc.args.iter().chain(desc.order_by.iter().map(|k| &k.expr)).any(|a| !a.is_silent()) {
            // Only these rows may be evaluated: another row's value could warn or fail.
            let chunk = chunk.gather(rows);
            return self.feed(desc, ctx, &chunk, Rows::All(chunk.rows()));
        }
        self.feed(desc, ctx, chunk, Rows::One(rows))
    }

    /// Feeds all rows of a chunk to group 0.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_all(&mut self, desc: &AggDesc, ctx: &EvalCtx, chunk: &Chunk) -> Result<()> {
        self.feed(desc, ctx, chunk, Rows::All(chunk.rows()))
    }

    /// Feeds row i of a chunk to group `groups[i]`.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    ///
    /// # Panics
    /// If there are not as many group numbers as rows, or a group is beyond those made by [`grow`](Self::grow).
    pub fn update_groups(&mut self, desc: &AggDesc, ctx: &EvalCtx, chunk: &Chunk, groups: &[u32]) -> Result<()> {
        assert_eq!(groups.len(), chunk.rows(), "every row of the chunk needs its group");
        self.feed(desc, ctx, chunk, Rows::Groups(groups))
    }

    /// Feeds rows of arguments that are evaluated already to group 0, without DISTINCT.
    pub(crate) fn fold(&mut self, desc: &AggDesc, ctx: &EvalCtx, args: &[Vector<'_>], rows: Range<usize>) -> Result<()> {
        self.accumulator.update(desc, ctx, args, Rows::Span(rows.start, rows.end))
    }

    /// Takes rows that were fed out of group 0 again; false, and nothing is done, if the aggregate cannot.
    pub(crate) fn take_out(&mut self, desc: &AggDesc, args: &[Vector<'_>], rows: Range<usize>) -> Result<bool> {
        self.accumulator.take_out(desc, args, Rows::Span(rows.start, rows.end))
    }

    fn feed(&mut self, desc: &AggDesc, ctx: &EvalCtx, chunk: &Chunk, rows: Rows<'_>) -> Result<()> {
        if chunk.rows() == 0 {
            return Ok(());
        }
        let inputs = desc.args.iter().chain(desc.order_by.iter().map(|k| &k.expr));
        let vectors = inputs.map(|a| a.eval_vector(ctx, chunk)).collect::<Result<Vec<_>>>()?;
        if desc.mode == AggMode::Final {
            return self.accumulator.merge(desc, ctx, &vectors, rows);
        }
        match &mut self.distinct {
            None => self.accumulator.update(desc, ctx, &vectors, rows),
            Some(distinct) => {
                let fresh = distinct.fresh(&desc.args, &vectors[..desc.args.len()], rows);
                self.accumulator.update(desc, ctx, &vectors, Rows::Pairs(&fresh))
            }
        }
    }

    /// Adds the groups of another state of the same aggregate: its group i to group `groups[i]` of this one.
    ///
    /// # Errors
    /// Overflow of a sum.
    ///
    /// # Panics
    /// If the aggregate cannot be computed in parts ([`AggDesc::can_split`]).
    pub fn merge(&mut self, desc: &AggDesc, ctx: &EvalCtx, other: &AggState, groups: &[u32]) -> Result<()> {
        assert!(!desc.distinct && desc.kind != AggKind::GroupConcat, "{desc} cannot be computed in parts");
        let mut columns: Vec<Column> = desc.partial_types().iter().map(|ty| Column::for_type(ty, groups.len())).collect();
        for group in 0..groups.len() {
            other.accumulator.append_partial(group, &mut columns);
        }
        let vectors: Vec<_> = columns.iter().map(Vector::Borrowed).collect();
        self.accumulator.merge(desc, ctx, &vectors, Rows::Groups(groups))
    }

    /// The result of a group.
    ///
    /// # Errors
    /// Overflow of an exact sum beyond DECIMAL.
    pub fn result(&self, desc: &AggDesc, ctx: &EvalCtx, group: usize) -> Result<Datum> {
        self.accumulator.result(desc, ctx, group)
    }

    /// Appends a group's output to columns of [`AggDesc::output_types`]: its result, or its partial columns.
    ///
    /// # Errors
    /// As [`result`](Self::result).
    pub fn append(&self, desc: &AggDesc, ctx: &EvalCtx, group: usize, out: &mut [Column]) -> Result<()> {
        if desc.mode == AggMode::Partial {
            self.accumulator.append_partial(group, out);
        } else {
            out[0].push(&self.accumulator.result(desc, ctx, group)?);
        }
        Ok(())
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Heap memory of the states.
    pub fn memory_bytes(&self) -> usize {
        self.accumulator.memory_bytes() + self.distinct.as_ref().map_or(0, Distinct::memory_bytes)
    }
}

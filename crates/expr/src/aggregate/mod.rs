//! Aggregate functions: what they are ([`AggDesc`]) and the states that compute them ([`AggState`]).
//!
//! One [`AggState`] holds the states of *all groups* of one aggregate, numbered from 0, as columns: a hash aggregation
//! gives every row of a chunk its group's number and feeds the chunk in one call; an aggregation without GROUP BY uses
//! group 0. Arguments are evaluated as vectors, and the common kinds (COUNT, SUM, AVG, MIN, MAX of numbers) run over
//! native slices without building values.
//!
//! ```text
//! Complete:  rows ──update──► state ──append──► 1 column
//! Partial:   rows ──update──► state ──append──► partial columns ─┐   (store, other thread, spill file)
//! Final:     partial columns  ◄──────────────────────────────────┘ ──update──► state ──append──► 1 column
//! ```
//!
//! | kind | partial columns |
//! |---|---|
//! | COUNT | count |
//! | SUM, MIN, MAX, bits, ANY_VALUE | the value |
//! | AVG | count, sum |
//! | STD, VARIANCE | count, mean, sum of squared deviations |
//!
//! DISTINCT, GROUP_CONCAT and the JSON aggregates cannot be split.

mod basic;
mod desc;
mod distinct;
mod extreme;
mod group_concat;
mod json;
mod moments;
mod state;
mod sum;

pub use desc::{AggDesc, AggKind, AggMode, SortKey};
pub use state::{AggState, new_state};

use types::{Column, Datum};

use crate::context::EvalCtx;
use crate::error::Result;
use crate::vector::Vector;

/// Which rows are fed, and to which groups.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'a> {
    /// These rows, all to group 0.
    One(&'a [u32]),
    /// Rows 0 to n, all to group 0.
    All(usize),
    /// Rows from the first up to, without, the second, all to group 0.
    Span(usize, usize),
    /// Row i to group `groups[i]`.
    Groups(&'a [u32]),
    /// Rows with their groups.
    Pairs(&'a [(u32, u32)]),
}

impl Rows<'_> {
    /// Calls `f(row, group)` for every row.
    #[inline]
    pub(crate) fn for_each(&self, mut f: impl FnMut(usize, usize)) {
        match self {
            Rows::One(rows) => rows.iter().for_each(|row| f(*row as usize, 0)),
            Rows::All(n) => (0..*n).for_each(|row| f(row, 0)),
            Rows::Span(from, to) => (*from..*to).for_each(|row| f(row, 0)),
            Rows::Groups(groups) => groups.iter().enumerate().for_each(|(row, group)| f(row, *group as usize)),
            Rows::Pairs(pairs) => pairs.iter().for_each(|(row, group)| f(*row as usize, *group as usize)),
        }
    }

    /// As [`for_each`](Self::for_each), until the first error.
    #[inline]
    pub(crate) fn try_for_each(&self, mut f: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        self.for_each(|row, group| {
            if outcome.is_ok() {
                outcome = f(row, group);
            }
        });
        outcome
    }
}

/// The states of one kind of aggregate for all groups.
pub(crate) trait Accumulator: Send {
    /// Makes room for this many groups; new ones are empty.
    fn grow(&mut self, groups: usize);

    /// Feeds argument values.
    fn update(&mut self, desc: &AggDesc, ctx: &EvalCtx, args: &[Vector<'_>], rows: Rows<'_>) -> Result<()>;

    /// Takes values that were fed out again, for frames that move; false, and nothing is done, if the kind cannot.
    fn take_out(&mut self, _desc: &AggDesc, _args: &[Vector<'_>], _rows: Rows<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Feeds partial columns.
    fn merge(&mut self, desc: &AggDesc, ctx: &EvalCtx, partial: &[Vector<'_>], rows: Rows<'_>) -> Result<()>;

    /// Appends a group's partial columns.
    fn append_partial(&self, group: usize, out: &mut [Column]);

    /// A group's result.
    fn result(&self, desc: &AggDesc, ctx: &EvalCtx, group: usize) -> Result<Datum>;

    /// Heap memory of the states.
    fn memory_bytes(&self) -> usize;
}

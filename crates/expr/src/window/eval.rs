//! The loop over rows: batches of sorted rows in, chunks with the functions' columns out.
//!
//! Arguments are evaluated as columns when a batch is loaded; values of the functions are made only for the rows that are handed up next,
//! so that beside its rows a batch costs no more than its arguments.

use std::ops::Range;

use types::{Chunk, Column, Datum};

use super::aggregate::FrameAggregate;
use super::ranking::{CumeDist, DenseRank, Ntile, PercentRank, Rank, RowNumber};
use super::value::{FrameValue, Neighbour, Pick};
use super::{WindowDesc, WindowFunc};
use crate::context::EvalCtx;
use crate::error::Result;
use crate::expr::Expr;
use crate::vector::Vector;

/// A chunk ends when its rows have cost this much more than one step each: a statement can only be stopped between chunks.
const MAX_STEPS: usize = 1 << 18;

/// How a row stands to the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A peer: equal in the window's order.
    Same,
    /// Of the same partition.
    Peers,
    /// The first of its partition.
    Partition,
}

/// Rows in the window's order. The first row may continue what another batch began.
pub struct Batch {
    /// The rows.
    pub rows: Chunk,
    /// One for each row.
    pub marks: Vec<Mark>,
}

/// How far behind a row a function must look: where a batch may end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Reach {
    Row,
    Peers,
    Partition,
}

/// Where a row stands.
pub(super) struct Place {
    /// In the batch.
    pub row: usize,
    /// In its partition, from 0, rows of earlier batches counted.
    pub number: u64,
    /// It is the first of its peers.
    pub first_peer: bool,
    /// The rows of its partition and its peers in this batch: all of them, as far as [`Reach`] asks for them.
    pub partition: Range<usize>,
    pub peers: Range<usize>,
}

/// What a function reads.
pub(super) struct Input<'a> {
    pub ctx: &'a EvalCtx,
    pub rows: &'a Chunk,
    /// The values of the function's [`Evaluator`] expressions.
    pub args: &'a [Vector<'a>],
}

/// A function being computed, row by row in their order.
pub(super) trait Evaluator: Send {
    fn reach(&self) -> Reach;

    /// Forgets what was before.
    fn start_partition(&mut self) {}

    /// The rows of the batch before are gone; the partition may go on.
    fn start_batch(&mut self) {}

    /// Appends the row's value; how many steps that took beyond the usual one.
    ///
    /// # Errors
    /// Of the function's arguments; overflow of a sum.
    fn row(&mut self, input: &Input<'_>, place: &Place, out: &mut Column) -> Result<usize>;

    fn memory_bytes(&self) -> usize {
        0
    }
}

/// The window functions of one window, being evaluated.
pub struct WindowEval {
    funcs: Vec<Running>,
    reach: Reach,
    loaded: Option<Loaded>,
    /// The current row's place, and the row.
    number: u64,
    partition: Range<usize>,
    peers: Range<usize>,
}

struct Running {
    evaluator: Box<dyn Evaluator>,
    exprs: Vec<Expr>,
    ty: types::FieldType,
}

struct Loaded {
    batch: Batch,
    /// The values of each function's expressions.
    args: Vec<Vec<Arg>>,
    next: usize,
}

/// The values of an expression for the rows of a batch.
enum Arg {
    Input(usize),
    Computed(Column),
    Constant(Datum),
}

impl WindowEval {
    /// Nothing evaluated yet. Offsets and other constants are taken from `ctx`.
    ///
    /// # Errors
    /// A frame's offset (3586) or a function's constant (1210) out of range.
    pub fn new(descs: &[WindowDesc], ctx: &EvalCtx) -> Result<Self> {
        let funcs = descs.iter().map(|desc| Running::new(desc, ctx)).collect::<Result<Vec<_>>>()?;
        let reach = funcs.iter().map(|func| func.evaluator.reach()).max().unwrap_or(Reach::Row);
        Ok(Self { funcs, reach, loaded: None, number: 0, partition: 0..0, peers: 0..0 })
    }

    /// Whether a batch may end before a row with this mark.
    pub fn may_end_before(&self, mark: Mark) -> bool {
        match self.reach {
            Reach::Row => true,
            Reach::Peers => mark != Mark::Same,
            Reach::Partition => mark == Mark::Partition,
        }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        let loaded = self.loaded.as_ref().map_or(0, |loaded| {
            let args = loaded.args.iter().flatten().map(|arg| if let Arg::Computed(column) = arg { column.memory_bytes() } else { 0 });
            loaded.batch.rows.memory_bytes() + loaded.batch.marks.capacity() + args.sum::<usize>()
        });
        loaded + self.funcs.iter().map(|func| func.evaluator.memory_bytes()).sum::<usize>()
    }

    /// Takes the next batch; the one before has been handed up.
    ///
    /// # Errors
    /// Of the functions' arguments.
    pub fn load(&mut self, ctx: &EvalCtx, batch: Batch) -> Result<()> {
        assert_eq!(batch.rows.rows(), batch.marks.len(), "every row of a batch has its mark");
        let mut args = Vec::with_capacity(self.funcs.len());
        for func in &mut self.funcs {
            args.push(func.exprs.iter().map(|expr| Arg::evaluate(expr, ctx, &batch.rows)).collect::<Result<Vec<_>>>()?);
            func.evaluator.start_batch();
        }
        self.loaded = Some(Loaded { batch, args, next: 0 });
        Ok(())
    }

    /// The next rows of the batch, at most `max_rows`, with a column for each function; `None` at its end.
    ///
    /// # Errors
    /// Overflow of a sum.
    pub fn next(&mut self, ctx: &EvalCtx, max_rows: usize) -> Result<Option<Chunk>> {
        let Some(loaded) = &mut self.loaded else { return Ok(None) };
        let from = loaded.next;
        let total = loaded.batch.rows.rows();
        if from == total {
            self.loaded = None;
            return Ok(None);
        }
        let marks = &loaded.batch.marks;
        let rows = &loaded.batch.rows;
        let vectors: Vec<Vec<Vector<'_>>> = loaded.args.iter().map(|args| args.iter().map(|arg| arg.vector(rows)).collect()).collect();
        let to = total.min(from + max_rows.max(1));
        let mut columns: Vec<Column> = self.funcs.iter().map(|func| Column::for_type(&func.ty, to - from)).collect();
        let (mut row, mut steps) = (from, 0);
        while row < to && steps < MAX_STEPS {
            let mark = marks[row];
            if mark == Mark::Partition {
                self.number = 0;
                self.funcs.iter_mut().for_each(|func| func.evaluator.start_partition());
            }
            if row == 0 || mark == Mark::Partition {
                self.partition = row..end_of(marks, row, |mark| mark == Mark::Partition);
            }
            if row == 0 || mark != Mark::Same {
                self.peers = row..end_of(marks, row, |mark| mark != Mark::Same);
            }
            let (partition, peers) = (self.partition.clone(), self.peers.clone());
            let place = Place { row, number: self.number, first_peer: mark != Mark::Same, partition, peers };
            for ((func, args), out) in self.funcs.iter_mut().zip(&vectors).zip(&mut columns) {
                steps += func.evaluator.row(&Input { ctx, rows, args }, &place, out)?;
            }
            self.number += 1;
            row += 1;
        }
        let mut chunk = rows.slice(from, row);
        drop(vectors);
        loaded.next = row;
        columns.into_iter().for_each(|column| chunk.push_column(column));
        Ok(Some(chunk))
    }
}

/// The first row behind `row` whose mark ends its group, or the end.
fn end_of(marks: &[Mark], row: usize, ends: impl Fn(Mark) -> bool) -> usize {
    marks[row + 1..].iter().position(|mark| ends(*mark)).map_or(marks.len(), |rows| row + 1 + rows)
}

impl Running {
    fn new(desc: &WindowDesc, ctx: &EvalCtx) -> Result<Self> {
        let mut exprs = vec![];
        let evaluator: Box<dyn Evaluator> = match &desc.func {
            WindowFunc::RowNumber => Box::new(RowNumber),
            WindowFunc::Rank => Box::new(Rank::default()),
            WindowFunc::DenseRank => Box::new(DenseRank::default()),
            WindowFunc::PercentRank => Box::new(PercentRank),
            WindowFunc::CumeDist => Box::new(CumeDist),
            WindowFunc::Ntile(buckets) => Box::new(Ntile::new(buckets, ctx)?),
            WindowFunc::Neighbour { ahead, value, distance, default } => {
                exprs.push(value.clone());
                Box::new(Neighbour::new(*ahead, distance, default, ctx)?)
            }
            WindowFunc::FirstValue(value) => Box::new(FrameValue::new(value, Pick::First, &desc.frame, ctx, &mut exprs)?),
            WindowFunc::LastValue(value) => Box::new(FrameValue::new(value, Pick::Last, &desc.frame, ctx, &mut exprs)?),
            WindowFunc::NthValue(value, n) => {
                let pick = Pick::nth(n, ctx)?;
                Box::new(FrameValue::new(value, pick, &desc.frame, ctx, &mut exprs)?)
            }
            WindowFunc::Aggregate(agg) => Box::new(FrameAggregate::new(agg, &desc.frame, ctx, &mut exprs)?),
        };
        Ok(Self { evaluator, exprs, ty: desc.ty.clone() })
    }
}

impl Arg {
    fn evaluate(expr: &Expr, ctx: &EvalCtx, rows: &Chunk) -> Result<Self> {
        if let Some(column) = expr.as_column() {
            return Ok(Self::Input(column));
        }
        Ok(match expr.eval_vector(ctx, rows)? {
            Vector::Const(value) => Self::Constant(value),
            Vector::ConstRef(value) => Self::Constant(value.clone()),
            Vector::Borrowed(column) => Self::Computed(column.clone()),
            Vector::Owned(column) => Self::Computed(column),
        })
    }

    fn vector<'a>(&'a self, rows: &'a Chunk) -> Vector<'a> {
        match self {
            Self::Input(column) => Vector::Borrowed(rows.column(*column)),
            Self::Computed(column) => Vector::Borrowed(column),
            Self::Constant(value) => Vector::ConstRef(value),
        }
    }
}

//! Window functions over input that is ordered by partitions and, in them, by the window's order.
//!
//! ```text
//!   child ─▶ waiting rows, each marked: same peers, new peers, new partition
//!              ─(up to the last row that may end a batch)─▶ WindowEval ─▶ rows with the functions' columns
//! ```
//!
//! Ranks, row numbers and running sums need no more than the rows of a chunk or of one group of peers; other functions need their partition,
//! which is kept in memory. A partition beyond the statement's quota is an error; the sort below spills by itself.
//!
//! Invariant: a batch ends before a row that all functions may start anew at ([`WindowEval::may_end_before`]).

use std::cmp::Ordering;

use async_trait::async_trait;
use expr::Expr;
use expr::window::{Batch, Mark, WindowEval};
use planner::physical::Window as Plan;
use types::{Chunk, FieldType};

use crate::memory::Reservation;
use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

const OPERATOR: &str = "Window";

/// Offsets inside a column are 32 bits wide.
const MAX_WAITING_BYTES: usize = 1 << 30;

/// Adds a column for each function.
pub(crate) struct Window {
    plan: PlanRef<Plan>,
    keys: Keys,
    types: PlanRef<[FieldType]>,
    child: Option<BoxOperator>,
    running: Option<Running>,
}

/// Where the columns stand in which partitions, and peers, are equal.
struct Keys {
    partition_by: Vec<usize>,
    order_by: Vec<usize>,
}

struct Running {
    eval: WindowEval,
    /// Rows that no batch has taken yet.
    waiting: Batch,
    /// The last row of what was taken, when all of it was.
    before: Option<Chunk>,
    reservation: Reservation,
}

impl Window {
    pub(crate) fn new(plan: PlanRef<Plan>, types: PlanRef<[FieldType]>, child: BoxOperator) -> Self {
        let keys = Keys {
            partition_by: plan.partition_by.iter().filter_map(Expr::as_column).collect(),
            order_by: plan.order_by.iter().filter_map(|key| key.expr.as_column()).collect(),
        };
        Self { plan, keys, types, child: Some(child), running: None }
    }

    fn start(&self, ctx: &ExecCtx) -> Result<Running> {
        Ok(Running {
            eval: WindowEval::new(&self.plan.funcs, &ctx.eval)?,
            waiting: empty_batch(&self.types),
            before: None,
            reservation: ctx.memory.reserve(OPERATOR),
        })
    }
}

fn empty_batch(types: &[FieldType]) -> Batch {
    Batch { rows: Chunk::new(types, 0), marks: vec![] }
}

impl Running {
    /// Adds rows behind those that wait; up to where a batch can be made now.
    fn push(&mut self, chunk: &Chunk, keys: &Keys, types: &[FieldType], ctx: &ExecCtx) -> Result<Option<usize>> {
        let first = self.waiting.rows.rows();
        self.waiting.rows.append(chunk);
        for row in first..self.waiting.rows.rows() {
            self.waiting.marks.push(self.mark(row, keys, types));
        }
        self.account(ctx)?;
        Ok(self.batch_end(first))
    }

    /// How a waiting row stands to the one before.
    fn mark(&self, row: usize, keys: &Keys, types: &[FieldType]) -> Mark {
        let rows = &self.waiting.rows;
        let (other, before) = match (row.checked_sub(1), &self.before) {
            (Some(before), _) => (rows, before),
            (None, Some(taken)) => (taken, 0),
            (None, None) => return Mark::Partition,
        };
        let differ = |column: &usize| {
            rows.column(*column).compare_rows(row, other.column(*column), before, types[*column].collation) != Ordering::Equal
        };
        if keys.partition_by.iter().any(differ) {
            return Mark::Partition;
        }
        if keys.order_by.iter().any(differ) { Mark::Peers } else { Mark::Same }
    }

    /// Where a batch may end at the latest: behind all rows, or before one of the rows from `first` on.
    fn batch_end(&self, first: usize) -> Option<usize> {
        let marks = &self.waiting.marks;
        if self.eval.may_end_before(Mark::Same) {
            return (!marks.is_empty()).then_some(marks.len());
        }
        (first.max(1)..marks.len()).rev().find(|row| self.eval.may_end_before(marks[*row]))
    }

    /// Gives the waiting rows up to `end` to the functions.
    fn load(&mut self, end: usize, types: &[FieldType], ctx: &ExecCtx) -> Result<()> {
        let mut batch = std::mem::replace(&mut self.waiting, empty_batch(types));
        let total = batch.rows.rows();
        self.before = (end == total).then(|| batch.rows.slice(total - 1, total));
        if end < total {
            self.waiting = Batch { rows: batch.rows.slice(end, total), marks: batch.marks.split_off(end) };
            batch.rows.truncate(end);
        }
        self.eval.load(&ctx.eval, batch)?;
        self.account(ctx)
    }

    fn account(&mut self, ctx: &ExecCtx) -> Result<()> {
        let waiting = self.waiting.rows.memory_bytes() + self.waiting.marks.capacity();
        if waiting > MAX_WAITING_BYTES {
            return Err(self.reservation.over_quota());
        }
        ctx.check()?;
        self.reservation.set(waiting + self.eval.memory_bytes())
    }
}

#[async_trait]
impl Operator for Window {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start(ctx)?,
        };
        loop {
            ctx.checkpoint().await?;
            if let Some(chunk) = running.eval.next(&ctx.eval, ctx.vars.chunk_rows)? {
                running.account(ctx)?;
                self.running = Some(running);
                return Ok(Some(chunk));
            }
            let Some(child) = &mut self.child else { return Ok(None) };
            let first = running.waiting.rows.rows();
            let end = match child.next(ctx).await? {
                Some(chunk) => running.push(&chunk, &self.keys, &self.types, ctx)?,
                None => {
                    self.child = None;
                    (first > 0).then_some(first)
                }
            };
            if let Some(end) = end {
                running.load(end, &self.types, ctx)?;
            }
        }
    }
}

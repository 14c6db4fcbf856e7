//! The driver of a pushed-down plan: pairs in, chunks out.
//!
//! ```text
//!   feed(key, value)* ──▶ decode into `input` ──(full)──▶ filters ──▶ stages ──▶ ready ──▶ take_chunk()
//!                                                                      └ aggregates and top-n hold rows until finish()
//! ```
//!
//! Invariants
//! - Whoever feeds keeps the order of the scan; the execution never reorders except in TopN.
//! - After [`Step::Done`] nothing more is fed; `finish` may be called at any time and exactly once; after it `take_chunk` answers chunks
//!   until `None`.
//! - Batches grow (32, 64, … up to `chunk_rows`) when the plan or the consumer wants only the first rows, so that a LIMIT does not pay for a
//!   full chunk.

use std::collections::VecDeque;
use std::sync::Arc;

use expr::EvalCtx;
use types::Chunk;

use crate::decode::EntryDecoder;
use crate::plan::{DagOp, DagPlan};
use crate::request::DagRequest;
use crate::stage::Stage;
use crate::{Error, Result};

/// Rows of the first batch when only the first rows are wanted.
const FIRST_BATCH_ROWS: usize = 32;

/// What the feeder should do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Go on feeding.
    More,
    /// A chunk can be taken; go on feeding afterwards.
    ChunkReady,
    /// The result is complete whatever follows: stop scanning and call [`DagExecution::finish`].
    Done,
}

/// A running execution of a pushed-down plan.
pub struct DagExecution {
    plan: Arc<DagPlan>,
    eval: Arc<EvalCtx>,
    decoder: EntryDecoder,
    input: Chunk,
    batch_rows: usize,
    chunk_rows: usize,
    stages: Vec<Stage>,
    ready: VecDeque<Chunk>,
    /// The first stage that may still hold rows; set by `finish`.
    draining: Option<usize>,
    /// Rows after which the scan itself may stop, when no filter stands before the limit.
    scan_limit: Option<u64>,
    scanned: u64,
    /// Rows decoded into `input`.
    buffered: usize,
    done: bool,
    selection: Vec<u32>,
}

impl DagExecution {
    /// Prepares an execution: resolves where each column lies and evaluates the limits.
    pub fn new(request: &DagRequest) -> Result<Self> {
        let plan = request.plan.clone();
        let eval = request.eval.clone();
        let decoder = EntryDecoder::new(&plan.scan)?;
        let mut types = plan.scan.columns().iter().map(|column| column.ty.clone()).collect::<Vec<_>>();
        let chunk_rows = request.chunk_rows.max(1);
        let mut stages = Vec::with_capacity(plan.ops.len());
        let mut scan_limit = None;
        let mut one_to_one = plan.filters.is_empty();
        for op in &plan.ops {
            if let DagOp::Limit(limit) = op
                && one_to_one
            {
                let total = limit.total(&eval)?;
                scan_limit = Some(scan_limit.map_or(total, |known: u64| known.min(total)));
            }
            one_to_one &= matches!(op, DagOp::Projection(_) | DagOp::Limit(_));
            stages.push(Stage::new(op, &mut types, &eval)?);
        }
        let wants_few = request.limit_hint.is_some_and(|rows| rows < chunk_rows as u64)
            || plan.ops.iter().find(|op| !matches!(op, DagOp::Projection(_))).is_some_and(|op| matches!(op, DagOp::Limit(_)));
        let batch_rows = if wants_few { FIRST_BATCH_ROWS.min(chunk_rows) } else { chunk_rows };
        let done = scan_limit == Some(0);
        Ok(Self {
            input: new_input(&plan, scan_limit.map_or(batch_rows, |limit| batch_rows.min(limit as usize))),
            plan,
            eval,
            decoder,
            batch_rows,
            chunk_rows,
            stages,
            ready: VecDeque::new(),
            draining: None,
            scan_limit,
            scanned: 0,
            buffered: 0,
            done,
            selection: Vec::new(),
        })
    }

    /// Whether values are looked at; the scanner may leave them out otherwise.
    pub fn needs_values(&self) -> bool {
        self.decoder.needs_values()
    }

    /// Whether the result is complete before anything (more) is fed.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Pairs fed so far.
    pub fn scanned_rows(&self) -> u64 {
        self.scanned
    }

    /// Bytes held: undelivered rows, groups, candidates of a top-n.
    pub fn memory_bytes(&self) -> usize {
        self.input.memory_bytes()
            + self.ready.iter().map(Chunk::memory_bytes).sum::<usize>()
            + self.stages.iter().map(Stage::memory_bytes).sum::<usize>()
    }

    /// Takes the next pair of the scan.
    #[inline]
    pub fn feed(&mut self, key: &[u8], value: &[u8]) -> Result<Step> {
        if self.done {
            return Ok(Step::Done);
        }
        self.decoder.decode(self.plan.scan.columns(), key, value, &mut self.input)?;
        self.scanned += 1;
        self.buffered += 1;
        let at_limit = self.scan_limit == Some(self.scanned);
        if self.buffered < self.batch_rows && !at_limit {
            return Ok(Step::More);
        }
        self.process_batch()?;
        self.done |= at_limit;
        Ok(match (self.done, self.ready.is_empty()) {
            (true, _) => Step::Done,
            (false, false) => Step::ChunkReady,
            (false, true) => Step::More,
        })
    }

    /// Runs the batch through filters and stages.
    fn process_batch(&mut self) -> Result<()> {
        self.batch_rows = (self.batch_rows * 2).min(self.chunk_rows);
        let next = new_input(&self.plan, self.batch_rows);
        let mut batch = std::mem::replace(&mut self.input, next);
        let rows = std::mem::take(&mut self.buffered);
        if rows == 0 {
            return Ok(());
        }
        if batch.width() == 0 {
            batch = Chunk::without_columns(rows);
        } else {
            batch.set_rows(rows);
        }
        self.run_batch(batch)
    }

    /// Takes rows of the scan that were decoded elsewhere, in its order. An execution is fed in one of the two ways.
    pub fn feed_rows(&mut self, rows: Chunk) -> Result<Step> {
        if self.done {
            return Ok(Step::Done);
        }
        self.scanned += rows.rows() as u64;
        self.run_batch(rows)?;
        Ok(match (self.done, self.ready.is_empty()) {
            (true, _) => Step::Done,
            (false, false) => Step::ChunkReady,
            (false, true) => Step::More,
        })
    }

    fn run_batch(&mut self, batch: Chunk) -> Result<()> {
        let rows = batch.rows();
        let batch = if self.plan.filters.is_empty() {
            batch
        } else {
            self.selection.clear();
            self.selection.extend(0..rows as u32);
            for filter in &self.plan.filters {
                filter.filter(&self.eval, &batch, &mut self.selection)?;
                if self.selection.is_empty() {
                    return Ok(());
                }
            }
            if self.selection.len() == rows { batch } else { batch.gather(&self.selection) }
        };
        self.run_from(0, batch)
    }

    /// Pushes a chunk through the stages from `first` on; what comes out at the end is ready.
    fn run_from(&mut self, first: usize, mut chunk: Chunk) -> Result<()> {
        for (stage, op) in self.stages.iter_mut().zip(&self.plan.ops).skip(first) {
            match stage.push(op, chunk, &self.eval)? {
                Some(out) => chunk = out,
                None => {
                    self.done |= stage.is_satisfied();
                    return Ok(());
                }
            }
            self.done |= stage.is_satisfied();
        }
        if chunk.rows() > 0 {
            self.ready.push_back(chunk);
        }
        Ok(())
    }

    /// Ends the input: what is buffered is processed, and groups and top rows become chunks.
    pub fn finish(&mut self) -> Result<()> {
        if self.draining.is_some() {
            return Err(Error::InvalidPlan("an execution is finished once"));
        }
        if self.buffered > 0 {
            self.process_batch()?;
        }
        self.done = true;
        self.draining = Some(0);
        Ok(())
    }

    /// The next chunk of the result; `None` when more must be fed, or after `finish` when there is no more.
    pub fn take_chunk(&mut self) -> Result<Option<Chunk>> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Ok(Some(chunk));
            }
            let Some(stage) = self.draining else { return Ok(None) };
            if stage >= self.stages.len() {
                return Ok(None);
            }
            match self.stages[stage].drain(&self.plan.ops[stage], self.chunk_rows, &self.eval)? {
                Some(chunk) => self.run_from(stage + 1, chunk)?,
                None => self.draining = Some(stage + 1),
            }
        }
    }
}

fn new_input(plan: &DagPlan, rows: usize) -> Chunk {
    let columns = plan.scan.columns().iter().map(|column| types::Column::for_type(&column.ty, rows)).collect();
    Chunk::from_columns(columns)
}

impl std::fmt::Debug for DagExecution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DagExecution")
            .field("plan", &self.plan)
            .field("scanned", &self.scanned)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

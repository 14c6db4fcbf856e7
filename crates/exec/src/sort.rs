//! Sort, in memory as long as the quota allows, else by merging sorted runs from temporary files.
//!
//! ```text
//!   child ──▶ run being filled ──(quota or run size)──▶ sorted runs: in memory, or in files ──▶ k-way merge ──▶ chunks
//! ```
//!
//! Invariants
//! - A run is sorted when it is sealed; the merge takes equal keys from the earlier run first, so the sort is stable.
//! - Over the quota, at most one unsealed run, one row per file and one output chunk are in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use async_trait::async_trait;
use copr::SortKey;
use copr::sort_key::{KeyRows, push_sort_keys};
use types::{Chunk, FieldType};

use crate::memory::Reservation;
use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::spill::{SpillReader, SpillWriter};
use crate::{ExecCtx, Result};

/// A run is sealed at this size even within the quota: offsets inside a chunk are 32 bits wide.
const MAX_RUN_BYTES: usize = 512 << 20;

/// Sorting more rows than this takes longer than a worker should be kept.
const LONG_SORT_ROWS: usize = 1 << 14;
const OPERATOR: &str = "Sort";

/// Sorts all rows of its child.
pub(crate) struct Sort {
    by: PlanRef<[SortKey]>,
    types: PlanRef<[FieldType]>,
    child: Option<BoxOperator>,
    merge: Option<Merge>,
}

impl Sort {
    pub(crate) fn new(by: PlanRef<[SortKey]>, types: PlanRef<[FieldType]>, child: BoxOperator) -> Self {
        Self { by, types, child: Some(child), merge: None }
    }

    async fn collect(&mut self, ctx: &ExecCtx) -> Result<Merge> {
        let mut runs = Vec::new();
        let mut run = Run::new(&self.types);
        let mut reservation = ctx.memory.reserve(OPERATOR);
        let mut sealed_bytes = 0;
        let Some(mut child) = self.child.take() else { return Merge::new(runs, &self.types, reservation) };
        while let Some(chunk) = child.next(ctx).await? {
            ctx.checkpoint().await?;
            push_sort_keys(&self.by, &ctx.eval, &chunk, &mut run.keys)?;
            run.rows.append(&chunk);
            let bytes = run.memory_bytes();
            if !reservation.set_quietly(sealed_bytes + bytes) {
                if !ctx.vars.spill {
                    return Err(reservation.over_quota());
                }
                let full = std::mem::replace(&mut run, Run::new(&self.types));
                let types = self.types.clone();
                runs.push(SortedRun::File(ctx.run_blocking(OPERATOR, move || full.spill(&types)).await?));
                reservation.set_quietly(sealed_bytes);
            } else if bytes > MAX_RUN_BYTES {
                let full = std::mem::replace(&mut run, Run::new(&self.types));
                sealed_bytes += bytes;
                runs.push(SortedRun::Memory(full.seal_outside(ctx).await?));
            }
        }
        if run.rows.rows() > 0 {
            runs.push(SortedRun::Memory(run.seal_outside(ctx).await?));
        }
        Merge::new(runs, &self.types, reservation)
    }
}

#[async_trait]
impl Operator for Sort {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        ctx.checkpoint().await?;
        if self.merge.is_none() {
            self.merge = Some(self.collect(ctx).await?);
        }
        let Some(mut merge) = self.merge.take() else { return Ok(None) };
        let rows = ctx.vars.chunk_rows;
        if !merge.reads_files() {
            let chunk = merge.next(rows);
            self.merge = Some(merge);
            return chunk;
        }
        let (merge, chunk) = ctx.run_blocking(OPERATOR, move || merge.next(rows).map(|chunk| (merge, chunk))).await?;
        self.merge = Some(merge);
        Ok(chunk)
    }
}

/// A run being filled.
struct Run {
    rows: Chunk,
    keys: KeyRows,
}

impl Run {
    fn new(types: &[FieldType]) -> Self {
        Self { rows: Chunk::new(types, 0), keys: KeyRows::default() }
    }

    fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes() + self.keys.memory_bytes() + self.rows.rows() * size_of::<u32>()
    }

    fn order(&self) -> Vec<u32> {
        let mut order = (0..self.rows.rows() as u32).collect::<Vec<_>>();
        order.sort_unstable_by(|a, b| self.keys.get(*a as usize).cmp(self.keys.get(*b as usize)).then(a.cmp(b)));
        order
    }

    /// Sorts the run; a large one outside the async workers.
    async fn seal_outside(self, ctx: &ExecCtx) -> Result<MemoryRun> {
        if self.rows.rows() < LONG_SORT_ROWS { Ok(self.seal()) } else { ctx.run_blocking(OPERATOR, move || Ok(self.seal())).await }
    }

    fn seal(self) -> MemoryRun {
        let order = self.order();
        MemoryRun { rows: self.rows, keys: self.keys, order, next: 0 }
    }

    fn spill(self, types: &[FieldType]) -> Result<FileRun> {
        let mut writer = SpillWriter::create(OPERATOR, types)?;
        for row in self.order() {
            writer.write(self.keys.get(row as usize), self.rows.columns(), row as usize)?;
        }
        let reader = writer.finish()?.read()?;
        Ok(FileRun { reader, head: Chunk::new(types, 1) })
    }
}

struct MemoryRun {
    rows: Chunk,
    keys: KeyRows,
    order: Vec<u32>,
    next: usize,
}

struct FileRun {
    reader: SpillReader,
    /// The row whose key is in the merge's heap.
    head: Chunk,
}

enum SortedRun {
    Memory(MemoryRun),
    File(FileRun),
}

impl SortedRun {
    /// Moves to the next row and puts its key into `key`; false at the end.
    fn advance(&mut self, key: &mut Vec<u8>) -> Result<bool> {
        match self {
            SortedRun::Memory(run) => {
                let Some(row) = run.order.get(run.next) else { return Ok(false) };
                run.next += 1;
                key.clear();
                key.extend_from_slice(run.keys.get(*row as usize));
                Ok(true)
            }
            SortedRun::File(run) => {
                run.head.clear();
                run.reader.next(key, &mut run.head)
            }
        }
    }

    /// Appends the current row to `out`.
    fn emit(&self, out: &mut Chunk) {
        match self {
            SortedRun::Memory(run) => out.push_row_ref(run.rows.row(run.order[run.next - 1] as usize)),
            SortedRun::File(run) => out.push_row_ref(run.head.row(0)),
        }
    }
}

/// Merges sorted runs.
struct Merge {
    runs: Vec<SortedRun>,
    /// The current key of each run that is not at its end, smallest first.
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    types: Vec<FieldType>,
    _reservation: Reservation,
}

impl Merge {
    fn new(mut runs: Vec<SortedRun>, types: &[FieldType], reservation: Reservation) -> Result<Self> {
        let mut heap = BinaryHeap::new();
        if runs.len() > 1 || matches!(runs.first(), Some(SortedRun::File(_))) {
            for (at, run) in runs.iter_mut().enumerate() {
                let mut key = Vec::new();
                if run.advance(&mut key)? {
                    heap.push(Reverse((key, at)));
                }
            }
        }
        Ok(Self { runs, heap, types: types.to_vec(), _reservation: reservation })
    }

    fn reads_files(&self) -> bool {
        self.runs.iter().any(|run| matches!(run, SortedRun::File(_)))
    }

    fn next(&mut self, chunk_rows: usize) -> Result<Option<Chunk>> {
        // One run in memory, the usual case, needs no merge.
        if let [SortedRun::Memory(run)] = &mut self.runs[..] {
            let rows = &run.order[run.next..run.order.len().min(run.next + chunk_rows)];
            run.next += rows.len();
            return Ok((!rows.is_empty()).then(|| run.rows.gather(rows)));
        }
        let mut out = Chunk::new(&self.types, chunk_rows.min(1024));
        while out.rows() < chunk_rows {
            let Some(Reverse((mut key, at))) = self.heap.pop() else { break };
            self.runs[at].emit(&mut out);
            if self.runs[at].advance(&mut key)? {
                self.heap.push(Reverse((key, at)));
            }
        }
        Ok((out.rows() > 0).then_some(out))
    }
}

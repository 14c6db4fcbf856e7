//! Sort, in memory as long as the quota allows, else by merging sorted runs from temporary files.
//!
//! ```text
//!   child ──▶ run being filled ──(quota or run size)──▶ sorted runs: in memory, or in files ──▶ k-way merge ──▶ chunks
//! ```
//!
//! While rows come in only the leading part of their keys is made. It tells nearly all rows apart, so whole keys are made for the few
//! that it does not, or for all rows once more than one run is to be merged. Room for whole keys is reserved from the beginning.
//!
//! Invariants
//! - A run is sorted when it is sealed; the merge takes equal keys from the earlier run first, so the sort is stable.
//! - Over the quota, at most one unsealed run, one row per file and one output chunk are in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use async_trait::async_trait;
use copr::SortKey;
use copr::sort_key::{KeyRows, push_leading_keys, push_sort_keys};
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

/// Rows whose whole keys are made at a time.
const SLICE_ROWS: usize = 1024;

/// With more rows of equal leading keys than this, whole keys are made for all rows.
const MANY_TIES: usize = 4096;

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
        let sealer = Sealer { by: &self.by, types: &self.types, ctx };
        let mut sealed_bytes = 0;
        let Some(mut child) = self.child.take() else { return Merge::new(runs, &self.types, reservation) };
        while let Some(chunk) = child.next(ctx).await? {
            ctx.checkpoint().await?;
            run.push(&self.by, &chunk, ctx)?;
            let bytes = run.memory_bytes();
            if !reservation.set_quietly(sealed_bytes + bytes) {
                let full = std::mem::replace(&mut run, Run::new(&self.types));
                runs.push(sealer.spill(full, &reservation).await?);
                reservation.set_quietly(sealed_bytes);
            } else if bytes > MAX_RUN_BYTES {
                let full = std::mem::replace(&mut run, Run::new(&self.types));
                let sealed = sealer.seal(full, sealed_bytes, &mut reservation).await?;
                sealed_bytes += sealed.memory_bytes();
                runs.push(sealed);
            }
        }
        if run.rows.rows() > 0 {
            let order = if runs.is_empty() { run.order_alone(&self.by, ctx).await? } else { None };
            runs.push(match order {
                Some(order) => SortedRun::Memory(MemoryRun { rows: run.rows, keys: run.keys, order, next: 0 }),
                None => sealer.seal(run, sealed_bytes, &mut reservation).await?,
            });
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

/// Makes runs that can be merged.
struct Sealer<'a> {
    by: &'a [SortKey],
    types: &'a PlanRef<[FieldType]>,
    ctx: &'a ExecCtx,
}

impl Sealer<'_> {
    /// Keeps a run in memory, if its whole keys leave room for it.
    async fn seal(&self, mut run: Run, sealed_bytes: usize, reservation: &mut Reservation) -> Result<SortedRun> {
        run.make_keys_whole(self.by, self.ctx).await?;
        if !reservation.set_quietly(sealed_bytes + run.memory_bytes()) {
            return self.spill(run, reservation).await;
        }
        let order = run.order_outside(self.ctx).await?;
        Ok(SortedRun::Memory(MemoryRun { rows: run.rows, keys: run.keys, order, next: 0 }))
    }

    async fn spill(&self, mut run: Run, reservation: &Reservation) -> Result<SortedRun> {
        if !self.ctx.vars.spill {
            return Err(reservation.over_quota());
        }
        run.make_keys_whole(self.by, self.ctx).await?;
        let types = self.types.clone();
        Ok(SortedRun::File(self.ctx.run_blocking(OPERATOR, move || run.spill(&types)).await?))
    }
}

/// A run being filled.
struct Run {
    rows: Chunk,
    keys: KeyRows,
    /// About how many bytes more whole keys would take; with none, rows of equal keys are equal.
    cut_bytes: usize,
}

impl Run {
    fn new(types: &[FieldType]) -> Self {
        Self { rows: Chunk::new(types, 0), keys: KeyRows::default(), cut_bytes: 0 }
    }

    fn push(&mut self, by: &[SortKey], chunk: &Chunk, ctx: &ExecCtx) -> Result<()> {
        self.cut_bytes += push_leading_keys(by, &ctx.eval, chunk, &mut self.keys)?;
        self.rows.append(chunk);
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes() + self.keys.memory_bytes() + self.cut_bytes + self.rows.rows() * size_of::<u32>()
    }

    async fn make_keys_whole(&mut self, by: &[SortKey], ctx: &ExecCtx) -> Result<()> {
        if self.cut_bytes == 0 {
            return Ok(());
        }
        self.keys.clear();
        for start in (0..self.rows.rows()).step_by(SLICE_ROWS) {
            ctx.checkpoint().await?;
            let slice = self.rows.slice(start, self.rows.rows().min(start + SLICE_ROWS));
            push_sort_keys(by, &ctx.eval, &slice, &mut self.keys)?;
        }
        self.cut_bytes = 0;
        Ok(())
    }

    /// The rows in the order of their keys, and of arrival where these are equal.
    fn order(&self) -> Vec<u32> {
        let mut order = (0..self.rows.rows() as u32).collect::<Vec<_>>();
        order.sort_unstable_by(|a, b| self.key(*a).cmp(self.key(*b)).then(a.cmp(b)));
        order
    }

    fn key(&self, row: u32) -> &[u8] {
        self.keys.get(row as usize)
    }

    /// [`Run::order`]; of a large run outside the async workers.
    async fn order_outside(&mut self, ctx: &ExecCtx) -> Result<Vec<u32>> {
        if self.rows.rows() < LONG_SORT_ROWS {
            return Ok(self.order());
        }
        let run = std::mem::replace(self, Self::new(&[]));
        let (run, order) = ctx
            .run_blocking(OPERATOR, move || {
                let order = run.order();
                Ok((run, order))
            })
            .await?;
        *self = run;
        Ok(order)
    }

    /// The final order of the only run; `None` when whole keys are the cheaper way to it.
    async fn order_alone(&mut self, by: &[SortKey], ctx: &ExecCtx) -> Result<Option<Vec<u32>>> {
        let mut order = self.order_outside(ctx).await?;
        if self.cut_bytes == 0 {
            return Ok(Some(order));
        }
        let mut keys = KeyRows::default();
        for tied in order.chunk_by_mut(|a, b| self.key(*a) == self.key(*b)).filter(|tied| tied.len() > 1) {
            if keys.len() + tied.len() > MANY_TIES {
                return Ok(None);
            }
            let first = keys.len();
            push_sort_keys(by, &ctx.eval, &self.rows.gather(tied), &mut keys)?;
            let mut ranked: Vec<(usize, u32)> = (first..).zip(tied.iter().copied()).collect();
            ranked.sort_unstable_by(|a, b| keys.get(a.0).cmp(keys.get(b.0)).then(a.1.cmp(&b.1)));
            tied.iter_mut().zip(ranked).for_each(|(place, (_, row))| *place = row);
        }
        Ok(Some(order))
    }

    /// The keys are whole.
    fn spill(self, types: &[FieldType]) -> Result<FileRun> {
        let mut writer = SpillWriter::create(OPERATOR, types)?;
        for row in self.order() {
            writer.write(self.key(row), self.rows.columns(), row as usize)?;
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
    fn memory_bytes(&self) -> usize {
        match self {
            SortedRun::Memory(run) => run.rows.memory_bytes() + run.keys.memory_bytes() + run.order.len() * size_of::<u32>(),
            SortedRun::File(_) => 0,
        }
    }

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

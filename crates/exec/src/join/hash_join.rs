//! Hash join: one side in memory, the other streams past it.
//!
//! ```text
//!   within the quota    the build side becomes a table, the probe side streams past it
//!   over it             both sides go to 8 pairs of files by the hash of their keys; each pair is a join of its own, which is partitioned
//!                       again by the next bits if it does not fit either
//! ```
//!
//! Without keys this is a nested loop over the built side. What has no keys, and a `NOT IN` that must ask every row for NULLs, cannot be
//! partitioned: the built side must fit the statement's quota then, and there is a clear error otherwise, as for one key with too many rows.
//!
//! Invariants
//! - Nothing is handed up before the build side has been read to its end.
//! - Each row is in one pair of files, so that it is matched, or found to be unmatched, once.

use async_trait::async_trait;
use planner::physical::{JoinKind, Side};
use types::Chunk;

use crate::join::build_table::BuildTable;
use crate::join::partition::Partitions;
use crate::join::probe::Probe;
use crate::join::shape::JoinShape;
use crate::memory::Reservation;
use crate::operator::{BoxOperator, Operator};
use crate::spill::SpillReader;
use crate::{ExecCtx, Result};

const OPERATOR: &str = "HashJoin";
/// How often rows are partitioned before their key is given up as too frequent.
const MAX_DEPTH: u32 = 6;

/// Joins by hashing.
pub(crate) struct HashJoin {
    shape: JoinShape,
    /// What is still to be joined: first the children, then pairs of files.
    pending: Vec<Inputs>,
    pass: Option<Pass>,
}

/// Two inputs to join.
struct Inputs {
    build: Source,
    probe: Source,
    /// How often their rows have been partitioned.
    depth: u32,
}

/// Where rows come from.
enum Source {
    Child(BoxOperator),
    /// Taken out while it is read on another thread.
    File(Option<SpillReader>),
}

/// The join of two inputs of which one is in memory.
struct Pass {
    table: BuildTable,
    probe: Source,
    current: Option<Probe>,
    probe_done: bool,
    /// The next build row to look at for unmatched ones.
    unmatched_from: usize,
    /// Given back with the table.
    _reservation: Reservation,
}

impl HashJoin {
    /// `left` and `right` are the children; the shape says which is built.
    pub(crate) fn new(shape: JoinShape, left: BoxOperator, right: BoxOperator) -> Self {
        let (build, probe) = match shape.build {
            Side::Left => (left, right),
            Side::Right => (right, left),
        };
        let inputs = Inputs { build: Source::Child(build), probe: Source::Child(probe), depth: 0 };
        Self { shape, pending: vec![inputs], pass: None }
    }

    /// Reads a build side. Without a pass the inputs have been partitioned.
    async fn open(&mut self, mut inputs: Inputs, ctx: &ExecCtx) -> Result<Option<Pass>> {
        let mut table = BuildTable::new(&self.shape);
        let mut reservation = ctx.memory.reserve(OPERATOR);
        while let Some(chunk) = inputs.build.next(ctx).await? {
            ctx.checkpoint().await?;
            table.push(&chunk, &self.shape, &ctx.eval)?;
            if reservation.set_quietly(table.memory_bytes()) {
                continue;
            }
            if !ctx.vars.spill || self.shape.keys.is_empty() || self.shape.null_aware_keys > 0 || inputs.depth == MAX_DEPTH {
                return Err(reservation.over_quota());
            }
            let rows = table.rows;
            reservation.set_quietly(rows.memory_bytes());
            self.partition(rows, reservation, inputs, ctx).await?;
            return Ok(None);
        }
        if self.keeps_unmatched_build() {
            table.matched = vec![false; table.len()];
        }
        // An inner or semi join with nothing to find need not read the other side.
        let probe_done = table.len() == 0 && matches!(self.shape.kind, JoinKind::Inner | JoinKind::Semi);
        Ok(Some(Pass { table, probe: inputs.probe, current: None, probe_done, unmatched_from: 0, _reservation: reservation }))
    }

    /// Writes both sides to files; `rows` have been read from the build side already.
    async fn partition(&mut self, rows: Chunk, reservation: Reservation, inputs: Inputs, ctx: &ExecCtx) -> Result<()> {
        let Inputs { mut build, mut probe, depth } = inputs;
        let mut files = Partitions::create(OPERATOR, &self.shape, self.shape.build, depth)?;
        files.push(&rows, &self.shape, &ctx.eval)?;
        drop((rows, reservation));
        while let Some(chunk) = build.next(ctx).await? {
            ctx.checkpoint().await?;
            files.push(&chunk, &self.shape, &ctx.eval)?;
        }
        let built = files.finish()?;
        let mut files = Partitions::create(OPERATOR, &self.shape, self.shape.probe_side(), depth)?;
        while let Some(chunk) = probe.next(ctx).await? {
            ctx.checkpoint().await?;
            files.push(&chunk, &self.shape, &ctx.eval)?;
        }
        for (build, probe) in built.into_iter().zip(files.finish()?) {
            if build.rows() > 0 || probe.rows() > 0 {
                let (build, probe) = (Source::File(Some(build.read()?)), Source::File(Some(probe.read()?)));
                self.pending.push(Inputs { build, probe, depth: depth + 1 });
            }
        }
        Ok(())
    }

    fn keeps_unmatched_build(&self) -> bool {
        self.shape.kind == JoinKind::LeftOuter && self.shape.build == Side::Left
    }
}

#[async_trait]
impl Operator for HashJoin {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        let keeps_unmatched = self.keeps_unmatched_build();
        loop {
            ctx.checkpoint().await?;
            let Some(pass) = &mut self.pass else {
                let Some(inputs) = self.pending.pop() else { return Ok(None) };
                self.pass = self.open(inputs, ctx).await?;
                continue;
            };
            if let Some(chunk) = pass.next(&self.shape, keeps_unmatched, ctx).await? {
                return Ok(Some(chunk));
            }
            self.pass = None;
        }
    }
}

impl Pass {
    async fn next(&mut self, shape: &JoinShape, keeps_unmatched: bool, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        loop {
            ctx.checkpoint().await?;
            if let Some(probe) = &mut self.current {
                if let Some(chunk) = probe.next(shape, &mut self.table, ctx.vars.chunk_rows, &ctx.eval)? {
                    return Ok(Some(chunk));
                }
                self.current = None;
            }
            if self.probe_done {
                return Ok(if keeps_unmatched { self.next_unmatched(shape, ctx.vars.chunk_rows) } else { None });
            }
            match self.probe.next(ctx).await? {
                Some(chunk) => self.current = Some(Probe::new(chunk, shape, &ctx.eval)?),
                None => self.probe_done = true,
            }
        }
    }

    /// Build rows of a left outer join that no probe row matched.
    fn next_unmatched(&mut self, shape: &JoinShape, chunk_rows: usize) -> Option<Chunk> {
        let mut rows = Vec::new();
        while self.unmatched_from < self.table.len() && rows.len() < chunk_rows {
            if !self.table.matched[self.unmatched_from] {
                rows.push(self.unmatched_from as u32);
            }
            self.unmatched_from += 1;
        }
        (!rows.is_empty()).then(|| shape.pad_right(self.table.rows.gather(&rows)))
    }
}

impl Source {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        match self {
            Source::Child(child) => child.next(ctx).await,
            Source::File(file) => {
                let Some(mut reader) = file.take() else { return Ok(None) };
                let rows = ctx.vars.chunk_rows;
                let (reader, chunk) = ctx.run_blocking(OPERATOR, move || reader.next_chunk(rows).map(|chunk| (reader, chunk))).await?;
                if chunk.is_some() {
                    *file = Some(reader);
                }
                Ok(chunk)
            }
        }
    }
}

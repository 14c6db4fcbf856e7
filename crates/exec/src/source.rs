//! Where the chunks of a pushed-down plan come from.
//!
//! ```text
//!   no own writes in the ranges      Snapshot::dag ── runs beside the data
//!   own writes in the ranges         snapshot ⊕ own writes ── pairs ──▶ DagExecution here
//! ```
//!
//! Invariant: both ways yield the same rows for the same data; the second sees the transaction's writes as they were when the
//! source was opened, so a statement never sees its own.

use std::sync::Arc;

use base::KeyRange;
use client::{DagStream, ScanOptions, TxnScanner};
use copr::{DagExecution, DagPlan, DagRequest, Step};
use types::Chunk;

use crate::{ExecCtx, Result};

/// Rows per page of a merged scan.
const PAGE_ROWS: usize = 256;

/// How a source reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SourceOptions {
    /// From the last key to the first.
    pub(crate) desc: bool,
    /// The consumer expects to stop after about this many rows.
    pub(crate) limit_hint: Option<u64>,
}

/// The chunks of one pushed-down plan over some ranges.
pub(crate) enum DagSource {
    /// Runs beside the data.
    Stream(Box<DagStream>),
    /// Runs here over the transaction's view.
    Merged(Box<MergedScan>),
}

impl DagSource {
    /// Opens a source over ranges (ascending and disjoint).
    pub(crate) async fn open(plan: &Arc<DagPlan>, ranges: Vec<KeyRange>, options: SourceOptions, ctx: &ExecCtx) -> Result<Self> {
        let request = DagRequest {
            plan: plan.clone(),
            ranges,
            desc: options.desc,
            eval: ctx.eval.clone(),
            limit_hint: options.limit_hint,
            chunk_rows: ctx.vars.chunk_rows,
        };
        if let Some(txn) = &ctx.txn {
            let txn = txn.lock().await;
            if request.ranges.iter().any(|range| txn.is_dirty(range)) {
                let execution = DagExecution::new(&request)?;
                let scan = ScanOptions { reverse: options.desc, key_only: !execution.needs_values(), batch: PAGE_ROWS, limit: None };
                let snapshot = ctx.snapshot();
                let mut scanners =
                    request.ranges.iter().map(|range| txn.scan_over(snapshot.clone(), range.clone(), scan)).collect::<Vec<_>>();
                // Taken from the end.
                if !options.desc {
                    scanners.reverse();
                }
                return Ok(Self::Merged(Box::new(MergedScan { execution, scanners, finished: false })));
            }
        }
        Ok(Self::Stream(Box::new(ctx.snapshot().dag(request))))
    }

    /// The next chunk.
    pub(crate) async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        match self {
            Self::Stream(stream) => Ok(stream.next().await?),
            Self::Merged(scan) => scan.next(ctx).await,
        }
    }
}

/// A pushed-down plan over the transaction's own view.
pub(crate) struct MergedScan {
    execution: DagExecution,
    /// Scanners of the ranges that are left, the next one last.
    scanners: Vec<TxnScanner>,
    finished: bool,
}

impl MergedScan {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        loop {
            if let Some(chunk) = self.execution.take_chunk()? {
                return Ok(Some(chunk));
            }
            if self.finished {
                return Ok(None);
            }
            ctx.checkpoint().await?;
            if !self.feed_page().await? {
                self.execution.finish()?;
                self.finished = true;
            }
        }
    }

    /// Feeds the next page; false when the input is over or no more of it is wanted.
    async fn feed_page(&mut self) -> Result<bool> {
        if self.execution.is_done() {
            return Ok(false);
        }
        let Some(scanner) = self.scanners.last_mut() else { return Ok(false) };
        let Some(page) = scanner.next_page().await? else {
            self.scanners.pop();
            return Ok(true);
        };
        for (key, value) in &page {
            if self.execution.feed(key, value)? == Step::Done {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

//! Running a pushed-down plan beside the data, page by page.
//!
//! ```text
//!   next() ─▶ scanner over the next range ─▶ rows ─▶ DagExecution ─▶ chunk
//!                │ page of rows on this task, then a point where other tasks may run
//!                ├ a block is not in the cache ─▶ this page on the read pool, then back
//!                ├ the stores are in other processes ─▶ they run what they can of the plan (`pushed_down`), or their rows are fetched as scans
//!                │                                      are (`remote_pages`)
//!                └ a lock ─▶ resolve, go on behind the last row
//! ```
//!
//! Invariants:
//! - Every row of the ranges is fed exactly once, in key order (or its reverse), whatever interrupts the scan.
//! - After each page the timestamp is checked against the safe point: compaction may have taken versions while the page was read.

use std::sync::Arc;

use base::KeyRange;
use copr::{DagExecution, DagRequest, Step};
use engine::ReadTier;
use proto::kvrpcpb::LockInfo;
use pushdown::PushedPlan;
use txn::{RangeScanner, ScanSettings};
use types::Chunk;

use crate::{
    error::{Error, Result},
    pushed_down::PushedRows,
    remote_pages::RemotePages,
    resolver::ReadContext,
    scanner::successor,
    snapshot::{Snapshot, take_turns},
    store::Store,
};

/// Rows between two points where the task may yield.
const PAGE_ROWS: usize = 512;

/// Chunks of one execution.
pub struct DagStream {
    snapshot: Snapshot,
    request: DagRequest,
    /// Absent only while a page runs on the read pool, or when that failed.
    execution: Option<DagExecution>,
    /// Ranges not begun, the next one last.
    ranges: Vec<KeyRange>,
    /// What is left of the range being scanned.
    current: Option<KeyRange>,
    scanner: Option<PageScanner>,
    context: ReadContext,
    /// Rows of a store in another process.
    remote: RemotePages,
    /// Rows of that part of the plan which stores in other processes run.
    pushed: Option<Box<PushedRows>>,
    finished: bool,
}

/// A scanner over whichever engine the store has.
enum PageScanner {
    Rocks(RangeScanner<engine::RocksEngine>),
    Memory(RangeScanner<engine::MemEngine>),
}

/// Why a page ended.
enum PageEnd {
    /// Enough rows for now.
    Full,
    /// A chunk can be taken.
    Chunk,
    /// The execution wants no more rows.
    Satisfied,
    /// The range is at its end.
    RangeEnd,
    /// The next row is not in memory.
    WouldBlock,
    /// The next row is locked.
    Locked(Box<LockInfo>),
}

impl DagStream {
    pub(crate) fn new(snapshot: Snapshot, mut request: DagRequest) -> Self {
        let pushed = push_down(&snapshot, &mut request);
        let mut ranges = request.ranges.clone();
        if !request.desc {
            ranges.reverse();
        }
        let remote = RemotePages::new(request.limit_hint);
        let context = ReadContext::default();
        Self { snapshot, request, execution: None, ranges, current: None, scanner: None, context, remote, pushed, finished: false }
    }

    /// The next chunk of the result; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Chunk>> {
        if self.execution.is_none() && !self.finished {
            let execution = DagExecution::new(&self.request)?;
            self.finished = execution.is_done() && self.request.ranges.is_empty();
            self.execution = Some(execution);
        }
        let snapshot = self.snapshot.clone();
        let mut backoff = snapshot.backoff();
        loop {
            let Some(execution) = &mut self.execution else { return Ok(None) };
            if let Some(chunk) = execution.take_chunk()? {
                return Ok(Some(chunk));
            }
            if self.finished {
                self.execution = None;
                return Ok(None);
            }
            if execution.is_done() {
                self.finish()?;
                continue;
            }
            backoff.check()?;
            if let Some(pushed) = &mut self.pushed {
                match Box::pin(pushed.next()).await? {
                    Some(rows) => self.feed_rows(rows)?,
                    None => self.finish()?,
                }
                continue;
            }
            if !self.next_range().await? {
                self.finish()?;
                continue;
            }
            let end = match snapshot.client().store().is_embedded() {
                true => self.run_page()?,
                false => Box::pin(self.run_remote_page()).await?,
            };
            match end {
                PageEnd::Full | PageEnd::Chunk => take_turns().await,
                PageEnd::Satisfied => self.finish()?,
                PageEnd::RangeEnd => {
                    self.scanner = None;
                    self.current = None;
                }
                PageEnd::WouldBlock => {
                    self.note_position();
                    self.run_page_on_read_pool().await?;
                }
                PageEnd::Locked(lock) => {
                    self.note_position();
                    snapshot.client().resolve_for_read(&[*lock], snapshot.ts(), &mut self.context, &mut backoff).await?;
                }
            }
        }
    }

    /// Takes rows of the stores' part of the plan.
    fn feed_rows(&mut self, rows: Vec<Chunk>) -> Result<()> {
        let Some(execution) = &mut self.execution else { return Ok(()) };
        for chunk in rows {
            if execution.feed_rows(chunk)? == Step::Done {
                return self.finish();
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.pushed = None;
        self.scanner = None;
        self.finished = true;
        if let Some(execution) = &mut self.execution {
            execution.finish()?;
        }
        Ok(())
    }

    /// Goes to the next range if the current one is done with; `false` when there is none.
    async fn next_range(&mut self) -> Result<bool> {
        if self.current.is_none() {
            let Some(range) = self.ranges.pop() else { return Ok(false) };
            self.snapshot.client().store().prepare_scan(&range, self.snapshot.ts()).await?;
            self.current = Some(range);
        }
        Ok(true)
    }

    /// How the rest of the current range is scanned.
    fn scan_settings(&self, tier: ReadTier) -> ScanSettings {
        ScanSettings {
            range: self.current.clone().unwrap_or_default(),
            ts: self.snapshot.ts(),
            reverse: self.request.desc,
            ignored_locks: self.context.ignored().to_vec(),
            committed_locks: self.context.committed().to_vec(),
            not_fill_cache: self.snapshot.options().not_fill_cache,
            tier,
        }
    }

    /// Shortens the current range to what has not been fed, and gives the scanner up.
    fn note_position(&mut self) {
        let Some(scanner) = self.scanner.take() else { return };
        if let (Some(last), Some(current)) = (scanner.last_key(), &mut self.current) {
            match self.request.desc {
                false => current.start = successor(last),
                true => current.end = last.to_vec().into(),
            }
        }
    }

    fn run_page(&mut self) -> Result<PageEnd> {
        if self.scanner.is_none() {
            match PageScanner::open(self.snapshot.client().store(), self.scan_settings(ReadTier::CacheOnly)) {
                Err(error) if error.is_would_block() => return Ok(PageEnd::WouldBlock),
                scanner => self.scanner = Some(scanner?),
            }
        }
        match (&mut self.scanner, &mut self.execution) {
            (Some(scanner), Some(execution)) => scanner.run_page(execution),
            _ => Ok(PageEnd::Satisfied),
        }
    }

    /// Feeds rows of a store in another process: those that were fetched, else a new page of what is left of the range.
    async fn run_remote_page(&mut self) -> Result<PageEnd> {
        let (Some(execution), Some(current)) = (&mut self.execution, &mut self.current) else { return Ok(PageEnd::Satisfied) };
        if self.remote.is_empty() {
            if self.remote.is_range_done() {
                self.remote.begin_range();
                return Ok(PageEnd::RangeEnd);
            }
            self.remote.fetch(&self.snapshot, &self.context, current, self.request.desc).await?;
        }
        while let Some((key, value)) = self.remote.next() {
            match execution.feed(&key, &value)? {
                Step::More => {}
                Step::ChunkReady => return Ok(PageEnd::Chunk),
                Step::Done => return Ok(PageEnd::Satisfied),
            }
        }
        Ok(self.remote.take_lock().map_or(PageEnd::Full, PageEnd::Locked))
    }

    /// Runs pages where waiting for the disk is allowed, until a chunk is ready or something else must happen.
    async fn run_page_on_read_pool(&mut self) -> Result<()> {
        let Some(mut execution) = self.execution.take() else { return Ok(()) };
        let settings = self.scan_settings(ReadTier::Any);
        let store = self.snapshot.client().store().clone();
        let cancel = self.snapshot.options().cancel.clone();
        let job = move || {
            let mut scanner = PageScanner::open(&store, settings)?;
            loop {
                match scanner.run_page(&mut execution)? {
                    PageEnd::Full if cancel.reason().is_none() => {}
                    end => return Ok::<_, Error>((scanner, execution, end)),
                }
            }
        };
        let stopped = || Error::StoreFailed { reason: "the read pool has stopped".to_owned() };
        let (scanner, execution, end) = self.snapshot.client().env().run_blocking(job).await.ok_or_else(stopped)??;
        self.scanner = Some(scanner);
        self.execution = Some(execution);
        match end {
            // The next page tries the cache again.
            PageEnd::Full | PageEnd::Chunk => self.note_position(),
            PageEnd::Satisfied => self.finish()?,
            PageEnd::RangeEnd => {
                self.scanner = None;
                self.current = None;
            }
            PageEnd::WouldBlock => return Err(Error::StoreFailed { reason: "a read that may wait did not".to_owned() }),
            // Met again, and resolved, by the next page.
            PageEnd::Locked(_) => self.note_position(),
        }
        Ok(())
    }
}

/// Has stores in other processes run what they can of a plan; the request is left with the rest.
fn push_down(snapshot: &Snapshot, request: &mut DagRequest) -> Option<Box<PushedRows>> {
    let Store::Cluster(store) = snapshot.client().store() else { return None };
    let plan = PushedPlan::of(&request.plan, request.desc, &request.eval)?;
    let rows = PushedRows::new(store.clone(), snapshot.clone(), request, &plan);
    request.plan = Arc::new(plan.rest);
    Some(Box::new(rows))
}

impl PageScanner {
    fn open(store: &Store, settings: ScanSettings) -> txn::Result<Self> {
        Ok(match store {
            Store::Rocks(storage) => Self::Rocks(storage.open_scanner(settings)?),
            Store::Memory(storage) => Self::Memory(storage.open_scanner(settings)?),
            Store::Cluster(_) => return Err(txn::Error::InvalidRequest("a store in another process has no scanner here")),
        })
    }

    fn last_key(&self) -> Option<&[u8]> {
        match self {
            Self::Rocks(scanner) => scanner.last_key(),
            Self::Memory(scanner) => scanner.last_key(),
        }
    }

    fn run_page(&mut self, execution: &mut DagExecution) -> Result<PageEnd> {
        match self {
            Self::Rocks(scanner) => feed_page(scanner, execution),
            Self::Memory(scanner) => feed_page(scanner, execution),
        }
    }
}

/// Feeds up to a page of rows.
fn feed_page<E: engine::Engine>(scanner: &mut RangeScanner<E>, execution: &mut DagExecution) -> Result<PageEnd> {
    let end = loop_page(scanner, execution)?;
    scanner.check_safe_point()?;
    Ok(end)
}

fn loop_page<E: engine::Engine>(scanner: &mut RangeScanner<E>, execution: &mut DagExecution) -> Result<PageEnd> {
    for _ in 0..PAGE_ROWS {
        match scanner.next() {
            Ok(Some((key, value))) => match execution.feed(key, value)? {
                Step::More => {}
                Step::ChunkReady => return Ok(PageEnd::Chunk),
                Step::Done => return Ok(PageEnd::Satisfied),
            },
            Ok(None) => return Ok(PageEnd::RangeEnd),
            Err(txn::Error::KeyIsLocked(lock)) => return Ok(PageEnd::Locked(lock)),
            Err(error) if error.is_would_block() => return Ok(PageEnd::WouldBlock),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(PageEnd::Full)
}

//! Plans pushed down by SQL servers, run beside the data.
//!
//! ```text
//!   request ─▶ region, plan and ranges right? ─▶ a place ─▶ read pool: scanner ─▶ DagExecution ─▶ rows ─▶ answer
//!                                                              └ enough rows, bytes or time ─▶ what was read, and the rest later
//! ```
//!
//! A client that asks for pages gets answers of bounded size: an answer ends early, says which range it is of, and the client asks again for the
//! rest. Each page is an execution of its own: aggregates come as partial groups, limits and top-n are applied again by the client.
//!
//! Invariants:
//! - A lock in the way is the whole answer: no rows come with it.
//! - The region's permission is confirmed after the rows were read, and the safe point is looked at after every few hundred rows.
//! - Work for a client that has gone stops at the next few hundred rows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use base::{KeyRange, TimeStamp};
use bytes::{BufMut, Bytes, BytesMut};
use copr::{DagExecution, DagRequest, Step};
use engine::{Engine, ReadTier};
use env::{Env, Instant};
use prost::Message as _;
use proto::{coprocessor, kvrpcpb::LockInfo, tipb};
use pushdown::StoreRequest;
use raftstore::RegionEngine;
use tokio::sync::Semaphore;
use txn::{RangeScanner, ScanSettings, Storage};
use types::FieldType;

use crate::{
    commands::{Entered, Kv},
    refusal::{Refusal, busy},
};

/// `tp` of a request with a DAG of executors.
const DAG: i64 = 103;
/// Rows between two looks at the client, the time and the size of the answer.
const STRIDE_ROWS: usize = 512;
/// A page ends with so many bytes of rows.
const PAGE_BYTES: usize = 8 << 20;
/// A page ends when the execution holds so many bytes.
const PAGE_HELD_BYTES: usize = 32 << 20;
/// A page ends after this time.
const PAGE_TIME: Duration = Duration::from_secs(2);
/// What an answer may be that must not end early.
const LARGEST_ANSWER_BYTES: usize = 100 << 20;
/// Time for an answer that must not end early, when the client does not say.
const DEFAULT_TIME: Duration = Duration::from_secs(60);
/// Plans that wait for a place; who comes then is sent away for a while.
const MOST_WAITING: usize = 1024;

/// What pushed-down plans of a store share.
pub(crate) struct PushedDown {
    /// Places on the read pool.
    places: Semaphore,
    waiting: AtomicUsize,
    requests: AtomicU64,
    scanned_rows: AtomicU64,
    answered_rows: AtomicU64,
}

impl Default for PushedDown {
    fn default() -> Self {
        // Some of them wait for the disk.
        let places = std::thread::available_parallelism().map_or(4, |cores| cores.get() * 2);
        Self {
            places: Semaphore::new(places),
            waiting: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            scanned_rows: AtomicU64::new(0),
            answered_rows: AtomicU64::new(0),
        }
    }
}

impl PushedDown {
    /// Plans run, rows they read, rows they answered.
    pub(crate) fn counts(&self) -> [u64; 3] {
        [&self.requests, &self.scanned_rows, &self.answered_rows].map(|count| count.load(Ordering::Relaxed))
    }
}

/// Why there is no answer.
enum Failure {
    Locked(Box<LockInfo>),
    Store(txn::Error),
    /// An expression failed: the statement's error.
    Statement(types::MysqlError),
    Request(String),
}

impl From<copr::Error> for Failure {
    fn from(error: copr::Error) -> Self {
        match error {
            copr::Error::Expr(_) | copr::Error::Types(_) => Self::Statement(error.to_mysql()),
            error => Self::Request(error.to_string()),
        }
    }
}

impl From<txn::Error> for Failure {
    fn from(error: txn::Error) -> Self {
        match error {
            txn::Error::KeyIsLocked(lock) => Self::Locked(lock),
            error => Self::Store(error),
        }
    }
}

/// Tells the job that nobody waits for it.
struct StopWhenDropped(Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One of those who wait for a place.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<E: Engine> Kv<E> {
    pub(crate) async fn run_pushed_down(&self, request: coprocessor::Request) -> Result<coprocessor::Response, Refusal> {
        let Entered { permit } = self.enter(&request).await?;
        if request.tp != DAG {
            return Err(Refusal::Request(format!("requests of kind {} are not supported by this store", request.tp)));
        }
        let words = tipb::DagRequest::decode(request.data.clone()).map_err(|error| Refusal::Request(error.to_string()))?;
        let plan = StoreRequest::decode(&words).map_err(|error| Refusal::Request(error.to_string()))?;
        let storage = self.inner().storages.get(&permit).await?;
        let ts = TimeStamp(request.start_ts);
        if ts.is_max() || ts == TimeStamp::ZERO {
            return Err(Refusal::Request("a pushed-down plan needs a timestamp".to_owned()));
        }
        let ranges: Vec<KeyRange> = request.ranges.iter().map(|range| KeyRange::new(range.start.clone(), range.end.clone())).collect();
        for range in &ranges {
            storage.prepare_scan(range, ts).await.map_err(|error| self.refusal(&permit, error))?;
        }
        let shared = &self.inner().pushed_down;
        let waiting = Waiting(&shared.waiting);
        if shared.waiting.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING {
            let reason = "too many pushed-down plans wait".to_owned();
            return Err(Refusal::region(&reason, |error| error.server_is_busy = Some(busy(reason.clone()))));
        }
        let Ok(_place) = shared.places.acquire().await else { return Err(Refusal::Request("the store is going down".to_owned())) };
        drop(waiting);
        let stop = StopWhenDropped(Arc::default());
        let job = Job::new(self.inner().env.clone(), &request, plan, ranges, stop.0.clone());
        let ran = self.inner().env.run_blocking(move || job.run(&storage)).await;
        let ran = ran.ok_or_else(|| Refusal::Request("the execution of a pushed-down plan has failed".to_owned()))?;
        self.inner().raft.confirm(&permit).await?;
        shared.requests.fetch_add(1, Ordering::Relaxed);
        match ran {
            Ok(page) => {
                shared.scanned_rows.fetch_add(page.scanned_rows, Ordering::Relaxed);
                shared.answered_rows.fetch_add(page.answered_rows, Ordering::Relaxed);
                let data = page.answer.encode_to_vec().into();
                Ok(coprocessor::Response { data, range: page.read, ..Default::default() })
            }
            Err(Failure::Locked(lock)) => Ok(coprocessor::Response { locked: Some(lock), ..Default::default() }),
            Err(Failure::Store(error)) => Err(self.refusal(&permit, error)),
            Err(Failure::Statement(error)) => {
                let error = tipb::Error { code: i32::from(error.code), msg: error.message };
                let answer = tipb::SelectResponse { error: Some(Box::new(error)), ..Default::default() };
                Ok(coprocessor::Response { data: answer.encode_to_vec().into(), ..Default::default() })
            }
            Err(Failure::Request(message)) => Err(Refusal::Request(message)),
        }
    }
}

/// A plan on its way over its ranges.
struct Job {
    env: Env,
    request: DagRequest,
    outputs: Vec<usize>,
    columns: Vec<FieldType>,
    /// What a scan of the first range would be.
    settings: ScanSettings,
    /// Rows of a page; `None` when the answer must not end early.
    page_rows: Option<u64>,
    until: Instant,
    stop: Arc<AtomicBool>,
    answer: tipb::SelectResponse,
    answered_rows: u64,
    answered_bytes: usize,
}

/// What has been read.
struct Page {
    answer: tipb::SelectResponse,
    /// The range the answer is of, when it is not all that was asked for.
    read: Option<coprocessor::KeyRange>,
    scanned_rows: u64,
    answered_rows: u64,
}

/// Why a stride ended.
enum StrideEnd {
    Full,
    Satisfied,
    RangeEnd,
}

impl Job {
    fn new(env: Env, request: &coprocessor::Request, plan: StoreRequest, ranges: Vec<KeyRange>, stop: Arc<AtomicBool>) -> Self {
        let context = request.context.as_deref();
        let page_rows = (request.paging_size > 0).then_some(request.paging_size);
        let time = match (page_rows, context.map_or(0, |context| context.max_execution_duration_ms)) {
            (Some(_), _) => PAGE_TIME,
            (None, 0) => DEFAULT_TIME,
            (None, limit) => Duration::from_millis(limit),
        };
        let settings = ScanSettings {
            range: KeyRange::default(),
            ts: TimeStamp(request.start_ts),
            reverse: plan.desc,
            ignored_locks: context.map_or_else(Vec::new, |context| context.resolved_locks.clone()),
            committed_locks: context.map_or_else(Vec::new, |context| context.committed_locks.clone()),
            not_fill_cache: context.is_some_and(|context| context.not_fill_cache),
            tier: ReadTier::Any,
        };
        let StoreRequest { plan, desc, outputs, columns, eval } = plan;
        let request = DagRequest { desc, ..DagRequest::new(Arc::new(plan), ranges, Arc::new(eval)) };
        let until = env.now() + time;
        let answer = tipb::SelectResponse::default();
        Self { env, request, outputs, columns, settings, page_rows, until, stop, answer, answered_rows: 0, answered_bytes: 0 }
    }

    fn run<E: Engine>(mut self, storage: &Storage<RegionEngine<E>>) -> Result<Page, Failure> {
        let mut execution = DagExecution::new(&self.request)?;
        let mut ranges = self.request.ranges.clone();
        if self.request.desc {
            ranges.reverse();
        }
        let mut last = None;
        'ranges: for range in ranges {
            if execution.is_done() {
                break;
            }
            let mut scanner = storage.open_scanner(ScanSettings { range, ..self.settings.clone() })?;
            loop {
                let end = stride(&mut scanner, &mut execution)?;
                scanner.check_safe_point()?;
                self.collect(&mut execution)?;
                match end {
                    StrideEnd::RangeEnd => break,
                    StrideEnd::Satisfied => break 'ranges,
                    StrideEnd::Full if self.is_page_full(&execution)? => {
                        last = scanner.last_key().map(Bytes::copy_from_slice);
                        break 'ranges;
                    }
                    StrideEnd::Full => {}
                }
            }
        }
        execution.finish()?;
        self.collect(&mut execution)?;
        let warnings = &self.request.eval.warnings;
        self.answer.warning_count = warnings.count() as i64;
        let warning = |warning: expr::Warning| tipb::Error { code: i32::from(warning.code), msg: warning.message };
        self.answer.warnings = warnings.take().into_iter().map(warning).collect();
        let read = last.map(|key| self.range_up_to(&key));
        Ok(Page { answer: self.answer, read, scanned_rows: execution.scanned_rows(), answered_rows: self.answered_rows })
    }

    /// The part of the request's ranges that ends, in the direction of the scan, with a key.
    fn range_up_to(&self, key: &Bytes) -> coprocessor::KeyRange {
        let first = self.request.ranges.first().cloned().unwrap_or_default();
        let last = self.request.ranges.last().cloned().unwrap_or_default();
        match self.request.desc {
            false => {
                let mut behind = BytesMut::with_capacity(key.len() + 1);
                behind.put_slice(key);
                behind.put_u8(0);
                coprocessor::KeyRange { start: first.start, end: behind.freeze() }
            }
            true => coprocessor::KeyRange { start: key.clone(), end: last.end },
        }
    }

    /// Takes over the rows that are ready.
    fn collect(&mut self, execution: &mut DagExecution) -> Result<(), Failure> {
        while let Some(chunk) = execution.take_chunk()? {
            let mut rows = Vec::new();
            pushdown::datum::write_rows(&mut rows, &chunk, &self.outputs, &self.columns);
            self.answered_rows += chunk.rows() as u64;
            self.answered_bytes += rows.len();
            self.answer.chunks.push(tipb::Chunk { rows_data: rows.into() });
            if self.answered_bytes > LARGEST_ANSWER_BYTES {
                return Err(Failure::Request(format!("the answer is larger than {LARGEST_ANSWER_BYTES} bytes; ask for pages")));
            }
        }
        Ok(())
    }

    /// Whether the answer ends here; an error when it must not and cannot go on.
    fn is_page_full(&self, execution: &DagExecution) -> Result<bool, Failure> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::Request("the client has gone".to_owned()));
        }
        let is_out_of_time = self.env.now() >= self.until;
        let held = execution.memory_bytes();
        match self.page_rows {
            Some(rows) => {
                let is_large = self.answered_rows >= rows || self.answered_bytes >= PAGE_BYTES || held >= PAGE_HELD_BYTES;
                Ok(is_large || is_out_of_time)
            }
            None if is_out_of_time => Err(Failure::Request("the time for the request is over".to_owned())),
            None if held > LARGEST_ANSWER_BYTES => {
                Err(Failure::Request(format!("the plan holds more than {LARGEST_ANSWER_BYTES} bytes; ask for pages")))
            }
            None => Ok(false),
        }
    }
}

/// Feeds some hundred rows.
fn stride<E: Engine>(scanner: &mut RangeScanner<E>, execution: &mut DagExecution) -> Result<StrideEnd, Failure> {
    for _ in 0..STRIDE_ROWS {
        let Some((key, value)) = scanner.next()? else { return Ok(StrideEnd::RangeEnd) };
        if execution.feed(key, value)? == Step::Done {
            return Ok(StrideEnd::Satisfied);
        }
    }
    Ok(StrideEnd::Full)
}

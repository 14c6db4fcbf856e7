//! A pushed-down plan over the stores of a cluster: regions are asked beside each other, their rows come in the order of the scan.
//!
//! ```text
//!   ranges ─▶ parts, one a region:  [r1] [r2] [r3] …  not cut yet
//!                                     │    │    └ asked: a page at a time, as many parts beside each other as the window lets
//!                                     │    └ its page waits for its turn
//!                                     └ the first part's pages are handed on ─▶ what is left of the plan
//! ```
//!
//! A part that is found to lie in several regions by now is read one region after the other. Parts that wait hold one page each, so that a reader who
//! stops has little fetched for nothing and a slow reader holds little; a plan that may stop early begins with one part at a time.
//!
//! Invariants:
//! - Every row of the ranges goes into exactly one page, whatever splits, moves or is locked meanwhile.
//! - When the reader goes, so do the requests.

use std::{collections::VecDeque, sync::Arc};

use base::KeyRange;
use bytes::Bytes;
use codec::table::{RECORD_PREFIX_LEN, decode_table_id, int_record_key};
use env::BoxFuture;
use expr::{EvalCtx, Warning, WarningLevel};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use prost::Message as _;
use proto::{coprocessor, tipb};
use pushdown::PushedPlan;
use types::{Chunk, FieldType};

use crate::{
    cluster::{ClusterStore, Ranges},
    error::{Error, Result},
    resolver::ReadContext,
    snapshot::Snapshot,
};

/// `tp` of a request with a DAG of executors.
const DAG: i64 = 103;
/// Parts that are asked beside each other.
const LARGEST_WINDOW: usize = 8;
const FIRST_PAGE_ROWS: u64 = 256;
const LARGEST_PAGE_ROWS: u64 = 16 << 10;

/// What all pages of an execution have in common.
struct Asked {
    store: ClusterStore,
    snapshot: Snapshot,
    data: Bytes,
    columns: Vec<FieldType>,
    desc: bool,
    eval: Arc<EvalCtx>,
}

/// A part of the ranges.
struct Part {
    id: u64,
    left: Ranges,
    is_asked: bool,
    page_rows: u64,
    /// What was read and not handed on.
    page: Vec<Chunk>,
    /// What is known of locks met here.
    context: ReadContext,
}

/// A page of a part.
struct Page {
    part: u64,
    rows: Vec<Chunk>,
    left: Ranges,
    context: ReadContext,
}

/// The rows of an execution.
pub(crate) struct PushedRows {
    asked: Arc<Asked>,
    /// Not cut into parts.
    ranges: Ranges,
    parts: VecDeque<Part>,
    running: FuturesUnordered<BoxFuture<Result<Page>>>,
    next_id: u64,
    window: usize,
    page_rows: u64,
}

impl PushedRows {
    pub(crate) fn new(store: ClusterStore, snapshot: Snapshot, request: &copr::DagRequest, plan: &PushedPlan) -> Self {
        let stops_early = request.limit_hint.is_some() || matches!(plan.rest.ops.first(), Some(copr::DagOp::Limit(_)));
        let page_rows = match request.limit_hint {
            // Groups and first rows are few, and each page begins them anew.
            _ if plan.is_blocking => LARGEST_PAGE_ROWS,
            Some(rows) => rows.clamp(1, LARGEST_PAGE_ROWS),
            None => FIRST_PAGE_ROWS,
        };
        let asked = Asked {
            store,
            snapshot,
            data: plan.request.encode_to_vec().into(),
            columns: plan.columns.clone(),
            desc: request.desc,
            eval: request.eval.clone(),
        };
        Self {
            asked: Arc::new(asked),
            ranges: request.ranges.iter().map(from_the_first_row).collect(),
            parts: VecDeque::new(),
            running: FuturesUnordered::new(),
            next_id: 0,
            window: if stops_early { 1 } else { LARGEST_WINDOW },
            page_rows,
        }
    }

    /// The next rows, in the order of the scan; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Chunk>>> {
        loop {
            self.ask().await?;
            let Some(first) = self.parts.front_mut() else { return Ok(None) };
            if !first.page.is_empty() {
                return Ok(Some(std::mem::take(&mut first.page)));
            }
            if !first.is_asked && first.left.is_empty() {
                self.parts.pop_front();
                self.window = (self.window * 2).min(LARGEST_WINDOW);
                continue;
            }
            let Self { asked, running, .. } = self;
            let next = async { running.next().await.transpose() };
            let Some(page) = asked.snapshot.cancellable(next).await? else {
                return Err(Error::StoreFailed { reason: "a part of a pushed-down plan is not asked for".to_owned() });
            };
            if let Some(part) = self.parts.iter_mut().find(|part| part.id == page.part) {
                part.is_asked = false;
                (part.page, part.left, part.context) = (page.rows, page.left, page.context);
            }
        }
    }

    /// Cuts parts and asks for pages as far as the window lets.
    async fn ask(&mut self) -> Result<()> {
        while self.parts.len() < self.window {
            let Some(left) = self.asked.store.take_part(&mut self.ranges, self.asked.desc).await? else { break };
            let part = Part {
                id: self.next_id,
                left,
                is_asked: false,
                page_rows: self.page_rows,
                page: Vec::new(),
                context: ReadContext::default(),
            };
            self.next_id += 1;
            self.parts.push_back(part);
        }
        for part in self.parts.iter_mut().filter(|part| !part.is_asked && part.page.is_empty() && !part.left.is_empty()) {
            part.is_asked = true;
            let (asked, left, context) = (self.asked.clone(), std::mem::take(&mut part.left), std::mem::take(&mut part.context));
            self.running.push(Box::pin(asked.page(part.id, left, context, part.page_rows)));
            part.page_rows = (part.page_rows * 2).min(LARGEST_PAGE_ROWS);
        }
        Ok(())
    }
}

impl Asked {
    /// Asks for a page of a part until there is one.
    async fn page(self: Arc<Self>, part: u64, mut left: Ranges, mut context: ReadContext, page_rows: u64) -> Result<Page> {
        let mut backoff = self.snapshot.backoff();
        loop {
            backoff.check()?;
            let request = coprocessor::Request {
                context: context.to_context(self.snapshot.options()),
                tp: DAG,
                data: self.data.clone(),
                start_ts: self.snapshot.ts().0,
                paging_size: page_rows,
                ..Default::default()
            };
            let Some(answer) = self.store.pushed_down_page(&mut left, self.desc, &request).await? else {
                return Ok(Page { part, rows: Vec::new(), left, context });
            };
            if let Some(lock) = answer.locked {
                self.snapshot.client().resolve_for_read(&[*lock], self.snapshot.ts(), &mut context, &mut backoff).await?;
                continue;
            }
            let rows = self.rows(answer)?;
            return Ok(Page { part, rows, left, context });
        }
    }

    fn rows(&self, answer: coprocessor::Response) -> Result<Vec<Chunk>> {
        if !answer.other_error.is_empty() {
            return Err(Error::PushedDown { reason: answer.other_error });
        }
        let damaged = |reason: String| Error::Corrupted { reason };
        let answer = tipb::SelectResponse::decode(answer.data).map_err(|error| damaged(error.to_string()))?;
        if let Some(error) = answer.error {
            return Err(Error::Statement { code: u16::try_from(error.code).unwrap_or(0), message: error.msg });
        }
        for warning in answer.warnings {
            let code = u16::try_from(warning.code).unwrap_or(0);
            self.eval.warnings.push(Warning { level: WarningLevel::Warning, code, message: warning.msg });
        }
        if answer.encode_type != tipb::EncodeType::TypeDefault as i32 {
            return Err(damaged("a store answers in a form that was not asked for".to_owned()));
        }
        let rows = |chunk: tipb::Chunk| pushdown::datum::read_rows(&chunk.rows_data, &self.columns);
        let chunks = answer.chunks.into_iter().map(rows).collect::<pushdown::Result<Vec<_>>>();
        let mut chunks = chunks.map_err(|error| damaged(error.to_string()))?;
        chunks.retain(|chunk| chunk.rows() > 0);
        Ok(chunks)
    }
}

/// A range from a table's prefix on, from the smallest key a row of it can have on: to some stores the prefix with its end is one key, as a key's own
/// range is.
fn from_the_first_row(range: &KeyRange) -> KeyRange {
    let is_prefix = range.start.len() == RECORD_PREFIX_LEN && range.start.ends_with(b"_r");
    match decode_table_id(&range.start) {
        // The bytes of a handle of several columns are greater still.
        Ok(table) if is_prefix => KeyRange { start: int_record_key(table, i64::MIN).to_vec().into(), end: range.end.clone() },
        _ => range.clone(),
    }
}

#[cfg(test)]
mod tests {
    use base::{IndexId, TableId};
    use codec::{
        Handle,
        table::{index_prefix, record_key, record_prefix},
    };

    use super::*;

    #[test]
    fn whole_tables_are_asked_for_from_their_smallest_row_on() {
        let table = TableId(7);
        let whole = KeyRange::prefix(&record_prefix(table));
        let asked = from_the_first_row(&whole);
        assert!(asked.end == whole.end && asked.start.len() > RECORD_PREFIX_LEN);
        for handle in [Handle::Int(i64::MIN), Handle::Int(0), Handle::Common(vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 247].into())] {
            assert!(asked.contains(&record_key(table, &handle)), "{handle:?}");
        }
        for other in [KeyRange::prefix(&index_prefix(table, IndexId(1))), KeyRange::prefix(&record_key(table, &Handle::Int(5)))] {
            assert_eq!(from_the_first_row(&other), other);
        }
    }
}

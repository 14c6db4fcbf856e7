//! Rows of a range in a store of another process, page by page, for a pushed-down plan that runs on this side.
//!
//! Pages grow from a few rows to many, so that a plan that stops early has not had much fetched for nothing, and a long scan takes few round trips.
//!
//! Invariant: what is left of the range begins behind the last row fetched, fed or not.

use std::collections::VecDeque;

use base::KeyRange;
use bytes::Bytes;
use proto::kvrpcpb::{KvPair, LockInfo, ScanRequest};

use crate::{
    error::{Error, Result},
    resolver::ReadContext,
    scanner::successor,
    snapshot::Snapshot,
};

const FIRST_PAGE_ROWS: u32 = 128;
const LARGEST_PAGE_ROWS: u32 = 4096;

/// Rows fetched and not yet fed.
#[derive(Default)]
pub(crate) struct RemotePages {
    rows: VecDeque<KvPair>,
    /// What stopped the last page.
    lock: Option<Box<LockInfo>>,
    page_rows: u32,
    range_done: bool,
}

impl RemotePages {
    pub(crate) fn new(limit_hint: Option<u64>) -> Self {
        let wanted = limit_hint.and_then(|hint| u32::try_from(hint).ok()).unwrap_or(FIRST_PAGE_ROWS);
        Self { page_rows: wanted.clamp(1, LARGEST_PAGE_ROWS), ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether the last page was the range's last.
    pub(crate) fn is_range_done(&self) -> bool {
        self.range_done
    }

    /// Another range follows.
    pub(crate) fn begin_range(&mut self) {
        self.range_done = false;
    }

    /// The next row.
    pub(crate) fn next(&mut self) -> Option<(Bytes, Bytes)> {
        self.rows.pop_front().map(|pair| (pair.key, pair.value))
    }

    /// The lock behind the rows, once.
    pub(crate) fn take_lock(&mut self) -> Option<Box<LockInfo>> {
        self.lock.take()
    }

    /// Fetches the next page of `left` and shortens it by what was read.
    pub(crate) async fn fetch(&mut self, snapshot: &Snapshot, context: &ReadContext, left: &mut KeyRange, reverse: bool) -> Result<()> {
        let KeyRange { start, end } = left.clone();
        let (start_key, end_key) = if reverse { (end, start) } else { (start, end) };
        let request = ScanRequest {
            context: context.to_context(snapshot.options()),
            start_key,
            end_key,
            limit: self.page_rows,
            version: snapshot.ts().0,
            reverse,
            ..Default::default()
        };
        let response = snapshot.cancellable(snapshot.client().store().scan(request)).await?;
        if let Some(error) = response.error {
            // A lock that concerns the page as a whole: nothing of it was read.
            self.lock = Some(Box::new(Error::from_key_error(*error)?));
            return Ok(());
        }
        let answered = response.pairs.len();
        self.rows = response.pairs.into();
        // Some stores go on behind a lock: what they found there is read again once the lock is understood.
        if let Some(at) = self.rows.iter().position(|pair| pair.error.is_some()) {
            let error = self.rows[at].error.take();
            self.rows.truncate(at);
            self.lock = error.map(|error| Error::from_key_error(*error)).transpose()?.map(Box::new);
        }
        if let Some(last) = self.rows.back() {
            match reverse {
                false => left.start = successor(&last.key),
                true => left.end = last.key.clone(),
            }
        }
        // The empty key was the last one; as an upper bound it would mean "unbounded".
        let at_first_key = reverse && left.end.is_empty() && answered > 0;
        self.range_done = self.lock.is_none() && (answered < self.page_rows as usize || left.is_empty() || at_first_key);
        self.page_rows = (self.page_rows * 2).min(LARGEST_PAGE_ROWS);
        Ok(())
    }
}

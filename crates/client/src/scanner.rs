//! Scanning a range page by page, and merging what a transaction wrote into it.
//!
//! ```text
//!   snapshot   a=1      c=3  d=4
//!   buffer          b=2 c=-                 the buffer wins; a deletion hides the key
//!   merged     a=1  b=2      d=4
//! ```

use std::collections::VecDeque;

use base::KeyRange;
use bytes::{BufMut, Bytes, BytesMut};
use proto::kvrpcpb::ScanRequest;

use crate::{
    error::{Error, Result},
    options::ScanOptions,
    resolver::ReadContext,
    snapshot::{Snapshot, take_turns},
};

/// One row of a scan: user key and value.
pub type Pair = (Bytes, Bytes);

/// The smallest key behind `key`.
pub(crate) fn successor(key: &[u8]) -> Bytes {
    let mut next = BytesMut::with_capacity(key.len() + 1);
    next.put_slice(key);
    next.put_u8(0);
    next.freeze()
}

/// A scan over a snapshot; asked for a page at a time.
#[derive(Debug)]
pub struct Scanner {
    snapshot: Snapshot,
    /// What is left of the range.
    range: KeyRange,
    options: ScanOptions,
    context: ReadContext,
    left: usize,
    finished: bool,
}

impl Scanner {
    pub(crate) fn new(snapshot: Snapshot, range: KeyRange, options: ScanOptions) -> Self {
        let left = options.limit.unwrap_or(usize::MAX);
        let finished = range.is_empty() || left == 0;
        Self { snapshot, range, options, context: ReadContext::default(), left, finished }
    }

    /// The next rows in order, at least one; `None` at the end.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Pair>>> {
        let snapshot = self.snapshot.clone();
        let mut backoff = snapshot.backoff();
        take_turns().await;
        while !self.finished {
            backoff.check()?;
            let limit = self.options.batch.clamp(1, self.left);
            let response = snapshot.cancellable(snapshot.client().store().scan(self.request(limit))).await?;
            if let Some(error) = response.error {
                // A lock that concerns the page as a whole: nothing of it was read.
                let lock = Error::from_key_error(*error)?;
                snapshot.client().resolve_for_read(&[lock], snapshot.ts(), &mut self.context, &mut backoff).await?;
                continue;
            }
            let answered = response.pairs.len();
            let mut page = Vec::with_capacity(answered);
            let mut locked = None;
            for pair in response.pairs {
                match pair.error {
                    None => page.push((pair.key, pair.value)),
                    // What comes behind the lock is read again once the lock is understood.
                    Some(error) => {
                        locked = Some(Error::from_key_error(*error)?);
                        break;
                    }
                }
            }
            if let Some((last, _)) = page.last() {
                match self.options.reverse {
                    false => self.range.start = successor(last),
                    true => self.range.end = last.clone(),
                }
            }
            self.left -= page.len();
            self.finished = self.left == 0 || self.range.is_empty() || (locked.is_none() && answered < limit);
            if self.options.reverse && self.range.end.is_empty() && !page.is_empty() {
                // The empty key was the last one; as an upper bound it would mean "unbounded".
                self.finished = true;
            }
            if !page.is_empty() {
                return Ok(Some(page));
            }
            if let Some(lock) = locked {
                snapshot.client().resolve_for_read(&[lock], snapshot.ts(), &mut self.context, &mut backoff).await?;
            }
        }
        Ok(None)
    }

    fn request(&self, limit: usize) -> ScanRequest {
        let KeyRange { start, end } = self.range.clone();
        let (start_key, end_key) = if self.options.reverse { (end, start) } else { (start, end) };
        ScanRequest {
            context: self.context.to_context(self.snapshot.options()),
            start_key,
            end_key,
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
            version: self.snapshot.ts().0,
            key_only: self.options.key_only,
            reverse: self.options.reverse,
        }
    }
}

/// A scan over a snapshot with a transaction's own writes merged in, as they were when the scan was made.
#[derive(Debug)]
pub struct TxnScanner {
    scanner: Scanner,
    /// Own writes that are still to come, in the direction of the scan; `None` is a deletion.
    local: VecDeque<(Bytes, Option<Bytes>)>,
    /// Rows of the store that are still to come.
    page: VecDeque<Pair>,
    store_finished: bool,
    reverse: bool,
    key_only: bool,
    batch: usize,
    left: usize,
}

impl TxnScanner {
    pub(crate) fn new(snapshot: Snapshot, range: KeyRange, options: ScanOptions, local: VecDeque<(Bytes, Option<Bytes>)>) -> Self {
        // Deletions in the buffer hide rows of the store, so the limit cannot be passed down.
        let below = ScanOptions { limit: options.limit.filter(|_| local.is_empty()), ..options };
        Self {
            scanner: Scanner::new(snapshot, range, below),
            local,
            page: VecDeque::new(),
            store_finished: false,
            reverse: options.reverse,
            key_only: options.key_only,
            batch: options.batch.max(1),
            left: options.limit.unwrap_or(usize::MAX),
        }
    }

    /// The next row in order; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Pair>> {
        while self.left > 0 {
            if self.page.is_empty() && !self.store_finished {
                match self.scanner.next_page().await? {
                    Some(page) => self.page = page.into(),
                    None => self.store_finished = true,
                }
            }
            let local_first = match (self.local.front(), self.page.front()) {
                (None, None) => return Ok(None),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (Some((local, _)), Some((stored, _))) if local == stored => {
                    self.page.pop_front();
                    true
                }
                (Some((local, _)), Some((stored, _))) => (local < stored) != self.reverse,
            };
            let row = if local_first {
                let Some((key, value)) = self.local.pop_front() else { continue };
                let Some(value) = value else { continue };
                (key, if self.key_only { Bytes::new() } else { value })
            } else {
                let Some(row) = self.page.pop_front() else { continue };
                row
            };
            self.left -= 1;
            return Ok(Some(row));
        }
        Ok(None)
    }

    /// The next rows in order, at least one; `None` at the end.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Pair>>> {
        let mut page = Vec::new();
        while page.len() < self.batch {
            match self.next().await? {
                Some(row) => page.push(row),
                None => break,
            }
            if self.page.is_empty() && !self.store_finished {
                break;
            }
        }
        Ok((!page.is_empty()).then_some(page))
    }
}

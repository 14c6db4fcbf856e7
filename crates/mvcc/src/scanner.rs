//! Reading a range at one timestamp.
//!
//! ```text
//! data      a@10   b@70        d@30   e(deleted)@20        one cursor, every key once
//! history          b@40{70}                                a second cursor, sought only for keys whose data row is too new
//! lock             b                                       a third one, dropped at once when the range has no locks
//! read @50: a@10   b@40        d@30
//! ```
//!
//! A deleted key may hold the version before in its mark: then history is asked only when that one is too new as well.
//!
//! The scanner works on one snapshot of the engine. A key that is not in `data` does not exist, so `history` alone never makes a row.
//!
//! Invariants:
//! - Keys come out in order, each at most once, borrowed: nothing is allocated per row.
//! - After an error the scanner stands where it was. A lock that was meanwhile found to be decided is told by [`Scanner::bypass_lock`] or
//!   [`Scanner::access_lock`], and the scan goes on; after `WouldBlock` it goes on with [`Scanner::reopen`], where it may wait.

use base::{KeyRange, TimeStamp};
use bytes::Bytes;
use codec::engine_key::{DATA_PREFIX, append_ts_desc, decode_engine_key_into, encode_engine_key, split_ts_desc};
use engine::{Cf, EngineIter, EngineRead, IterOptions, ReadTier};

use crate::{
    DataRecord, Error, HistoryRecord, Lock, LockKind, LockPolicy, LockVerdict, Result, VersionKind, guards,
    record::{BEFORE_HEADER_LEN, RECORD_HEADER_LEN, corrupted},
};

/// How often the history cursor steps before it seeks: a step costs about a fifth of a seek.
const STEPS_BEFORE_SEEK: usize = 8;

/// What to scan.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// The user keys.
    pub range: KeyRange,
    /// The timestamp to read at.
    pub ts: TimeStamp,
    /// From the last key to the first.
    pub reverse: bool,
    /// Which locks to stop at.
    pub policy: LockPolicy,
    /// How far blocks may be fetched from.
    pub tier: ReadTier,
    /// Whether blocks read from disk stay out of the cache.
    pub skip_cache: bool,
}

impl ScanOptions {
    /// A forward scan that stops at every lock that concerns it.
    pub fn new(range: KeyRange, ts: TimeStamp) -> Self {
        Self { range, ts, reverse: false, policy: LockPolicy::default(), tier: ReadTier::Any, skip_cache: false }
    }
}

/// Where the value of the row given out last lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// At the data cursor.
    Data,
    /// At the data cursor, in the mark of its deletion.
    Before,
    /// At the history cursor.
    History,
    /// In the lock given out last.
    Lock,
}

/// A scan over a snapshot.
pub struct Scanner<S: EngineRead + Clone> {
    source: S,
    options: ScanOptions,
    data: S::Iter,
    /// Made when the first row is met that is too new.
    history: Option<S::Iter>,
    /// `None` once no lock is left in the range.
    lock: Option<S::Iter>,
    /// Whether the data cursor (the lock cursor) stands on a key that has been dealt with.
    data_used: bool,
    lock_used: bool,
    /// The user key given out last.
    user_key: Vec<u8>,
    has_row: bool,
    lock_value: Bytes,
    scratch: Vec<u8>,
}

impl<S: EngineRead + Clone> Scanner<S> {
    /// Starts a scan.
    pub fn new(source: S, options: ScanOptions) -> Result<Self> {
        let mut data = source.iter(Cf::Data, cursor_options(&options))?;
        seek_to_start(&mut data, options.reverse);
        let mut lock = None;
        if !options.policy.ignore_locks {
            let mut cursor = source.iter(Cf::Lock, cursor_options(&options))?;
            seek_to_start(&mut cursor, options.reverse);
            if cursor.valid() {
                lock = Some(cursor);
            } else {
                cursor.status()?;
            }
        }
        Ok(Self {
            source,
            options,
            data,
            history: None,
            lock,
            data_used: false,
            lock_used: false,
            user_key: Vec::new(),
            has_row: false,
            lock_value: Bytes::new(),
            scratch: Vec::new(),
        })
    }

    /// The next row: user key and value.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "rows are lent, which Iterator cannot express")]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let found = match &self.lock {
            None => self.next_without_locks()?,
            Some(_) => self.next_with_locks()?,
        };
        let value = match found {
            None => return Ok(None),
            Some(Found::Data) => &self.data.value()[RECORD_HEADER_LEN..],
            Some(Found::Before) => &self.data.value()[BEFORE_HEADER_LEN..],
            Some(Found::History) => self.history.as_ref().map_or(&[][..], |cursor| &cursor.value()[RECORD_HEADER_LEN..]),
            Some(Found::Lock) => &self.lock_value,
        };
        Ok(Some((&self.user_key, value)))
    }

    /// The user key of the row given out last.
    pub fn last_key(&self) -> Option<&[u8]> {
        self.has_row.then_some(&self.user_key)
    }

    /// From now on passes the locks of a transaction by: it was rolled back, or will commit behind the scan.
    pub fn bypass_lock(&mut self, start_ts: TimeStamp) {
        self.options.policy.bypass.push(start_ts);
    }

    /// From now on reads the values in the locks of a transaction: it is committed at or before the timestamp of the scan.
    pub fn access_lock(&mut self, start_ts: TimeStamp) {
        self.options.policy.access.push(start_ts);
    }

    /// The same scan behind the last row, on a snapshot taken later (or the same one), with blocks from `tier`.
    pub fn reopen(self, source: S, tier: ReadTier) -> Result<Self> {
        let mut options = self.options;
        if self.has_row {
            let mut key = self.user_key;
            if options.reverse {
                options.range.end = key.into();
                // Before the smallest key there is nothing; an empty end would mean everything.
                if options.range.end.is_empty() {
                    options.range = KeyRange::new(vec![0], vec![0]);
                }
            } else {
                key.push(0);
                options.range.start = key.into();
            }
        }
        options.tier = tier;
        Self::new(source, options)
    }

    /// Moves to the next visible row when no lock is left.
    fn next_without_locks(&mut self) -> Result<Option<Found>> {
        loop {
            if self.data_used {
                step(&mut self.data, self.options.reverse);
            }
            // Set only once the row is dealt with: an error leaves the scanner where it is.
            self.data_used = false;
            if !self.data.valid() {
                self.data.status()?;
                return Ok(None);
            }
            if let Some(found) = self.visible_version()? {
                return Ok(Some(found));
            }
        }
    }

    /// Moves to the next visible row, walking the data and lock cursors in step.
    fn next_with_locks(&mut self) -> Result<Option<Found>> {
        loop {
            if !self.advance_lock()? {
                return self.next_without_locks();
            }
            if self.data_used {
                step(&mut self.data, self.options.reverse);
                self.data_used = false;
            }
            if !self.data.valid() {
                self.data.status()?;
            }
            let Some(cursor) = &self.lock else { continue };
            let order = if self.data.valid() { self.data.key().cmp(cursor.key()) } else { std::cmp::Ordering::Greater };
            let data_first = if self.options.reverse && self.data.valid() { order.is_gt() } else { order.is_lt() };
            if data_first {
                if let Some(found) = self.visible_version()? {
                    return Ok(Some(found));
                }
                continue;
            }
            let lock = Lock::decode(cursor.key(), cursor.value())?;
            self.scratch.clear();
            decode_user_key(Cf::Lock, cursor.key(), &mut self.scratch)?;
            match self.options.policy.judge(&self.scratch, &lock, self.options.ts) {
                LockVerdict::Blocked => {
                    return Err(Error::KeyIsLocked { key: Bytes::copy_from_slice(&self.scratch), lock: Box::new(lock) });
                }
                LockVerdict::Pass => self.lock_used = true,
                LockVerdict::Access => {
                    self.lock_used = true;
                    self.data_used = order.is_eq() && self.data.valid();
                    if lock.kind == LockKind::Put {
                        std::mem::swap(&mut self.user_key, &mut self.scratch);
                        self.has_row = true;
                        self.lock_value = lock.value;
                        return Ok(Some(Found::Lock));
                    }
                }
            }
        }
    }

    /// Steps the lock cursor over a lock that was dealt with; false when no lock is left.
    fn advance_lock(&mut self) -> Result<bool> {
        let Some(cursor) = &mut self.lock else { return Ok(false) };
        if self.lock_used {
            step(cursor, self.options.reverse);
            self.lock_used = false;
        }
        if cursor.valid() {
            return Ok(true);
        }
        cursor.status()?;
        self.lock = None;
        Ok(false)
    }

    /// The version of the key under the data cursor that is visible, if any; marks the key as dealt with.
    #[inline]
    fn visible_version(&mut self) -> Result<Option<Found>> {
        let engine_key = self.data.key();
        let current = DataRecord::decode(engine_key, self.data.value())?;
        let ts = self.options.ts;
        let found = if current.commit_ts <= ts {
            (current.kind == VersionKind::Put).then_some(Found::Data)
        } else if current.before.is_some_and(|before| before.commit_ts <= ts) {
            Some(Found::Before)
        } else {
            self.find_in_history()?.then_some(Found::History)
        };
        if found.is_some() {
            self.user_key.clear();
            decode_user_key(Cf::Data, self.data.key(), &mut self.user_key)?;
            self.has_row = true;
        }
        self.data_used = true;
        Ok(found)
    }

    /// Moves the history cursor to the version of the key under the data cursor that is visible; false when there is none.
    fn find_in_history(&mut self) -> Result<bool> {
        let history = match &mut self.history {
            Some(cursor) => cursor,
            none => none.insert(self.source.iter(Cf::History, cursor_options(&self.options))?),
        };
        self.scratch.clear();
        self.scratch.extend_from_slice(self.data.key());
        append_ts_desc(&mut self.scratch, self.options.ts.0);
        move_to(history, &self.scratch, self.options.reverse);
        if !history.valid() {
            history.status()?;
            return Ok(false);
        }
        let (engine_key, commit_ts) = split_ts_desc(history.key()).map_err(|_| corrupted(Cf::History, history.key(), "no timestamp"))?;
        if engine_key != self.data.key() {
            return Ok(false);
        }
        let row = HistoryRecord::decode(history.key(), history.value())?;
        let visible = guards::history_row_is_visible(commit_ts.into(), row.superseded_ts, self.options.ts);
        Ok(visible && row.kind == VersionKind::Put)
    }
}

/// Moves a cursor to the first key at or behind `target`. A forward scan asks for ascending targets, and the next one is often near.
fn move_to(cursor: &mut impl EngineIter, target: &[u8], reverse: bool) {
    if !reverse && cursor.valid() && cursor.key() <= target {
        for _ in 0..STEPS_BEFORE_SEEK {
            if cursor.key() >= target {
                return;
            }
            cursor.next();
            if !cursor.valid() {
                break;
            }
        }
        if cursor.valid() && cursor.key() >= target {
            return;
        }
    }
    cursor.seek(target);
}

#[inline]
fn step(cursor: &mut impl EngineIter, reverse: bool) {
    if reverse { cursor.prev() } else { cursor.next() }
}

fn seek_to_start(cursor: &mut impl EngineIter, reverse: bool) {
    if reverse { cursor.seek_to_last() } else { cursor.seek_to_first() }
}

fn cursor_options(options: &ScanOptions) -> IterOptions {
    let bound = |key: &[u8]| {
        let mut bound = Vec::new();
        encode_engine_key(key, &mut bound);
        bound
    };
    let upper = if options.range.end.is_empty() { vec![DATA_PREFIX + 1] } else { bound(&options.range.end) };
    IterOptions { lower: Some(bound(&options.range.start)), upper: Some(upper), tier: options.tier, skip_cache: options.skip_cache }
}

#[inline]
fn decode_user_key(cf: Cf, engine_key: &[u8], out: &mut Vec<u8>) -> Result<()> {
    decode_engine_key_into(engine_key, out).map_err(|_| corrupted(cf, engine_key, "not an engine key"))
}

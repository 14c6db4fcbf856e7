//! What the consensus library asks of a replica's log, answered from memory where the log is recent and from disk where it is not.
//!
//! ```text
//!   truncated            applied          committed        last
//!   ────┼───────────────────┼──────────────────┼─────────────┤
//!       └ entries on disk ──┴── entries in the cache too ────┘
//! ```
//!
//! Invariants: truncated ≤ applied ≤ last. The cache is contiguous and ends at the last entry, or is empty.
//!
//! A snapshot cannot be made here: it takes a file. The first time one is asked for, the wish is noted and the library told to ask again;
//! see [`PeerStorage::take_wanted_snapshot`].

use std::{cell::RefCell, collections::VecDeque, sync::Arc};

use proto::{metapb::Region, raft_serverpb::RaftApplyState};
use protobuf::Message as _;
use raft::{
    GetEntriesContext, RaftState, Storage, StorageError,
    eraftpb::{Entry, HardState, Snapshot},
};

use crate::{
    Error, Result,
    log::{LogBatch, LogOp, RaftLog},
    region,
};

/// Bytes of entries kept in memory for each region.
const CACHE_BYTES: usize = 1 << 20;

/// A snapshot on its way.
#[derive(Debug, Default)]
enum SnapshotSlot {
    #[default]
    Empty,
    /// A follower needs one.
    Wanted,
    /// It is being written.
    Writing,
    Ready(Box<Snapshot>),
}

/// A replica's log.
pub struct PeerStorage {
    region_id: u64,
    log: Arc<dyn RaftLog>,
    region: Arc<Region>,
    hard_state: HardState,
    truncated_index: u64,
    truncated_term: u64,
    applied_index: u64,
    last_index: u64,
    last_term: u64,
    cache: VecDeque<Entry>,
    cache_bytes: usize,
    snapshot: RefCell<SnapshotSlot>,
}

impl PeerStorage {
    /// Reads what is on disk. `apply` is zero for a replica without data.
    pub fn open(region: Arc<Region>, apply: &RaftApplyState, log: Arc<dyn RaftLog>) -> Result<Self> {
        let region_id = region.id;
        let truncated = apply.truncated_state.unwrap_or_default();
        let mut hard_state = log.hard_state(region_id)?.unwrap_or_default();
        let (mut last_index, mut last_term) = (truncated.index, truncated.term);
        if let Some((_, last)) = log.bounds(region_id).filter(|(_, last)| *last > truncated.index) {
            let mut entries = Vec::new();
            log.entries(region_id, last, last + 1, None, &mut entries)?;
            let entry = entries.first().ok_or(Error::Corrupted { what: "end of the log", region_id })?;
            (last_index, last_term) = (last, entry.term);
        }
        if apply.applied_index > last_index {
            // The end of the log is behind the engine: only a snapshot (or the region's first state) puts the engine ahead.
            return Err(Error::Corrupted { what: "log: it ends before what was applied", region_id });
        }
        // What was applied was committed, whether or not the note of it reached the disk.
        hard_state.commit = hard_state.commit.max(apply.applied_index);
        hard_state.term = hard_state.term.max(last_term);
        Ok(Self {
            region_id,
            log,
            region,
            hard_state,
            truncated_index: truncated.index,
            truncated_term: truncated.term,
            applied_index: apply.applied_index,
            last_index,
            last_term,
            cache: VecDeque::new(),
            cache_bytes: 0,
            snapshot: RefCell::default(),
        })
    }

    /// The region as it has been applied.
    pub fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// The region has changed.
    pub fn set_region(&mut self, region: Arc<Region>) {
        self.region = region;
    }

    /// Index of the last applied entry.
    pub fn applied_index(&self) -> u64 {
        self.applied_index
    }

    /// Notes how far the log has been applied.
    pub fn set_applied_index(&mut self, index: u64) {
        assert!(index >= self.applied_index, "region {}: applied index went backwards: {} → {index}", self.region_id, self.applied_index);
        self.applied_index = index;
    }

    /// Index of the last entry that was cut off.
    pub fn truncated_index(&self) -> u64 {
        self.truncated_index
    }

    /// Notes that the log was cut.
    pub fn set_truncated(&mut self, index: u64, term: u64) {
        assert!(index <= self.applied_index, "region {}: log cut at {index}, applied up to {}", self.region_id, self.applied_index);
        (self.truncated_index, self.truncated_term) = (index, term);
        while self.cache.front().is_some_and(|entry| entry.index <= index) {
            self.drop_oldest_cached();
        }
    }

    /// Term, vote and commit index as they are, or will be with the next write, on disk.
    pub fn hard_state(&self) -> &HardState {
        &self.hard_state
    }

    /// Takes a new hard state into a batch.
    pub fn put_hard_state(&mut self, hard_state: HardState, batch: &mut LogBatch) {
        self.hard_state = hard_state.clone();
        batch.push(self.region_id, LogOp::HardState(hard_state));
    }

    /// Notes a commit index that goes to disk with the next hard state.
    pub fn set_commit_index(&mut self, index: u64) {
        self.hard_state.commit = index;
    }

    /// Takes new entries into a batch.
    pub fn append(&mut self, entries: Vec<Entry>, batch: &mut LogBatch) {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return };
        assert!(first.index > self.applied_index, "region {}: applied entries are overwritten at {}", self.region_id, first.index);
        (self.last_index, self.last_term) = (last.index, last.term);
        while self.cache.back().is_some_and(|entry| entry.index >= first.index) {
            let entry = self.cache.pop_back().expect("it was just looked at");
            self.cache_bytes -= size(&entry);
        }
        if self.cache.back().is_some_and(|entry| entry.index + 1 != first.index) {
            self.cache.clear();
            self.cache_bytes = 0;
        }
        for entry in &entries {
            self.cache_bytes += size(entry);
            self.cache.push_back(entry.clone());
        }
        // At least the newest stays, whatever its size.
        while self.cache_bytes > CACHE_BYTES && self.cache.len() > 1 {
            self.drop_oldest_cached();
        }
        batch.push(self.region_id, LogOp::Append(entries));
    }

    /// Begins anew behind a snapshot: all entries are gone.
    pub fn restart_at(&mut self, region: Arc<Region>, index: u64, term: u64, batch: &mut LogBatch) {
        self.region = region;
        (self.truncated_index, self.truncated_term) = (index, term);
        (self.last_index, self.last_term) = (index, term);
        self.applied_index = index;
        self.cache.clear();
        self.cache_bytes = 0;
        batch.push(self.region_id, LogOp::Clean);
    }

    /// Whether a follower needs a snapshot that nobody makes yet; from now on somebody does.
    pub fn take_wanted_snapshot(&mut self) -> bool {
        let wanted = matches!(self.snapshot.get_mut(), SnapshotSlot::Wanted);
        if wanted {
            *self.snapshot.get_mut() = SnapshotSlot::Writing;
        }
        wanted
    }

    /// The snapshot was made, or could not be.
    pub fn put_snapshot(&mut self, snapshot: Option<Snapshot>) {
        *self.snapshot.get_mut() = snapshot.map_or(SnapshotSlot::Empty, |snapshot| SnapshotSlot::Ready(Box::new(snapshot)));
    }

    fn drop_oldest_cached(&mut self) {
        if let Some(entry) = self.cache.pop_front() {
            self.cache_bytes -= size(&entry);
        }
    }

    fn cached(&self, index: u64) -> Option<&Entry> {
        let first = self.cache.front()?.index;
        self.cache.get(usize::try_from(index.checked_sub(first)?).ok()?)
    }

    fn read_log(&self, low: u64, high: u64, max_bytes: Option<u64>, out: &mut Vec<Entry>) -> raft::Result<()> {
        // A log that cannot be read is not an answer the consensus could go on with.
        self.log.entries(self.region_id, low, high, max_bytes, out).map_err(|error| {
            tracing::error!(region_id = self.region_id, low, high, %error, "entries of the Raft log cannot be read");
            raft::Error::Store(StorageError::Unavailable)
        })
    }
}

fn size(entry: &Entry) -> usize {
    entry.compute_size() as usize
}

impl Storage for PeerStorage {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(RaftState { hard_state: self.hard_state.clone(), conf_state: region::conf_state(&self.region) })
    }

    fn entries(&self, low: u64, high: u64, max_size: impl Into<Option<u64>>, _: GetEntriesContext) -> raft::Result<Vec<Entry>> {
        if low <= self.truncated_index {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        assert!(high <= self.last_index + 1, "region {}: entries up to {high} of a log that ends at {}", self.region_id, self.last_index);
        let max_bytes: Option<u64> = max_size.into();
        let mut out = Vec::new();
        if low >= high {
            return Ok(out);
        }
        let cache_start = self.cache.front().map_or(high, |entry| entry.index);
        if low < cache_start {
            let until = high.min(cache_start);
            self.read_log(low, until, max_bytes, &mut out)?;
            if out.len() < (until - low) as usize {
                return Ok(out);
            }
        }
        let mut bytes: u64 = out.iter().map(|entry| size(entry) as u64).sum();
        for index in low.max(cache_start)..high {
            let Some(entry) = self.cached(index) else { return Err(raft::Error::Store(StorageError::Unavailable)) };
            bytes += size(entry) as u64;
            if !out.is_empty() && max_bytes.is_some_and(|max| bytes > max) {
                break;
            }
            out.push(entry.clone());
        }
        Ok(out)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        if index == self.last_index {
            return Ok(self.last_term);
        }
        if index == self.truncated_index {
            return Ok(self.truncated_term);
        }
        if index < self.truncated_index {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        if index > self.last_index {
            return Err(raft::Error::Store(StorageError::Unavailable));
        }
        if let Some(entry) = self.cached(index) {
            return Ok(entry.term);
        }
        let mut entries = Vec::with_capacity(1);
        self.read_log(index, index + 1, None, &mut entries)?;
        entries.first().map(|entry| entry.term).ok_or(raft::Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.truncated_index + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last_index)
    }

    fn snapshot(&self, request_index: u64, _to: u64) -> raft::Result<Snapshot> {
        let mut slot = self.snapshot.borrow_mut();
        match &*slot {
            SnapshotSlot::Ready(snapshot) if snapshot.get_metadata().index >= request_index.max(self.truncated_index) => {
                let snapshot = (**snapshot).clone();
                *slot = SnapshotSlot::Empty;
                Ok(snapshot)
            }
            SnapshotSlot::Ready(_) | SnapshotSlot::Empty => {
                *slot = SnapshotSlot::Wanted;
                Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable))
            }
            SnapshotSlot::Wanted | SnapshotSlot::Writing => Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{local_state::initial_apply_state, log::MemLog};

    fn storage(log: &Arc<MemLog>) -> PeerStorage {
        let region = Region { id: 3, ..Default::default() };
        PeerStorage::open(Arc::new(region), &initial_apply_state(), log.clone()).unwrap()
    }

    fn append(storage: &mut PeerStorage, log: &MemLog, entries: impl Iterator<Item = (u64, u64)>, bytes: usize) {
        let mut batch = LogBatch::default();
        let entries = entries.map(|(index, term)| Entry { index, term, data: vec![0; bytes].into(), ..Default::default() }).collect();
        storage.append(entries, &mut batch);
        log.write(batch, true).unwrap();
    }

    #[test]
    fn entries_come_from_the_cache_and_from_the_log_as_one() {
        let log = Arc::new(MemLog::new());
        let mut storage = storage(&log);
        append(&mut storage, &log, (6..46).map(|index| (index, 6)), CACHE_BYTES / 16);
        assert!(storage.cached(6).is_none() && storage.cached(45).is_some());
        let context = || GetEntriesContext::empty(false);
        let indexes = |entries: Vec<Entry>| entries.iter().map(|entry| entry.index).collect::<Vec<_>>();
        assert_eq!(indexes(storage.entries(6, 46, None, context()).unwrap()), (6..46).collect::<Vec<_>>());
        assert_eq!(indexes(storage.entries(7, 46, Some(0), context()).unwrap()), [7]);
        assert_eq!(storage.term(6).unwrap(), 6);
        assert_eq!(storage.term(5).unwrap(), 5);
        append(&mut storage, &log, [(20, 7)].into_iter(), 10);
        assert_eq!((storage.last_index, storage.term(20).unwrap()), (20, 7));
        assert_eq!(indexes(storage.entries(19, 21, None, context()).unwrap()), [19, 20]);
        let reopened = super::tests::storage(&log);
        assert_eq!((reopened.last_index, reopened.last_term), (20, 7));
    }

    #[test]
    fn a_snapshot_is_wished_for_once_and_handed_out_once() {
        let mut storage = storage(&Arc::new(MemLog::new()));
        assert!(storage.snapshot(0, 2).is_err() && storage.snapshot(0, 2).is_err());
        assert!(storage.take_wanted_snapshot() && !storage.take_wanted_snapshot());
        let mut snapshot = Snapshot::default();
        snapshot.mut_metadata().index = 9;
        storage.put_snapshot(Some(snapshot));
        assert_eq!(storage.snapshot(8, 2).unwrap().get_metadata().index, 9);
        assert!(storage.snapshot(8, 2).is_err());
    }
}

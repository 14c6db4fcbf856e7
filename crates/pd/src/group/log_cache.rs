//! The log as the consensus library reads it: all entries behind the last snapshot, in memory.
//!
//! The group's log is short (a snapshot is made every few thousand entries), so that reading it never waits for the disk. Snapshots are not
//! kept: when a member needs one, the library is told "not yet", and whoever drives the group makes one of the state as it is then. It must
//! be that new: a member that joins must find itself among the members in it.
//!
//! Invariant: `entries[i].index == snapshot_index + 1 + i`.

use std::sync::Arc;

use parking_lot::Mutex;
use raft::{
    GetEntriesContext, RaftState, Storage, StorageError,
    eraftpb::{ConfState, Entry, HardState, Snapshot},
};

/// Shared between the consensus library and whoever drives it.
#[derive(Clone, Debug, Default)]
pub struct LogCache(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    hard_state: HardState,
    /// Members at the snapshot.
    conf_state: ConfState,
    snapshot_index: u64,
    snapshot_term: u64,
    entries: Vec<Entry>,
    /// A snapshot ready to be sent.
    to_send: Option<Snapshot>,
    wanted: bool,
}

impl Inner {
    fn last_index(&self) -> u64 {
        self.snapshot_index + self.entries.len() as u64
    }

    fn at(&self, index: u64) -> usize {
        (index - self.snapshot_index - 1) as usize
    }
}

impl LogCache {
    /// A log behind a snapshot.
    pub fn new(hard_state: HardState, conf_state: ConfState, (snapshot_index, snapshot_term): (u64, u64), entries: Vec<Entry>) -> Self {
        for (n, entry) in entries.iter().enumerate() {
            assert_eq!(entry.index, snapshot_index + 1 + n as u64, "the log has a hole behind index {snapshot_index}");
        }
        let inner = Inner { hard_state, conf_state, snapshot_index, snapshot_term, entries, ..Inner::default() };
        Self(Arc::new(Mutex::new(inner)))
    }

    pub(super) fn append(&self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        let mut inner = self.0.lock();
        assert!(
            first.index > inner.snapshot_index && first.index <= inner.last_index() + 1,
            "entry {} does not fit a log from {} to {}",
            first.index,
            inner.snapshot_index + 1,
            inner.last_index()
        );
        let keep = inner.at(first.index);
        inner.entries.truncate(keep);
        inner.entries.extend_from_slice(entries);
    }

    pub(super) fn set_hard_state(&self, hard_state: HardState) {
        self.0.lock().hard_state = hard_state;
    }

    pub(super) fn set_commit(&self, index: u64) {
        self.0.lock().hard_state.commit = index;
    }

    /// The log begins anew behind a snapshot of another member.
    pub(super) fn install(&self, index: u64, term: u64, conf_state: ConfState) {
        let mut inner = self.0.lock();
        inner.entries.clear();
        (inner.snapshot_index, inner.snapshot_term, inner.conf_state) = (index, term, conf_state);
        inner.hard_state.commit = inner.hard_state.commit.max(index);
        inner.hard_state.term = inner.hard_state.term.max(term);
        inner.to_send = None;
    }

    /// Entries up to `index` go: a snapshot at it is on disk.
    pub fn compact(&self, index: u64, conf_state: ConfState) {
        let mut inner = self.0.lock();
        if index <= inner.snapshot_index {
            return;
        }
        let cut = inner.at(index);
        inner.snapshot_term = inner.entries[cut].term;
        inner.entries.drain(..=cut);
        inner.snapshot_index = index;
        inner.conf_state = conf_state;
        inner.to_send = None;
    }

    /// Number of entries behind the snapshot.
    pub fn len(&self) -> usize {
        self.0.lock().entries.len()
    }

    /// Whether there are no entries behind the snapshot.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the entries behind the snapshot.
    pub fn bytes(&self) -> usize {
        self.0.lock().entries.iter().map(|entry| entry.data.len()).sum()
    }

    /// The term of an entry that is in the log.
    pub fn term_at(&self, index: u64) -> Option<u64> {
        self.term(index).ok()
    }

    /// Whether the library asked for a snapshot to send; asks once.
    pub fn take_wanted(&self) -> bool {
        std::mem::take(&mut self.0.lock().wanted)
    }

    /// Gives the snapshot to send.
    pub fn offer(&self, snapshot: Snapshot) {
        self.0.lock().to_send = Some(snapshot);
    }
}

impl Storage for LogCache {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let inner = self.0.lock();
        Ok(RaftState { hard_state: inner.hard_state.clone(), conf_state: inner.conf_state.clone() })
    }

    fn entries(&self, low: u64, high: u64, max_size: impl Into<Option<u64>>, _: GetEntriesContext) -> raft::Result<Vec<Entry>> {
        let inner = self.0.lock();
        if low <= inner.snapshot_index {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        if high > inner.last_index() + 1 {
            return Err(raft::Error::Store(StorageError::Unavailable));
        }
        let mut entries = inner.entries[inner.at(low)..inner.at(high)].to_vec();
        raft::util::limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let inner = self.0.lock();
        if index == inner.snapshot_index {
            return Ok(inner.snapshot_term);
        }
        if index < inner.snapshot_index {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        inner.entries.get(inner.at(index)).map(|entry| entry.term).ok_or(raft::Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.0.lock().snapshot_index + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.0.lock().last_index())
    }

    fn snapshot(&self, request_index: u64, _to: u64) -> raft::Result<Snapshot> {
        let mut inner = self.0.lock();
        // Used once: for the next member it may be too old to name it among the members.
        match inner.to_send.take() {
            Some(snapshot) if snapshot.get_metadata().index >= request_index => Ok(snapshot),
            _ => {
                inner.wanted = true;
                Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64, term: u64) -> Entry {
        Entry { index, term, ..Entry::default() }
    }

    #[test]
    fn terms_and_entries_stay_right_over_overwriting_and_compacting() {
        let log = LogCache::new(HardState::default(), ConfState::default(), (5, 5), vec![entry(6, 5), entry(7, 5), entry(8, 5)]);
        log.append(&[entry(8, 6), entry(9, 6)]);
        assert_eq!((5..=9).map(|index| log.term(index).unwrap()).collect::<Vec<_>>(), [5, 5, 5, 6, 6]);
        log.compact(8, ConfState::default());
        assert_eq!((log.first_index().unwrap(), log.last_index().unwrap(), log.term(8).unwrap()), (9, 9, 6));
        assert!(log.term(7).is_err() && log.term(10).is_err());
        assert!(log.entries(8, 9, None, GetEntriesContext::empty(false)).is_err());
        assert_eq!(log.entries(9, 10, None, GetEntriesContext::empty(false)).unwrap().len(), 1);
    }

    #[test]
    fn a_snapshot_is_asked_for_before_it_is_given() {
        let log = LogCache::new(HardState::default(), ConfState::default(), (5, 5), Vec::new());
        assert!(log.snapshot(0, 2).is_err() && log.take_wanted() && !log.take_wanted());
        let mut snapshot = Snapshot::default();
        snapshot.mut_metadata().index = 5;
        log.offer(snapshot.clone());
        assert_eq!(log.snapshot(0, 2).unwrap().get_metadata().index, 5);
        assert!(log.snapshot(0, 3).is_err(), "each is given once");
        log.offer(snapshot);
        assert!(log.snapshot(6, 2).is_err());
    }
}

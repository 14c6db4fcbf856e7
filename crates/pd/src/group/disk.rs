//! Where a member keeps its log, its snapshot and its identity.
//!
//! ```text
//!   DIR/member      who this directory belongs to
//!   DIR/snapshot    the state at some index; replaced by renaming a synced file over it
//!   DIR/raft/       the log behind it: entries and hard state (raft-engine)
//! ```
//!
//! A crash between a received snapshot and the cleaning of the log leaves entries that the snapshot covers or that do not reach it: they are
//! dropped when the directory is read.

use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use prost::Message as _;
use proto::pdstate::{Identity, SnapshotFile};
use raft::eraftpb::{Entry, HardState};
use raft_engine::{Command, LogBatch, MessageExt, ReadableSize};

use crate::{Error, Result};

/// The one group of the log.
const GROUP: u64 = 1;
const HARD_STATE: &[u8] = b"hard-state";

/// What one write makes durable, in this order: snapshot, then log.
#[derive(Clone, Debug, Default)]
pub struct LogWrite {
    /// A snapshot; entries up to its index go.
    pub snapshot: Option<SnapshotFile>,
    /// Whether the snapshot came from another member, so that the log behind it is not its continuation and goes as well.
    pub discard_log: bool,
    /// Term, vote and commit index.
    pub hard_state: Option<HardState>,
    /// Entries to append; those with the same indexes go.
    pub entries: Vec<Entry>,
}

impl LogWrite {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.snapshot.is_none() && self.hard_state.is_none() && self.entries.is_empty()
    }
}

/// What was on disk.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// Who the directory belongs to; `None` for a new one.
    pub identity: Option<Identity>,
    /// The last snapshot.
    pub snapshot: Option<SnapshotFile>,
    /// Term, vote and commit index.
    pub hard_state: HardState,
    /// Entries behind the snapshot, without a hole.
    pub entries: Vec<Entry>,
}

/// Durable storage of one member. All calls may wait for the disk, and what was written is durable when they return.
pub trait GroupDisk: Send + Sync + 'static {
    /// Reads everything.
    fn load(&self) -> Result<Recovered>;

    /// Writes what one turn of the group wants.
    fn write(&self, write: LogWrite) -> Result<()>;

    /// Writes who the directory belongs to.
    fn write_identity(&self, identity: &Identity) -> Result<()>;
}

struct EntryFormat;

impl MessageExt for EntryFormat {
    type Entry = Entry;

    fn index(entry: &Entry) -> u64 {
        entry.index
    }
}

/// A directory.
pub struct FileDisk {
    directory: PathBuf,
    log: raft_engine::Engine,
}

impl FileDisk {
    /// Opens a directory, which is created when missing.
    pub fn open(directory: &Path) -> Result<Self> {
        std::fs::create_dir_all(directory).map_err(|error| file_error("cannot create", directory, error))?;
        let config = raft_engine::Config {
            dir: directory.join("raft").to_string_lossy().into_owned(),
            target_file_size: ReadableSize::mb(8),
            purge_threshold: ReadableSize::mb(32),
            ..raft_engine::Config::default()
        };
        Ok(Self { directory: directory.to_owned(), log: raft_engine::Engine::open(config)? })
    }

    fn read_file(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.directory.join(name);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(check_sum(&bytes).ok_or_else(|| damaged(&path, "its checksum is wrong"))?.to_vec())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(file_error("cannot read", &path, error)),
        }
    }

    /// A crash leaves the old file or the new one.
    fn replace_file(&self, name: &str, content: &[u8]) -> Result<()> {
        let (path, new) = (self.directory.join(name), self.directory.join(format!("{name}.new")));
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&new)?;
            file.write_all(&crc32fast::hash(content).to_be_bytes())?;
            file.write_all(content)?;
            file.sync_all()?;
            std::fs::rename(&new, &path)?;
            File::open(&self.directory)?.sync_all()
        };
        write().map_err(|error| file_error("cannot write", &path, error))
    }
}

/// The content of a file whose first four bytes are the checksum of the rest.
fn check_sum(bytes: &[u8]) -> Option<&[u8]> {
    let (sum, content) = bytes.split_first_chunk::<4>()?;
    (u32::from_be_bytes(*sum) == crc32fast::hash(content)).then_some(content)
}

fn file_error(what: &'static str, path: &Path, error: std::io::Error) -> Error {
    Error::File { what, path: path.display().to_string(), source: Arc::new(error) }
}

fn damaged(path: &Path, what: &'static str) -> Error {
    Error::Damaged { path: path.display().to_string(), what }
}

impl GroupDisk for FileDisk {
    fn load(&self) -> Result<Recovered> {
        let identity = self.read_file("member")?.map(|bytes| Identity::decode(&bytes[..]));
        let identity = identity.transpose().map_err(|_| damaged(&self.directory.join("member"), "it does not name a member"))?;
        let snapshot = self.read_file("snapshot")?.map(|bytes| SnapshotFile::decode(&bytes[..]));
        let snapshot = snapshot.transpose().map_err(|_| damaged(&self.directory.join("snapshot"), "it does not hold a snapshot"))?;
        let hard_state = self.log.get_message::<HardState>(GROUP, HARD_STATE)?.unwrap_or_default();
        let mut entries = Vec::new();
        if let (Some(first), Some(last)) = (self.log.first_index(GROUP), self.log.last_index(GROUP)) {
            self.log.fetch_entries_to::<EntryFormat>(GROUP, first, last + 1, None, &mut entries)?;
        }
        Ok(continue_snapshot(Recovered { identity, snapshot, hard_state, entries }))
    }

    fn write(&self, write: LogWrite) -> Result<()> {
        let mut batch = LogBatch::default();
        if let Some(snapshot) = &write.snapshot {
            self.replace_file("snapshot", &snapshot.encode_to_vec())?;
            if write.discard_log {
                // Cleaning takes the hard state too, which must not be forgotten.
                let kept = self.log.get_message::<HardState>(GROUP, HARD_STATE)?.unwrap_or_default();
                batch.add_command(GROUP, Command::Clean);
                batch.put_message(GROUP, HARD_STATE.to_vec(), &kept)?;
            }
        }
        if let Some(hard_state) = &write.hard_state {
            batch.put_message(GROUP, HARD_STATE.to_vec(), hard_state)?;
        }
        batch.add_entries::<EntryFormat>(GROUP, &write.entries)?;
        if !batch.is_empty() {
            self.log.write(&mut batch, true)?;
        }
        if let (Some(snapshot), false) = (&write.snapshot, write.discard_log) {
            self.log.compact_to(GROUP, snapshot.index + 1);
            self.log.purge_expired_files()?;
        }
        Ok(())
    }

    fn write_identity(&self, identity: &Identity) -> Result<()> {
        self.replace_file("member", &identity.encode_to_vec())
    }
}

/// Drops entries that the snapshot covers or that do not continue it, and raises the commit index to the snapshot's.
fn continue_snapshot(mut found: Recovered) -> Recovered {
    let (index, term) = found.snapshot.as_ref().map_or((0, 0), |snapshot| (snapshot.index, snapshot.term));
    found.entries.retain(|entry| entry.index > index);
    if found.entries.first().is_some_and(|first| first.index != index + 1) {
        found.entries.clear();
    }
    let last = found.entries.last().map_or(index, |entry| entry.index);
    found.hard_state.commit = found.hard_state.commit.clamp(index, last);
    found.hard_state.term = found.hard_state.term.max(term);
    found
}

/// Storage in memory, which survives the node that uses it: for tests and simulated clusters.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk(Arc<Mutex<Recovered>>);

impl GroupDisk for MemoryDisk {
    fn load(&self) -> Result<Recovered> {
        Ok(continue_snapshot(self.0.lock().clone()))
    }

    fn write(&self, write: LogWrite) -> Result<()> {
        let mut stored = self.0.lock();
        if let Some(snapshot) = write.snapshot {
            let index = snapshot.index;
            stored.entries.retain(|entry| entry.index > index && !write.discard_log);
            stored.snapshot = Some(snapshot);
        }
        if let Some(hard_state) = write.hard_state {
            stored.hard_state = hard_state;
        }
        if let Some(first) = write.entries.first() {
            stored.entries.retain(|entry| entry.index < first.index);
            stored.entries.extend(write.entries);
        }
        Ok(())
    }

    fn write_identity(&self, identity: &Identity) -> Result<()> {
        self.0.lock().identity = Some(identity.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64, term: u64) -> Entry {
        Entry { index, term, data: format!("{index}@{term}").into_bytes().into(), ..Entry::default() }
    }

    fn snapshot(index: u64) -> SnapshotFile {
        SnapshotFile { index, term: 2, voters: vec![1], state: vec![7; 100].into(), ..SnapshotFile::default() }
    }

    fn append(disk: &dyn GroupDisk, entries: Vec<Entry>) {
        let hard_state = HardState { term: 3, vote: 1, commit: entries.last().map_or(0, |entry| entry.index), ..HardState::default() };
        disk.write(LogWrite { entries, hard_state: Some(hard_state), ..LogWrite::default() }).unwrap();
    }

    fn indexes(disk: &dyn GroupDisk) -> Vec<(u64, u64)> {
        disk.load().unwrap().entries.iter().map(|entry| (entry.index, entry.term)).collect()
    }

    #[test]
    fn log_and_snapshot_survive_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        {
            let disk = FileDisk::open(directory.path()).unwrap();
            disk.write_identity(&Identity { member_id: 9, ..Identity::default() }).unwrap();
            disk.write(LogWrite { snapshot: Some(snapshot(5)), discard_log: true, ..LogWrite::default() }).unwrap();
            append(&disk, vec![entry(6, 2), entry(7, 2), entry(8, 2)]);
            // Another leader overwrote the tail.
            append(&disk, vec![entry(8, 3), entry(9, 3)]);
        }
        let disk = FileDisk::open(directory.path()).unwrap();
        assert_eq!(indexes(&disk), [(6, 2), (7, 2), (8, 3), (9, 3)]);
        let found = disk.load().unwrap();
        assert_eq!((found.identity.unwrap().member_id, found.snapshot.unwrap().index), (9, 5));
        assert_eq!((found.hard_state.vote, found.hard_state.commit), (1, 9));
        disk.write(LogWrite { snapshot: Some(snapshot(8)), ..LogWrite::default() }).unwrap();
        drop(disk);
        assert_eq!(indexes(&FileDisk::open(directory.path()).unwrap()), [(9, 3)]);
    }

    #[test]
    fn a_received_snapshot_replaces_the_log_and_keeps_the_vote() {
        let directory = tempfile::tempdir().unwrap();
        {
            let disk = FileDisk::open(directory.path()).unwrap();
            disk.write(LogWrite { snapshot: Some(snapshot(5)), discard_log: true, ..LogWrite::default() }).unwrap();
            append(&disk, vec![entry(6, 2), entry(7, 2)]);
            disk.write(LogWrite { snapshot: Some(snapshot(100)), discard_log: true, ..LogWrite::default() }).unwrap();
            append(&disk, vec![entry(101, 3)]);
        }
        let found = FileDisk::open(directory.path()).unwrap().load().unwrap();
        assert_eq!((found.entries.len(), found.entries[0].index, found.hard_state.vote), (1, 101, 1));
    }

    #[test]
    fn entries_that_do_not_continue_the_snapshot_are_dropped() {
        let found = Recovered { snapshot: Some(snapshot(100)), entries: vec![entry(40, 2), entry(41, 2)], ..Recovered::default() };
        let found = continue_snapshot(found);
        assert!(found.entries.is_empty());
        assert_eq!((found.hard_state.commit, found.hard_state.term), (100, 2));
    }

    #[test]
    fn a_damaged_snapshot_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let disk = FileDisk::open(directory.path()).unwrap();
        disk.write(LogWrite { snapshot: Some(snapshot(5)), ..LogWrite::default() }).unwrap();
        let path = directory.path().join("snapshot");
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(disk.load(), Err(Error::Damaged { .. })));
    }
}

//! The log on disk: the `raft-engine` crate, which keeps an index of all entries in memory and recycles its files.

use std::path::Path;

use protobuf::Message as _;
use raft::eraftpb::{Entry, HardState};
use raft_engine::{Config, Engine, LogBatch as EngineBatch, MessageExt, ReadableSize, RecoveryMode};

use super::{LogBatch, LogOp, RaftLog};
use crate::{Error, Result};

/// The key a region's hard state has beside its entries.
const HARD_STATE: &[u8] = b"h";

/// How the log uses the disk.
#[derive(Clone, Debug)]
pub struct DiskLogOptions {
    /// Size of one file.
    pub file_bytes: u64,
    /// Size of all files above which old entries are rewritten or asked to be cut.
    pub purge_threshold_bytes: u64,
    /// Whether files are filled ahead and used again: syncing an overwritten file is cheaper than syncing one that grows.
    pub recycle: bool,
}

impl Default for DiskLogOptions {
    fn default() -> Self {
        Self { file_bytes: 64 << 20, purge_threshold_bytes: 1 << 30, recycle: true }
    }
}

/// The Raft log of a store on disk.
pub struct DiskLog {
    engine: Engine,
}

#[derive(Clone)]
struct Entries;

impl MessageExt for Entries {
    type Entry = Entry;

    fn index(entry: &Entry) -> u64 {
        entry.index
    }
}

impl DiskLog {
    /// Opens (or creates) the log in a directory. A tail that was not written whole is cut off; damage in between is an error.
    pub fn open(path: &Path, options: &DiskLogOptions) -> Result<Self> {
        let config = Config {
            dir: path.to_string_lossy().into_owned(),
            recovery_mode: RecoveryMode::TolerateTailCorruption,
            target_file_size: ReadableSize(options.file_bytes),
            purge_threshold: ReadableSize(options.purge_threshold_bytes),
            enable_log_recycle: options.recycle,
            ..Config::default()
        };
        Ok(Self { engine: Engine::open(config)? })
    }

    fn clamp(&self, region_id: u64, low: u64, high: u64) -> Result<(u64, u64)> {
        match self.bounds(region_id) {
            Some((first, last)) if first <= low && high <= last + 1 => Ok((low, high)),
            _ => Err(Error::Corrupted { what: "log: entries are missing", region_id }),
        }
    }
}

impl RaftLog for DiskLog {
    fn write(&self, batch: LogBatch, sync: bool) -> Result<()> {
        let mut encoded = EngineBatch::with_capacity(batch.ops.len());
        for (region_id, op) in batch.ops {
            match op {
                LogOp::Append(entries) => encoded.add_entries::<Entries>(region_id, &entries)?,
                LogOp::HardState(state) => {
                    let bytes = state.write_to_bytes().map_err(|_| Error::Corrupted { what: "hard state", region_id })?;
                    encoded.put(region_id, HARD_STATE.to_vec(), bytes)?;
                }
                LogOp::CompactTo(index) => encoded.add_command(region_id, raft_engine::Command::Compact { index }),
                LogOp::Clean => encoded.add_command(region_id, raft_engine::Command::Clean),
            }
        }
        self.engine.write(&mut encoded, sync)?;
        Ok(())
    }

    fn hard_state(&self, region_id: u64) -> Result<Option<HardState>> {
        let Some(bytes) = self.engine.get(region_id, HARD_STATE) else { return Ok(None) };
        HardState::parse_from_bytes(&bytes).map(Some).map_err(|_| Error::Corrupted { what: "hard state", region_id })
    }

    fn bounds(&self, region_id: u64) -> Option<(u64, u64)> {
        Some((self.engine.first_index(region_id)?, self.engine.last_index(region_id)?))
    }

    fn entries(&self, region_id: u64, low: u64, high: u64, max_bytes: Option<u64>, out: &mut Vec<Entry>) -> Result<()> {
        let (low, high) = self.clamp(region_id, low, high)?;
        let max_bytes = max_bytes.map(|max| usize::try_from(max).unwrap_or(usize::MAX));
        self.engine.fetch_entries_to::<Entries>(region_id, low, high, max_bytes, out)?;
        Ok(())
    }

    fn regions(&self) -> Vec<u64> {
        self.engine.raft_groups()
    }

    fn purge(&self) -> Result<Vec<u64>> {
        Ok(self.engine.purge_expired_files()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::MemLog;

    fn entry(index: u64, term: u64) -> Entry {
        Entry { index, term, data: vec![b'x'; 100].into(), ..Default::default() }
    }

    fn batch(ops: impl IntoIterator<Item = LogOp>) -> LogBatch {
        LogBatch { ops: ops.into_iter().map(|op| (9, op)).collect() }
    }

    fn read(log: &dyn RaftLog, low: u64, high: u64, max: Option<u64>) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        log.entries(9, low, high, max, &mut out).unwrap();
        out.iter().map(|entry| (entry.index, entry.term)).collect()
    }

    fn exercise(log: &dyn RaftLog) {
        let hard_state = HardState { term: 2, vote: 1, commit: 7, ..Default::default() };
        log.write(batch([LogOp::Append((6..10).map(|i| entry(i, 1)).collect()), LogOp::HardState(hard_state.clone())]), true).unwrap();
        log.write(batch([LogOp::Append(vec![entry(8, 2)])]), true).unwrap();
        assert_eq!(log.bounds(9), Some((6, 8)));
        assert_eq!(read(log, 6, 9, None), [(6, 1), (7, 1), (8, 2)]);
        assert_eq!(read(log, 6, 9, Some(0)).len(), 1);
        assert!(log.entries(9, 8, 10, None, &mut Vec::new()).is_err());
        log.write(batch([LogOp::CompactTo(7)]), true).unwrap();
        assert_eq!(log.bounds(9), Some((7, 8)));
        assert_eq!(log.hard_state(9).unwrap(), Some(hard_state));
        assert_eq!(log.regions(), [9]);
    }

    #[test]
    fn appending_replaces_what_conflicts() {
        exercise(&MemLog::new());
        let directory = tempfile::tempdir().unwrap();
        exercise(&DiskLog::open(directory.path(), &DiskLogOptions { recycle: false, ..Default::default() }).unwrap());
        let reopened = DiskLog::open(directory.path(), &DiskLogOptions { recycle: false, ..Default::default() }).unwrap();
        assert_eq!(read(&reopened, 7, 9, None), [(7, 1), (8, 2)]);
        reopened.write(batch([LogOp::Clean]), true).unwrap();
        assert!(reopened.bounds(9).is_none() && reopened.hard_state(9).unwrap().is_none());
    }
}

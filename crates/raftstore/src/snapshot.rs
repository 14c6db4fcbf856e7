//! Snapshots of a region as files: every record between its borders, in checked chunks.
//!
//! ```text
//! "TRSN" | format, u32
//! chunk: length, u32 | crc32 of the operations, u32 | operations of a write batch      … any number
//! end:   0, u32 | number of chunks, u32
//! ```
//!
//! The file is written beside and renamed when it is whole; one without its end is not a snapshot. The same name stands on both sides:
//! region, term and index of the last entry in it.

use std::{
    fs::{self, File},
    io::{BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{Cf, Engine, EngineIter as _, EngineRead, IterOptions, WriteBatch};
use prost::Message as _;
use proto::{
    metapb::Region,
    raft_serverpb::{RaftApplyState, RaftSnapshotData},
};
use raft::eraftpb::Snapshot;

use crate::{Error, Result, region};

const MAGIC: &[u8; 4] = b"TRSN";
const FORMAT: u32 = 1;
const CHUNK_BYTES: usize = 1 << 20;
/// A chunk larger than this is damage: values are limited far below.
const MAX_CHUNK_BYTES: u32 = 256 << 20;

/// What a snapshot is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotId {
    /// The region.
    pub region_id: u64,
    /// Term of the last entry in it.
    pub term: u64,
    /// Index of the last entry in it.
    pub index: u64,
}

impl SnapshotId {
    /// The id of a snapshot message's snapshot.
    pub fn of(region_id: u64, snapshot: &Snapshot) -> Self {
        Self { region_id, term: snapshot.get_metadata().term, index: snapshot.get_metadata().index }
    }

    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("{}_{}_{}.snap", self.region_id, self.term, self.index)
    }
}

/// The message that stands for a snapshot; its data travel as a file of `file_size` bytes.
pub fn describe_snapshot(region: &Region, state: &RaftApplyState, file_size: u64) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let metadata = snapshot.mut_metadata();
    metadata.index = state.applied_index;
    metadata.term = state.applied_term;
    metadata.set_conf_state(region::conf_state(region));
    let data = RaftSnapshotData { region: Some(region.clone()), file_size, version: u64::from(FORMAT) };
    snapshot.data = data.encode_to_vec().into();
    snapshot
}

fn failed(what: &'static str, path: &Path) -> impl Fn(std::io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::Snapshot { what, path: path.clone(), source: Arc::new(error) }
}

/// The directory snapshots are kept in, those made here and those received.
#[derive(Clone, Debug)]
pub struct SnapshotDirectory {
    path: PathBuf,
}

impl SnapshotDirectory {
    /// Creates the directory where needed, and removes what an earlier process has not finished.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path).map_err(failed("cannot create directory", &path))?;
        for entry in fs::read_dir(&path).map_err(failed("cannot list", &path))?.flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "part") {
                fs::remove_file(entry.path()).map_err(failed("cannot remove", &path))?;
            }
        }
        Ok(Self { path })
    }

    /// Where the file of a snapshot made here is.
    pub fn made(&self, id: &SnapshotId) -> PathBuf {
        self.path.join(format!("made_{}", id.file_name()))
    }

    /// Where the file of a snapshot that was received is.
    pub fn received(&self, id: &SnapshotId) -> PathBuf {
        self.path.join(format!("received_{}", id.file_name()))
    }

    /// Where a file is while it is being written.
    pub fn unfinished(&self, id: &SnapshotId, sender: u64) -> PathBuf {
        self.path.join(format!("{}_{sender}.part", id.file_name()))
    }

    /// Makes a file that was received whole a snapshot.
    pub fn finish(&self, part: &Path, id: &SnapshotId) -> Result<()> {
        check(part, id.region_id)?;
        let path = self.received(id);
        fs::rename(part, &path).map_err(failed("cannot rename", &path))?;
        sync_directory(&self.path)
    }

    /// Removes files; one that is not there is no error.
    pub fn remove(&self, path: &Path) {
        if let Err(error) = fs::remove_file(path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "cannot remove a snapshot");
        }
    }

    /// Writes the records of `region` as they are in `state`; answers the file's size. `throttle` is told of bytes before they are written.
    pub fn make<S: EngineRead>(&self, state: &S, region: &Region, id: &SnapshotId, throttle: &dyn Fn(usize)) -> Result<u64> {
        let (path, part) = (self.made(id), self.unfinished(id, 0));
        let size = write_file(state, region, &part, throttle)?;
        fs::rename(&part, &path).map_err(failed("cannot rename", &path))?;
        sync_directory(&self.path)?;
        Ok(size)
    }
}

fn sync_directory(path: &Path) -> Result<()> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(failed("cannot sync directory", path))
}

fn write_file<S: EngineRead>(state: &S, region: &Region, path: &Path, throttle: &dyn Fn(usize)) -> Result<u64> {
    let io = failed("cannot write", path);
    let mut file = BufWriter::with_capacity(1 << 16, File::create(path).map_err(&io)?);
    file.write_all(MAGIC).and_then(|()| file.write_all(&FORMAT.to_le_bytes())).map_err(&io)?;
    let mut size = 8 + 8;
    let mut chunks = 0u32;
    let mut batch = WriteBatch::new();
    let mut flush = |batch: &mut WriteBatch| -> Result<()> {
        let operations = batch.operations();
        throttle(operations.len());
        let head = [(operations.len() as u32).to_le_bytes(), crc32fast::hash(operations).to_le_bytes()].concat();
        file.write_all(&head).and_then(|()| file.write_all(operations)).map_err(&io)?;
        size += (head.len() + operations.len()) as u64;
        chunks += 1;
        batch.clear();
        Ok(())
    };
    let (start, end) = region::engine_range(region);
    for cf in Cf::REGION_LOCAL {
        let options = IterOptions { lower: Some(start.clone()), upper: Some(end.clone()), skip_cache: true, ..IterOptions::default() };
        let mut iter = state.iter(cf, options)?;
        iter.seek_to_first();
        while iter.valid() {
            batch.put(cf, iter.key(), iter.value());
            if batch.size_bytes() >= CHUNK_BYTES {
                flush(&mut batch)?;
            }
            iter.next();
        }
        iter.status()?;
    }
    if !batch.is_empty() {
        flush(&mut batch)?;
    }
    file.write_all(&[0u32.to_le_bytes(), chunks.to_le_bytes()].concat()).map_err(&io)?;
    file.into_inner().map_err(|error| io(error.into_error()))?.sync_all().map_err(&io)?;
    Ok(size)
}

/// Calls `each` with the operations of every chunk.
fn read_file(path: &Path, region_id: u64, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let io = failed("cannot read", path);
    let damaged = || Error::Corrupted { what: "snapshot file", region_id };
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(&io)?);
    let mut number = [0u8; 4];
    let mut next = |file: &mut BufReader<File>| match file.read_exact(&mut number) {
        Ok(()) => Ok(u32::from_le_bytes(number)),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(damaged()),
        Err(error) => Err(io(error)),
    };
    if next(&mut file)?.to_le_bytes() != *MAGIC || next(&mut file)? != FORMAT {
        return Err(damaged());
    }
    let mut operations = Vec::new();
    for chunks in 0.. {
        let (length, checksum) = (next(&mut file)?, next(&mut file)?);
        if length == 0 {
            return if checksum == chunks { Ok(()) } else { Err(damaged()) };
        }
        if length > MAX_CHUNK_BYTES {
            return Err(damaged());
        }
        operations.resize(length as usize, 0);
        file.read_exact(&mut operations).map_err(|_| damaged())?;
        if crc32fast::hash(&operations) != checksum {
            return Err(damaged());
        }
        each(&operations)?;
    }
    Err(damaged())
}

/// Whether a file is a whole snapshot.
pub fn check(path: &Path, region_id: u64) -> Result<()> {
    read_file(path, region_id, |operations| Ok(WriteBatch::new().append_operations(operations)?))
}

/// Writes the records of a snapshot to the engine, whose range is empty.
pub fn restore<E: Engine>(engine: &E, path: &Path, region_id: u64) -> Result<()> {
    read_file(path, region_id, |operations| {
        let mut batch = WriteBatch::new();
        batch.append_operations(operations)?;
        Ok(engine.write(batch, false)?)
    })
}

#[cfg(test)]
mod tests {
    use engine::{MemEngine, ReadTier};

    use super::*;

    fn filled() -> MemEngine {
        let engine = MemEngine::new();
        let mut batch = WriteBatch::new();
        for cf in Cf::REGION_LOCAL {
            for n in 0..5000 {
                batch.put(cf, format!("z{n:05}").as_bytes(), &[7; 300]);
            }
        }
        engine.write(batch, false).unwrap();
        engine
    }

    #[test]
    fn a_snapshot_holds_its_range_and_damage_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = SnapshotDirectory::open(directory.path()).unwrap();
        let id = SnapshotId { region_id: 4, term: 6, index: 9 };
        let region = Region { id: 4, start_key: "01000".into(), end_key: "04000".into(), ..Default::default() };
        let size = snapshots.make(&filled().snapshot(), &region, &id, &|_| ()).unwrap();
        let path = snapshots.made(&id);
        assert_eq!(fs::metadata(&path).unwrap().len(), size);
        let target = MemEngine::new();
        restore(&target, &path, 4).unwrap();
        for (key, expected) in [("z00999", false), ("z01000", true), ("z03999", true), ("z04000", false)] {
            for cf in Cf::REGION_LOCAL {
                assert_eq!(target.get(cf, key.as_bytes(), ReadTier::Any).unwrap().is_some(), expected, "{key} in {cf}");
            }
        }
        let bytes = fs::read(&path).unwrap();
        for damage in [bytes.len() / 2, bytes.len() - 1, 0] {
            let mut damaged = bytes.clone();
            damaged[damage] ^= 1;
            fs::write(&path, &damaged).unwrap();
            assert!(matches!(check(&path, 4), Err(Error::Corrupted { .. })), "at {damage}");
        }
        fs::write(&path, &bytes[..bytes.len() - 8]).unwrap();
        assert!(check(&path, 4).is_err());
    }
}

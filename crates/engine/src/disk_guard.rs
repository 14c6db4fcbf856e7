//! Refusing writes before the disk is full.
//!
//! ```text
//! capacity ┬───────────────────────────────────────────┐
//!          │ used                                      │
//!          ├──────────────────────┬────────────────────┤
//!          │ available            │ ▼ needed           │  Scarce: below, what grows is refused with DiskFull
//!          │                      │ ▼ half of it        │  Exhausted: below, what frees in the end is refused too
//!          ├──────────────────────┴────────────────────┤
//!          │ reserve file, given back when scarce      │  for flushes and compactions of what is already in memory
//!          └───────────────────────────────────────────┘
//! ```
//!
//! | [`SpaceUse`] | refused when | examples |
//! |---|---|---|
//! | `Grows` | scarce | inserts, updates, building an index |
//! | `Frees` | exhausted | deletions (a marker now, garbage later), dropping a table |
//! | `Essential` | never | the safe point, ending transactions that hold locks: without them nothing could be freed |
//!
//! RocksDB does not recover from a log write that met a full disk, so nobody may get that far. The file system is asked after every
//! so many written bytes or milliseconds, by the one thread that writes; reads are never asked.

use std::{
    ffi::CString,
    fs::{self, File},
    os::{fd::AsRawFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU8, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{Error, Result};

const RESERVE_FILE: &str = "RESERVE";
/// Between two looks at the file system while writes come slowly.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Writes that free space may use what is kept free down to this part of it. The rest is for flushes and compactions of what is in memory.
const EXHAUSTED_DIVISOR: u64 = 2;

/// What a write does to the space that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SpaceUse {
    /// Takes space.
    #[default]
    Grows,
    /// Takes a little now and gives back more once it is compacted.
    Frees,
    /// Small, and needed for space to be freed at all.
    Essential,
}

/// How much room there is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Room {
    /// For everything.
    Ample,
    /// For what frees space, and what is essential.
    Scarce,
    /// For what is essential.
    Exhausted,
}

impl Room {
    /// Whether a write of this kind is let through.
    pub fn admits(self, space: SpaceUse) -> bool {
        match space {
            SpaceUse::Grows => self == Self::Ample,
            SpaceUse::Frees => self <= Self::Scarce,
            SpaceUse::Essential => true,
        }
    }
}

/// How much is kept free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskGuardOptions {
    /// Size of the reserve file.
    pub reserve_bytes: u64,
    /// Writes are refused while less than this is available beside the reserve file.
    pub needed_bytes: u64,
}

impl DiskGuardOptions {
    /// What suits a disk of `capacity` bytes. Compaction writes its output before it deletes its input, so a small disk needs a larger part free.
    pub fn for_capacity(capacity: u64) -> Self {
        Self { reserve_bytes: (capacity / 50).min(512 << 20), needed_bytes: (capacity / 4).min(1 << 30) }
    }
}

/// Watches the file system of a data directory.
#[derive(Debug)]
pub struct DiskGuard {
    path: PathBuf,
    options: DiskGuardOptions,
    capacity_bytes: u64,
    room: AtomicU8,
    available_bytes: AtomicU64,
    progress: Mutex<Progress>,
}

#[derive(Debug)]
struct Progress {
    written_since_check: u64,
    checked_at: Instant,
    reserve_held: bool,
}

impl DiskGuard {
    /// Starts watching `path` and takes the reserve; a reserve that does not fit is not an error, it means the disk is full already.
    pub fn open(path: &Path, options: Option<DiskGuardOptions>) -> Result<Self> {
        let (capacity, available) = disk_space(path)?;
        let options = options.unwrap_or_else(|| DiskGuardOptions::for_capacity(capacity));
        let progress = Progress { written_since_check: 0, checked_at: Instant::now(), reserve_held: false };
        let guard = Self {
            path: path.to_owned(),
            options,
            capacity_bytes: capacity,
            room: AtomicU8::new(Room::Ample as u8),
            available_bytes: AtomicU64::new(available),
            progress: Mutex::new(progress),
        };
        guard.look(&mut guard.progress.lock())?;
        Ok(guard)
    }

    /// Counts `bytes` that are about to be written; answers for which kinds of writes there is room.
    pub fn check(&self, bytes: u64) -> Result<Room> {
        let mut progress = self.progress.lock();
        progress.written_since_check += bytes;
        let due = progress.written_since_check >= self.options.needed_bytes / 16 || progress.checked_at.elapsed() >= CHECK_INTERVAL;
        if due {
            self.look(&mut progress)?;
        }
        Ok(self.room())
    }

    /// [`DiskGuard::check`] for a single write: the error it is refused with. What is essential is let through in any case.
    pub fn admit(&self, bytes: u64, space: SpaceUse) -> Result<()> {
        match self.check(bytes) {
            Ok(room) if room.admits(space) => Ok(()),
            Ok(_) => Err(self.refusal()),
            Err(_) if space == SpaceUse::Essential => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What a write that finds no room is answered.
    pub fn refusal(&self) -> Error {
        Error::DiskFull { path: self.path.clone(), available_bytes: self.available_bytes(), needed_bytes: self.options.needed_bytes }
    }

    /// The room there was when the file system was last asked.
    pub fn room(&self) -> Room {
        match self.room.load(Ordering::Relaxed) {
            0 => Room::Ample,
            1 => Room::Scarce,
            _ => Room::Exhausted,
        }
    }

    /// Bytes of the file system.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Bytes that were available when the file system was last asked.
    pub fn available_bytes(&self) -> u64 {
        self.available_bytes.load(Ordering::Relaxed)
    }

    fn look(&self, progress: &mut Progress) -> Result<()> {
        progress.written_since_check = 0;
        progress.checked_at = Instant::now();
        let (_, mut available) = disk_space(&self.path)?;
        let was = self.room();
        let needed = self.options.needed_bytes;
        // A margin on the way back keeps the state from flapping around the border.
        let room = match () {
            () if available < needed / EXHAUSTED_DIVISOR => Room::Exhausted,
            () if available < if was == Room::Ample { needed } else { needed + needed / 4 } => Room::Scarce,
            () => Room::Ample,
        };
        if room > Room::Ample && progress.reserve_held {
            self.release_reserve();
            progress.reserve_held = false;
        } else if room == Room::Ample && !progress.reserve_held && available >= needed + needed / 4 + self.options.reserve_bytes {
            progress.reserve_held = self.take_reserve();
            available = disk_space(&self.path)?.1;
        }
        if room != was {
            tracing::warn!(path = %self.path.display(), available, needed, ?room, "disk space");
        }
        self.available_bytes.store(available, Ordering::Relaxed);
        self.room.store(room as u8, Ordering::Relaxed);
        Ok(())
    }

    fn take_reserve(&self) -> bool {
        let path = self.path.join(RESERVE_FILE);
        let taken = File::create(&path).and_then(|file| allocate(&file, self.options.reserve_bytes));
        if let Err(error) = &taken {
            tracing::warn!(path = %path.display(), %error, "no reserve file");
            self.release_reserve();
        }
        taken.is_ok()
    }

    fn release_reserve(&self) {
        let path = self.path.join(RESERVE_FILE);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "cannot remove the reserve file");
        }
    }
}

impl Drop for DiskGuard {
    fn drop(&mut self) {
        self.release_reserve();
    }
}

/// Capacity of the file system `path` lies on, and what is available to this process, in bytes.
pub(crate) fn disk_space(path: &Path) -> Result<(u64, u64)> {
    let failed = |source| Error::io("cannot read the free space of", path, source);
    let c_path = CString::new(path.as_os_str().as_bytes()).map_err(|error| failed(error.into()))?;
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `c_path` is a NUL-terminated string and `stat` is large enough; both outlive the call.
    if unsafe { libc::statvfs(c_path.as_ptr(), stat.as_mut_ptr()) } != 0 {
        return Err(failed(std::io::Error::last_os_error()));
    }
    // SAFETY: statvfs returned success, so it has filled the structure.
    let stat = unsafe { stat.assume_init() };
    Ok((stat.f_blocks * stat.f_frsize, stat.f_bavail * stat.f_frsize))
}

fn allocate(file: &File, bytes: u64) -> std::io::Result<()> {
    let len = libc::off_t::try_from(bytes).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    if len == 0 {
        return Ok(());
    }
    // SAFETY: the descriptor is open for as long as `file` lives.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
        0 => Ok(()),
        code => Err(std::io::Error::from_raw_os_error(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_refused_below_the_threshold_and_the_reserve_is_given_back() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let (_, available) = disk_space(dir.path()).expect("readable");
        let roomy = DiskGuard::open(dir.path(), Some(DiskGuardOptions { reserve_bytes: 1 << 20, needed_bytes: 1 << 20 })).expect("opens");
        assert_eq!(roomy.check(1 << 30).expect("readable"), Room::Ample);
        assert!(dir.path().join(RESERVE_FILE).exists());
        drop(roomy);
        assert!(!dir.path().join(RESERVE_FILE).exists());
        for (needed_bytes, room) in [(available * 2, Room::Scarce), (available * 8, Room::Exhausted)] {
            let tight = DiskGuard::open(dir.path(), Some(DiskGuardOptions { reserve_bytes: 1 << 20, needed_bytes })).expect("opens");
            assert_eq!(tight.check(1).expect("readable"), room);
            assert!(matches!(tight.refusal(), Error::DiskFull { .. }));
            assert!(!dir.path().join(RESERVE_FILE).exists());
        }
    }

    #[test]
    fn what_frees_space_is_refused_later_than_what_grows_and_the_essential_never() {
        let admitted = |room: Room| [SpaceUse::Grows, SpaceUse::Frees, SpaceUse::Essential].map(|space| room.admits(space));
        assert_eq!(admitted(Room::Ample), [true, true, true]);
        assert_eq!(admitted(Room::Scarce), [false, true, true]);
        assert_eq!(admitted(Room::Exhausted), [false, false, true]);
    }
}

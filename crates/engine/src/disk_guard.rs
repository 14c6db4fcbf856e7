//! Refusing writes before the disk is full.
//!
//! ```text
//! capacity ┬───────────────────────────────────────────┐
//!          │ used                                      │
//!          ├──────────────────────┬────────────────────┤
//!          │ available, less what │ ▼ needed           │  Scarce: below, what grows is refused with DiskFull
//!          │ is still to be       │ ▼ two thirds of it  │  Exhausted: below, what frees in the end is refused too
//!          │ written              │ ▼ the floor        │  compactions that would go below are not begun
//!          ├──────────────────────┴────────────────────┤
//!          │ reserve file, given back when scarce      │  for what nobody counted
//!          └───────────────────────────────────────────┘
//! ```
//!
//! | [`SpaceUse`] | refused when | examples |
//! |---|---|---|
//! | `Grows` | scarce | inserts, updates, building an index |
//! | `Frees` | exhausted | deletions (a marker now, garbage later), dropping a table |
//! | `Essential` | never | the safe point, ending transactions that hold locks: without them nothing could be freed |
//!
//! RocksDB does not recover from a log write that met a full disk, and cannot start when recovery meets one, so nobody may get that far.
//! `disk_account` has the sums. The file system and the engine are asked after every so many written bytes or milliseconds, by the one
//! thread that writes, and whenever a flush or a compaction begins or ends; reads are never asked.
//!
//! The reserve is given back before the engine opens and taken when there is room again.

use std::{
    ffi::CString,
    fs::{self, File},
    os::{fd::AsRawFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{
    Error, Result,
    disk_account::{Account, Outstanding, STEP_DIVISOR},
};

const RESERVE_FILE: &str = "RESERVE";
/// Between two looks at the file system while writes come slowly.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// What writes to the disk besides the caller of [`DiskGuard::check`]: an engine with its flushes and compactions.
pub(crate) trait BackgroundWriter: Send + Sync {
    /// What it has stored and has still to write.
    fn outstanding(&self) -> Outstanding;

    /// Compactions may have inputs of so many bytes at once, as many as they like with `None`; they move so many bytes of blobs at most.
    fn limit_compactions(&self, stored: u64, inputs: Option<u64>, moved_blobs: u64);

    /// From now on compactions move the blobs of this one of [`BLOB_SHARES`](crate::disk_account::BLOB_SHARES).
    fn move_blobs(&self, share: usize) -> Result<()>;
}

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
    /// Writes are refused while less than this is available beside the reserve file and what the engine has still to write.
    pub needed_bytes: u64,
}

impl DiskGuardOptions {
    /// What suits a disk of `capacity` bytes. Compaction writes its output before it deletes its input, so a small disk needs a larger part
    /// free; on a large one the first two levels and full write buffers of default sizes find room.
    pub fn for_capacity(capacity: u64) -> Self {
        Self { reserve_bytes: (capacity / 50).min(512 << 20), needed_bytes: (capacity / 4).min(2 << 30) }
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

struct Progress {
    written_since_check: u64,
    checked_at: Instant,
    reserve_held: bool,
    writer: Option<Arc<dyn BackgroundWriter>>,
    blob_share: usize,
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").field("reserve_held", &self.reserve_held).field("blob_share", &self.blob_share).finish_non_exhaustive()
    }
}

/// Who looks at the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// A thread that writes: it may change how the engine works.
    Writing,
    /// A thread of the engine.
    Background,
}

impl DiskGuard {
    /// Starts watching `path` and takes the reserve; a reserve that does not fit is not an error, it means the disk is full already.
    pub fn open(path: &Path, options: Option<DiskGuardOptions>) -> Result<Self> {
        let guard = Self::prepare(path, options)?;
        guard.look(&mut guard.progress.lock(), Look::Writing)?;
        Ok(guard)
    }

    /// The part of [`DiskGuard::open`] before an engine opens in `path`: gives back the reserve of a process that was killed.
    pub(crate) fn prepare(path: &Path, options: Option<DiskGuardOptions>) -> Result<Self> {
        let (capacity, available) = disk_space(path)?;
        let options = options.unwrap_or_else(|| DiskGuardOptions::for_capacity(capacity));
        let progress = Progress { written_since_check: 0, checked_at: Instant::now(), reserve_held: false, writer: None, blob_share: 0 };
        let guard = Self {
            path: path.to_owned(),
            options,
            capacity_bytes: capacity,
            room: AtomicU8::new(Room::Ample as u8),
            available_bytes: AtomicU64::new(available),
            progress: Mutex::new(progress),
        };
        guard.release_reserve();
        Ok(guard)
    }

    /// The rest of [`DiskGuard::open`] once the engine is open: from now on what it has still to write is counted.
    pub(crate) fn watch(&self, writer: Arc<dyn BackgroundWriter>) -> Result<()> {
        let mut progress = self.progress.lock();
        progress.writer = Some(writer);
        self.look(&mut progress, Look::Writing)
    }

    /// Counts `bytes` that are about to be written; answers for which kinds of writes there is room.
    pub fn check(&self, bytes: u64) -> Result<Room> {
        let mut progress = self.progress.lock();
        progress.written_since_check += bytes;
        let step = self.options.needed_bytes / STEP_DIVISOR;
        if progress.written_since_check >= step || progress.checked_at.elapsed() >= CHECK_INTERVAL {
            self.look(&mut progress, Look::Writing)?;
        }
        Ok(self.room())
    }

    /// Looks at the disk because a flush or a compaction has begun or ended.
    pub(crate) fn refresh(&self) {
        if let Err(error) = self.look(&mut self.progress.lock(), Look::Background) {
            // The next writer meets it too, and is refused.
            tracing::warn!(path = %self.path.display(), %error, "cannot look at the disk");
        }
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

    /// Bytes that were available, less what the engine had still to write, when they were last asked.
    pub fn available_bytes(&self) -> u64 {
        self.available_bytes.load(Ordering::Relaxed)
    }

    fn look(&self, progress: &mut Progress, look: Look) -> Result<()> {
        progress.written_since_check = 0;
        progress.checked_at = Instant::now();
        let was = self.room();
        let needed = self.options.needed_bytes;
        // The engine first: what it writes between the two questions is then counted twice, not left out.
        let outstanding = progress.writer.as_ref().map(|writer| writer.outstanding()).unwrap_or_default();
        let mut account = Account { available: disk_space(&self.path)?.1, outstanding, needed };
        let room = account.room(was);
        if room > Room::Ample && progress.reserve_held {
            self.release_reserve();
            progress.reserve_held = false;
        } else if room == Room::Ample && !progress.reserve_held && account.settled() >= needed + needed / 4 + self.options.reserve_bytes {
            progress.reserve_held = self.take_reserve();
            account.available = disk_space(&self.path)?.1;
        }
        let settled = account.settled();
        if room != was {
            let Outstanding { unflushed, compacting, .. } = account.outstanding;
            tracing::warn!(path = %self.path.display(), available = account.available, unflushed, compacting, needed, ?room, "disk space");
        }
        self.available_bytes.store(settled, Ordering::Relaxed);
        self.room.store(room as u8, Ordering::Relaxed);
        self.direct(progress, &account, look);
        Ok(())
    }

    /// Tells the engine how much its compactions may take.
    fn direct(&self, progress: &mut Progress, account: &Account, look: Look) {
        let Some(writer) = &progress.writer else { return };
        let share = account.blob_share(progress.blob_share);
        if look == Look::Writing && share != progress.blob_share {
            match writer.move_blobs(share) {
                Ok(()) => progress.blob_share = share,
                Err(error) => tracing::warn!(%error, "cannot change how many blobs compactions move"),
            }
        }
        let share = progress.blob_share;
        writer.limit_compactions(account.outstanding.stored, account.compaction_limit(share), account.moved_blobs(share));
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
        for (needed_bytes, room) in [(available / 4 * 5, Room::Scarce), (available * 8, Room::Exhausted)] {
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

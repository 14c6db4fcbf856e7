//! File systems of a test's own: one that loses power, one that is too small.
//!
//! ```text
//! ext4:   server ─ write ─► page cache ─ sync ─► ext4 on a loop device ─► image file beside the mount point
//!         lose_power()   drops the page cache and stops the file system, at one instant, under the running server
//!         power_on()     mounts the image again: what ext4's journal recovers is what a machine would find after a power failure
//! tmpfs:  resize() gives it another size while it is in use
//! ```
//!
//! `lose_power` is the kernel's own switch for this (`EXT4_IOC_SHUTDOWN` without flushing its log; the file systems' crash tests use it): no
//! layer is interposed, every sync of file and directory is the real one, and a sync that is answered after the switch fails.
//!
//! Both need root. The mounts lie in a mount namespace of the test's thread and those it starts (see [`with_private_mounts`]), so
//! however the test ends nothing stays mounted.

use std::{
    fs::File,
    io::{self, Write as _},
    os::{fd::AsRawFd as _, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

use crate::wait_until;

/// `_IOR('X', 125, u32)`: shuts an ext4 down.
const EXT4_IOC_SHUTDOWN: libc::c_ulong = 0x8004_587d;
/// Neither data nor the journal reach the disk any more.
const GOING_FLAGS_NO_LOG_FLUSH: u32 = 2;

/// Runs a test on a thread with a mount namespace of its own, whose mounts nobody else sees and which vanish with it.
///
/// Where that is not allowed the test is not run and the reason is printed; with `TRINE_REQUIRE_MOUNTS` set that is a failure.
pub fn with_private_mounts(test: impl FnOnce() + Send + 'static) {
    on_a_private_thread(enter_private_mounts, test);
}

/// Runs a test on a thread that has entered namespaces of its own, or says that it could not.
pub(crate) fn on_a_private_thread(enter: fn() -> Result<()>, test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name("private".to_owned()).spawn(move || match enter() {
        Ok(()) => test(),
        Err(error) => {
            assert!(
                std::env::var_os("TRINE_REQUIRE_MOUNTS").is_none(),
                "mounts and networks of the tests' own are required, but: {error:#}"
            );
            println!("skipped: {error:#} (the test mounts file systems or makes networks and must run as root)");
        }
    });
    if let Err(panic) = thread.expect("a thread starts").join() {
        std::panic::resume_unwind(panic);
    }
}

pub(crate) fn enter_private_mounts() -> Result<()> {
    // SAFETY: plain system calls; the strings are NUL-terminated literals that outlive the call.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) != 0 {
            return Err(io::Error::last_os_error()).context("no mount namespace");
        }
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        if libc::mount(c"none".as_ptr(), c"/".as_ptr(), std::ptr::null(), flags, std::ptr::null()) != 0 {
            return Err(io::Error::last_os_error()).context("mounts cannot be made private");
        }
    }
    Ok(())
}

pub(crate) fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(())
}

fn unmount(path: &Path) -> Result<()> {
    // The kernel lets go of a killed process's files a moment after the process is gone.
    wait_until("unmounting", Duration::from_secs(20), || run(Command::new("umount").arg(path)).ok())
}

/// An ext4 file system in an image file.
#[derive(Debug)]
pub struct Ext4Disk {
    image: PathBuf,
    mount_point: PathBuf,
}

impl Ext4Disk {
    /// Makes and mounts a file system of `bytes` at `mount_point`, which is created; its image lies beside it.
    pub fn create(mount_point: &Path, bytes: u64) -> Result<Self> {
        let disk = Self { image: mount_point.with_extension("img"), mount_point: mount_point.to_owned() };
        std::fs::create_dir_all(mount_point)?;
        File::create(&disk.image)?.set_len(bytes)?;
        run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&disk.image))?;
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> Result<()> {
        run(Command::new("mount").args(["-t", "ext4", "-o", "loop"]).arg(&self.image).arg(&self.mount_point))
    }

    /// The machine loses power: from this instant nothing reaches the disk, and what was not synced is lost.
    pub fn lose_power(&self) -> Result<()> {
        let root = File::open(&self.mount_point)?;
        // SAFETY: the descriptor is open, and the request reads one u32 that outlives the call.
        let answer = unsafe { libc::ioctl(root.as_raw_fd(), EXT4_IOC_SHUTDOWN as _, &GOING_FLAGS_NO_LOG_FLUSH) };
        if answer != 0 {
            return Err(io::Error::last_os_error()).context("EXT4_IOC_SHUTDOWN");
        }
        Ok(())
    }

    /// The machine starts again. Whoever used the file system must have been killed.
    pub fn power_on(&self) -> Result<()> {
        unmount(&self.mount_point)?;
        self.mount()
    }
}

impl Drop for Ext4Disk {
    fn drop(&mut self) {
        detach(&self.mount_point);
    }
}

/// A small file system in memory.
#[derive(Debug)]
pub struct SmallDisk {
    mount_point: PathBuf,
}

impl SmallDisk {
    /// Mounts a file system of `bytes` at `mount_point`, which is created.
    pub fn create(mount_point: &Path, bytes: u64) -> Result<Self> {
        std::fs::create_dir_all(mount_point)?;
        run(Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "trine-test"]).arg(mount_point))?;
        Ok(Self { mount_point: mount_point.to_owned() })
    }

    /// Gives it another size.
    pub fn resize(&self, bytes: u64) -> Result<()> {
        run(Command::new("mount").args(["-o", &format!("remount,size={bytes}")]).arg(&self.mount_point))
    }

    /// Takes all but `left` of the free bytes for a file of the test's own.
    pub fn fill(&self, left: u64) -> Result<()> {
        let mut file = File::create(self.ballast())?;
        let chunk = vec![1; 64 << 10];
        while left == 0 || self.free_bytes()? > left {
            match file.write_all(&chunk) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::StorageFull => break,
                Err(error) => return Err(error).context("the disk cannot be filled"),
            }
        }
        Ok(())
    }

    /// Gives back what [`SmallDisk::fill`] has taken.
    pub fn free(&self) -> Result<()> {
        Ok(std::fs::remove_file(self.ballast())?)
    }

    fn ballast(&self) -> PathBuf {
        self.mount_point.join("ballast")
    }

    /// Bytes that are free.
    pub fn free_bytes(&self) -> Result<u64> {
        let path = std::ffi::CString::new(self.mount_point.as_os_str().as_bytes())?;
        let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: the path is NUL-terminated, the structure is large enough, and both outlive the call.
        if unsafe { libc::statvfs(path.as_ptr(), stat.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error()).context("statvfs");
        }
        // SAFETY: the call succeeded, so it has filled the structure.
        let stat = unsafe { stat.assume_init() };
        Ok(stat.f_bavail * stat.f_frsize)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        detach(&self.mount_point);
    }
}

/// Takes a mount away even if somebody still uses it; the kernel frees it afterwards.
fn detach(mount_point: &Path) {
    if let Ok(path) = std::ffi::CString::new(mount_point.as_os_str().as_bytes()) {
        // SAFETY: a plain system call on a NUL-terminated path. It may have been unmounted already.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    }
}

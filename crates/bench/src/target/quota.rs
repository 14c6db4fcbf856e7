//! A quota of processor time for all processes of a target together: a control group of ours, of the kernel's first or second version.

use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::Error;

/// Time over which the quota is kept.
const PERIOD_MICROS: u32 = 100_000;

/// A control group that goes when its last process is gone.
#[derive(Debug)]
pub struct Quota {
    directory: PathBuf,
    members: Arc<File>,
}

impl Quota {
    /// A group whose processes may use so many cores.
    pub fn create(cores: f64) -> Result<Self, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("trine-bench-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let quota = (cores * f64::from(PERIOD_MICROS)).round().max(1000.0) as u64;
        let first_version = Path::new("/sys/fs/cgroup/cpu");
        let directory = if first_version.join("cpu.cfs_quota_us").exists() || first_version.join("cgroup.procs").exists() {
            let directory = first_version.join(name);
            make(&directory)?;
            write(&directory.join("cpu.cfs_period_us"), &PERIOD_MICROS.to_string())?;
            write(&directory.join("cpu.cfs_quota_us"), &quota.to_string())?;
            directory
        } else {
            let root = Path::new("/sys/fs/cgroup");
            write(&root.join("cgroup.subtree_control"), "+cpu")?;
            let directory = root.join(name);
            make(&directory)?;
            write(&directory.join("cpu.max"), &format!("{quota} {PERIOD_MICROS}"))?;
            directory
        };
        let path = directory.join("cgroup.procs");
        let members = File::options().write(true).open(&path).map_err(Error::file("open", &path))?;
        Ok(Self { directory, members: Arc::new(members) })
    }

    /// The file through which a process becomes a member: it writes a zero.
    pub fn members(&self) -> Arc<File> {
        self.members.clone()
    }
}

/// Makes the calling process a member; between fork and exec.
pub fn join(mut members: &File) -> std::io::Result<()> {
    members.write_all(b"0")
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Fails while a process is in it, which is reported by nobody: the group is then empty when we end.
        let _ = std::fs::remove_dir(&self.directory);
    }
}

fn make(directory: &Path) -> Result<(), Error> {
    std::fs::create_dir(directory).map_err(needs_root(directory))
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(needs_root(path))
}

fn needs_root(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let what = format!("a quota of processor time cannot be set (`cpu.cores`; this needs root and control groups): {}", path.display());
    move |error| Error::Machine { what, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::CommandExt as _,
        process::Command,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::measure::process::cpu_seconds;

    #[test]
    fn process_in_the_group_gets_its_quota_and_no_more() {
        let quota = match Quota::create(0.25) {
            Ok(quota) => quota,
            Err(error) if std::env::var_os("TRINE_REQUIRE_MOUNTS").is_none() => return eprintln!("skipped: {error}"),
            Err(error) => panic!("{error}"),
        };
        let members = quota.members();
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        // SAFETY: one write to an open file between fork and exec.
        unsafe { command.pre_exec(move || join(&members)) };
        let mut busy = command.spawn().expect("a shell");
        let began = Instant::now();
        std::thread::sleep(Duration::from_secs(2));
        let used = cpu_seconds(busy.id()).expect("it runs");
        let elapsed = began.elapsed().as_secs_f64();
        busy.kill().and_then(|()| busy.wait()).expect("it is ours");
        assert!(used > 0.0 && used <= elapsed * 0.25 + 0.15, "{used} of {elapsed} s");
    }
}

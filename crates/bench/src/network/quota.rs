//! A share of the processors for some processes together, by a control group.
//!
//! | version | file | what is written |
//! |---|---|---|
//! | 2 | `cpu.max` | microseconds of processor time, and in how many microseconds |
//! | 1 | `cpu.cfs_quota_us`, `cpu.cfs_period_us` | the same in two files |
//!
//! The group is made below that of this process, or below the nearest of its parents that may have groups with the controller `cpu`: in
//! version 2 a group has processes or groups with controllers, not both, and only the root is free of that rule.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::Error;

/// The time in which a group may use its share: the kernel's own default.
const PERIOD_MICROS: u64 = 100_000;
/// How long a group that is dropped waits for its processes to be gone.
const END_LIMIT: Duration = Duration::from_secs(5);

/// A share of the processors. The group goes when this is dropped, if its processes have ended.
#[derive(Debug)]
pub struct CpuQuota {
    group: PathBuf,
    cores: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A place where control groups with the controller `cpu` are, and the group of this process in it.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    version: Version,
    mount: PathBuf,
    /// Below the mount.
    own: PathBuf,
}

impl CpuQuota {
    /// Makes a group whose processes together may use so many cores, of which a part is allowed: 0.5, 2.
    pub fn new(cores: f64) -> Result<Self, Error> {
        let refused = |reason: String| Error::Machine { what: format!("processes cannot be held to {cores} cores"), reason };
        if !(cores.is_finite() && cores >= 0.01) {
            return Err(refused("at least 0.01 is expected".to_owned()));
        }
        let text = |path: &str| fs::read_to_string(path).map_err(|error| refused(format!("{path}: {error}")));
        let hierarchy = hierarchy(&text("/proc/self/mounts")?, &text("/proc/self/cgroup")?)
            .ok_or_else(|| refused("no control groups with the controller `cpu` are mounted".to_owned()))?;
        static GROUPS: AtomicU32 = AtomicU32::new(0);
        let name = format!("trine-bench-{}-{}", std::process::id(), GROUPS.fetch_add(1, Ordering::Relaxed));
        let group = make_group(&hierarchy, &name).map_err(|error| {
            refused(format!(
                "{}: {error} (it needs root, and in a container control groups that may be written)",
                hierarchy.mount.display()
            ))
        })?;
        let quota = Self { group, cores };
        let micros = (cores * PERIOD_MICROS as f64) as u64;
        let settings = match hierarchy.version {
            Version::Two => vec![("cpu.max", format!("{micros} {PERIOD_MICROS}"))],
            Version::One => vec![("cpu.cfs_period_us", PERIOD_MICROS.to_string()), ("cpu.cfs_quota_us", micros.to_string())],
        };
        for (file, value) in settings {
            let path = quota.group.join(file);
            fs::write(&path, value).map_err(|error| refused(format!("{}: {error}", path.display())))?;
        }
        Ok(quota)
    }

    /// Makes a process that is about to be started start in the group; what it starts is in it too.
    pub fn place(&self, command: &mut Command) -> Result<(), Error> {
        let path = self.group.join("cgroup.procs");
        let file = File::options().write(true).open(&path);
        let mut file =
            file.map_err(|error| Error::Machine { what: format!("cannot write {}", path.display()), reason: error.to_string() })?;
        // SAFETY: between fork and exec only a system call is made, on a descriptor that the closure owns. Zero stands for who writes.
        unsafe { command.pre_exec(move || file.write_all(b"0")) };
        Ok(())
    }

    /// How many cores.
    pub fn cores(&self) -> f64 {
        self.cores
    }

    /// The group's directory.
    pub fn group(&self) -> &Path {
        &self.group
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        // A process that has been waited for leaves its group a moment later. One that was not ended keeps the group: it is not ours to end.
        let deadline = Instant::now() + END_LIMIT;
        while let Err(error) = fs::remove_dir(&self.group) {
            if error.raw_os_error() != Some(libc::EBUSY) || Instant::now() > deadline {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Reads what is mounted and in which groups this process is. Version 2 is preferred; it may be mounted without any controller.
fn hierarchy(mounts: &str, own_groups: &str) -> Option<Hierarchy> {
    let own = |wanted: &dyn Fn(&str, &str) -> bool| {
        own_groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            wanted(number, controllers).then(|| PathBuf::from(path.trim_start_matches('/')))
        })
    };
    let mounted = |version: Version| {
        mounts.lines().find_map(move |line| {
            let mut words = line.split(' ').skip(1);
            let (mount, kind, options) = (words.next()?, words.next()?, words.next()?);
            let fits = match version {
                Version::Two => kind == "cgroup2" && has_cpu_controller(Path::new(mount)),
                Version::One => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
            };
            fits.then(|| PathBuf::from(mount))
        })
    };
    if let (Some(mount), Some(own)) = (mounted(Version::Two), own(&|number, controllers| number == "0" && controllers.is_empty())) {
        return Some(Hierarchy { version: Version::Two, mount, own });
    }
    let own = own(&|_, controllers| controllers.split(',').any(|controller| controller == "cpu"))?;
    Some(Hierarchy { version: Version::One, mount: mounted(Version::One)?, own })
}

fn has_cpu_controller(mount: &Path) -> bool {
    let controllers = fs::read_to_string(mount.join("cgroup.controllers")).unwrap_or_default();
    controllers.split_whitespace().any(|controller| controller == "cpu")
}

/// Makes a group in the nearest place that takes it.
fn make_group(hierarchy: &Hierarchy, name: &str) -> io::Result<PathBuf> {
    let mut last = None;
    for parent in hierarchy.own.ancestors() {
        let parent = hierarchy.mount.join(parent);
        let group = parent.join(name);
        let made = match hierarchy.version {
            Version::One => fs::create_dir(&group),
            Version::Two => fs::write(parent.join("cgroup.subtree_control"), "+cpu").and_then(|()| fs::create_dir(&group)),
        };
        match made {
            Ok(()) => return Ok(group),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::from(io::ErrorKind::NotFound)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_is_found_where_version_one_and_two_are_mounted_side_by_side() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n\
            cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\ncgroup2 /nowhere/unified cgroup2 rw 0 0\n";
        let own = "9:name=systemd:/\n3:cpuset:/a\n2:cpu,cpuacct:/b/c\n0::/d\n";
        let found = hierarchy(mounts, own).expect("a hierarchy");
        let expected = Hierarchy { version: Version::One, mount: "/sys/fs/cgroup/cpu,cpuacct".into(), own: "b/c".into() };
        assert_eq!(found, expected);
        assert_eq!(hierarchy("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n", own), None);
    }

    #[test]
    fn version_two_is_preferred_when_it_has_the_controller() {
        let directory = std::env::temp_dir().join(format!("trine-bench-cgroup-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join("cgroup.controllers"), "cpuset cpu io\n").expect("written");
        let mounts = format!("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 {} cgroup2 rw,nsdelegate 0 0\n", directory.display());
        let found = hierarchy(&mounts, "1:cpu:/x\n0::/user.slice/y\n").expect("a hierarchy");
        fs::remove_dir_all(&directory).expect("removed");
        assert_eq!(found, Hierarchy { version: Version::Two, mount: directory, own: "user.slice/y".into() });
    }
}

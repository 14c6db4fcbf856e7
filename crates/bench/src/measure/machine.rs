//! The machine, as far as it bears on figures.

use std::{collections::BTreeMap, ffi::CStr, fs::read_to_string, path::Path};

use crate::{Error, measure::sync, result::Machine};

/// Kernel settings that are kept, by the file that tells them.
const SETTINGS: [(&str, &str); 14] = [
    ("vm.swappiness", "/proc/sys/vm/swappiness"),
    ("vm.dirty_ratio", "/proc/sys/vm/dirty_ratio"),
    ("vm.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"),
    ("vm.overcommit_memory", "/proc/sys/vm/overcommit_memory"),
    ("net.core.somaxconn", "/proc/sys/net/core/somaxconn"),
    ("net.core.busy_poll", "/proc/sys/net/core/busy_poll"),
    ("net.ipv4.tcp_congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control"),
    ("net.ipv4.tcp_syncookies", "/proc/sys/net/ipv4/tcp_syncookies"),
    ("net.ipv4.tcp_tw_reuse", "/proc/sys/net/ipv4/tcp_tw_reuse"),
    ("net.ipv4.ip_local_port_range", "/proc/sys/net/ipv4/ip_local_port_range"),
    ("kernel.numa_balancing", "/proc/sys/kernel/numa_balancing"),
    ("transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("cpu governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("clock source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
];

/// Looks at the machine; `directory` is where data lie.
pub fn look(directory: &Path) -> Result<Machine, Error> {
    let text = |path: &str| read_to_string(path).unwrap_or_default();
    let kernel_settings: BTreeMap<String, String> = SETTINGS
        .iter()
        .filter_map(|(name, path)| Some(((*name).to_owned(), read_to_string(path).ok()?.split_whitespace().collect::<Vec<_>>().join(" "))))
        .collect();
    Ok(Machine {
        cpu: field(&text("/proc/cpuinfo"), "model name", ':').unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores: cores(),
        memory_bytes: field(&text("/proc/meminfo"), "MemTotal", ':')
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
            .unwrap_or(0)
            * 1024,
        kernel: kernel(),
        os: field(&text("/etc/os-release"), "PRETTY_NAME", '=').unwrap_or_default().trim_matches('"').to_owned(),
        kernel_settings,
        file_system: file_system(&text("/proc/self/mounts"), directory),
        sync_micros: sync::measure(directory)?,
    })
}

/// Processors this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn field(text: &str, name: &str, separator: char) -> Option<String> {
    text.lines().find_map(|line| line.split_once(separator).filter(|(key, _)| key.trim() == name)).map(|(_, value)| value.trim().to_owned())
}

/// `uname -sr`
fn kernel() -> String {
    // SAFETY: all zeros is a valid value of a structure of character arrays, and the call fills it.
    let name = unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        if libc::uname(&mut name) != 0 {
            return String::new();
        }
        name
    };
    // SAFETY: the kernel ends each field with a zero.
    let text = |field: &[libc::c_char]| unsafe { CStr::from_ptr(field.as_ptr()) }.to_string_lossy().into_owned();
    format!("{} {}", text(&name.sysname), text(&name.release))
}

/// Kind of the file system mounted nearest above the directory.
fn file_system(mounts: &str, directory: &Path) -> String {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let mounted = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((Path::new(fields.next()?), fields.next()?)).filter(|(at, _)| directory.starts_with(at))
    });
    mounted.max_by_key(|(at, _)| at.components().count()).map_or(String::new(), |(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_tells_of_itself() {
        let directory = tempfile::tempdir().expect("a directory");
        let machine = look(directory.path()).expect("looked");
        assert!(machine.cores > 0 && machine.memory_bytes > 1 << 20 && machine.kernel.starts_with("Linux "), "{machine:?}");
        assert!(!machine.file_system.is_empty() && machine.kernel_settings.contains_key("vm.swappiness"), "{machine:?}");
    }

    #[test]
    fn file_system_is_that_mounted_nearest() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /nowhere tmpfs rw 0 0\n/dev/b /nowhere/data xfs rw 0 0\n";
        for (directory, kind) in [("/nowhere/data/x", "xfs"), ("/nowhere/database", "tmpfs"), ("/elsewhere", "ext4")] {
            assert_eq!(file_system(mounts, Path::new(directory)), kind);
        }
    }
}

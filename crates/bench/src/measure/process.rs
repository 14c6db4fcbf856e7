//! Processor time and memory of processes, and of the machine, as `/proc` tells them.

/// Clock ticks a second in `/proc`.
fn ticks_per_second() -> f64 {
    // SAFETY: a plain system call.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

/// User and system time of a process; `None` once it has ended.
pub fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    cpu_ticks(&stat).map(|ticks| ticks as f64 / ticks_per_second())
}

/// Fields 14 and 15, counted from behind the name, which may hold anything.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// Resident memory of a process; `None` once it has ended.
pub fn resident_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Processor time of the whole machine since it started, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineTime {
    /// All of it.
    total: u64,
    /// Of it, spent idle or waiting for disks.
    idle: u64,
    /// Of it, given to others by the hypervisor.
    stolen: u64,
}

impl MachineTime {
    /// Until now.
    pub fn now() -> Self {
        std::fs::read_to_string("/proc/stat").ok().and_then(|stat| Self::parse(&stat)).unwrap_or_default()
    }

    fn parse(stat: &str) -> Option<Self> {
        let ticks: Vec<u64> =
            stat.lines().next()?.split_ascii_whitespace().skip(1).take(8).filter_map(|field| field.parse().ok()).collect();
        let &[_, _, _, idle, waiting, _, _, stolen] = &ticks[..] else { return None };
        Some(Self { total: ticks.iter().sum(), idle: idle + waiting, stolen })
    }

    /// Percent of all time since then that the hypervisor gave to others.
    pub fn steal_percent_since(self, then: Self) -> f64 {
        share(self.stolen - then.stolen.min(self.stolen), self.total - then.total.min(self.total))
    }

    /// Percent of all time since then that was not idle.
    pub fn busy_percent_since(self, then: Self) -> f64 {
        let total = self.total - then.total.min(self.total);
        100.0 - share(self.idle - then.idle.min(self.idle), total)
    }
}

fn share(part: u64, total: u64) -> f64 {
    part as f64 * 100.0 / total.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_behind_a_name_with_spaces_and_brackets() {
        assert_eq!(cpu_ticks("7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 250 50 5 6 20 0 9"), Some(300));
        assert_eq!(cpu_ticks("nonsense"), None);
    }

    #[test]
    fn own_processor_time_and_memory_are_read() {
        let pid = std::process::id();
        assert!(cpu_seconds(pid).is_some() && resident_bytes(pid).is_some_and(|bytes| bytes > 100_000));
        assert_eq!(cpu_seconds(u32::MAX), None);
    }

    #[test]
    fn shares_of_the_machine_are_of_the_time_between_two_looks() {
        let then = MachineTime::parse("cpu  10 0 10 70 0 0 0 10 0 0\ncpu0 1").expect("a line");
        let now = MachineTime::parse("cpu  30 0 20 110 10 0 0 30 0 0\n").expect("a line");
        assert_eq!((now.steal_percent_since(then), now.busy_percent_since(then)), (20.0, 50.0));
    }
}

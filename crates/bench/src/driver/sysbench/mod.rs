//! The unmodified sysbench: loading, and runs of several processes together.

mod output;

use std::{
    fs::File,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use toml::Value;

use super::{Counted, merge};
use crate::{
    Error, interrupt,
    scenario::{Options, Sysbench},
    target::{Account, Endpoint, end_of_file, end_with_us, find_program},
};

/// How much longer than asked for a run may take: connecting, and statements that are slow to end.
const GRACE: Duration = Duration::from_secs(120);
/// Nobody waits longer for rows.
const LOAD_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// sysbench as it is installed.
#[derive(Clone, Debug)]
pub struct Driver {
    program: PathBuf,
    /// Absolute; none for the scripts that came with it.
    lua_path: Option<PathBuf>,
    /// `sysbench 1.0.20`
    pub version: String,
    /// Where outputs are kept while it runs.
    directory: PathBuf,
}

/// One call.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// Who connects.
    pub account: &'a Account,
    /// Where to.
    pub endpoints: &'a [Endpoint],
    /// The script's name.
    pub script: &'a str,
    /// Options without dashes.
    pub options: Options,
    /// Tables.
    pub tables: u32,
    /// Rows of each.
    pub rows: u64,
    /// Connections of all processes together.
    pub threads: u32,
}

/// Length and randomness of a run.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Time.
    pub seconds: u32,
    /// Processes.
    pub drivers: u32,
    /// Seed of the first process; the others have the following ones.
    pub seed: u64,
}

impl Driver {
    /// Finds it. `scripts` must be there when they have a directory of their own.
    pub fn find(settings: &Sysbench, scripts: &[&str], directory: &Path) -> Result<Self, Error> {
        let program = find_program(&settings.program, "sysbench", ", or name the program with --set sysbench.program=PATH")?;
        let output = Command::new(&program).arg("--version").output().map_err(Error::file("start", &program))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version: Vec<&str> = said.split_whitespace().take(2).collect();
        let lua_path = match settings.lua_path.as_str() {
            "" => None,
            path => Some(std::path::absolute(path).map_err(Error::file("find", path))?),
        };
        if let Some(path) = &lua_path {
            for script in scripts {
                let file = path.join(format!("{script}.lua"));
                std::fs::metadata(&file).map_err(Error::file("read", &file))?;
            }
        }
        Ok(Self { version: version.join(" "), program, lua_path, directory: directory.to_owned() })
    }

    /// Prepares or prewarms: one process that runs until it is done.
    pub fn act(&self, call: &Call<'_>, action: &str) -> Result<(), Error> {
        let endpoints: Vec<&Endpoint> = call.endpoints.iter().take(1).collect();
        let process = self.start(call, &endpoints, call.threads, &[], action, 0)?;
        process.wait(LOAD_LIMIT)?;
        Ok(())
    }

    /// Runs the processes together and sums what they counted.
    pub fn run(&self, call: &Call<'_>, span: Span) -> Result<Counted, Error> {
        let drivers = span.drivers.clamp(1, call.threads);
        let mut processes = Vec::new();
        for index in 0..drivers {
            // The first ones have a connection more when they cannot all have the same number.
            let threads = call.threads / drivers + u32::from(index < call.threads % drivers);
            let more = [
                format!("--time={}", span.seconds),
                "--events=0".to_owned(),
                "--histogram=on".to_owned(),
                "--report-interval=1".to_owned(),
                format!("--rand-seed={}", (span.seed + u64::from(index)).max(1)),
            ];
            let endpoints = share(call.endpoints, index as usize, drivers as usize);
            processes.push(self.start(call, &endpoints, threads, &more, "run", index)?);
        }
        let limit = Duration::from_secs(u64::from(span.seconds)) + GRACE;
        let mut parts = Vec::new();
        for process in processes {
            parts.push(process.wait(limit)?.counted()?);
        }
        Ok(merge(parts))
    }

    fn start(
        &self,
        call: &Call<'_>,
        endpoints: &[&Endpoint],
        threads: u32,
        more: &[String],
        action: &str,
        index: u32,
    ) -> Result<Process, Error> {
        let mut arguments = vec![
            "--db-driver=mysql".to_owned(),
            format!("--mysql-host={}", list(endpoints.iter().map(|endpoint| endpoint.host.clone()))),
            format!("--mysql-port={}", list(endpoints.iter().map(|endpoint| endpoint.port.to_string()))),
            format!("--mysql-user={}", call.account.user),
            format!("--mysql-db={}", call.account.database),
            format!("--tables={}", call.tables),
            format!("--table-size={}", call.rows),
            format!("--threads={threads}"),
            "--percentile=95".to_owned(),
        ];
        arguments.extend(more.iter().cloned());
        arguments.extend(call.options.iter().map(|(name, value)| option(name, value)));
        let script = match &self.lua_path {
            Some(path) => path.join(format!("{}.lua", call.script)).display().to_string(),
            None => call.script.to_owned(),
        };
        arguments.extend([script, action.to_owned()]);
        let command_line = format!("{} {}", self.program.display(), arguments.join(" "));
        let output = self.directory.join(format!("driver-{index}.out"));
        let file = File::create(&output).map_err(Error::file("write", &output))?;
        let errors = file.try_clone().map_err(Error::file("write", &output))?;
        let mut command = Command::new(&self.program);
        // A password does not belong in the list of processes, nor in an error.
        if !call.account.password.is_empty() {
            command.arg(format!("--mysql-password={}", call.account.password));
        }
        command.args(&arguments).stdin(Stdio::null()).stdout(file).stderr(errors);
        if let Some(path) = &self.lua_path {
            // Scripts load each other.
            command.current_dir(path).env("LUA_PATH", format!("{}/?.lua;;", path.display()));
        }
        command.process_group(0);
        let child = end_with_us(&mut command).spawn().map_err(Error::file("start", &self.program))?;
        Ok(Process { child, subject: call.account.subject.clone(), command_line, output, began: Instant::now(), ended: false })
    }
}

/// The endpoints of one of several processes: each process has some of its own, or shares one when there are more processes.
fn share(endpoints: &[Endpoint], index: usize, processes: usize) -> Vec<&Endpoint> {
    if processes >= endpoints.len() || !can_be_listed(endpoints) {
        return vec![&endpoints[index % endpoints.len()]];
    }
    endpoints.iter().skip(index).step_by(processes).collect()
}

/// Whether one process can connect to all of them: sysbench goes through every pair of its hosts and its ports.
pub fn can_be_listed(endpoints: &[Endpoint]) -> bool {
    let one_host = endpoints.windows(2).all(|pair| pair[0].host == pair[1].host);
    let one_port = endpoints.windows(2).all(|pair| pair[0].port == pair[1].port);
    one_host || one_port
}

/// Equal hosts or ports must stand in sysbench's lists once.
fn list(parts: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for part in parts {
        if !distinct.contains(&part) {
            distinct.push(part);
        }
    }
    distinct.join(",")
}

fn option(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => format!("--{name}={text}"),
        Value::Boolean(on) => format!("--{name}={}", if *on { "on" } else { "off" }),
        value => format!("--{name}={value}"),
    }
}

/// A running sysbench.
struct Process {
    child: Child,
    subject: String,
    command_line: String,
    output: PathBuf,
    began: Instant,
    ended: bool,
}

/// One that has ended well.
struct Ended {
    output: PathBuf,
    cpu_seconds: f64,
}

impl Process {
    fn wait(mut self, limit: Duration) -> Result<Ended, Error> {
        loop {
            if let Some((status, cpu_seconds)) = self.try_wait()? {
                return match status.success() {
                    true => Ok(Ended { output: self.output.clone(), cpu_seconds }),
                    false => Err(self.failed(status.to_string())),
                };
            }
            if self.began.elapsed() > limit {
                return Err(self.failed(format!("it did not end within {} s", limit.as_secs())));
            }
            interrupt::sleep(Duration::from_millis(20))?;
        }
    }

    fn failed(&self, reason: String) -> Error {
        let output = end_of_file(&self.output, 2500);
        Error::Driver { subject: self.subject.clone(), reason, command: self.command_line.clone(), output }
    }

    /// How it ended and the processor time it took, once it has ended.
    fn try_wait(&mut self) -> Result<Option<(ExitStatus, f64)>, Error> {
        use std::os::unix::process::ExitStatusExt as _;
        let mut status = 0;
        // SAFETY: all zeros is a valid value of the structure; the process is ours and has not been waited for.
        let (ended, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(self.child.id() as libc::pid_t, &mut status, libc::WNOHANG, &mut usage), usage)
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        match ended {
            0 => Ok(None),
            ended if ended < 0 => Err(Error::File { action: "wait for", path: "sysbench".into(), source: std::io::Error::last_os_error() }),
            _ => {
                self.ended = true;
                Ok(Some((ExitStatus::from_raw(status), seconds(usage.ru_utime) + seconds(usage.ru_stime))))
            }
        }
    }
}

impl Drop for Process {
    /// One that nobody waits for any more is ended.
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.child.kill(); // It may end by itself at this moment.
            let _ = self.child.wait();
        }
    }
}

impl Ended {
    fn counted(&self) -> Result<Counted, Error> {
        let bytes = std::fs::read(&self.output).map_err(Error::file("read", &self.output))?;
        let counted = output::parse(&String::from_utf8_lossy(&bytes))?;
        Ok(Counted { cpu_seconds: self.cpu_seconds, ..counted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints(ports: &[u16]) -> Vec<Endpoint> {
        ports.iter().map(|port| Endpoint { host: "a".to_owned(), port: *port }).collect()
    }

    #[test]
    fn processes_are_spread_over_the_endpoints() {
        let ports = |ports: &[u16], processes| -> Vec<Vec<u16>> {
            let endpoints = endpoints(ports);
            (0..processes).map(|index| share(&endpoints, index, processes).iter().map(|endpoint| endpoint.port).collect()).collect()
        };
        assert_eq!(ports(&[1, 2, 3], 3), [[1], [2], [3]]);
        assert_eq!(ports(&[1, 2], 3), [[1], [2], [1]]);
        assert_eq!(ports(&[1, 2, 3], 2), [vec![1, 3], vec![2]]);
        assert_eq!(ports(&[1, 2, 3], 1), [[1, 2, 3]]);
    }

    #[test]
    fn options_are_written_as_sysbench_reads_them() {
        for (value, wanted) in [
            (Value::Boolean(false), "--range_selects=off"),
            (Value::Integer(3), "--range_selects=3"),
            (Value::String("x y".to_owned()), "--range_selects=x y"),
        ] {
            assert_eq!(option("range_selects", &value), wanted);
        }
        assert_eq!(list(["a", "a", "b"].into_iter().map(str::to_owned)), "a,b");
    }

    #[test]
    fn missing_program_names_the_package() {
        let settings = Sysbench { program: "/nowhere/sysbench".to_owned(), ..Sysbench::default() };
        let error = Driver::find(&settings, &[], Path::new("/tmp")).expect_err("missing");
        assert!(error.to_string().contains("install the Debian package `sysbench`"), "{error}");
    }
}

//! One process of the playground: its output, its end.

use std::{
    io::{BufRead as _, BufReader, Read, Write as _},
    os::unix::process::CommandExt as _,
    process::{Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

/// Time a process has to end after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// A process of the playground. It ends with the playground, however that ends.
pub struct Child {
    name: String,
    process: std::process::Child,
    ready: Arc<AtomicBool>,
}

impl Child {
    /// Starts this program with other arguments.
    pub fn start(name: String, arguments: &[String]) -> Result<Self> {
        let program = std::env::current_exe().context("this program does not know where it is")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the playground, which stops its processes in order.
        command.process_group(0);
        // SAFETY: between fork and exec one system call is made, which takes plain numbers.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        let mut process = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let ready = Arc::new(AtomicBool::new(false));
        let is_ready = ready.clone();
        if let Some(stdout) = process.stdout.take() {
            read_lines(stdout, move |line| {
                if line.contains("is ready.") {
                    is_ready.store(true, Ordering::Release);
                }
            });
        }
        if let Some(stderr) = process.stderr.take() {
            let name = name.clone();
            read_lines(stderr, move |line| {
                // Nobody may be listening any more; the process's output is read all the same.
                let _ = writeln!(std::io::stderr(), "[{name}] {line}");
            });
        }
        Ok(Self { name, process, ready })
    }

    /// Role and number.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has said that it serves.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// How it has ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.process.try_wait().with_context(|| format!("cannot look after {}", self.name))
    }

    /// Asks it to stop.
    pub fn terminate(&self) {
        // SAFETY: a plain system call on a process that is ours and has not been waited for.
        unsafe { libc::kill(self.process.id() as libc::pid_t, libc::SIGTERM) };
    }

    /// Waits for its end, which is made if it does not come.
    pub fn wait(mut self) {
        let deadline = Instant::now() + STOP_LIMIT;
        while Instant::now() < deadline {
            match self.process.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        let _ = writeln!(std::io::stderr(), "{} did not stop in time and is killed", self.name);
        // It may end by itself at this moment.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn read_lines(output: impl Read + Send + 'static, each: impl Fn(&str) + Send + 'static) {
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(std::io::Result::ok) {
            each(&line);
        }
    });
}

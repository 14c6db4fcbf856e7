//! One process of ours: started where a target wants it, watched, and ended with us.

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::site::Place;
use crate::{Error, interrupt};

/// Time a process has to end after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// Bytes of a log that an error shows.
const LOG_SHOWN: u64 = 3000;

/// What is started.
#[derive(Clone, Debug)]
pub struct Start {
    /// The target's name, for errors.
    pub target: String,
    /// The process's name: `kv-0`.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where its output goes.
    pub log: PathBuf,
}

impl Start {
    /// As one would type it.
    pub fn command_line(&self) -> String {
        let words = std::iter::once(self.program.display().to_string()).chain(self.arguments.iter().cloned());
        words.collect::<Vec<_>>().join(" ")
    }
}

/// A running process. It ends with us, however we end: the kernel sees to that. Must be started by the thread that lives longest.
#[derive(Debug)]
pub struct ServerProcess {
    what: Start,
    process: Child,
}

impl ServerProcess {
    /// Starts it.
    pub fn start(what: Start, place: &Place) -> Result<Self, Error> {
        let log = File::options().create(true).append(true).open(&what.log).map_err(Error::file("write", &what.log))?;
        let errors = log.try_clone().map_err(Error::file("write", &what.log))?;
        let mut command = Command::new(&what.program);
        command.args(&what.arguments).stdin(Stdio::null()).stdout(log).stderr(errors);
        // Ctrl-C is for us: we stop our processes in order.
        command.process_group(0);
        place.apply(&mut command)?;
        let process = end_with_us(&mut command).spawn().map_err(Error::file("start", &what.program))?;
        Ok(Self { what, process })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.what.name
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// An error if it has ended.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.process.try_wait() {
            Ok(Some(status)) => {
                let (target, process) = (self.what.target.clone(), self.what.name.clone());
                Err(Error::ServerEnded { target, process, status, log: self.log_end() })
            }
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// The last lines it wrote.
    pub fn log_end(&self) -> String {
        end_of_file(&self.what.log, LOG_SHOWN)
    }

    /// Waits until it has written something.
    pub fn wait_for(&mut self, text: &str, limit: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + limit;
        while !std::fs::read_to_string(&self.what.log).unwrap_or_default().contains(text) {
            self.check()?;
            if Instant::now() > deadline {
                let (target, process) = (self.what.target.clone(), self.what.name.clone());
                return Err(Error::NotReady { target, process, seconds: limit.as_secs(), log: self.log_end() });
            }
            interrupt::sleep(Duration::from_millis(5))?;
        }
        Ok(())
    }

    /// Asks it to stop.
    pub fn terminate(&self) {
        // SAFETY: a plain system call on a process that is ours and has not been waited for.
        unsafe { libc::kill(self.process.id() as libc::pid_t, libc::SIGTERM) };
    }

    /// Waits for its end, which is made if it does not come.
    pub fn wait(&mut self) {
        let deadline = Instant::now() + STOP_LIMIT;
        while Instant::now() < deadline {
            match self.process.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        // It may end by itself at this moment.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes the kernel end a process when the thread that starts it ends.
pub fn end_with_us(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec one system call is made, which takes plain numbers.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        })
    }
}

/// The last bytes of a file, from the beginning of a line.
pub fn end_of_file(path: &Path, bytes: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(bytes)))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        if length > bytes {
            let line = text.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            text.drain(..line);
        }
        Ok(text)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).trim_end().to_owned()
}

/// The path of a program that others provide.
pub fn find_program(program: &str, package: &'static str, hint: &'static str) -> Result<PathBuf, Error> {
    let missing = || Error::Missing { program: program.to_owned(), package, hint };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file()).ok_or_else(missing);
    }
    // Servers are often not on the path of people.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    folders.find_map(|folder| Some(folder.join(program)).filter(|path| path.is_file())).ok_or_else(missing)
}

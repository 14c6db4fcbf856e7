//! A `trine` process of a test's own.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use mysql::{Conn, OptsBuilder};

/// Time a server has to listen, also behind a recovery.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Time a server has to end after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// How a server is started.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The binary.
    pub binary: PathBuf,
    /// Its data directory.
    pub data_dir: PathBuf,
    /// Text of a configuration file; empty for none.
    pub config: String,
    /// Variables added to its environment.
    pub environment: Vec<(String, String)>,
}

impl ServerOptions {
    /// A server with defaults.
    pub fn new(binary: impl Into<PathBuf>, data_dir: impl Into<PathBuf>) -> Self {
        Self { binary: binary.into(), data_dir: data_dir.into(), config: String::new(), environment: Vec::new() }
    }
}

/// A running server.
pub struct Server {
    process: Child,
    port: u16,
    status_port: u16,
    log: PathBuf,
}

impl Server {
    /// Starts a server on free ports and waits until it listens.
    pub fn start(options: &ServerOptions) -> Result<Self> {
        std::fs::create_dir_all(options.data_dir.parent().unwrap_or(Path::new(".")))?;
        let log = options.data_dir.with_extension("log");
        let mut command = Command::new(&options.binary);
        command.arg("--data-dir").arg(&options.data_dir).args(["--port=0", "--status-port=0"]);
        if !options.config.is_empty() {
            let file = options.data_dir.with_extension("toml");
            std::fs::write(&file, &options.config)?;
            command.arg("--config").arg(file);
        }
        command.envs(options.environment.iter().map(|(key, value)| (key, value)));
        let stderr = File::options().create(true).append(true).open(&log)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
        let mut process = command.spawn().with_context(|| format!("cannot start {}", options.binary.display()))?;
        let stdout = process.stdout.take().context("the server has no standard output")?;
        // The banner names the ports; what follows is drained so that the server never blocks on it.
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(std::io::Result::ok) {
                let _ = sender.send(line); // Nobody listens once the ports are known.
            }
        });
        let mut server = Self { process, port: 0, status_port: 0, log };
        let deadline = Instant::now() + START_LIMIT;
        while server.port == 0 || server.status_port == 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            match receiver.recv_timeout(left) {
                Ok(line) => server.read_banner(&line),
                Err(_) => {
                    let ended = server.process.try_wait()?;
                    bail!("the server did not say where it listens (ended: {ended:?}); its log:\n{}", server.log_text());
                }
            }
        }
        Ok(server)
    }

    fn read_banner(&mut self, line: &str) {
        let port_of = |label: &str| {
            let rest = &line[line.find(label)? + label.len()..];
            let address = rest.split_whitespace().next()?;
            address.rsplit_once(':')?.1.trim_end_matches(|c: char| !c.is_ascii_digit()).split('/').next()?.parse().ok()
        };
        if let Some(port) = port_of("MySQL clients: ") {
            self.port = port;
        }
        if let Some(port) = port_of("status: http://") {
            self.status_port = port;
        }
    }

    /// The MySQL port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of `/status` and `/metrics`.
    pub fn status_port(&self) -> u16 {
        self.status_port
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Everything the server has logged, over restarts on the same data directory.
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Connects as root without a password.
    pub fn connect(&self) -> Result<Conn> {
        self.connect_to(None)
    }

    /// Connects as root with a default database.
    pub fn connect_to(&self, database: Option<&str>) -> Result<Conn> {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.port)
            .user(Some("root"))
            .db_name(database)
            .prefer_socket(false)
            .tcp_connect_timeout(Some(Duration::from_secs(10)))
            .read_timeout(Some(Duration::from_secs(300)));
        Ok(Conn::new(options)?)
    }

    /// `kill -9`: nothing the process holds in memory survives.
    pub fn kill(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Kills it from another thread, while this one talks to it. It must still be there: its number may be another process's later.
    pub fn killer(&self) -> impl Fn() + Send + 'static {
        let pid = self.process.id() as libc::pid_t;
        move || {
            // SAFETY: a plain system call on a process id that is ours and has not been waited for.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }

    /// SIGTERM, and waits for the end.
    pub fn terminate(mut self) -> Result<ExitStatus> {
        // SAFETY: a plain system call on a process id that is ours and has not been waited for.
        unsafe { libc::kill(self.process.id() as libc::pid_t, libc::SIGTERM) };
        let deadline = Instant::now() + STOP_LIMIT;
        loop {
            if let Some(status) = self.process.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                bail!("the server did not end within {STOP_LIMIT:?} of SIGTERM; its log:\n{}", self.log_text());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether the process still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill(); // It may have ended already.
        let _ = self.process.wait();
    }
}

/// Waits until `condition` gives a value, at most `limit`.
pub fn wait_until<T>(what: &str, limit: Duration, mut condition: impl FnMut() -> Option<T>) -> Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(value) = condition() {
            return Ok(value);
        }
        if Instant::now() > deadline {
            bail!("{what} did not happen within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

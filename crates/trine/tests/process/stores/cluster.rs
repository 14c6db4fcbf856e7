//! Placement drivers, stores and SQL servers as processes.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

/// Time a process has to say that it is ready.
const START_LIMIT: Duration = Duration::from_secs(60);

/// An address nobody listens at.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").to_string()
}

/// A process that is killed when it is dropped.
pub struct Process {
    child: Child,
    /// What follows the given words of its banner.
    pub address: String,
}

impl Process {
    /// Starts the binary and waits until a line of its output has `marker`.
    pub fn start(arguments: &[&str], marker: &str, log: &Path) -> Self {
        let stderr = File::options().create(true).append(true).open(log).expect("the log can be written");
        let mut command = Command::new(crate::BINARY);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().expect("the binary starts");
        let stdout = child.stdout.take().expect("it was asked for");
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(std::io::Result::ok) {
                let _ = sender.send(line); // Nobody listens once the address is known.
            }
        });
        let deadline = Instant::now() + START_LIMIT;
        let mut process = Self { child, address: String::new() };
        while process.address.is_empty() {
            match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some((_, address)) = line.split_once(marker) {
                        process.address = address.trim().to_owned();
                    }
                }
                Err(_) => panic!("{arguments:?} did not start: {}", std::fs::read_to_string(log).unwrap_or_default()),
            }
        }
        process
    }

    /// Sends a signal.
    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: a plain system call on a process id that is ours and has not been waited for.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
    }

    /// Whether it has not ended.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// As a crash would.
    pub fn kill(mut self) {
        self.child.kill().expect("the process can be killed");
        self.child.wait().expect("the process can be waited for");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A placement driver of one or more members, some stores, and the SQL servers over them.
pub struct Cluster {
    /// The first member.
    pub pd: Process,
    other_members: Vec<Process>,
    pub stores: Vec<Option<Process>>,
    directory: tempfile::TempDir,
}

impl Cluster {
    pub fn start(stores: usize) -> Self {
        Self::with_members(1, stores)
    }

    /// A cluster whose placement driver has so many members.
    pub fn with_members(members: usize, stores: usize) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        // Replicas are made whatever the disk of the machine that runs the tests has left.
        let config = directory.path().join("pd.toml");
        std::fs::write(&config, "[schedule]\nlow-space-ratio = 1.0\n").expect("the configuration can be written");
        let config = config.to_string_lossy().into_owned();
        let peers: Vec<String> = (0..members).map(|_| format!("http://{}", free_address())).collect();
        let initial = peers.iter().enumerate().map(|(n, peer)| format!("pd{n}={peer}")).collect::<Vec<_>>().join(",");
        let mut members: Vec<Process> = peers
            .iter()
            .enumerate()
            .map(|(n, peer)| {
                let (name, data) = (format!("pd{n}"), directory.path().join(format!("pd{n}")).to_string_lossy().into_owned());
                let flags = ["--client-urls=http://127.0.0.1:0", "--peer-urls", peer, "--initial-cluster", &initial];
                let arguments = [&["pd", "--name", &name, "--config", &config, "--data-dir", &data], &flags[..]].concat();
                Process::start(&arguments, "clients:", &directory.path().join(format!("pd{n}.log")))
            })
            .collect();
        let pd = members.remove(0);
        let mut cluster = Self { pd, other_members: members, stores: Vec::new(), directory };
        for _ in 0..stores {
            let store = cluster.start_process(cluster.stores.len());
            cluster.stores.push(Some(store));
        }
        cluster
    }

    /// Where the placement driver is, all members of it.
    pub fn endpoints(&self) -> String {
        let members = std::iter::once(&self.pd).chain(&self.other_members);
        members.map(|member| member.address.trim_start_matches("http://")).collect::<Vec<_>>().join(",")
    }

    /// Starts a SQL server; its address is that for MySQL clients.
    pub fn start_sql(&self, name: &str) -> Process {
        let endpoints = self.endpoints();
        let arguments = ["sql", "--pd", &endpoints, "--port=0", "--status-port=0"];
        Process::start(&arguments, "MySQL clients:", &self.directory.path().join(format!("{name}.log")))
    }

    /// Kills a member of the placement driver other than the first.
    pub fn kill_member(&mut self) {
        self.other_members.pop().expect("there is another member").kill();
    }

    fn path(&self, store: usize) -> PathBuf {
        self.directory.path().join(format!("kv{store}"))
    }

    fn start_process(&self, store: usize) -> Process {
        let path = self.path(store);
        let data = path.to_string_lossy().into_owned();
        let arguments = ["kv", "--pd", &self.endpoints(), "--addr=127.0.0.1:0", "--status-addr=127.0.0.1:0", "--data-dir", &data];
        Process::start(&arguments, "stores and clients:", &path.with_extension("log"))
    }

    /// Kills the store that is reached at an address; answers which it was.
    pub fn kill_store_at(&mut self, address: &str) -> usize {
        let found = self.stores.iter().position(|store| store.as_ref().is_some_and(|store| store.address == address));
        let store = found.unwrap_or_else(|| panic!("no store listens at {address}"));
        self.stores[store].take().expect("it was just found").kill();
        store
    }

    /// Starts a store that was killed, on its old data.
    pub fn restart_store(&mut self, store: usize) {
        self.stores[store] = Some(self.start_process(store));
    }
}

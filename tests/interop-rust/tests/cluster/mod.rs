//! A placement driver and three stores as processes of the binary that TRINE_BIN names.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
/// Small regions, so that little data make several; a store reads a region through again after a mebibyte of changes.
const CONFIGURATION: &str = "[coprocessor]\nregion-split-size = \"640KB\"\n";

/// All ends with it.
pub struct Cluster {
    processes: Vec<Child>,
    endpoint: String,
    _directory: tempfile::TempDir,
}

impl Cluster {
    pub fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name).display().to_string();
        std::fs::write(at("kv.toml"), CONFIGURATION).expect("a file");
        let (endpoint, peers) = (free_address(), free_address());
        let (client_url, peer_url) = (format!("http://{endpoint}"), format!("http://{peers}"));
        let data = at("pd");
        let pd = ["pd", "--name", "pd", "--data-dir", &data, "--client-urls", &client_url, "--peer-urls", &peer_url];
        let mut processes = vec![start(&pd, "clients:")];
        for n in 0..3 {
            let (configuration, data) = (at("kv.toml"), at(&format!("kv{n}")));
            let kv = [
                "kv",
                "--config",
                &configuration,
                "--pd",
                &endpoint,
                "--addr",
                "127.0.0.1:0",
                "--status-addr",
                "127.0.0.1:0",
                "--data-dir",
                &data,
            ];
            processes.push(start(&kv, "stores and clients:"));
        }
        Self { processes, endpoint, _directory: directory }
    }

    pub fn endpoints(&self) -> Vec<String> {
        vec![self.endpoint.clone()]
    }

    /// Waits until data lie in that many regions at least.
    pub fn wait_for_regions(&self, wanted: usize) {
        let started = Instant::now();
        loop {
            let output = Command::new(binary()).args(["ctl", "--pd", &self.endpoint, "--json", "region"]).output().expect("trine ctl");
            let found = String::from_utf8_lossy(&output.stdout).matches("\"end_key\"").count();
            if found >= wanted {
                return;
            }
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(started.elapsed() < PATIENCE, "{found} regions instead of {wanted}; {said}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // It may have ended by itself.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn binary() -> String {
    std::env::var("TRINE_BIN").expect("TRINE_BIN names the binary")
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").to_string()
}

/// Starts a process and waits until it says that it listens.
fn start(arguments: &[&str], ready: &str) -> Child {
    let mut command = Command::new(binary());
    command.args(arguments).args(["--log-level", "warn"]).stdout(Stdio::piped());
    let mut process = command.spawn().expect("the binary starts");
    let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
    let listens = lines.by_ref().map_while(Result::ok).any(|line| line.contains(ready));
    assert!(listens, "{} did not say that it listens", arguments[0]);
    // What it says later is read, so that the pipe does not fill up.
    std::thread::spawn(move || lines.for_each(drop));
    process
}
